"""The folder of compiled functions is in the cache and changes with the code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from abcdp_core.base import libraries

CODE = Path(libraries.__file__).parents[1]


def chosen(code: Path, **environment: str) -> str:
    libraries.choose(environment, code)
    return environment[libraries.FOLDER]


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two files, one of which compiles, with its own cache folder and numba."""
    numba = SimpleNamespace(config=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "numba", numba)  # type: ignore[arg-type]
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "fast.py").write_text("import numba")
    (folder / "slow.py").write_text("import numpy")
    return folder


def test_the_folder_changes_with_the_compiled_code_alone(code: Path) -> None:
    first = chosen(code)
    assert Path(first).is_dir()
    assert Path(first).parent == code.parent / "cache" / "numba"
    # Also where numba was imported before.
    assert first == sys.modules["numba"].config.CACHE_DIR
    (code / "slow.py").write_text("import pandas")
    assert chosen(code) == first
    os.utime(first, (0.0, 0.0))
    (code / "fast.py").write_text("import numba as nb")
    assert chosen(code) != first
    assert not Path(first).exists()
    assert chosen(code, **{libraries.FOLDER: "theirs"}) == "theirs"


def test_every_file_that_compiles_counts() -> None:
    """Files are found by their decorators; one of another name would have to be added."""
    texts = {file: file.read_bytes() for file in CODE.rglob("*.py") if file.stem != "libraries"}
    found = {file for file, text in texts.items() if b"njit" in text or b"import compiled" in text}
    assert found
    assert all(b"numba" in texts[file] or b"@compiled" in texts[file] for file in found)


def test_without_a_writable_cache_each_process_has_a_private_folder(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code.parent / "cache").touch()
    ends: list[str] = []
    monkeypatch.setattr(libraries.atexit, "register", lambda _, folder, **__: ends.append(folder))
    folders = [chosen(code), chosen(code)]
    assert folders == ends
    assert len({*folders}) == 2
    for folder in folders:
        # Compiled functions are code, so nobody else may write there.
        assert Path(folder).stat().st_mode & 0o077 == 0
        Path(folder).rmdir()
