"""A lesson on the pages: which step is on, what it sets, and its panel above the page.

The link says lesson and step. Whoever comes to a step finds the page, the knobs and the element
that it is about as the step sets them, and may move everything from there; a link that sets knobs
of its own is left alone. The guess of a person lives in the session alone.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import figures as fig
from abcdp_core import lessons
from abcdp_core.figures import Drawn
from abcdp_core.lessons import Lesson, Step, numbers
from abcdp_core.parameters import ParameterError, text_of
from abcdp_core.results import Result
from ui import charts, knobs, locks, state, watch
from ui.job import Request
from ui.page import Page

ENTERED = "_lesson_entered"
GUESSES = "_lesson_guesses"
VISITS = "_lesson_visits"
"""How often a button went away as it was pressed, and the one that has the focus since."""

SCRIPT = Path(__file__).parents[1] / "assets" / "lesson.js"
SEED = 1

FORMAT = "figures.format"
"""A knob of most pages that no number depends on."""


def on() -> tuple[Lesson, int] | None:
    """The lesson that is on and the place of its step, from 1; ``None`` without one."""
    lesson = lessons.load().get(str(state.held("lesson")))
    if lesson is None:
        return None
    return lesson, min(int(state.held("step")), len(lesson.steps))


def begin(asked: set[str]) -> None:
    """At the start of a session: a link that sets knobs of its own says how they stand.

    So does an address that the browser went back to: it leads to the step as it was left.

    Args:
        asked: the keys that the address sets.
    """
    if ENTERED not in st.session_state:
        own = asked - {"version", *knobs.EVERYWHERE}
        st.session_state[ENTERED] = _place() if own else None
    elif state.is_gone_back():
        st.session_state[ENTERED] = _place()


def enter(pages: Iterable[Page]) -> str:
    """Set what the step sets if a person has just come to it.

    Args:
        pages: all there are.

    Returns:
        File name of the page that it opens; empty if nothing changes.
    """
    place = _place()
    if place == st.session_state.get(ENTERED):
        return ""
    st.session_state[ENTERED] = place
    if (here := on()) is None:
        return ""
    lesson, number = here
    step = lesson.steps[number - 1]
    stay = {"lesson": lesson.name, "step": number, "preset": knobs.NO_PRESET}
    opened = next(page for page in pages if page.file == step.page)
    scenario = _shown(step, opened)
    values = _own_of(opened, scenario) | stay | knobs_of(step, opened, scenario)
    state.move_to(values, opened)
    state.begin_again()
    return step.page


def in_address() -> dict[str, str]:
    """What an address says of the step that was come to: which it is, and the knobs it sets."""
    if (here := on()) is None:
        return {}
    keys = ("lesson", "step", *here[0].steps[here[1] - 1].knobs)
    return {key: text_of(st.session_state[key]) for key in keys if key in st.session_state}


def knobs_of(step: Step, page: Page, scenario: str = "") -> dict[str, Any]:
    """Key -> value of all knobs that a step sets; whole numbers and others as the knobs have them.

    What it does not set stands at its default, so that a step is the same for everybody. So does
    what a scenario has no room for that a class link holds in place of the step's.

    Args:
        step: which.
        page: the one that it opens.
        scenario: that the page shows, where it is not the step's.
    """
    own = scenario_of(step, page)
    scenario = scenario or own
    usual = {
        key: knobs.find(key, scenario=scenario).default for key in knobs.SHARED if key != "seed"
    }
    found = {}
    for key, value in step.knobs.items():
        with contextlib.nullcontext() if scenario == own else contextlib.suppress(ParameterError):
            found[key] = knobs.find(key, page.every, scenario).parameter.check(key, value)
    return {**usual, **found, "seed": SEED}


def _own_of(page: Page, scenario: str) -> dict[str, Any]:
    """Where the page's own knobs begin, but for those that a class link holds."""
    return {
        key: knobs.find(key, page.every, scenario).default
        for key in page.own
        if key != FORMAT and not locks.is_fixed(key)
    }


def scenario_of(step: Step, page: Page) -> str:
    """The scenario that a step's page shows."""
    if not page.chooser:
        return knobs.FIRST_SCENARIO
    return page.scenario(step.knobs.get(page.chooser, knobs.find(page.chooser).default))


def _shown(step: Step, page: Page) -> str:
    """The scenario that the page of a step shows to who comes to it: a class link may hold one."""
    key = page.chooser
    is_held = key and key not in step.knobs and locks.is_fixed(key)
    return page.scenario(state.held(key)) if is_held else scenario_of(step, page)


def _place() -> tuple[str, int] | None:
    here = on()
    return None if here is None else (here[0].name, here[1])


# --------------------------------------------------------------------------------------- the panel


def panel() -> DeltaGenerator | None:
    """The step that is on, above the page; nothing without a lesson.

    Returns the place for what is to be said when the page below is drawn.
    """
    here = on()
    if here is None:
        return None
    lesson, number = here
    step = lesson.steps[number - 1]
    if step.page != state.on_screen().file:
        _elsewhere(lesson, number)
        return None
    if step.look:
        st.html(f"<style>.st-key-{step.look} {{ {OUTLINE} }}{_first(step.look)}</style>")
    with st.container(key="lesson-panel", border=True, gap="small"):
        _head(lesson, number)
        _body(lesson, number, step)
        if moved := _moved(step):
            _say_moved(moved)
        return st.empty()


def _moved(step: Step) -> list[str]:
    """Knobs of the page that stand elsewhere than a step sets them, or they begin."""
    page, scenario = state.on_screen(), state.scenario_in_force()
    stands = {"seed": SEED, "preset": knobs.NO_PRESET}
    stands |= {key: value for key, value in knobs_of(step, page).items() if key in step.knobs}
    taken = [key for key in state.knobs_of_page() if key != FORMAT]
    usual = {key: knobs.find(key, page.every, scenario).default for key in taken}
    return [key for key in taken if state.held(key) != (usual | stands)[key]]


def _say_moved(moved: Sequence[str]) -> None:
    """The page shows what the knobs stand at, the panel what the step sets."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Some knobs do not stand as this step sets them: its numbers are for its own settings.",
            width="stretch",
        )
        if not any(locks.is_fixed(key) for key in moved):
            st.button("Set them so", key="lesson-set", on_click=_return, type="tertiary")


def tell_of_figure(place: DeltaGenerator | None) -> None:
    """Say in the panel if the figure that stands out on the page is not complete.

    Args:
        place: of the panel.
    """
    here = on()
    if place is None or here is None:
        return
    step = here[0].steps[here[1] - 1]
    studies = (run.experiment for run in step.runs.values())
    study = next((each for each in studies if step.look.startswith(f"chart-{each}-")), "")
    if job := watch.unfinished(study):
        goes_on = (
            "it grows as you read." if job.active else "the button above it computes the rest."
        )
        place.caption(f"The figure with the dashed frame is not complete yet: {goes_on}")


OUTLINE = (
    "outline: var(--lesson-outline); outline-offset: 2px; margin-top: 0.5rem; border-radius: 4px;"
)
"""What a step is about stands out by a colour that no data have (``assets/style.css``), and does
not lie on the line above it."""

ONE_COLUMN, ONE_COLUMN_ON_A_PROJECTOR = 1150, 1700
"""Pixels of a window in which the first page's cards are below each other (style.css,
projector.css)."""


def _first(look: str) -> str:
    """On the first page the row of cards that a step is about comes first, in one column the card.

    Below the panel there is room for one without scrolling.
    """
    widest = ONE_COLUMN_ON_A_PROJECTOR if state.held("projector") else ONE_COLUMN
    card = f":has(.st-key-{look}) {{ order: -1 }}"
    return (
        f".st-key-overview > {card}"
        f"@media (max-width: {widest}px) {{ [data-testid=stColumn]{card} }}"
    )


def _head(lesson: Lesson, number: int) -> None:
    count = len(lesson.steps)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="lesson-said", width="stretch", gap=None):
            st.caption(_in_words(lesson, number))
            st.markdown(f"**{lesson.steps[number - 1].title}**")
        _button("Back", BACK, partial(_turn, BACK, number - 1), ends=number == 1)
        if number < count or (following := _after(lesson)) is None:
            _button("Next", NEXT, partial(_turn, NEXT, number + 1), ends=number == count)
        else:
            _button("Next lesson", NEXT, partial(_turn, NEXT, 1, following), knob="lesson")
        _leave()


def _elsewhere(lesson: Lesson, number: int) -> None:
    """On a page that the step is not about: the way back."""
    with st.container(
        key="lesson-panel", border=True, horizontal=True, vertical_alignment="center"
    ):
        st.caption(f"{lesson.title} · step {number} goes on elsewhere.", width="stretch")
        st.button("Return to the lesson", key="lesson-return", on_click=_return)
        _leave()


def _leave() -> None:
    st.button(
        "Leave the lesson",
        key="lesson-leave",
        on_click=leave,
        type="tertiary",
        disabled=locks.is_fixed("lesson"),
        help=locks.REASON if locks.is_fixed("lesson") else None,
    )


def _return() -> None:
    st.session_state[ENTERED] = None


def _number(lesson: Lesson) -> int:
    return list(lessons.load()).index(lesson.name) + 1


def _in_words(lesson: Lesson, number: int) -> str:
    """Where one is."""
    name = f"Lesson {_number(lesson)}: {lesson.title}"
    return f"{name} · step {number} of {len(lesson.steps)}"


def _after(lesson: Lesson) -> str | None:
    """Name of the lesson after one, if there is one."""
    names = [*lessons.load()]
    return next(iter(names[_number(lesson) :]), None)


BACK, NEXT = "lesson-back", "lesson-next"


def _turn(pressed: str, number: int, name: str = "") -> None:
    """To a step by one of the two buttons, which keeps the focus."""
    _focus(pressed)
    go(number, name)


def _focus(button: str) -> None:
    """What was pressed goes away: the focus goes to this button, or else to the other one."""
    st.session_state[VISITS] = st.session_state.get(VISITS, (0, ""))[0] + 1, button


def _say(place: tuple[str, int]) -> None:
    """Tell assistive technology where one is, and the browser which button has the focus."""
    lesson, number = lessons.load()[place[0]], place[1]
    answered = ", with its answer" if place in _guesses() else ""
    words = f"{_in_words(lesson, number)}: {lesson.steps[number - 1].title}{answered}"
    visit, button = st.session_state.get(VISITS, (0, ""))
    buttons = [button, *({BACK, NEXT} - {button})] if button else []
    _component()(key="lesson-place", data={"place": words, "visit": visit, "buttons": buttons})


@functools.cache
def _component() -> ComponentRenderer:
    html, js = '<p class="place" role="status"></p>', SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("lesson", html=html, css=UNSEEN, js=js)


UNSEEN = """.place { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }"""
"""What only assistive technology reads."""


def begin_with(name: str) -> None:
    """To the first step of a lesson, with the focus on the button that leads on."""
    _turn(NEXT, 1, name)


def _button(
    label: str, key: str, on_click: Callable[[], None], *, ends: bool = False, knob: str = "step"
) -> None:
    """One that leads on or back, unless the lesson ends there or the link holds one here."""
    fixed = locks.is_fixed(knob)
    st.button(
        label,
        key=key,
        on_click=on_click,
        disabled=ends or fixed,
        help=locks.REASON if fixed else None,
    )


def go(number: int, name: str = "") -> None:
    """To a step, of another lesson where one is named."""
    if name:
        st.session_state["lesson"] = name
    st.session_state["step"] = number


def leave() -> None:
    """Back to the pages alone; the knobs stay."""
    st.session_state["lesson"] = knobs.NO_LESSON
    st.session_state["step"] = 1


def _body(lesson: Lesson, number: int, step: Step) -> None:
    place = lesson.name, number
    needs_runs = place in _guesses() or not _before(step) <= numbers.of_knobs(step).keys()
    if not (needs_runs and step.runs):
        _said(place, step, {})
        return
    requests = {
        name: Request(run.experiment, step.params(name), SEED) for name, run in step.runs.items()
    }
    if place in _guesses():
        # Who asks to see the answer has asked for what it takes.
        watch.start(requests.values())
    # The former results of these names are another step's: other tables, other numbers.
    watch.growing_together(
        requests,
        lambda found, _: _said(place, step, found),
        former=False,
        waiting=lambda: _said(place, step, {}),
    )


def _before(step: Step) -> frozenset[str]:
    """Names of the numbers that are read before a guess."""
    return numbers.named_in(step.text + (step.question.ask if step.question else ""))


def _said(place: tuple[str, int], step: Step, found: Mapping[str, Result]) -> None:
    """The text, the question, and after the guess the answer.

    Args:
        place: of the step.
        step: which.
        found: its results so far, by the names of its runs.
    """
    # With what changes by itself: a click on the answer draws nothing else.
    _say(place)
    whole = step.runs.keys() == found.keys() and not any(each.is_partial for each in found.values())
    known = numbers.of_knobs(step)
    if whole:
        known = numbers.of(step, {name: result.tables for name, result in found.items()})
    if not _before(step) <= known.keys():
        st.caption("What there is to say stands here when its numbers are computed.")
        return
    told = numbers.fill(step.text, known)
    if step.question is None:
        st.markdown(told)
        return
    words, picture = st.columns([3, 2], gap="medium", vertical_alignment="center")
    ask = numbers.fill(step.question.ask, known)
    if place not in _guesses():
        words.markdown(f"{told} **{ask}**")
        with picture:
            _guess(place, step)
        return
    if step.question.answer not in known:
        words.markdown(f"**{ask}** *The answer stands here when it is computed.*")
        return
    guess, answer = _guesses()[place], known[step.question.answer]
    words.markdown(f"**{ask}** {numbers.fill(step.reveal, known)}")
    with picture:
        charts.show("lesson-guess", guessed(step, guess, answer), kept=False, in_card=GUESS_HEIGHT)


def _guess(place: tuple[str, int], step: Step) -> None:
    question = step.question
    assert question is not None, "is called for questions only"
    key = f"lesson-guess-{place[0]}-{place[1]}"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=GUESS_WIDTH):
            middle = (
                question.low
                + round((question.high - question.low) / 2 / question.step) * question.step
            )
            st.slider(
                f"Your guess ({question.unit})" if question.unit else "Your guess",
                min_value=float(question.low),
                max_value=float(question.high),
                value=float(middle),
                step=float(question.step),
                format="%g",
                key=key,
            )
        st.button("Show the answer", key=f"{key}-show", on_click=_keep, args=(place, key))


GUESS_WIDTH = 230
"""Pixels."""


def _keep(place: tuple[str, int], key: str) -> None:
    # A second click comes when the slider is gone already.
    _focus(NEXT)
    if key in st.session_state:
        _guesses()[place] = float(st.session_state[key])


def _guesses() -> dict[tuple[str, int], float]:
    """Place of a step -> what this person guessed there."""
    guesses: dict[tuple[str, int], float] = st.session_state.setdefault(GUESSES, {})
    return guesses


def guessed(step: Step, guess: float, answer: float) -> Drawn:
    """The guess and the answer on the scale of the question.

    Args:
        step: with a question.
        guess, answer: on its scale.
    """
    question = step.question
    assert question is not None, "is called for questions only"
    mine, right = fig.styles(["your guess", "the answer"])
    mine_in_words = f"{guess:g} {question.unit}".rstrip()
    right_in_words = numbers.answer_in_words(step, {question.answer: answer})
    sentence = f"Your guess was {mine_in_words}; the answer is {right_in_words}."
    figure = fig.figure(sentence, question.unit, "", height=GUESS_HEIGHT)
    for value, style, y in ((guess, mine, 1.0), (answer, right, 0.0)):
        figure.add_scatter(
            x=[question.low, value],
            y=[y, y],
            mode="lines",
            name=style.name,
            line={"color": style.color, "width": 12},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_xaxes(range=[question.low, question.high])
    figure.update_yaxes(
        range=[-0.6, 1.6], tickvals=[1, 0], ticktext=["your guess", "the answer"], showgrid=False
    )
    return Drawn(figure, sentence)


GUESS_HEIGHT = 130
"""Pixels."""
