"""An interrupted pool of a slow simulator is continued to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abcdp_core import pool as pools
from abcdp_core.__main__ import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gaussian.py"

HANGS = """

_simulate = simulate


def simulate(rng, theta, n):
    import time
    from pathlib import Path

    if len(theta) == 50:
        with Path("FOLDER/calls").open("a") as calls:
            calls.write("x")
        if Path("FOLDER/hangs").exists():
            try:
                Path("FOLDER/begun").open("x").close()
                time.sleep(1.1)
            except FileExistsError:
                time.sleep(600.0)
    return _simulate(rng, theta, n)

"""
"""The first part of a pool takes a second and is kept; the others hang."""

pytestmark = [
    pytest.mark.usefixtures("own_registry"),
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_pool_continues_from_its_finished_parts(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out, hangs = tmp_path / "slow.py", tmp_path / "pool.csv", tmp_path / "hangs"
    text = EXAMPLE.read_text(encoding="utf-8")
    slow = HANGS.replace("FOLDER", str(tmp_path))
    file.write_text(text.replace("\nMODEL = ", f"{slow}\nMODEL = "), encoding="utf-8")
    hangs.touch()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path))
    line = ["pool", "gaussian-2d", "--plugin", str(file), "--pool-size", "150", "--n", "100",
            "--out", str(out)]  # fmt: skip
    # A process in the background of a shell ignores Ctrl-C, and so do its children.
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
    assert process.returncode == ends[number]
    assert ("finished parts of a slow pool are kept" in said) == (number == signal.SIGINT)
    assert not out.exists()
    hangs.unlink()
    calls = tmp_path / "calls"
    calls.unlink()
    pools.forget()
    assert main(line) == 0
    # One of three parts was kept.
    assert len(calls.read_text()) == 2
    made_on = out.read_bytes()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "another"))
    pools.forget()
    assert main(line) == 0
    assert out.read_bytes() == made_on
