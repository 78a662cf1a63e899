"""``python -m benchmarks.first_paint``: measure the seconds until a browser shows the first figure.

The first page and a bare Streamlit page with four Plotly charts take turns, so that the load is the
same for both. Each visitor has an empty browser; the first has a fresh server with an empty cache.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.measure import head, machine, row
from benchmarks.server import ROOT, started
from tests.browser import chromium

BARE = """
import plotly.graph_objects as go
import streamlit as st

st.title("Four charts")
for power in range(1, 5):
    st.plotly_chart(go.Figure(go.Scatter(y=[x**power for x in range(300)], mode="markers")))
"""
FIGURE = ".js-plotly-plot svg.main-svg, .story .headline:not(:empty)"
"""Of the bare page, and of ours, whose headline is written with its figure."""

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def wait(address: str) -> float:
    """Return the seconds from opening a page to its first figure."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        start = time.perf_counter()
        tab.goto(f"http://{address}", wait_until="commit")
        tab.wait_for_selector(FIGURE, state="attached", timeout=120_000)
        return time.perf_counter() - start


def visits(root: Path) -> tuple[float, float]:
    """Return the seconds of the first and of a later visitor of a fresh server."""
    with tempfile.TemporaryDirectory() as cache, started(cache, root) as (address, _):
        return wait(address), wait(address)


def main() -> None:
    """Print medians and their ratio for the first and for a later visitor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_paint", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="fresh servers of each kind (3)")
    repeats = parser.parse_args().repeats
    print(f"{machine()}, medians of {repeats}\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "app.py").write_text(BARE, encoding="utf-8")
        pairs = [(visits(Path(folder)), visits(ROOT)) for _ in range(repeats)]
    print(head("visitor", "bare Streamlit s", "first page s", "ratio"))
    for number, visitor in enumerate(("first", "later")):
        theirs, ours = (statistics.median(each[n][number] for each in pairs) for n in (0, 1))
        print(row(visitor, theirs, ours, ours / theirs))


if __name__ == "__main__":
    main()
