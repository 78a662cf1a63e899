"""A browser window on the app: what it asks for, and the one way to know that it is at rest."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response, ViewportSize, expect

from abcdp_core import __version__

SIZE: ViewportSize = {"width": 1400, "height": 900}

WAIT_BEFORE_PROGRESS, PATIENCE = 60_000, 240_000
"""Milliseconds until a missing thing is a failure, and until missing work is: machines that run
tests can be busy, and worker processes give way to all other tests."""

SMALL = {"pool_size": "500", "n": "1000"}
"""Settings whose pool is made in a moment."""

START = "[class*=st-key-start-] button"
"""What a page asks with whether to go on with what takes long on a busy machine."""

ASKS = ":is([class*=st-key-start-], [class*=st-key-continue-])"

BUSY = ", ".join(
    (
        # Of another run, of a script that is being loaded, of a picture that is being drawn.
        "[data-stale=true]",
        "[data-testid=stSkeleton]",
        "[data-testid=stPlotlyChart]:not(:has(.main-svg))",
        # A study that waits for a person shows how far it is, and will not go on by itself.
        f"[data-testid=stProgress]:not([class*=st-key-status-]:has({ASKS}) *)",
    )
)
"""What is only there while something goes on."""

WAIT = """async ([busy, start, looks, between, patience]) => {
    const end = performance.now() + patience;
    let before = null, same = 0;
    while (same < looks) {
        const app = document.querySelector("[data-testid=stApp]")?.dataset ?? {};
        const goes = [
            app.testConnectionState !== "CONNECTED" && "no connection",
            app.testScriptState !== "notRunning" && "its script",
            !document.querySelector(start) && document.querySelector(busy)?.outerHTML,
            document.getAnimations().find((each) => each.playState === "running"),
        ].find(Boolean);
        if (performance.now() > end) return `${goes || "It moves."}`;
        const all = document.querySelectorAll("h1, canvas, input, .main-svg, .finding");
        const places = [...all].map((each) => Object.values(each.getBoundingClientRect().toJSON()));
        const seen = JSON.stringify([location.href, places]);
        // The server has read what was sent before this, once it answers.
        const answers = await fetch("/_stcore/health").then((answer) => answer.ok, () => false);
        same = !goes && answers && seen === before ? same + 1 : 0;
        before = seen;
        await new Promise((done) => setTimeout(done, between));
    }
    return "";
}"""

LOOKS, BETWEEN = 3, 75
"""Looks in a row that find what the one before found, and milliseconds after each: a knob sends its
value 0.2 s after it was moved."""


def rest(page: Page) -> None:
    """Wait until a page is at rest: nothing goes on, nothing moves, and all that was done is known.

    What the page asks about, because the machine is busy, is finished.
    """
    while True:
        going = page.evaluate(WAIT, [BUSY, START, LOOKS, BETWEEN, PATIENCE])
        assert not going, going
        if not page.locator(START).count():
            return
        page.locator(START).first.click()


def without_violations(page: Page, *excluded: str) -> None:
    """Assert that axe finds nothing, in the light and in the dark."""
    # What the pointer is over may show its help, outside of all landmarks.
    page.mouse.move(SIZE["width"] - 2, 2)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        rest(page)
        found = Axe().run(page, context={"exclude": [[each] for each in excluded]})
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    page.emulate_media(color_scheme="light")


def asks(page: Page) -> bool:
    """Whether the browser would ask its user, were the page loaded again now."""
    leaves = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    return not page.evaluate(leaves)


PROBED = re.compile(r"/[a-z_]+/_stcore/(health|host-config)")
"""What Streamlit's page asks for first when it is opened at a deep link: it finds out whether the
app is served below that path by whether there is an answer. The two refusals, which browsers note
in their console, are what keeps it from taking a page's name for such a path."""


@dataclass
class Visit:
    """A browser window on the server, and the name of the page that it was opened for."""

    page: Page
    server: str
    name: str = ""
    requests: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def open(self, path: str, **query: str) -> None:
        """Open a page by its address."""
        asked = urlencode(SMALL | {"version": __version__} | query)
        self.page.goto(f"{self.server}/{path}?{asked}")
        self.rest()

    def rest(self) -> None:
        """Wait until the page is at rest."""
        rest(self.page)

    def press(self, name: str) -> None:
        """Press a button, and wait until all is done that it did."""
        self.page.get_by_role("button", name=name, exact=True).click()
        self.rest()

    def choose(self, name: str) -> None:
        """Choose one of several that are side by side, and wait until it is shown."""
        self.page.get_by_role("radio", name=name, exact=True).click()
        self.rest()

    def go_to(self, name: str) -> None:
        """Go to another page by its link, and wait until it is shown."""
        self.page.get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        self.rest()

    def move(self, key: str, arrow: str) -> None:
        """Move a knob by a key, and wait until what it does is shown."""
        self.page.locator(f".st-key-{key} input").focus()
        self.page.keyboard.press(arrow)
        self.rest()

    def give(self, file: Path) -> None:
        """Type the bounds of the values of a file of one's own with 300 of them, and give it."""
        self.page.get_by_label("Lowest possible value").fill("0")
        self.page.get_by_label("Highest possible value").fill("100")
        self.page.keyboard.press("Enter")
        # The uploader is drawn anew when the bounds are known; a file given before that is lost.
        expect(self.page.get_by_text("What you will learn")).to_be_visible()
        self.rest()
        self.upload(file)

    def upload(self, file: Path) -> None:
        """Give a file of 300 values for a release."""
        self.page.locator("input[type=file]").set_input_files(file)
        expect(self.page.get_by_text("series of 300 values")).to_be_visible()
        self.rest()

    @property
    def title(self) -> str:
        """Title of the first figure, in one line."""
        words = self.page.locator(".finding").first.text_content() or ""
        return words.replace("\u00a0", " ")

    def note(self, request: Request) -> None:
        """Remember a request."""
        self.requests.append(request.url)

    def note_answer(self, response: Response) -> None:
        """Remember what was refused, but for what has to be."""
        if response.status >= 400 and not PROBED.fullmatch(urlsplit(response.url).path):
            self.refused.append(f"{response.status} {response.url}")

    def foreign(self) -> list[str]:
        """Requests that left this machine."""
        hosts = {url: urlsplit(url).hostname for url in self.requests}
        return [url for url, host in hosts.items() if host not in ("localhost", None, "")]


@contextlib.contextmanager
def watched(visit: Visit) -> Iterator[Visit]:
    """All that it asks for must stay on this machine."""
    visit.page.on("request", visit.note)
    visit.page.on("response", visit.note_answer)
    yield visit
    visit.page.remove_listener("request", visit.note)
    visit.page.remove_listener("response", visit.note_answer)
    assert visit.requests
    assert not visit.refused
    assert not visit.foreign()
