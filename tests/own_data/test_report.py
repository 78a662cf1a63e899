from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import random
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from abcdp_core.own_data import release, report, strips
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.document import Document, figure
from abcdp_core.own_data.noisy_counts import NoisyCountsRequest
from abcdp_core.own_data.sparse_vector import SparseVectorRequest
from abcdp_core.privacy import GaussianSeries, statement
from abcdp_core.privacy.promise import odds

RNG = np.random.default_rng(1)
VALUES = RNG.uniform(0.0, 100.0, 60)
SMALL: dict[str, Any] = {"pool_size": 100, "c": 4}


def _counts(epsilon: float, n: int, low: float = 0.0) -> Document:
    request = NoisyCountsRequest("uniform-mixture", epsilon, low, 100.0, draws=100)
    return release.make(request, VALUES[:n], random.Random(1).randrange)


def _draws(scenario: str, epsilon_abc: float, epsilon: float) -> Document:
    request = SparseVectorRequest.for_scenario(
        scenario, low=-0.5, high=100.0, epsilon_total=epsilon, epsilon_abc=epsilon_abc, **SMALL
    )
    return release.make(request, VALUES, random.Random(1).randrange)


MADE = {
    "counts": _counts(1.0, 60),
    "hardly any": _counts(0.001, 10, -5.0),
    "hardly private": _counts(1000.0, 60),
    "draws": _draws("uniform-mixture", 1.0, 1.0),
    "no draw": _draws("uniform-mixture", 0.01, 1000.0),
    "curve": _draws("covid", 1.2, 0.001),
}
EVERY = pytest.mark.parametrize("name", MADE)


def made(document: Document, **more: Any) -> str:
    return report.page(document, document.to_json().encode(), **more)


def words(page: str) -> str:
    """What a reader sees, with usual spaces."""
    body = page[page.index("<main>") :]
    plain = html.unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u00a0", " ")
    return " ".join(plain.split())


@EVERY
def test_a_report_has_all_of_the_table_and_says_what_the_document_says(name: str) -> None:
    document = MADE[name]
    said = words(made(document))
    table = document.table()
    for text in (*table.columns, *table.to_numpy().ravel()):
        assert text in said
    for sentence in (
        *(document.finding, document.summary, document.statement, document.marks_in_words),
        document.in_own_words,
        *(document.exactness(), *document.content()["remains"]),
    ):
        assert " ".join(sentence.replace("`", "").split()) in said
    assert said.count(document.exactness()) == 1


@EVERY
def test_a_report_asks_no_network_and_has_no_script(name: str) -> None:
    page = made(MADE[name])
    assert not re.search(r"https?:|//|<script|<link|<img|url\(|@import|src=", page)
    assert page.count("<h1>") == 1


class Balanced(HTMLParser):
    """Refuses a tag that is not closed, or closed in another's place."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@EVERY
def test_a_report_is_well_formed(name: str) -> None:
    parser = Balanced()
    parser.feed(made(MADE[name], about="a < b & c"))
    parser.close()
    assert not parser.open


@EVERY
def test_every_setting_is_said_once_with_its_value(name: str) -> None:
    document = MADE[name]
    asked = (
        words(made(document))
        .split("What was asked")[1]
        .split("What came out, how it was computed")[0]
    )
    request = document.request
    known = request.specification(request.scenario)
    for field in dataclasses.fields(request):
        if field.name not in ("scenario", "low", "high"):
            assert asked.count(known[field.name].label) == 1
    low = f"{request.low:g}".replace("-", "\u2212")
    assert f"known to have {low} to 100 Number of values {document.n}" in asked
    assert f"({request.scenario})" in asked


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "counts",
            "then believes it with 26 % to 74 %. The odds change by at most a factor of 2.72",
        ),
        ("hardly any", "49.975 % to 50.025 %. The odds change by at most a factor of 1.00101"),
        ("hardly private", "almost 0 % to almost 100 %"),
    ],
)
def test_the_label_says_what_a_budget_means(name: str, said: str) -> None:
    assert said in words(made(MADE[name]))


def test_a_cost_is_rounded_upwards_in_what_is_bounded_by_it() -> None:
    assert float(report._up(0.99991, 3)) == 1.0
    assert float(report._up(999.5958, 4)) == 999.6
    assert float(report._up(1.0, 4)) == 1.0
    assert float(report._up(0.00100001, 4)) == 0.001001


def test_with_a_delta_nothing_is_said_of_beliefs() -> None:
    content = MADE["counts"].content() | {"cost": {"epsilon": 1.0, "delta": 1e-6}}
    said = words(f"<main>{report._label(content)}")
    assert "approximate, δ = 1e-06" in said
    assert f"differ by at most {odds(1.0)}, and beyond that by at most δ" in said
    assert "believes" not in said
    assert "odds change" not in said


def test_of_a_person_who_is_left_out_or_added_two_steps_are_told_from_one() -> None:
    event = GaussianSeries(1.0, 1.0, 1)
    text = statement(event, "one patient", 1e-6, neighbours="add-remove")
    said = words(f"<main>{report._label(MADE['counts'].content() | {'statement': text})}")
    assert "believes with 50 % that yours is among the data, then believes it with 26 %" in said
    assert "change by at most a factor of 2.72; those of a statement about what your" in said
    assert "record says by at most a factor of 7.39." in said
    assert "a factor of 2.72 (whether somebody is among the data)" in said
    assert "believes a statement about yours" not in said


@EVERY
def test_what_was_expected_before_any_data_stands_beside(name: str) -> None:
    header, rows = report._table(MADE[name])
    assert header[-1] == "before any data"
    assert len({len(header), *map(len, rows)}) == 1
    if name == "curve":
        assert rows[0][-1].startswith("0 per row")
    else:
        assert [row[-1] for row in rows] == ["20 %"] * 5


def test_the_file_that_it_follows_from_is_known_by_its_digest() -> None:
    document = MADE["counts"]
    file = document.to_json().encode()
    said = words(report.page(document, file, "a file.json"))
    assert hashlib.sha256(file).hexdigest() in said
    assert "abcdp verify 'a file.json'" in said
    old = json.loads(file) | {"versions": {"abcdp-explorer": "0.1.0"}}
    assert "Released with abcdp-explorer 0.1.0." in words(
        report.page(document, json.dumps(old).encode())
    )


def test_a_budget_that_it_was_taken_from_is_named() -> None:
    document = MADE["counts"]
    assert "budget it was taken from" not in words(made(document))
    taken = dataclasses.replace(document, reservation=Reservation("incomes", 2, "ab" * 32))  # type: ignore[type-var]
    said = words(made(taken))
    assert f"Entry 2 of the budget incomes , with the digest {'ab' * 32}" in said


def test_nothing_from_outside_becomes_markup_or_breaks_the_page() -> None:
    bad = "<b>&\ud800" + "x" * 10**4
    taken = Reservation(bad, bad, bad)  # type: ignore[arg-type]
    document: Any = dataclasses.replace(MADE["counts"], reservation=taken)  # type: ignore[type-var]
    for versions in ({bad: bad}, [bad], bad, None):
        file = json.dumps({"versions": versions}).encode()
        page = report.page(document, file, bad, about="<i>&amp;")
        page.encode()
        assert "<b>&" not in page
        assert "&lt;i&gt;&amp;amp;" in page
        assert len(page) < 20_000


# ------------------------------------------------------------------------------------ its figure


def test_strips_show_the_marks_of_the_figure_at_their_places() -> None:
    document = MADE["counts"]
    told: Any = document
    rows = strips.strips_of(figure(document))
    assert [row.name for row in rows] == [each.name for each in document.parameters]
    assert [row.said for row in rows] == [document.said(place) for place in range(5)]
    drawn = strips.drawn(figure(document), "words & more")
    assert 'aria-label="words &amp; more"' in drawn
    interval, mean, prior = rows[2].marks
    assert list(interval.x) == [100.0 * told.told.low[2], 100.0 * told.told.high[2]]
    assert (rows[2].low, rows[2].high) == (0.0, 100.0)
    for x in (*interval.x, *mean.x, *prior.x):
        assert f'"{float(x):.2f}%"' in drawn
    assert drawn.count("<path") == 5
    assert drawn.count("share of the values, %") == 1
    assert drawn.count(">100</text>") == 1


def test_strips_with_axes_of_their_own_have_ticks_each_and_hold_every_mark() -> None:
    rows = strips.strips_of(figure(MADE["curve"]))
    assert len({(row.low, row.high) for row in rows}) == 4
    drawn = strips.drawn(figure(MADE["curve"]), "")
    assert drawn.count(">0</text>") == 3, "values in the first row are not near 0"
    beyond = figure(MADE["curve"]).add_trace(go.Scatter(x=[1e3], y=[0.5], mode="markers"))
    wide = strips.strips_of(beyond)
    assert wide[0].high == 1e3
    assert wide[1].high == rows[1].high
    assert "<circle" in strips.drawn(beyond, "")
    shared = figure(MADE["counts"]).add_trace(go.Scatter(x=[120.0], y=[0.5], mode="markers"))
    assert {row.high for row in strips.strips_of(shared)} == {120.0}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 100.0, ["0", "20", "40", "60", "80", "100"]),
        (-0.0019, 0.0019, ["\u22120.001", "0", "0.001"]),
        (-3e-6, 3e-6, ["\u22122 × 10\u207b\u2076", "0", "2 × 10\u207b\u2076"]),
        (0.0, 25_000.0, ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]),
        (1e9, 1e9 + 1.5, ["1000000000", "1000000000.5", "1000000001", "1000000001.5"]),
        (-1e9, 1e9, ["\u22121 × 10⁹", "\u22125 × 10⁸", "0", "5 × 10⁸", "1 × 10⁹"]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, expected: list[str]) -> None:
    assert [text for _, text in strips.ticks(low, high)] == expected
