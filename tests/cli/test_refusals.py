"""What is not possible is one line, which names it, and leaves no file and no value behind."""

from __future__ import annotations

import json
import random
import shlex
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.cli.console import LONGEST_ERROR
from abcdp_core.release import budget_file, procedure
from abcdp_core.release.budget import Budget
from abcdp_core.release.noisy_counts import NoisyCountsRequest

RUN = "run posterior --out out"
PLAN = "plan uniform-mixture --n 120 --pool-size 60 --runs 2 --workers 1"
RELEASE = "release covid --data data.csv --pool-size 200 --epsilon-total 0.5 --domain 0,100 --yes"
VALUES = f"{RELEASE} --out o --data"
PAID = (
    "release uniform-mixture --data data.csv --epsilon-total 0.1 --domain 0,100 --yes --out o "
    "--budget income"
)
REPORT = "report release.json --out report.html"
CANARY = "48.151623"

CASES = [
    ("", "COMMAND"),
    ("fly\x1b[31m" + "y" * 9000, "invalid choice"),
    ("run", "EXPERIMENT"),
    (f"{RUN} --sett c=1", "unrecognized arguments: --sett c=1"),
    ("run nothing --out out", "experiment = nothing: must be one of accounting, "),
    ("run \x1b[31mred\x07 --out out", "experiment = ?[31mred?: must be one of"),
    ("run adaptive-truncation --preset y23-figure-1 --out out", "retired; use y23-figure-2 of"),
    ("run mse-curves --set c= --out out", "c = empty list: "),
    (f"{RUN} --set c=ten", "c = ten: must be a whole number from 1 to 1000"),
    (f"{RUN} --set n", "set = n: must be key=value"),
    (f"{RUN} --set wrong{'g' * 9000}=1", "known are scenario, "),
    (f"{RUN} --seed \u0661\u0662", "seed = \u0661\u0662: must be a whole number from 0"),
    (f"{RUN} --formats gif", "formats = gif: must be"),
    (f"{RUN} --workers 0", "workers = 0: must be a whole number from 1 to 1024"),
    (f"{RUN} --workers 2 --scheduler a:1", "--scheduler: not allowed with"),
    (f"{RUN} --scheduler nowhere", "scheduler = nowhere: must be the address of a Dask scheduler"),
    (f"{RUN} --out=", "--out: must not be empty"),
    (f"{RUN} --out=data.csv/x", "out = data.csv/x: must be a folder that can be written ("),
    (f"{RUN} --out={'long' * 2000}", "must be a folder that can be written"),
    (f"{PLAN} --probability 0.9", "probability = 0.9: needs --error-below"),
    (f"{PLAN} --mechanism private-summary-large-unit", "cannot serve uniform-mixture"),
    ("plan uniform", "scenario = uniform: must be one of uniform-mixture"),
    (f"{RELEASE} --out o --domain 5", "domain = 5: must be LOW,HIGH"),
    (f"{RELEASE} --out o --domain 5,1", "high = 1: must be above low = 5"),
    (f"{RELEASE} --out o --c 500", "c = 500: must be a whole number from 1 to pool_size = 200"),
    (f"{RELEASE} --out o --data .", "data = .: is not a file"),
    (
        f"{RELEASE} --out o --number-of-draws 500",
        "draws = 500: is an option of noisy-counts; this release",
    ),
    (f"{VALUES} word.csv", "data = word.csv: Row 2 is not a number"),
    (f"{VALUES} many.csv", "The file has 101 values: at most 100 are allowed"),
    (f"{RELEASE} --out no/o", "out = no/o: cannot be written (No such file or directory)"),
    (RELEASE, "--out"),
    ("release covid --domain 0,1 --epsilon-total 1 --out o", "--data"),
    ("release covid --data data.csv --epsilon-total 1 --out o", "--domain"),
    (f"{PAID} --unit day", "is for a person (replace), and this release protects a day"),
    (
        "release covid-people --data data.csv --epsilon-total 0.1 --yes --out o --budget income",
        "is for a person (replace), and this release protects a person (add-remove)",
    ),
    (f"{PAID} --budget other", "budget = other: "),
    (f"{PAID} --ledger none.db", "none.db: does not exist; `budget create` makes it"),
    ("budget create x --epsilon much --unit day", "epsilon = much: must be a number."),
    ("budget create x --epsilon 1 --unit 'one day'", "unit = one day: must be a noun without art"),
    *(
        (f"budget show income --documents {file}", f"{file}: ")
        for file in ("data.csv", "odd.json", "none.json")
    ),
    ("report release.json --out report.txt", "out = report.txt: must end in .html or .pdf."),
    ("report release.json --out no/r.html", "cannot be written (No such file or directory)"),
    (f"{REPORT} --about {'x' * 501}", "about: must be at most 500 characters in one line"),
    ("report changed.json --out report.html", "changed.json: "),
    ("report empty.json --out report.html", "empty.json: does not have the form of a release."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a ledger, and releases, one changed and one emptied."""
    made = tmp_path_factory.mktemp("refusals")
    request = NoisyCountsRequest("uniform-mixture", 1.0, 0.0, 100.0, draws=100)
    release = procedure.make(request, np.linspace(0.0, 100.0, 60), random.Random(1).randrange)
    content = json.loads(release.to_json())
    changed = {"cost": {"epsilon": 0.1, "delta": 0.0}, "n": 61}
    for name, change in (("release", {}), ("changed", changed), ("empty", {"release": None})):
        (made / f"{name}.json").write_text(json.dumps(content | change), encoding="utf-8")
    for name, text in (
        ("data.csv", f"cases\n{CANARY}\n" + "7\n" * 20),
        ("word.csv", f"{CANARY}\n{CANARY}x\n"),
        ("many.csv", f"{CANARY}\n" * 101),
        ("odd.json", '{"ledger": {"budget": "income", "entry": true}}'),
    ):
        (made / name).write_text(text, encoding="utf-8")
    income = Budget("income", Decimal(1), Decimal(0), "person", "replace")
    budget_file.create(made / "budgets.db", income)
    return made


@pytest.mark.parametrize(("command", "words"), CASES, ids=lambda text: text[:60])
def test_what_is_not_possible_is_one_line(
    command: str,
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv(budget_file.PLACE, str(folder / "budgets.db"))
    before = {file for file in folder.rglob("*") if file.is_file()}
    assert main(shlex.split(command)) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert words in said
    assert said.removesuffix("\n").isprintable()
    assert len(said) <= LONGEST_ERROR + len("error: \n")
    assert CANARY not in said
    assert {file for file in folder.rglob("*") if file.is_file()} == before
    assert budget_file.account(folder / "budgets.db", "income").left() == 1
