"""Figures are drawn once, and once dressed for a theme: running a page again draws nothing."""

from __future__ import annotations

import pytest

from abcdp_core import figures as fig
from abcdp_core import studies
from abcdp_core.figures import CaptionedFigure
from tests.pages.app import opened
from ui.figures import charts


def test_a_page_that_runs_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("posterior", noise_draw="3")
    before = [chart.proto.spec for chart in app.get("plotly_chart")]

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(studies.load("posterior"), "figures", fail)
    monkeypatch.setattr(fig, "below_title", fail)
    app.run()
    assert not app.exception
    assert [chart.proto.spec for chart in app.get("plotly_chart")] == before
    app.button(key="new-noise").click().run()
    assert app.exception, "another result has other figures"


def test_two_figures_side_by_side_have_the_same_axes_and_no_titles() -> None:
    first, second = (
        CaptionedFigure(
            fig.figure("Title", "x", "y").add_scatter(x=[0, 1], y=[0, high]), f"Up to {high}."
        )
        for high in (1, 50)
    )
    left, right = charts.beside(first, second)
    assert [left.sentence, right.sentence] == ["Up to 1.", "Up to 50."]
    ranges = [each.figure.layout.yaxis.range for each in (left, right)]
    assert ranges[0] == ranges[1]
    assert max(ranges[0]) >= 50
    assert not any(each.figure.layout.title.text for each in (left, right))
    assert charts.beside(first, second)[1] is right
    assert first.figure.layout.title.text
