"""Releases that take from a budget, by the command line."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from abcdp_core import pool
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.release import budget_file, output_file


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with a budget, in the folder of the test, which has a series."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(budget_file.PLACE, str(tmp_path / "budgets.db"))
    (tmp_path / "data.csv").write_text("\n".join(str(value) for value in range(30)))
    assert main(["budget", "create", "income", "--epsilon", "0.3", "--unit", "person"]) == 0
    return tmp_path / "budgets.db"


def spend(out: str, *more: str, data: str = "data.csv") -> int:
    asked = ["release", "uniform-mixture", "--data", data, "--domain", "0,30", "--mechanism",
             "sparse-vector", "--pool-size", "100", "--epsilon-total", "0.1", "--budget", "income",
             "--yes", "--out", out]  # fmt: skip
    return main([*asked, *(more or ("--unit", "person"))])


def spent(ledger: Path) -> Decimal:
    reserved = budget_file.account(ledger, "income").reserved.values()
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
    assert "Left: ε = 0 in pure" in said
    assert "2 releases are in the ledger." in said
    assert main(["budget", "create", "b", "--epsilon", "1", "--unit", "day"]) == 0
    assert main(["budget", "show", "b", "--documents", "1.json"]) == 0
    assert "1.json used another budget, income." in capsys.readouterr().out
    assert json.loads((tmp_path / "1.json").read_text())["ledger"]["entry"] == 3
    assert main(["verify", "1.json"]) == 0
    assert "`budget show`" in capsys.readouterr().out


def test_other_units_missing_budgets_and_senseless_amounts_are_one_line(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text('{"ledger": {"budget": "income", "entry": true}}')
    capsys.readouterr()
    assert spend("a.json", "--unit", "day") == 2
    assert spend("a.json", "--budget", "other") == 2
    assert spend("a.json", "--ledger", "none.db") == 2
    assert main(["budget", "create", "x", "--epsilon", "a lot", "--unit", "day"]) == 2
    assert main(["budget", "create", "x", "--epsilon", "1", "--unit", "one person"]) == 2
    for name in ("data.csv", "odd.json", "none.json"):
        assert main(["budget", "show", "income", "--documents", name]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("error: ") for line in lines] == [True] * 8
    assert "is for a person (replace), and this release protects a day" in lines[0]
    assert "has income" in lines[1]
    assert "`budget create`" in lines[2]
    assert "unit = one person: must be a noun without article" in lines[4]
    assert spent(ledger) == 0


def test_the_cost_is_on_the_disk_before_the_data_are_read(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Decimal] = []

    def reading(*_: object) -> None:
        seen.append(spent(ledger))
        raise KeyboardInterrupt

    monkeypatch.setattr("abcdp_core.tabular.content_of", reading)
    assert spend("a.json") == INTERRUPTED
    assert capsys.readouterr().err == "Interrupted; nothing was released.\n"
    assert seen == [Decimal("0.1")]
    assert spent(ledger) == 0, "given back: nothing was released"


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

    monkeypatch.setattr(output_file, "_publish", full)
    assert spend("a.json") == 2
    assert spent(ledger) == Decimal("0.1")
