from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abcdp_core import mechanisms, registry, simulators
from abcdp_core.pool import public_side
from abcdp_core.privacy import Cost, NonPrivate

pytestmark = pytest.mark.usefixtures("no_plug_ins_left")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty package called ``zoo``, to be filled with modules."""
    folder = tmp_path / "zoo"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "zoo"]:
        del sys.modules[name]


def plug_in(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --------------------------------------------------------------------- a folder of plug-ins


def test_names_titles_and_definitions_are_read_without_importing(package: Path) -> None:
    plug_in(package / "first.py", "ANIMAL = 'zebra'\ndef stripes(): ...\nfrom os import sep as dot")
    plug_in(package / "second.py", "ANIMAL: str = 'ape'\nTITLE = ('An ' 'ape')\nimport missing")
    plug_in(package / "third.py", "PLANT = 'fern'")
    found = registry.scan("zoo", "ANIMAL")
    assert list(found) == ["ape", "zebra"]
    assert "ape" in found
    assert "bear" not in found
    assert [found.title(name) for name in found] == ["An ape", "zebra"]
    defined = [found.defines("zebra", what) for what in ("stripes", "dot", "spots")]
    assert defined == [True, True, False]
    assert not [name for name in sys.modules if name.startswith("zoo.")]
    assert found["zebra"].ANIMAL == "zebra"
    assert [name for name in sys.modules if name.startswith("zoo.")] == ["zoo.first"]
    with pytest.raises(registry.LoadError, match="missing"):
        found["ape"]
    with pytest.raises(KeyError, match="bear"):
        found["bear"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ANIMAL = 'ape'", "two plug-ins are called 'ape'"),
        ("ANIMAL = 'zebra'\n1 +", r"first\.py"),
        ("ANIMAL = 'zeb' + 'ra'", r"zoo\.first: ANIMAL must be a plain string"),
    ],
)
def test_a_folder_with_a_bad_plug_in_is_an_error(text: str, words: str, package: Path) -> None:
    plug_in(package / "first.py", text)
    plug_in(package / "second.py", "ANIMAL = 'ape'")
    with pytest.raises((SyntaxError, ValueError), match=words):
        registry.scan("zoo", "ANIMAL")


def test_installed_packages_join_through_their_entry_point(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(package / "first.py", "ANIMAL = 'ape'")
    other = ModuleType("other")
    other.ANIMAL = "bear"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "other", other)
    point = EntryPoint("bear", "other", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [point] if group == point.group else []
    )
    assert list(registry.scan("zoo", "ANIMAL")) == ["ape", "bear"]
    assert registry.plugged_in() == ["other"]


# ---------------------------------------------------------------------------- single files


def test_a_file_joins_at_once(tmp_path: Path) -> None:
    before = simulators.names()
    path = plug_in(tmp_path / "mine.py", "SCENARIO = 'mine'")
    module = registry.add_file(path)
    assert simulators.names() == sorted([*before, "mine"])
    assert registry.plugged_in() == [module.__name__]
    assert registry.texts[module.__name__] == path.read_bytes()


DATACLASS = """
from __future__ import annotations
from dataclasses import dataclass
EXPERIMENT = "mine"
@dataclass
class Params:
    n: int = 1
"""


def test_a_file_with_the_name_of_a_module_may_hold_dataclasses(tmp_path: Path) -> None:
    """They look up their own module by its name."""
    module = registry.add_file(plug_in(tmp_path / "numpy.py", DATACLASS))
    assert module.Params().n == 1
    assert sys.modules[module.Params.__module__] is module


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("missing.py", None, r"missing\.py: no such file"),
        ("notes.txt", "SCENARIO = 'mine'", "not a Python file"),
        ("empty.py", "", "has none of SCENARIO, MECHANISMS, EXPERIMENT"),
        ("broken.py", "SCENARIO = 'mine'\n1 / 0", "division"),
    ],
)
def test_a_file_that_is_not_a_plug_in_is_refused(
    name: str, text: str | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / name if text is None else plug_in(tmp_path / name, text)
    with pytest.raises((FileNotFoundError, ValueError, ZeroDivisionError), match=words):
        registry.add_file(file)
    assert "mine" not in simulators.names()
    assert "abcdp_plugin_broken" not in sys.modules


@pytest.fixture
def by_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that names files in the environment, as an operator does."""
    for name, value in (("_added", []), ("texts", {}), ("_asked", {""})):
        monkeypatch.setattr(registry, name, value)

    def put(*files: Path) -> None:
        monkeypatch.setenv(registry.PLUGINS, os.pathsep.join(map(str, files)))
        registry.forget()

    yield put
    monkeypatch.undo()
    registry.forget()


def test_operators_add_files_by_the_environment(tmp_path: Path, by_environment: Any) -> None:
    files = [plug_in(tmp_path / f"{name}.py", f"SCENARIO = '{name}'") for name in ("mine", "ours")]
    by_environment(*files)
    assert {"mine", "ours", "uniform-mixture"} <= set(simulators.names())
    registry.forget()
    assert simulators.names().count("mine") == 1


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.py", None, "cannot be"),
        ("none.py", "SCENARIO = 'none'\n{}['key']\n", r"loaded \(line 2: KeyError: 'key'\)\.$"),
        ("ends.py", "import sys; sys.exit()", r"cannot be loaded \("),
        # Results of the first file would be cached under the text of the second.
        ("mine.py", "SCENARIO = 'theirs'", r"cannot be loaded \("),
    ],
)
def test_a_file_in_the_environment_that_cannot_be_loaded_is_refused_each_time(
    name: str, text: str | None, words: str, tmp_path: Path, by_environment: Any
) -> None:
    (tmp_path / "theirs").mkdir()
    first = plug_in(tmp_path / "mine.py", "SCENARIO = 'mine'")
    second = tmp_path / "theirs" / name
    if text is not None:
        plug_in(second, text)
    by_environment(first, first, second)
    for _ in range(2):
        with pytest.raises(registry.LoadError, match=rf"ABCDP_PLUGINS = .*{name}: .*{words}"):
            simulators.names()
    assert [module.__name__ for module in registry._added] == ["abcdp_plugin_mine"]


# ---------------------------------------------------------------- what mechanisms have in common


def test_defaults_of_a_mechanism() -> None:
    every = mechanisms.every()
    assert mechanisms.Budget(2.0).delta == 0.0
    assert every["sparse-vector"].spends(mechanisms.Budget(2.0, 1e-5)) == Cost(2.0, 0.0)
    assert every["soft-weights"].spends(mechanisms.Budget(2.0, 1e-5)) == Cost(2.0, 1e-5)
    assert every["sparse-vector"].minimum_pool(None) == 1
    assert [name for name, each in every.items() if not each.sample] == ["embedding-estimate"]
    assert [name for name, each in every.items() if not each.noise_needs_fitted] == [
        "gaussian-rejection",
        *("embedding-estimate", "embedding-noise-aware", "embedding-noise-ignored"),
        *("noisy-counts", "private-embedding", "private-summary", "private-summary-large-unit"),
    ]


def test_the_mean_of_a_release_is_its_estimate_its_exact_mean_or_that_of_the_sample() -> None:
    theta, otherwise = np.array([[1.0], [2.0], [4.0]]), np.array([9.0])
    some = mechanisms.Release(np.array([0, 2]), np.array([0.25, 0.75]), 3, NonPrivate())
    assert some.parameters(theta).tolist() == [[1.0], [4.0]]
    assert some.mean(theta, otherwise).tolist() == [3.25]
    moved = dataclasses.replace(some, samples=np.array([[0.0], [2.0]]))
    assert moved.parameters(theta).tolist() == [[0.0], [2.0]]
    assert moved.mean(theta, otherwise).tolist() == [1.5]
    exact = dataclasses.replace(moved, exact_mean=np.array([1.6]))
    assert exact.mean(theta, otherwise).tolist() == [1.6]
    assert dataclasses.replace(exact, estimate=otherwise).mean(theta, theta[0]) is otherwise
    empty = mechanisms.Release(np.array([], dtype=np.int64), np.array([]), 3, NonPrivate())
    assert empty.mean(theta, otherwise) is otherwise


def test_an_infinite_budget_adds_no_noise() -> None:
    mechanism = mechanisms.load("sparse-vector")
    public = public_side("uniform-mixture", 100, 60, 1)
    prepared = mechanism.prepare(public, mechanism.options, mechanisms.Budget(math.inf))
    assert prepared.event == NonPrivate()
    data = SimpleNamespace(rho=np.array([0.5, 0.05, 0.1]))
    release = prepared.release(data, np.random.default_rng(1))
    assert isinstance(release, mechanisms.Release)
    assert release.indices.tolist() == [1, 2]
