"""Errors of commands that do not know or do not accept a model of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdp_core.__main__ import main

pytestmark = pytest.mark.usefixtures("own_registry")

ROOT = Path(__file__).parents[2]

GAUSSIAN = f"scenario=gaussian-2d --plugin {ROOT}/examples/gaussian.py"
SAYS = "`plan gaussian-2d` says what to expect from releases with your model."


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run posterior --set scenario=mine", "; a model of your own needs --plugin FILE"),
        ("plan mine", "tuberculosis-patients; a model of your own needs --plugin FILE.py."),
        ("plan tuberculosis", "tuberculosis-patients.\n"),
        ("run soft-abc --set scenario=covid", "scenario = covid: unknown parameter"),
        (f"run error-by-size --set {GAUSSIAN}", f"covers only uniform-mixture, covid; {SAYS}\n"),
        (f"run soft-abc --set {GAUSSIAN}", f"covers only its own scenario; {SAYS}\n"),
    ],
)
def test_an_error_names_what_a_model_of_ones_own_needs(
    command: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--out", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
