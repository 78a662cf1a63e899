"""Figures of claims: how many agree, one with its numbers, and all beside the papers' own."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from abcdp_core.claims import pictures, report

TABLE = report.read().table


def row(**values: Any) -> pd.Series[Any]:
    usual = {"item": "P99-F1a", "verdict": "agrees in direction", "measure": "difference of means"}
    numbers = {"ours": -1.5, "low": -2.0, "high": -1.0, "limit": -1.8, "paper_value": -2.5}
    return pd.Series(usual | numbers | values)


def trace(chart: Any, style: Any) -> Any:
    return next(trace for trace in chart.data if trace.name == style.name)


def test_totals_are_the_papers_own_claims() -> None:
    names = {source: f"paper {source}" for source in TABLE["source"].unique()}
    drawn = pictures.totals(TABLE, names)
    own = TABLE[TABLE["standing"] == "paper"]
    judged = own[own["id"] != ""]
    agree = (judged["verdict"] == "agrees").sum()
    assert drawn.figure.layout.title.text.startswith(
        f"Our results agree with {agree} of {len(judged)} claims"
    )
    assert sum(bar.x.sum() for bar in drawn.figure.data) == len(own)


def test_one_claim_has_its_numbers_on_its_own_scale() -> None:
    chart = pictures.one(row())
    ours = trace(chart, pictures.OURS)
    assert (ours.x[0], ours.error_x.arrayminus[0], ours.error_x.array[0]) == (-1.5, 0.5, 0.5)
    assert trace(chart, pictures.PAPER).x[0] == -2.5
    assert set(trace(chart, pictures.LIMIT).x) == {-1.8}
    low, high = chart.layout.xaxis.range
    assert low < -2.5 < -1.0 < high
    assert chart.layout.title.text == "P99-F1a ◐ agrees in direction"
    said = [trace.text[0] for trace in chart.data if trace.mode == "text"]
    assert said == ["limit −1.8", "the paper −2.5", "ours −1.5 (−2 to −1)"]


@pytest.mark.parametrize(
    "values",
    [
        {"low": -math.inf, "high": math.inf},
        {"ours": 0.0, "low": 0.0, "high": 0.0, "limit": 0.0, "paper_value": math.nan},
        {"ours": math.inf, "low": math.inf, "high": math.inf, "limit": 1.0},
    ],
)
def test_infinite_and_equal_numbers_are_drawn_at_the_edge(values: dict[str, float]) -> None:
    chart = pictures.one(row(**values))
    low, high = chart.layout.xaxis.range
    assert -math.inf < low < high < math.inf
    ours = trace(chart, pictures.OURS)
    assert low <= ours.x[0] - ours.error_x.arrayminus[0]
    assert ours.x[0] + ours.error_x.array[0] <= high


def test_numbers_of_papers_are_the_unit_of_ours() -> None:
    without = [row(paper_value=math.nan), row(paper_value=0.0), row(ours=math.nan)]
    far = row(ours=90.0, low=80.0, high=95.0, paper_value=10.0)
    wide = row(ours=8.0, low=7.0, high=50.0, paper_value=10.0)
    comparable = pictures.comparable(pd.DataFrame([row(), *without, wide, far]))
    assert list(comparable["ours"]) == [-1.5, 8.0, 90.0]
    chart = pictures.against_papers(comparable)
    ours = trace(chart, pictures.OURS)
    assert list(ours.x) == [0.6, 0.8, pictures.FARTHEST]
    assert list(ours.x - ours.error_x.arrayminus) == pytest.approx([0.4, 0.7, pictures.FARTHEST])
    assert list(ours.x + ours.error_x.array) == pytest.approx([0.8, 4.0, pictures.FARTHEST])
    assert list(ours.marker.symbol) == ["circle", "circle", "triangle-right"]
    assert chart.layout.title.text.endswith("for 1 of 3 claims")
