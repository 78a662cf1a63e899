"""Render a reproduction report in Markdown, and as an HTML page that works offline."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from abcdp_core import figures as fig
from abcdp_core.base.sentences import counted
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.claims import OUTCOMES, Ledger
from abcdp_core.publish.claims.report import (
    WHOSE,
    Report,
    chance_words,
    in_words,
    measured,
    total_words,
)
from abcdp_core.publish.output import documents
from abcdp_core.publish.output.page import part_of_page

PAPERS = {
    "P22": "Park and Jitkrittum, ABC meets differential privacy",
    "P21": "Park, Vinaroz and Jitkrittum, ABCDP, Entropy 23(8):961, 2021",
    "Y23": "Yıldırım, Differentially private online Bayesian estimation with adaptive truncation, "
    "2023",
    "X25": "Xiong, Ju and Zhang, Simulation-based Bayesian inference from privacy protected data, "
    "TMLR, 2025",
}
"""Tag -> the paper."""


def escaped(text: str) -> str:
    """Escape a text for Markdown, except for emphasis (``*words*``)."""
    plain = re.sub(r"([\\`|<>~$]|(?<!\w)_|_(?!\w)|\](?=\())", r"\\\1", text)
    return re.sub(r"(?<!\w)\*(\w[\w ]*)\*|\*", lambda m: m[0] if m[1] else r"\*", plain)


def duration(seconds: float) -> str:
    """Return a duration in words."""
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


USED = {
    each.__name__: each
    for each in (escaped, duration, counted, in_words, measured, total_words, chance_words)
} | {"WHOSE": WHOSE, "PAPERS": PAPERS}
"""Name -> function or value for the templates."""


def claim_text(row: Mapping[str, Any] | pd.Series[Any], entries: Ledger) -> str:
    """Return the text about one claim in Markdown, without its heading."""
    entry = next(each for each in entries.claims if each.id == row["id"])
    return documents.render("claim.md", row=row, entry=entry, **USED).strip()


def markdown(report: Report, entries: Ledger) -> str:
    """Return a report on a ledger in Markdown, without figures."""
    return _markdown(report, entries, marks={})


def page(report: Report, entries: Ledger, figures: Mapping[str, CaptionedFigure]) -> str:
    """Return a report on a ledger as an HTML page."""
    runs = [run for run, about in report.details["runs"].items() if about["summary"]]
    body = str(documents.markdown(_markdown(report, entries, {run: f"[[{run}]]" for run in runs})))
    for number, run in enumerate(sorted(runs, key=lambda run: run not in figures)):
        drawn = _drawn(run, figures[run], number == 0) if run in figures else NOT_DRAWN
        body = body.replace(f"<p>[[{run}]]</p>", drawn)
    return documents.render("claims.html", title=TITLE, body=Markup(body))


TITLE = "Do the papers hold up?"
NOT_DRAWN = "<p>Its figure could not be drawn.</p>"


def _markdown(report: Report, entries: Ledger, marks: Mapping[str, str]) -> str:
    """Return the report with a mark for the figure of each run."""
    return documents.render(
        "claims.md",
        title=TITLE,
        report=report,
        details=report.details,
        papers=report.table.groupby("source", sort=False),
        runs=report.claims.groupby("run", sort=False),
        entries=entries,
        claim=functools.partial(claim_text, entries=entries),
        verdicts=_verdicts,
        verdict_names=[*map(in_words, OUTCOMES)],
        totals=[
            [source, WHOSE[standing][1], *(count.get(name, 0) for name in OUTCOMES)]
            for source, parts in report.details["totals"].items()
            for standing, count in parts.items()
            if standing in WHOSE and count
        ],
        marks=marks,
        **USED,
    )


def _verdicts(rows: pd.DataFrame) -> list[list[str]]:
    """Return one row of texts per claim."""
    return [
        [
            row["item"],
            row["claim"],
            row["paper"],
            measured(row),
            row["measure"] if measured(row) else "",
            in_words(row["verdict"]),
            in_words(row["family_wise"]),
        ]
        for _, row in rows.iterrows()
    ]


def _drawn(run: str, drawn: CaptionedFigure, is_first: bool) -> str:
    shown = part_of_page(drawn.figure, f"figure-{run}", is_first, fig.one_line(drawn.figure))
    return f"{shown}<p>{html.escape(drawn.sentence)}</p>"
