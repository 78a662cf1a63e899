"""Figures are drawn once, and once dressed for a theme: running a page again draws nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
import pytest

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from tests.pages.app import opened
from ui import drawings, memory


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


def test_each_theme_has_a_figure_of_its_own() -> None:
    chart = fig.figure("Title", "x", "y")
    light, dark = (drawings.dressed(chart, fig.SCREENS[theme]) for theme in ("light", "dark"))
    assert drawings.dressed(chart, fig.SCREENS["light"]) is light
    inks = [each.to_dict()["layout"]["font"]["color"] for each in (light, dark)]
    assert inks == [fig.SCREENS["light"].ink, fig.SCREENS["dark"].ink]


def test_what_is_sent_is_the_figure() -> None:
    chart = fig.figure("Title", "x", "y")
    sent = json.loads(
        plotly.io.to_json(drawings.dressed(chart, fig.SCREENS["dark"]).to_dict(), validate=False)
    )
    below = go.Figure(fig.below_title(chart, fig.SCREENS["dark"]))
    assert sent == json.loads(below.to_json())


def test_what_is_kept_is_bounded_and_belongs_to_its_owner() -> None:
    kept = drawings.Kept[int](3)
    made = []

    def make() -> int:
        made.append(1)
        return len(made)

    owners = [object() for _ in range(5)]
    assert [kept.of(owner, "name", make) for owner in owners] == [1, 2, 3, 4, 5]
    assert len(kept) == 3
    assert kept.of(owners[4], "name", make) == 5
    assert kept.of(owners[4], "other name", make) == 6
    assert kept.of(owners[0], "name", make) == 7, "the one not used for longest was let go"


def test_what_is_kept_is_bounded_in_bytes_too_but_for_the_last() -> None:
    kept = drawings.Kept[np.ndarray](100, most_bytes=10_000)
    owners = [object() for _ in range(20)]
    for owner in owners:
        kept.of(owner, "", lambda: np.zeros(500))
    assert len(kept) == 2
    assert kept.of(owners[-1], "", lambda: np.ones(1)).size == 500
    for _ in range(2):
        assert kept.of(owners[0], "", lambda: np.zeros(50_000)).size == 50_000
        assert len(kept) == 1
    small = [object() for _ in range(90)]
    assert [kept.of(owner, "", lambda: np.zeros(1)).size for owner in small] == [1] * 90
    assert len(kept) > 60


@pytest.mark.parametrize("rows", [0, 10, 10_000])
def test_memory_of_results_and_figures_is_told_to_a_small_factor(rows: int) -> None:
    table = pd.DataFrame({"x": np.arange(rows, dtype=float), "name": ["word"] * rows})
    found = Result("toy", Params(), {"main": table, "other": table}, "", "")
    assert 2 * 8 * rows <= memory.of(found) <= 2 * 200 * rows + 1000
    chart = fig.figure("Title", "x", "y").add_scatter(x=table.x, y=table.x, text=["word"] * rows)
    least = 16 * rows
    for thing in (chart, Drawn(chart, ""), {"a": chart}, drawings.dress(chart, fig.SCREEN)):
        assert least <= memory.of(thing) <= 20 * least + 100_000
