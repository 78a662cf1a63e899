"""A folder for compiled functions that is there whatever can be written, and is nobody else's."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from abcdp_core import compiled

UNWRITABLE = Path("/dev/null/code")


def chosen(code: Path, **environment: str) -> str | None:
    compiled.choose(environment, code)
    return environment.get(compiled.FOLDER)


def test_code_that_can_be_written_and_a_folder_that_was_named_stay_as_they_are(
    tmp_path: Path,
) -> None:
    assert chosen(tmp_path) is None
    assert chosen(UNWRITABLE, **{compiled.FOLDER: "named"}) == "named"


def test_otherwise_it_is_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "cache"))
    assert chosen(UNWRITABLE) == str(tmp_path / "cache" / "numba")
    assert (tmp_path / "cache" / "numba").is_dir()


def test_without_one_it_is_a_new_one_that_goes_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABCDP_CACHE_DIR", "/dev/null")
    monkeypatch.setattr(compiled.tempfile, "tempdir", str(tmp_path))
    at_the_end: list[str] = []
    monkeypatch.setattr(
        compiled.atexit, "register", lambda _, folder, **__: at_the_end.append(folder)
    )
    folders = [chosen(UNWRITABLE), chosen(UNWRITABLE)]
    assert len({*folders}) == 2
    assert folders == at_the_end
    for folder in at_the_end:
        assert Path(folder).parent == tmp_path
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    monkeypatch.setattr(compiled.tempfile, "tempdir", "/dev/null")
    assert chosen(UNWRITABLE) is None
