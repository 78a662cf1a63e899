"""Builders that figures of several studies share."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from abcdp_core import figures as fig


def statistics(**changes: list[float]) -> pd.DataFrame:
    columns = {
        "epsilon_total": [2.0, 1.0], "mean": [0.2, 0.3], "low": [0.1, 0.25], "high": [0.3, 0.35],
        "empty_share": [0.0, 0.0],
    }  # fmt: skip
    return pd.DataFrame(columns | changes)


def test_a_line_over_runs_is_sorted_and_has_its_band() -> None:
    band, line = fig.run_line(statistics(), "epsilon_total", fig.PRIVATE, 1)
    assert line.x.tolist() == [1.0, 2.0]
    assert line.y.tolist() == [0.3, 0.2]
    assert band.y.tolist() == [0.35, 0.3, 0.1, 0.25]
    assert (line.xaxis, band.xaxis, line.showlegend) == ("x2", "x2", False)
    assert "95 % interval" in line.hovertemplate
    assert line.hovertemplate.startswith("ε_total = ")
    assert "accepted nothing" not in line.hovertemplate
    assert set(line.marker.symbol) == {"circle"}


def test_a_single_run_has_no_interval_to_speak_of() -> None:
    single = statistics(low=[math.nan] * 2, high=[math.nan] * 2)
    (line,) = fig.run_line(single, "epsilon_total", fig.PRIVATE)
    assert "interval" not in line.hovertemplate


def test_marks_are_open_where_runs_accepted_nothing() -> None:
    *_, line = fig.run_line(statistics(empty_share=[0.0, 0.4]), "epsilon_total", fig.PRIVATE)
    assert list(line.marker.symbol) == ["circle-open", "circle"]
    assert "accepted nothing" in line.hovertemplate
    assert line.customdata[:, 2].tolist() == [40.0, 0.0]


def test_lines_are_told_apart_and_named() -> None:
    table = pd.concat([statistics().assign(c=each) for each in (100.0, 10.0)])
    traces = fig.run_lines(table, "c", "epsilon_total", "c = {:g}".format)
    lines = [trace for trace in traces if trace.fill is None]
    assert [line.name for line in lines] == ["c = 10", "c = 100"]
    assert len({(line.line.color, line.line.dash) for line in lines}) == 2


@pytest.mark.parametrize("panels", [1, 3])
def test_the_prior_is_in_every_panel_and_once_in_the_legend(panels: int) -> None:
    figure = fig.panels(["one"] * panels, "errors", "x", "y")
    fig.error_axes(figure, "mse", 0.01, (0.1, 10.0), panels)
    assert [trace.showlegend for trace in figure.data] == [True] + [False] * (panels - 1)
    assert all((trace.y == 0.01).all() for trace in figure.data)
    low, high = figure.layout.yaxis.range
    assert low < math.log10(0.01) < high
