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


def test_every_module_with_the_marker_is_found_in_the_order_of_names(package: Path) -> None:
    plug_in(package / "first.py", "ANIMAL = 'zebra'")
    plug_in(package / "second.py", "ANIMAL = 'ape'")
    plug_in(package / "third.py", "PLANT = 'fern'")
    found = registry.scan("zoo", "ANIMAL")
    assert list(found) == ["ape", "zebra"]
    assert found["ape"].__name__ == "zoo.second"


def test_two_of_one_name_are_an_error(package: Path) -> None:
    for name in ("first.py", "second.py"):
        plug_in(package / name, "ANIMAL = 'ape'")
    with pytest.raises(ValueError, match="two plug-ins are called 'ape'"):
        registry.scan("zoo", "ANIMAL")


def test_names_and_titles_are_read_without_importing(package: Path) -> None:
    plug_in(package / "first.py", "ANIMAL: str = 'ape'\nTITLE = ('An ' 'ape')\nimport nothing_here")
    plug_in(
        package / "second.py", "ANIMAL = 'zebra'\ndef stripes(): ...\nfrom os import sep as dot"
    )
    found = registry.scan("zoo", "ANIMAL")
    assert list(found) == ["ape", "zebra"]
    assert "ape" in found
    assert "bear" not in found
    assert found.title("ape") == "An ape"
    assert found.title("zebra") == "zebra", "the name where there is no title"
    assert [found.defines("zebra", what) for what in ("stripes", "dot", "spots")] == [
        True, True, False,
    ]  # fmt: skip
    assert not [name for name in sys.modules if name.startswith("zoo.")]


def test_one_module_is_imported_when_it_is_asked_for(package: Path) -> None:
    plug_in(package / "first.py", "ANIMAL = 'ape'")
    plug_in(package / "second.py", "ANIMAL = 'zebra'\nimport nothing_of_that_name")
    found = registry.scan("zoo", "ANIMAL")
    assert found["ape"].ANIMAL == "ape"
    assert [name for name in sys.modules if name.startswith("zoo.")] == ["zoo.first"]
    with pytest.raises(registry.LoadError, match="nothing_of_that_name"):
        found["zebra"]
    with pytest.raises(KeyError, match="bear"):
        found["bear"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ANIMAL = 'ape'\n1 +", r"first\.py"),
        ("ANIMAL = 'a' + 'pe'", r"zoo\.first: ANIMAL must be a plain string"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_not_a_gap(
    text: str, words: str, package: Path
) -> None:
    plug_in(package / "first.py", text)
    with pytest.raises((SyntaxError, ValueError), match=words):
        registry.scan("zoo", "ANIMAL")


def test_a_file_joins_at_once(tmp_path: Path) -> None:
    before = simulators.names()
    path = plug_in(tmp_path / "mine.py", "SCENARIO = 'mine'")
    module = registry.add_file(path)
    assert module.SCENARIO == "mine"
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


@pytest.mark.parametrize("name", ["mine.py", "numpy.py"])
def test_a_file_may_hold_what_any_module_may(tmp_path: Path, name: str) -> None:
    # Dataclasses look up the module they are in, which must not be another of that name.
    module = registry.add_file(plug_in(tmp_path / name, DATACLASS))
    assert module.Params().n == 1
    assert sys.modules[module.Params.__module__] is module


def test_a_file_that_is_missing_or_no_plug_in_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.py: no such file"):
        registry.add_file(tmp_path / "missing.py")
    with pytest.raises(ValueError, match="not a Python file"):
        registry.add_file(plug_in(tmp_path / "notes.txt", "SCENARIO = 'mine'"))
    with pytest.raises(ValueError, match="has none of SCENARIO, MECHANISMS, EXPERIMENT"):
        registry.add_file(plug_in(tmp_path / "empty.py", ""))
    with pytest.raises(ZeroDivisionError):
        registry.add_file(plug_in(tmp_path / "broken.py", "1 / 0"))
    assert "mine" not in simulators.names()
    assert not any("broken" in name for name in sys.modules)


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


def test_what_a_mechanism_is_unless_it_says_otherwise() -> None:
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


def test_a_mean_is_what_was_released_or_known_and_else_of_the_sample() -> None:
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


def test_without_a_budget_the_data_are_used_as_they_are() -> None:
    mechanism = mechanisms.load("sparse-vector")
    public = public_side("uniform-mixture", 100, 60, 1)
    prepared = mechanism.prepare(public, mechanism.options, mechanisms.Budget(math.inf))
    assert prepared.event == NonPrivate()
    data = SimpleNamespace(rho=np.array([0.5, 0.05, 0.1]))
    release = prepared.release(data, np.random.default_rng(1))
    assert isinstance(release, mechanisms.Release)
    assert release.indices.tolist() == [1, 2]


@pytest.fixture
def by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What puts files into the environment, as an operator does."""
    for name, value in (("_added", []), ("texts", {}), ("_asked", {""})):
        monkeypatch.setattr(registry, name, value)

    def put(*files: Path) -> None:
        monkeypatch.setenv(registry.PLUGINS, os.pathsep.join(map(str, files)))
        registry.forget()

    yield put
    monkeypatch.undo()
    for name in [name for name in sys.modules if name.startswith("abcdp_plugin_")]:
        del sys.modules[name]
    registry.forget()


def test_whoever_runs_it_adds_files_by_the_environment(tmp_path: Path, by_environment: Any) -> None:
    files = [plug_in(tmp_path / f"{name}.py", f"SCENARIO = '{name}'") for name in ("mine", "ours")]
    by_environment(*files)
    assert {"mine", "ours", "uniform-mixture"} <= set(simulators.names())
    registry.forget()
    assert len([name for name in simulators.names() if name == "mine"]) == 1
    by_environment(tmp_path / "none.py")
    for _ in range(2):
        with pytest.raises(registry.LoadError, match=r"ABCDP_PLUGINS = .*none\.py: cannot be"):
            simulators.names()
    (tmp_path / "none.py").write_text("SCENARIO = 'none'\n{}['key']\n")
    with pytest.raises(registry.LoadError, match=r"loaded \(line 2: KeyError: 'key'\)\.$"):
        simulators.names()


@pytest.mark.parametrize(
    ("name", "text"), [("model.py", "SCENARIO = 'theirs'"), ("ends.py", "import sys; sys.exit()")]
)
def test_a_second_file_of_one_name_is_refused_and_so_is_one_that_ends_the_program(
    name: str, text: str, tmp_path: Path, by_environment: Any
) -> None:
    # What the first one makes would be kept under the text of the second.
    (tmp_path / "theirs").mkdir()
    first = plug_in(tmp_path / "model.py", "SCENARIO = 'mine'")
    second = plug_in(tmp_path / "theirs" / name, text)
    by_environment(first, first, second)
    with pytest.raises(registry.LoadError, match=rf"{second.name}: cannot be loaded \("):
        simulators.names()
    assert [module.__name__ for module in registry._added] == ["abcdp_plugin_model"]
