"""A pool of a slow simulator that was stopped goes on, to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abcdp_core import pool as pools
from abcdp_core import registry
from abcdp_core.__main__ import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gaussian.py"
SIZE = ["--pool-size", "150", "--n", "100"]

HANGS = """

_simulate = simulate


def simulate(rng, theta, n):
    import time
    from pathlib import Path

    if len(theta) == 50 and Path("FOLDER/hangs").exists():
        try:
            Path("FOLDER/begun").open("x").close()
            time.sleep(SECONDS)
        except FileExistsError:
            time.sleep(600.0)
    return _simulate(rng, theta, n)

"""
"""The first part of a pool takes a second, for which it is kept; the others hang."""

pytestmark = pytest.mark.usefixtures("own_registry")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The pool of a simulator that does not hang, by nobody but this process."""
    out = tmp_path_factory.mktemp("plain") / "pool.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABCDP_CACHE_DIR", str(out.parent))
        # Not by ``own_registry``, which each test has by itself.
        patch.setattr(registry, "_added", [])
        patch.setattr(registry, "texts", dict(registry.texts))
        pools._open.clear()
        assert (
            main(["pool", "gaussian-2d", "--plugin", str(EXAMPLE), *SIZE, "--out", str(out)]) == 0
        )
    sys.modules.pop("abcdp_plugin_gaussian")
    registry.forget()
    return out.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_inside_a_simulator_and_goes_on_from_what_is_kept(
    number: signal.Signals, plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out, hangs = tmp_path / "slow.py", tmp_path / "pool.csv", tmp_path / "hangs"
    added = HANGS.replace("FOLDER", str(tmp_path)).replace("SECONDS", str(pools.WORTH_KEEPING))
    text = EXAMPLE.read_text(encoding="utf-8")
    file.write_text(text.replace("\nMODEL = ", f"{added}\nMODEL = "), encoding="utf-8")
    hangs.touch()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path))
    line = ["pool", "gaussian-2d", "--plugin", str(file), *SIZE, "--out", str(out)]
    # A shell has what it runs in the background ignore Ctrl-C, and all that is started by it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "abcdp_core", *line],
        cwd=ROOT, text=True, encoding="utf-8", stderr=subprocess.PIPE,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    try:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob("chunk-*.npz")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    ends = {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}
    words = "Interrupted; parts of the pool that took long are kept for the next time.\n"
    assert (process.returncode, said) == (ends[number], words if number == signal.SIGINT else "")
    assert not out.exists()
    hangs.unlink()
    pools._open.clear()
    made, make = list[int](), pools._made_chunk

    def noted(key: pools.PoolKey, start: int) -> pools.cache.Arrays:
        made.append(start)
        return make(key, start)

    monkeypatch.setattr(pools, "_made_chunk", noted)
    assert main(line) == 0
    assert len(made) == 3 - len(list(tmp_path.glob("chunk-*.npz"))) == 2
    assert out.read_bytes() == plain
