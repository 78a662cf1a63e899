"""Compiled functions are kept where the cache is, and none outlives what it is made of."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from abcdp_core import libraries

CODE = Path(libraries.__file__).parent


def chosen(code: Path, **environment: str) -> str:
    libraries.choose(environment, code)
    return environment[libraries.FOLDER]


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two files, of which one compiles; with a cache folder and numba of its own."""
    numba = SimpleNamespace(config=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "numba", numba)  # type: ignore[arg-type]
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "fast.py").write_text("import numba")
    (folder / "slow.py").write_text("import numpy")
    return folder


def test_other_compiled_code_has_another_folder_and_other_text_the_same(code: Path) -> None:
    first = chosen(code)
    assert Path(first).is_dir()
    assert Path(first).parent == code.parent / "cache" / "numba"
    # Somebody may have imported it before.
    assert first == sys.modules["numba"].config.CACHE_DIR
    (code / "slow.py").write_text("import pandas")
    assert chosen(code) == first
    os.utime(first, (0.0, 0.0))
    (code / "fast.py").write_text("import numba as nb")
    assert chosen(code) != first
    assert not Path(first).exists()
    assert chosen(code, **{libraries.FOLDER: "theirs"}) == "theirs"


def test_all_that_is_compiled_counts() -> None:
    """By the decorators that are there; one of another name would have to be added."""
    texts = {file: file.read_bytes() for file in CODE.rglob("*.py") if file.stem != "libraries"}
    found = {file for file, text in texts.items() if b"njit" in text or b"import compiled" in text}
    assert found
    assert all(b"numba" in texts[file] or b"@compiled" in texts[file] for file in found)


@pytest.mark.parametrize("why", ["full", "unwritable"])
def test_where_nothing_can_be_kept_a_process_has_a_folder_of_its_own(
    why: str, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "full":
        usage = shutil.disk_usage(code)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    else:
        (code.parent / "cache").touch()
    ends: list[str] = []
    monkeypatch.setattr(libraries.atexit, "register", lambda _, folder, **__: ends.append(folder))
    folders = [chosen(code), chosen(code)]
    assert folders == ends
    assert len({*folders}) == 2
    for folder in folders:
        # Compiled functions are code: nobody else may have a say in the folder.
        assert Path(folder).stat().st_mode & 0o077 == 0
        Path(folder).rmdir()
