"""The page of verdicts: filters, the claim that is shown, links to pages, and its figures."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st

from abcdp_core import experiments
from abcdp_core.ledger import Run, reading, report
from tests.pages.app import opened, texts
from ui.parts import papers
from ui.view import knobs, link, page_table
from ui.view.view import View

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
    shown: dict[str, Any] = {}
    monkeypatch.setattr(st, "dataframe", lambda *_, **how: shown.update(how))
    held: dict[str, Any] = {"papers-table": {"selection": {"cells": [(1, "item")]}}}
    monkeypatch.setattr(st, "session_state", held)
    rows = TABLE[TABLE["id"] != ""].iloc[:3]
    for locked, claim in (((), rows["id"].iloc[1]), (("papers.claim",), "as it was")):
        papers.table(View(page_table.by_file("papers"), {}, {}, locked), rows)
        held["papers.claim"] = "as it was"
        shown["on_select"]()
        assert held["papers.claim"] == claim


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_link_to_a_run_is_read_without_a_notice(run: Run) -> None:
    found = papers.address(run, 1)
    if found is None:
        assert not [page for page in page_table.TABLE if run.experiment in page.every]
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
    assert papers.address(Run("x", "truncation-theory", parameters=("x=1",)), 1) is None
