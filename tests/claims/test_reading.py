"""Files of claims: what is refused, and our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdp_core import claims
from abcdp_core.claims import reading, reproduction, rules
from abcdp_core.parameters import ParameterError

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

CLAIM = FILE[FILE.index("[[claim]]") : FILE.index("[[untested]]")]


def read(tmp_path: Path, *texts: str) -> claims.Ledger:
    files = [tmp_path / f"claims{number}.toml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return reading.read(files)


def test_entries_become_claims_which_share_runs_across_papers(tmp_path: Path) -> None:
    other = CLAIM.replace("some-claim", "other-claim").replace("P21-F1a", "Y23-A")
    found = read(tmp_path, FILE, 'items = ["Y23-A"]\n' + other)
    claim, second = found.claims
    assert claim.rule == rules.Less(column="mae", a={"c": 10}, b={"c": [1, 2]}, within=("n",))
    assert claim.run is second.run is found.runs["p21-figure-1"]
    assert claim.run.settings() == {"n": "10", "c": "1,2"}
    assert claim.run.settings(quick=True) == {"n": "5", "c": "1,2"}
    assert (claim.source, claim.paper, claim.paper_value) == ("[P21]", "0.5", 1.0)
    assert second.source == "[Y23]"
    assert [entry.item for entry in found.untested] == ["P21-F1b"]
    assert [entry.id for entry in found.retired] == ["old-claim"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "less"', 'kind = "fewer"', "claim some-claim: rule.kind = fewer: must be one of"),
        ('column = "mae", ', "", "claim some-claim: rule.column: is missing"),
        ('within = ["n"]', 'margin = "big"', "rule.margin = big: must be a number"),
        ('run = "p21-figure-1"', 'run = "other"', "claim some-claim: run other does not exist"),
        ('id = "some-claim"', 'id = "Some claim"', "claim Some claim: id = Some claim"),
        ('"n=10"', "10", "claims0.toml: run 1.parameters 1 = 10: must be a text"),
        ("[[retired]]", "[[removed]]", "claims0.toml: removed: unknown"),
        ('"P21-F1b"]', '"P21-F1b", "P21-F2"]', "item P21-F2: has neither a claim"),
        ('item = "P21-F1b"', 'item = "P21-F9"', "item P21-F9: is not in the list"),
        ("[[untested]]", CLAIM + "[[untested]]", "the name is used twice"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in FILE
    with pytest.raises(ParameterError) as error:
        read(tmp_path, FILE.replace(old, new, 1))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


# ----------------------------------------------------------------------------- our own files


LEDGER = reading.load()
COLUMNS = ("column", "other", "along", "pair", "low", "high", "formula", "trials")
GROUPS = ("where", "a", "b", "within", "each", "powers")


def columns_of(rule: Any) -> set[str]:
    """Names of all columns that a rule reads."""
    named = {getattr(rule, name, None) for name in COLUMNS} - {None}
    return named.union(*(getattr(rule, name, ()) for name in GROUPS))


def test_a_claim_reads_columns_that_its_run_has() -> None:
    for claim in LEDGER.claims:
        columns = columns_of(claim.rule)
        known = reproduction.study_of(claim.run).COLUMNS[claim.table]
        assert columns <= {*known}, claim.id
        empty = pd.DataFrame(columns=sorted(columns), dtype=float)
        verdict = claims.judge(claim, {claim.table: empty})
        assert verdict.outcome == "not testable", claim.id
        for text in (claim.claim, *claim.notes(), claim.discussion or "."):
            assert text.endswith("."), (claim.id, text)
    assert not {entry.id for entry in LEDGER.retired} & {claim.id for claim in LEDGER.claims}


def test_a_run_serves_a_claim_with_parameters_that_its_experiment_takes() -> None:
    assert {*LEDGER.runs} == {claim.run.name for claim in LEDGER.claims}
    for run in LEDGER.runs.values():
        for profile in reproduction.PROFILES:
            params = reproduction.params_of(run, profile)
            assert params == type(params).from_text(params.to_text())
        assert len(run.settings()) == len(run.parameters)


def test_a_preset_judges_claims_of_more_runs_but_of_no_other_change() -> None:
    found = LEDGER.for_preset("mse-curves", "p21-figure-3")
    assert {claim.item[:6] for claim in found} == {"P21-F3"}
    assert LEDGER.for_preset("mse-curves", "p21-figure-1") == ()
    found = LEDGER.for_preset("soft-abc", "p22-figure-2")
    assert {claim.run.name for claim in found} == {"p22-figure-2"}
    assert set(found[0].run.settings()) == {"runs"}
