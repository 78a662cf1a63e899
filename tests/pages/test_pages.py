"""Every page, found by glob, in each of its views and scenarios, with bad links, and pinned."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator, Mapping

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import figures as fig
from abcdp_core import studies
from abcdp_core.base.parameters import ParameterError, Scalar, text_of
from abcdp_core.models import simulators
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.studies import accounting, change_one_person
from tests.pages.app import (
    ROOT,
    charts,
    gone_to,
    linked,
    moved,
    opened,
    pictures,
    pressed,
    said_twice,
    settled,
    shared,
    texts,
    translated,
)
from ui.figures import captions, labels
from ui.figures.blocks import with_formulas
from ui.view import controls_spec, page_table, session
from ui.view.page import Page

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))

SHOWING = [page for page in PAGES if page != "lessons"]
"""Pages with figures; that of the lessons leads to them."""

UNSTAMPED = {"distances", "papers", "published_queries", "refereed_posteriors", "your_own_data"}
"""Pages that are no demonstration with a seed to show."""


def test_table_lists_every_page_and_grants_only_knobs_that_exist() -> None:
    assert sorted(page.file for page in page_table.TABLE) == PAGES
    for page in page_table.TABLE:
        for key in (*page.own, *page.uses):
            controls_spec.find(key, page.every)
        assert page.view in ("", *page.own)
        shown = {name for names in page.views.values() for name in names}
        assert not page.views or shown >= {*page.every}


def test_a_page_uses_only_what_its_line_grants(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    line = page_table.by_file("flip_probability")
    less = dataclasses.replace(line, experiments=("flip-probability",))
    table = [less if page is line else page for page in page_table.TABLE]
    monkeypatch.setattr(page_table, "TABLE", tuple(table))
    assert opened("flip_probability").exception
    assert "The page When noise flips a decision asks for flip-guideline" in caplog.text


# ----------------------------------------------------------------------------- each of its views


@dataclasses.dataclass(frozen=True)
class Look:
    """A page at the settings of a link; words that it has to have, and of its one warning.

    If its figure is pinned, `moves` is the knob that is moved then, and to what.
    """

    page: str
    settings: Mapping[str, str]
    says: str = ""
    warns: str = ""
    moves: tuple[str, Scalar] | None = None

    def __str__(self) -> str:
        return " ".join([self.page, *self.settings.values()])


BUDGET = "epsilon_total", 2.0
MOVES: dict[str, tuple[str, Scalar] | None] = {
    "live_poll": ("poll.epsilon_total", 1.0),
    "distances": ("distance-forms.pairs", 12),
    "published_queries": ("published-query.simulations", 5000),
    "best interval": ("adaptive-truncation.epsilon_total", 2.0),
    # Nothing is pinned in the view that it opens with.
    "live": None,
    **dict.fromkeys(("many releases", "what it costs", "coverage"), BUDGET),
}
"""Page or view -> what is moved, where that is not the budget of a page's first view."""

SMALL = {
    "San Francisco": {"epsilon_abc": "150"},
    "tuberculosis": {"epsilon_abc": "150"},
    "COVID-19": {"epsilon_abc": "0.1", "n": "18"},
    "ways of asking": {"adaptive-truncation.epsilon_total": "5"},
}
"""Settings that a view alone allows or is about."""

SAYS = {
    "what a budget buys": "guarantee that every attack misses at least",
    "coverage": "Over 2 data sets, coverage is lowest for",
    "tuberculosis": "This protects one of the N outbreaks",
    "COVID-19": "This protects one day",
    "ways of asking": "**Why symbols win:** noise on a number must hide *how far*",
}
WARNS = {
    # Two data sets say little of coverage, and the page says so.
    "coverage": "Regression adjustment needs",
    "change one person": "posterior.view = change one person: must be one of one release, many",
}


def usual_view(page: Page) -> str:
    """The view that a page opens with, if it has several."""
    return str(controls_spec.find(page.view, page.every).default) if page.view else ""


def first_looks() -> Iterator[Look]:
    """Each page as it opens."""
    for page in map(page_table.by_file, SHOWING):
        view = usual_view(page)
        moves = MOVES.get(view or page.file, BUDGET if page.pins else None)
        yield Look(page.file, SMALL.get(view, {}), SAYS.get(view, ""), moves=moves)


def other_looks() -> Iterator[Look]:
    """Every view of a page that has several, and one view of the posterior with each scenario."""
    for page in page_table.TABLE:
        for view in {*page.views} - {usual_view(page)}:
            warns = WARNS.get(view, "") if page.file != "posterior" else ""
            settings = SMALL.get(view, {}) | {page.view: view}
            yield Look(page.file, settings, SAYS.get(view, ""), warns, MOVES.get(view))
    scenarios, views = (
        [str(option) for option in controls_spec.find(key).parameter.options]
        for key in ("scenario", "posterior.view")
    )
    for at, scenario in enumerate(scenarios[1:], 1):
        view, keys = views[at % len(views)], ("n", "epsilon_abc")
        starts = {key: text_of(controls_spec.find(key, scenario=scenario).default) for key in keys}
        if scenario == "tuberculosis":
            # It has so many people that fewer are quicker.
            starts["n"] = "100"
        says = f"rotects {simulators.load(scenario).protected}"
        warns = "" if change_one_person.serves(scenario) else WARNS.get(view, "")
        yield Look(
            "posterior", {"scenario": scenario, "posterior.view": view, **starts}, says, warns
        )


@pytest.mark.parametrize("look", sorted(other_looks(), key=str), ids=str)
def test_every_view_and_scenario_is_shown_whole(look: Look) -> None:
    app = opened(look.page, **look.settings)
    is_whole(app, look)
    assert "scenario" not in look.settings or not re.search(r"\bone point\b", texts(app))
    if "ways of asking" in look.settings.values():
        # Nobody answers here: N does nothing, but keeps its value for the other views.
        assert app.session_state["adaptive-truncation.n"] == 10
        without = {"adaptive-truncation.n", "ways-of-asking.weight"}
        assert not without & {slider.key for slider in app.select_slider}
    if "what a budget buys" in look.settings.values():
        app.session_state["mechanisms-described"] = True
        said = texts(settled(app.run()))
        assert all(captions.mechanism(each.name) in said for each in accounting.compared())
    is_pinned(app, look)


BAD = {"seed": "many", "no_such_knob": "1", "posterior.view": "<b>", "mse-curves.runs": "0"}
"""What no link may hold; the values that take its place leave the work as small as it is."""

EVERYTHING = ",".join(sorted({*page_table.known_keys()} - {*controls_spec.EVERYWHERE}))
"""All knobs that can be hidden."""


@pytest.mark.parametrize("look", [*first_looks()], ids=str)
def test_a_page_opens_from_a_bad_link_with_all_hidden_and_then_shown_with_its_theory(
    look: Look,
) -> None:
    app = opened(look.page, **look.settings, **BAD, hide=EVERYTHING)
    (warning,) = app.warning
    assert all(f"{name} = " in warning.value for name in BAD)
    next(button for button in app.button if button.label == "Dismiss").click().run()
    is_whole(app, look)
    app = pressed(app, "unlock")
    for unfolded in (False, True, False) if page_table.by_file(look.page).every else ():
        app.session_state["theory"] = unfolded
        app = settled(app.run()) if unfolded or "MATH" in texts(app) else app
        is_whole(app, look)
        assert (labels.STAMP in texts(app)) == (look.page not in UNSTAMPED)
        assert knobs_in_sidebar(app)[: len(used(look.page))] == used(look.page)
        assert ("MATH" in texts(app)) == unfolded
        assert any(re.match(r"def \w+\(", code.value) for code in app.code) == unfolded
    is_pinned(app, look)


def is_whole(app: AppTest, look: Look) -> None:
    """Ask a page everything that one look can answer."""
    assert not app.exception
    assert not app.error
    told = "".join(warning.value for warning in app.warning)
    assert look.warns in told
    assert bool(look.warns) == bool(told)
    assert app.title or page_table.by_file(look.page).fills
    assert pictures(app)
    assert not said_twice(app)
    assert not translated(app)
    assert "Privacy label" in texts(app)
    assert look.says in texts(app)


def is_pinned(app: AppTest, look: Look) -> None:
    """Pin the figure of a page and move a knob: both are there, or it is said that they agree."""
    if look.moves is not None:
        app = moved(pressed(app, "pin"), *look.moves)
        assert not app.exception
        both = [key for key in charts(app) if key.startswith("pinned-")]
        assert bool(both) == ("A → B" in texts(app))
        assert both or "makes no difference to the figure" in texts(app)


def used(file: str) -> list[str]:
    """Labels of those of the four knobs that the page's first view uses, in their order."""
    page = page_table.by_file(file)
    unused = page.unused(usual_view(page))
    called = {"epsilon_total": "ε_total", "epsilon_abc": "ε_abc", "c": "c", "n": "N"}
    return [
        called[name] for name in controls_spec.FOUR if name not in unused or name in page.replaces
    ]


def knobs_in_sidebar(app: AppTest) -> list[str]:
    # One that has a single value in a scenario is a text and not a slider.
    kinds = ("select_slider", "text_input")
    found = [element.label for element in app.sidebar if element.type in kinds]
    return [label.split(" ·")[0] for label in found]


# -------------------------------------------------------------------------------------- bad links


@pytest.mark.parametrize(
    ("page", "beyond", "within"),
    [
        (
            "posterior",
            {"epsilon_total": "0", "resample": "perhaps"},
            {"c": "200", "sensitivity": "published"},
        ),
        (
            "flip_probability",
            {"epsilon_total": "1e9", "epsilon_abc": "-inf", "c": "nan"},
            {"noise_draw": "1000000"},
        ),
        (
            "gaussian_noise",
            {"epsilon_abc": "1e9", "c": "0", "sensitivity": "blunt"},
            {"n": "10", "resample": "true"},
        ),
    ],
)
def test_a_link_beyond_an_extreme_is_brought_to_it(
    page: str, beyond: dict[str, str], within: dict[str, str]
) -> None:
    """Studies are tried at their extremes by their own tests."""
    app = opened(page, **beyond, **within, hide=EVERYTHING)
    assert not app.exception
    assert pictures(app)
    assert "Privacy label" in texts(app)
    assert not translated(app)
    (warning,) = app.warning
    assert all(f"{key} = " in warning.value for key in beyond)
    assert not any(f"{key} = " in warning.value for key in within)


def test_a_combination_that_is_not_allowed_is_one_sentence() -> None:
    query = {"n": "20000", "pool_size": "100000"}
    app = opened("posterior", **query)
    assert not app.exception
    (warning,) = app.warning
    assert "n * pool_size" in warning.value
    for key in query:
        app.sidebar.select_slider(key=key).set_value(100)
    assert not settled(app.run()).warning
    assert pictures(app)


def test_a_preset_brings_its_view_and_a_retired_one_leads_to_its_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(studies.RETIRED, "y23-former", "y23-intervals")
    view = {"adaptive-truncation.view": "live"}
    app = opened("adaptive_truncation", preset="y23-former", **view)
    assert not app.exception
    assert app.selectbox(key="preset").value == "y23-intervals"
    said = app.warning[0].value.replace("` ", "").replace(" `", "")
    assert "preset = y23-former: retired. Shown instead: y23-intervals." in said
    assert app.get("plotly_chart")
    assert app.session_state["adaptive-truncation.view"] != "live"
    assert app.query_params.get("adaptive-truncation.view") != ["live"]


@pytest.mark.parametrize("kind", [OwnError, ParameterError])
def test_a_model_that_cannot_be_used_is_told_as_it_stands_and_no_other_error_is(
    kind: type[ParameterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object) -> None:
        raise kind("mine.py: simulate cannot be computed (line 3: *boom*).")

    monkeypatch.setattr(session, "begin", begin)
    app = linked("overview")
    assert bool(app.exception) == (kind is ParameterError)
    assert ["` mine.py: simulate cannot be computed (line 3: *boom*). `" in each.value
            for each in app.error] == [True] * (kind is OwnError)  # fmt: skip


def test_no_formula_of_a_study_takes_the_text_after_it() -> None:
    """A line that begins with $$ and does not end so opens one that nothing closes."""
    text = "As\n\n$$a = b,\n\\quad c$$\n\nwith $x$ and\n\n* \n  $$d$$\n"
    said = "As\n\n$$\na = b,\n\\quad c\n$$\n\nwith $x$ and\n\n* \n  $$\n  d\n  $$\n"
    assert with_formulas(text) == said
    for name in studies.names():
        module = sys.modules[studies.load(name).Params.__module__]
        lines = with_formulas(inspect.getdoc(module) or "").split("\n")
        fences = [line.strip() for line in lines if re.match(r"\s*\$\$", line)]
        assert {*fences} <= {"$$"}, name
        assert len(fences) % 2 == 0, name


def test_a_page_that_runs_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("posterior", noise_draw="3")
    before = [chart.proto.spec for chart in app.get("plotly_chart")]

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(studies.load("posterior"), "figures", fail)
    monkeypatch.setattr(fig, "below_title", fail)
    app.run()
    assert not app.exception
    assert [chart.proto.spec for chart in app.get("plotly_chart")] == before
    app.button(key="new-noise").click().run()
    assert app.exception, "another result has other figures"


# ------------------------------------------------------------------- what knobs keep between pages


def test_each_scenario_and_every_page_keeps_the_values_of_its_knobs() -> None:
    def at(app: AppTest) -> list[object]:
        return [app.sidebar.select_slider(key=key).value for key in ("c", "epsilon_abc")]

    app = opened("posterior", epsilon_total="0.7", epsilon_abc="0.2", c="37")
    app = settled(app.selectbox(key="named-scenario").set_value("covid").run())
    assert not app.exception
    assert at(app) == [5, 0.1]
    app.sidebar.select_slider(key="c").set_value(10).run()
    app = settled(app.selectbox(key="named-scenario").set_value("uniform-mixture").run())
    assert at(app) == [37, 0.2]
    # A page that chooses no scenario shows the first, with the values set for it.
    app = gone_to(app, "flip_probability")
    assert at(app) == [37, 0.2]
    # A value between the steps is kept also where a page does not show it.
    app = gone_to(app, "papers")
    assert not app.sidebar.select_slider
    assert shared(app)["c"] == "37"
    # The budget of each person is a knob of its own.
    app = gone_to(app, "adaptive_truncation")
    assert app.sidebar.select_slider(key="adaptive-truncation.epsilon_total").value == 1.0
    assert "epsilon_total" not in [slider.key for slider in app.select_slider]
    app = gone_to(app, "posterior")
    assert at(app) == [37, 0.2]
    assert app.sidebar.select_slider(key="epsilon_total").value == 0.7
    assert not app.warning


def test_bounds_and_views_are_those_of_the_scenario() -> None:
    assert not opened("posterior", scenario="covid", n="18", epsilon_abc="0.1").warning
    app = opened("posterior", n="18", **{"posterior.view": "change one person"})
    assert "n = 18" in app.warning[0].value
    assert "The bound holds for all data sets" in texts(app)
    app = settled(app.selectbox(key="named-scenario").set_value("covid-people").run())
    assert not app.exception
    views = app.button_group(key="posterior.view")
    assert views.options == ["one release", "many releases", "synthetic data"]
    assert views.value == "one release"
