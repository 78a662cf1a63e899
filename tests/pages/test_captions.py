"""Notes on pages that are made from what the core says of itself."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

from abcdp_core import mechanisms, registry, studies
from ui.figures import captions
from ui.figures.blocks import with_formulas
from ui.parts import overview
from ui.parts.overview import Run

PLUGIN = Path(__file__).parents[1] / "plugins" / "report_noisy_max.py"


def test_every_mechanism_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_added", [])
    registry.add_file(PLUGIN)
    for name in {"report-noisy-max", *mechanisms.names()}:
        each, said = mechanisms.load(name), captions.mechanism(name)
        for part in (f"**{each.title}**", each.description, f"`{name}`", each.source):
            assert part in said
        assert ("pure differential privacy" in said) == (each.measure == "pure")
        # One is shown alone, beside the chooser, and no order is promised in the list.
        assert each.description.endswith(".")
        assert "The same" not in each.description
    monkeypatch.undo()
    registry.forget()
    said = captions.papers_of(["sparse-vector", "noisy-counts"])
    assert said.startswith("[P21] Park, Vinaroz and Jitkrittum")
    assert "[P22]" not in said


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


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([(5, 10)], ""),
        ([(5, 10), (6, 10), (4, 10), (7, 10)], "4 draws of noise, {}: 5, 6, 4, 7 of 10; mean 5.5."),
        (
            [(5, 10), (3, 7), (0, 0)],
            "3 draws of noise, {}: 5 of 10, 3 of 7, none; in all 8 of 17.",
        ),
        ([(0, 0), (0, 0)], "2 draws of noise nothing was kept."),
        (
            [(2, 10)] * 9,
            "9 draws of noise, {}: the last 8: 2, 2, 2, 2, 2, 2, 2, 2 of 10; mean of all 2.0.",
        ),
    ],
)
def test_every_noise_that_was_seen_is_counted(seen: list[tuple[int, int]], said: str) -> None:
    found = overview.in_words([Run(kept, false, 0.1) for false, kept in seen])
    assert found == (f"Over {said}" if said else "").format("kept only because of noise")
