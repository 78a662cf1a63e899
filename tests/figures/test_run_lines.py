"""Builders that figures of several studies share."""

from __future__ import annotations

import pandas as pd

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
    assert set(line.marker.symbol) == {"circle"}


def test_marks_are_open_where_runs_accepted_nothing() -> None:
    *_, line = fig.run_line(statistics(empty_share=[0.0, 0.4]), "epsilon_total", fig.PRIVATE)
    assert list(line.marker.symbol) == ["circle-open", "circle"]
    assert "accepted nothing" in line.hovertemplate
    assert line.customdata[:, 2].tolist() == [40.0, 0.0]
