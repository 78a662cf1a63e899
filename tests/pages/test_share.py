"""Share: the link that others can open, its QR code, and the wall of a lecture hall."""

from __future__ import annotations

import json
import re

import pytest
import segno

from tests.pages.app import opened, settled, shared
from ui.server.settings import ServerSettings
from ui.view import controls_spec, page_table
from ui.widgets import share


def test_the_code_is_that_of_the_address_dark_on_white_with_room_around_it() -> None:
    address = "http://192.168.1.5:8501/posterior?epsilon_total=0.2&k=" + "x" * 1500
    made, drawing = segno.make_qr(address, mask=0), share.code(address)
    side = len(made.matrix) + 2 * share.QUIET
    assert f'viewBox="0 0 {side} {side}"' in drawing
    assert f'fill="#fff" d="M0 0h{side}v{side}h-{side}z"' in drawing
    dark = re.findall(r'stroke="#000" d="([^"]*)"', drawing)[0]
    lengths = sum(int(length) for length in re.findall(r"h(\d+)", dark))
    assert lengths == sum(cell & 1 for row in made.matrix for cell in row)
    assert share.code(address + "x" * 4000) == "", "no code can hold it"


@pytest.mark.parametrize(
    ("url", "hosts", "others_have"),
    [
        ("http://localhost:8501/posterior", ("abc.org",), "http://abc.org:8501/posterior"),
        ("https://[::1]/x/overview", ("[2001:db8::1]", "b.org"), "https://[2001:db8::1]/x/overview"),
        ("http://192.168.1.5:8501/", ("abc.org",), "http://192.168.1.5:8501/"),
        ("http://localhost:8501/", (), "http://localhost:8501/"),
    ],
)  # fmt: skip
def test_the_link_has_the_name_that_others_know(
    url: str, hosts: tuple[str, ...], others_have: str
) -> None:
    how = ServerSettings(hosts=hosts, to_others=bool(hosts))
    assert share.for_visitors(url, how) == others_have


@pytest.mark.parametrize("base", ["http://abc.org:8501", "https://abc.org/some/where"])
def test_the_address_of_another_page_is_on_the_same_server(base: str) -> None:
    first, other, third = map(page_table.by_file, ("overview", "posterior", "distances"))
    assert share.elsewhere(f"{base}/posterior", other, third) == f"{base}/distances"
    assert share.elsewhere(f"{base}/posterior", other, first) == f"{base}/"
    assert share.elsewhere(f"{base}/", first, other) == f"{base}/posterior"


def test_a_projector_changes_figures_stays_on_and_is_in_no_link_that_holds_every_value() -> None:
    usual, large = opened("posterior"), opened("posterior", c="37", projector="true")
    assert not large.warning
    sent = shared(large)
    assert sent.keys() >= {*controls_spec.SHARED, "posterior.view", "figures.format", "version"}
    assert sent["c"] == "37"
    assert "projector" not in sent, "who scans the code from a wall has another screen"
    sizes = [any("20px" in str(each.proto) for each in app.get("html")) for app in (usual, large)]
    assert sizes == [False, True]
    charts = [app.get("plotly_chart")[0].proto.spec for app in (usual, large)]
    heights = [json.loads(spec)["layout"]["height"] for spec in charts]
    assert 1.2 * heights[0] < heights[1] < 1.6 * heights[0]
    large = settled(large.switch_page("pages/flip_probability.py").run())
    assert large.sidebar.toggle(key="projector").value
