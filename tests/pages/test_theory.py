"""What studies say of their theory can be drawn: no formula takes the text after it with it."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from abcdp_core import experiments
from ui.figures.blocks import with_formulas


def test_formulas_of_one_line_and_of_several_stand_between_lines_of_their_own() -> None:
    text = "As\n\n$$a = b,\n\\quad c$$\n\nwith $x$ and\n\n* \n  $$d$$\n"
    said = "As\n\n$$\na = b,\n\\quad c\n$$\n\nwith $x$ and\n\n* \n  $$\n  d\n  $$\n"
    assert with_formulas(text) == said


@pytest.mark.parametrize("name", experiments.names())
def test_no_formula_of_a_study_takes_the_text_after_it(name: str) -> None:
    """A line that begins with $$ and does not end so opens one that nothing closes."""
    module = sys.modules[experiments.load(name).Params.__module__]
    lines = with_formulas(inspect.getdoc(module) or "").split("\n")
    fences = [line.strip() for line in lines if re.match(r"\s*\$\$", line)]
    assert set(fences) <= {"$$"}
    assert len(fences) % 2 == 0
