from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from abcdp_core import fingerprint, registry, store, studies

CURVES = "abcdp_core.studies.mse_curves"
THEORY = "abcdp_core.claims.truncation_theory"
MIXTURE = "abcdp_core.simulators.uniform_mixture"


def of_pool(scenario: str = MIXTURE) -> str:
    return fingerprint.of("abcdp_core.pool", scenario)


def of_study(study: str = CURVES) -> str:
    return fingerprint.of("abcdp_core.store", study, folders=store.LOOKED_UP)


def of_theory() -> str:
    return of_study(THEORY)


def change(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """As if somebody had edited a module."""
    monkeypatch.setitem(fingerprint._TEXTS, module, fingerprint._TEXTS[module] + b"\n# Changed.\n")


FOLLOWS = {
    of_pool: [
        *("abcdp_core.pool", MIXTURE, "abcdp_core.distances.fourier", "abcdp_core.streams"),
        *("abcdp_core.cache", "abcdp_core.simulators", "abcdp_core"),
    ],
    of_study: [
        *(CURVES, "abcdp_core.studies", "abcdp_core.pool", "abcdp_core.privacy.composition"),
        *("abcdp_core.store", "abcdp_core.cache", "abcdp_core.summaries"),
        # Found by their names, not imported.
        *("abcdp_core.simulators.tuberculosis", "abcdp_core.mechanisms.linear_maps"),
    ],
}
"""What is kept -> modules that it is made by."""

DOES_NOT_FOLLOW = {
    of_pool: [
        *("abcdp_core.simulators.covid", "abcdp_core.mechanisms.sparse_vector", CURVES),
        *("abcdp_core.runner", "abcdp_core.figures", "abcdp_core.__main__"),
    ],
    of_study: [
        *("abcdp_core.studies.soft_abc", THEORY, "abcdp_core.claims", "abcdp_core.__main__"),
        *("abcdp_core.cli.reproduce", "abcdp_core.output.files", "abcdp_core.workers"),
    ],
    of_theory: [MIXTURE],
}


@pytest.mark.parametrize("of", FOLLOWS)
def test_what_is_kept_follows_all_that_it_is_made_by(
    of: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in FOLLOWS[of]:
        before = of()
        change(monkeypatch, module)
        assert of() != before, module


@pytest.mark.parametrize("of", DOES_NOT_FOLLOW)
def test_what_is_kept_does_not_follow_what_it_is_not_made_by(
    of: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = of()
    for module in DOES_NOT_FOLLOW[of]:
        change(monkeypatch, module)
        assert of() == before, module


def test_other_random_streams_are_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_pool()
    monkeypatch.setattr(fingerprint, "_streams", lambda: "others")
    assert of_pool() != before


def core_modules_in(module: ModuleType) -> set[str]:
    """Where the things come from that a module has taken in from the core."""
    owners = set()
    for value in vars(module).values():
        if not isinstance(value, ModuleType):
            owners.add(str(getattr(value, "__module__", None)))
        # A package holds the modules in it that anybody has imported.
        elif value.__name__.rpartition(".")[0] != module.__name__:
            owners.add(value.__name__)
    return {owner for owner in owners if owner.split(".")[0] == "abcdp_core"}


def test_whatever_is_at_hand_while_a_study_runs_is_covered() -> None:
    # What the loaded modules hold, against what parsing their text has found.
    for name in studies.names():
        study = studies.load(name).__name__
        reached = fingerprint._reached(["abcdp_core.store", study], store.LOOKED_UP)
        for each in reached.keys() & sys.modules.keys():
            assert core_modules_in(sys.modules[each]) <= reached.keys(), each


def test_every_folder_that_is_scanned_is_known() -> None:
    # An experiment is asked for by name too, but by those who run it, never by another one.
    # Nothing that follows from a model of a published query is kept in a store.
    scanned = {
        name
        for name, text in fingerprint._TEXTS.items()
        if b"registry." in text and (fingerprint.ROOT.parent / name.replace(".", "/")).is_dir()
    }
    others = {"abcdp_core.studies", "abcdp_core.published.models"}
    assert scanned == {*store.LOOKED_UP, *others}


TEXT = b"""
'''Not an import: from abcdp_core import ledger'''
import numpy, abcdp_core.cache as kept
from abcdp_core.distances.kernel import (
    median_bandwidth,
)
def late():
    from abcdp_core import __version__, streams
# import abcdp_core.theory
"""


def test_imports_are_found_wherever_and_however_they_are_written() -> None:
    assert fingerprint._imported(TEXT) & fingerprint._TEXTS.keys() == {
        *("abcdp_core", "abcdp_core.cache", "abcdp_core.distances", "abcdp_core.distances.kernel"),
        "abcdp_core.streams",
    }


# ------------------------------------------------------------------ code from elsewhere


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a scenario, not yet added."""
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "texts", {})
    file = tmp_path / "mine.py"
    file.write_text("from abcdp_core import transforms\nSCENARIO = 'mine'\n", encoding="utf-8")
    return file


def test_a_plug_in_counts_as_it_was_when_it_was_added(
    plug_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = registry.add_file(plug_in).__name__
    first = of_pool(name)
    assert first != of_pool()
    later = plug_in.read_text(encoding="utf-8") + "TITLE = 'changed'\n"
    plug_in.write_text(later, encoding="utf-8")
    assert of_pool(name) == first
    plug_in.unlink()
    assert of_pool(name) == first
    plug_in.write_text(later, encoding="utf-8")
    registry.add_file(plug_in)
    second = of_pool(name)
    assert second != first
    change(monkeypatch, "abcdp_core.transforms")
    assert of_pool(name) != second


def test_a_study_that_may_find_a_plug_in_follows_it(plug_in: Path) -> None:
    curves, theory = of_study(), of_study(THEORY)
    registry.add_file(plug_in)
    assert of_study() != curves
    assert of_study(THEORY) == theory


def test_code_that_cannot_be_read_is_like_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    here = of_study("no.such.module")
    assert of_study("no.such.module") == here
    # Another process has other bytes.
    monkeypatch.setattr(fingerprint, "_LIKE_NO_OTHER", b"another process")
    assert of_study("no.such.module") != here
