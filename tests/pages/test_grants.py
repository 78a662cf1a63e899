"""A page uses only what its line in the page table grants, and fails at once otherwise."""

from __future__ import annotations

import dataclasses

import pytest

from tests.pages.app import opened
from ui.view import knobs, page_table
from ui.view.page import NotGrantedError, Page

PAGE = Page(
    "example",
    "Example",
    "",
    "Explore",
    "covid-fit",
    own=("example.view", "covid-fit.runs"),
    view="example.view",
    views={"fit": ("covid-fit",), "release": ("posterior", "many-releases")},
    reasons={"c": "Chosen elsewhere."},
)


def test_own_knobs_those_of_the_view_and_presets_are_granted() -> None:
    for key in ("covid-fit.runs", "epsilon_total", "seed", "preset"):
        PAGE.check_knob(key, "fit")
    PAGE.check_knob("n", "release")
    PAGE.check_experiment("many-releases", "release")


@pytest.mark.parametrize("knob", ["covid-fit.distance", "n", "c", "no_such_knob"])
def test_another_knob_is_refused_by_name(knob: str) -> None:
    with pytest.raises(NotGrantedError, match=f"The page Example asks for the knob {knob},"):
        PAGE.check_knob(knob, "fit")


def test_another_experiment_is_refused_by_name() -> None:
    with pytest.raises(NotGrantedError, match="page Example asks for the experiment posterior,"):
        PAGE.check_experiment("posterior", "fit")


def without(monkeypatch: pytest.MonkeyPatch, file: str, **changed: object) -> None:
    """The table with another line for a page."""
    table = [
        dataclasses.replace(page, **changed) if page.file == file else page  # type: ignore[arg-type]
        for page in page_table.TABLE
    ]
    monkeypatch.setattr(page_table, "TABLE", tuple(table))


@pytest.mark.parametrize("knob", ["flip-probability.script", "flip-guideline.level"])
def test_a_page_without_its_line_fails_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, knob: str
) -> None:
    (line,) = (page for page in page_table.TABLE if page.file == "flip_probability")
    own = tuple(key for key in line.own if key != knob)
    without(monkeypatch, "flip_probability", own=own)
    assert opened("flip_probability").exception
    assert f"The page Flip probability asks for the knob {knob}," in caplog.text


def test_a_page_that_shows_an_unknown_experiment_fails_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without(monkeypatch, "posterior", experiments=())
    assert opened("posterior", **{"posterior.view": "many releases"}).exception
    assert "The page Posterior asks for the experiment many-releases," in caplog.text


def test_the_table_grants_only_knobs_that_exist() -> None:
    for page in page_table.TABLE:
        for key in (*page.own, *page.uses):
            knobs.find(key, page.every)
        assert page.view in ("", *page.own)
        assert {name for shown in page.views.values() for name in shown} >= {*page.every} or (
            not page.views
        )
