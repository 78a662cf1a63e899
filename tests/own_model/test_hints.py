"""What is said of a model of one's own where a command does not take it, or was not given it."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdp_core.__main__ import main

pytestmark = pytest.mark.usefixtures("own_registry")

GAUSSIAN = Path(__file__).parents[2] / "examples" / "gaussian.py"
SAYS = "`plan gaussian-2d` says what releases of yours come to."


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run posterior --set scenario=mine", "; a model of your own needs --plugin FILE"),
        ("plan mine", "tuberculosis-patients; a model of your own needs --plugin FILE.py."),
        ("plan tuberculosis", "tuberculosis-patients.\n"),
        ("run soft-abc --set scenario=covid", "scenario = covid: unknown parameter"),
    ],
)
def test_a_scenario_that_is_unknown_may_want_its_file(
    command: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--out", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("study", "of"),
    [
        ("error-by-size", "uniform-mixture, covid"),
        ("soft-abc", "its own scenario"),
    ],
)
def test_a_study_of_other_scenarios_says_so(
    study: str, of: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", study, "--set", "scenario=gaussian-2d", "--plugin", str(GAUSSIAN)]
    assert main([*command, "--out", str(tmp_path)]) == 2
    said = f"error: scenario = gaussian-2d: this study is of {of} alone; {SAYS}\n"
    assert capsys.readouterr().err == said
