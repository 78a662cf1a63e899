"""Reproducing claims: the plan, runs that are shared, stopped and fail, and the report."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.base import registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish import claims
from abcdp_core.publish.claims import document, reading, report, reproduction
from abcdp_core.run import runner
from tests import toy_experiment
from tests.publish.claims.ledger import LEDGER


@contextlib.contextmanager
def made_up(folder: Path) -> Iterator[claims.Ledger]:
    """A made-up ledger about the toy, which is plugged in, in place of the real one."""
    file = folder / "p99.toml"
    file.write_text(LEDGER, encoding="utf-8")
    found = reading.read([file])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_added", [*registry._added, toy_experiment])
        patch.setattr(reading, "load", lambda: found)
        registry.forget()
        yield found
    registry.forget()


@pytest.fixture
def entries(tmp_path: Path) -> Iterator[claims.Ledger]:
    with made_up(tmp_path) as found:
        yield found


def reproduce(*arguments: str, out: Path) -> report.Report:
    assert main(["reproduce", *arguments, "--workers", "1", "--out", str(out)]) == 0
    return report.read(out)


def verdicts(found: report.Report) -> dict[str, str]:
    return dict(zip(found.claims["id"], found.claims["verdict"], strict=True))


def test_what_is_chosen_is_planned_and_an_unknown_choice_is_refused(
    entries: claims.Ledger, tmp_path: Path
) -> None:
    for chosen, items, runs in (
        (["P99-F1"], ["P99-F1a", "P99-F1b"], ["squares"]),
        (["squares-are-small", "P99-F1a"], ["P99-F1a", "P99-F10"], ["squares"]),
        (["P98"], ["P98-A"], []),
    ):
        plan = reproduction.plan(entries, chosen, "full", 1)
        assert [one.item for one in (*plan.claims, *plan.untested)] == items
        assert [run.name for run in plan.runs] == runs
    for text, words in (
        *(("squares-are-smal", "close: squares-are-small"), ("old-claim", "Nobody said so.")),
        ("", "papers: P99, P98"),
    ):
        with pytest.raises(ParameterError, match=f"claim = {text}: .*{words}"):
            reproduction.plan(entries, [text], "full", 1)
    assert main(["reproduce", "P97", "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------------- runs


@pytest.mark.usefixtures("entries")
def test_runs_are_shared_kept_and_a_failing_one_costs_no_other(tmp_path: Path) -> None:
    quick = reproduce("P99-F1", out=tmp_path).details
    assert (quick["profile"], quick["runs"]["squares"]["parameters"]["size"]) == ("quick", "4")
    found = reproduce("--profile", "full", out=tmp_path)
    assert verdicts(found) == {
        "index-at-most-square": "agrees",
        "index-below-square": "agrees",
        "squares-are-small": "does not",
        "broken-run": "not testable",
    }
    failed = found.table.set_index("id").loc["broken-run", "reason"]
    assert "task 1 was told to fail" in failed
    runs = found.details["runs"]
    assert (runs["squares"]["tasks"], runs["squares"]["tasks_kept_from_before"]) == (20, 4)
    assert runs["broken"]["not_computed"].startswith("its run failed")


@pytest.mark.usefixtures("entries")
def test_ctrl_c_writes_what_is_done_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, asked = runner.run, ["reproduce", "--workers", "1", "--out", str(tmp_path)]

    def stopped(experiment: Any, params: Any, *rest: Any) -> Any:
        if params.fails == 1:
            raise KeyboardInterrupt
        return original(experiment, params, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run", stopped)
        assert main(asked) == INTERRUPTED
    found = verdicts(report.read(tmp_path))
    assert (found["index-at-most-square"], found["broken-run"]) == ("agrees", "not testable")
    assert main(asked) == 0
    assert report.read(tmp_path).details["runs"]["squares"]["tasks_kept_from_before"] == 4


def test_workers_that_break_down_are_hired_anew_and_a_refused_cluster_ends_it(
    entries: claims.Ledger, tmp_path: Path
) -> None:
    hired = []

    @contextlib.contextmanager
    def hire() -> Iterator[None]:
        hired.append(None)
        yield None

    def watch(run: claims.Run, done: int, total: int) -> None:
        if done:
            raise error

    plan = reproduction.plan(entries, ["P99"], "full", 1)
    store = runner.Store(tmp_path, keep_all=True)
    error: Exception = reproduction.BrokenExecutor("gone")
    reasons = [one.reason for one in reproduction.carry_out(plan, hire, store, watch)]
    assert reasons[0] == "its run failed (BrokenExecutor: gone)"
    assert len(hired) == 1 + sum("BrokenExecutor" in reason for reason in reasons)
    error = ParameterError("another version")
    with pytest.raises(ParameterError):
        list(reproduction.carry_out(plan, hire, store, watch))


@pytest.mark.usefixtures("entries")
def test_a_rule_or_a_figure_that_fails_costs_no_other_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(claims.rules.Near, "judge", fail)
    monkeypatch.setattr(toy_experiment, "figures", fail)
    found = verdicts(reproduce("P99-F1", "P99-F10", out=tmp_path))
    assert found["squares-are-small"] == "not testable"
    assert found["index-at-most-square"] == "agrees"
    assert "Its figure could not be drawn." in (tmp_path / "reproduce.html").read_text()


# ----------------------------------------------------------------------------------------- report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full report on the made-up ledger."""
    place = tmp_path_factory.mktemp("reproduced")
    with made_up(place):
        reproduce("--profile", "full", out=place / "out")
    return place / "out"


def test_the_table_has_the_entries_and_their_numbers_and_reads_back(
    folder: Path, tmp_path: Path
) -> None:
    found = report.read(folder)
    assert list(found.table["item"]) == ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"]
    rows = found.table.set_index("item")
    assert rows.loc["P99-F1a", ["ours", "limit", "paper_value"]].to_list() == [1.0, 1.0, 1.0]
    assert rows.loc["P99-F1b", "low"] < rows.loc["P99-F1b", "ours"] == -114
    assert pd.isna(rows.loc["P98-A", "ours"])
    report.write(found, tmp_path)
    for name in ("reproduce.csv", "reproduce.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_totals_keep_standings_apart_and_false_verdicts_are_counted_among_the_decided(
    folder: Path,
) -> None:
    found = report.read(folder)
    assert found.details["totals"]["P99"] == {
        "paper": {"agrees": 1, "not testable": 1},
        "implied": {"agrees": 1},
        "ours": {"does not": 1},
        "without a claim": {"not testable": 0},
    }
    chance = found.details["chance"]
    assert (chance["verdicts"], chance["decided"], chance["together"]) == (1, 1, 1)
    assert chance["expected_false_at_most"] == 0.05
    for changed, words in (
        ({"changed_family_wise": {"a": "undecided"}}, "1 verdict changes, to *undecided*."),
        ({"decided": 0}, "none can be false."),
    ):
        details = {"chance": chance | changed}
        assert report.chance_words(report.Report(found.table, details)).endswith(words)


def test_markdown_and_page_have_all_texts_as_they_are(folder: Path) -> None:
    text = (folder / "reproduce.md").read_text(encoding="utf-8")
    for words in (
        r"| P99-F1a | No number is larger than its \<square\>. | 1 | 1 |",
        "#### P99-F10, Figure: ✗ does not agree",
        "**Discussion:** They are not.",
        r"- Ours are \| whole numbers.",
        "- P98-A, Abstract: It is beautiful. Not testable: beauty is not measured.",
        "- old-claim: Nobody said so.",
    ):
        assert words in text
    page = (folder / "reproduce.html").read_text(encoding="utf-8")
    tags = re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(square|link)|<[a-z]+ [^>]*(src|href)=", tags)
    assert "No number is larger than its &lt;square&gt;." in page
    assert page.count('id="figure-squares"') == page.count("plotly.js v") == 1
    assert 'id="figure-broken"' not in page
    # Emphasis is ours, and a star is a star.
    assert document.escaped("a*b, *not yet* and Y*") == r"a\*b, *not yet* and Y\*"
    assert document.escaped("epsilon_total = _x $5") == r"epsilon_total = \_x \$5"


# ------------------------------------------------------------------------- the committed result

COMMITTED = report.read()
DETAILS = COMMITTED.details
ASKED = reproduction.plan(reading.load(), DETAILS["chosen"], DETAILS["profile"], DETAILS["seed"])


def test_the_committed_result_is_of_exactly_the_entries_and_discusses_disagreements() -> None:
    expected = [report.stated(entry) for entry in (*ASKED.claims, *ASKED.untested)]
    known = pd.DataFrame(expected).fillna({"by_chance": False}).fillna("")
    table, order = COMMITTED.table[list(known.columns)], ["item", "id", "claim"]
    pd.testing.assert_frame_equal(
        table.sort_values(order, ignore_index=True),
        known.sort_values(order, ignore_index=True).astype(table.dtypes.to_dict()),
    )
    params = {run.name: reproduction.params_of(run, DETAILS["profile"]) for run in ASKED.runs}
    runs = DETAILS["runs"]
    assert {name: run["parameters"] for name, run in runs.items()} == {
        name: each.to_text() for name, each in params.items()
    }
    assert not [name for name, run in runs.items() if run["not_computed"]]
    assert DETAILS["totals"] == report.totals(COMMITTED.table)
    disagree = COMMITTED.claims["verdict"].isin(["does not", "agrees in direction"])
    discussed = {claim.id for claim in ASKED.claims if claim.discussion}
    assert set(COMMITTED.claims["id"][disagree]) <= discussed


def test_the_committed_text_is_that_of_the_table() -> None:
    text = (report.FOLDER / "reproduce.md").read_text(encoding="utf-8")
    assert text == document.markdown(COMMITTED, reading.load()), (
        "after a change of words alone, write document.markdown(report.read(), reading.load())"
    )


@pytest.mark.parametrize(
    "name",
    [
        "y23-width-grows-with-epsilon-total",
        pytest.param("p21-proposition-1-fresh-threshold", marks=pytest.mark.slow),
        pytest.param("y23-information-grows-with-epsilon-total", marks=pytest.mark.slow),
    ],
)
def test_an_entry_is_recomputed(name: str, tmp_path: Path) -> None:
    asked = ["--profile", DETAILS["profile"], "--seed", str(DETAILS["seed"])]
    found = reproduce(name, *asked, out=tmp_path).table.set_index("id")
    known = COMMITTED.table.set_index("id").loc[[name]]
    pd.testing.assert_frame_equal(found, known, rtol=1e-9)
    assert json.loads((tmp_path / "reproduce.json").read_text())["chosen"] == [name]
