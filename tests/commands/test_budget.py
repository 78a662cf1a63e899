"""Releases that take from a budget, by the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from abcdp_core import pool
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.own_data import budget_ledger, ledger_file, place


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with a budget, in the folder of the test, which has a series."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(budget_ledger.PLACE, str(tmp_path / "budgets.db"))
    (tmp_path / "data.csv").write_text("\n".join(str(value) for value in range(30)))
    assert main(["budget", "create", "income", "--epsilon", "0.3", "--unit", "person"]) == 0
    return tmp_path / "budgets.db"


def spend(out: str, *more: str, data: str = "data.csv") -> int:
    asked = ["release", "uniform-mixture", "--data", data, "--domain", "0,30", "--mechanism",
             "sparse-vector", "--pool-size", "100", "--epsilon-total", "0.1", "--budget", "income",
             "--yes", "--out", out]  # fmt: skip
    return main([*asked, *(more or ("--unit", "person"))])


def spent(ledger: Path) -> Decimal:
    reserved = budget_ledger.account(ledger, "income").reserved.values()
    return sum((claim.epsilon for claim in reserved), Decimal(0))


def test_three_releases_fit_and_a_fourth_is_refused(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [spend(f"{number}.json") for number in range(4)] == [0, 0, 0, 2]
    assert "0.1 does not fit; 0 is left of 0.3" in capsys.readouterr().err
    assert not (tmp_path / "3.json").exists()
    assert main(["budget", "show", "income", "--documents", "0.json", "2.json"]) == 0
    said = capsys.readouterr().out
    assert said.count("release uniform-mixture") == 3
    assert said.count("one person declared to have one value") == 3
    assert "Left: ε = 0 for" in said
    assert "All 2 documents are in the ledger" in said
    assert main(["budget", "show", "income", "--documents", "1.json"]) == 0
    said = capsys.readouterr().out
    assert "The document is in the ledger." in said
    assert "another budget" not in said
    assert main(["budget", "create", "b", "--epsilon", "1", "--unit", "day"]) == 0
    assert main(["budget", "show", "b", "--documents", "1.json"]) == 0
    assert "1.json was taken from another budget, income." in capsys.readouterr().out
    written = json.loads((tmp_path / "1.json").read_text())
    assert written["ledger"]["entry"] == 3


def test_other_units_missing_budgets_and_senseless_amounts_are_one_line(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert spend("a.json", "--unit", "day") == 2
    assert spend("a.json", "--budget", "other") == 2
    assert spend("a.json", "--ledger", "none.db") == 2
    assert main(["budget", "create", "x", "--epsilon", "a lot", "--unit", "day"]) == 2
    assert main(["budget", "show", "income", "--documents", "data.csv"]) == 2
    assert main(["budget", "create", "x", "--epsilon", "1", "--unit", "one person"]) == 2
    said = capsys.readouterr().err
    lines = said.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("error: ") for line in lines)
    assert "is for a person (replace), and this release protects a day" in lines[0]
    assert "has income" in lines[1]
    assert "`budget create` makes one" in lines[2]
    assert "unit = one person: is a noun by itself" in lines[5]
    assert spent(ledger) == 0


@pytest.mark.parametrize(
    "text",
    [
        '{"ledger": {"budget": "income", "entry": 1e999, "digest": ""}}',
        '{"ledger": {"budget": "income", "entry": 1.5, "digest": ""}}',
        '{"ledger": {"budget": "income", "entry": true, "digest": ""}}',
        '{"ledger": {}, "ledger": {"budget": "income", "entry": 1, "digest": ""}}',
        "[" * 100_000,
    ],
)
def test_a_document_that_is_none_is_one_line(
    ledger: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text(text)
    assert main(["budget", "show", "--documents", "odd.json"]) == 2
    assert capsys.readouterr().err == "error: documents = odd.json: says nothing of a ledger.\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_is_no_document_and_is_not_waited_for(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["budget", "show", "--documents", "pipe"]) == 2
    assert "documents = pipe: says nothing" in capsys.readouterr().err
    for name, what in (("none.json", "there is no such file"), ("x" * 300, "says nothing")):
        assert main(["budget", "show", "--documents", name]) == 2
        assert f"{name[-9:]}: {what}" in capsys.readouterr().err


def test_the_cost_is_on_the_disk_before_the_data_are_read(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Decimal] = []

    def reading(*_: object) -> None:
        seen.append(spent(ledger))
        raise KeyboardInterrupt

    monkeypatch.setattr("abcdp_core.own_data.series.content_of", reading)
    assert spend("a.json") == INTERRUPTED
    assert seen == [Decimal("0.1")]
    assert spent(ledger) == 0, "given back: nothing was released"


@pytest.mark.parametrize("number", range(5))
def test_who_interrupts_a_change_of_the_ledger_is_told_that_it_may_count(
    number: int, ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Be it that the cost is taken, or given back as a signal came before."""
    seen = 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def synced(handle: int, sync: Callable[[int], None] = os.fsync) -> None:
        nonlocal seen
        sync(handle)
        seen += 1
        if seen == number:
            interrupt()

    monkeypatch.setattr("abcdp_core.own_data.series.content_of", interrupt)
    monkeypatch.setattr(ledger_file.os, "fsync", synced)
    monkeypatch.setattr(ledger_file, "sync", lambda _: None)
    monkeypatch.setattr(place, "_fill", lambda *_: None)
    assert spend("a.json") == INTERRUPTED
    assert seen == (number or 4)
    said, counts = capsys.readouterr().err, spent(ledger) > 0
    nothing = "Interrupted; nothing was released"
    told = f"{nothing}, and yet its cost may count as spent: `budget show` tells.\n"
    assert said == (told if number else f"{nothing}.\n")
    assert counts == (number in (2, 3))


def test_what_fails_before_noise_is_drawn_costs_nothing_and_afterwards_it_does(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words.csv").write_text("a\nb\nc\n")
    assert spend("a.json", "--unit", "person", data="words.csv") == 2
    with monkeypatch.context() as patch:
        patch.setattr(pool, "build", lambda *_: (_ for _ in ()).throw(MemoryError))
        assert spend("a.json") == 1
    assert spent(ledger) == 0

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(place, "_publish", full)
    assert spend("a.json") == 2
    assert spent(ledger) == Decimal("0.1")
