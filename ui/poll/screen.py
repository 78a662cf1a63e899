"""Show a poll to the hall, and let its lecturer go on, run a question again, and take results."""

from __future__ import annotations

import base64
import functools
import html
import io
import secrets
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import Question
from abcdp_core.adaptive.questionnaire import Item, Questionnaire
from abcdp_core.privacy.accounting import in_digits
from abcdp_core.publish.output import poll_file, poll_page
from abcdp_core.studies.poll import rehearsed, tables_of
from ui.poll import opening
from ui.poll.hall import HALL, LivePoll, PollError
from ui.poll.opening import CODE
from ui.server import settings
from ui.verbatim import verbatim
from ui.view import page_table
from ui.view.view import View
from ui.widgets import controls, share

EVERY = 1.0
"""Seconds between two looks at the answers."""

DRAWN = "_poll_drawn"
"""Key of the number that the simulated telephone drew."""

ANSWERS, HOW, BESIDE = "Answers", "How it works", "Rehearsal beside it"


def show(view: View, code: str, secret: str) -> None:
    """Show a poll to its lecturer, or that there is none."""
    live = HALL.hosted(code, secret)
    if live is None:
        st.info("This poll is over, or this link is not its lecturer's.")
        return
    st.html(f"<style>{poll_page.style()}</style>")
    seen: dict[int, int] = {}

    @st.fragment(run_every=EVERY)
    def looks() -> None:
        # Files are ready before the stage, so that they have every answer that it counts.
        asked = live.questionnaire()
        stage = st.container()
        _results(live, asked)
        with stage:
            _stage(view, live, asked, seen)

    looks()
    st.button("Leave", on_click=st.query_params.clear, type="tertiary")


def _stage(view: View, live: LivePoll, asked: Questionnaire, seen: dict[int, int]) -> None:
    """Show what the hall sees of one question, and what the lecturer may do.

    Args:
        view: the page.
        live: the poll.
        asked: its questions and the answers that are shown.
        seen: place of a round -> answers that were there at the last look.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="poll-stage-head"):
        title = st.empty()
        at = _chosen(asked)
        shown = st.segmented_control(
            "Stage", (ANSWERS, BESIDE, HOW), default=ANSWERS, required=True, key="poll-stage",
            label_visibility="collapsed",
        )  # fmt: skip
        controls.widget(view, "projector")
    now, item = live.rounds[at], asked.known()[at]
    title.html(f"<h1>{html.escape(item.text)}</h1>")
    count = len(item.poll.answers)
    is_early = count < poll_page.FEWEST
    left, right = st.columns((2, 5) if is_early else (1, 5), gap="large")
    with left:
        _address(live, 300 if is_early else 150)
        waiting = f" ({now.waiting} more asked)" if now.waiting else ""
        epsilon = in_digits(item.poll.design.epsilon)
        _numbers({"Answered": f"{count}{waiting}", "ε of each": epsilon})
    with right:
        if shown == HOW:
            _coin(item, now.questions)
        elif is_early:
            st.html(f'<p class="poll-sentence">{poll_page.few(count)}</p>')
        else:
            _pictures(live, at, item, max(0, count - seen.get(at, count)), beside=shown == BESIDE)
        seen[at] = count
    _turn(live)
    for said in poll_page.explained(item):
        st.caption(said)


def _chosen(asked: Questionnaire) -> int:
    """Return the place of the round that is looked at: the present one, or one that is chosen."""
    places = [*range(len(asked.items))]
    now = 0 if asked.one_each else places[-1]
    if len(places) == 1:
        return 0
    chosen = st.segmented_control(
        "Question", places, default=now, required=True, key=f"poll-round-{now}",
        format_func=lambda at: f"{at + 1}", label_visibility="collapsed",
    )  # fmt: skip
    return now if chosen is None else int(chosen)


def _address(live: LivePoll, width: int) -> None:
    """Show where telephones go."""
    if live.is_closed:
        st.markdown("**This question is closed.**")
        return
    here, first = page_table.by_file("live_poll"), page_table.TABLE[0]
    page = share.for_visitors(st.context.url or "", settings.current())
    address = f"{share.elsewhere(page, here, first).partition('?')[0]}?{CODE}={live.code}"
    if picture := share.code(address):
        # A picture of its own needs its namespace.
        named = picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        data = base64.b64encode(named.encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        st.html(f'<img width="{width}" alt="QR code of the address below" src="{source}">')
    st.markdown(f"{address}  \nCode **{live.code}**")


def _numbers(numbers: Mapping[str, str]) -> None:
    """Show numbers in large type."""
    shown = "".join(
        f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in numbers.items()
    )
    st.html(f'<dl class="poll-numbers">{shown}</dl>')


def _pictures(live: LivePoll, at: int, item: Item, fresh: int, *, beside: bool) -> None:
    """Show what the words tell, beside former runs of the question or a simulated class."""
    st.html(f'<h2 class="poll-headline">{html.escape(poll_page.headline(item))}</h2>')
    runs: list[tuple[str, Item, tuple[float, ...], int]] = [("", item, (), fresh)]
    if beside:
        people = max(30, len(item.poll.answers))
        poll, truth = rehearsed(item.poll.design, people)
        runs[0] = ("This class, whose truth nobody knows", item, (), fresh)
        said = f"{people} simulated people, and the truth about them (black)"
        runs.append((said, Item(item.text, item.unit, poll), truth, 0))
    else:
        earlier = [each.item for each in live.rounds[:at] if each.item.text == item.text]
        former = [each for each in earlier if len(each.poll.answers) >= poll_page.FEWEST]
        runs += [(_run(each), each, (), 0) for each in former[-2:]]
        runs[0] = (_run(item) if former else "", item, (), fresh)
    for column, (said, each, truth, new) in zip(st.columns(len(runs)), runs, strict=True):
        with column:
            if said:
                st.markdown(f"**{said}**")
            st.html(poll_page.picture(each, truth, new))
    st.html(f'<p class="poll-sentence">{html.escape(poll_page.sentence(item))}</p>')


def _run(item: Item) -> str:
    return f"ε = {in_digits(item.poll.design.epsilon)}, {len(item.poll.answers)} answers"


def _coin(item: Item, questions: list[Any]) -> None:
    """Play one simulated telephone."""
    design = item.poll.design
    latest = questions[-1] if questions else None
    if isinstance(design, Choice):
        words = design.words
    else:
        third = (design.high - design.low) / 3.0
        example = Question(0, design.low + third, design.high - third)
        words = (latest if isinstance(latest, Question) else example).words()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        truth = st.segmented_control(
            "The truth on a simulated telephone", words, default=words[0], required=True
        )
        if st.button("Draw") or DRAWN not in st.session_state:
            st.session_state[DRAWN] = secrets.randbelow(1000) / 1000.0
    place = words.index(truth) if truth in words else 0
    st.html(poll_page.coin(words, place, st.session_state[DRAWN], design.epsilon))


def _turn(live: LivePoll) -> None:
    """Show what the lecturer may do with the present question."""
    item = live.rounds[live.at].item
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not live.is_closed:
            st.button("Close the poll", on_click=_said, args=(HALL.close, live))
        if live.one_each:
            return
        if live.at + 1 < len(live.rounds):
            st.button("Next question", type="primary", on_click=_said, args=(HALL.go_on, live))
        now = item.poll.design.epsilon
        budgets = sorted({0.5, 1.0, 2.0, 4.0, now})
        epsilon = st.segmented_control(
            "ε of the next run", budgets, default=now, required=True, format_func="{:g}".format
        )
        again = item.again(float(epsilon or now))
        st.button(
            "Run it again", on_click=_said, args=(HALL.go_on, live, again),
            help="Telephones go on to it by themselves; one that has spent its budget sits it out.",
        )  # fmt: skip
        with st.popover("Ask another question"):
            another, pressed = opening.question("another", ("Ask it",))
            if another and pressed:
                _said(HALL.go_on, live, another)
                st.rerun(scope="fragment")


def _said(do: Callable[..., None], *about: Any) -> None:
    try:
        do(*about)
    except PollError as error:
        st.toast(verbatim(error))


def _results(live: LivePoll, asked: Questionnaire) -> None:
    """Offer what has come so far; the tables take a while, so they are made on a click."""
    st.header("Results")
    found: dict[str, str | Callable[[], bytes]] = {
        **_texts(asked),
        "poll.zip": functools.partial(_tables, asked),
    }
    if live.seats:
        found["seats.html"] = poll_page.seats(live.seats)
    with st.container(horizontal=True):
        for name, text in found.items():
            st.download_button(f"Save {name}", text, name, on_click="ignore")
    st.markdown("This command computes tables and page again from `poll.toml`, byte for byte:")
    st.code("abcdp poll poll.toml --out results", language="bash")


@functools.lru_cache(maxsize=16)
def _texts(asked: Questionnaire) -> dict[str, str]:
    """Return the texts of a poll, by the names of their files."""
    return {"poll.toml": poll_file.written(asked), "poll.html": poll_page.page(asked)}


def _tables(asked: Questionnaire) -> bytes:
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        for name, table in tables_of(asked.known()).items():
            archive.writestr(name, table.to_csv(index=False))
    return packed.getvalue()
