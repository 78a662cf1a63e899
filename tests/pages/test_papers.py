"""The page of verdicts: filters, the claim that is shown, links to pages, and its figures."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest

from abcdp_core import experiments
from abcdp_core.ledger import Run, pictures, reading, report
from tests.pages.app import opened, texts
from ui import knobs, link, papers, router

TABLE = report.read().table
RUNS = list(reading.load().runs.values())


def test_filters_of_the_link_choose_rows_and_the_claim_is_shown() -> None:
    row = TABLE[TABLE["id"] != ""].iloc[-1]
    asked = {"papers.paper": row["source"], "papers.claim": row["id"]}
    app = opened("papers", **asked, **{"papers.standing": row["standing"]})
    assert not app.exception
    shown = app.dataframe[0].value
    wanted = (TABLE["source"] == row["source"]) & (TABLE["standing"] == row["standing"])
    assert list(shown["item"]) == list(TABLE[wanted]["item"])
    assert [head.value for head in app.subheader] == [
        f"{row['item']}, {row['place']}: {report.in_words(row['verdict'])}"
    ]
    assert "rest on random numbers" in texts(app)
    assert report.total_words(TABLE) in texts(app).replace("**", "")


def test_no_claim_that_fits_is_said() -> None:
    rare = TABLE.groupby(["source", "verdict"]).size()
    papers_, verdicts = knobs.find("papers.paper"), knobs.find("papers.verdict")
    source, verdict = next(
        (source, verdict)
        for source in papers_.parameter.options[1:]
        for verdict in verdicts.parameter.options[1:]
        if (source, verdict) not in rare.index
    )
    app = opened("papers", **{"papers.paper": str(source), "papers.verdict": str(verdict)})
    assert not app.exception
    assert [info.value for info in app.info] == ["No claim fits these filters."]


def test_an_item_without_a_claim_says_why() -> None:
    row = TABLE[TABLE["id"] == ""].iloc[0]
    app = opened("papers", **{"papers.claim": row["item"]})
    assert not app.exception
    assert "Not testable: " in texts(app)


def test_a_clicked_row_is_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {"papers-table": {"selection": {"cells": [(1, "item")]}}}
    monkeypatch.setattr(papers.st, "session_state", state)
    papers._choose(["first", "second"])
    assert state["papers.claim"] == "second"
    state["papers-table"]["selection"]["cells"] = []
    papers._choose(["first", "second"])
    assert state["papers.claim"] == "second"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_link_to_a_run_is_read_without_a_notice(run: Run) -> None:
    found = papers.address(run, 1)
    if found is None:
        assert not [page for page in router.TABLE if run.experiment in page.every]
        return
    query = dict(parse_qsl(urlsplit(found.link).query))
    setting = found.page
    scenario = knobs.FIRST_SCENARIO
    if setting.chooser in query:
        scenario = setting.scenario(query[setting.chooser])
    known = {key: knobs.find(key, setting.every, scenario) for key in query if key != "version"}
    assert link.read(query, known) == link.Reading(query, ())
    assert link.of_today(query, known, setting.own) == query
    assert set(query) <= {*knobs.SHARED, *setting.own, "preset", "version"} - setting.instead.keys()
    params = experiments.load(run.experiment).Params
    assert set(found.left) <= set(params.specification())
    assert ("preset" in query) == papers.is_preset(run)


def test_a_run_with_a_view_and_what_no_knob_sets() -> None:
    found = papers.address(Run("x", "change-one-person", parameters=("n=300",)), 5)
    assert found is not None
    assert found.link.startswith("posterior?posterior.view=change%20one%20person&")
    assert "&n=300&" in found.link
    assert "&seed=5&version=" in found.link
    assert found.left == ()
    found = papers.address(Run("x", "flip-guideline", parameters=("data_sets=3",)), 5)
    assert found is not None
    assert found.left == ("data_sets",)
    assert papers.address(Run("x", "tuberculosis-distances", parameters=("x=1",)), 1) is None


# ---------------------------------------------------------------------------------------- figures


def row(**values: Any) -> pd.Series[Any]:
    usual = {"item": "P99-F1a", "verdict": "agrees in direction", "measure": "difference of means"}
    numbers = {"ours": -1.5, "low": -2.0, "high": -1.0, "limit": -1.8, "paper_value": -2.5}
    return pd.Series(usual | numbers | values)


def trace(chart: Any, style: Any) -> Any:
    return next(trace for trace in chart.data if trace.name == style.name)


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
    assert said == ["compared with −1.8", "the paper −2.5", "ours −1.5 (−2 to −1)"]


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
    assert any(each.name == pictures.PAPER.name for each in chart.data) == (
        "paper_value" not in values
    )


def test_numbers_of_papers_are_the_unit_of_ours() -> None:
    rows = pd.DataFrame(
        [
            row(),
            row(paper_value=math.nan),
            row(paper_value=0.0),
            row(ours=8.0, low=7.0, high=50.0, paper_value=10.0),
            row(ours=90.0, low=80.0, high=95.0, paper_value=10.0),
            row(ours=math.nan),
        ]
    )
    comparable = pictures.comparable(rows)
    assert list(comparable["ours"]) == [-1.5, 8.0, 90.0]
    chart = pictures.against_papers(comparable)
    ours = trace(chart, pictures.OURS)
    assert list(ours.x) == [0.6, 0.8, pictures.FARTHEST]
    assert list(ours.x - ours.error_x.arrayminus) == pytest.approx([0.4, 0.7, pictures.FARTHEST])
    assert list(ours.x + ours.error_x.array) == pytest.approx([0.8, 4.0, pictures.FARTHEST])
    assert list(ours.marker.symbol) == ["circle", "circle", "triangle-right"]
    assert list(chart.layout.yaxis.ticktext) == ["P99-F1a ◐"] * 3
    assert chart.layout.title.text.startswith("In 1 of 3 claims")
