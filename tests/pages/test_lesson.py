"""A lesson on the pages: what a step sets, the guess, the way through, the print view."""

from __future__ import annotations

import dataclasses
import html
import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__
from abcdp_core.base.parameters import text_of
from abcdp_core.publish import lessons
from abcdp_core.publish.lessons.step import Question, Step
from tests.pages.app import gone_to, linked, opened, pressed, settled, texts
from ui.parts import lesson, lesson_print
from ui.view import controls_spec, page_table, steps

STEPS = [
    (f"{each.name}-{place}", step)
    for each in lessons.load().values()
    for place, step in enumerate(each.steps, 1)
]
MOVED = "You are exploring: this step's text uses its own settings."


def a_step(name: str, number: int) -> Step:
    return lessons.load()[name].steps[number - 1]


def test_each_step_opens_a_page_that_has_its_knobs_and_shows_what_its_text_is_about() -> None:
    for name, step in STEPS:
        page = page_table.by_file(step.page)
        values, scenario = steps.knobs_of(step, page), steps.scenario_of(step, page)
        shown = values.get(page.view)
        assert {*step.knobs} <= page.granted(shown)
        assert values["seed"] == steps.SEED
        for key in controls_spec.BY_SCENARIO:
            knob = page.knob(key, scenario)
            assert values[key] == step.knobs.get(key, knob.default), name
            assert knob.parameter.check(key, values[key]) == values[key]
        studies = {run.experiment for run in step.runs.values()} & {*page.shown(shown)}
        if step.look:
            there = page.shown(shown)
            assert any(step.look.startswith(f"chart-{study}-") for study in there), name
        if step.question is None:
            # A question may be about what the page would show after the guess, a text may not.
            assert studies == {run.experiment for run in step.runs.values()}, name


def test_where_a_class_link_holds_a_scenario_a_step_sets_what_that_one_has() -> None:
    held = {"scenario": "covid-people", "lock": "scenario", "n": "18"}
    app = pressed(opened("posterior", lesson="one-person", step="2", **held), lesson.NEXT)
    assert not app.exception
    assert app.session_state["scenario"] == "covid-people"
    assert app.session_state["epsilon_total"] == 1.0
    assert app.session_state["epsilon_abc"] == 200.0
    assert "epsilon_abc" not in app.query_params
    assert MOVED in texts(app)


@pytest.mark.parametrize(
    ("page", "name", "number", "moved"),
    [
        ("adaptive_truncation", "ask-narrow", 1, {"truncation-interval.score": "sigma"}),
        # A knob had one value in the scenario before: its widget is new in the step's.
        ("posterior", "one-person", 2, {"scenario": "tuberculosis-patients", "n": "100"}),
    ],
)
def test_a_link_with_knobs_of_its_own_keeps_them_until_they_are_set_as_the_step_has_them(
    page: str, name: str, number: int, moved: dict[str, str]
) -> None:
    sets = a_step(name, number).knobs
    values = {key: text_of(value) for key, value in sets.items()}
    app = settled(linked(page, lesson=name, step=str(number), **(values | moved)))
    assert MOVED in texts(app)
    # No browser is here that would take a knob out of the address while the page waits.
    app.query_params.clear()
    app = pressed(app, "lesson-set")
    assert not app.exception
    assert f"step {number} of" in texts(app)
    assert MOVED not in texts(app)
    assert {key: app.session_state[key] for key in sets} == dict(sets)


def test_the_way_through_a_lesson() -> None:
    app = opened("lessons")
    app.button(key="lesson-begin-large-data").click().run()
    # A test follows no page by itself.
    app = gone_to(app, "overview")
    assert not app.exception
    assert "A typical run" in texts(app)
    app = pressed(pressed(app, lesson.NEXT), lesson.NEXT)
    # The last step led to the next lesson.
    app = gone_to(app, "flip_probability")
    assert app.select_slider(key="c").value == 275
    key = "lesson-guess-every-yes-1"
    answer = re.compile(r"About \d+; allowing for chance, at least \d+")
    assert not answer.search(texts(app))
    assert not guesses(app)
    app.slider(key=key).set_value(2.0).run()
    app = pressed(app, f"{key}-show")
    assert answer.search(texts(app))
    assert "<b>2" in guesses(app)[0]
    # Assistive technology is told where the person is.
    told = str(next(each for each in app.get("bidi_component") if each.key == "lesson-place").proto)
    assert "step 1 of 1: Why the usual check misleads, with its answer" in told
    app = pressed(app, "lesson-leave")
    assert "Every yes is paid for" not in texts(app)
    assert app.select_slider(key="c").value == 275


QUESTIONS = [
    (each.name, place, step.question)
    for each in lessons.load().values()
    for place, step in enumerate(each.steps, 1)
    if step.question
]


@pytest.mark.parametrize(
    ("name", "number", "question"),
    QUESTIONS,
    ids=[f"{name}-{number}" for name, number, _ in QUESTIONS],
)
def test_a_guess_begins_away_from_the_answer_and_both_bars_begin_at_0(
    name: str, number: int, question: Question
) -> None:
    known = lesson.numbers_of(name, number)
    answer = known[question.answer]
    assert answer - question.low > max(question.step, 0.05 * (question.high - question.low))
    drawn = lesson._bars(a_step(name, number), 0.5 * question.high, known)
    guessed, true = map(float, re.findall(r"width:([\d.]+)%", drawn))
    assert guessed / true == pytest.approx(0.5 * question.high / answer, rel=0.01)


def test_an_answer_shows_the_run_that_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    then = {(name, number): each.then for name, number, each in QUESTIONS if each.then}
    assert {name for name, _ in then} >= {"one-person", "people-buy-privacy"}
    for (name, number), knobs in then.items():
        step, page = a_step(name, number), page_table.by_file(a_step(name, number).page)
        assert {key: steps.knobs_of(step, page)[key] for key in knobs} != knobs
        main = vars(step.params("main"))
        assert {key: main[key] for key in knobs} == knobs
        guessed = lesson.Reader({(name, number): 1.0})
        monkeypatch.setattr(lesson, "reader", lambda guessed=guessed: guessed)
        shown = steps.knobs_of(lesson._as_shown(name, number), page)
        assert shown == steps.knobs_of(step, page) | knobs
    monkeypatch.undo()
    last = len(lessons.load()["one-person"].steps)
    app = settled(linked("posterior", lesson="one-person", step=str(last)))
    assert app.select_slider(key="c").value == 1
    app = pressed(app, f"lesson-guess-one-person-{last}-show")
    assert not app.exception
    assert app.select_slider(key="c").value == 10
    assert MOVED not in texts(app)
    # Who comes back finds the answer's run again.
    app = pressed(pressed(app, lesson.BACK), lesson.NEXT)
    assert app.select_slider(key="c").value == 10


def guesses(app: AppTest) -> list[str]:
    """The bars that compare a guess with its answer."""
    drawn = [each.proto.body for each in app.get("html")]
    return [body for body in drawn if 'class="guess"' in body]


def test_a_person_elsewhere_returns_to_the_page_of_the_step_the_nearest_that_there_is() -> None:
    steps = lessons.load()["one-person"].steps
    app = opened("papers", lesson="one-person", step="9")
    app.button(key="lesson-return").click().run()
    assert not app.exception
    assert f"step {len(steps)} of {len(steps)}" in texts(gone_to(app, steps[-1].page))


def test_a_step_is_in_the_address_and_one_on_another_page_is_opened_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = linked("posterior", lesson="say-what-is-noise", step="2")
    # Opened again after a move, a link that names the step alone would show other numbers.
    sets = a_step("say-what-is-noise", 2).knobs
    others = {
        key: text_of(each) for key, each in sets.items() if each != controls_spec.find(key).default
    }
    assert others
    assert {key: app.query_params[key] for key in others} == others
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(
        st, "switch_page", lambda _, query_params: asked.append(query_params) or st.stop()
    )
    app.button(key=lesson.NEXT).click().run()
    # What was drawn before is bound: Streamlit refuses to set it here.
    step = {"lesson": "say-what-is-noise", "step": "3"}
    assert asked == [{"version": __version__, **step, "mechanisms.view": "coverage"}]


# -------------------------------------------------------------------------------------- print view


def test_a_lesson_is_printed_with_links_and_settings() -> None:
    chosen = lessons.load()["one-person"]
    chosen = dataclasses.replace(chosen, steps=chosen.steps[:2])
    assert not lesson_print.requests_of(chosen)
    here = page_table.by_file("lessons")
    page = lesson_print.page(1, chosen, here, "http://192.168.1.5:8501/lessons", {}, {})
    typed = html.unescape(page.replace("<wbr>", ""))
    for step, path in enumerate(("", "posterior"), 1):
        assert f"http://192.168.1.5:8501/{path}?lesson=one-person&step={step}&version=" in typed
    assert "Page <em>The story</em>: ε_total\u00a0=\u00a00.2, ε_abc\u00a0=\u00a00.1, " in page
    assert "c\u00a0=\u00a010, N\u00a0=\u00a05,000, Scene:\u00a01<" in page
