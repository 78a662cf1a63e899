from __future__ import annotations

import builtins
import errno
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool
from abcdp_core.__main__ import INTERRUPTED, main, values_in_one
from abcdp_core.release import output_file, procedure, sparse_vector
from abcdp_core.release.document import KEYS
from abcdp_core.release.sparse_vector import SparseVectorRecord

CANARY = "48.151623"
SERIES = "cases\r\n" + "".join(f"{7 * day % 90}\r\n" for day in range(20)) + f"{CANARY}\r\n"
SMALL = ["--pool-size", "200", "--epsilon-total", "0.5", "--domain", "0,100"]
SHARES = ["release", "uniform-mixture", "--data", "data.csv", "--domain", "0,100",
          "--epsilon-total", "0.5", "--out", "out.json", "--yes"]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A series in a file, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "data.csv"
    file.write_text(SERIES, encoding="utf-8", newline="")
    return file


class Terminal(io.StringIO):
    """Standard input of a person who types one line."""

    def isatty(self) -> bool:
        return True


def spend(*arguments: str) -> int:
    return main(["release", "covid", "--data", "data.csv", *SMALL, "--out", "out.json", *arguments])


def content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said on an error: one line, and no value of the data."""
    printed, said = capsys.readouterr()
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert len(said) < 300
    assert CANARY not in said + printed
    return said


def test_a_release_is_written_never_over_another_file_and_what_it_cost_is_said(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spend("--yes") == 0
    printed, said = capsys.readouterr()
    made = content(data.with_name("out.json"))
    for words in ("This spends ε_total = 0.5", "21 values", made["statement"], "Written to out"):
        assert words in " ".join(printed.split())
    assert CANARY not in printed + said
    assert made.keys() >= set(KEYS)
    assert (made["n"], made["cost"]["epsilon"] <= 0.5) == (21, True)
    assert sorted(file.name for file in data.parent.iterdir()) == ["data.csv", "out.json"]
    for out in ("out.json", "data.csv"):
        before = data.with_name(out).read_bytes()
        assert spend("--yes", "--out", out) == 2
        assert f"out = {out}: already exists" in one_line(capsys)
        assert data.with_name(out).read_bytes() == before


def test_every_option_reaches_the_request(data: Path) -> None:
    assert spend(
        "--yes", "--epsilon-abc", "0.3", "--c", "2", "--distance", "pairs", "--bandwidth", "500",
        "--resample", "--pool-seed", "9", "--domain", "-5,99.5",
    ) == 0  # fmt: skip
    assert content(data.with_name("out.json"))["public"] == {
        "scenario": "covid", "low": -5.0, "high": 99.5, "epsilon_total": 0.5, "epsilon_abc": 0.3,
        "c": 2, "pool_size": 200, "distance": "pairs", "bandwidth": 500.0, "resample": True,
        "pool_seed": 9, "scenario_domain": [0.0, 5000.0],
    }  # fmt: skip
    assert values_in_one(["a", "--domain", "-5,10", "--yes"]) == ["a", "--domain=-5,10", "--yes"]


def test_yes_spends_it_and_anything_else_spends_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusals = {
        "not confirmed; nothing was released": Terminal("\n"),
        "not confirmed; nothing": Terminal("no\n"),
        "no terminal to confirm at: add --yes": io.StringIO("y\n"),
    }
    for words, typed in refusals.items():
        monkeypatch.setattr(sys, "stdin", typed)
        assert spend() == 2
        assert words in one_line(capsys)
        assert not data.with_name("out.json").exists()
    monkeypatch.setattr(sys, "stdin", Terminal(" yes \n"))
    assert spend() == 0
    assert data.with_name("out.json").exists()


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_spends_nothing_or_what_is_paid_for_is_printed(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        patched.delattr(procedure, "spend")
        assert spend("--yes") == 2
        assert "(No space left on device); nothing was released." in one_line(capsys)
    monkeypatch.setattr(output_file, "_publish", full)
    assert spend("--yes") == 2
    printed, said = capsys.readouterr()
    assert said == (
        "error: out = out.json: cannot be written (No space left on device); "
        "ε_total = 0.5 is spent; the release is on standard output.\n"
    )
    assert json.loads(printed[printed.index("\n{") :])["cost"]["epsilon"] <= 0.5
    assert [file.name for file in data.parent.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{CANARY}\n{CANARY}x\n", "data = data.csv: Row 2 is not a number"),
        (f"{CANARY}\n" * 3, "number of values = 3: must be a whole number from 4 to 100"),
        (f"{CANARY}\n" * 101, "The file has 101 values: at most 100 are allowed"),
    ],
)
def test_what_is_wrong_with_the_data_is_said_without_a_value(
    text: str, sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(text, encoding="utf-8")
    assert spend("--yes") == 2
    assert sentence in one_line(capsys)
    assert not data.with_name("out.json").exists()


# ------------------------------------------------------------------------ how it may end


@pytest.mark.parametrize("where", ["question", "pool", "noise"])
def test_ctrl_c_leaves_nothing_and_says_so(
    where: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    stopped: dict[str, tuple[Any, str]] = {
        "question": (builtins, "input"),
        "pool": (pool, "build"),
        "noise": (sparse_vector, "release_exactly"),
    }
    monkeypatch.setattr(*stopped[where], interrupt)
    assert spend() == INTERRUPTED
    assert capsys.readouterr().err == "Interrupted; nothing was released.\n"
    assert not data.with_name("out.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["noise", "place", "summary"])
def test_a_signal_once_it_is_spent_says_so_and_where_it_is(
    where: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places: dict[str, tuple[Any, str]] = {
        "noise": (sparse_vector, "release_exactly"),
        "place": (output_file, "_publish"),
        "summary": (SparseVectorRecord, "summary"),
    }
    owner, name = places[where]
    original = getattr(owner, name)

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return "The summary." if where == "summary" else original(*arguments)

    changed = property(interrupted) if where == "summary" else interrupted
    monkeypatch.setattr(owner, name, changed)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        assert spend("--yes") == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    said = "Terminated; ε_total = 0.5 is spent; the release is in out.json.\n"
    assert capsys.readouterr().err == said
    assert content(data.with_name("out.json"))["cost"]["epsilon"] <= 0.5
    assert sorted(file.name for file in data.parent.iterdir()) == ["data.csv", "out.json"]


class Closed(io.StringIO):
    """Standard output that takes so many lines and no more."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines

    def flush(self) -> None:
        if self.getvalue().count("\n") > self.lines:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize("lines", [0, 14])
def test_a_closed_pipe_says_what_is_spent(
    lines: int, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = "ε_total = 0.5 is spent; the release is in out.json."
    monkeypatch.setattr(sys, "stdout", Closed(lines))
    assert spend("--yes") == 141
    reason = "cannot write to standard output (Broken pipe)"
    said = f"error: {reason}; {spent if lines else 'nothing was released.'}\n"
    assert capsys.readouterr().err == said
    assert data.with_name("out.json").exists() == (lines > 1)


# ------------------------------------------------------------------------ the mechanism


def test_the_recommended_mechanism_is_taken_and_the_reason_said_before_the_file_is_opened(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHARES, "--mechanism", "sparse-vector", "--pool-size", "200"]) == 0
    assert content(data.with_name("out.json"))["mechanism"] == "sparse-vector"
    printed = capsys.readouterr().out
    assert "Mechanism: sparse-vector. " in printed
    assert "Recommended: noisy-counts. " in printed
    assert "run error-by-size --set scenario=uniform-mixture" in printed
    # The recommended one needs no pool.
    monkeypatch.delattr(pool, "build")
    few = "--number-of-draws 150 --draws-seed 4 --out counts.json --draws draws.csv"
    assert main([*SHARES, *few.split()]) == 0
    printed, said = capsys.readouterr()
    assert "150 draws of equal weight (150 distinct): draws.csv" in printed
    made = content(data.with_name("counts.json"))
    assert made["mechanism"] == "noisy-counts"
    assert len(made["posterior"]["draws"]) == made["public"]["draws"] == 150
    assert made["public"]["draws_seed"] == 4
    written = pd.read_csv("draws.csv")
    assert [*written] == made["posterior"]["parameters"]
    ours = np.array(made["posterior"]["draws"])
    assert (written.to_numpy() != ours).any()
    np.testing.assert_array_equal(np.sort(written, axis=0), np.sort(ours, axis=0))
    assert made["cost"] == {"epsilon": 0.5, "delta": 0.0}
    assert printed.startswith(
        "Mechanism: noisy-counts. Counts carry all the information about the shares"
    )
    assert "With 21 values, a share is typically off by" in printed
    assert CANARY not in printed + said
    assert main([*SHARES, "--out", "more.json", "--draws", "draws.csv"]) == 2
    assert "draws = draws.csv: already exists" in capsys.readouterr().err
    data.unlink()
    assert main([*SHARES, "--out", "other.json"]) == 2
    assert "Mechanism: noisy-counts. " in capsys.readouterr().out
