"""Notes on pages that are made from what the core says of itself, and figures that are kept."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from abcdp_core import figures as fig
from abcdp_core import mechanisms, studies
from tests.pages.app import opened
from ui.figures import captions
from ui.figures.blocks import with_formulas


@pytest.mark.parametrize("name", mechanisms.names())
def test_every_mechanism_says_what_it_is(name: str) -> None:
    each, said = mechanisms.load(name), captions.mechanism(name)
    for part in (f"**{each.title}**", each.description, f"`{name}`", each.source):
        assert part in said
    assert ("pure differential privacy" in said) == (each.measure == "pure")
    # One is shown alone, beside the chooser, and no order is promised in the list.
    assert each.description.endswith(".")
    assert "The same" not in each.description


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
