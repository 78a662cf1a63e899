"""The page table, and what is around every page.

Each page's first statement is :func:`guard`. A deep link that is the first request to a fresh
server runs the page's file without the table; then `guard` runs :func:`main`, which runs the page
properly, and the outer run ends.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from abcdp_core import __version__
from abcdp_core.parameters import ParameterError
from ui import blocks, controls, forgotten, knobs, lesson, pin, served, state, turns, watch
from ui.link import VERSION
from ui.page import Page
from ui.verbatim import LONGEST_BLAME, verbatim

ROOT = Path(__file__).parents[1]

DRAWN = "_drawn"
"""Set once a session's knobs are drawn, from when on those in the address are bound to them."""

_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether the script that is going on went through :func:`main`.

Not kept in the session: a page that ends by ``st.stop`` leaves no time to take it back there.
"""


TABLE = (
    Page(
        "overview",
        "Overview",
        "What the four knobs do, in four pictures.",
        "Explore",
        "posterior",
        ("expected-error",),
        own=("figures.format",),
    ),
    Page(
        "flip_probability",
        "Flip probability",
        "How often the noise changes a decision, and how large c may be.",
        "Explore",
        "flip-probability",
        ("flip-guideline",),
        own=(
            "flip-probability.distances",
            "flip-probability.draws",
            "flip-probability.script",
            "flip-guideline.false_level",
            "flip-guideline.level",
            "figures.format",
        ),
        pins=True,
    ),
    Page(
        "privacy_and_accuracy",
        "Privacy and accuracy",
        "What a privacy budget costs in accuracy.",
        "Explore",
        "mse-curves",
        ("expected-error", "posterior", "error-bound"),
        own=("mse-curves.lines", "mse-curves.metric", "mse-curves.runs", "figures.format"),
        pins=True,
    ),
    Page(
        "posterior",
        "Posterior",
        "One private release beside the non-private one, draw by draw.",
        "Explore",
        "posterior",
        ("many-releases", "change-one-person", "synthetic-data"),
        own=(
            "scenario",
            "posterior.view",
            "change-one-person.moved_to",
            "synthetic-data.data_sets",
            "figures.format",
        ),
        chooser="scenario",
        pins=True,
    ),
    Page(
        "adaptive_truncation",
        "Adaptive truncation",
        "People answer one after the other, each in the interval where it should help most.",
        "Explore",
        "adaptive-truncation",
        (
            *("truncation-streams", "truncation-interval", "ways-of-asking", "estimation-accuracy"),
            *("vector-truncation", "online-gradient"),
        ),
        own=(
            "adaptive-truncation.epsilon_total",
            "adaptive-truncation.n",
            "adaptive-truncation.view",
            "adaptive-truncation.sampler",
            "adaptive-truncation.particles",
            "adaptive-truncation.score",
            "adaptive-truncation.weight",
            "adaptive-truncation.symmetric",
            "adaptive-truncation.fixed_width",
            "adaptive-truncation.noise",
            "truncation-interval.family",
            "truncation-interval.score",
            "truncation-interval.symmetric",
            "ways-of-asking.family",
            "ways-of-asking.score",
            "ways-of-asking.weight",
            "estimation-accuracy.runs",
            "vector-truncation.channel",
            "online-gradient.channel",
            "figures.format",
        ),
        instead={
            "epsilon_total": "adaptive-truncation.epsilon_total",
            "n": "adaptive-truncation.n",
        },
        view="adaptive-truncation.view",
        views={
            "live": ("adaptive-truncation", "estimation-accuracy"),
            "ways of asking": ("ways-of-asking",),
            "budgets": ("truncation-streams",),
            "best interval": ("truncation-interval",),
            "repeats": ("estimation-accuracy",),
            "vectors": ("vector-truncation",),
            "gradient": ("online-gradient",),
        },
        pins=True,
    ),
    Page("lessons", "Lessons", "Eight short lessons on the other pages.", "Learn", ""),
    Page(
        "case_studies",
        "Case studies",
        "COVID-19 in the Netherlands and the tuberculosis outbreak model.",
        "Compare",
        "covid-fit",
        ("tuberculosis-posterior", "unit-of-privacy"),
        own=(
            "case-studies.view",
            "covid-fit.distance",
            "covid-fit.runs",
            "tuberculosis-posterior.order",
            "tuberculosis-posterior.burden",
            "tuberculosis-posterior.runs",
            "figures.format",
        ),
        reasons={"n": "Set by the case study."},
        view="case-studies.view",
        views={
            "COVID-19": ("covid-fit", "unit-of-privacy"),
            "tuberculosis": ("tuberculosis-posterior", "unit-of-privacy", "posterior"),
        },
        chooser="case-studies.view",
        scenarios={"COVID-19": "covid"},
        pins=True,
    ),
    Page(
        "mechanisms",
        "Mechanisms",
        "What each mechanism makes of the same privacy budget.",
        "Compare",
        "compare-mechanisms",
        ("mechanism-posterior", "accounting", "coverage"),
        own=(
            "compare-mechanisms.scenario",
            "mechanisms.view",
            "mse-curves.metric",
            "compare-mechanisms.runs",
            "mechanism-posterior.mechanism",
            "coverage.runs",
            "coverage.truths",
            "figures.format",
        ),
        chooser="compare-mechanisms.scenario",
        view="mechanisms.view",
        views={
            "error": ("compare-mechanisms", "mechanism-posterior"),
            "what a budget buys": ("accounting",),
            "coverage": ("coverage",),
        },
        pins=True,
    ),
    Page(
        "plan",
        "Plan",
        "What to run for your number of people and your budget.",
        "Use",
        "plan",
        own=(
            "plan.scenario",
            "plan.goal",
            "plan.wanted",
            "plan.metric",
            "plan.probability",
            "plan.runs",
            "figures.format",
        ),
        chooser="plan.scenario",
        pins=True,
    ),
    Page(
        "your_own_data",
        "Your own data",
        "One private release from a series of your own.",
        "Use",
        "error-by-size",
        own=("your-data.scenario", "figures.format"),
        uses=("pool_size",),
        reasons={
            "n": "The number of values in your file.",
            "noise_draw": "Drawn by the operating system; no number brings it back.",
            "sensitivity": "Always the sharp one.",
        },
        chooser="your-data.scenario",
        own_data=True,
    ),
    Page(
        "published_queries",
        "Published queries",
        "What noisy numbers that somebody else released say, at no privacy cost.",
        "Use",
        "published-query",
        own=("published-query.problem", "published-query.simulations", "figures.format"),
        pins=True,
    ),
    Page(
        "papers",
        "Papers",
        "What the papers claim, and what we find.",
        "Check",
        "",
        own=(
            "papers.paper",
            "papers.verdict",
            "papers.standing",
            "papers.claim",
            "figures.format",
        ),
        reasons={"seed": "Known when the table was computed."},
    ),
    Page(
        "gaussian_noise",
        "Gaussian noise",
        "The older versions of ABCDP: soft weights, and a decision about every draw.",
        "For researchers",
        "soft-abc",
        ("gaussian-rejection", "gaussian-loss", "tuberculosis-soft"),
        own=(
            "gaussian-noise.view",
            "mse-curves.metric",
            "soft-abc.accountant",
            "soft-abc.runs",
            "gaussian-rejection.accountant",
            "gaussian-rejection.runs",
            "tuberculosis-soft.accountant",
            "tuberculosis-soft.runs",
            "figures.format",
        ),
        view="gaussian-noise.view",
        views={
            "soft weights": ("soft-abc",),
            "rejection": ("gaussian-rejection",),
            "what it costs": ("gaussian-loss",),
            "San Francisco": ("tuberculosis-soft",),
        },
        chooser="gaussian-noise.view",
        scenarios={
            "soft weights": knobs.FIRST_SCENARIO,
            "rejection": knobs.FIRST_SCENARIO,
            "what it costs": knobs.FIRST_SCENARIO,
            "San Francisco": "tuberculosis",
        },
        pins=True,
    ),
    Page(
        "distances",
        "Distances",
        "Forms of the distance: error, time, bandwidth, and what one point can change.",
        "For researchers",
        "distance-forms",
        own=("distance-forms.bandwidth", "distance-forms.pairs", "figures.format"),
        pins=True,
    ),
)


def shown() -> tuple[Page, ...]:
    """The lines of the table that this server has pages for."""
    return tuple(page for page in TABLE if served.settings().own_data or not page.own_data)


def main() -> None:
    """Draw the page when its turn comes."""
    # Always there, so that what comes below keeps its place.
    line = st.empty()

    def tell(ahead: int, seconds: float) -> None:
        line.info(
            f"Many are here at once: {ahead} pages are drawn before this one, which takes about "
            f"{seconds:.0f} s."
        )

    with turns.turn(tell):
        line.empty()
        try:
            _draw(line)
        except ParameterError as error:
            _blame(error)
        # A page that waits for something to be prepared does not come to here.
        watch.let_go()


def _blame(error: ParameterError) -> None:
    """Say what a model that was added to this server does wrong.

    Raises:
        ParameterError: it is no model's doing.
    """
    # Inside the function: where no model was added nobody has to wait for what models need.
    from abcdp_core.own_model.blame import OwnError

    if not isinstance(error, OwnError):
        raise error
    st.error(
        f"A model that was added to this server cannot be used. {verbatim(error, LONGEST_BLAME)} "
        f"Open the page again without what follows `?` in its address."
    )


def _draw(line: DeltaGenerator) -> None:
    """Set the page up, run it, and say around it what holds everywhere.

    Args:
        line: above the page, where what it waits for is said.
    """
    st.set_page_config(page_icon=ROOT / "assets" / "icon.png", layout="wide")
    pages = [copy.copy(_entry(page.file, page.title, page.help)) for page in shown()]
    chosen = st.navigation(pages, position="hidden")
    page = shown()[[entry.title for entry in pages].index(chosen.title)]
    if forgotten.is_so():
        forgotten.load_again()
        return
    if (owner := state.leads_to(page, shown())) is not None:
        st.switch_page(_file(owner.file), query_params=st.query_params.to_dict())
    state.begin(page, known_keys(), functools.partial(watch.scales, line, state.leave_scenario))
    lesson.begin({*st.query_params.to_dict()} & {*known_keys()})
    # Knobs that have a widget here; one that has one value in a scenario has none.
    there = {*page.own, *knobs.SHARED, "lesson", "step"} & {*st.session_state}
    if (opens := lesson.enter(TABLE)) not in ("", page.file):
        # Without a query of its own Streamlit refuses, as knobs are bound to the one there is.
        # What was drawn here says by itself where it stands there, and Streamlit lets nobody else.
        drawn = there if DRAWN in st.session_state else set()
        said = {key: text for key, text in lesson.in_address().items() if key not in drawn}
        asked = {VERSION: __version__, **said}
        st.switch_page(_file(opens), query_params=asked)
    st.session_state[DRAWN] = True
    pin.begin(page, functools.partial(watch.scales, line, pin.leave))
    with state.settled():
        _draw_settled(page, chosen, pages)


def _draw_settled(page: Page, chosen: st.Page, entries: Sequence[st.Page]) -> None:
    """Draw the page and what is around it once it is known what the knobs stand at."""
    blocks.style(ROOT / "assets" / "style.css")
    if state.held("projector"):
        blocks.style(ROOT / "assets" / "projector.css")
    with st.sidebar:
        _navigation(page, entries)
    controls.sidebar(__version__, shown())
    controls.notices()
    place = lesson.panel()
    token = _inside.set(True)
    try:
        chosen.run()
    finally:
        _inside.reset(token)
    lesson.tell_of_figure(place)


@functools.cache
def _entry(file: str, title: str, note: str) -> st.Page:
    """A page as Streamlit knows it; made once, as that asks the disk about every folder above it.

    Streamlit notes in it whether the page may be run, so each run has a copy.
    """
    return st.Page(_file(file), title=title, help=note)


def _navigation(here: Page, entries: Sequence[st.Page]) -> None:
    """Links to all pages, in groups that are folded but for the one of this page.

    Streamlit's own sections fail the check of what assistive technology can use. By its page object
    a link costs no look at the disk, which at each move of a knob were a hundred in all.
    """
    with st.container(key="navigation", gap=None):
        lines = zip(shown(), entries, strict=True)
        for group, found in itertools.groupby(lines, lambda line: line[0].group):
            with st.expander(group, expanded=here.group == group):
                for _, entry in found:
                    st.page_link(entry)


def _file(name: str) -> Path:
    return ROOT / "pages" / f"{name}.py"


def guard() -> None:
    """Stop unless the page was reached through :func:`main`; go through it then.

    Streamlit runs the file of a page itself as long as it knows of no other way. ``st.stop`` would
    ask it to stop in place of what a visitor asked for just before: a move of a knob was lost.
    """
    if not _inside.get():
        main()
        raise StopException


def known_keys() -> list[str]:
    """Keys that a link may hold, whichever page it opens."""
    own = [key for page in TABLE for key in page.own]
    return [*knobs.SHARED, *knobs.EVERYWHERE, "preset", *dict.fromkeys(own)]


def link(file: str) -> None:
    """A link to a page, by its name."""
    page = next(page for page in TABLE if page.file == file)
    st.page_link(_file(file), label=f"{page.title} →", width="content")
