"""README and docs: their commands run, their Python prints what they show, their links lead on."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from abcdp_core import __version__, mechanisms
from abcdp_core.__main__ import COMMANDS, main, parser_of
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.posterior import outcome

TOP = Path(__file__).parents[1]
DOCS = sorted((TOP / "docs").glob("*.md"))
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in [TOP / "README.md", *DOCS]}

TESTED_ELSEWHERE = {"own_model", "own_study"}
"""Pages whose commands run in ``tests/models/own_model`` and ``tests/studies/engine``."""

SERVERS = ("app", "poll")
"""Commands of the pages that need a browser, or an answer from one; they have tests in both."""

BLOCK = re.compile(
    r"(?:<!-- (not run: [^>]+) -->\n\n)?((?:^ {4,}abcdp .*\n)+|^```python\n(?:.*\n)*?```$)",
    re.MULTILINE,
)
"""A block of commands, or of Python, and why it is not run, if so."""

FEWER = {
    "release tuberculosis-patients": "--yes --simulations 1000",
    "release visits": "--yes --simulations 1000",
    "release covid-people --rehearse": "--simulations 1000",
    "release covid-people": "--yes --simulations 1000",
    "release uniform-mixture": "--yes",
    "run mse-curves": "--set runs=1 --set pool_size=1000",
    "run tuberculosis-posterior": "--set runs=1",
    "run compare-mechanisms": "--set runs=1 --set pool_size=200",
    "run posterior": "--set pool_size=200",
    "plan": "--runs 2 --pool-size 200 --mechanism sparse-vector,noisy-counts --workers 1",
}
"""Beginning of a command -> what is added to it in these tests, so that it takes seconds."""


def commands(block: str) -> list[str]:
    lines = [line.strip().partition("  #")[0].strip() for line in block.splitlines()]
    return [line.removeprefix("abcdp ") for line in lines]


def run(command: str) -> None:
    more = next((more for first, more in FEWER.items() if command.startswith(first)), "")
    assert main(shlex.split(f"{command} {more}")) == 0, command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples, where a posterior takes few simulations."""
    monkeypatch.setattr(outcome, "fit", functools.partial(outcome.fit, size=500))
    monkeypatch.setenv("ABCDP_LEDGER", str(tmp_path / "budgets.db"))
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(TOP / "examples")
    return tmp_path


def test_every_mechanism_is_named_with_what_gets_noise() -> None:
    assert [name for name in mechanisms.every() if f"`{name}`" not in PAGES["theory"]] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing:FutureWarning")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", sorted(PAGES.keys() - TESTED_ELSEWHERE))
def test_the_commands_and_programs_of_a_page_run_one_after_the_other(page: str) -> None:
    for why_not, block in BLOCK.findall(PAGES[page]):
        if why_not:
            continue
        if block.startswith("```"):
            exec(block.removeprefix("```python\n").removesuffix("```"), {})
            continue
        for command in commands(block):
            if command.split()[0] not in SERVERS:
                run(command)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_exist_with_their_options(page: str) -> None:
    for _, block in BLOCK.findall(PAGES[page]):
        for command in [] if block.startswith("```") else commands(block):
            name = command.split()[0]
            assert name in COMMANDS
            parser_of(name).parse_args(shlex.split(command))


def test_the_quickstart_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGES["start"]
    found = re.search(r"```python\n(.*?)```\n\nprints\n\n((?: {4}.*\n)+)\nwhere", text, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    assert len([line for line in code.splitlines() if line]) == 11
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    assert capsys.readouterr().out.split() == printed.split()
    assert namespace["figure"].data
    truth = ", ".join(map(str, uniform_mixture.SCENARIO.truth))
    assert f"where the truth is {truth}." in text


def test_make_has_the_targets_that_the_readme_names() -> None:
    makefile = (TOP / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", PAGES["README"], re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", [*TOP.glob("*.md"), *DOCS], ids=lambda page: page.stem)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    files = [link.partition("#")[0] for link in links if not link.startswith(("http", "#"))]
    assert [file for file in files if file and not (page.parent / file).exists()] == []


NAMED = re.compile(
    r"(?<![\w./-])(?:\./)?((?:abcdp_core|assets|benchmarks|deploy|docs|examples|notebooks|pages|tests"
    r"|tools|ui)/[\w./-]*\w)"
)
"""A path of this repository."""

NAMING = [
    file
    for names in ("*.md", "docs/*.md", "Dockerfile", "compose.yaml", "Makefile", "pyproject.toml",
                  ".dockerignore", ".streamlit/config.toml", ".github/workflows/*.yml")
    for file in sorted(TOP.glob(names))
]  # fmt: skip
"""Files that name others."""


def missing_in(text: str) -> list[str]:
    """Return the paths in a text that lead nowhere, unless a person makes what is there."""
    own = (TOP / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
    found = NAMED.findall(text)
    return [
        each for each in found if not (TOP / each).exists() and each.replace("/", "") not in own
    ]


def test_the_version_is_the_same_wherever_it_is_stated() -> None:
    """Cited, changed and installed; the wheel reads it from the core."""
    cited = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    changes = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", changes, re.MULTILINE)
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["version"]["path"] == "abcdp_core/__init__.py"
    assert "version" in project["project"]["dynamic"]
    assert [cited, newest] == [__version__] * 2


def test_a_tag_attaches_what_was_built_and_an_issue_says_version_and_command() -> None:
    jobs = yaml.safe_load((TOP / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    *before, last = jobs["files"]["steps"]
    assert last["if"] == "startsWith(github.ref, 'refs/tags/v')"
    built = " ".join(step.get("run", "") for step in before)
    assert all(each in built for each in ("pip wheel", "dist/story.html", "dist/site.tar.gz"))
    assert "dist/*" in last["run"]
    form = yaml.safe_load((TOP / ".github/ISSUE_TEMPLATE/problem.yml").read_text(encoding="utf-8"))
    needed = {each.get("id") for each in form["body"] if "validations" in each}
    assert needed >= {"version", "command"}


def test_every_path_that_is_named_exists_and_no_text_has_merge_conflicts() -> None:
    texts = {str(file.relative_to(TOP)): file.read_text(encoding="utf-8") for file in NAMING}
    missing = {name: gone for name, text in texts.items() if (gone := missing_in(text))}
    assert missing == {}, "name what is there now, or nothing"
    marks = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert [name for name, text in texts.items() if marks.search(text)] == []
    # The guard finds paths, and sees one that has moved.
    assert sum(len(NAMED.findall(text)) for text in texts.values()) > 50
    assert missing_in("# ui/http_filter.py decides who may ask: docs/serve.md") == [
        "ui/http_filter.py"
    ]
    assert marks.search("a\n<<<<<<< HEAD\nb")


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet"]
    done = subprocess.run(
        [*command, str(TOP / "docs"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    foreign = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//")
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")]
    assert len(pages) > len(DOCS)
    assert not any(foreign.search(page) for page in pages)
