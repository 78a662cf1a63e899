"""``python -m benchmarks.first_paint``: how long the first visitor of a fresh server waits.

It prints a table for ``benchmarks/README.md`` (ten minutes): seconds in a browser from opening a
page to its heading and to its first figure, for each page, when nobody was there before and both
caches, the server's and the browser's, are empty. With ``--beside DIRECTORY`` another checkout is
measured in turn with this one, so that both meet the same load.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from abcdp_core.workers import processor_count
from benchmarks import server
from benchmarks.server import ROOT

PAGES = (
    *("overview", "flip_probability", "privacy_and_accuracy", "posterior"),
    *("adaptive_truncation", "case_studies", "mechanisms", "your_own_data", "gaussian_noise"),
    "distances",
)

AFTER = (0.0, 10.0)
"""Seconds after the server's first answer at which the visitor comes."""

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

HEADING, FIGURE = "h1", ".js-plotly-plot svg.main-svg, canvas"

LONGEST = 120_000
"""Milliseconds until a page counts as failed."""


@dataclass(frozen=True)
class Paint:
    """What one visitor waited for, in seconds.

    Attributes:
        heading: until the page's title or its headline was there.
        figure: until the first figure was there.
    """

    heading: float
    figure: float


def visit(page: str, after: float, root: Path) -> Paint:
    """The first visit of a server that is started for it.

    Args:
        page: its name.
        after: seconds after the server's first answer.
        root: the checkout that is served.
    """
    from playwright.sync_api import sync_playwright

    # Worker processes may be writing for a moment after the server's end.
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache,
    ):
        browser = playwright.chromium.launch(executable_path=_chromium(), args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        with server.started(cache, root) as here:
            time.sleep(after)
            start = time.perf_counter()
            path = "" if page == "overview" else page
            tab.goto(f"http://{here.address}/{path}", wait_until="commit")
            tab.wait_for_selector(HEADING, timeout=LONGEST)
            heading = time.perf_counter() - start
            tab.wait_for_selector(FIGURE, timeout=LONGEST, state="attached")
            return Paint(heading, time.perf_counter() - start)


def _chromium() -> str | None:
    """A Chromium on the path; Playwright's own if there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def row(page: str, visits: Sequence[Sequence[Paint]]) -> str:
    """A line of the table: medians.

    Args:
        page: its name.
        visits: of each column, one per repeat.
    """
    cells = []
    for each in visits:
        heading, figure = (
            statistics.median(getattr(paint, name) for paint in each)
            for name in ("heading", "figure")
        )
        cells += [f"{heading:.1f}", f"{figure:.1f}"]
    return f"| {page.replace('_', ' ')} | {' | '.join(cells)} |"


def header(columns: Sequence[str]) -> str:
    """The head of the table.

    Args:
        columns: what is compared.
    """
    cells = [f"{column}: {what}" for column in columns for what in ("heading", "figure")]
    return f"| page | {' | '.join(cells)} |\n|---|{'---:|' * len(cells)}"


def main() -> None:
    """Measure and print, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_paint", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="of each visit (3)")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=PAGES, help="not all")
    parser.add_argument("--after", type=float, nargs="+", default=AFTER, help="seconds (0 10)")
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turn")
    options = parser.parse_args()
    roots = {"": ROOT} if options.beside is None else {"before, ": options.beside, "now, ": ROOT}
    columns = [(name, after) for after in options.after for name in roots]
    print(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {platform.machine()}, ", end="")
    print(f"{processor_count()} processors, load {os.getloadavg()[0]:.2f}, ", end="")
    print(f"medians of {options.repeats} in s\n")
    print(header([f"{name}after {after:g} s" for name, after in columns]))
    for page in options.pages:
        seen: list[list[Paint]] = [[] for _ in columns]
        for _ in range(options.repeats):
            for (name, after), paints in zip(columns, seen, strict=True):
                paints.append(visit(page, after, roots[name].resolve()))
        print(row(page, seen), flush=True)
    print(f"\nload at the end {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
