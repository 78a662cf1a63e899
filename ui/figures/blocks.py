"""Draw the blocks that recur on pages: choosers, headings, figures with their data."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence

import pandas as pd
import streamlit as st

from abcdp_core import studies
from abcdp_core.base import glossary
from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result
from ui.figures import charts, downloads
from ui.view import controls_spec, locks
from ui.view.view import View
from ui.widgets import compare, controls
from ui.widgets.compare import Pinned

ROWS_SHOWN = 200
"""Rows of a table on the page; the file has all."""

NARROW, PRESETS = 230, 300
"""Pixels: the width of a list, and of the settings of papers."""

SOURCES = (
    "[P21] Park, Vinaroz, Jitkrittum: ABCDP, Entropy 23(8):961, 2021. "
    "MATH tags are the numbers by which the code cites formulas."
)


def choosers(view: View, *keys: str) -> None:
    """Show what chooses the picture, and the settings of papers if there are any, in one line."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="top", key="choosers"):
        for key in keys:
            fits = controls.side_by_side(view, key) or bool(locks.reason(view, key))
            with st.container(width="content" if fits else NARROW):
                controls.widget(view, key)
        if view.offers_presets:
            with st.container(width=PRESETS):
                controls.widget(view, "preset")
    preset_note(view)


def shown(view: View, *first: str) -> str:
    """Show the choosers of a page with several views, some before that; return the view."""
    choosers(view, *first, view.page.view)
    return str(view.shown)


def preset_note(view: View) -> None:
    """Say that a preset is in force, where one is."""
    if view.has_preset:
        st.info(
            "A preset sets some knobs, which cannot be moved. "
            f"Choose *{controls_spec.NO_PRESET}* to move them again."
        )


def headline(number: str, words: Sequence[str], rest: str) -> None:
    """Show the number that says most, the sentences that it begins, and the small print."""
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            for each in words:
                st.markdown(each)
            st.caption(rest)


def heading(text: str, lead: str = "") -> None:
    """Show a section's heading and what to look at."""
    st.header(text)
    if lead:
        st.markdown(lead)


@contextlib.contextmanager
def folded(label: str, key: str) -> Iterator[bool]:
    """Fold a part that few need; yield whether it is open, so that it costs nothing until then."""
    with st.expander(label, key=key, on_change="rerun") as part:
        yield bool(part.open)


def small_print(text: str) -> None:
    """Show what few look up, if there is any."""
    if text:
        st.caption(text)


def words(found: Result, *names: str) -> str:
    """Return what a study says of its result, in one sentence or in several, by its functions."""
    study = studies.load(found.experiment)
    said = [getattr(study, name)(found) for name in names]
    return " ".join(" ".join([each] if isinstance(each, str) else each) for each in said).strip()


def names(found: Result, without: Sequence[str] = ()) -> list[str]:
    """Return the names of a result's figures, but for some."""
    return sorted(charts.drawn(found).keys() - set(without))


def picture(view: View, name: str, found: Result) -> None:
    """Show a figure of a result alone; :func:`below` shows the rest."""
    charts.show(view, f"{found.experiment}-{name}", charts.drawn(found)[name])


def below(
    name: str,
    found: Result,
    tables: Sequence[str] = ("main",),
    drawn: CaptionedFigure | None = None,
    apart: str = "",
) -> None:
    """Show the sentence, the numbers and the files of a figure, `drawn` if not the result's."""
    drawn = drawn or charts.drawn(found)[name]
    st.html(f"<p>{glossary.marked(drawn.sentence)}</p>")
    numbers(f"{apart}{found.experiment}-{name}", found, tables, name, drawn)


def figure(
    view: View,
    name: str,
    found: Result,
    tables: Sequence[str] = ("main",),
    *,
    of: str = "",
    pinned: Pinned | None = None,
    draw: Callable[[View, Result], CaptionedFigure] | None = None,
    clicked: charts.Clicked | None = None,
) -> None:
    """Show a figure with its sentence, its numbers and its files.

    Args:
        name: what it is called on the page.
        tables: those behind it.
        of: its name among the result's, if another.
        pinned: what may stand beside it, if it is the one that the page is about.
        draw: makes it, if it is not among the result's.
        clicked: called when a person clicks a point.
    """
    draw = draw or (lambda _, each: charts.drawn(each)[of or name])

    def rest(apart: str, drawn: CaptionedFigure, each: Result) -> None:
        below(name, each, tables, drawn, apart)

    key = f"{found.experiment}-{name}"
    compare.show(view, key, draw, found, pinned, rest, clicked)


def numbers(
    key: str,
    result: Result,
    tables: Sequence[str],
    name: str = "",
    drawn: CaptionedFigure | None = None,
) -> None:
    """Show the tables behind a figure, and itself as files with its caption, folded."""
    label = "Data" if drawn is None else "Data and downloads"
    with folded(label, f"numbers-{key}") as is_open:
        if not is_open:
            return
        if drawn is not None:
            downloads.figure(key, result, name, drawn, tables)
        for each in tables:
            _table(f"{key}-{each}", each, result.tables[each])


def _table(key: str, name: str, table: pd.DataFrame) -> None:
    more = f", the first {ROWS_SHOWN} shown" if len(table) > ROWS_SHOWN else ""
    st.caption(f"Table *{name}*: {len(table):,} rows{more}")
    st.dataframe(table.head(ROWS_SHOWN), hide_index=True, alt=f"Table {name}")
    _csv_button(f"{name} as CSV", table, key)


def table(result: Result, name: str) -> None:
    """Show a table of a result, unfolded."""
    _table(f"{result.experiment}-{name}-shown", name, result.tables[name])


def rows_as_csv(label: str, result: Result, name: str, **chosen: str) -> None:
    """Show a download of some rows of a table."""
    table = result.tables[name]
    for column, value in chosen.items():
        table = table[table[column] == value]
    file = "-".join([result.experiment, *chosen.values()])
    _csv_button(label, table, file)


def _csv_button(label: str, table: pd.DataFrame, file: str) -> None:
    data = table.to_csv(index=False).encode()
    st.download_button(label, data, f"{file}.csv", "text/csv", f"csv-{file}", on_click="ignore")


def verdicts(view: View, experiment: str, result: Result | None) -> None:
    """Show what the paper claims of a preset, and what we find."""
    chosen = view.preset(experiment)
    if result is None or chosen is None or result.params != chosen:
        return
    # Imported here: only a preset that is in force has claims.
    from abcdp_core.publish.claims import judge, reading, report

    claims = reading.load().for_preset(experiment, str(view["preset"]))
    if claims:
        so_far = f", after {result.done} of {result.total} parts" if result.is_partial else ""
        st.header(f"The paper's claims, and what we find{so_far}")
    for claim in claims:
        verdict = judge(claim, result.tables)
        outcome = report.in_words(verdict.outcome)
        with st.container(border=True):
            st.markdown(f"**{claim.source} {claim.place}: {outcome}.** {claim.claim}")
            st.markdown(f"We find: {verdict.statement}")
            if claim.discussion and verdict.outcome in ("does not", "agrees in direction"):
                st.markdown(claim.discussion)
            st.caption(" ".join(claim.notes()))


def theory(*names: str, of: Callable[..., object] | None = None) -> None:
    """Show the theory behind a page, and the code that ran; loaded when it is unfolded."""
    with folded("Theory and code", "theory") as is_open:
        if not is_open:
            return
        works: list[tuple[str, list[Callable[..., object]]]] = []
        for study in map(studies.load, names):
            # What a study computes: its cells where it is on the engine, else its work.
            engine = getattr(study, "STUDY", None)
            works.append((study.Params.__module__, engine.code if engine else [study.work]))
        works += [(of.__module__, [of])] if of else []
        for module, functions in works:
            first, _, rest = (inspect.getdoc(sys.modules[module]) or "").partition("\n")
            st.markdown(f"### {first.rstrip('.')}")
            st.markdown(with_formulas(rest))
            st.code("\n\n".join(map(inspect.getsource, functions)), language="python")
        st.caption(SOURCES)


FORMULA = re.compile(r"^([ \t]*)\$\$(.+?)\$\$[ \t]*$", re.MULTILINE | re.DOTALL)
"""A formula with nothing else in its lines."""


def with_formulas(text: str) -> str:
    """Return a docstring as Markdown, where a formula's ends need lines of their own."""
    return FORMULA.sub(r"\1$$\n\1\2\n\1$$", text)
