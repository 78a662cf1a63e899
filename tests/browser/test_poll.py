"""A class in the browser: each telephone sends a word, and what was typed stays on it."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, WebSocket, WebSocketRoute, expect

from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import CHANCES, Design, chances
from abcdp_core.adaptive.questionnaire import Item, Questionnaire
from abcdp_core.publish.output import poll_file
from tests.browser.server import command, free_port, running
from tests.browser.visit import Visit, rest
from tests.statistics import assert_frequencies, rejects

TELEPHONE = {"width": 390, "height": 844}
TYPED = 7.1357924
"""A value whose digits and bytes are nowhere else."""


class Wire:
    """All that a page sends to the server."""

    def __init__(self, page: Page) -> None:
        self.sent: list[bytes] = []
        page.on("websocket", self._listen)
        page.on("request", lambda request: self._note(request.url + (request.post_data or "")))

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._note)

    def _note(self, sent: str | bytes) -> None:
        self.sent.append(sent if isinstance(sent, bytes) else sent.encode())

    def has(self, value: float) -> bool:
        """Whether a value was sent, as text or as a number."""
        forms = str(value).encode(), struct.pack("<d", value)
        return any(form in sent for form in forms for sent in self.sent)


class Unreliable:
    """A connection that breaks the first time each of some messages is sent."""

    def __init__(self, page: Page, *messages: bytes) -> None:
        self._breaks_at = [*messages]
        page.route_web_socket("**/_stcore/stream", self._connect)

    @property
    def has_broken(self) -> bool:
        return not self._breaks_at

    def _connect(self, phone: WebSocketRoute) -> None:
        server = phone.connect_to_server()

        def forward(sent: str | bytes) -> None:
            if self._breaks_at and self._breaks_at[0] in (sent if isinstance(sent, bytes) else b""):
                self._breaks_at.pop(0)
                phone.close(code=1011)
                server.close()
            else:
                server.send(sent)

        phone.on_message(forward)


def code_of(page: Page) -> str:
    """Return the code of the poll that a lecturer's page shows."""
    found = re.search(r"poll=(\w{5})", page.url)
    assert found is not None
    return found[1]


def telephone(browser: Browser) -> Page:
    return browser.new_context(viewport=TELEPHONE).new_page()  # type: ignore[arg-type]


def typed(page: Page, value: str) -> None:
    rest(page)
    page.get_by_label("Your value").fill(value)
    page.get_by_role("button", name="Answer").click()


def test_nothing_typed_leaves_a_telephone(visit: Visit, browser: Browser) -> None:
    # What a widget of Streamlit's sends is found by the same search.
    control = Wire(visit.page)
    visit.open("live_poll")
    visit.page.get_by_role("spinbutton", name="Highest value").fill(str(TYPED))
    visit.page.get_by_role("button", name="Start the poll").click()
    expect(visit.page.get_by_text("Answered", exact=True)).to_be_visible()
    assert control.has(TYPED)
    address = f"{visit.server}/?poll={code_of(visit.page)}"
    phone = telephone(browser)
    wire = Wire(phone)
    phone.goto(address)
    typed(phone, "seven")
    expect(phone.get_by_text("Type a number")).to_be_visible()
    value = 3.1415926
    typed(phone, str(value).replace(".", ","))
    expect(phone.get_by_text("Received:")).to_be_visible()
    word = phone.locator(".said").inner_text()
    assert not wire.has(value)
    assert len(wire.sent) > 1
    # Opened again, and in a second tab, it is the same word.
    phone.reload()
    expect(phone.locator(".said")).to_have_text(word)
    second = phone.context.new_page()
    second.goto(address)
    expect(second.locator(".said")).to_have_text(word)
    found = Axe().run(phone)
    assert not [each["id"] for each in found.response["violations"] if each["impact"] != "minor"]
    visit.press("Close the poll")
    # One that has not answered is late.
    second.evaluate("localStorage.clear()")
    second.reload()
    expect(second.get_by_text("This question is closed.")).to_be_visible()
    second.goto(f"{visit.server}/?poll=ZZZZZ")
    expect(second.get_by_text("its code is wrong")).to_be_visible()
    phone.context.close()


FIVE = ("the proof", "coffee", "exercises", "examples", "the exam")
PLAN = Questionnaire(
    (
        Item.new("How many hours?", "hours", Design(0.0, 24.0, 4.0)),
        Item.new("Is it late?", "", Choice(("yes", "no"), 4.0)),
        Item.new("What do you like?", "", Choice(FIVE, 4.0)),
    ),
    budget=12.0,
)


def choose(page: Page, word: str) -> None:
    rest(page)
    page.get_by_label(word, exact=True).check()
    page.get_by_role("button", name="Answer").click()


def received(page: Page, answer: Callable[[Page, str], None], value: str) -> str:
    """Wait until the server has the word of a telephone, and return it.

    Where the connection was lost before anything was sent, its person answers once more.
    """
    said = page.locator(".said")
    while "Received:" not in said.inner_text():
        expect(said).to_contain_text(re.compile("Received:|Answer once more"))
        if "once more" in said.inner_text():
            answer(page, value)
            expect(said).not_to_contain_text("once more")
    return page.locator(".said b").inner_text()


@pytest.mark.parametrize("people", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_a_class_answers_three_questions_and_a_killed_server_loses_nothing(
    browser: Browser, tmp_path: Path, people: int
) -> None:
    port, plan, saved = free_port(), tmp_path / "plan.toml", tmp_path / "poll.toml"
    plan.write_text(poll_file.written(PLAN))
    hours = [6.0 + 0.1 * place for place in range(people)]
    with running(command(port), port, tmp_path, end=subprocess.Popen.kill) as server:
        host = browser.new_page()
        host.goto(f"{server}/live_poll")
        host.get_by_text("Several questions, seat codes, files").click()
        host.locator("input[type=file]").set_input_files(plan)
        host.get_by_role("button", name="Start with 3 prepared").click()
        expect(host.get_by_text("Answered", exact=True)).to_be_visible()
        phones = [telephone(browser) for _ in range(people)]
        wires = [*map(Wire, phones)]
        # The first loses its connection in mid-answer, twice.
        lost = Unreliable(phones[0], b'"ask"', b'"answer"')
        for phone in phones:
            phone.goto(f"{server}/?poll={code_of(host)}")
        for phone, value in zip(phones[: people // 2], hours, strict=False):
            typed(phone, str(value))
        # The second is loaded again while it waits, and once more.
        phones[1].reload()
        phones[1].reload()
        first = zip(phones[: people // 2], hours, strict=False)
        words = [[received(phone, typed, str(value)) for phone, value in first]]
        assert lost.has_broken
        typed(phones[-2], str(hours[-2]))
    with running(command(port), port, tmp_path) as server:
        host.goto(host.url)
        others = [*zip(phones, hours, strict=True)][people // 2 : -1]
        for phone, value in others[:-1]:
            typed(phone, str(value))
        words[0] += [received(phone, typed, str(value)) for phone, value in others]
        answered = host.locator(".poll-numbers")
        expect(answered).to_contain_text(re.compile(rf"Answered\s*{people - 1}(?!\d)"))
        # The last is late for the first question, and answers the others.
        host.get_by_role("button", name="Next question").click()
        truths = [["yes"] * people, [FIVE[place % 5 // 2] for place in range(people)]]
        for truth in truths:
            expect(phones[-1].get_by_label(truth[0], exact=True)).to_be_visible()
            for phone, word in zip(phones, truth, strict=True):
                choose(phone, word)
            pairs = zip(phones, truth, strict=True)
            words.append([received(phone, choose, word) for phone, word in pairs])
            expect(answered).to_contain_text(re.compile(rf"Answered\s*{people}(?!\d)"))
            if truth is truths[0]:
                host.get_by_role("button", name="Next question").click()
        with host.expect_download() as download:
            host.get_by_role("button", name="Save poll.toml").click()
        download.value.save_as(saved)
        for phone in phones:
            expect(phone.locator(".sum")).to_contain_text(re.compile(r"ε = (12|8) in all"))
        for wire, value in zip(wires, hours, strict=True):
            assert not wire.has(value)
    # The file has every word that was acknowledged, and no other.
    items, kept = poll_file.read(saved).items, []
    for item in items:
        asked = [question for question, _ in item.poll.answers]
        said = (each.words if isinstance(each, Choice) else each.words() for each in asked)
        places = [word for _, word in item.poll.answers]
        kept.append([each[place] for each, place in zip(said, places, strict=True)])
    assert [sorted(each) for each in kept] == [sorted(each) for each in words]
    # They are true as often as they should be.
    for item, truth, sent in zip(items[1:], truths, words[1:], strict=True):
        true = sum(map(str.__eq__, truth, sent))
        right = chances(4.0, item.poll.design.many)[1] / CHANCES
        counts, table = np.array([people - true, true]), np.array([1.0 - right, right])
        assert_frequencies(counts, table)
        assert rejects(assert_frequencies, 10 * counts[::-1], table)
    for phone in (*phones, host):
        phone.context.close()
