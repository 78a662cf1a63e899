"""A class in the browser: each telephone sends a word, and what was typed stays on it."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, WebSocket, WebSocketRoute, expect

from tests.browser.visit import Visit, rest

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


def telephone(browser: Browser) -> Page:
    return browser.new_context(viewport=TELEPHONE).new_page()  # type: ignore[arg-type]


def typed(page: Page, value: str) -> None:
    rest(page)
    page.get_by_label("Your value").fill(value)
    page.get_by_role("button", name="Answer").click()


def test_a_class_answers_and_nothing_typed_leaves_a_telephone(
    visit: Visit, browser: Browser, tmp_path: Path
) -> None:
    # What a widget of Streamlit's sends is found by the same search.
    control = Wire(visit.page)
    visit.open("live_poll")
    visit.page.get_by_role("spinbutton", name="Highest value").fill(str(TYPED))
    visit.page.get_by_role("button", name="Start the poll").click()
    expect(visit.page.get_by_text("Answered", exact=True)).to_be_visible()
    assert control.has(TYPED)
    code = re.search(r"poll=(\w{5})", visit.page.url)
    assert code is not None
    address = f"{visit.server}/?poll={code[1]}"

    # A connection that is lost in mid-answer loses and doubles nothing; it asks again by itself.
    other = telephone(browser)
    connection = Unreliable(other, b'"ask"', b'"answer"')
    other.goto(address)
    typed(other, "99")

    first = telephone(browser)
    wire = Wire(first)
    first.goto(address)
    typed(first, "seven")
    expect(first.get_by_text("Type a number")).to_be_visible()
    value = 3.1415926
    typed(first, str(value).replace(".", ","))
    expect(first.get_by_text("Received:")).to_be_visible()
    expect(first.get_by_text("It need not be true")).to_be_visible()
    word = first.locator(".said").inner_text()
    assert not wire.has(value)
    assert len(wire.sent) > 1
    # Opened again, and in a second tab, it is the same word.
    first.reload()
    expect(first.locator(".said")).to_have_text(word)
    second = first.context.new_page()
    second.goto(address)
    expect(second.locator(".said")).to_have_text(word)
    found = Axe().run(first)
    assert not [each["id"] for each in found.response["violations"] if each["impact"] != "minor"]

    expect(other.get_by_text("Received:")).to_be_visible()
    assert connection.has_broken
    shown = re.compile(r"Answered\s*2(?!\d| \()")
    expect(visit.page.locator(".poll-numbers")).to_contain_text(shown)
    visit.press("Close the poll")
    expect(visit.page.get_by_text("This poll is closed.")).to_be_visible()
    # One that has not answered is late.
    second.evaluate("localStorage.clear()")
    second.reload()
    expect(second.get_by_text("This poll is closed.")).to_be_visible()
    with visit.page.expect_download() as saved:
        visit.page.get_by_role("button", name="Save poll.toml").click()
    file = tmp_path / "poll.toml"
    saved.value.save_as(file)
    assert file.read_text().count("], [") == 1
    second.goto(f"{visit.server}/?poll=ZZZZZ")
    expect(second.get_by_text("its code is wrong")).to_be_visible()
    for page in (first, other):
        page.context.close()
