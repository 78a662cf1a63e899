"""Show the verdicts that come with the program, and one claim in full."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import pandas as pd
import streamlit as st

from abcdp_core import __version__
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.claims import Run, document, pictures, reading, report, reproduction
from abcdp_core.publish.claims.report import Report, in_words
from ui.figures import charts
from ui.view import controls_spec, page_table
from ui.view.link import VERSION
from ui.view.page import Page
from ui.view.view import View
from ui.widgets import controls

NAMES = {
    "P21": "ABCDP, 2021 (P21)",
    "P22": "ABC meets DP (P22)",
    "Y23": "Adaptive truncation, 2023 (Y23)",
    "X25": "Published queries, 2025 (X25)",
}
"""Tag -> a paper in a few words."""

FILTERS = {"papers.paper": "source", "papers.verdict": "verdict", "papers.standing": "standing"}
"""Knob -> the column that it filters by."""

ROW = 80
"""Pixels of a row: four lines; texts break only in rows of more than 64."""

WIDTHS = {
    "verdict": 150,
    "item": 76,
    "claim": 310,
    "the paper's number": 130,
    "ours": 120,
    "family-wise": 100,
}
"""Column -> pixels; together what fits beside the sidebar of a laptop."""

FILES = (
    ("The table as CSV", "reproduce.csv", "text/csv"),
    ("Date, settings and totals as JSON", "reproduce.json", "application/json"),
    ("The report as Markdown", "reproduce.md", "text/markdown"),
)


@functools.cache
def stored() -> Report:
    """Return the result that comes with the program."""
    return report.read()


def lead() -> str:
    """Return how claims are judged, and when the verdicts were computed."""
    details = stored().details
    return (
        f"The rule that judges a claim was fixed before its run, unless the claim says otherwise. "
        f"Computed on {details['date']}, {details['profile']} profile, seed {details['seed']}."
    )


def at_a_glance(view: View) -> None:
    """Show how many claims of each paper agree."""
    drawn = charts.memoized(stored(), "totals", lambda: pictures.totals(stored().table, NAMES))
    charts.show(view, "totals", drawn)


def totals() -> str:
    """Return how many claims agree: those of the papers, what they imply, and our own."""
    papers, end, others = report.total_words(stored().table).partition(". ")
    return f"**{papers}{end.strip()}** {others}"


def by_chance() -> str:
    """Return what chance can have done to the verdicts."""
    return report.chance_words(stored())


def chosen_rows(view: View) -> pd.DataFrame:
    """Return the rows that pass the filters, those that nothing can judge last."""
    table = stored().table
    for key, column in FILTERS.items():
        if (wanted := str(view[key])) != controls_spec.find(key).default:
            table = table[table[column] == wanted]
    return table.sort_values("id", key=lambda ids: ids == "", kind="stable")


def table(view: View, rows: pd.DataFrame) -> None:
    """Show the rows; a click on one shows it below."""
    if rows.empty:
        st.info("No claim fits these filters.")
        return
    seed = stored().details["seed"]
    found = {name: address(run, seed) for name, run in reading.load().runs.items()}
    links = {name: each.link for name, each in found.items() if each}
    shown = pd.DataFrame(
        {
            "verdict": rows["verdict"].map(in_words),
            "item": rows["item"],
            "page": rows["run"].map(links).fillna(""),
            "claim": rows["claim"],
            "the paper's number": rows["paper"],
            "ours": [report.measured(row) for _, row in rows.iterrows()],
            "family-wise": rows["family_wise"]
            .map(in_words)
            .where(rows["family_wise"] != rows["verdict"], "the same")
            .where(rows["id"] != "", ""),
        }
    )
    columns = {name: st.column_config.TextColumn(width=px) for name, px in WIDTHS.items()}
    about = "The page that shows it, with the settings of the run."
    link = st.column_config.LinkColumn(width=56, display_text="open", help=about)
    st.dataframe(
        shown,
        key="papers-table",
        hide_index=True,
        height=36 + 3 * ROW,
        row_height=ROW,
        alt=f"{len(rows)} claims with verdicts",
        on_select=functools.partial(_choose, view, controls_spec.claim_names(rows)),
        selection_mode="single-cell",
        column_config={**columns, "page": link},
    )


def _choose(view: View, names: list[str]) -> None:
    if "papers.claim" not in view.fixed:
        for row, _ in st.session_state["papers-table"]["selection"]["cells"]:
            st.session_state["papers.claim"] = names[row]


def claim(view: View) -> str:
    """Show the chosen claim; return the experiment that judges it, empty if there is none."""
    controls.widget(view, "papers.claim")
    table = stored().table
    row = table.iloc[controls_spec.claim_names(table).index(str(view["papers.claim"]))]
    st.subheader(f"{row['item']}, {row['place']}: {in_words(row['verdict'])}")
    if not row["id"]:
        for _, each in table[(table["item"] == row["item"]) & (table["id"] == "")].iterrows():
            st.markdown(document.escaped(f"{each['claim']} {each['reason']}"))
        return ""
    left, right = st.columns(2, gap="large")
    left.markdown(document.claim_text(row, reading.load()))
    with right:
        if pd.notna(row["ours"]):
            draw = functools.partial(pictures.one, row)
            drawn = CaptionedFigure(charts.memoized(stored(), row["id"], draw), str(row["reason"]))
            charts.show(view, "claim", drawn)
        _again(reading.load().runs[row["run"]])
    return str(row["experiment"])


def _again(run: Run) -> None:
    """Show where the run can be seen, and what makes it again."""
    details = stored().details
    if (found := address(run, details["seed"])) is not None:
        what = f"the preset {run.preset}" if is_preset(run) else "these settings"
        but = f", all but {', '.join(found.left)}" if found.left else ""
        with st.container(key="open-claim"):
            st.link_button(f"Open {found.page.title} with {what}{but}", found.link)
    st.markdown(f"The {details['profile']} profile's run in a terminal:")
    st.code(details["runs"][run.name]["command"], language=None, wrap_lines=True)


@dataclass(frozen=True)
class Address:
    """Where a run can be seen, and which of its parameters the page has no knob for."""

    page: Page
    link: str
    left: tuple[str, ...] = ()


@functools.cache
def address(run: Run, seed: int) -> Address | None:
    """Return the page that shows a run's experiment, set as the run is, if one shows it."""
    pages = [page for page in page_table.shown() if run.experiment in page.every]
    if not pages:
        return None
    page = pages[-1]
    query, left = ({"preset": run.preset}, []) if is_preset(run) else _settings(page, run)
    link = urlencode(query | {"seed": str(seed), VERSION: __version__}, quote_via=quote)
    return Address(page, f"{page.file}?{link}", tuple(left))


def is_preset(run: Run) -> bool:
    """Whether a run is a preset with nothing changed, which brings its view with it."""
    return bool(run.preset) and not run.parameters


def _settings(page: Page, run: Run) -> tuple[dict[str, str], list[str]]:
    """Return knob -> text, and the parameters that have no knob and not the page's value."""
    params = reproduction.params_of(run, "full")
    usual, texts = type(params)().to_text(), params.to_text()
    views = {shown: (page.view, value) for value, every in page.views.items() for shown in every}
    query: dict[str, str] = dict([views[run.experiment]]) if run.experiment in views else {}
    left: list[str] = []
    for name, text in texts.items():
        own = f"{run.experiment}.{name}"
        several = params.takes_many(name) and "," in text
        if own in page.own and not several:
            query[own] = text
        elif (name in controls_spec.SHARED or name == page.chooser) and not several:
            query[page.key_of(name)] = text
        elif several or text != usual[name]:
            left.append(name)
    return query, left


def numbers(view: View, rows: pd.DataFrame) -> None:
    """Show ours as a multiple of the paper's number, for the claims that have one."""
    comparable = pictures.comparable(rows)
    if comparable.empty:
        st.markdown("None of the claims above has a number of the paper to compare ours with.")
        return
    names, draw = tuple(comparable["id"]), functools.partial(_numbers, comparable)
    charts.show(view, "numbers", charts.memoized(stored(), names, draw))


def _numbers(comparable: pd.DataFrame) -> CaptionedFigure:
    chart = pictures.against_papers(comparable)
    text = "; ".join(
        f"{row['item']}: {report.measured(row)}, the paper {report.rounded(row['paper_value'])}"
        for _, row in comparable.iterrows()
    )
    return CaptionedFigure(chart, f"{chart.layout.title.text}. {text}.")


def retired() -> None:
    """Show claims that were withdrawn."""
    with st.expander("Withdrawn claims"):
        for entry in reading.load().retired:
            st.markdown(f"`{entry.id}`: {document.escaped(entry.reason)}")


def downloads() -> None:
    """Show the table, the report, and the line that makes both again."""
    st.header("Download")
    with st.container(horizontal=True, gap="large"):
        for label, name, mime in FILES:
            data = (report.FOLDER / name).read_bytes()
            st.download_button(label, data, name, mime, f"papers-{name}", on_click="ignore")
    st.markdown("Compute everything again, on two cores in about 10 minutes (quick) or 90 (full):")
    st.code(stored().details["command"], language=None, wrap_lines=True)
