"""Figures of claims: how many agree, one with its numbers, and all beside the papers' own."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from abcdp_core.publish.claims import pictures, report

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
    assert f"{agree} of {len(judged)} claims" in drawn.figure.layout.title.text
    assert sum(bar.x.sum() for bar in drawn.figure.data) == len(own)


def test_one_claim_has_its_numbers_on_its_own_scale() -> None:
    chart = pictures.one(row())
    ours = trace(chart, pictures.OURS)
    assert (ours.x[0], ours.error_x.arrayminus[0], ours.error_x.array[0]) == (-1.5, 0.5, 0.5)
    assert trace(chart, pictures.PAPER).x[0] == -2.5
    assert set(trace(chart, pictures.LIMIT).x) == {-1.8}
    low, high = chart.layout.xaxis.range
    assert low < -2.5 < -1.0 < high
    same = {"low": 0.0, "high": 0.0, "limit": 0.0, "paper_value": math.nan}
    for values in (
        {"low": -math.inf, "high": math.inf},
        {"ours": 0.0} | same,
        {"ours": math.inf, "low": math.inf, "high": math.inf, "limit": 1.0},
    ):
        chart = pictures.one(row(**values))
        low, high = chart.layout.xaxis.range
        ours = trace(chart, pictures.OURS)
        assert -math.inf < low <= ours.x[0] - ours.error_x.arrayminus[0]
        assert ours.x[0] + ours.error_x.array[0] <= high < math.inf
        assert low < high


def test_numbers_of_papers_are_the_unit_of_ours() -> None:
    without = [row(paper_value=math.nan), row(paper_value=0.0), row(ours=math.nan)]
    far = row(ours=90.0, low=80.0, high=95.0, paper_value=10.0)
    wide = row(ours=8.0, low=7.0, high=50.0, paper_value=10.0)
    comparable = pictures.comparable(pd.DataFrame([row(), *without, wide, far]))
    assert list(comparable["ours"]) == [-1.5, 8.0, 90.0]
    ours = trace(pictures.against_papers(comparable), pictures.OURS)
    assert list(ours.x) == [0.6, 0.8, pictures.FARTHEST]
    assert list(ours.x - ours.error_x.arrayminus) == pytest.approx([0.4, 0.7, pictures.FARTHEST])
    assert list(ours.x + ours.error_x.array) == pytest.approx([0.8, 4.0, pictures.FARTHEST])
    assert list(ours.marker.symbol) == ["circle", "circle", "triangle-right"]
