from __future__ import annotations

import dataclasses
import errno
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pandas as pd
import pytest

from abcdp_core import cache, registry, runner
from abcdp_core.experiments import Experiment
from abcdp_core.results import Tables
from abcdp_core.store import Store
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params, Task
from tests.toys import TOY, assert_same, chains_alone, last, recording, toy_with


def counting(done: list[int]) -> Experiment:
    def work(task: Task) -> Tables:
        done.append(task.index)
        return toy_experiment.work(task)

    return toy_with(work=work)


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("keep_all", [False, True])
def test_a_later_run_does_only_what_is_missing(keep_all: bool, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", keep_all)
    done: list[int] = []
    results = runner.run(counting(done), Params(size=6), 1, store=store)
    for _ in range(3):
        next(results)
    results.close()
    assert done == [0, 1, 2]

    with ThreadPoolExecutor(2) as threads:
        resumed = last(runner.run(counting(done), Params(size=6), 1, threads, store))
    assert sorted(done) == [0, 1, 2, 3, 4, 5]
    assert_same(resumed, runner.run_to_end(TOY, Params(size=6), 1))


def test_another_seed_takes_nothing_from_the_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    done: list[int] = []
    for seed in (1, 2, 1):
        last(runner.run(counting(done), Params(size=2), seed, store=store))
    assert done == [0, 1, 0, 1]


def test_another_study_with_the_same_tasks_takes_nothing_from_the_store(tmp_path: Path) -> None:
    # Both are of one module, so that nothing but the name tells them apart.
    store = Store(tmp_path)
    done: list[int] = []
    for name in ("toy", "another", "toy"):
        study = counting(done)
        study.EXPERIMENT = name
        last(runner.run(study, Params(size=2), 1, store=store))
    assert done == [0, 1, 0, 1]


@dataclasses.dataclass(frozen=True)
class Lookalike(Task):
    """Another kind of task, of the same fields."""


def test_tasks_of_two_kinds_with_the_same_fields_are_kept_apart(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kinds: list[str] = []

    def work(task: Task) -> Tables:
        kinds.append(type(task).__name__)
        return toy_experiment.work(task)

    both = toy_with(
        work=work,
        tasks=lambda _params, seed: [Task(3, 0.0, -1, seed), Lookalike(3, 0.0, -1, seed)],
    )
    for _ in range(2):
        last(runner.run(both, Params(size=2), 1, store=store))
    assert kinds == ["Task", "Lookalike"]
    assert len(list(tmp_path.iterdir())) == 2


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    at = data.index(b"NUMPY") + 140
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def emptied(data: bytes) -> bytes:
    return data[:0]


def replaced(data: bytes) -> bytes:
    return b"no archive" + data[:0]


@pytest.mark.parametrize("damage", [truncated, flipped, emptied, replaced])
def test_a_damaged_file_is_done_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store = Store(tmp_path)
    whole = last(runner.run(TOY, Params(size=3), 1, store=store))
    entry = store.entries(TOY, toy_experiment.tasks(Params(size=3), 1))[1]
    entry.path.write_bytes(damage(entry.path.read_bytes()))
    done: list[int] = []
    again = last(runner.run(counting(done), Params(size=3), 1, store=store))
    assert done == [1]
    assert_same(again, whole)
    assert store.load(entry) is not None


def test_a_changed_study_resumes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    done: list[int] = []
    last(runner.run(counting(done), Params(size=2), 1, store=store))
    monkeypatch.setitem(registry.texts, toy_experiment.__name__, b"# Another text.")
    for _ in range(2):
        last(runner.run(counting(done), Params(size=2), 1, store=store))
    assert done == [0, 1, 0, 1]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_changed_plug_in_resumes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(toy_experiment.__file__).read_text(encoding="utf-8")
    file, store = tmp_path / "mine.py", Store(tmp_path / "store")
    for factor, expected in ((1, [0, 1, 4]), (1, [0, 1, 4]), (2, [0, 2, 8])):
        monkeypatch.setattr(registry, "_added", [])
        file.write_text(text.replace("k**2", f"k**2 * {factor}"), encoding="utf-8")
        study = cast(Experiment, registry.add_file(file))
        result = last(runner.run(study, study.Params(size=3), 1, store=store))
        assert list(result.tables["main"]["square"]) == expected
    sys.modules.pop("abcdp_plugin_mine")


def test_the_file_of_another_task_is_not_taken_for_this_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    whole = last(runner.run(TOY, Params(size=3), 1, store=store))
    first, second, _ = store.entries(TOY, toy_experiment.tasks(Params(size=3), 1))
    first.path.replace(second.path)
    done: list[int] = []
    assert_same(last(runner.run(counting(done), Params(size=3), 1, store=store)), whole)
    assert done == [0, 1]


def test_a_store_keeps_kinds_of_columns_and_every_bit(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = last(runner.run(TOY, Params(size=3), 1, store=store))
    second = last(runner.run(counting([]), Params(size=3), 1, store=store))
    assert_same(second, first)
    assert [column.kind for column in second.tables["main"].dtypes][:4] == ["i", "i", "f", "b"]


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (entry,) = store.entries(TOY, toy_experiment.tasks(Params(size=1), 1))
    store.save(entry, {"main": pd.DataFrame({"a/b/c": [1], "": [2]})})
    found = store.load(entry)
    assert found is not None
    assert list(found["main"].columns) == ["a/b/c", ""]


def test_a_store_is_part_of_a_cache_unless_it_is_to_keep_all(tmp_path: Path) -> None:
    assert not Store(tmp_path).keep_all


def test_a_store_that_is_full_is_called_so_and_not_a_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache.np, "savez", full)
    for name, keep_all in (("asked for", True), ("part of a cache", False)):
        store = Store(tmp_path / name, keep_all)
        (entry,) = store.entries(TOY, TOY.tasks(Params(size=1), 1))
        store.save(entry, {})
        store.save(entry, {})
    first, second = caplog.messages
    assert first.startswith("cannot write to the store")
    assert first.endswith(
        "(No space left on device): tasks that could not be kept are done again by a later run"
    )
    assert second.startswith("cannot write to the cache folder")


def looked_through_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder, at whatever is added."""
    monkeypatch.setattr(cache, "COUNT_LIMIT", 0)


@pytest.mark.parametrize(("keep_all", "left"), [(True, 4), (False, 1)])
def test_only_a_store_in_a_cache_makes_room(
    keep_all: bool, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_room(folder: Path) -> None:
        """As if there were room for one file."""
        for file in sorted(folder.glob("*.npz"), key=lambda file: file.stat().st_mtime)[:-1]:
            file.unlink()

    monkeypatch.setattr(cache, "evict", make_room)
    looked_through_each_time(monkeypatch)
    (tmp_path / "mine.npz").write_bytes(b"a person's own file")
    last(runner.run(TOY, Params(size=3), 1, store=Store(tmp_path, keep_all)))
    assert len(list(tmp_path.iterdir())) == left
    assert (tmp_path / "mine.npz").exists() is keep_all


@pytest.mark.parametrize("keep_all", [False, True])
def test_what_a_killed_writer_left_goes_with_the_next_run(
    keep_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through_each_time(monkeypatch)
    store = Store(tmp_path, keep_all)
    (tmp_path / "half.abcdp-part").write_bytes(b"half")
    (tmp_path / "fresh.abcdp-part").write_bytes(b"half")
    # Written long ago, or ahead of a clock that was set back.
    for away in (-2.0, 2.0):
        other = time.time() + away * cache.LEFT_BEHIND
        (tmp_path / "half.abcdp-part").touch()
        os.utime(tmp_path / "half.abcdp-part", (other, other))
        last(runner.run(TOY, Params(size=1), 1 + int(away > 0), store=store))
        assert [file.name for file in tmp_path.glob("*part")] == ["fresh.abcdp-part"]


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("keep_all", [False, True])
def test_a_stopped_chain_starts_again_and_a_finished_one_is_kept(
    keep_all: bool, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store", keep_all)
    begun: list[tuple[int, int]] = []
    results = runner.run(recording(begun), toy_chain.Params(), 1, store=store)
    # The first chain has 4 links; two more are of the second.
    assert [next(results).done for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    results.close()
    assert len(list(store.folder.glob("task-*.npz"))) == 1

    begun.clear()
    resumed = list(runner.run(recording(begun), toy_chain.Params(), 1, store=store))
    assert begun == [(1, link) for link in range(5)] + [(2, link) for link in range(6)]
    assert [result.done for result in resumed] == list(range(4, 16))
    assert_same(resumed[-1], chains_alone())

    begun.clear()
    with ThreadPoolExecutor(2) as threads:
        again = last(runner.run(recording(begun), toy_chain.Params(), 1, threads, store))
    assert begun == []
    assert again.done == again.total == 15
    assert_same(again, chains_alone())
