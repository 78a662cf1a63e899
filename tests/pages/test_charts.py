"""Figures are drawn once, and once dressed for a theme: running a page again draws nothing."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import plotly.io
import pytest

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from tests.pages.app import opened
from ui.figures import charts


def test_a_page_that_runs_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("posterior", noise_draw="3")
    before = [chart.proto.spec for chart in app.get("plotly_chart")]

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(experiments.load("posterior"), "figures", fail)
    monkeypatch.setattr(fig, "below_title", fail)
    app.run()
    assert not app.exception
    assert [chart.proto.spec for chart in app.get("plotly_chart")] == before
    app.button(key="new-noise").click().run()
    assert app.exception, "another result has other figures"


def test_what_is_kept_belongs_to_its_owner_and_the_oldest_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "KEPT", 3)
    owners, made = [object() for _ in range(4)], iter(range(1, 9))

    def kept(owner: int, name: str = "figures") -> int:
        return charts.kept(owners[owner], name, lambda: next(made))

    assert [kept(0), kept(1), kept(2), kept(0)] == [1, 2, 3, 1]
    assert kept(0, "other") == 4
    # The one that was not used for longest is gone.
    assert [kept(2), kept(0), kept(1)] == [3, 1, 5]


def test_what_is_sent_is_the_figure() -> None:
    below = fig.below_title(fig.figure("Title", "x", "y"), fig.SCREENS["dark"])
    sent = plotly.io.to_json(charts.Dressed(below).to_dict(), validate=False)
    assert json.loads(sent) == json.loads(go.Figure(below).to_json())


def test_two_figures_side_by_side_have_the_same_axes_and_no_titles() -> None:
    first, second, other = (
        Drawn(fig.figure("Title", "x", "y").add_scatter(x=[0, 1], y=[0, high]), f"Up to {high}.")
        for high in (1, 50, 99)
    )
    left, right = charts.beside(first, second)
    assert [left.sentence, right.sentence] == ["Up to 1.", "Up to 50."]
    ranges = [each.figure.layout.yaxis.range for each in (left, right)]
    assert ranges[0] == ranges[1]
    assert max(ranges[0]) >= 50
    assert not any(each.figure.layout.title.text for each in (left, right))
    assert charts.beside(first, second)[1] is right
    assert charts.beside(other, second)[1] is not right
    assert first.figure.layout.title.text
