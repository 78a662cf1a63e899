"""Reproducing claims: the plan, runs that are shared, stopped and fail, and the report."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdp_core import claims, registry, runner
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.claims import document, reading, report, reproduction
from abcdp_core.parameters import ParameterError
from tests import toy_experiment

ENTRIES = """
items = ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"]

[[run]]
name = "squares"
experiment = "toy"
parameters = ["size=20"]
quick = ["size=4"]
differences = ["Ours are | whole numbers."]

[[run]]
name = "broken"
experiment = "toy"
parameters = ["size=3", "fails=1"]

[[claim]]
id = "index-at-most-square"
item = "P99-F1a"
standing = "paper"
place = "Figure 1"
claim = "No number is larger than its <square>."
paper = "1"
paper_value = 1
run = "squares"
table = "main"
rule = { kind = "at_most", column = "index", other = "square" }

[[claim]]
id = "index-below-square"
item = "P99-F1b"
standing = "implied"
place = "Figure 1"
claim = "On average a number is smaller than its square."
run = "squares"
table = "main"
rule = { kind = "less", column = "index", other = "square", a = {}, b = {}, pair = "index" }

[[claim]]
id = "squares-are-small"
item = "P99-F10"
standing = "ours"
place = "Figure 10"
claim = "Squares are near 0."
run = "squares"
table = "main"
discussion = "They are not."
rule = { kind = "near", each = ["square"], value = 0, distance = 1 }

[[claim]]
id = "broken-run"
item = "P99-T1"
standing = "paper"
place = "Theorem 1"
claim = "Everything works."
run = "broken"
table = "main"
rule = { kind = "at_most", column = "index", other = "square" }

[[untested]]
item = "P98-A"
place = "Abstract"
claim = "It is beautiful."
reason = "beauty is not measured"

[[retired]]
id = "old-claim"
reason = "Nobody said so."
"""


@contextlib.contextmanager
def made_up(folder: Path) -> Iterator[claims.Ledger]:
    """A made-up ledger about the toy, which is plugged in, in place of the real one."""
    file = folder / "p99.toml"
    file.write_text(ENTRIES, encoding="utf-8")
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


# ------------------------------------------------------------------------------------------ plan


@pytest.mark.parametrize(
    ("chosen", "items", "runs"),
    [
        (["P99-F1"], ["P99-F1a", "P99-F1b"], ["squares"]),
        (["squares-are-small", "P99-F1a"], ["P99-F1a", "P99-F10"], ["squares"]),
        (["P98"], ["P98-A"], []),
    ],
)
def test_what_is_chosen_is_planned(
    entries: claims.Ledger, chosen: Sequence[str], items: list[str], runs: list[str]
) -> None:
    plan = reproduction.plan(entries, chosen, "full", 1)
    assert [one.item for one in (*plan.claims, *plan.untested)] == items
    assert [run.name for run in plan.runs] == runs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("squares-are-smal", "(close: squares-are-small"),
        ("old-claim", "was withdrawn. Nobody said so."),
        ("", "(papers: P99, P98)."),
    ],
)
def test_what_is_unknown_is_said_in_one_line(
    entries: claims.Ledger,
    text: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["reproduce", text, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: claim = {text}: ")
    assert words in said
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------------- runs


def test_runs_are_shared_kept_and_a_failing_one_costs_no_other(
    entries: claims.Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert failed == "Not testable: its run failed (ArithmeticError: task 1 was told to fail)."
    runs = found.details["runs"]
    assert (runs["squares"]["tasks"], runs["squares"]["tasks_kept_from_before"]) == (20, 4)
    assert runs["broken"]["not_computed"].startswith("its run failed")
    printed = capsys.readouterr().out
    assert "2 runs for 4 claims; 1 other item cannot be tested." in printed
    assert re.search(r"^\[1/2\] squares: \d+\.\d s$", printed, re.MULTILINE)


def test_ctrl_c_writes_what_is_done_and_the_same_command_goes_on(
    entries: claims.Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original = runner.run

    def stopped(experiment: Any, params: Any, *rest: Any) -> Any:
        if params.fails == 1:
            raise KeyboardInterrupt
        return original(experiment, params, *rest)

    monkeypatch.setattr(runner, "run", stopped)
    asked = ["reproduce", "--workers", "1", "--out", str(tmp_path)]
    assert main(asked) == INTERRUPTED
    said = capsys.readouterr().err
    assert said == "Interrupted; finished tasks were kept; the same command continues from them.\n"
    found = report.read(tmp_path)
    assert verdicts(found)["index-at-most-square"] == "agrees"
    reason = found.table.set_index("id").loc["broken-run", "reason"]
    assert reason == "Not testable: its run was not finished."
    monkeypatch.setattr(runner, "run", original)
    assert main(asked) == 0
    again = report.read(tmp_path).details["runs"]["squares"]
    assert again["tasks_kept_from_before"] == 4


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
    found = reproduce("P99-F1", "P99-F10", out=tmp_path)
    assert verdicts(found)["squares-are-small"] == "not testable"
    assert verdicts(found)["index-at-most-square"] == "agrees"
    assert "Its figure could not be drawn." in (tmp_path / "reproduce.html").read_text()


# ----------------------------------------------------------------------------------------- report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full report on the made-up ledger."""
    place = tmp_path_factory.mktemp("reproduced")
    with made_up(place):
        reproduce("--profile", "full", out=place / "out")
    return place / "out"


def test_the_table_has_the_entries_and_reads_back(folder: Path, tmp_path: Path) -> None:
    found = report.read(folder)
    assert list(found.table["item"]) == ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"]
    rows = found.table.set_index("item")
    assert rows.loc["P99-F1a", ["ours", "limit", "paper_value"]].to_list() == [1.0, 1.0, 1.0]
    assert rows.loc["P99-F1b", "low"] < rows.loc["P99-F1b", "ours"] == -114
    assert pd.isna(rows.loc["P98-A", "ours"])
    assert rows.loc["P98-A", "reason"] == "Not testable: beauty is not measured."
    report.write(found, tmp_path)
    for name in ("reproduce.csv", "reproduce.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_totals_keep_standings_apart(folder: Path) -> None:
    found = report.read(folder)
    assert found.details["totals"]["P99"] == {
        "paper": {"agrees": 1, "not testable": 1},
        "implied": {"agrees": 1},
        "ours": {"does not": 1},
        "without a claim": {"not testable": 0},
    }
    assert report.total_words(found.table) == (
        "2 claims stated in the papers, drawn from 2 statements: 1 agrees and 1 is not testable. "
        "The only claim implied by the papers agrees. The only claim of ours does not agree. We "
        "cannot test 1 more statement; the reason is given for each."
    )


def test_false_verdicts_are_counted_among_the_decided(folder: Path) -> None:
    found = report.read(folder)
    chance = found.details["chance"]
    assert (chance["verdicts"], chance["decided"], chance["together"]) == (1, 1, 1)
    assert chance["expected_false_at_most"] == 0.05

    def words(**changed: object) -> str:
        return report.chance_words(report.Report(found.table, {"chance": chance | changed}))

    assert words().startswith("1 verdict rests on random numbers. Each has a probability of")
    assert words().endswith("at least 95 %: no verdict changes.")
    changed = words(changed_family_wise={"a": "undecided"})
    assert changed.endswith("1 verdict changes, to *undecided*.")
    assert words(decided=0).endswith("all are undecided, so none can be false.")


def test_markdown_and_page_have_all_texts_as_they_are(folder: Path) -> None:
    text = (folder / "reproduce.md").read_text(encoding="utf-8")
    for words in (
        r"| P99-F1a | No number is larger than its \<square\>. | 1 | 1 | share of the bound |",
        "#### P99-F10, Figure 10: ✗ does not agree",
        "**Discussion:** They are not.",
        r"- Ours are \| whole numbers.",
        "- P98-A, Abstract: It is beautiful. Not testable: beauty is not measured.",
        "- old-claim: Nobody said so.",
        "    abcdp reproduce --profile full --seed 1 --out results/reproduction",
    ):
        assert words in text
    page = (folder / "reproduce.html").read_text(encoding="utf-8")
    tags = re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(square|link)|<[a-z]+ [^>]*(src|href)=", tags)
    assert "No number is larger than its &lt;square&gt;." in page
    assert "<strong>Discussion:</strong> They are not." in page
    assert page.count('id="figure-squares"') == page.count("plotly.js v") == 1
    assert 'id="figure-broken"' not in page


def test_emphasis_is_ours_and_a_star_is_a_star() -> None:
    assert document.escaped("a*b, *not yet* and Y*") == r"a\*b, *not yet* and Y\*"
    assert document.escaped("epsilon_total = _x $5") == r"epsilon_total = \_x \$5"


# ------------------------------------------------------------------------- the committed result


COMMITTED = report.read()
ASKED = reproduction.plan(
    reading.load(),
    COMMITTED.details["chosen"],
    COMMITTED.details["profile"],
    COMMITTED.details["seed"],
)


def test_the_committed_table_has_exactly_the_entries() -> None:
    expected = [report.stated(entry) for entry in (*ASKED.claims, *ASKED.untested)]
    known = pd.DataFrame(expected).fillna({"by_chance": False}).fillna("")
    table = COMMITTED.table[list(known.columns)]
    order = ["item", "id", "claim"]
    pd.testing.assert_frame_equal(
        table.sort_values(order, ignore_index=True),
        known.sort_values(order, ignore_index=True).astype(table.dtypes.to_dict()),
    )


def test_the_committed_runs_are_those_of_the_entries() -> None:
    runs = COMMITTED.details["runs"]
    profile = COMMITTED.details["profile"]
    asked = {run.name: reproduction.params_of(run, profile).to_text() for run in ASKED.runs}
    assert asked == {name: run["parameters"] for name, run in runs.items()}
    assert not [name for name, run in runs.items() if run["not_computed"]]
    assert COMMITTED.details["totals"] == report.totals(COMMITTED.table)


def test_the_committed_text_is_that_of_the_table() -> None:
    text = (report.FOLDER / "reproduce.md").read_text(encoding="utf-8")
    assert text == document.markdown(COMMITTED, reading.load()), (
        "after a change of words alone, write document.markdown(report.read(), reading.load())"
    )


def test_every_committed_disagreement_is_discussed() -> None:
    discussed = {claim.id for claim in ASKED.claims if claim.discussion}
    rows = COMMITTED.claims[COMMITTED.claims["verdict"].isin(["does not", "agrees in direction"])]
    assert set(rows["id"]) <= discussed


@pytest.mark.parametrize(
    "name",
    [
        "y23-width-grows-with-epsilon-total",
        pytest.param("p21-proposition-1-fresh-threshold", marks=pytest.mark.slow),
        pytest.param("y23-information-grows-with-epsilon-total", marks=pytest.mark.slow),
    ],
)
def test_an_entry_is_recomputed(name: str, tmp_path: Path) -> None:
    asked = ["--profile", COMMITTED.details["profile"], "--seed", str(COMMITTED.details["seed"])]
    found = reproduce(name, *asked, out=tmp_path).table.set_index("id")
    known = COMMITTED.table.set_index("id").loc[[name]]
    pd.testing.assert_frame_equal(found, known, rtol=1e-9)
    assert json.loads((tmp_path / "reproduce.json").read_text())["chosen"] == [name]
