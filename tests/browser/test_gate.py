"""What an attacker tries from outside: hostile links, foreign web sites, unknown names."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

IMAGE = "![](http://192.0.2.1/seen.png)"
"""An address that is nobody's (RFC 5737)."""


def test_text_of_a_link_is_text(visit: Visit) -> None:
    visit.open("posterior", c=IMAGE, version=IMAGE, **{IMAGE: ":material/face: $x^2$ :red[y]"})
    notice = visit.page.get_by_role("alert").filter(has_text="Not everything in the link")
    for text in (f"c = {IMAGE}", f"version = {IMAGE}", f"{IMAGE} = "):
        expect(notice.locator("code").filter(has_text=text)).to_have_count(1)
    expect(notice).to_contain_text("$x^2$ :red[y]")
    for markup in ("img", "a", ".katex", "[data-testid=stIconMaterial]"):
        expect(notice.get_by_test_id("stMarkdownContainer").locator(markup)).to_have_count(0)
    assert not visit.foreign()
