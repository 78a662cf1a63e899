"""An interrupted pool of a slow simulator is continued to the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdp_core import libraries
from abcdp_core import pool as pools
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.pool import making
from tests.own_model.models import from_example

STOPS = """
from pathlib import Path

_simulate = simulate


def simulate(rng, theta, n):
    calls = Path("FOLDER/calls")
    if len(theta) == 50:
        calls.write_text(calls.read_text() + "x")
        if len(calls.read_text()) == 2:
            raise KeyboardInterrupt
    return _simulate(rng, theta, n)


MODEL = """
"""A pool of 150 draws has three parts; Ctrl-C comes in the second."""


@pytest.mark.usefixtures("own_registry", "empty_cache")
def test_an_interrupted_pool_continues_from_its_finished_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = from_example(tmp_path, ("MODEL = ", STOPS.replace("FOLDER", str(tmp_path)).strip("\n")))
    calls, out = tmp_path / "calls", tmp_path / "pool.csv"
    calls.touch()
    line = f"pool gaussian-2d --plugin {file} --pool-size 150 --n 100 --out {out}".split()
    monkeypatch.setattr(making, "WORTH_KEEPING", 0.0)
    monkeypatch.setattr(libraries, "available_threads", lambda: 1)
    assert main(line) == INTERRUPTED
    assert "finished parts of a slow pool are kept" in capsys.readouterr().err
    assert not out.exists()
    pools.forget()
    assert main(line) == 0
    # The first part was kept; the second and the third were made.
    assert calls.read_text() == "xxxx"
    continued = out.read_bytes()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "another"))
    pools.forget()
    assert main(line) == 0
    assert out.read_bytes() == continued
    assert calls.read_text() == "xxxxxxx"
