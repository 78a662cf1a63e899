from __future__ import annotations

import builtins
import errno
import io
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core import interruption, pool
from abcdp_core.__main__ import INTERRUPTED, main, values_in_one
from abcdp_core.commands import release as command
from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.own_data import place, release, sparse_vector
from abcdp_core.own_data.document import KEYS
from abcdp_core.own_data.sparse_vector import (
    SparseVectorDocument,
    SparseVectorRequest,
    largest_file,
)

ROOT = Path(__file__).resolve().parents[2]
CANARY = "48.151623"
SERIES = "cases\r\n" + "".join(f"{7 * day % 90}\r\n" for day in range(20)) + f"{CANARY}\r\n"
SMALL = ["--pool-size", "200", "--epsilon-total", "0.5", "--domain", "0,100"]


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


def typed(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))


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


def test_a_release_is_written_and_what_it_cost_is_said(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spend("--yes") == 0
    printed, said = capsys.readouterr()
    made = content(data.with_name("out.json"))
    assert "This spends ε_total = 0.5" in printed
    assert "21 values" in printed
    assert made["statement"] in printed
    assert "Written to out.json" in printed
    assert CANARY not in printed + said
    assert made.keys() >= set(KEYS)
    assert made["n"] == 21
    assert made["cost"]["epsilon"] <= 0.5
    assert sorted(file.name for file in data.parent.iterdir()) == ["data.csv", "out.json"]


def test_every_option_is_asked_for(data: Path) -> None:
    assert spend(
        "--yes", "--epsilon-abc", "0.3", "--c", "2", "--distance", "pairs", "--bandwidth", "500",
        "--resample", "--pool-seed", "9", "--domain", "-5,99.5",
    ) == 0  # fmt: skip
    assert content(data.with_name("out.json"))["public"] == {
        "scenario": "covid", "low": -5.0, "high": 99.5, "epsilon_total": 0.5, "epsilon_abc": 0.3,
        "c": 2, "pool_size": 200, "distance": "pairs", "bandwidth": 500.0, "resample": True,
        "pool_seed": 9, "scenario_domain": [0.0, 5000.0],
    }  # fmt: skip


@pytest.mark.parametrize("given", [["--domain", "-5,10"], ["--domain=-5,10"]])
def test_a_domain_may_begin_with_a_minus(given: list[str]) -> None:
    assert values_in_one(["a", *given, "--yes"]) == ["a", "--domain=-5,10", "--yes"]
    assert values_in_one(["a", "--domain"]) == ["a", "--domain"]
    assert values_in_one(["--domain", "--yes", "a", "-1"]) == ["--domain", "--yes", "a", "-1"]


# ------------------------------------------------------------------------ being asked


@pytest.mark.parametrize("answer", ["y\n", "Y\n", " yes \n"])
def test_yes_spends_it(answer: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, answer)
    assert spend() == 0
    assert data.with_name("out.json").exists()


@pytest.mark.parametrize("answer", ["\n", "n\n", "no\n", "spend\n", ""])
def test_anything_else_spends_nothing(
    answer: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, answer)
    monkeypatch.delattr(release, "spend")
    assert spend() == 2
    assert "not confirmed; nothing was released" in one_line(capsys)
    assert not data.with_name("out.json").exists()


def test_without_a_terminal_yes_has_to_be_said_on_the_command_line(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    monkeypatch.delattr(release, "spend")
    assert spend() == 2
    assert "say --yes" in one_line(capsys)
    assert not data.with_name("out.json").exists()


# ------------------------------------------------------------------------- the file


def test_a_release_is_never_written_over(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spend("--yes") == 0
    paid_for = data.with_name("out.json").read_bytes()
    capsys.readouterr()
    assert spend("--yes") == 2
    assert "out = out.json: is there already" in one_line(capsys)
    assert data.with_name("out.json").read_bytes() == paid_for


def test_the_data_are_never_written_over(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spend("--yes", "--out", "data.csv") == 2
    assert "is there already" in one_line(capsys)
    assert data.read_bytes().decode() == SERIES


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_disk_without_room_spends_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.delattr(release, "spend")
    assert spend("--yes") == 2
    assert "(No space left on device); nothing was released." in one_line(capsys)
    assert [file.name for file in data.parent.iterdir()] == ["data.csv"]


def test_what_is_paid_for_and_cannot_be_written_is_printed(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(place, "_publish", full)
    assert spend("--yes") == 2
    printed, said = capsys.readouterr()
    assert said == (
        "error: out = out.json: cannot be written (No space left on device); "
        "ε_total = 0.5 is spent; what was released is on standard output.\n"
    )
    assert json.loads(printed[printed.index("\n{") :])["cost"]["epsilon"] <= 0.5
    assert [file.name for file in data.parent.iterdir()] == ["data.csv"]


def test_there_is_room_for_the_largest_document() -> None:
    c = 1000
    request = SparseVectorRequest.from_text(
        {"scenario": "uniform-mixture", "low": "0", "high": "1", "epsilon_total": "0.1",
         "pool_size": "100000", "c": str(c)}
    )  # fmt: skip
    theta = np.full((c, 5), -1.2345678901234567e-300)
    event = SparseVector(0.1, 1.5, 3.0, c, False)
    made = Release(np.arange(99_000, 99_000 + c), np.full(c, 1.0 / c), 100_000, event)
    text = SparseVectorDocument(request, 10_000, made, theta).to_json()
    assert largest_file(request) == 20_000 + 36 * c * (3 + 2 * 5)
    assert 0.5 * largest_file(request) < len(text.encode()) < largest_file(request)


# ----------------------------------------------------------------------- bad input

BAD = [
    ("--domain 5", "domain = 5: must be LOW,HIGH"),
    ("--domain 1,2,3", "domain = 1,2,3: must be LOW,HIGH"),
    ("--domain 5,1", "high = 1: must be above low = 5"),
    ("--domain a,b", "low = a: must be a number"),
    ("--domain nan,1", "low = nan: must be a number"),
    ("--domain", "--domain: expected one argument"),
    ("--epsilon-total inf", "epsilon_total = inf: must be a number from 0.001 to 1000"),
    ("--epsilon-total lots", "epsilon_total = lots"),
    ("--c 2.5", "c = 2.5: must be a whole number"),
    ("--c 500", "c = 500: must be a whole number from 1 to pool_size = 200"),
    ("--distance none", "distance = none: must be one of values, pairs"),
    ("--bandwidth -1", "bandwidth = -1: must be a number from 100 to 10000"),
    ("--pool-size 1", "pool_size = 1"),
    ("--pool-seed x", "pool_seed = x"),
    ("--data missing.csv", "data = missing.csv: cannot be read (No such file or directory)"),
    ("--data .", "data = .: is a folder"),
    ("--epsilon-total 1_0", "epsilon_total = 1_0: must be a number"),
    ("--out missing/out.json", "out = missing/out.json: cannot be written (No such file"),
    ("--seed 1", "unrecognized arguments: --seed 1"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[bad[0] for bad in BAD])
def test_what_is_wrong_is_said_in_one_line(
    arguments: str, sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spend("--yes", *arguments.split()) == 2
    assert sentence in one_line(capsys)
    assert [file.name for file in data.parent.iterdir()] == ["data.csv"]


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_for_data_is_not_waited_for(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert spend("--yes", "--data", "pipe") == 2
    assert "data = pipe: is a pipe, a socket or a device: give a file" in one_line(capsys)
    assert not data.with_name("out.json").exists()


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [("tuberculosis", "takes no data of your own"), ("moon", "must be one of covid, covid-people")],
)
def test_another_scenario_is_an_error(
    scenario: str, sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", scenario, "--data", "data.csv", *SMALL, "--out", "o", "--yes"]) == 2
    assert sentence in one_line(capsys)


@pytest.mark.parametrize("missing", ["--domain", "--epsilon-total", "--data", "--out"])
def test_what_nobody_else_can_choose_has_to_be_given(
    missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"--data": "d.csv", "--domain": "0,1", "--epsilon-total": "1", "--out": "o.json"}
    arguments = [f"{option}={value}" for option, value in given.items() if option != missing]
    assert main(["release", "covid", *arguments]) == 2
    assert missing in one_line(capsys)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{CANARY}\n{CANARY}x\n", "data = data.csv: Row 2 is not a number"),
        (f"{CANARY},{CANARY}\n", "data = data.csv: Row 1 has more than one column"),
        ("N/A\n" + f"{CANARY}\n" * 20, "data = data.csv: Row 1 is a missing or infinite value"),
        ("O.5\n" + f"{CANARY}\n" * 20, "data = data.csv: Row 1 is not a number like 12.5"),
        (f"{CANARY}\n" * 3, "number of values = 3: must be a whole number from 4 to 100"),
        (f"{CANARY}\n" * 101, "The file has 101 values: at most 100 are allowed"),
        ("", "The file is empty"),
    ],
)
def test_what_is_wrong_with_the_data_is_said_without_a_value(
    text: str, sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(text, encoding="utf-8")
    assert spend("--yes") == 2
    assert sentence in one_line(capsys)
    assert not data.with_name("out.json").exists()


# -------------------------------------------------------------------------- Ctrl-C


def interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["question", "pool", "noise"])
def test_ctrl_c_leaves_nothing_and_says_so(
    where: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, "y\n")
    stopped: dict[str, tuple[Any, str]] = {
        "question": (builtins, "input"),
        "pool": (pool, "build"),
        "noise": (sparse_vector, "release_exactly"),
    }
    monkeypatch.setattr(*stopped[where], interrupt)
    assert spend() == INTERRUPTED
    printed, said = capsys.readouterr()
    assert said == "Interrupted; nothing was released.\n"
    assert CANARY not in printed
    assert not data.with_name("out.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", interruption.NUMBERS)
@pytest.mark.parametrize("where", ["noise", "document", "place", "summary"])
def test_a_signal_once_it_is_spent_says_so_and_where_it_is(
    where: str,
    number: signal.Signals,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places: dict[str, tuple[Any, str]] = {
        "noise": (sparse_vector, "release_exactly"),
        "document": (SparseVectorDocument, "to_json"),
        "place": (place, "_publish"),
        "summary": (SparseVectorDocument, "summary"),
    }
    owner, name = places[where]
    original = getattr(owner, name)

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(number)
        return "The summary." if where == "summary" else original(*arguments)

    changed = property(interrupted) if where == "summary" else interrupted
    monkeypatch.setattr(owner, name, changed)
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, number)}
    signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert spend("--yes") == 128 + number
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
    said = capsys.readouterr().err
    word = interruption.NUMBERS[number]
    assert said == f"{word}; ε_total = 0.5 is spent; what was released is in out.json.\n"
    assert content(data.with_name("out.json"))["cost"]["epsilon"] <= 0.5
    assert sorted(file.name for file in data.parent.iterdir()) == ["data.csv", "out.json"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_twice_says_once_what_is_spent(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command._Stand.words

    def again(stand: Any, error: BaseException) -> str:
        signal.raise_signal(signal.SIGINT)
        return words(stand, error)

    monkeypatch.setattr(pool, "build", lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(command._Stand, "words", again)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert spend("--yes") == INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "Interrupted; nothing was released.\n"


class Closed(io.StringIO):
    """Standard output that takes so many lines and no more."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines

    def flush(self) -> None:
        if self.getvalue().count("\n") > self.lines:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (0, "nothing was released."),
        (2, "ε_total = 0.5 is spent; what was released is in out.json."),
    ],
)
def test_a_closed_pipe_says_what_is_spent(
    lines: int,
    sentence: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdout", Closed(lines))
    assert spend("--yes") == 141
    reason = "standard output cannot be written (Broken pipe)"
    assert capsys.readouterr().err == f"error: {reason}; {sentence}\n"
    assert data.with_name("out.json").exists() == (lines > 1)


@pytest.mark.parametrize("raised", ["by Python", "by NumPy"])
def test_a_lack_of_memory_says_what_is_spent(
    raised: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def large(*_: Any) -> None:
        if raised == "by NumPy":
            np.empty(10**17)
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr(pool, "build", large)
    assert spend("--yes") == 1
    said = one_line(capsys)
    assert said == "error: there is not enough memory; nothing was released.\n"
    assert not data.with_name("out.json").exists()


def test_a_system_without_threads_left_says_what_is_spent(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    typed(monkeypatch, "y\n")
    monkeypatch.setattr(pool.ThreadPoolExecutor, "_adjust_thread_count", none_left)
    assert spend("--pool-seed", "77") == 1
    assert one_line(capsys) == (
        "error: the public pool cannot be made (can't start new thread); nothing was released.\n"
    )
    assert not data.with_name("out.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
def test_in_a_terminal_it_asks_shows_a_bar_and_stops_at_ctrl_c(data: Path) -> None:
    import fcntl
    import pty
    import termios

    # Enough work for many seconds, of which there will be few.
    data.write_text(f"{CANARY}\n" * 2000, encoding="utf-8")
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "abcdp_core", "release", "uniform-mixture", "--data", str(data),
         "--mechanism", "sparse-vector",
         "--domain", "0,100", "--epsilon-total", "1", "--pool-size", "100000",
         "--out", str(data.with_name("out.json"))],
        cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        # Tests started in the background inherit that Ctrl-C is ignored; a terminal's do not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    os.close(terminal)
    shown = bytearray()
    reader = threading.Thread(target=_read_to_end, args=(ours, shown))
    reader.start()
    _wait_until(lambda: b"[y/N]" in shown, process)
    os.write(ours, b"y\n")
    _wait_until(lambda: b"Public pool" in shown, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == INTERRUPTED
    reader.join()
    os.close(ours)
    text = shown.decode(errors="replace")
    assert "nothing was released" in text
    assert "Traceback" not in text
    assert CANARY not in text
    assert not data.with_name("out.json").exists()


def _read_to_end(terminal: int, shown: bytearray) -> None:
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            # Linux ends a terminal that nobody writes to any more with an error.
            return
        if not part:
            return
        shown += part


def _wait_until(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


# ------------------------------------------------------------------------ the mechanism

SHARES = ["release", "uniform-mixture", "--data", "data.csv", "--domain", "0,100",
          "--epsilon-total", "0.5", "--out", "out.json", "--yes"]  # fmt: skip


def test_the_recommended_mechanism_is_taken_and_the_reason_said_before_the_file_is_opened(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # It needs no pool.
    monkeypatch.delattr(pool, "build")
    assert main([*SHARES, "--draws", "150", "--draws-seed", "4"]) == 0
    printed, said = capsys.readouterr()
    made = content(data.with_name("out.json"))
    assert made["mechanism"] == "noisy-counts"
    assert len(made["posterior"]["draws"]) == made["public"]["draws"] == 150
    assert made["public"]["draws_seed"] == 4
    assert made["cost"] == {"epsilon": 0.5, "delta": 0.0}
    assert printed.startswith("By noisy-counts: Counts say all that the values say")
    assert "With 21 values a share is expected to be off by at most" in printed
    assert CANARY not in printed + said
    data.unlink()
    assert main([*SHARES, "--out", "other.json"]) == 2
    assert "By noisy-counts: " in capsys.readouterr().out


def test_another_mechanism_is_named_and_the_recommended_one_said(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHARES, "--mechanism", "sparse-vector", "--pool-size", "200"]) == 0
    assert content(data.with_name("out.json"))["mechanism"] == "sparse-vector"
    printed = capsys.readouterr().out
    assert "By sparse-vector: " in printed
    assert "Recommended is noisy-counts: " in printed
    assert "run error-by-size --set scenario=uniform-mixture" in printed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--c 5", "c = 5: is an option of sparse-vector, and this release is by noisy-counts"),
        ("--resample", "resample = true: is an option of sparse-vector"),
        (
            "--mechanism sparse-vector --draws 500",
            "draws = 500: is an option of noisy-counts, and this release is by sparse-vector",
        ),
        ("--mechanism moon", "for uniform-mixture it must be noisy-counts or sparse-vector"),
        ("--draws 1e9", "draws = 1e+09: must be a whole number from 100 to 10000"),
    ],
)
def test_what_does_not_go_with_a_mechanism_is_said_in_one_line(
    arguments: str, sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHARES, *arguments.split()]) == 2
    assert sentence in one_line(capsys)
    assert [file.name for file in data.parent.iterdir()] == ["data.csv"]


def test_noisy_counts_are_taken_from_a_budget_like_any_release(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = ["--ledger", "budgets.db"]
    assert main(["budget", "create", "incomes", "--epsilon", "0.6", "--unit", "value",
                 "--neighbours", "replace", *ledger]) == 0  # fmt: skip
    assert main([*SHARES, "--budget", "incomes", *ledger]) == 0
    capsys.readouterr()
    assert main([*SHARES, "--budget", "incomes", *ledger, "--out", "other.json"]) == 2
    assert "0.5 does not fit; 0.1 is left of 0.6" in one_line(capsys)
    assert main(["verify", "out.json"]) == 0
    assert "`budget show`" in capsys.readouterr().out
    assert main(["budget", "show", "incomes", *ledger, "--documents", "out.json"]) == 0
    assert "noisy-counts, from 0 to 100" in capsys.readouterr().out
