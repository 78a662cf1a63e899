"""Fingerprints of code: what is kept follows the code that made it, and no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from abcdp_core import studies
from abcdp_core.base import fingerprint, registry
from abcdp_core.run import store

CURVES = "abcdp_core.studies.mse_curves"
THEORY = "abcdp_core.publish.claims.truncation_theory"
MIXTURE = "abcdp_core.models.simulators.uniform_mixture"


def of_pool(scenario: str = MIXTURE) -> str:
    return fingerprint.of("abcdp_core.models.pool", scenario)


def of_study(study: str = CURVES) -> str:
    return fingerprint.of("abcdp_core.run.store", study, folders=store.LOOKED_UP)


def of_theory() -> str:
    return of_study(THEORY)


def change(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """As if somebody had edited a module."""
    monkeypatch.setitem(fingerprint._TEXTS, module, fingerprint._TEXTS[module] + b"\n# Changed.\n")


CASES: list[tuple[Callable[[], str], bool, str]] = [
    (
        of_pool,
        True,
        "models.pool models.simulators.uniform_mixture models.distances.fourier base.streams "
        "base.cache models.simulators",
    ),
    (
        of_pool,
        False,
        "models.simulators.covid mechanisms.sparse_vector run.runner figures __main__",
    ),
    # The last two are found by their names, not imported.
    (
        of_study,
        True,
        "studies.mse_curves studies models.pool privacy.composition run.store base.summaries",
    ),
    (of_study, True, "models.simulators.tuberculosis mechanisms.linear_maps"),
    (of_study, False, "studies.soft_abc publish.claims publish.claims.truncation_theory"),
    (of_study, False, "publish.output.files run.workers"),
    (of_theory, False, "models.simulators.uniform_mixture"),
]
"""Fingerprint, whether modules change it, and their names."""


@pytest.mark.parametrize(("of", "changes", "names"), CASES)
def test_a_fingerprint_follows_the_modules_it_depends_on_and_no_others(
    of: Callable[[], str], changes: bool, names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names.split():
        before = of()
        change(monkeypatch, f"abcdp_core.{name}")
        assert (of() != before) == changes, name


def test_other_random_streams_are_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_pool()
    monkeypatch.setattr(fingerprint, "_streams", lambda: "others")
    assert of_pool() != before


def owners_in(module: ModuleType) -> set[str]:
    """Return the modules of the core that a module's names come from."""
    owners = set()
    for value in vars(module).values():
        if not isinstance(value, ModuleType):
            owners.add(str(getattr(value, "__module__", None)))
        # A package holds those of its modules that anybody has imported.
        elif value.__name__.rpartition(".")[0] != module.__name__:
            owners.add(value.__name__)
    return {owner for owner in owners if owner.split(".")[0] == "abcdp_core"}


def test_every_module_that_a_loaded_study_uses_is_in_its_fingerprint() -> None:
    """Parsing the source finds what the loaded modules hold."""
    for name in studies.names():
        study = studies.load(name).__name__
        reached = fingerprint._reached(["abcdp_core.run.store", study], store.LOOKED_UP)
        for each in reached.keys() & sys.modules.keys():
            assert owners_in(sys.modules[each]) <= reached.keys(), each


def test_every_scanned_folder_is_in_the_fingerprint_of_studies() -> None:
    scanned = {
        name
        for name, text in fingerprint._TEXTS.items()
        if b"registry." in text and (fingerprint.ROOT.parent / name.replace(".", "/")).is_dir()
    }
    # No study looks up another, and results of published queries are not stored.
    others = {"abcdp_core.studies", "abcdp_core.posterior.published.models"}
    assert scanned == {*store.LOOKED_UP, *others}


# ------------------------------------------------------------------ code from elsewhere


def test_a_plug_in_counts_with_its_text_when_it_was_added_where_it_may_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "texts", {})
    file, text = tmp_path / "mine.py", "from abcdp_core import transforms\nSCENARIO = 'mine'\n"
    file.write_text(text, encoding="utf-8")
    curves, theory = of_study(), of_theory()
    name = registry.add_file(file).__name__
    first = of_pool(name)
    assert first != of_pool()
    assert of_study() != curves
    assert of_theory() == theory
    file.write_text(f"{text}TITLE = 'changed'\n", encoding="utf-8")
    assert of_pool(name) == first
    registry.add_file(file)
    second = of_pool(name)
    assert second != first
    change(monkeypatch, "abcdp_core.base.transforms")
    assert of_pool(name) != second
