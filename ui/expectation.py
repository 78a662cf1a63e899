"""What to expect of a release of one's own, said before anything is spent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import streamlit as st

from abcdp_core.experiments import error_by_size
from abcdp_core.figures import Drawn
from abcdp_core.own_data import expectation, private_summary
from abcdp_core.own_data.private_summary import PrivateSummaryRequest
from abcdp_core.own_data.releasable import Expected, Releasable, Simulated, points
from abcdp_core.own_data.request import ReleaseRequest, SeriesRequest, source_of
from abcdp_core.own_data.sparse_vector import SparseVectorRequest
from abcdp_core.privacy.promise import odds
from abcdp_core.results import Result
from abcdp_core.sentences import counted
from ui import asking, charts, drawings, state, watch
from ui.job import Preparation


def studies(by: Releasable) -> tuple[str, ...]:
    """The study that tells what to expect of the chosen model, if one can."""
    known = by.request is SparseVectorRequest and state.scenario_in_force() in error_by_size.MODELS
    return (error_by_size.EXPERIMENT,) if known else ()


def cost(by: Releasable) -> str:
    """What a release costs, before it is made."""
    request = _usual(by)
    what = f"Another {request.unit} in place of one"
    if request.neighbours == "add-remove":
        what = f"One {request.unit} more or less"
    return (
        f"**What it costs:** {request.spends} of these data's privacy, once and for good. "
        f"{what} changes the probability of any result by at most "
        f"{odds(request.epsilon_total)}."
    )


def _usual(by: Releasable) -> ReleaseRequest:
    """A request with the budget of the page; its own domain moves no error in percentage points."""
    domain = {"low": 0.0, "high": 1.0} if issubclass(by.request, SeriesRequest) else {}
    epsilon = float(state.current("epsilon_total"))
    return by.request.for_scenario(state.scenario_in_force(), epsilon_total=epsilon, **domain)


def show(by: Releasable, planned: int, width: float | None) -> str:
    """The headline and the figure of what to expect; returns the sentence for the confirmation.

    Args:
        by: the mechanism.
        planned: number of values.
        width: of the range that they can lie in, once it was typed.
    """
    request = _usual(by)
    if not ready(request, planned):
        return "What error to expect could not be computed."
    known = by.expected(request, planned)
    if isinstance(known, Simulated):
        return _of_pool(request, planned, known)
    if known is not None:
        return _of_formula(request, planned, known)
    if not (names := studies(by)):
        unknown = "Nobody has measured what error to expect with this model."
        st.info(unknown)
        return unknown
    scenario, pool_size = state.scenario_in_force(), int(state.current("pool_size"))
    far = error_by_size.far_enough(scenario, planned, pool_size)
    draw: Callable[[Result], None] = lambda found: _draw(found, planned, width)  # noqa: E731
    job = watch.growing(names[0], *asking.ask(names[0], n=far), draw)
    if job.result is None:
        return "What error to expect is still being computed."
    return said(job.result, planned)


def ready(request: ReleaseRequest, n: int) -> bool:
    """Have the pool made that tells what to expect, if one is needed, while others may draw.

    Returns whether it is there; if not, the page says why.

    Args:
        request: the settings.
        n: number of values.
    """
    if isinstance(request, PrivateSummaryRequest) and not private_summary.has_pool(request, n):
        key = request.scenario, n, request.pool_seed
        made = functools.partial(private_summary.public_pool, *key)
        return watch.own_pool(Preparation(key, made))
    return True


def _of_formula(request: ReleaseRequest, planned: int, formula: Expected) -> str:
    """As :func:`show`, where no series have to be simulated."""
    own, error, plain, prior = (
        points(each) for each in (formula.own, formula.error, formula.plain, formula.prior)
    )
    words = (
        f"percentage points at most: the typical error of each share of the population with "
        f"{planned:,} values. **Without noise {plain}, without any data {prior}.**"
    )
    rest = (
        f"From the shares of your own values: at most {own}. Root mean square on average over "
        "series that follow the model, from a formula."
    )
    _headline(f"{error}", words, rest)
    found = expectation.drawn(request, planned)
    assert found is not None
    charts.show("expected", found, kept=False)
    return f"**{expectation.answer(formula, planned)}.** {formula.in_words(planned)}"


def _of_pool(request: ReleaseRequest, planned: int, known: Simulated) -> str:
    """As :func:`show`, where the public pool tells."""
    rows = known.rows()
    most = known.names.index(cast(Any, source_of(request)).OWN_HEADLINE)
    name, error, plain, prior = rows[most]
    words = f": the typical error. **Without noise {plain}, without any data {prior}.**"
    rest = f"Of means, root mean square over the public simulations. {known.remark}".rstrip()
    _headline(error, f"{name}{words}", rest)
    heads = ("error to expect", "with the noise", "without noise", "without data")
    st.table([dict(zip(heads, row, strict=True)) for row in rows])
    if reach := request.reach(planned):
        st.caption(reach)
    return known.in_words(planned)


def said(found: Result, planned: int) -> str:
    """What to expect with so many values, in a sentence or two."""
    expected = error_by_size.at(found, planned)
    if expected is None:
        return f"What error to expect with {planned:,} values is not known."
    words = error_by_size.in_words(expected, error_by_size.model_of(found))
    return f"**{error_by_size.answer(expected)}.** {words}"


def headline(found: Result, planned: int, width: float | None = None) -> tuple[str, str, str]:
    """A number, the sentence it begins, and how sure that is."""
    expected, model = error_by_size.at(found, planned), error_by_size.model_of(found)
    if expected is None:
        return "?", f"Nothing is known for {planned:,} values.", ""
    points = error_by_size.points
    number, sign = points(expected.error), "% "
    of_range = model.unit.startswith(sign)
    words = (
        f"{model.unit.removeprefix(sign)}: {model.typical} with {planned:,} values. "
        f"**Without noise {points(expected.plain)}, without any data {points(expected.prior)}.**"
    )
    series = counted(expected.series, "simulated series", "simulated series")
    rest = f"Average over noise and {series} that follow the model{error_by_size.spread(expected)}."
    if of_range and width is not None:
        rest = f"With your range that is {_own(width * expected.error)}. {rest}"
    return f"{number} %" if of_range else number, words, rest


def _own(value: float) -> str:
    """A number in the scale of a person's values, without an exponent where that is readable."""
    return f"{value:,.0f}" if 100.0 <= value < 1e9 else f"{value:.2g}"


def _draw(found: Result, planned: int, width: float | None) -> None:
    number, words, rest = headline(found, planned, width)
    _headline(number, words, rest)
    marked: Drawn = drawings.variant(
        found, ("planned", planned), lambda: error_by_size.marked(found, planned)
    )
    charts.show(found.experiment, marked)


def _headline(number: str, words: str, rest: str) -> None:
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            st.markdown(words)
            st.caption(rest)
