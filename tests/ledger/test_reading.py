"""Files of claims: what is refused, and our own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from abcdp_core import experiments, ledger
from abcdp_core.ledger import reading, reproduction, rules

FILE = """
items = ["P21-F1a", "P21-F1b"]

[[run]]
name = "p21-figure-1"
experiment = "made-up"
preset = "p21-figure-1"
parameters = ["n=10", "c=1,2"]
quick = ["n=5"]

[[claim]]
id = "some-claim"
item = "P21-F1a"
standing = "paper"
place = "Figure 1"
claim = "Something is less."
paper = "0.5"
paper_value = 1
run = "p21-figure-1"
table = "main"
rule = { kind = "less", column = "mae", a = { c = 10 }, b = { c = [1, 2] }, within = ["n"] }

[[untested]]
item = "P21-F1b"
place = "Figure 1"
claim = "Something pleases."
reason = "nobody measures pleasure"

[[retired]]
id = "old-claim"
reason = "The paper does not say so."
"""

KNOWN = {"made-up": {"main": ("mae", "c", "n", "run")}}


def read(tmp_path: Path, *texts: str) -> ledger.Ledger:
    files = [tmp_path / f"claims{number}.toml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return reading.read(files, KNOWN)


def test_entries_become_claims(tmp_path: Path) -> None:
    found = read(tmp_path, FILE)
    (claim,) = found.claims
    assert claim.rule == rules.Less(column="mae", a={"c": 10}, b={"c": [1, 2]}, within=("n",))
    assert claim.run is found.runs["p21-figure-1"]
    assert claim.run.settings() == {"n": "10", "c": "1,2"}
    assert claim.run.settings(quick=True) == {"n": "5", "c": "1,2"}
    assert (claim.source, claim.paper, claim.paper_value) == ("[P21]", "0.5", 1.0)
    assert claim.rule.columns() == {"mae", "c", "n", "run"}
    assert [entry.item for entry in found.untested] == ["P21-F1b"]
    assert [entry.id for entry in found.retired] == ["old-claim"]


def test_whole_numbers_become_numbers(tmp_path: Path) -> None:
    (claim,) = read(tmp_path, FILE.replace('within = ["n"]', "margin = 1")).claims
    assert isinstance(claim.rule, rules.Less)
    assert isinstance(claim.rule.margin, float)
    assert isinstance(claim.paper_value, float)


def test_papers_share_runs(tmp_path: Path) -> None:
    other = FILE[FILE.index("[[claim]]") : FILE.index("[[untested]]")]
    other = other.replace("some-claim", "other-claim").replace("P21-F1a", "Y23-A")
    found = read(tmp_path, FILE, 'items = ["Y23-A"]\n' + other)
    assert [claim.source for claim in found.claims] == ["[P21]", "[Y23]"]
    assert found.claims[0].run is found.claims[1].run


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "less"', 'kind = "fewer"', "rule kind = fewer: must be one of less"),
        ('kind = "less", ', "", "must be a table with a kind"),
        ('column = "mae", ', "", "missing column"),
        ('column = "mae"', 'column = "mae", size = 1', "unknown size"),
        ('column = "mae"', "column = 3", "column = 3: must be the name of a column"),
        ('within = ["n"]', 'within = "n"', "must be a list of columns"),
        ('within = ["n"]', 'margin = "big"', "must be a number"),
        ('within = ["n"]', "margin = true", "must be a number"),
        ("a = { c = 10 }", "a = { c = [] }", "must be a table"),
        ('column = "mae"', 'column = "mse"', "has no column mse"),
        ("a = { c = 10 }", "a = { k = 10 }", "has no column k"),
        ('within = ["n"]', 'pair = "draw"', "has no column draw"),
        ('table = "main"', 'table = "ratio"', "has no table ratio"),
        ('place = "Figure 1"\nclaim = "Something is', 'claim = "Something is', "missing place"),
        ('place = "Figure 1"', 'place = " "', "must be a text that is not empty"),
        ('place = "Figure 1"', 'place = "Figure 1"\nnote = "x"', "unknown note"),
        ('standing = "paper"', 'standing = "mine"', "must be one of paper, implied, ours"),
        ('run = "p21-figure-1"', 'run = "other"', "there is no run other"),
        ("paper_value = 1", 'paper_value = "1"', "must be a number"),
        ("paper_value = 1", "differences = 1", "must be a list of texts"),
    ],
)
def test_a_wrong_claim_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in FILE
    with pytest.raises(ledger.LedgerError) as error:
        read(tmp_path, FILE.replace(old, new, 1))
    assert str(error.value).startswith("claim some-claim:")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('experiment = "made-up"', 'experiment = "other"', "no experiment other"),
        ('"n=10"', '"n"', "run p21-figure-1: 'n' is not key=value"),
        ('"n=5"', '"n= "', "is not key=value"),
        ('"n=10"', "10", "must be a list of texts"),
        ('preset = "p21-figure-1"\nparameters = ["n=10", "c=1,2"]', "", "needs a preset or"),
        ('name = "p21-figure-1"', 'name = "Figure 1"', "run Figure 1: name must be lower-case"),
        ('id = "some-claim"', 'id = "Some claim"', "claim Some claim: id must be lower-case"),
        ('id = "some-claim"', "", "claim number 1: missing id"),
        ('"P21-F1b"]', '"P21-F1b", "P21-F2"]', "item P21-F2: has neither a claim nor a reason"),
        ('item = "P21-F1b"', 'item = "P21-F9"', "item P21-F9: is not in the list"),
        ('reason = "nobody measures pleasure"', "", "untested P21-F1b: missing reason"),
        ('reason = "The paper does not say so."', "", "retired old-claim: missing reason"),
        ("[[retired]]", "[[removed]]", "claims0.toml: unknown removed"),
        ("[[claim]]", "[[claim", "claims0.toml: "),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in FILE
    with pytest.raises(ledger.LedgerError) as error:
        read(tmp_path, FILE.replace(old, new, 1))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("start", ["[[claim]]", "[[run]]"])
def test_nothing_is_named_twice(tmp_path: Path, start: str) -> None:
    entry = FILE[FILE.index(start) :]
    entry = entry[: entry.index("\n\n")]
    with pytest.raises(ledger.LedgerError, match="there are two of this"):
        read(tmp_path, FILE, entry)


# ----------------------------------------------------------------------------- our own files


LEDGER = reading.load()
RUNS = list(LEDGER.runs.values())


def test_every_column_exists() -> None:
    columns = {run.experiment: reproduction.study_of(run).COLUMNS for run in RUNS}
    assert reading.read(sorted(reading.FOLDER.glob("*.toml")), columns) == LEDGER


def test_every_run_serves_a_claim() -> None:
    assert {run.name for run in RUNS} == {claim.run.name for claim in LEDGER.claims}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_every_run_names_parameters_that_its_experiment_takes(run: ledger.Run) -> None:
    module = reproduction.study_of(run)
    base = experiments.preset(module, run.preset) if run.preset else None
    for quick in (False, True):
        params = module.Params.from_text(run.settings(quick=quick), base)
        assert params == module.Params.from_text(params.to_text())
    assert len(run.settings()) == len(run.parameters)


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_every_claim_is_judged_even_by_an_empty_table(claim: ledger.Claim) -> None:
    table = pd.DataFrame(columns=sorted(claim.rule.columns()), dtype=float)
    verdict = ledger.judge(claim, {claim.table: table})
    assert verdict.outcome == "not testable"
    assert verdict.statement.startswith("Not testable: ")


def test_sentences_end() -> None:
    for claim in LEDGER.claims:
        for text in (claim.claim, *claim.notes(), claim.discussion or "."):
            assert text.endswith("."), (claim.id, text)
    assert all(entry.reason.endswith(".") for entry in LEDGER.retired)
    assert not any(entry.reason.endswith(".") for entry in LEDGER.untested)


def test_what_is_retired_is_gone() -> None:
    assert not {entry.id for entry in LEDGER.retired} & {claim.id for claim in LEDGER.claims}


def test_claims_of_a_preset() -> None:
    found = LEDGER.for_preset("mse-curves", "p21-figure-3")
    assert {claim.item[:6] for claim in found} == {"P21-F3"}
    assert LEDGER.for_preset("mse-curves", "p21-figure-1") == ()


def test_a_preset_judges_claims_of_more_runs_but_of_no_other_change() -> None:
    found = LEDGER.for_preset("soft-abc", "p22-figure-2")
    assert {claim.run.name for claim in found} == {"p22-figure-2"}
    assert set(found[0].run.settings()) == {"runs"}
