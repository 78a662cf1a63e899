"""Releases from records by a model or a pool of one's own, through the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from abcdp_core import registry
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.own_model import lattice
from abcdp_core.release import budget_file, procedure
from abcdp_core.release.budget import Budget
from tests.own_model import pools
from tests.own_model.models import KINDS, rewritten, written

pytestmark = pytest.mark.usefixtures("own_registry", "few_simulations")

RECORDS = "\n".join(["code,x,note", *(f"{i % 3},{0.1 * i - 0.7!r},a" for i in range(12))])


Command = Callable[[list[str]], tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command and return its code and output."""

    def done(line: list[str]) -> tuple[int, str]:
        capsys.readouterr()
        code = main(line)
        return code, "".join(capsys.readouterr())

    return done


@pytest.fixture
def budget(tmp_path: Path) -> list[str]:
    """Create a budget of 3 and return the options that use it."""
    amounts = map(budget_file.amount, ("e", "d"), ("3", "0"))
    ledger = tmp_path / "ledger.db"
    budget_file.create(ledger, Budget("study", *amounts, "patient", "replace"))
    return ["--budget", "study", "--ledger", str(ledger)]


def left(budget: list[str]) -> Decimal:
    return budget_file.account(Path(budget[-1]), "study").left()


def asked(
    file: Path, data: str = RECORDS, *more: str, scenario: str = "own", epsilon: str = "1"
) -> list[str]:
    """Return the command that releases into ``out.json`` beside the model or the pool."""
    records, out = file.with_name("records.csv"), file.with_name("out.json")
    records.write_text(data, encoding="utf-8")
    scenario, plugin = (str(file), []) if file.suffix == ".toml" else (scenario, by(file))
    return ["release", scenario, *plugin, "--data", str(records), "--epsilon-total", epsilon,
            "--number-of-draws", "100", "--yes", "--workers", "1", "--simulations", "1000",
            "--out", str(out), *more]  # fmt: skip


def by(file: Path) -> list[str]:
    return ["--plugin", str(file)]


def verify(file: Path) -> list[str]:
    return ["verify", str(file.with_name("out.json")), *by(file)]


def released(file: Path) -> Any:
    return json.loads(file.with_name("out.json").read_text(encoding="utf-8"))


def reported(command: Command, file: Path) -> str:
    page = file.with_name("report.html")
    line = ["report", str(file.with_name("out.json")), *by(file), "--out", str(page)]
    assert command(line)[0] == 0
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_verified_and_reported(kind: str, tmp_path: Path, command: Command) -> None:
    file = written(kind, tmp_path)
    code, said = command(asked(file))
    assert code == 0
    assert "error to expect" in said
    document = released(file)
    assert document["model"]["file"] == "ours.py"
    assert ("n" in document) == (kind == "replace")
    code, again = command(verify(file))
    assert code == 0
    assert "DIFFERS" not in again
    text = reported(command, file)
    assert "abcdp verify out.json --plugin ours.py" in text
    assert document["model"]["sha256"] in text
    if kind == "declared":
        assert "if the sensitivity declared for middle holds" in document["statement"]
        for words in (" ".join(said.split()), text, " ".join(document["remains"])):
            assert "sensitivity of middle was declared by who wrote the model" in words
    if kind == "add-remove":
        assert "12 records" not in said + text
        assert "How many records there are is protected too." in text
        more = asked(file, "x,code\n" + "0.5,1\n" * 31)
        code, said = command([*more, "--out", str(tmp_path / "more.json")])
        assert code == 2
        assert "more than 30 records" in said
        assert "31" not in said.replace(str(tmp_path), "")
    # Another text of the model is another model.
    rewritten(file, ("\nMODEL", "\n# more\nMODEL"))
    code, said = command(verify(file))
    assert code != 0
    assert "DIFFERS  file of the model" in said
    assert "was made with another file of the model, perhaps" in said
    assert command(verify(file)[:2])[0] != 0


def test_failed_simulations_are_excluded_and_counted(tmp_path: Path, command: Command) -> None:
    file = written("replace", tmp_path)
    end = "    return records\n\n\ndef centre"
    rewritten(file, (end, f"    records[theta[:, 0] > 0.5] = np.nan\n{end}"))
    assert command(asked(file))[0] == 2
    assert not file.with_name("out.json").exists()
    rewritten(file, ("    sizes=", '    failures="excluded",\n    sizes='))
    code, said = command(asked(file))
    assert code == 0
    found = released(file)["posterior"]
    # A quarter of 1000 draws fail, within 6 standard deviations.
    assert 165 < found["failed"] < 335
    assert max(mu for (mu,) in found["draws"]) <= 0.5
    assert f"{found['failed']} draws failed" in said
    assert command(verify(file))[0] == 0


def test_an_interrupted_posterior_is_completed_without_data_or_budget(
    tmp_path: Path, command: Command, budget: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written("replace", tmp_path)
    line = asked(file, RECORDS, *budget)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(procedure, "complete", stopped)
        assert command(line)[0] == INTERRUPTED
    before = released(file)
    assert before["posterior"] is None
    assert command(verify(file))[0] == 0
    file.with_name("records.csv").unlink()
    # Another model cannot continue the file.
    rewritten(file, ('"m", centre, -2.0', '"m", centre, -1.0'))
    assert command(line)[0] == 2
    assert released(file) == before
    rewritten(file, ('"m", centre, -1.0', '"m", centre, -2.0'))
    assert command(line)[0] == 0
    after = released(file)
    assert after["posterior"] is not None
    assert after | {"posterior": None} == before
    assert left(budget) == 2
    assert command(verify(file))[0] == 0


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (RECORDS.replace("x", "y"), "Column x is missing"),
        (RECORDS.replace("-0.7", "NaN"), "Column x, row 2 is missing"),
        (RECORDS.replace("0,-0.7", "0.5,-0.7"), "Column code, row 2 is not a whole number."),
        (RECORDS.replace("-0.7,a", "-0.7,a,b"), "Row 2 has 4 fields, and the first row 3."),
        ("x,code\n0.5,1", "number of records = 1: must be a whole number from 2"),
        (RECORDS.replace("-0.7", "0.125"),
         "ours.py: statistic m of record 1 cannot be computed (line 16: RuntimeError); nothing"),
    ],
)  # fmt: skip
def test_invalid_records_are_refused_without_spending_budget(
    data: str, sentence: str, tmp_path: Path, command: Command, budget: list[str]
) -> None:
    file = written("replace", tmp_path)
    code, said = command(asked(file, data, *budget))
    assert code == 2
    assert sentence in said
    assert "0.125" not in said
    assert not file.with_name("out.json").exists()
    assert left(budget) == 3


def test_a_budget_needs_consent_to_a_declared_sensitivity(
    tmp_path: Path, command: Command, budget: list[str]
) -> None:
    file = written("declared", tmp_path)
    code, said = command(asked(file, RECORDS, *budget))
    assert code == 2
    assert "the sensitivity of middle is declared, not derived" in said
    assert left(budget) == 3
    assert command(asked(file, RECORDS, *budget, "--accept-declared-sensitivity"))[0] == 0
    assert left(budget) == 2
    (claim,) = budget_file.account(Path(budget[-1]), "study").reserved.values()
    assert claim.what.endswith("sensitivity of middle declared")


@pytest.fixture
def pool(tmp_path: Path) -> Callable[[str], Path]:
    """Write a pool whose average is of a column of another name."""

    def made(toml: str) -> Path:
        return rewritten(
            pools.made(tmp_path, toml), ("[summary.young]", 'column = "x"\n[summary.young]')
        )

    return made


CONTRIBUTIONS = "\n".join(
    ["old,young,spent,x", *(f"{i % 2},0,{i / 5!r},{0.1 * i - 0.5!r}" for i in range(50))]
)


@pytest.mark.parametrize(("toml", "sensitivity"), [(pools.TOML, 4.0), (pools.ADDED, 3.0)])
def test_a_pool_releases_and_verifies(
    toml: str, sensitivity: float, pool: Callable[[str], Path], command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = pool(toml)
    assert command(asked(file, CONTRIBUTIONS))[0] == 0
    document = released(file)
    assert document["event"]["sensitivity"] == sensitivity
    assert document["release"]["divided_by"] == [lattice.GRID, 1, 1, lattice.GRID]
    assert command(verify(file))[0] == 0
    assert "verify out.json --plugin pool.toml" in reported(command, file)
    copy = file.with_name("pool (1).toml")
    copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(registry, "_added", [])
    registry.forget()
    code, said = command(verify(copy))
    assert code == 0
    assert "not recomputed: the name of the file of the model" in said
    code, said = command([*verify(copy), *by(file)])
    assert code == 2
    assert "two plug-ins are called 'mine'" in said
    # Another number in the table is another pool.
    copy.unlink()
    rewritten(file.with_name("pool.csv"), ("\n0.", "\n0.0"))
    assert command(verify(file))[0] != 0


def test_a_declared_pool_needs_a_file_of_numbers(
    pool: Callable[[str], Path], command: Command
) -> None:
    file = pool(pools.DECLARED)
    for data, words in (
        (CONTRIBUTIONS, "number of records = 50: must be"),
        ("x,young,old,spent\n1,2.5,3,4", "Column young: must be a whole number, as young is a c"),
        ("x,young,old,spent", "no row of numbers|number of records = 0"),
    ):
        code, said = command(asked(file, data))
        assert code == 2
        assert re.search(words, said)
    code, said = command(asked(file, "s,x,young,old,spent\n,3.25,4,5,80", epsilon="1000"))
    assert code == 0
    assert "4 numbers of 50 records" in said
    assert "sensitivity of average was declared by who wrote the model" in " ".join(said.split())
    numbers = released(file)["release"]["in_their_units"]
    assert numbers == pytest.approx([3.25, 4.0, 5.0, 80.0], abs=0.5)


@pytest.mark.parametrize(
    ("l1", "code", "words"),
    [("1e5", 2, "Δ₁ = 100000"), ("0.0001", 0, "with Δ₁ = 0.0001.")],
)
def test_a_sensitivity_declared_for_all_numbers_is_stated_or_refused(
    l1: str, code: int, words: str, pool: Callable[[str], Path], command: Command
) -> None:
    stated = pools.TOGETHER.replace("l1 = 3.0", f"l1 = {l1}").replace("l2 = 2.0", f"l2 = {l1}")
    file = pool(stated)
    found, said = command(asked(file, "x,young,old,spent\n3.25,4,5,80"))
    assert found == code
    assert words in said
    # The numbers have no units.
    assert "in units of the most that one record moves it" not in said
    assert code == 2 or command(verify(file))[0] == 0


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (CONTRIBUTIONS.replace("1,0,", "1,1,", 1), "Record 2: counts twice in group age."),
        (CONTRIBUTIONS.replace("1,0,", "1,2,", 1), "Column young, record 2: must be 0 or 1"),
        (CONTRIBUTIONS.rpartition("\n")[0], "number of records = 49: must be"),
        (CONTRIBUTIONS.replace(",-0.4", ","), "Column x, row 3 is missing"),
    ],
)
def test_invalid_contributions_are_refused(
    data: str, sentence: str, pool: Callable[[str], Path], command: Command
) -> None:
    code, said = command(asked(pool(pools.TOML), data))
    assert code == 2
    assert sentence in said
