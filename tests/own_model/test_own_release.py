"""Releases from records by a model or a pool of one's own, through the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import registry
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.own_data import budget_ledger, release, verification
from abcdp_core.own_data.budget import Budget
from abcdp_core.own_data.document import figure
from abcdp_core.own_data.request import claim
from abcdp_core.own_data.summary_request import PrivateSummaryRequest
from abcdp_core.own_model import lattice
from abcdp_core.posterior import fit

pytestmark = pytest.mark.usefixtures("own_registry", "few_simulations")

MODEL = """
import numpy as np

from abcdp_core.own_model import Column, Model, Parameter, count, declared, histogram, mean, total


def simulate(rng, theta, n):
    x = rng.normal(theta[:, :1, None], 1.0, (len(theta), n, 1))
    records = np.concatenate([x, rng.integers(0, 3, x.shape)], axis=-1)
    {fill}
    return records


def centre(records):
    if (records == 0.125).any():
        raise RuntimeError(str(records))
    return records[..., 0]


def middle(records):
    return np.median(records[..., 0], axis=-1)[..., None]


MODEL = Model(
    name="own",
    title="A study of our own",
    parameters=(Parameter("mu", -1.0, 1.0, unit="mm"),),
    columns=(Column("x", -8.0, 8.0), Column("code", 0, 2, whole=True)),
    unit="one patient",
    simulate=simulate,
    statistics=({statistics}),
    {more}
)
"""

STATISTICS = {
    "replace": 'mean("m", centre, -2.0, 2.0), total("t", centre, -1.0, 3.0), '
    'count("c", lambda r: r[..., 1] > 1), histogram("h", lambda r: r[..., 0], (-8, 0, 2, 8)),',
    "add-remove": 'total("t", centre, -2.0, 2.0), histogram("h", lambda r: r[..., 1], (0, 1, 2)),',
    "declared": 'declared("middle", middle, ("middle",), 16.0),',
}
MORE = {
    "replace": "sizes=(10, 30),",
    "add-remove": 'sizes=(30,), neighbours="add-remove",',
    "declared": "sizes=(12,),",
}
RECORDS = "\n".join(["code,x,note", *(f"{i % 3},{0.1 * i - 0.7!r},a" for i in range(12))])


def written(kind: str, folder: Path) -> Path:
    """A file with a model of some kind."""
    file = folder / "ours.py"
    fill = "records[:, 14:] = np.nan" if kind == "add-remove" else ""
    values = {"fill": fill, "statistics": STATISTICS[kind], "more": MORE[kind]}
    text = MODEL
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def model(tmp_path: Path) -> Callable[[str], Path]:
    return lambda kind: written(kind, tmp_path)


def asked(file: Path, data: str = RECORDS, *more: str, scenario: str = "own") -> list[str]:
    """The command that releases, into ``out.json`` beside the model."""
    folder = file.parent
    (folder / "records.csv").write_text(data, encoding="utf-8")
    plugin = [] if scenario.endswith(".toml") else ["--plugin", str(file)]
    return ["release", scenario, *plugin, "--data", str(folder / "records.csv"), "--epsilon-total",
            "1", "--draws", "100", "--yes", "--workers", "1", "--simulations", "1000",
            "--out", str(folder / "out.json"), *more]  # fmt: skip


# ---------------------------------------------------------------------- what comes out, again


@pytest.mark.parametrize("kind", MORE)
def test_a_document_is_verified_and_reported_by_its_model(
    kind: str, model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model(kind)
    assert main(asked(file)) == 0
    said = capsys.readouterr().out
    out, plugin = file.parent / "out.json", ["--plugin", str(file)]
    assert "Errors to expect" in said
    assert "The 1,000 public simulations reach, with this noise, " in said
    few = "1,000 simulations"
    assert few in said
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["model"]["file"] == "ours.py"
    drawn = release.complete(verification.document_in(document))
    assert "share of the values" not in str(figure(drawn).to_dict())
    assert ("n" in document) == (kind == "replace")
    assert main(["verify", str(out), *plugin]) == 0
    assert "DIFFERS" not in capsys.readouterr().out
    page = file.parent / "report.html"
    assert main(["report", str(out), *plugin, "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "abcdp verify out.json --plugin ours.py" in text
    assert document["model"]["sha256"] in text
    assert few in text
    if kind == "declared":
        assert "if the sensitivity declared for middle holds" in document["statement"]
        for words in (said, text, " ".join(document["remains"])):
            assert "sensitivity of middle was declared by who wrote the model" in words
    if kind == "add-remove":
        # How many there were is nowhere.
        assert "12 records" not in said + text
        assert "How many records there are is protected too." in text
    # Another text of the model is another model.
    file.write_text(file.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    assert main(["verify", str(out), *plugin]) != 0
    said, wrong = capsys.readouterr()
    assert "DIFFERS  file of the model" in said
    # Nobody changed the document.
    assert "was made with another file of the model, or" in wrong
    # Nor where the model says something else now.
    wider = file.read_text(encoding="utf-8").replace('"mu", -1.0', '"mu", -1.5')
    file.write_text(wider, encoding="utf-8")
    assert main(["verify", str(out), *plugin]) != 0
    _, wrong = capsys.readouterr()
    assert "than the one given here, from which" in wrong
    assert "posterior" in wrong
    assert "was changed" not in wrong
    assert main(["verify", str(out)]) != 0


SEVERAL = """
import numpy as np

from abcdp_core.own_model import Column, Model, Parameter, count, mean, total


def simulate(rng, theta, n):
    return theta[:, None, :] / (1.0, 1e10, 1.0) + rng.standard_normal((len(theta), n, 3))


MODEL = Model(
    name="own",
    title="Three units",
    parameters=(
        Parameter("rate", 0.0, 1.0), Parameter("size", 0.0, 1e10), Parameter("time", 1e9, 1e9 + 1)
    ),
    columns=(Column("x", -9.0, 9.0), Column("y", -9.0, 9.0), Column("z", 1e9 - 9, 1e9 + 9)),
    unit="one patient",
    simulate=simulate,
    statistics=(
        mean("x", lambda r: r[..., 0], -3.0, 4.0),
        total("y", lambda r: 1e10 * r[..., 1], 0.0, 1e11),
        count("z", lambda r: r[..., 2] > 1e9),
    ),
    sizes=(12,),
    pool_size=200,
)
"""


def test_numbers_of_several_units_are_compared_each_in_its_own(tmp_path: Path) -> None:
    file = tmp_path / "ours.py"
    file.write_text(SEVERAL, encoding="utf-8")
    assert main(asked(file, "x,y,z\n" + "0.3,0.5,1e9\n" * 12)) == 0
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))

    def wrong(part: str, *path: str | int, by: float) -> list[str]:
        content = json.loads(json.dumps(document))
        *folders, last = path
        place = content[part]
        for each in folders:
            place = place[each]
        place[last] += by
        return [each.key for each in verification.verify(content) if not each.agrees]

    for place, width in enumerate((1.0, 1e10, 1.0)):
        for list_of in (("means",), ("intervals", 0), ("prior_means",), ("draws", 7)):
            name, *row = list_of
            path = (name, place, 0) if row and name == "intervals" else (name, *row, place)
            assert wrong("posterior", *path, by=1e-4 * width) == ["posterior"], path
            # Another processor may round so, whatever the number is.
            assert wrong("posterior", *path, by=1e-11 * width) == [], path
    assert wrong("release", "in_their_units", 0, by=1e-6) == ["release"]
    # One beside 2^32 is a whole number, too.
    assert wrong("release", "divided_by", 2, by=1) == ["release"]
    assert wrong("event", "whole", 2, by=1) == ["event"]


def test_numbers_that_were_changed_are_found(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("replace")
    assert main(asked(file)) == 0
    out = file.parent / "out.json"
    document = json.loads(out.read_text(encoding="utf-8"))
    document["release"]["whole_numbers"][0] += 2**20
    out.write_text(json.dumps(document), encoding="utf-8")
    assert main(["verify", str(out), "--plugin", str(file)]) != 0
    assert "DIFFERS  what was released" in capsys.readouterr().out


def test_a_prior_that_misses_the_data_is_said_from_what_was_released(
    model: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = model("replace")
    far = "\n".join(["x,code", *["8,0"] * 30])
    line = asked(file, far)
    line[line.index("1")] = "1000"
    monkeypatch.setattr(fit.fit, "__defaults__", (fit.one_by_one, 5000))
    assert main(line) == 0
    said = capsys.readouterr().out
    assert "\nThe model hardly ever makes such numbers (p = 0.00" in said
    assert "c: 0 (below 0.0001)" in said
    document = json.loads((file.parent / "out.json").read_text(encoding="utf-8"))
    assert document["posterior"]["fit"]["p_value"] < fit.MISFIT


def test_simulations_that_fail_are_excluded_and_counted_in_the_record(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("replace")
    text = file.read_text(encoding="utf-8").replace(
        "    return records\n\n\ndef centre", "    records[theta[:, 0] > 0.5] = np.nan\n"
        "    return records\n\n\ndef centre"
    )  # fmt: skip
    file.write_text(text, encoding="utf-8")
    assert main(asked(file)) == 2
    assert not (file.parent / "out.json").exists()
    excluded = text.replace("    sizes=", '    failures="excluded",\n    sizes=')
    file.write_text(excluded, encoding="utf-8")
    capsys.readouterr()
    assert main(asked(file)) == 0
    found = json.loads((file.parent / "out.json").read_text(encoding="utf-8"))["posterior"]
    # A quarter of the prior's draws fail: 1000 of them are within 6 standard deviations.
    assert 165 < found["failed"] < 335
    assert max(mu for (mu,) in found["draws"]) <= 0.5
    assert f"{found['failed']} simulations failed and count for nothing." in capsys.readouterr().out
    assert main(["verify", str(file.parent / "out.json"), "--plugin", str(file)]) == 0


def test_a_posterior_that_was_interrupted_is_completed_at_no_cost_and_without_the_data(
    model: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = model("replace")
    out, ledger = file.parent / "out.json", file.parent / "ledger.db"
    budget_ledger.create(ledger, Budget("study", *map(budget_ledger.amount, ("e", "d"), ("3", "0")),
                                        "patient", "replace"))  # fmt: skip
    line = asked(file, RECORDS, "--budget", "study", "--ledger", str(ledger))

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(release, "complete", stopped)
        assert main(line) == INTERRUPTED
    assert "the same command adds what follows from it, at no" in capsys.readouterr().err
    before = json.loads(out.read_text(encoding="utf-8"))
    assert before["posterior"] is None
    assert main(["verify", str(out), "--plugin", str(file)]) == 0
    (file.parent / "records.csv").unlink()
    # Neither another request nor another model takes the file for its own.
    assert main([*line, "--epsilon-total", "2"]) == 2
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"m", centre, -2.0', '"m", centre, -1.0'), encoding="utf-8")
    assert main(line) == 2
    assert json.loads(out.read_text(encoding="utf-8")) == before
    file.write_text(text, encoding="utf-8")
    assert main(line) == 0
    after = json.loads(out.read_text(encoding="utf-8"))
    assert after["posterior"] is not None
    assert after | {"posterior": None} == before
    assert budget_ledger.account(ledger, "study").left() == 2
    assert main(["verify", str(out), "--plugin", str(file)]) == 0


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (RECORDS.replace("x", "y"), "Column x is missing: the first row must name the columns, "
         "separated by commas: x,code."),
        (RECORDS.replace(",", ";"), "Column x is missing: the first row must name the columns, "
         "separated by commas: x,code."),
        ("0.125,1\n" + RECORDS.partition("\n")[2], "separated by commas: x,code."),
        (RECORDS.replace("note", "x"), "Column x is there twice"),
        (RECORDS.replace("-0.7", "NaN"), "Column x, row 2: is no finite number."),
        (RECORDS.replace("-0.7", ""), "Column x, row 2: is no finite number."),
        (RECORDS.replace("0,-0.7", "0.5,-0.7"), "Column code, row 2: is no whole number."),
        (RECORDS.replace("-0.7,a", "-0.7"), "Row 2 has 2 fields, and the first row 3."),
        (RECORDS.replace("-0.7,a", '-0.7,"a'), "Row 2 is not of the form of CSV."),
        ("x,code\n0.5,1", "records.csv: number of records = 1: must be a whole number from 2"),
        ("x,code\n" + "0.5,1\n" * 31, "number of records = 31: must be"),
        (RECORDS.replace("-0.7", "0.125"),
         "ours.py: statistic m of record 1 cannot be computed (line 16: RuntimeError); nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_and_nothing_is_spent(
    data: str, sentence: str, model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("replace")
    ledger = file.parent / "ledger.db"
    budget_ledger.create(ledger, Budget("study", *map(budget_ledger.amount, ("e", "d"), ("3", "0")),
                                        "patient", "replace"))  # fmt: skip
    more = ["--budget", "study", "--ledger", str(ledger)]
    assert main(asked(file, data, *more)) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "0.125" not in said
    assert not (file.parent / "out.json").exists()
    assert budget_ledger.account(ledger, "study").left() == 3


def test_a_model_that_cannot_be_loaded_is_named_with_its_line(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("replace")
    text = file.read_text(encoding="utf-8").replace('name="own"', "name=own")
    file.write_text(text, encoding="utf-8")
    assert main(asked(file)) == 2
    assert "ours.py: cannot be loaded (line 25: NameError" in capsys.readouterr().err


def test_more_records_than_there_is_room_for_are_refused(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("add-remove")
    assert main(asked(file, "x,code\n" + "0.5,1\n" * 31)) == 2
    said = capsys.readouterr().err
    assert "more than 30 records, the most that are read" in said
    assert "31" not in said.replace(str(file.parent), "")


def test_what_a_budget_says_of_a_release_stands_in_one_line(model: Callable[[str], Path]) -> None:
    file = model("declared")
    text = file.read_text(encoding="utf-8").replace('declared("middle"', r'declared("a\n  b"')
    file.write_text(text, encoding="utf-8")
    registry.add_file(file)
    request = PrivateSummaryRequest(scenario="own", epsilon_total=1.0)
    assert "sensitivity of a b declared" in claim(request).what


def test_a_budget_takes_a_declared_sensitivity_only_from_who_answers_for_it(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = model("declared")
    ledger = file.parent / "ledger.db"
    budget_ledger.create(ledger, Budget("study", *map(budget_ledger.amount, ("e", "d"), ("3", "0")),
                                        "patient", "replace"))  # fmt: skip
    more = ["--budget", "study", "--ledger", str(ledger)]
    assert main(asked(file, RECORDS, *more)) == 2
    assert "the sensitivity of middle is declared, not derived" in capsys.readouterr().err
    assert budget_ledger.account(ledger, "study").left() == 3
    assert main(asked(file, RECORDS, *more, "--accept-declared-sensitivity")) == 0
    account = budget_ledger.account(ledger, "study")
    assert account.left() == 2
    (claim,) = account.reserved.values()
    assert claim.what.endswith("sensitivity of middle declared")


# ----------------------------------------------------------------------- a pool from anywhere

POOL = """
name = "made-elsewhere"
unit = "one patient"
neighbours = "{neighbours}"
n = 12
pool = "pool.csv"
[theta.mu]
low = -1.0
high = 1.0
[summary.s]
kind = "sum"
lower = -2.0
upper = 2.0
column = "x"
[summary.young]
kind = "count"
group = "age"
[summary.old]
{old}
"""
CONTRIBUTIONS = "\n".join(["old,young,x", *(f"{i % 2},0,{0.1 * i - 0.5!r}" for i in range(12))])


@pytest.fixture
def pool(tmp_path: Path) -> Callable[..., Path]:
    def written(neighbours: str = "replace", old: str = 'kind = "count"\ngroup = "age"') -> Path:
        rng = np.random.default_rng(1)
        mu = rng.uniform(-1.0, 1.0, 150)
        s = np.clip(rng.normal(mu[:, None], 1.0, (150, 12)), -2.0, 2.0).sum(axis=1)
        young, aged = rng.binomial(12, 0.3, 150), rng.binomial(12, 0.4, 150)
        columns = (each.tolist() for each in (mu, s, young, aged))
        rows = [",".join(map(repr, row)) for row in zip(*columns, strict=True)]
        table = "\n".join(["theta.mu,summary.s,summary.young,summary.old", *rows])
        (tmp_path / "pool.csv").write_text(table, encoding="utf-8")
        file = tmp_path / "pool.toml"
        text = POOL.replace("{neighbours}", neighbours).replace("{old}", old)
        file.write_text(text, encoding="utf-8")
        return file

    return written


@pytest.mark.parametrize(("neighbours", "sensitivity"), [("replace", 3.0), ("add-remove", 2.0)])
def test_a_pool_releases_and_verifies(
    neighbours: str,
    sensitivity: float,
    pool: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = pool(neighbours)
    assert main(asked(file, CONTRIBUTIONS, scenario=str(file))) == 0
    out = file.parent / "out.json"
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["event"]["sensitivity"] == sensitivity
    assert document["release"]["divided_by"] == [lattice.GRID, 1, 1]
    capsys.readouterr()
    assert main(["verify", str(out), "--plugin", str(file)]) == 0
    page = file.parent / "report.html"
    assert main(["report", str(out), "--plugin", str(file), "--out", str(page)]) == 0
    assert "verify out.json --plugin pool.toml" in page.read_text(encoding="utf-8")
    table = file.parent / "pool.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("\n0.", "\n0.0", 1))
    assert main(["verify", str(out), "--plugin", str(file)]) != 0


def test_the_same_pool_under_another_name_verifies_and_two_of_one_name_are_refused(
    pool: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = pool()
    assert main(asked(file, CONTRIBUTIONS, scenario=str(file))) == 0
    out, copy = str(file.parent / "out.json"), file.with_name("pool (1).toml")
    copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(registry, "_added", [])
    registry.forget()
    capsys.readouterr()
    assert main(["verify", out, "--plugin", str(copy)]) == 0
    assert "not recomputed: the name that the file of the model" in capsys.readouterr().out
    # Whichever came last would count.
    assert main(["verify", out, "--plugin", str(copy), "--plugin", str(file)]) == 2
    assert "two plug-ins are called 'made-elsewhere'" in capsys.readouterr().err


def test_of_a_pool_with_a_declared_sensitivity_the_file_has_the_numbers(
    pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool(old="sensitivity = 2.0")
    assert main(asked(file, CONTRIBUTIONS, scenario=str(file))) == 2
    assert "number of records = 12: must be" in capsys.readouterr().err
    numbers = "s,x,young,old\n,3.25,4,5"
    assert main(asked(file, numbers, scenario=str(file))) == 0
    said = capsys.readouterr().out
    assert "3 numbers of 12 records" in said
    (file.parent / "out.json").unlink()
    line = asked(file, numbers, scenario=str(file))
    line[line.index("1")] = "1000"
    assert main(line) == 0
    document = json.loads((file.parent / "out.json").read_text(encoding="utf-8"))
    assert document["release"]["in_their_units"] == pytest.approx([3.25, 4.0, 5.0], abs=0.2)
    assert "sensitivity of old was declared by who wrote the model" in said


def test_declared_numbers_beyond_what_whole_numbers_hold_are_refused(
    pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool(old="sensitivity = 1e-9")
    assert main(asked(file, "x,young,old\n1,2,3", scenario=str(file))) == 2
    said = capsys.readouterr().err
    assert "pool.toml: key summary.old: reaches more than 1,048,576 times what one record" in said


@pytest.mark.parametrize(
    ("l1", "code", "said"),
    [
        ("1e5", 2, "by Δ₁ = 100000 the noise is too large to be written down"),
        ("1e4", 0, "with Δ₁ = 10000."),
        ("0.0001", 0, "with Δ₁ = 0.0001."),
    ],
)
def test_a_sensitivity_declared_for_all_is_said_and_refused_where_no_document_holds_its_noise(
    l1: str, code: int, said: str, pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool()
    summaries = "".join(f"[summary.{name}]\n" for name in ("s", "young", "old"))
    stated = file.read_text(encoding="utf-8").partition("[summary.s]")[0]
    declared = f"[declared]\nl1 = {l1}\nl2 = {l1}\n"
    file.write_text(stated + summaries + declared, encoding="utf-8")
    assert main(asked(file, "s,young,old\n3.25,4,5", scenario=str(file))) == code
    found = "".join(capsys.readouterr())
    assert said in found
    # Each is as it is, and has no unit.
    assert "in units of the most that one record moves it" not in found
    if code == 0:
        assert main(["verify", str(file.parent / "out.json"), "--plugin", str(file)]) == 0


def test_numbers_beyond_a_release_are_told_in_the_unit_that_they_have(
    pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool()
    stated = file.read_text(encoding="utf-8").partition("[summary.s]")[0]
    file.write_text(stated + "[summary.s]\n[declared]\nl1 = 1e4\nl2 = 1e4\n", encoding="utf-8")
    rows = "\n".join(f"{i / 150},{1e5 * i}" for i in range(150))
    (file.parent / "pool.csv").write_text(f"theta.mu,summary.s\n{rows}", encoding="utf-8")
    assert main(asked(file, "s\n3.25", scenario=str(file))) == 2
    said = capsys.readouterr().err
    assert "summary.s: reaches beyond ±1,048,576, the most of a release; divide it, l1 and" in said


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("\n1,2.5,3", "Column young: must be a whole number, as young is a count."),
        ("", "no row of numbers|number of records = 0"),
    ],
)
def test_numbers_that_are_none_are_refused(
    rows: str,
    said: str,
    neighbours: str,
    pool: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = pool(neighbours, old="sensitivity = 2.0")
    assert main(asked(file, f"x,young,old{rows}", scenario=str(file))) == 2
    assert re.search(said, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (CONTRIBUTIONS.replace("1,0,", "1,1,", 1), "Record 2: is counted twice in group age."),
        (CONTRIBUTIONS.replace("1,0,", "1,2,", 1), "Column young, record 2: must be 0 or 1"),
        (CONTRIBUTIONS + "\n0,0,1", "number of records = 13: must be"),
        (CONTRIBUTIONS.rpartition("\n")[0], "number of records = 11: must be"),
        (CONTRIBUTIONS.replace("-0.4", "nan"), "Column x, row 3: is no finite number."),
        (CONTRIBUTIONS.replace("-0.4", ""), "Column x, row 3: is no finite number."),
        (CONTRIBUTIONS.replace("old,", "older,"), "Column old is missing"),
    ],
)
def test_contributions_that_cannot_be_are_refused(
    data: str, sentence: str, pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool()
    assert main(asked(file, data, scenario=str(file))) == 2
    assert sentence in capsys.readouterr().err


def test_no_study_takes_a_pool_for_a_model(
    pool: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--plugin", str(pool())]) == 2
    assert "not a Python file" in capsys.readouterr().err
