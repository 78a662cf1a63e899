"""Reproducing claims: the plan, runs that are shared, stopped and fail, and the report."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdp_core import ledger, registry, runner
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.commands import reproduce as command
from abcdp_core.ledger import document, reading, report, reproduction
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
def made_up(folder: Path) -> Iterator[ledger.Ledger]:
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
def entries(tmp_path: Path) -> Iterator[ledger.Ledger]:
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
        ([], ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"], ["squares", "broken"]),
        (["P99"], ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1"], ["squares", "broken"]),
        (["P99-F1"], ["P99-F1a", "P99-F1b"], ["squares"]),
        (["p99-f1B"], ["P99-F1b"], ["squares"]),
        (["squares-are-small", "P99-F1a"], ["P99-F1a", "P99-F10"], ["squares"]),
        (["P98"], ["P98-A"], []),
    ],
)
def test_what_is_chosen_is_planned(
    entries: ledger.Ledger, chosen: Sequence[str], items: list[str], runs: list[str]
) -> None:
    plan = reproduction.plan(entries, chosen, "full", 1)
    assert [one.item for one in (*plan.claims, *plan.untested)] == items
    assert [run.name for run in plan.runs] == runs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("P99-F2", "near are P99-F1"),
        ("squares-are-smal", "near are squares-are-small"),
        ("old-claim", "is retired. Nobody said so."),
        ("???", "papers are P99, P98."),
        ("", "papers are P99, P98."),
    ],
)
def test_what_is_unknown_is_said_in_one_line(
    entries: ledger.Ledger,
    text: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["reproduce", text, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: claim = {text}: ")
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("profile", reproduction.PROFILES)
def test_every_run_of_ours_can_be_planned(profile: reproduction.Profile) -> None:
    plan = reproduction.plan(reading.load(), [], profile, 1)
    assert {run.name for run in plan.runs} == set(plan.ledger.runs)
    for run in plan.runs:
        plan.params(run)


# ------------------------------------------------------------------------------------------- runs


def test_runs_are_shared_and_a_failing_one_costs_no_other(
    entries: ledger.Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert (runs["squares"]["tasks"], runs["squares"]["tasks_kept_from_before"]) == (20, 0)
    assert runs["broken"]["not_computed"].startswith("its run failed")
    printed = capsys.readouterr().out
    assert "2 runs for 4 claims; nothing can be run for 1 other item." in printed
    assert re.search(r"^\[1/2\] squares: \d+\.\d s$", printed, re.MULTILINE)


def test_the_quick_profile_is_smaller_and_tasks_are_kept(
    entries: ledger.Ledger, tmp_path: Path
) -> None:
    quick = reproduce("P99-F1", out=tmp_path).details
    assert (quick["profile"], quick["runs"]["squares"]["parameters"]["size"]) == ("quick", "4")
    full = reproduce("P99-F1", "--profile", "full", out=tmp_path).details["runs"]["squares"]
    assert (full["tasks"], full["tasks_kept_from_before"]) == (20, 4)


def test_tasks_of_a_study_that_has_changed_since_count_for_nothing(
    entries: ledger.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    for text in (b"# One text.", b"# One text.", b"# Another text."):
        monkeypatch.setitem(registry.texts, toy_experiment.__name__, text)
        run = reproduce("P99-F1", out=tmp_path).details["runs"]["squares"]
        kept.append(run["tasks_kept_from_before"])
    assert kept == [0, 4, 0]
    # Nor do the seconds they took: two texts, two sums.
    assert len(json.loads((tmp_path / "store" / "seconds.json").read_text())) == 2


def test_ctrl_c_writes_what_is_done_and_the_same_command_goes_on(
    entries: ledger.Ledger,
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
    assert said == "Interrupted; the same command goes on from the finished tasks that were kept.\n"
    found = report.read(tmp_path)
    assert verdicts(found)["index-at-most-square"] == "agrees"
    reason = found.table.set_index("id").loc["broken-run", "reason"]
    assert reason == "Not testable: its run was not finished."
    monkeypatch.setattr(runner, "run", original)
    assert main(asked) == 0
    again = report.read(tmp_path).details["runs"]["squares"]
    assert again["tasks_kept_from_before"] == 4

    def written(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    capsys.readouterr()
    monkeypatch.setattr(command, "_write", written)
    assert main(asked) == INTERRUPTED
    assert capsys.readouterr().err.endswith(said)


def test_a_report_that_nobody_reads_is_written_and_the_same_command_goes_on(
    entries: ledger.Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            if "[1/" in self.getvalue():
                raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["reproduce", "--workers", "1", "--out", str(tmp_path)]) == 141
    assert capsys.readouterr().err == (
        "error: standard output cannot be written (Broken pipe); "
        "the same command goes on from the finished tasks that were kept.\n"
    )
    assert verdicts(report.read(tmp_path))["index-at-most-square"] == "agrees"


def test_a_full_disk_leaves_an_earlier_report_as_it_was(
    entries: ledger.Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    reproduce("P99-F1", out=tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.glob("reproduce.*")}
    capsys.readouterr()
    monkeypatch.setattr(os, "fsync", full)
    assert main(["reproduce", "--workers", "1", "--out", str(tmp_path)]) == 2
    assert "(No space left on device); an earlier result" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in tmp_path.glob("reproduce.*")} == before
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[half", "[]", "null", "[" * 100_000),
        *('{"a": null}', '{"a": 1e999}', '{"a": [1]}', f'{{"a": {10**400}}}'),
    ],
)
def test_seconds_that_cannot_be_read_cost_nothing_else(text: str, tmp_path: Path) -> None:
    file = tmp_path / "seconds.json"
    file.write_text(text, encoding="utf-8")
    assert reproduction._spent(file, "a", 2.0) == 2.0
    assert reproduction._spent(file, "a", 1.0) == 3.0
    # Where they cannot be written neither: a folder stands in the way.
    file.unlink()
    file.mkdir()
    assert reproduction._spent(file, "a", 2.0) == 2.0


def test_seconds_before_a_stop_count(tmp_path: Path) -> None:
    file = tmp_path / "store" / "seconds.json"
    assert reproduction._spent(file, "a", 2.0) == 2.0
    assert reproduction._spent(file, "b", 1.0) == 1.0
    assert reproduction._spent(file, "a", 0.5) == 2.5


def test_ctrl_c_before_a_run_is_done_leaves_an_earlier_report_alone(
    entries: ledger.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", stopped)
    out = tmp_path / "out"
    assert main(["reproduce", "--workers", "1", "--out", str(out)]) == INTERRUPTED
    assert not list(out.glob("*.*"))


def test_workers_that_break_down_are_hired_anew(entries: ledger.Ledger, tmp_path: Path) -> None:
    executor_for = []

    @contextlib.contextmanager
    def hire() -> Iterator[None]:
        executor_for.append(None)
        yield None

    def watch(run: ledger.Run, done: int, total: int) -> None:
        if run.name == "squares" and done:
            raise reproduction.BrokenExecutor("gone")

    plan = reproduction.plan(entries, ["P99"], "full", 1)
    store = runner.Store(tmp_path, keep_all=True)
    reasons = [one.reason for one in reproduction.carry_out(plan, hire, store, watch)]
    assert reasons[0] == "its run failed (BrokenExecutor: gone)"
    assert len(executor_for) == 2


def test_a_cluster_that_is_refused_says_nothing_of_a_claim(
    entries: ledger.Ledger, tmp_path: Path
) -> None:
    """It was a verdict, "not testable", of each of them."""

    def watch(run: ledger.Run, done: int, total: int) -> None:
        raise ParameterError("another version")

    plan = reproduction.plan(entries, ["P99"], "full", 1)
    store = runner.Store(tmp_path, keep_all=True)
    with pytest.raises(ParameterError):
        list(reproduction.carry_out(plan, contextlib.nullcontext, store, watch))


def test_a_rule_that_fails_costs_no_other_claim(
    entries: ledger.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(ledger.rules.Near, "judge", fail)
    found = reproduce("P99-F1", "P99-F10", out=tmp_path)
    assert verdicts(found)["squares-are-small"] == "not testable"
    assert verdicts(found)["index-at-most-square"] == "agrees"


# ----------------------------------------------------------------------------------------- report


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reproduced")
    with made_up(place):
        reproduce("--profile", "full", out=place / "out")
    return place / "out"


@pytest.fixture
def folder(entries: ledger.Ledger, reproduced: Path, tmp_path: Path) -> Path:
    """A full report on the made-up ledger; a copy for each test."""
    return Path(shutil.copytree(reproduced, tmp_path / "out"))


def test_the_table_has_the_promised_columns_first_and_reads_back(folder: Path) -> None:
    promised = "item,source,place,standing,claim,paper,ours,low,high,verdict,reason,"
    assert (folder / "reproduce.csv").read_text(encoding="utf-8").startswith(promised)
    found = report.read(folder)
    assert list(found.table["item"]) == ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"]
    rows = found.table.set_index("item")
    assert rows.loc["P99-F1a", ["ours", "limit", "paper_value"]].to_list() == [1.0, 1.0, 1.0]
    assert rows.loc["P99-F1b", "low"] < rows.loc["P99-F1b", "ours"] == -114
    assert math.isnan(rows.loc["P98-A", "ours"])
    assert rows.loc["P98-A", "reason"] == "Not testable: beauty is not measured."
    assert list(found.table["by_chance"]) == [False, True, False, False, False]
    again = folder / "again"
    again.mkdir()
    report.write(found, again)
    for name in ("reproduce.csv", "reproduce.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_totals_keep_standings_apart(folder: Path) -> None:
    found = report.read(folder)
    assert found.details["totals"]["P99"] == {
        "paper": {"agrees": 1, "not testable": 1},
        "implied": {"agrees": 1},
        "ours": {"does not": 1},
        "without a claim": {"not testable": 0},
    }
    assert report.total_words(found.table) == (
        "Of 2 claims of the papers, about 2 statements, 1 agrees and 1 is not testable. The one "
        "claim that they imply agrees. The one refinement of our own does not agree. No table of "
        "ours can judge 1 more statement. The reason is given."
    )


def test_false_verdicts_are_counted_among_the_decided(folder: Path) -> None:
    found = report.read(folder)
    chance = found.details["chance"]
    assert (chance["verdicts"], chance["decided"], chance["together"]) == (1, 1, 1)
    assert chance["expected_false_at_most"] == 0.05
    words = report.chance_words(found)
    assert words.startswith("1 verdict rests on random numbers; decided among these: 1.")
    assert words.endswith("no verdict changes.")


def test_a_verdict_that_many_together_do_not_bear_is_named() -> None:
    claim = next(one for one in reading.load().claims if one.rule.chance)
    chance = {"verdicts": 3, "decided": 2, "level": 0.05, "expected_false_at_most": 0.1}
    chance |= {"together": 40, "changed_family_wise": {claim.id: "x"}}
    words = report.chance_words(report.Report(pd.DataFrame(), {"chance": chance}))
    assert "of 2, at most 0.1 are expected to be false" in words
    assert words.endswith("1 verdict changes, to *x*.")
    none = report.Report(pd.DataFrame(), {"chance": chance | {"decided": 0}})
    assert report.chance_words(none) == (
        "3 verdicts rest on random numbers; none of them decided anything, so none is false."
    )


def test_the_markdown_tells_everything(folder: Path) -> None:
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
    assert "\n\n\n" not in text


class _Reader(HTMLParser):
    """Collects the tags of a page, with its addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_stands_alone_with_its_figures_and_texts_as_they_are(folder: Path) -> None:
    text = (folder / "reproduce.html").read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(text)
    assert reader.addresses == []
    assert "square" not in reader.tags
    assert "No number is larger than its &lt;square&gt;." in text
    assert text.count('id="figure-squares"') == 1
    assert text.count("plotly.js v") == 1
    assert 'id="figure-broken"' not in text


def test_a_figure_that_cannot_be_drawn_is_said(
    entries: ledger.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toy_experiment, "figures", lambda _: 1 / 0)
    reproduce("P99-F1", out=tmp_path)
    assert "Its figure could not be drawn." in (tmp_path / "reproduce.html").read_text()


def test_emphasis_is_ours_and_a_star_is_a_star() -> None:
    assert document.escaped("a*b, *cannot be told* and Y*") == r"a\*b, *cannot be told* and Y\*"
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
    assert {run.name: ASKED.params(run).to_text() for run in ASKED.runs} == {
        name: run["parameters"] for name, run in runs.items()
    }
    assert not [name for name, run in runs.items() if run["not_computed"]]
    assert COMMITTED.details["totals"] == report.totals(COMMITTED.table)
    assert not COMMITTED.table["reason"].str.contains("failed (", regex=False).any()


def test_the_committed_text_is_that_of_the_table() -> None:
    text = (report.FOLDER / "reproduce.md").read_text(encoding="utf-8")
    assert text == document.markdown(COMMITTED, reading.load()), (
        "after a change of words alone, write document.markdown(report.read(), reading.load())"
    )


def test_every_committed_disagreement_is_discussed() -> None:
    discussed = {claim.id for claim in ASKED.claims if claim.discussion}
    rows = COMMITTED.claims[COMMITTED.claims["verdict"].isin(["does not", "agrees in direction"])]
    assert set(rows["id"]) <= discussed


def test_three_entries_are_recomputed(tmp_path: Path) -> None:
    ids = [
        "p21-proposition-1-fresh-threshold",
        "y23-information-grows-with-epsilon-total",
        "y23-width-grows-with-epsilon-total",
    ]
    asked = ["--profile", COMMITTED.details["profile"], "--seed", str(COMMITTED.details["seed"])]
    found = reproduce(*ids, *asked, out=tmp_path).table.set_index("id").sort_index()
    known = COMMITTED.table.set_index("id").loc[found.index]
    pd.testing.assert_frame_equal(found, known, rtol=1e-9)
    assert len(found) == len(ids)
    assert json.loads((tmp_path / "reproduce.json").read_text())["chosen"] == ids
