"""The README's Python prints what the README shows, and its commands run."""

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from abcdp_core.__main__ import main
from abcdp_core.posterior import outcome
from abcdp_core.simulators import uniform_mixture

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text()


def test_the_quickstart_prints_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```\n\nprints\n\n((?: {4}.*\n)+)\nwhere", README, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    assert len([line for line in code.splitlines() if line]) == 10
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    assert capsys.readouterr().out.split() == printed.split()
    assert namespace["figure"].data
    truth = ", ".join(map(str, uniform_mixture.TRUTH))
    assert f"where the truth is {truth}:" in README


def test_make_has_the_targets_that_the_readme_names() -> None:
    makefile = (TOP / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_commands_for_a_posterior_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.findall(r"^    abcdp (run posterior .*)$", README, re.MULTILINE)
    assert lines
    for line in lines:
        arguments = line.replace("results", str(tmp_path)).split()
        assert main([*arguments, "--set", "pool_size=200"]) == 0


@pytest.mark.slow
def test_a_file_becomes_a_report_in_two_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Far fewer simulations than usual, which take a minute.
    monkeypatch.setattr(outcome, "fit", functools.partial(outcome.fit, size=500))
    lines = re.findall(r"^    abcdp ((?:release|report) .*)$", README, re.MULTILINE)
    *pairs, paid = lines
    create, show = re.findall(r"^    abcdp (budget .*)$", README, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABCDP_LEDGER", str(tmp_path / "budgets.db"))
    Path("examples").symlink_to(TOP / "examples")
    assert [line.split()[0] for line in pairs] == ["release", "report"] * 3
    few = ["--yes", "--simulations", "1000"]
    for line in pairs:
        more = few if line.startswith("release") else []
        assert main([*line.split(), *(more[:1] if "uniform-mixture" in line else more)]) == 0
    for report in ("tuberculosis.html", "cases.html", "incomes.html"):
        assert "<h2>Privacy label</h2>" in Path(report).read_text(encoding="utf-8")
    assert main(create.split()) == 0
    assert main([*paid.split(), *few]) == 0
    assert main(show.split()) == 0


@pytest.mark.slow
def test_the_command_for_a_published_query_runs(tmp_path: Path) -> None:
    (line,) = re.findall(r"^    abcdp (infer .*)$", README, re.MULTILINE)
    assert main(line.replace("results", str(tmp_path)).split()) == 0
    assert (tmp_path / "log-linear" / "infer.csv").exists()


@pytest.mark.slow
def test_the_command_for_a_plan_runs() -> None:
    (line,) = re.findall(r"^    abcdp (plan .*)$", README, re.MULTILINE)
    few = ("--runs", "2", "--pool-size", "200", "--mechanism", "sparse-vector,noisy-counts")
    assert main([*line.split(), *few, "--workers", "1"]) == 0


def test_no_text_has_merge_conflicts() -> None:
    texts = [*TOP.glob("*.md"), *TOP.glob("[a-z]*/*.md"), *TOP.glob("deploy/*.*"), TOP / "Makefile"]
    marks = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert TOP / "SECURITY.md" in texts
    assert [text.name for text in texts if marks.search(text.read_text(encoding="utf-8"))] == []
