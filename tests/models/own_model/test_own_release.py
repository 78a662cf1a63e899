"""Releases from records by a model or a pool of one's own, through the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import INTERRUPTED
from abcdp_core.base import registry
from abcdp_core.base.sentences import amount
from abcdp_core.models.own_model import lattice
from abcdp_core.posterior import pool as fixed_pool
from abcdp_core.release import budget_file, procedure
from abcdp_core.release.budget import Budget
from tests.models.own_model import pools
from tests.models.own_model.conftest import Command
from tests.models.own_model.models import KINDS, rewritten, written

pytestmark = pytest.mark.usefixtures("own_registry", "few_simulations")

RECORDS = "\n".join(["code,x,note", *(f"{i % 3},{0.1 * i - 0.7!r},a" for i in range(12))])
CONTRIBUTIONS = "\n".join(
    ["old,young,spent,x", *(f"{i % 2},0,{i / 5!r},{0.1 * i - 0.5!r}" for i in range(50))]
)

POOLS = {
    "pool": pools.TOML,
    "pool, add-remove": pools.ADDED,
    "pool, declared": pools.DECLARED,
    "pool, together": pools.TOGETHER,
    "pool, too much": pools.TOGETHER.replace("l1 = 3.0", "l1 = 1e5"),
}


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], Path]:
    """Write a model, or a pool whose average is of a column of another name."""

    def made(kind: str) -> Path:
        if kind in KINDS:
            return written(kind, tmp_path)
        column = ("[summary.young]", 'column = "x"\n[summary.young]')
        return rewritten(pools.made(tmp_path, POOLS[kind]), column)

    return made


@pytest.fixture
def budget(tmp_path: Path) -> list[str]:
    """Create a budget of 3 and return the options that use it."""
    amounts = map(budget_file.amount, ("e", "d"), ("3", "0"))
    ledger = tmp_path / "ledger.db"
    budget_file.create(ledger, Budget("study", *amounts, "patient", "replace"))
    return ["--budget", "study", "--ledger", str(ledger)]


def left(budget: list[str]) -> Decimal:
    return budget_file.account(Path(budget[-1]), "study").left()


def asked(file: Path, data: str, *more: str, epsilon: str = "1") -> list[str]:
    """Return the command that releases into ``out.json`` beside the model or the pool."""
    records, out = file.with_name("records.csv"), file.with_name("out.json")
    records.write_text(data, encoding="utf-8")
    scenario = [str(file)] if file.suffix == ".toml" else ["own", "--plugin", str(file)]
    return ["release", *scenario, "--data", str(records), "--epsilon-total", epsilon,
            "--number-of-draws", "100", "--yes", "--workers", "1", "--simulations", "1000",
            "--out", str(out), *more]  # fmt: skip


def verify(file: Path) -> list[str]:
    return ["verify", str(file.with_name("out.json")), "--plugin", str(file)]


def released(file: Path) -> Any:
    return json.loads(file.with_name("out.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("kind", "data", "sensitivity"),
    [
        ("replace", RECORDS, 5.0),
        ("add-remove", RECORDS, 2.0),
        ("declared", RECORDS, 1.0),
        ("pool", CONTRIBUTIONS, 4.0),
        ("pool, add-remove", CONTRIBUTIONS, 3.0),
        ("pool, together", "x,young,old,spent\n3.25,4,5,80", 3.0),
    ],
)
def test_a_release_is_verified_and_reported(
    kind: str, data: str, sensitivity: float, source: Callable[[str], Path], command: Command
) -> None:
    file = source(kind)
    code, said = command(asked(file, data))
    assert code == 0
    document = released(file)
    assert document["event"]["sensitivity"] == pytest.approx(sensitivity, rel=1e-8)
    if kind == "pool":
        assert document["release"]["divided_by"] == [lattice.GRID, 1, 1, lattice.GRID]
    code, again = command(verify(file))
    assert code == 0
    assert "DIFFERS" not in again
    page = file.with_name("report.html")
    assert command(["report", *verify(file)[1:], "--out", str(page)])[0] == 0
    text = page.read_text(encoding="utf-8")
    for value in document["release"]["in_their_units"]:
        assert f">{amount(value, 4)}; usual: " in text
    assert f"abcdp verify out.json --plugin {file.name}" in text
    assert document["model"]["sha256"] in text
    if kind == "declared":
        assert "if the sensitivity declared for middle holds" in document["statement"]
        for words in (said, text, " ".join(document["remains"])):
            assert "sensitivity of middle was declared by who wrote the model" in words
    if kind == "add-remove":
        assert "12 records" not in said + text
        assert "How many records there are is protected too." in text
    # Another text of the model, or another number in the table, is another model.
    if file.suffix == ".py":
        rewritten(file, ("\nMODEL", "\n# more\nMODEL"))
    else:
        rewritten(file.with_name("pool.csv"), ("\n0.", "\n0.0"))
    code, said = command(verify(file))
    assert code != 0
    assert "DIFFERS file of the model" in said
    assert command(verify(file)[:2])[0] != 0


def test_several_modes_are_told_before_and_after_a_release(
    source: Callable[[str], Path], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the size of mu is known."""
    monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 60)
    drawn, by_size = "theta[:, :1, None], 1.0", "np.abs(theta[:, :1, None]), 0.1"
    file = rewritten(source("declared"), (drawn, by_size))
    data = "\n".join(["code,x", *(f"1,{0.7 + 0.01 * place}" for place in range(12))])
    code, said = command(asked(file, data, "--simulations", "5000", epsilon="1000"))
    assert code == 0
    assert "expect several modes" in said
    assert "every error is expected" not in said
    posterior = released(file)["posterior"]
    below, above = posterior["regions"]["mu"]
    assert np.abs(np.abs([below, above]) - 0.75).max() < 0.15
    assert below[1] < 0.0 < above[0]
    assert "mu has 2 modes, so its mean says little" in said
    assert re.search(r" mu 2 modes \u22120\.\d+ to \u22120\.\d+ or 0\.\d+ to 0\.\d+ mm 0", said)
    assert "DIFFERS" not in command(verify(file))[1]
    page = file.with_name("report.html")
    assert command(["report", *verify(file)[1:], "--out", str(page)])[0] == 0
    assert re.search(r"<h1>mu: \u22120\.\d+ to .* or 0\.\d+ to 0\.\d+ mm</h1>",
                     page.read_text(encoding="utf-8"))  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "data", "sentence"),
    [
        ("replace", RECORDS.replace("x", "y"), "Column x is missing"),
        ("replace", RECORDS.replace("0,-0.7", "0.5,-0.7"), "row 2 is not a whole number."),
        ("replace", "x,code\n0.5,1", "number of records = 1: must be a whole number from 2"),
        ("replace", RECORDS.replace("-0.7", "0.125"), "cannot be computed (line 18: RuntimeError)"),
        ("add-remove", "x,code\n" + "0.125,1\n" * 31, "more than 30 records"),
        ("declared", RECORDS, "the sensitivity of middle is declared, not derived"),
        ("pool", CONTRIBUTIONS.replace("1,0,", "1,1,", 1), "Record 2: counts twice in group age."),
        ("pool", CONTRIBUTIONS.replace("1,0,", "1,2,", 1), "young, record 2: must be 0 or 1"),
        ("pool", CONTRIBUTIONS.rpartition("\n")[0], "number of records = 49: must be"),
        ("pool, declared", CONTRIBUTIONS, "number of records = 50: must be"),
        ("pool, declared", "x,young,old,spent\n1,2.5,3,4", "Column young: must be a whole number"),
        ("pool, too much", "x,young,old,spent\n3.25,4,5,80", "Δ₁ = 100000"),
    ],
)
def test_what_cannot_be_released_is_refused_without_spending_budget(
    kind: str, data: str, sentence: str, source: Callable[[str], Path], command: Command,
    budget: list[str],
) -> None:  # fmt: skip
    file = source(kind)
    code, said = command(asked(file, data, *(budget if kind in ("replace", "declared") else [])))
    assert code == 2
    assert sentence in said
    # Neither a value nor a private number of records.
    assert not {"0.125", "31"} & {*re.findall(r"[\d.]+", said.replace(str(file.parent), ""))}
    assert not file.with_name("out.json").exists()
    assert left(budget) == 3


def test_consent_to_a_declared_sensitivity_is_in_the_budget(
    source: Callable[[str], Path], command: Command, budget: list[str]
) -> None:
    line = asked(source("declared"), RECORDS, *budget, "--accept-declared-sensitivity")
    assert command(line)[0] == 0
    assert left(budget) == 2
    (claim,) = budget_file.account(Path(budget[-1]), "study").reserved.values()
    assert claim.what.endswith("sensitivity of middle declared")


def test_declared_numbers_of_a_pool_are_released(
    source: Callable[[str], Path], command: Command
) -> None:
    file = source("pool, declared")
    code, said = command(asked(file, "s,x,young,old,spent\n,3.25,4,5,80", epsilon="1000"))
    assert code == 0
    assert "4 numbers of 50 records" in said
    assert "sensitivity of average was declared by who wrote the model" in said
    numbers = released(file)["release"]["in_their_units"]
    assert numbers == pytest.approx([3.25, 4.0, 5.0, 80.0], abs=0.5)


def test_failed_simulations_are_excluded_and_counted(
    source: Callable[[str], Path], command: Command
) -> None:
    file, end = source("replace"), "    return records\n\n\ndef centre"
    rewritten(file, (end, f"    records[theta[:, 0] > 0.5] = np.nan\n{end}"))
    assert command(asked(file, RECORDS))[0] == 2
    assert not file.with_name("out.json").exists()
    rewritten(file, ("    sizes=", '    failures="excluded",\n    sizes='))
    code, said = command(asked(file, RECORDS))
    assert code == 0
    found = released(file)["posterior"]
    # A quarter of 1000 draws fail, within 6 standard deviations.
    assert 165 < found["failed"] < 335
    assert max(mu for (mu,) in found["draws"]) <= 0.5
    assert f"{found['failed']} draws failed" in said
    assert command(verify(file))[0] == 0


def test_an_interrupted_posterior_is_completed_without_data_or_budget(
    source: Callable[[str], Path], command: Command, budget: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = source("replace")
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


def test_a_copy_of_a_pool_verifies_and_two_of_one_name_are_refused(
    source: Callable[[str], Path], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = source("pool")
    assert command(asked(file, CONTRIBUTIONS))[0] == 0
    copy = file.with_name("pool (1).toml")
    copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(registry, "_given", {})
    registry.forget()
    code, said = command(verify(copy))
    assert code == 0
    assert "not recomputed: the name of the file of the model" in said
    code, said = command([*verify(copy), "--plugin", str(file)])
    assert code == 2
    assert "two plug-ins are called 'mine'" in said
