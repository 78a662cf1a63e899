"""The blocks that recur on every page."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import experiments, releases
from abcdp_core.figures import Drawn
from abcdp_core.parameters import Params
from abcdp_core.privacy.promise import promise_in_full
from abcdp_core.results import Result
from ui import charts, controls, drawings, export, knobs, locks, meaning, pin, state
from ui.pin import Pinned

if TYPE_CHECKING:
    from abcdp_core.ledger import Verdict

Found: TypeAlias = Result  # what a page draws

ROWS_SHOWN = 200
"""Rows of a table on the page; the file has all."""

SOURCES = (
    "[P21] Park, Vinaroz, Jitkrittum: ABCDP, Entropy 23(8):961, 2021. "
    "MATH tags are the numbers by which the code cites formulas."
)


def style(file: Path) -> None:
    """The little CSS there is."""
    st.html(file)


def title(text: str, lead: str = "") -> None:
    """The page's title and, beside it where there is room, what it shows in a sentence or two."""
    with st.container(horizontal=True, vertical_alignment="center", key="title"):
        st.title(text, width="content")
        if lead:
            st.markdown(lead, width="content")


def head(text: str) -> str:
    """The page's title with its choosers beside it, which leaves room for the figure.

    Returns:
        What the page is to show.
    """
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="head"):
        st.title(text, width="content")
        view = controls.view()
        with st.container(width=BESIDE_WIDTH):
            controls.widget("preset")
    preset_note()
    return view


BESIDE_WIDTH = 250
"""Pixels of the chooser of a paper's settings beside a title, at a width of 1280."""


def heading(text: str, lead: str = "") -> None:
    """A section's heading and what to look at."""
    st.header(text)
    if lead:
        st.markdown(lead)


def pair() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places side by side; one above the other where there is no room."""
    left, right = st.columns(2, gap="medium")
    return left, right


def titled(text: str, *keys: str) -> None:
    """The page's title with some of its own choosers beside it, which leaves room below."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="title"):
        st.title(text, width="content", anchor=False)
        with st.container(horizontal=True, gap="medium", width="content", key="choosers-beside"):
            for key in keys:
                fits = controls.side_by_side(key) or bool(locks.reason(key))
                with st.container(width="content" if fits else NARROW):
                    controls.widget(key)


NARROW = 200
"""Pixels of a list to choose from beside a title, at a width of 1280."""


def finding(text: str, lead: str = "") -> None:
    """What a page finds, in a line above its figures."""
    with st.container(key="finding"):
        st.header(text, anchor=False)
        st.markdown(lead)


def cause_and_effect() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places, the right one wider; one above the other where there is no room."""
    left, right = st.columns((2, 3), gap="medium")
    return left, right


def above_and_below() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places, one above the other, each as wide as the page."""
    return st.container(), st.container()


@contextlib.contextmanager
def folded(label: str, key: str) -> Iterator[bool]:
    """A part that few need; says whether it is unfolded, so that it costs nothing until then."""
    with st.expander(label, key=key, on_change="rerun") as part:
        yield bool(part.open)


def note(text: str) -> None:
    """A remark below a figure."""
    st.markdown(text)


def small_print(text: str) -> None:
    """What few look up, if there is any."""
    if text:
        st.caption(text)


def tiles(texts: Sequence[str]) -> None:
    """Short texts side by side where there is room."""
    with st.grid(2, min_column_width=260, gap="medium"):
        for text in texts:
            st.markdown(text)


def warning(text: str) -> None:
    """What must not be overlooked."""
    st.warning(text, icon="⚠️")


# --------------------------------------------------------------------------------------- figures


def figure(
    name: str,
    found: Result,
    tables: Sequence[str] = ("main",),
    of: str = "",
    clicked: charts.Clicked | None = None,
) -> None:
    """A figure with its sentence, its numbers and its file.

    Args:
        name: of the figure, part of its files' names.
        found: where it comes from.
        tables: names of the tables it was drawn from.
        of: its name among the result's figures, if that is another.
        clicked: called when a person clicks a point.
    """
    show(name, drawings.drawn(found)[of or name], found, tables, clicked)


def names(found: Result, without: Sequence[str] = ()) -> list[str]:
    """Names of a result's figures, but for some."""
    return sorted(drawings.drawn(found).keys() - set(without))


def show(
    name: str,
    drawn: Drawn,
    found: Result,
    tables: Sequence[str] = ("main",),
    clicked: charts.Clicked | None = None,
) -> None:
    """What :func:`figure` does, with a figure that is not among the result's."""
    charts.show(f"{found.experiment}-{name}", drawn, clicked)
    _below(name, drawn, found, tables)


def _below(name: str, drawn: Drawn, found: Result, tables: Sequence[str], apart: str = "") -> None:
    """The sentence of a figure, and folded what it was drawn from.

    Args:
        name: of the figure.
        drawn: the figure and its sentence.
        found: what it is from.
        tables: names of those it was drawn from.
        apart: tells it from another one of the same name on the page.
    """
    st.markdown(drawn.sentence)
    numbers(f"{apart}{found.experiment}-{name}", found, tables, name, drawn)


def main_figure(
    name: str,
    found: Result,
    pinned: Pinned,
    tables: Sequence[str] = ("main",),
    of: str | Callable[[], str] = "",
) -> None:
    """The figure that a page or a view is about, which can be pinned.

    Args:
        name: of the figure, part of its files' names.
        found: where it comes from.
        pinned: what is to stand beside it.
        tables: names of the tables it was drawn from.
        of: its name among the result's figures, if that is another, or what asks a knob for it.
    """

    def draw(each: Result) -> Drawn:
        return drawings.drawn(each)[of() if callable(of) else of or name]

    show_main(name, draw, found, pinned, tables)


def show_main(
    name: str,
    draw: Callable[[Result], Drawn],
    found: Result,
    pinned: Pinned,
    tables: Sequence[str] = ("main",),
    clicked: charts.Clicked | None = None,
) -> None:
    """What :func:`main_figure` does, with a figure that is not among the result's.

    Args:
        draw: makes the figure of a result and of what the knobs stand at.
    """
    pin.show(
        f"{found.experiment}-{name}",
        draw,
        found,
        pinned,
        lambda apart, drawn, each: _below(name, drawn, each, tables, apart),
        clicked,
    )


def picture(name: str, found: Result) -> None:
    """A figure alone, where what belongs to it stands elsewhere: see :func:`below`."""
    charts.show(f"{found.experiment}-{name}", drawings.drawn(found)[name])


def below(name: str, found: Result, tables: Sequence[str] = ("main",)) -> None:
    """The sentence, the numbers and the file of a figure that was shown by itself."""
    _below(name, drawings.drawn(found)[name], found, tables)


def numbers(
    key: str, result: Result, tables: Sequence[str], name: str = "", drawn: Drawn | None = None
) -> None:
    """The tables behind a figure, and itself as files with its caption, folded.

    Args:
        key: names them on the page.
        result: whose tables.
        tables: their names.
        name, drawn: the figure, where there is one.
    """
    label = "Numbers" if drawn is None else "Numbers, files and caption"
    with st.expander(label, key=f"numbers-{key}", on_change="rerun") as folded:
        if not folded.open:
            return
        if drawn is not None:
            export.figure(key, result, name, drawn, tables)
        for name in tables:
            table = result.tables[name]
            _table(f"{key}-{name}", name, table)


def _table(key: str, name: str, table: pd.DataFrame) -> None:
    more = f", the first {ROWS_SHOWN} shown" if len(table) > ROWS_SHOWN else ""
    st.caption(f"Table *{name}*: {len(table):,} rows{more}")
    st.dataframe(table.head(ROWS_SHOWN), hide_index=True, alt=f"Table {name}")
    _csv_button(f"{name} as CSV", table, key, key=f"csv-{key}")


def table(result: Result, name: str) -> None:
    """A table of a result, unfolded."""
    _table(f"{result.experiment}-{name}-shown", name, result.tables[name])


def rows_as_csv(label: str, result: Result, name: str, **chosen: str) -> None:
    """A download of some rows of a table.

    Args:
        label: of the button, and the file's name.
        result: whose table.
        name: of the table.
        chosen: column -> the value that its rows have.
    """
    table = result.tables[name]
    for column, value in chosen.items():
        table = table[table[column] == value]
    file = "-".join([result.experiment, *chosen.values()])
    _csv_button(label, table, file, key=f"rows-{file}")


def _csv_button(label: str, table: pd.DataFrame, file: str, key: str) -> None:
    st.download_button(
        label,
        data=lambda: table.to_csv(index=False).encode(),
        file_name=f"{file}.csv",
        mime="text/csv",
        key=key,
        on_click="ignore",
    )


def exact_errors(grown: Result, this: Result, pinned: Pinned, pinned_run: Pinned) -> None:
    """The figure of errors that are exact over the noise, with one run on it.

    Args:
        grown: of the study of expected errors.
        this: the run.
        pinned: what is to stand beside the errors.
        pinned_run: the run on it.
    """
    # Inside the function: few pages show them.
    from abcdp_core.experiments import expected_error, posterior

    def draw(each: Result) -> Drawn:
        run = pinned_run.result if state.is_elsewhere() else None
        return drawings.with_run(each, run or this)

    def below(apart: str, drawn: Drawn, each: Result) -> None:
        run = (pinned_run.result if apart else None) or this
        _below("error", drawn, each, ("main", "releases"), apart)
        small_print(
            "Error: how far the five estimated shares are from the true ones, the root of the mean "
            f"squared difference. {expected_error.marks_in_words(each, posterior.error(run))} "
            f"{expected_error.typical_in_words(each)} "
            f"{expected_error.people_in_words(cast(expected_error.Params, each.params))}"
        )

    both = pinned if pinned_run.result is not None else pinned_run
    pin.show(f"{grown.experiment}-error", draw, grown, both, below)


def errors(found: Result, metric: Callable[[], str], pinned: Pinned | None = None) -> None:
    """The figure of errors with the sidebar's setting marked and its number said.

    Args:
        found: of the study of errors.
        metric: asks a knob for the kind of error.
        pinned: what is to stand beside it, if the page is about this figure.
    """

    def draw(each: Result) -> Drawn:
        usual = drawings.drawn(each)[metric()]
        if state.preset(each.experiment) is not None:
            return usual
        here = {name: float(state.current(name)) for name in knobs.FOUR}
        place = metric(), *here.values()
        return drawings.variant(each, place, lambda: _marked(usual, each, metric(), here))

    if pinned is None:
        show(metric(), draw(found), found)
    else:
        show_main(metric(), draw, found, pinned)


def compared(
    found: Result,
    pinned: Pinned,
    metric: Callable[[], str],
    tables: Sequence[str],
    clicked: charts.Clicked | None,
) -> None:
    """The errors of mechanisms, with the one whose release is shown standing out.

    Args:
        found: of the comparison.
        pinned: what is to stand beside it.
        metric: asks a knob for the kind of error.
        tables: names of those it was drawn from.
        clicked: called when a person clicks a mark.
    """

    def draw(each: Result) -> Drawn:
        name = str(state.current("mechanism-posterior.mechanism"))
        usual = drawings.drawn(each)[metric()]
        return drawings.variant(each, ("chosen", metric(), name), lambda: _chosen(usual, name))

    show_main(metric(), draw, found, pinned, tables, clicked)


def _chosen(usual: Drawn, name: str) -> Drawn:
    # Inside the function: the first page compares no mechanisms.
    from abcdp_core.experiments import compare_mechanisms

    return compare_mechanisms.choose(usual, name)


def _marked(usual: Drawn, found: Result, metric: str, here: dict[str, float]) -> Drawn:
    # Inside the function: the first page shows no errors.
    from abcdp_core.experiments import mse_curves

    chart = mse_curves.mark(go.Figure(usual.figure), found, metric, **here)
    return Drawn(chart, mse_curves.error_here(found, metric, here) + usual.sentence)


def promise(params: Params) -> None:
    """What ε_total of a release means, in words and as a figure."""
    release = cast(releases.ReleaseParams, params)
    epsilon = release.epsilon_total
    text = f"{promise_in_full(epsilon)} A record here is {releases.protected(release)}."
    st.markdown(text)
    charts.show("belief", Drawn(meaning.belief_figure(epsilon), text.replace("**", "")))


def knob_table() -> None:
    """Each of the four knobs in plain words."""
    for name in knobs.FOUR:
        parameter = knobs.find(name).parameter
        st.markdown(f"**{parameter.label}**  \n{parameter.help}")


# --------------------------------------------------------------------------------------- presets


def presets() -> None:
    """The chooser of a paper's settings."""
    with st.container(width=PRESETS_WIDTH):
        controls.widget("preset")
    preset_note()


def view_and_presets() -> str:
    """The choosers of what a page shows and of a paper's settings; returns the view."""
    with st.container(horizontal=True, gap="medium", key="choosers"):
        view = controls.view()
        with st.container(width=BESIDE_WIDTH):
            controls.widget("preset")
    preset_note()
    return view


PRESETS_WIDTH = 420
"""Pixels."""


def preset_note() -> None:
    """That a preset is in force, where one is."""
    if state.has_preset():
        st.info(
            "A preset is in force: the knobs that it sets cannot be moved. "
            f"Choose *{knobs.NO_PRESET}* to move them again."
        )


def verdicts(experiment: str, result: Result | None) -> None:
    """What the paper claims of a preset, and what we find."""
    chosen = state.preset(experiment)
    if result is None or chosen is None or result.params != chosen:
        return
    # Inside the function: only a preset that is in force has claims.
    from abcdp_core.ledger import judge, reading

    claims = reading.load().for_preset(experiment, str(state.current("preset")))
    if claims:
        so_far = f", after {result.done} of {result.total} parts" if result.is_partial else ""
        st.header(f"The paper's claims and what we find{so_far}")
    for claim in claims:
        _verdict(judge(claim, result.tables))


def _verdict(verdict: Verdict) -> None:
    from abcdp_core.ledger.report import in_words

    claim = verdict.claim
    with st.container(border=True):
        st.markdown(f"**{claim.source} {claim.place}: {in_words(verdict.outcome)}.** {claim.claim}")
        st.markdown(f"We find: {verdict.statement}")
        if claim.discussion and verdict.outcome in ("does not", "agrees in direction"):
            st.markdown(claim.discussion)
        st.caption(" ".join(claim.notes()))


# ---------------------------------------------------------------------------------------- theory


def theory(*names: str, of: Callable[..., object] | None = None) -> None:
    """The theory behind a page, and the code that ran; loaded when it is unfolded.

    Args:
        names: of the studies.
        of: a function in the place of a study's work, in a module whose docstring is the theory.
    """
    with st.expander("Theory, and the code that runs", key="theory", on_change="rerun") as folded:
        if not folded.open:
            return
        ran = [experiments.load(name) for name in names]
        works: list[tuple[str, Callable[..., object]]]
        works = [(each.Params.__module__, each.work) for each in ran]
        works += [(of.__module__, of)] if of else []
        for module, work in works:
            first, _, rest = (inspect.getdoc(sys.modules[module]) or "").partition("\n")
            st.markdown(f"### {first.rstrip('.')}")
            st.markdown(with_formulas(rest))
            st.code(inspect.getsource(work), language="python")
        st.caption(SOURCES)


FORMULA = re.compile(r"^([ \t]*)\$\$(.+?)\$\$[ \t]*$", re.MULTILINE | re.DOTALL)
"""A formula with nothing else in its lines."""


def with_formulas(text: str) -> str:
    """A docstring as Markdown, where a formula of several lines needs two that are its ends."""
    return FORMULA.sub(r"\1$$\n\1\2\n\1$$", text)
