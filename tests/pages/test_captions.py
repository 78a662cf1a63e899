"""Notes on pages that are made from what the core says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abcdp_core import mechanisms, registry
from ui.figures import captions

PLUGIN = Path(__file__).parents[1] / "plugins" / "report_noisy_max.py"


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a mechanism in a file, until the test ends."""
    monkeypatch.setattr(registry, "_added", [])
    registry.add_file(PLUGIN)
    yield "report-noisy-max"
    monkeypatch.undo()
    registry.forget()


def test_every_mechanism_says_what_it_is(plugged_in: str) -> None:
    for name in {plugged_in, *mechanisms.names()}:
        each, said = mechanisms.load(name), captions.mechanism(name)
        for part in (f"**{each.title}**", each.description, f"`{name}`", each.source):
            assert part in said
        assert ("pure differential privacy" in said) == (each.measure == "pure")
        assert ("(ε, δ)-differential privacy" in said) == (each.measure == "approximate")


def test_each_description_stands_by_itself() -> None:
    # One is shown alone, beside the chooser, and no order is promised in the list.
    for each in mechanisms.every().values():
        assert each.description.endswith(".")
        assert "The same" not in each.description
        assert "as for" not in each.description


def test_papers_are_named_where_they_are_the_source() -> None:
    said = captions.papers_of(["sparse-vector", "noisy-counts"])
    assert said.startswith("[P21] Park, Vinaroz and Jitkrittum")
    assert "[P22]" not in said
    assert captions.papers_of(["noisy-counts"]) == ""
