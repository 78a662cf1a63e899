"""Formulas end where they should, and figures are drawn once."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from abcdp_core import figures as fig
from abcdp_core import studies
from tests.pages.app import opened
from ui.figures.blocks import with_formulas


def test_no_formula_of_a_study_takes_the_text_after_it() -> None:
    """A line that begins with $$ and does not end so opens one that nothing closes."""
    text = "As\n\n$$a = b,\n\\quad c$$\n\nwith $x$ and\n\n* \n  $$d$$\n"
    said = "As\n\n$$\na = b,\n\\quad c\n$$\n\nwith $x$ and\n\n* \n  $$\n  d\n  $$\n"
    assert with_formulas(text) == said
    for name in studies.names():
        module = sys.modules[studies.load(name).Params.__module__]
        lines = with_formulas(inspect.getdoc(module) or "").split("\n")
        fences = [line.strip() for line in lines if re.match(r"\s*\$\$", line)]
        assert {*fences} <= {"$$"}, name
        assert len(fences) % 2 == 0, name


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
