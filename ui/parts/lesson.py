"""Show a lesson on the pages: set what a step sets, and draw its panel above the page.

The link names lesson and step. Coming to a step opens its page with the knobs as the step sets
them; from there everything may be moved. Guesses are kept in the session alone. All numbers come
from results that are shipped (:mod:`abcdp_core.run.store`), so nobody waits for an answer.
"""

from __future__ import annotations

import dataclasses
import functools
import html
from collections.abc import Mapping
from typing import Any

import streamlit as st

from abcdp_core import studies
from abcdp_core.base.parameters import text_of
from abcdp_core.publish import lessons
from abcdp_core.publish.lessons import numbers
from abcdp_core.publish.lessons.reading import Lesson
from abcdp_core.publish.lessons.step import Step
from abcdp_core.run import store
from ui.view import controls_spec, locks, page_table, session, steps
from ui.view.page import Page
from ui.view.view import View
from ui.widgets import component

READER = "_reader"

FORMAT = "figures.format"
"""A knob of most pages that no number depends on."""

BACK, NEXT = "lesson-back", "lesson-next"


@dataclasses.dataclass
class Reader:
    """What a session knows of its lessons.

    Attributes:
        guesses: place of a step -> what this person guessed there.
        focused, button: how often a button went away as it was pressed, and which has the focus.
        printed: name of the lesson whose print view was asked for last.
    """

    guesses: dict[tuple[str, int], float] = dataclasses.field(default_factory=dict)
    focused: int = 0
    button: str = ""
    printed: str = ""


def reader() -> Reader:
    """Return this session's."""
    return st.session_state.setdefault(READER, Reader())


def open_step(view: View) -> View:
    """Set what the step sets that a person has just come to; return the view that it opens."""
    assert view.lesson is not None, "a lesson is on"
    lesson, number = view.lesson
    step = lesson.steps[number - 1]
    stay = {"lesson": lesson.name, "step": number, "preset": controls_spec.NO_PRESET}
    opened = page_table.by_file(step.page)
    scenario = _scenario(view, step, opened)
    # The page's own knobs begin anew, but for those that a class link holds.
    own: dict[str, Any] = {
        key: opened.knob(key, scenario).default
        for key in opened.own
        if key != FORMAT and key not in view.fixed
    }
    knobs = steps.knobs_of(_as_shown(lesson.name, number), opened, scenario)
    return session.move_to(view, own | stay | knobs, opened)


def in_address(view: View) -> dict[str, str]:
    """Return what an address says of the step: which it is, and the knobs it sets."""
    keys = ("lesson", "step", *view.step.knobs) if view.step else ()
    return {key: text_of(view.values[key]) for key in keys if key in view.values}


def _scenario(view: View, step: Step, page: Page) -> str:
    """Return the scenario that a step's page shows; a class link may hold one."""
    key = page.chooser
    is_held = key not in step.knobs and key in view.fixed
    return page.scenario(view.value(key)) if is_held else steps.scenario_of(step, page)


def panel(view: View) -> None:
    """Show the current step above the page; it stays in sight, and folds to a bar."""
    if view.lesson is None or view.step is None:
        return
    lesson, number = view.lesson
    if view.step.page != view.page.file:
        _elsewhere(view, lesson, number)
        return
    if look := view.step.look:
        st.html(f"<style>.st-key-{look} {{ {OUTLINE} }}</style>")
    label = f"{_in_words(lesson, number)} · **{view.step.title}**"
    with st.container(key="lesson-panel"), st.expander(label, expanded=True):
        _body((lesson.name, number), view.step)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _say_if_moved(view, _as_shown(lesson.name, number))
            _buttons(view, lesson, number)


def _as_shown(name: str, number: int) -> Step:
    """Return a step with its knobs, those of its answer once that is shown."""
    step = lessons.load()[name].steps[number - 1]
    then = step.question.then if step.question and (name, number) in reader().guesses else {}
    return step.model_copy(update={"knobs": {**step.knobs, **then}})


def _say_if_moved(view: View, step: Step) -> None:
    """Welcome exploring, with a way back, where the page has other settings than the step's."""
    set_by = steps.knobs_of(step, view.page)
    stands = {"seed": steps.SEED, "preset": controls_spec.NO_PRESET}
    stands |= {key: value for key, value in set_by.items() if key in step.knobs}
    usual = {key: view.knob(key).default for key in view.knobs_of_page if key != FORMAT} | stands
    moved = [key for key in view.knobs_of_page if key != FORMAT and view.value(key) != usual[key]]
    if moved:
        st.caption("You are exploring: this step's text uses its own settings.", width="content")
        if view.fixed.isdisjoint(moved):
            st.button("Reset knobs", key="lesson-set", on_click=_return, type="tertiary")
    st.space("stretch")


OUTLINE = (
    "outline: var(--lesson-outline); outline-offset: 2px; margin-top: 0.5rem; border-radius: 4px;"
)
"""Frames what a step is about, in a color that no data have (``assets/style.css``)."""


def _buttons(view: View, lesson: Lesson, number: int) -> None:
    count, names = len(lesson.steps), [*lessons.load()]
    following = names[names.index(lesson.name) + 1 :]
    _leave_button(view)
    back = locks.button(view, "step", disabled=number == 1)
    st.button("Back", key=BACK, on_click=_turn, args=(BACK, number - 1), **back)
    if number == count and following:
        on, label = (NEXT, 1, following[0]), "Next lesson"
        ends = locks.button(view, "lesson")
    else:
        on, label = (NEXT, number + 1, ""), "Next"
        ends = locks.button(view, "step", disabled=number == count)
    st.button(label, key=NEXT, on_click=_turn, args=on, type="primary", **ends)


def _elsewhere(view: View, lesson: Lesson, number: int) -> None:
    """Show the way back on a page that the step is not about."""
    with st.container(
        key="lesson-panel", border=True, horizontal=True, vertical_alignment="center"
    ):
        st.caption(f"{lesson.title} · step {number} continues on another page.", width="stretch")
        st.button("Return to the lesson", key="lesson-return", on_click=_return)
        _leave_button(view)


def _leave_button(view: View) -> None:
    fixed = locks.button(view, "lesson")
    st.button("Leave the lesson", key="lesson-leave", on_click=leave, type="tertiary", **fixed)


def _return() -> None:
    session.visit().step = None


def _in_words(lesson: Lesson, number: int) -> str:
    """Return where one is in a lesson."""
    place = [*lessons.load()].index(lesson.name) + 1
    return f"Lesson {place}: {lesson.title} · step {number} of {len(lesson.steps)}"


def _turn(pressed: str, number: int, name: str = "") -> None:
    """Go to a step, of another lesson where one is named; the button pressed keeps the focus."""
    _focus(pressed)
    if name:
        st.session_state["lesson"] = name
    st.session_state["step"] = number
    _return()


def _focus(button: str) -> None:
    """Give the focus to a button, as the one that was pressed goes away."""
    here = reader()
    here.focused, here.button = here.focused + 1, button


def begin_with(name: str) -> None:
    """Go to the first step of a lesson, with the focus on the button that leads on."""
    _turn(NEXT, 1, name)


def leave() -> None:
    """Go back to the pages alone; the knobs stay."""
    st.session_state["lesson"] = controls_spec.NO_LESSON
    st.session_state["step"] = 1


def _say(place: tuple[str, int]) -> None:
    """Tell assistive technology where one is, and the browser which button has the focus."""
    lesson, number = lessons.load()[place[0]], place[1]
    answered = ", with its answer" if place in reader().guesses else ""
    words = f"{_in_words(lesson, number)}: {lesson.steps[number - 1].title}{answered}"
    visit, button = reader().focused, reader().button
    buttons = [button, *({BACK, NEXT} - {button})] if button else []
    place_said = component(
        "lesson", "lesson.js", '<p class="place" role="status"></p>', "lesson.css"
    )
    place_said(key="lesson-place", data={"place": words, "visit": visit, "buttons": buttons})


@functools.cache
def numbers_of(name: str, number: int) -> Mapping[str, float]:
    """Return the numbers of a step, from the shipped results of its runs."""
    step = lessons.load()[name].steps[number - 1]
    asked = steps.requests(step).items()
    tables = {
        run: store.shipped(studies.load(each.experiment), each.params, each.seed).tables
        for run, each in asked
    }
    return numbers.of(step, tables)


def _body(place: tuple[str, int], step: Step) -> None:
    """Show the step's text and question; after the guess, the answer below both."""
    _say(place)
    known, question = numbers_of(*place), step.question
    said = numbers.fill(step.text, known)
    if question is None:
        st.markdown(said)
        return
    words, beside = st.columns([3, 2], gap="medium", vertical_alignment="center")
    words.markdown(f"{said} **{numbers.fill(question.ask, known)}**")
    if place not in reader().guesses:
        with beside:
            _guess(place, step)
        return
    words.markdown(numbers.fill(step.reveal, known))
    beside.html(_bars(step, reader().guesses[place], known))


def _bars(step: Step, guess: float, known: Mapping[str, float]) -> str:
    """Return the guess and the answer as two bars from 0 to the end of the scale, in HTML."""
    question = step.question
    assert question is not None, "is called for questions only"
    rows = (
        ("your guess", guess, f"{guess:g} {question.unit}".rstrip()),
        ("the answer", known[question.answer], numbers.answer_in_words(step, known)),
    )
    bars = "".join(
        f'<dt>{name}</dt><dd><i style="width:{100 * value / question.high:.1f}%"></i>'
        f"<b>{html.escape(words)}</b></dd>"
        for name, value, words in rows
    )
    return f'<dl class="guess">{bars}</dl>'


def _guess(place: tuple[str, int], step: Step) -> None:
    question = step.question
    assert question is not None, "is called for questions only"
    key = f"lesson-guess-{place[0]}-{place[1]}"
    label = f"Your guess ({question.unit})" if question.unit else "Your guess"
    ends = float(question.low), float(question.high)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=GUESS_WIDTH):
            st.slider(label, *ends, ends[0], float(question.step), format="%g", key=key)
        keep = functools.partial(_keep, place, key)
        st.button("Show the answer", key=f"{key}-show", on_click=keep, type="primary")


GUESS_WIDTH = 230
"""Pixels."""


def _keep(place: tuple[str, int], key: str) -> None:
    # A second click comes when the slider is gone already.
    _focus(NEXT)
    if key in st.session_state:
        reader().guesses[place] = float(st.session_state[key])
        question = lessons.load()[place[0]].steps[place[1] - 1].question
        if question is not None and question.then:
            # The page shows what the answer is about.
            _return()
