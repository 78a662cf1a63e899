"""The page of verdicts: filters, the claim that is shown, and links to pages."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from abcdp_core import studies
from abcdp_core.publish.claims import reading, report
from tests.pages.app import opened, texts
from ui.parts import papers
from ui.view import controls_spec, link, page_table

TABLE = report.read().table


def test_filters_of_the_link_choose_rows_and_the_claim_is_shown() -> None:
    row = TABLE[TABLE["id"] != ""].iloc[-1]
    asked = {"papers.paper": row["source"], "papers.claim": row["id"]}
    app = opened("papers", **asked, **{"papers.standing": row["standing"]})
    assert not app.exception
    wanted = (TABLE["source"] == row["source"]) & (TABLE["standing"] == row["standing"])
    assert [*app.dataframe[0].value["item"]] == [*TABLE[wanted]["item"]]
    head = f"{row['item']}, {row['place']}: {report.in_words(row['verdict'])}"
    assert [head.value for head in app.subheader] == [head]
    assert report.total_words(TABLE) in texts(app).replace("**", "")


def test_links_to_all_runs_are_read_without_a_notice() -> None:
    for run in reading.load().runs.values():
        found = papers.address(run, 1)
        if found is None:
            assert not [page for page in page_table.TABLE if run.experiment in page.every]
            continue
        page, query = found.page, dict(parse_qsl(urlsplit(found.link).query))
        chosen = query.get(page.chooser)
        scenario = page.scenario(chosen) if chosen else controls_spec.FIRST_SCENARIO
        known = {key: page.knob(key, scenario) for key in query if key != "version"}
        assert link.read(query, known) == link.Reading(query, ()), run.name
        assert link.of_today(query, known, page.own) == query
        used = {*controls_spec.SHARED, *page.own, "preset", "version"} - page.replaces.keys()
        assert {*query} <= used
        assert {*found.left} <= {*studies.load(run.experiment).Params.specification()}
        assert ("preset" in query) == papers.is_preset(run)
        assert not page.view or "preset" in query or run.experiment in page.shown(query[page.view])
