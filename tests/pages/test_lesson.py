"""A lesson on the pages: what a step sets, the guess, the way through."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, lessons
from abcdp_core.lessons import Step
from abcdp_core.parameters import ParameterError, text_of
from tests.pages.app import ROOT, opened, settled, texts
from ui import knobs, lesson, lesson_list, router, state, watch
from ui.job import Request

STEPS = [
    pytest.param(step, id=f"{each.name}-{place}")
    for each in lessons.load().values()
    for place, step in enumerate(each.steps, 1)
]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_opens_a_page_that_has_its_knobs(step: Step) -> None:
    page = next(each for each in router.TABLE if each.file == step.page)
    values = lesson.knobs_of(step, page)
    page.check_knobs(step.knobs.keys(), values.get(page.view))
    if "n" in step.knobs:
        assert (values["n"], values["seed"]) == (step.knobs["n"], lesson.SEED)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_sets_what_its_scenario_has(step: Step) -> None:
    """Another one's starts stood in the address, and who opened it again had other numbers."""
    page = next(each for each in router.TABLE if each.file == step.page)
    values, scenario = lesson.knobs_of(step, page), lesson.scenario_of(step, page)
    if page.chooser:
        assert scenario == page.scenario(values.get(page.chooser, knobs.find(page.chooser).default))
    for key in knobs.BY_SCENARIO:
        knob = knobs.find(key, page.every, scenario)
        assert knob.parameter.check(key, values[key]) == values[key]
        assert values[key] == step.knobs.get(key, knob.default)


def test_where_a_class_link_holds_a_scenario_a_step_sets_what_that_one_has() -> None:
    """The address had the step's, and who opened it again had other numbers and a warning."""
    held = {"scenario": "covid-people", "lock": "scenario", "n": "18"}
    app = opened("posterior", lesson="one-person", step="3", **held)
    app.button(key="lesson-next").click().run()
    settled(app)
    assert not app.exception
    assert app.session_state["scenario"] == "covid-people"
    assert app.session_state["epsilon_total"] == 1.0
    assert app.session_state["epsilon_abc"] == 200.0
    assert "epsilon_abc" not in app.query_params
    assert "Some knobs do not stand as this step sets them" in texts(app)


def test_what_a_step_may_not_set_is_an_error_of_its_lesson() -> None:
    page = next(each for each in router.TABLE if each.file == "adaptive_truncation")
    step = next(each.values[0] for each in STEPS if each.values[0].page == page.file)
    assert isinstance(step, Step)
    wrong = dataclasses.replace(step, knobs={"adaptive-truncation.n": 123456789012})
    with pytest.raises(ParameterError, match="n = 123456789012"):
        lesson.knobs_of(wrong, page)


def test_a_step_may_set_what_its_scenario_alone_has() -> None:
    page = next(each for each in router.TABLE if each.file == "posterior")
    step = next(each.values[0] for each in STEPS if each.values[0].page == "posterior")
    assert isinstance(step, Step)
    only = dataclasses.replace(step, knobs={"scenario": "covid", "n": 18})
    assert lesson.knobs_of(only, page)["n"] == 18


@pytest.mark.parametrize("step", STEPS)
def test_the_page_shows_what_the_text_is_about(step: Step) -> None:
    page = next(each for each in router.TABLE if each.file == step.page)
    view = lesson.knobs_of(step, page).get(page.view)
    studies = {run.experiment for run in step.runs.values()} & {*page.shown(view)}
    if step.look and not step.look.startswith("chart-overview-"):
        assert any(step.look.startswith(f"chart-{study}-") for study in studies)
    if step.question is None:
        # A question may be about what the page would show after the guess, a text may not.
        assert studies == {run.experiment for run in step.runs.values()}


def test_the_way_through_a_lesson() -> None:
    app = opened("lessons")
    app.button(key="lesson-begin-large-data").click().run()
    assert not app.exception
    # A test follows no page by itself.
    settled(app.switch_page("pages/overview.py").run())
    assert not app.exception
    assert "Learning by simulation" in texts(app)
    assert app.select_slider(key="epsilon_total").value == 1
    app.button(key="lesson-next").click().run()
    settled(app)
    assert "Privacy for nothing?" in texts(app)
    app.button(key="lesson-next").click().run()
    settled(app)
    # The page tells nothing of the hundred draws that the question is about.
    assert app.select_slider(key="c").value == 10
    key = "lesson-guess-large-data-3"
    answer = re.compile(r"\d+ in a typical run, and \d+ to \d+ in four runs of five")
    assert not answer.search(texts(app))
    app.slider(key=key).set_value(2.0).run()
    app.button(key=f"{key}-show").click().run()
    settled(app)
    assert answer.search(texts(app))
    assert app.session_state[lesson.GUESSES] == {("large-data", 3): 2.0}
    assert "2.0" not in str(dict(app.query_params)).replace(".2.0", "")
    app.button(key="lesson-leave").click().run()
    settled(app)
    assert "Large data hide the cost" not in texts(app)
    assert app.select_slider(key="c").value == 10


def test_a_link_opens_a_lesson_at_a_step_and_one_with_knobs_keeps_them() -> None:
    app = opened("flip_probability", lesson="every-yes", step="2")
    assert "step 2 of 3" in texts(app)
    # The link of these tests sets the number of people.
    assert app.select_slider(key="n").value == 100
    assert "do not stand as this step sets them" in texts(app)
    # No browser is here that would take a knob out of the address while the page waits.
    app.query_params.clear()
    app.button(key="lesson-set").click().run()
    settled(app)
    assert app.select_slider(key="n").value != 100
    assert "do not stand as this step sets them" not in texts(app)


@pytest.mark.parametrize(
    ("page", "lesson", "step", "moved"),
    [
        ("flip_probability", "every-yes", 2, {"flip-guideline.level": "0.2"}),
        ("mechanisms", "say-what-is-noise", 3, {"coverage.truths": "edge"}),
        ("adaptive_truncation", "ask-narrow", 1, {"truncation-interval.score": "sigma"}),
    ],
)
def test_a_step_says_so_where_a_knob_of_the_page_alone_does_not_stand_where_it_begins(
    page: str, lesson: str, step: int, moved: dict[str, str]
) -> None:
    at = {"lesson": lesson, "step": str(step), "version": __version__}
    values = {key: text_of(value) for key, value in stands_at(lesson, step).items()}
    for own in ({}, moved):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for key, text in (at | values | own).items():
            app.query_params[key] = text
        app = settled(app.switch_page(f"pages/{page}.py").run())
        assert not app.exception
        assert ("do not stand as this step sets them" in texts(app)) == bool(own)
    app.button(key="lesson-set").click().run()
    assert not app.exception
    assert "do not stand as this step sets them" not in texts(settled(app))


@pytest.mark.parametrize("view", ["ways of asking", "gradient"])
def test_a_step_says_so_where_another_view_is_shown(view: str) -> None:
    app = opened(
        "adaptive_truncation", lesson="ask-narrow", step="2", **{"adaptive-truncation.view": view}
    )
    assert "do not stand as this step sets them" in texts(app)


@pytest.mark.parametrize("scenario", ["covid", "tuberculosis-patients"])
def test_a_step_is_set_where_a_knob_had_one_value_in_the_scenario_before(scenario: str) -> None:
    """Its new widget begins as the first address said, which said something for the scenario."""
    app = opened("posterior", lesson="one-person", step="3", n="100", scenario=scenario)
    assert "do not stand as this step sets them" in texts(app)
    app.button(key="lesson-set").click().run()
    settled(app)
    assert app.select_slider(key="n").value == 100
    assert dict(app.query_params)["n"] == "100"
    assert "do not stand as this step sets them" not in texts(app)


def stands_at(name: str, step: int) -> Mapping[str, Any]:
    """What a step sets."""
    return lessons.load()[name].steps[step - 1].knobs


def test_the_address_says_what_a_step_has_set_where_it_was_opened() -> None:
    """Opened again after a move, the link that names the step alone showed other numbers."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, text in {"version": __version__, "lesson": "say-what-is-noise", "step": "2"}.items():
        app.query_params[key] = text
    app.switch_page("pages/posterior.py").run()
    sets = stands_at("say-what-is-noise", 2)
    moved = {key: each for key, each in sets.items() if each != knobs.find(key).default}
    assert len(moved) == 3
    assert {key: app.query_params[key] for key in moved} == {
        key: text_of(value) for key, value in moved.items()
    }


def test_a_step_that_the_browser_goes_back_to_is_as_it_was_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened("flip_probability", lesson="every-yes", step="2")
    left = dict(app.query_params)
    assert app.select_slider(key="n").value == 100
    app = settled(app.button(key=lesson.NEXT).click().run())
    assert "step 3 of 3" in texts(app)
    assert app.select_slider(key="n").value != 100
    set_so: list[object] = []
    monkeypatch.setattr(state, "is_gone_back", lambda: True)
    monkeypatch.setattr(state, "move_to", lambda *values: set_so.append(values))
    app.query_params.clear()
    app.query_params.update(left)
    app.switch_page("pages/flip_probability.py").run()
    monkeypatch.undo()
    assert not set_so
    app = settled(app)
    assert "step 2 of 3" in texts(app)
    assert app.select_slider(key="n").value == 100
    assert "do not stand as this step sets them" in texts(app)


def test_a_person_elsewhere_returns_to_the_page_of_the_step() -> None:
    app = opened("papers", lesson="every-yes", step="2")
    app.button(key="lesson-return").click().run()
    assert not app.exception
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert "step 2 of 3" in texts(app)
    assert app.query_params["step"] == "2"


def test_an_address_that_begins_a_lesson_on_another_page_takes_it_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(
        router.st,
        "switch_page",
        lambda _, query_params: asked.append(query_params) or router.st.stop(),
    )
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["lesson"] = "a-release-is-a-draw"
    app.run()
    assert (asked[0]["lesson"], asked[0]["step"]) == ("a-release-is-a-draw", "1")


def test_the_address_of_the_next_page_says_what_the_step_sets_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened("posterior", lesson="say-what-is-noise", step="2")
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(
        router.st,
        "switch_page",
        lambda _, query_params: asked.append(query_params) or router.st.stop(),
    )
    app.button(key="lesson-next").click().run()
    # What was drawn before is bound: Streamlit refuses to set it here.
    assert {*asked[0]} == {"version", "mechanisms.view"}
    assert asked[0]["mechanisms.view"] == "coverage"


@pytest.mark.parametrize("step", ["9", "0", "x"])
def test_a_step_that_is_not_there_is_the_nearest(step: str) -> None:
    app = opened("flip_probability", lesson="every-yes", step=step)
    assert not app.exception
    assert f"step {3 if step == '9' else 1} of 3" in texts(app)


def test_guess_and_answer_are_drawn_on_the_scale_of_the_question() -> None:
    step = lessons.load()["a-release-is-a-draw"].steps[0]
    # With as many digits as the text has.
    drawn = lesson.guessed(step, 2.0, 3.42)
    assert drawn.sentence == "Your guess was 2 times; the answer is 3.4 times."
    assert [trace.x[1] for trace in drawn.figure.data] == [2.0, 3.42]
    assert step.question is not None
    assert tuple(drawn.figure.layout.xaxis.range) == (step.question.low, step.question.high)
    assert knobs.NO_LESSON not in lessons.load()


def test_a_step_that_waits_tells_no_number_of_the_step_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = SimpleNamespace(
        **dict.fromkeys(("request", "result")),
        **dict.fromkeys(("wait", "made", "seconds_left"), lambda: None),
        active=True,
        state="waiting",
        watch=lambda _: None,
    )
    monkeypatch.setattr(watch, "_job_of", lambda *_, **__: waits)

    def script() -> None:
        from types import SimpleNamespace

        import streamlit as st

        from abcdp_core import lessons
        from ui import lesson, watch

        # Of whichever study: its tables are another's.
        before = SimpleNamespace(is_partial=False, tables={})
        st.session_state[watch.SHOWN] = {"main": before}
        step = lessons.load()["large-data"].steps[2]
        lesson._body(lessons.load()["large-data"], 3, step)

    app = AppTest.from_function(script).run()
    assert not app.exception
    assert not app.warning


def test_a_second_click_on_show_the_answer_changes_nothing() -> None:
    def script() -> None:
        import streamlit as st

        from ui import lesson

        st.session_state[lesson.GUESSES] = {("large-data", 2): 2.0}
        lesson._keep(("large-data", 2), "lesson-guess-large-data-2")

    app = AppTest.from_function(script).run()
    assert not app.exception
    assert app.session_state[lesson.GUESSES] == {("large-data", 2): 2.0}


def test_the_last_step_leads_to_the_next_lesson_and_the_last_lesson_ends() -> None:
    app = opened("flip_probability", lesson="every-yes", step="3")
    assert app.button(key="lesson-next").label == "Next lesson"
    each = list(lessons.load().values())
    assert [lesson._after(one) for one in each] == [*[one.name for one in each[1:]], None]


def waiting_step(guess: float | None, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A question's step after a press of Back, as long as its run has no result."""
    monkeypatch.setattr(watch, "growing_together", lambda *_, waiting, **__: waiting())

    def script(guess: float | None) -> None:
        import streamlit as st

        from abcdp_core import lessons
        from ui import lesson

        chosen = lessons.load()["every-yes"]
        st.session_state[lesson.GUESSES] = {} if guess is None else {("every-yes", 2): guess}
        st.session_state[lesson.VISITS] = (4, lesson.BACK)
        lesson._body(chosen, 2, chosen.steps[1])

    app = AppTest.from_function(script, args=(guess,)).run()
    assert not app.exception
    return app


@pytest.mark.parametrize(("guess", "end"), [(None, ""), (50.0, ", with its answer")])
def test_who_cannot_see_is_told_the_step_and_keeps_the_focus(
    guess: float | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (told,) = waiting_step(guess, monkeypatch).get("bidi_component")
    assert f"step 2 of 3: A hundred draws{end}" in str(told.proto)
    assert re.search(r"visit\W+4\W+buttons\W+lesson-back\W+lesson-next", str(told.proto))


def test_an_answer_that_is_not_computed_yet_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = waiting_step(50.0, monkeypatch).markdown
    assert text.value == (
        "**If a hundred draws are kept instead of 10, how many of them are false?** "
        "*The answer stands here when it is computed.*"
    )


def test_who_asks_for_the_answer_has_asked_for_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = lessons.load()["every-yes"].steps[1]
    asked = {
        Request(run.experiment, chosen.params(name), lesson.SEED)
        for name, run in chosen.runs.items()
    }
    assert waiting_step(50.0, monkeypatch).session_state[watch.STARTED] == asked


@pytest.mark.parametrize(
    ("state", "is_partial", "said"),
    [
        ("running", True, "it grows as you read"),
        ("asks", True, "the button above it computes the rest"),
        ("done", False, ""),
    ],
)
def test_a_step_says_that_the_figure_below_is_not_complete(
    state: str, is_partial: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = SimpleNamespace(active=state == "running", result=SimpleNamespace(is_partial=is_partial))
    monkeypatch.setattr(watch.jobs, "service", lambda: SimpleNamespace(find={"asked": job}.get))

    def script() -> None:
        import streamlit as st

        from ui import lesson, watch

        st.session_state[watch.WATCHED] = {"flip-probability": "asked"}
        lesson.tell_of_figure(st.empty())

    monkeypatch.setattr(lesson, "on", lambda: (lessons.load()["every-yes"], 2))
    app = AppTest.from_function(script).run()
    assert not app.exception
    assert [said in each.value for each in app.caption] == [True] * bool(said)


def test_a_question_waits_for_its_numbers_as_a_text_does() -> None:
    question = lessons.Question("More than {found:.0f}?", "answer", 0.0, 1.0)
    step = Step("A", "overview", "Of {n:.0f}.", {"n": 100}, question=question)
    assert lesson._before(step) == {"n", "found"}


# -------------------------------------------------------------------------------- print view


def test_a_print_view_is_offered_when_all_its_numbers_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partial: list[bool] = []

    def grown(
        requests: Mapping[str, Request], draw: Callable[[Any, bool], None], **_: object
    ) -> None:
        draw({name: SimpleNamespace(is_partial=partial[0]) for name in requests}, False)

    monkeypatch.setattr(watch, "growing_together", grown)
    partial[:] = [True]
    app = opened("lessons")
    assert not app.get("download_button")
    app.button(key="lesson-print-large-data").click().run()
    assert not app.exception
    assert not app.get("download_button")
    partial[:] = [False]
    app.run()
    (button,) = app.get("download_button")
    assert button.label == "Save the print view (HTML)"


def test_a_lesson_without_runs_is_printed_at_once_with_links_and_settings() -> None:
    number, chosen = 1, lessons.load()["one-person"]
    chosen = dataclasses.replace(chosen, steps=chosen.steps[:2])
    assert not lesson_list.requests_of(chosen)
    page = lesson_list.page(number, chosen, "http://192.168.1.5:8501/lessons", {}, {})
    typed = html.unescape(page.replace("<wbr>", ""))
    for step in (1, 2):
        assert f"http://192.168.1.5:8501/?lesson=one-person&step={step}&version=" in typed
    assert page.count("<path") > 2 * 11
    assert "Page <em>Overview</em>: ε_total\u00a0=\u00a00.2, ε_abc\u00a0=\u00a00.1, " in page
    assert "c\u00a0=\u00a010, N\u00a0=\u00a05,000<" in page


@pytest.mark.parametrize(
    ("name", "step", "settings"),
    [
        ("a-release-is-a-draw", 1, "Show: many releases"),
        ("every-yes", 3, "T = 10,000"),
        ("ask-narrow", 1, "N = 1,000"),
        ("ask-narrow", 3, "Show: tuberculosis"),
    ],
)
def test_a_step_says_what_its_knobs_stand_at(name: str, step: int, settings: str) -> None:
    chosen = lessons.load()[name].steps[step - 1]
    opens = next(each for each in router.TABLE if each.file == chosen.page)
    assert any(text.startswith(settings) for text in lesson_list.settings_of(chosen, opens))


@pytest.mark.parametrize(
    ("page", "url", "there"),
    [
        ("overview", "http://localhost:8501/lessons", "http://localhost:8501/?step=1"),
        ("posterior", "https://a.org/x/lessons?step=2", "https://a.org/x/posterior?step=1"),
    ],
)
def test_the_address_of_a_step_is_on_the_same_server(page: str, url: str, there: str) -> None:
    opens = next(each for each in router.TABLE if each.file == page)
    assert lesson_list.address_of(opens, url, {"step": 1}).startswith(f"{there}&version=")


def test_equal_runs_of_a_lesson_are_asked_for_once() -> None:
    chosen = lessons.load()["people-buy-privacy"]
    runs = [request for step in chosen.steps for request in lesson_list._requests(step).values()]
    assert len(lesson_list.requests_of(chosen)) == len({*runs}) < len(runs)


def test_a_print_view_has_the_figures_that_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    large, noise = (lessons.load()[name] for name in ("large-data", "say-what-is-noise"))
    drawn = lesson.guessed(large.steps[2], 2.0, 3.0)
    figures = dict.fromkeys(("decisions", "posterior", "x"), drawn)
    monkeypatch.setattr(lesson_list.drawings, "drawn", lambda _: figures)
    # The last step asks nothing; the two of the other lesson are about one figure.
    for chosen, place, experiment in ((large, 3, "posterior"), (noise, 1, "posterior")):
        result = SimpleNamespace(experiment=experiment)
        found = dict.fromkeys(lesson_list.requests_of(chosen), result)
        assert lesson_list.figures_of(chosen, found) == {place: (result, drawn)}

    def fails(_: object) -> None:
        raise lesson_list.ExportError("no browser")

    monkeypatch.setattr(lesson_list.images, "draw", fails)
    monkeypatch.setattr(lesson_list.images, "images_of", lambda *_: [SimpleNamespace()])
    assert lesson_list._pictures({2: (result, drawn)}) == {}
