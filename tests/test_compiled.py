"""A folder for compiled functions that is there whatever can be written, and is nobody else's; and
none of them outlives what it is made of."""

from __future__ import annotations

import errno
import importlib.util
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

from abcdp_core import compiled, fingerprint, recompiled
from abcdp_core.online import batch, response

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


def test_who_says_how_functions_are_found_is_heard(tmp_path: Path) -> None:
    environment = {compiled.LOCATORS: "theirs"}
    compiled.choose(environment, tmp_path)
    assert environment == {compiled.LOCATORS: "theirs"}


def test_a_function_is_compiled_anew_once_one_of_another_file_that_it_calls_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kept_by(function: Any) -> Any:
        return function._cache._impl.locator

    callers, called = kept_by(batch._mh), kept_by(response.log_likelihood_at)
    assert isinstance(callers, recompiled.BesideCode | recompiled.InNamedFolder)
    before = callers.get_source_stamp(), called.get_source_stamp()
    text = fingerprint._TEXTS[response.__name__]
    monkeypatch.setitem(fingerprint._TEXTS, response.__name__, text + b"# changed\n")
    recompiled._code_of.cache_clear()
    try:
        after = callers.get_source_stamp(), called.get_source_stamp()
    finally:
        recompiled._code_of.cache_clear()
    assert after[0] != before[0]
    assert after[0][0] == before[0][0]
    assert after[1] != before[1]


def test_functions_of_others_go_by_their_own_file() -> None:
    assert recompiled._code_of("elsewhere.module") == ""


def doubling(folder: Path) -> Any:
    """A compiled function of a file, as in a new process."""
    file = folder / "doubling.py"
    if not file.exists():
        file.write_text(
            "from numba import njit\n\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"
        )
    spec = importlib.util.spec_from_file_location("doubling", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def was_kept(function: Any) -> bool:
    """Whether it was not compiled; it is called."""
    assert function(21) == 42
    return bool(function.stats.cache_hits)


def cut(content: bytes) -> bytes:
    return content[: len(content) * 9 // 10]


def with_another_bit(content: bytes) -> bytes:
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize("end", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda _: b"", cut, with_another_bit])
def test_a_damaged_file_is_made_anew(
    end: str, damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    assert not was_kept(doubling(tmp_path))
    assert was_kept(doubling(tmp_path))
    (kept,) = tmp_path.rglob(f"*{end}")
    kept.write_bytes(damage(kept.read_bytes()))
    assert not was_kept(doubling(tmp_path))
    assert was_kept(doubling(tmp_path))


def test_on_a_full_disk_functions_are_compiled_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    recompiled._say_once.cache_clear()
    for _ in range(2):
        assert not was_kept(doubling(tmp_path))
    assert caplog.text.count("(No space left on device): compiled each time") == 1
