"""Share: the link that others can open, and its QR code."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import segno

from tests.pages.app import opened, settled
from ui.server.settings import ServerSettings
from ui.view import knobs, page_table
from ui.widgets import share

ADDRESS = "http://192.168.1.5:8501/posterior?epsilon_total=0.2&c=10&version=0.1.0"


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS + "&k=" + "x" * 1500])
def test_the_code_is_that_of_the_address_dark_on_white(address: str) -> None:
    drawing = share.code(address)
    matrix = np.array([list(row) for row in segno.make_qr(address, mask=0).matrix])
    side = len(matrix) + 2 * share.QUIET
    assert f'viewBox="0 0 {side} {side}"' in drawing
    assert f'fill="#fff" d="M0 0h{side}v{side}h-{side}z"' in drawing
    assert np.array_equal(pixels(drawing, side), np.pad(matrix, share.QUIET))


def pixels(drawing: str, side: int) -> np.ndarray:
    """What the strokes of a drawing cover."""
    (strokes,) = re.findall(r'stroke="#000" d="([^"]*)"', drawing)
    covered, x, y = np.zeros((side, side), int), 0, 0.5
    for kind, numbers in re.findall(r"([Mmh])([-\d. ]*)", strokes):
        first, *second = (float(number) for number in re.findall(r"-?[\d.]+", numbers))
        if kind == "h":
            covered[int(y), x : x + int(first)] = 1
        x = int(first) if kind == "M" else x + int(first)
        y = second[0] if kind == "M" else y + (second[0] if kind == "m" else 0)
    return covered


def test_an_address_that_no_code_can_hold_has_none() -> None:
    assert share.code(ADDRESS + "x" * 4000) == ""


@pytest.mark.parametrize(
    ("url", "hosts", "others_have"),
    [
        ("http://localhost:8501/posterior", ("abc.example.org",), "http://abc.example.org:8501/posterior"),
        ("https://[::1]/x/overview", ("[2001:db8::1]", "b.org"), "https://[2001:db8::1]/x/overview"),
        ("http://192.168.1.5:8501/", ("abc.example.org",), "http://192.168.1.5:8501/"),
        ("http://localhost:8501/", (), "http://localhost:8501/"),
    ],
)  # fmt: skip
def test_the_link_has_the_name_that_others_know(
    url: str, hosts: tuple[str, ...], others_have: str
) -> None:
    assert (
        share.for_visitors(url, ServerSettings(hosts=hosts, to_others=bool(hosts))) == others_have
    )


@pytest.mark.parametrize("base", ["http://abc.org:8501", "https://abc.org/some/where"])
def test_the_address_of_another_page_is_on_the_same_server(base: str) -> None:
    first, other, third = map(page_table.by_file, ("overview", "posterior", "distances"))
    assert share.elsewhere(f"{base}/posterior", other, third) == f"{base}/distances"
    assert share.elsewhere(f"{base}/posterior", other, first) == f"{base}/"
    assert share.elsewhere(f"{base}/", first, other) == f"{base}/posterior"


def test_the_link_of_a_page_holds_every_value() -> None:
    (button,) = [
        each
        for each in opened("posterior", c="37", projector="true").get("bidi_component")
        if "share" in str(each)
    ]
    sent = str(button.proto)
    for name in (*knobs.SHARED, "posterior.view", "figures.format", "version"):
        assert f"{name}=" in sent
    assert "c=37&" in sent
    assert "projector=" not in sent, "who scans the code from a wall has another screen"
    assert "stroke" in sent


def test_a_projector_changes_figures_and_stays_on_from_page_to_page() -> None:
    usual, large = opened("posterior"), opened("posterior", projector="true")
    assert not large.warning
    styles = [str(each.proto) for each in large.get("html")]
    assert any("20px" in style for style in styles)
    assert not any("20px" in str(each.proto) for each in usual.get("html"))
    heights = [json.loads(chart.proto.spec)["layout"]["height"]
               for app in (usual, large) for chart in app.get("plotly_chart")[:1]]  # fmt: skip
    assert 1.2 * heights[0] < heights[1] < 1.6 * heights[0]
    large = settled(large.switch_page("pages/flip_probability.py").run())
    assert large.sidebar.toggle(key="projector").value
