"""A reproduction as a text to read: the same blocks as Markdown and as a page in HTML.

The page holds all it needs, the script that draws its figures included, and asks no network.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.ledger import OUTCOMES, Ledger
from abcdp_core.ledger.report import (
    WHOSE,
    Report,
    chance_words,
    in_words,
    measured,
    total_words,
)
from abcdp_core.output.frame import framed
from abcdp_core.output.page import part_of_page
from abcdp_core.sentences import counted

PAPERS = {
    "P22": "Park and Jitkrittum, ABC meets differential privacy",
    "P21": "Park, Vinaroz and Jitkrittum, ABCDP, Entropy 23(8):961, 2021",
    "Y23": "Yıldırım, Differentially private online Bayesian estimation with adaptive truncation, "
    "2023",
    "X25": "Xiong, Ju and Zhang, Simulation-based Bayesian inference from privacy protected data, "
    "TMLR, 2025",
}
"""Tag -> the paper."""


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 4."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, with a word before it that says what it is."""

    text: str
    label: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Command:
    """Something to type."""

    text: str


@dataclass(frozen=True)
class Picture:
    """The figure of a run, where the document can hold one."""

    run: str


Block = Heading | Paragraph | Bullets | Grid | Command | Picture


def blocks(report: Report, entries: Ledger) -> Iterator[Block]:
    """All there is to tell.

    Args:
        report: the verdicts.
        entries: the ledger that they are about.
    """
    details = report.details
    yield Heading(1, "What the papers claim, and what we find")
    yield Paragraph(total_words(report.table))
    yield Paragraph(
        f"Computed on {details['date']} with seed {details['seed']} and the {details['profile']} "
        f"profile in {_duration(details['seconds'])} on {details['processors']} processors, by "
        f"{', '.join(f'{name} {number}' for name, number in details['versions'].items())}. Rules "
        "and margins were fixed before the runs, unless a claim says otherwise."
    )
    yield from _totals(report)
    yield Heading(2, "What chance can have done")
    yield Paragraph(chance_words(report))
    for source in report.table["source"].unique():
        yield from _paper(str(source), report.table[report.table["source"] == source])
    yield Heading(2, "Every claim, by the run that judges it")
    for run in dict.fromkeys(report.claims["run"]):
        rows = report.claims[report.claims["run"] == run]
        yield from _run(str(run), rows, details["runs"][run], entries)
    yield from _without_claim(report)
    if not details["chosen"] and entries.retired:
        yield Heading(2, "Claims that are not made any more")
        yield Bullets(tuple(f"{entry.id}: {entry.reason}" for entry in entries.retired))
    yield Heading(2, "How to do it again")
    yield Command(details["command"])
    yield Paragraph(
        "It goes on where it was stopped, as long as the folder is the same. A single claim, an "
        "item or a paper can be named after the word reproduce. Each run has its own command above."
    )


def _totals(report: Report) -> Iterator[Block]:
    rows = [
        (
            source,
            WHOSE[standing][1],
            *(str(numbers.get(name, 0)) for name in OUTCOMES),
        )
        for source, parts in report.details["totals"].items()
        for standing, numbers in parts.items()
        if standing in WHOSE and numbers
    ]
    if rows:
        yield Grid(("paper", "standing", *map(in_words, OUTCOMES)), tuple(rows))


def _paper(source: str, rows: pd.DataFrame) -> Iterator[Block]:
    yield Heading(2, f"[{source}] {PAPERS.get(source, '')}".rstrip())
    yield Paragraph(total_words(rows))
    header = ("item", "claim", "paper", "ours", "measured as", "verdict", "family-wise")
    yield Grid(
        header,
        tuple(
            (
                row["item"],
                row["claim"],
                row["paper"],
                measured(row),
                row["measure"] if measured(row) else "",
                in_words(row["verdict"]),
                in_words(row["family_wise"]),
            )
            for _, row in rows.iterrows()
        ),
    )


def _run(
    name: str, rows: pd.DataFrame, details: Mapping[str, Any], entries: Ledger
) -> Iterator[Block]:
    yield Heading(3, name)
    if details["summary"]:
        yield Paragraph(details["summary"])
        yield Picture(name)
    tasks = counted(details["tasks"], "task")
    taken = f" Took {_duration(details['seconds'])} for {tasks}."
    yield Paragraph(f"Experiment {details['experiment']}.{taken if details['tasks'] else ''}")
    yield Command(details["command"])
    if notes := entries.runs[name].differences:
        yield Paragraph("", "Differences of all claims of this run")
        yield Bullets(notes)
    for _, row in rows.iterrows():
        yield from claim(row, entries)


def claim(row: pd.Series[Any], entries: Ledger) -> Iterator[Block]:
    """What there is to say of one claim."""
    entry = next(each for each in entries.claims if each.id == row["id"])
    yield Heading(4, f"{row['item']}, {row['place']}: {in_words(row['verdict'])}")
    yield Paragraph(row["claim"], WHOSE[row["standing"]][0].capitalize())
    if row["paper"]:
        yield Paragraph(row["paper"], "The paper's number")
    if measured(row):
        yield Paragraph(measured(row), f"Ours, {row['measure']}")
    yield Paragraph(row["reason"], "We find")
    if row["family_wise"] != row["verdict"]:
        yield Paragraph(in_words(row["family_wise"]), "Family-wise")
    if entry.discussion:
        yield Paragraph(entry.discussion, "Discussion")
    if entry.differences:
        yield Paragraph(" ".join(entry.differences), "Differences")
    if entry.scope:
        yield Paragraph(entry.scope, "Scope")
    yield Paragraph(f"{row['id']}; {row['rule']}; table {entry.table}", "Rule")


def _without_claim(report: Report) -> Iterator[Block]:
    rows = report.without_claim
    if len(rows):
        yield Heading(2, "What no table of ours can judge")
        yield Bullets(
            tuple(
                f"{row['item']}, {row['place']}: {row['claim']} {row['reason']}"
                for _, row in rows.iterrows()
            )
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


# --------------------------------------------------------------------------------------- Markdown


def markdown(report: Report, entries: Ledger) -> str:
    """The document in Markdown, without figures."""
    parts = (_in_markdown(block) for block in blocks(report, entries))
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escaped(text)}"
        case Paragraph(text, label):
            return f"**{escaped(label)}:** {escaped(text)}".rstrip() if label else escaped(text)
        case Bullets(items):
            return "\n".join(f"- {escaped(item)}" for item in items)
        case Grid(header, rows):
            lines = [header, ("---",) * len(header), *(map(escaped, row) for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Command(text):
            return f"    {text}"
        case Picture():
            return ""


def claim_text(row: pd.Series[Any], entries: Ledger) -> str:
    """What there is to say of one claim in Markdown, without its heading."""
    said = [block for block in claim(row, entries) if not isinstance(block, Heading)]
    return "\n\n".join(map(_in_markdown, said))


def escaped(text: str) -> str:
    """A text as Markdown that shows it as it stands; ``*words*`` of ours stay emphasised."""
    plain = re.sub(r"([\\`|<>~$]|(?<!\w)_|_(?!\w)|\](?=\())", r"\\\1", text)
    return re.sub(r"(?<!\w)\*(\w[\w ]*)\*|\*", lambda m: m[0] if m[1] else r"\*", plain)


# ------------------------------------------------------------------------------------------- HTML

STYLE = """
body {{ font: 1rem/1.5 {font}; color: {ink}; background: #FFFFFF; margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem; }}
h1 {{ font-size: 1.75rem; line-height: 1.2; }}
h2 {{ font-size: 1.35rem; margin-top: 3rem; border-bottom: 2px solid {grid}; }}
h3 {{ font-size: 1.15rem; margin-top: 2.5rem; }}
h4 {{ font-size: 1rem; margin: 1.75rem 0 0.25rem; }}
p {{ margin: 0.4rem 0; }}
table {{ border-collapse: collapse; font-size: 0.9rem; margin: 1rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.3rem 0.6rem;
         border-bottom: 1px solid {grid}; }}
td:nth-last-child(-n+2) {{ white-space: nowrap; }}
.wide {{ overflow-x: auto; }}
pre {{ background: #F4F4F4; padding: 0.6rem; white-space: pre-wrap; overflow-wrap: anywhere;
      font-size: 0.85rem; }}
"""


def page(report: Report, entries: Ledger, figures: Mapping[str, Drawn]) -> str:
    """The document as a page.

    Args:
        report: the verdicts.
        entries: the ledger that they are about.
        figures: run -> its main figure.
    """
    shown = list(blocks(report, entries))
    drawn = [block.run for block in shown if isinstance(block, Picture) and block.run in figures]
    first = {name: name == drawn[0] for name in drawn}
    parts = [_in_html(block, figures, first) for block in shown]
    title = next(block.text for block in shown if isinstance(block, Heading))
    return framed(title, STYLE, "\n".join(parts))


def _in_html(block: Block, figures: Mapping[str, Drawn], first: Mapping[str, bool]) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_said(text)}</h{level}>"
        case Paragraph(text, label):
            before = f"<strong>{_said(label)}:</strong> " if label else ""
            return f"<p>{before}{_said(text)}</p>"
        case Bullets(items):
            return f"<ul>{_each('li', items)}</ul>"
        case Grid(header, rows):
            body = "".join(f"<tr>{_each('td', row)}</tr>" for row in rows)
            head = f"<tr>{_each('th', header)}</tr>"
            return f'<div class="wide" tabindex="0"><table>{head}{body}</table></div>'
        case Command(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Picture(run):
            return _drawn(run, figures, first)


def _drawn(run: str, figures: Mapping[str, Drawn], first: Mapping[str, bool]) -> str:
    if run not in figures:
        return "<p>Its figure could not be drawn.</p>"
    figure, sentence = figures[run].figure, figures[run].sentence
    shown = part_of_page(figure, f"figure-{run}", first[run], fig.one_line(figure))
    return f"{shown}<p>{html.escape(sentence)}</p>"


def _each(tag: str, texts: Iterable[str] | Sequence[str]) -> str:
    return "".join(f"<{tag}>{_said(text)}</{tag}>" for text in texts)


def _said(text: str) -> str:
    """A text in HTML; ``*words*`` of ours are emphasised."""
    return re.sub(r"(?<!\w)\*(\w[\w ]*)\*", r"<em>\1</em>", html.escape(text))
