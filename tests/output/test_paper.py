from __future__ import annotations

import plotly.graph_objects as go
import pytest

from abcdp_core.output.paper import INK, TITLE_CHARACTERS, on_paper
from abcdp_core.results import Result
from tests.toy_experiment import figures

LONG = "A title with N = 5,000 and ε_abc = 0.1 that goes on for much longer than a figure is wide "


def test_the_figure_that_is_exported_is_left_as_it_is(result: Result) -> None:
    figure = figures(result)["squares"]
    before = figure.to_json()
    on_paper(figure, "Another title")
    assert figure.to_json() == before


def test_paper_is_white_with_dark_text_and_takes_colours_of_no_theme(result: Result) -> None:
    layout = on_paper(figures(result)["squares"], "Title").layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "#FFFFFF"
    assert layout.font.color == INK


def test_a_long_title_gets_more_lines_and_the_plot_keeps_its_height(result: Result) -> None:
    def plot(figure: go.Figure) -> float:
        return float(figure.layout.height - figure.layout.margin.t - figure.layout.margin.b)

    figure = figures(result)["squares"]
    short, long = on_paper(figure, "Title"), on_paper(figure, LONG * 3)
    lines = long.layout.title.text.split("<br>")
    assert len(lines) > 2
    assert max(map(len, lines)) <= TITLE_CHARACTERS
    assert " ".join(lines).replace("\u00a0", " ") == (LONG * 3).strip()
    assert not any(line.startswith("=") or line.endswith("=") for line in lines)
    assert plot(long) == pytest.approx(plot(short))
    assert long.layout.margin.t > short.layout.margin.t
