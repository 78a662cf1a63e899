"""Begin a poll: its questions, typed here or read from a file, and the budget of each person."""

from __future__ import annotations

import datetime
import itertools

import streamlit as st

from abcdp_core.adaptive.categories import Choice, standard_deviation
from abcdp_core.adaptive.poll import Design
from abcdp_core.adaptive.questionnaire import MOST, Item, Questionnaire, needed
from abcdp_core.base.parameters import ParameterError
from abcdp_core.privacy.accounting import in_digits
from abcdp_core.privacy.promise import odds
from abcdp_core.publish.output import poll_file
from ui.poll.hall import HALL, PEOPLE, PollError
from ui.verbatim import verbatim

CODE, SECRET = "poll", "host"
"""Keys of a poll's link, and of the link of its lecturer."""

QUESTIONS = {
    "number": "How many hours did you sleep last night?",
    "yes or no": "Have you ever pretended to have read a paper?",
    "categories": "Which lecture would you skip first?",
}
"""Kind of answers -> a question."""

WORDS = "Monday", "Wednesday", "Friday"

BUDGETS = {1.0: "80 people or more", 2.0: "40 people", 4.0: "20 people"}
"""ε per person -> the size of a class that it suits."""

PREPARED, FILE = "_poll_prepared", "_poll_file"
"""Keys of the questions that were prepared in this browser, and of the file they come from."""

FORMER = 20
"""Former polls that are listed."""


def show() -> None:
    """Show the form that begins a poll."""
    st.markdown(
        "Your students open a link on their telephones and answer; the answer never leaves the "
        "telephone. It sends a word, drawn at random. From all the words the class's mean, or its "
        "shares, emerge on your screen."
    )
    prepared: list[Item] = st.session_state.setdefault(PREPARED, [])
    buttons = ("Add the question",) if prepared else ("Start the poll", "Keep it for later")
    item, pressed = question("opening", buttons)
    for place, each in enumerate(prepared):
        with st.container(horizontal=True, vertical_alignment="center", key=f"prepared-{place}"):
            cost = in_digits(each.poll.design.epsilon)
            st.markdown(verbatim(f"{place + 1}. {each.text} (ε = {cost})"))
            st.button("Remove", key=f"remove-{place}", on_click=prepared.remove, args=(each,))
    with st.expander("Several questions, seat codes, files", expanded=bool(prepared)):
        one_each = st.toggle(
            "Each telephone draws one of the questions",
            help="One answer costs less than all of them, and tells more for the same budget.",
        )
        with st.container(horizontal=True):
            reserve = 0.0 if one_each else _reserve()
            seats = st.number_input(
                "Seat codes", 0, PEOPLE, 0, width=200, help="Without one of them nobody answers."
            )
        st.file_uploader("Questions from poll.toml", "toml", key=FILE, on_change=_load)
        if prepared:
            asked = _all(prepared, reserve, one_each=one_each)
            st.download_button("Save these questions", poll_file.written(asked), "poll.toml")
    if prepared and st.button(f"Start with {len(prepared)} prepared", type="primary"):
        _start(prepared, reserve, int(seats), one_each=one_each)
    elif item and pressed == "Start the poll":
        _start([item], reserve, int(seats), one_each=one_each)
    elif item and len(prepared) < MOST:
        prepared.append(item)
        st.rerun()
    _former()


def question(key: str, buttons: tuple[str, ...]) -> tuple[Item | None, str]:
    """Show the form of a question; return it and the button that was pressed, if one was."""
    with st.container(key=f"kind-{key}"):
        kind = st.segmented_control(
            "Answers", [*QUESTIONS], default="number", required=True, key=f"{key}-kind"
        )
    kind = str(kind)
    bounds = "Public: choose it without knowing anyone's value. Values outside are clipped to it."
    unit, low, high = "", 0.0, 1.0
    words: tuple[str, ...] = ("yes", "no")
    if kind != "number":
        st.caption(_known(2 if kind == "yes or no" else len(WORDS)))
    with st.form(f"poll-{key}", border=key == "opening"):
        with st.container(horizontal=True, gap="medium"):
            text = st.text_input("Question", QUESTIONS[kind], max_chars=120, width="stretch")
            if kind == "number":
                unit = st.text_input("Unit", "hours", max_chars=20, width=110)
                low = st.number_input(
                    "Lowest value", value=0.0, format="%g", width=150, help=bounds
                )
                high = st.number_input(
                    "Highest value", value=24.0, format="%g", width=150, help=bounds
                )
        if kind == "categories":
            lines = st.text_area("Answers, one in each line (2 to 8)", "\n".join(WORDS), height=150)
            words = tuple(each.strip() for each in lines.splitlines() if each.strip())
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            epsilon = st.segmented_control(
                "ε · budget of each person, and the class that it suits",
                [*BUDGETS],
                default=2.0,
                required=True,
                format_func=lambda each: f"{each:g} · {BUDGETS[each]}",
                help="; ".join(f"ε = {budget:g}: {odds(budget)}" for budget in BUDGETS),
            )
            first, *others = buttons
            pressed = [first] if st.form_submit_button(first, type="primary") else []
            pressed += [name for name in others if st.form_submit_button(name)]
    if not pressed:
        return None, ""
    each = float(epsilon or 2.0)
    try:
        design = Design(low, high, each) if kind == "number" else Choice(words, each)
    except ParameterError as error:
        st.error(verbatim(error))
        return None, ""
    return Item.new(text.strip() or "?", unit.strip(), design), pressed[0]


def _known(words: int) -> str:
    """Return what classes will know of a share, at each budget."""
    classes = itertools.product(BUDGETS, (20, 80))
    each = (
        f"± {196 * standard_deviation(budget, words, people, 1 / words):.0f} points from {people} "
        f"people at ε = {budget:g}"
        for budget, people in classes
    )
    few = " Five words or more need ε = 2 or more." if words > 4 else ""
    return f"What a class will know of an answer that one in {words} gives: {'; '.join(each)}.{few}"


def _reserve() -> float:
    return st.number_input(
        "ε kept for running questions again",
        0.0,
        20.0,
        2.0,
        0.5,
        width=300,
        help="Telephones state the sum of all questions and this at the start, and never spend "
        "more: one that has spent it sits a question out.",
    )


def _all(items: list[Item], reserve: float, *, one_each: bool) -> Questionnaire:
    return Questionnaire(tuple(items), needed(items, one_each=one_each) + reserve, one_each)


def _load() -> None:
    if (file := st.session_state[FILE]) is not None:
        try:
            found = poll_file.parse(file.getvalue(), file.name).items
            st.session_state[PREPARED] = [*found][:MOST]
        except ParameterError as error:
            st.toast(verbatim(error))


def _start(items: list[Item], reserve: float, seats: int, *, one_each: bool) -> None:
    try:
        live = HALL.open(_all(items, reserve, one_each=one_each), seats)
    except PollError as error:
        st.error(verbatim(error))
        return
    st.query_params.update({CODE: live.code, SECRET: live.secret})
    st.rerun()


def _former() -> None:
    """List former polls to who sits at the server's own computer, and to nobody else."""
    if st.context.ip_address is not None:
        return
    with st.expander("Results of former polls"):
        for at, opened in itertools.islice(HALL.former(), FORMER):
            day = datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
            link = {CODE: opened["code"], SECRET: opened["secret"]}
            said = f"{day} · {opened['items'][0]['question']}"
            st.button(
                verbatim(said), key=f"former-{opened['code']}", type="tertiary",
                on_click=st.query_params.update, args=(link,),
            )  # fmt: skip
