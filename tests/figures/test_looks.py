"""Looks are decided in one place: titles, margins, legends and letters of every medium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig

LONG = "A title with N = 5,000 and ε_abc = 0.1 that is longer than a figure is wide " * 2
MEDIA = pytest.mark.parametrize(
    "medium",
    [fig.SCREEN, *fig.SCREENS.values(), fig.PAPER, fig.PROJECTOR, *fig.PROJECTORS.values()],
)


def drawn(title: str, names: int = 1) -> go.Figure:
    chart = fig.panels(["left", "right"], title, "x", "y")
    one = np.ones(1)
    for number in range(names):
        style = fig.Style(f"a series with a long name, {number}", fig.BLUE)
        chart.add_trace(fig.points(one, one, style))
    return chart


@MEDIA
def test_a_title_stands_in_lines_that_fit_above_the_plot(medium: fig.Medium) -> None:
    layout = fig.dressed(drawn(LONG), medium).layout
    lines = layout.title.text.split("<br>")
    assert len(lines) > 1
    assert max(map(len, lines)) <= medium.title_width
    assert not any(line.startswith("=") or line.endswith("=") for line in lines)
    assert layout.margin.t > len(lines) * medium.title
    assert layout.title.font.size == medium.title


def plot_height(chart: go.Figure) -> float:
    return float(chart.layout.height - chart.layout.margin.t - chart.layout.margin.b)


def test_on_paper_title_and_legend_cost_the_plot_nothing_and_the_figure_itself_stays() -> None:
    usual = fig.dressed(drawn("Title"), fig.PAPER)
    for other in (drawn(LONG), drawn("Title", names=20)):
        plain = other.to_json()
        dressed = fig.dressed(other, fig.PAPER)
        assert plot_height(dressed) == pytest.approx(plot_height(usual))
        assert dressed.layout.height > usual.layout.height
        assert other.to_json() == plain


def test_on_a_dark_page_every_color_is_its_dark_one_wherever_it_appears() -> None:
    chart = drawn("Title")
    one = np.ones(1)
    chart.add_trace(fig.points(one, one, fig.PRIVATE).update(marker={"color": [fig.BLACK]}))
    chart.add_trace(fig.band(one, one, one, fig.NON_PRIVATE))
    chart.add_annotation(text=f'<span style="color:{fig.GREEN}">theory</span>')
    text = fig.dressed(chart, fig.SCREENS["dark"]).to_json()
    for light in (fig.BLUE, fig.BLACK, fig.GREEN, "rgba(0,114,178,"):
        assert light not in text
    for dark in (fig.ON_DARK[fig.BLACK], fig.ON_DARK[fig.GREEN], "rgba(86,180,233,0.18)"):
        assert dark in text


# ---------------------------------------------------------------------------------------- projector


def with_everything_small() -> go.Figure:
    """Draw all that a builder can write small or thin."""
    figure, one = drawn("Title", names=2), np.ones(1)
    figure.add_annotation(text='<span style="font-size:11px">small</span>', font={"size": 9})
    figure.add_shape(type="line", x0=0, x1=1, y0=0, y1=1, line={"width": 1})
    figure.add_trace(fig.points(one, one, fig.PRIVATE, one, one))
    figure.add_trace(fig.line(one, one, fig.THEORY))
    figure.add_trace(fig.points(one, one, fig.PRIVATE).update(marker={"size": np.array([5, 9])}))
    return figure


def sizes_of_letters(plain: Any) -> Iterator[float]:
    """Of every font, and of every text that brings its own."""
    for key, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if str(key).endswith("font"):
            yield value["size"]
        if isinstance(value, dict | list):
            yield from sizes_of_letters(value)
        elif isinstance(value, str):
            yield from map(float, re.findall(r"font-size: *([\d.]+)", value))


def layout_only(plain: dict[str, Any]) -> dict[str, Any]:
    """Without the template, which what is said in the layout goes before."""
    layout = {key: value for key, value in plain["layout"].items() if key != "template"}
    return {"data": plain["data"], "layout": layout}


@pytest.mark.parametrize("theme", [None, "light", "dark"])
def test_on_a_projector_no_letter_is_small_lines_are_thick_and_marks_large(
    theme: str | None,
) -> None:
    chart, usual = with_everything_small(), fig.screen(theme)
    projector = fig.screen(theme, projector=True)
    assert min(sizes_of_letters(layout_only(fig.as_seen(chart, usual)))) == 9
    plain = fig.as_seen(chart, projector)
    assert min(sizes_of_letters(layout_only(plain))) >= 20
    go.Figure(plain)

    def looks(chart: go.Figure) -> list[float]:
        points, line, _ = chart.data[-3:]
        shape = chart.layout.shapes[0]
        return [line.line.width, shape.line.width, points.error_y.thickness, points.marker.size]

    small, large = fig.dressed(chart, usual), fig.dressed(chart, projector)
    assert np.array(looks(large)) / looks(small) == pytest.approx([1.6, 1.6, 1.6, 1.3])
    assert large.data[-1].marker.size == pytest.approx(np.array([5, 9]) * 1.3)
    assert large.layout.height > small.layout.height
