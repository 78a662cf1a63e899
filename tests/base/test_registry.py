"""Plug-ins: a folder that is scanned, installed packages, single files, the environment."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from abcdp_core import mechanisms
from abcdp_core.base import registry
from abcdp_core.models import simulators
from abcdp_core.privacy import NonPrivate

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


def test_names_titles_and_definitions_are_read_without_importing(package: Path) -> None:
    plug_in(package / "first.py", "ANIMAL = 'zebra'\ndef stripes(): ...\nfrom os import sep as dot")
    plug_in(package / "second.py", "ANIMAL: str = 'ape'\nTITLE = ('An ' 'ape')\nimport missing")
    plug_in(package / "third.py", "PLANT = 'fern'")
    found = registry.scan("zoo", "ANIMAL")
    assert list(found) == ["ape", "zebra"]
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

DATACLASS = """
from __future__ import annotations
from dataclasses import dataclass
SCENARIO = "mine"
@dataclass
class Params:
    n: int = 1
"""


def test_a_file_joins_at_once_also_one_with_the_name_of_a_module(tmp_path: Path) -> None:
    before = simulators.names()
    path = plug_in(tmp_path / "numpy.py", DATACLASS)
    module = registry.add_file(path)
    assert simulators.names() == sorted([*before, "mine"])
    assert registry.plugged_in() == [module.__name__]
    assert registry.texts[module.__name__] == path.read_bytes()
    # Dataclasses look up their own module by its name.
    assert module.Params().n == 1
    assert sys.modules[module.Params.__module__] is module
    with pytest.raises(ValueError, match="has none of SCENARIO, MECHANISMS, EXPERIMENT"):
        registry.add_file(plug_in(tmp_path / "empty.py", ""))


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
        ("none.py", None, "no such file"),
        ("notes.txt", "SCENARIO = 'none'", "not a Python file"),
        ("fails.py", "SCENARIO = 'none'\n{}['key']\n", r"line 2: KeyError: 'key'"),
        ("ends.py", "import sys; sys.exit()", "SystemExit"),
        # Results of the first file would be cached under the text of the second.
        ("mine.py", "SCENARIO = 'theirs'", "another plug-in has this file name"),
    ],
)
def test_a_file_that_is_not_a_plug_in_is_refused_each_time(
    name: str, text: str | None, words: str, tmp_path: Path, by_environment: Any
) -> None:
    (tmp_path / "theirs").mkdir()
    first, second = plug_in(tmp_path / "mine.py", "SCENARIO = 'mine'"), tmp_path / "theirs" / name
    if text is not None:
        plug_in(second, text)
    by_environment(first, first, second)
    for _ in range(2):
        with pytest.raises(registry.LoadError, match=rf"ABCDP_PLUGINS = .*{name}: .*{words}"):
            simulators.names()
    assert [module.__name__ for module in registry._added] == ["abcdp_plugin_mine"]
    assert "abcdp_plugin_fails" not in sys.modules


# ---------------------------------------------------------------- what mechanisms have in common


def test_the_mean_of_a_release_is_its_estimate_its_exact_mean_or_that_of_the_sample() -> None:
    theta, prior = np.array([[1.0], [2.0], [4.0]]), np.array([9.0])
    some = mechanisms.Release(np.array([0, 2]), np.array([0.25, 0.75]), 3, NonPrivate())
    moved = dataclasses.replace(some, samples=np.array([[0.0], [2.0]]))
    exact = dataclasses.replace(moved, exact_mean=np.array([1.6]))
    empty = dataclasses.replace(some, indices=np.array([], dtype=np.int64), weights=np.array([]))
    assert some.sample(theta).values.tolist() == [[1.0], [4.0]]
    assert moved.sample(theta).values.tolist() == [[0.0], [2.0]]
    assert [each.mean(theta, prior).item() for each in (some, moved, exact)] == [3.25, 1.5, 1.6]
    assert dataclasses.replace(exact, estimate=prior).mean(theta, theta[0]) is prior
    assert empty.mean(theta, prior) is prior
