"""The table of verdicts that came with the program, and the claim that is chosen in it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd
import streamlit as st

from abcdp_core import experiments
from abcdp_core.ledger import Run, document, pictures, reading, report, reproduction
from abcdp_core.ledger.report import Report, in_words
from abcdp_core.parameters import Params
from ui import charts, controls, knobs, router
from ui.router import Page


@functools.cache
def stored() -> Report:
    """The result that comes with the program."""
    return report.read()


def totals() -> str:
    """How many claims agree, and what that was computed with."""
    found = stored()
    when = (
        f"Computed on {found.details['date']}, {found.details['profile']} profile, "
        f"seed {found.details['seed']}; rules and margins were fixed before."
    )
    return f"**{report.total_words(found.table)}** {when}"


def by_chance() -> str:
    """What chance can have done to the verdicts."""
    return report.chance_words(stored())


# ------------------------------------------------------------------------------------------ table

FILTERS = {"papers.paper": "source", "papers.verdict": "verdict", "papers.standing": "standing"}
"""Knob -> the column that it filters by."""


def chosen_rows() -> pd.DataFrame:
    """The rows that the filters leave."""
    table = stored().table
    for key, column in FILTERS.items():
        wanted = str(controls.current(key))
        if wanted != knobs.find(key).default:
            table = table[table[column] == wanted]
    return table


def table(rows: pd.DataFrame) -> None:
    """The rows; to select one shows it below."""
    if rows.empty:
        st.info("No claim fits these filters.")
        return
    shown = pd.DataFrame(
        {
            "verdict": rows["verdict"].map(in_words),
            "item": rows["item"],
            "claim": rows["claim"],
            "the paper's number": rows["paper"],
            "ours": [report.measured(row) for _, row in rows.iterrows()],
            "family-wise": rows["family_wise"].map(in_words),
        }
    )
    names = knobs.claim_names(rows)
    st.dataframe(
        shown,
        key="papers-table",
        hide_index=True,
        height=330,
        alt=f"{len(rows)} claims with verdicts",
        on_select=functools.partial(_choose, names),
        selection_mode="single-row",
        column_config={
            "verdict": st.column_config.TextColumn(width="small"),
            "item": st.column_config.TextColumn(width=80),
            "claim": st.column_config.TextColumn(width="large"),
            "ours": st.column_config.TextColumn(width="medium"),
        },
    )


def _choose(names: list[str]) -> None:
    """The selected row becomes the claim that is shown."""
    selected = st.session_state["papers-table"]["selection"]["rows"]
    if selected:
        st.session_state["papers.claim"] = names[selected[0]]


# ------------------------------------------------------------------------------------------ claim


def claim() -> str:
    """The chosen claim in full; returns the experiment that judges it, empty if there is none."""
    controls.widget("papers.claim")
    table = stored().table
    names = knobs.claim_names(table)
    row = table.iloc[names.index(str(controls.current("papers.claim")))]
    st.subheader(f"{row['item']}, {row['place']}: {in_words(row['verdict'])}")
    if not row["id"]:
        st.markdown(f"{document.escaped(row['claim'])}\n\n{document.escaped(row['reason'])}")
        return ""
    with st.container(horizontal=True, gap="large", vertical_alignment="top"):
        with st.container(width=560):
            st.markdown(document.claim_text(row, reading.load()))
        with st.container(width=520):
            if pd.notna(row["ours"]):
                charts.show("claim", pictures.one(row), row["reason"])
            _again(reading.load().runs[row["run"]])
    return str(row["experiment"])


def _again(run: Run) -> None:
    """Where the run can be seen, and what makes it again."""
    details = stored().details
    found = address(run, details["seed"])
    if found is not None:
        page, link = found
        st.markdown(f"[**Open {page.title} with the very settings**]({link})")
    else:
        st.markdown("No page shows this run with its very settings; this line computes it:")
    st.code(details["runs"][run.name]["command"], language="bash", wrap_lines=True)


VIEWS = {
    "many-releases": "many releases",
    "change-one-person": "change one person",
    "synthetic-data": "synthetic data",
}
"""Experiment -> the view of the page *Posterior* that shows it."""


def address(run: Run, seed: int) -> tuple[Page, str] | None:
    """The page that shows a run and the link that sets it so; ``None`` if none can."""
    pages = [page for page in router.TABLE if run.experiment in page.setting.every]
    for page in reversed(pages):
        query = _query(page, run)
        if query is not None:
            query = {**query, "seed": str(seed)}
            return page, f"{page.file}?{urlencode(query, quote_via=quote)}"
    return None


def _query(page: Page, run: Run) -> dict[str, str] | None:
    """Knob -> text, if the page's knobs can set all that the run sets."""
    if run.preset and not run.parameters:
        return {"preset": run.preset}
    experiment = experiments.load(run.experiment)
    params = reproduction.params_of(run, "full")
    texts, query = params.to_text(), {}
    for field in dataclasses.fields(params):
        key = _key(page, run.experiment, field.name)
        if key:
            query[key] = texts[field.name]
        elif getattr(params, field.name) != getattr(experiment.Params(), field.name):
            return None
    if _lists(params):
        return None
    view = VIEWS.get(run.experiment)
    return query | ({"posterior.view": view} if view else {})


def _key(page: Page, experiment: str, name: str) -> str:
    """The knob of a parameter on a page; empty if there is none."""
    if f"{experiment}.{name}" in page.setting.own:
        return f"{experiment}.{name}"
    if name in knobs.SHARED or (name == "scenario" and page.setting.chooser == name):
        return name
    return ""


def _lists(params: Params) -> bool:
    """Whether a parameter has a list, which a page makes from its knobs in its own way."""
    return any(params.takes_many(field.name) for field in dataclasses.fields(params))


# ------------------------------------------------------------------------------------------- rest


def numbers(rows: pd.DataFrame) -> None:
    """Ours as a multiple of the paper's number, for the claims where there is one."""
    comparable = pictures.comparable(rows)
    if comparable.empty:
        st.markdown("None of the claims chosen above has a number of the paper to set ours beside.")
        return
    chart = pictures.against_papers(comparable)
    text = "; ".join(
        f"{row['item']}: {report.measured(row)}, the paper {report.rounded(row['paper_value'])}"
        for _, row in comparable.iterrows()
    )
    charts.show("numbers", chart, f"{chart.layout.title.text}. {text}.")


def retired() -> None:
    """Claims that were judged once."""
    with st.expander("Claims that are not made any more"):
        for entry in reading.load().retired:
            st.markdown(f"`{entry.id}`: {document.escaped(entry.reason)}")


def downloads() -> None:
    """The table, the report, and the line that makes both again."""
    st.header("Download")
    with st.container(horizontal=True, gap="large"):
        for label, name, kind in FILES:
            st.download_button(
                label,
                data=(report.FOLDER / name).read_bytes,
                file_name=name,
                mime=kind,
                key=f"papers-{name}",
                on_click="ignore",
            )
    st.markdown("Computed again, on two cores in about ten minutes (quick) or ninety (full), by")
    st.code(stored().details["command"], language="bash", wrap_lines=True)


FILES: tuple[tuple[str, str, Any], ...] = (
    ("The table as CSV", "reproduce.csv", "text/csv"),
    ("Date, settings and totals as JSON", "reproduce.json", "application/json"),
    ("The report as Markdown", "reproduce.md", "text/markdown"),
)
