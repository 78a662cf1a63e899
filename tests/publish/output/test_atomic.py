"""Files of one result: a full disk, a kill and a second process cost nothing that is not said."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import studies
from abcdp_core.base.atomic import PART, together
from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish.output import files
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from tests import toy_experiment
from tests.toy_experiment import figures

NAMES = {"toy.csv", "toy.limits.csv", "toy.json"}


@pytest.fixture
def later() -> Result:
    """Another result of the same study, a little larger."""
    return runner.run_to_end(studies.load("toy"), toy_experiment.Params(5), 12)


def write(result: Result, folder: Path) -> list[Path]:
    return files.write(result, figures(result), folder, ("csv", "json"))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def which(folder: Path, *known: Result) -> int | None:
    """Return which of some results is in a folder, as a whole."""
    try:
        found = files.read(folder, "toy")
    except FileNotFoundError:
        return None
    (place,) = (place for place, each in enumerate(known) if each.seed == found.seed)
    for name, table in known[place].tables.items():
        assert_frame_equal(found.tables[name], table, check_exact=True)
    return place


def test_a_kill_before_any_step_leaves_a_whole_result_or_none_that_is_taken_for_one(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder before a step is what a program killed there leaves behind."""
    folder, copies = tmp_path / "out", list[Path]()
    write(result, folder)

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            copies.append(shutil.copytree(folder, tmp_path / f"{len(copies):02}"))
            return step(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
            patch.setattr(owner, name, watched(getattr(owner, name)))
        write(later, folder)
    found = [which(copy, result, later) for copy in copies]
    assert list(dict.fromkeys(found)) == [0, None, 1]
    # The next run leaves nothing of the one that was killed.
    write(result, copies[2])
    assert contents(copies[2]).keys() == NAMES


def test_a_table_of_another_result_is_refused(
    result: Result, later: Result, tmp_path: Path
) -> None:
    write(result, tmp_path)
    sound = contents(tmp_path)
    write(later, tmp_path)
    (tmp_path / "toy.limits.csv").write_bytes(sound["toy.limits.csv"])
    with pytest.raises(ParameterError, match=r"toy\.limits\.csv: is not the table that toy\.json"):
        files.read(tmp_path, "toy")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_after_some_bytes_leaves_the_old_result(
    result: Result, later: Result, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    write(result, folder)
    sound = contents(folder)
    largest = max(file.stat().st_size for file in write(later, tmp_path / "later"))
    with no_file_larger_than(largest - 1), pytest.raises(OSError, match="File too large"):
        write(later, folder)
    assert contents(folder) == sound
    with no_file_larger_than(largest):
        write(later, folder)
    assert which(folder, result, later) == 1


@contextlib.contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As if the disk were full after so many bytes of a file; the system itself refuses more."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


PROCESS = """
import sys
from pathlib import Path
from abcdp_core.base.atomic import together

for turn in range(20):
    with together(Path(sys.argv[1])) as folder:
        for name in ("a.csv", "b.csv", "c.json"):
            (folder / name).write_text(f"{sys.argv[2]} {turn}")
"""


def test_of_two_processes_that_write_at_once_one_has_all_places(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), name])
        for name in ("first", "second")
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    assert len(set(contents(tmp_path).values())) == 1
    assert contents(tmp_path).keys() == {"a.csv", "b.csv", "c.json"}


def test_an_error_in_the_block_changes_nothing_and_what_is_there_already_stays(
    tmp_path: Path,
) -> None:
    with together(tmp_path) as folder:
        (folder / "same").write_text("same")
    before = (tmp_path / "same").stat()
    with pytest.raises(TypeError), together(tmp_path) as folder:
        (folder / "other").write_text(None)  # type: ignore[arg-type]
    assert not (tmp_path / PART).exists()
    with together(tmp_path) as folder:
        (folder / "same").write_text("same")
    assert (tmp_path / "same").stat() == before
    assert contents(tmp_path) == {"same": b"same"}
