"""Files of claims: what is refused, and our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish import claims
from abcdp_core.publish.claims import reading, reproduction, rules
from tests.publish.claims.ledger import AT_MOST, CLAIM, LEDGER

OTHER = CLAIM.format("other-claim", "Y23-A", "paper", "squares", AT_MOST)


def read(tmp_path: Path, *texts: str) -> claims.Ledger:
    files = [tmp_path / f"claims{number}.toml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return reading.read(files)


def test_entries_become_claims_which_share_runs_across_papers(tmp_path: Path) -> None:
    found = read(tmp_path, LEDGER, 'items = ["Y23-A"]\n' + OTHER)
    first, second, *_, other = found.claims
    assert first.rule == rules.AtMost(column="index", other="square")
    assert second.rule == rules.Less(column="index", other="square", a={}, b={}, pair="index")
    assert first.run is other.run is found.runs["squares"]
    assert first.run.settings() == {"size": "20", "fails": "-1"}
    assert first.run.settings(quick=True) == {"size": "4", "fails": "-1"}
    assert (first.source, first.paper, first.paper_value) == ("[P99]", "1", 1.0)
    assert other.source == "[Y23]"
    assert [entry.item for entry in found.untested] == ["P98-A"]
    assert [entry.id for entry in found.retired] == ["old-claim"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "near"', 'kind = "nearly"', "squares-are-small: rule.kind = nearly: must be one"),
        ("distance = 1", 'distance = "big"', "rule.distance = big: must be a number"),
        (
            'run = "squares"',
            'run = "other"',
            "index-at-most-square: run other does not exist",
        ),
        ('id = "broken-run"', 'id = "Broken run"', "claim Broken run: id = Broken run"),
        ('"P98-A"]', '"P98-A", "P98-B"]', "item P98-B: has neither a claim"),
        ('item = "P98-A"', 'item = "P98-C"', "item P98-C: is not in the list"),
        ('id = "broken-run"', 'id = "squares-are-small"', "the name is used twice"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in LEDGER
    with pytest.raises(ParameterError) as error:
        read(tmp_path, LEDGER.replace(old, new, 1))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


# ----------------------------------------------------------------------------- our own files


OURS = reading.load()
COLUMNS = ("column", "other", "along", "pair", "low", "high", "formula", "trials")
GROUPS = ("where", "a", "b", "within", "each", "powers")


def columns_of(rule: Any) -> set[str]:
    """Names of all columns that a rule reads."""
    named = {getattr(rule, name, None) for name in COLUMNS} - {None}
    return named.union(*(getattr(rule, name, ()) for name in GROUPS))


def test_a_claim_reads_columns_that_its_run_has() -> None:
    for claim in OURS.claims:
        columns = columns_of(claim.rule)
        known = reproduction.study_of(claim.run).COLUMNS[claim.table]
        assert columns <= {*known}, claim.id
        empty = pd.DataFrame(columns=sorted(columns), dtype=float)
        verdict = claims.judge(claim, {claim.table: empty})
        assert verdict.outcome == "not testable", claim.id
        for text in (claim.claim, *claim.notes(), claim.discussion or "."):
            assert text.endswith("."), (claim.id, text)
    assert not {entry.id for entry in OURS.retired} & {claim.id for claim in OURS.claims}


def test_a_run_serves_a_claim_with_parameters_that_its_experiment_takes() -> None:
    assert {*OURS.runs} == {claim.run.name for claim in OURS.claims}
    for run in OURS.runs.values():
        for profile in reproduction.PROFILES:
            params = reproduction.params_of(run, profile)
            assert params == type(params).from_text(params.to_text())
        assert len(run.settings()) == len(run.parameters)


def test_a_preset_judges_claims_of_more_runs_but_of_no_other_change() -> None:
    found = OURS.for_preset("mse-curves", "p21-figure-3")
    assert {claim.item[:6] for claim in found} == {"P21-F3"}
    assert OURS.for_preset("mse-curves", "p21-figure-1") == ()
    found = OURS.for_preset("soft-abc", "p22-figure-2")
    assert {claim.run.name for claim in found} == {"p22-figure-2"}
    assert set(found[0].run.settings()) == {"runs"}
