"""A model of one's own that explains noisy numbers of others, through the command."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.base.places import EXAMPLES
from abcdp_core.posterior import augmentation

OWN = """
simulator = "visits"
records = 400
query = [4000.0, 210.0, 60.0, 190.0]
effective_sample_size = 100
draws = 2000

[noise]
law = "laplace"
scale = [480.0, 4.0, 4.0, 4.0]
"""


def test_a_model_of_ones_own_explains_what_others_released(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], own_registry: None
) -> None:
    problem, out = tmp_path / "visits.toml", str(tmp_path / "out")
    problem.write_text(OWN)
    model = ["--plugin", str(EXAMPLES / "visits.py"), "--workers", "1", "--out", out]
    assert main(["infer", str(problem), *model]) == 0
    table = pd.read_csv(tmp_path / "out" / "infer.summary.csv")
    assert table.parameter.tolist() == ["mean time", "share of positive tests"]
    # The numbers are in their own units: 4,000 minutes in 210 visits, 60 of 190 tests.
    assert (table.low < [4000 / 210, 60 / 190]).all()
    assert (table.high > [4000 / 210, 60 / 190]).all()
    problem.write_text(OWN.replace('"visits"', '"unknown"'))
    assert main(["infer", str(problem), *model]) == 2
    assert "or a model of --plugin FILE" in capsys.readouterr().err
    problem.write_text(OWN.replace('"visits"', '"log-linear"'))
    assert main(["infer", str(problem), *model]) == 2
    assert "records: log-linear has its own number" in capsys.readouterr().err


PAGE = (Path(__file__).parents[3] / "docs" / "own_model.md").read_text(encoding="utf-8")

TRIAL = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[2]
"""The file of numbers on the page."""

RELEASED = """
simulator = "trial"
query = [41.3, 17.2]
effective_sample_size = 100
draws = 2000

[noise]
law = "laplace"
scale = 4.0
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", ""),
        ("simulate=simulate", "simulate=lambda rng, theta: theta", "write its functions with def"),
        ("Prior((StudentT(2.0),", "Prior((np.random.default_rng(1),", "Generator has no sampler"),
        ("prior=Prior((", "prior=((", "tuple has no sampler; give a Prior((...))"),
        (
            "theta[:, 1] ** -0.5",
            "theta[:, 0] * np.inf",
            "report standard deviation: must give a fin",
        ),
        ("for each in theta])", "for each in theta], 1)", "gave numbers (2, 2000); (2000, 2) are"),
    ],
    ids=["fine", "name", "sampler", "prior", "report", "shape"],
)
def test_the_file_of_numbers_on_the_page_works_or_is_refused(
    old: str,
    new: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    own_registry: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(augmentation.infer, "__defaults__", (augmentation.one_by_one, 2400, 1e9))
    problem, plugin = tmp_path / "trial.toml", tmp_path / "trial.py"
    # Of wide noise weights are found in a moment; the fine one is answered by chains.
    problem.write_text(RELEASED.replace("4.0", "40.0") if words else RELEASED)
    plugin.write_text(TRIAL.replace(old, new) if old else TRIAL)
    line = ["infer", str(problem), "--plugin", str(plugin), "--out", str(tmp_path / "out")]
    assert main([*line, "--workers", "1"]) == (2 if words else 0)
    assert words in capsys.readouterr().err
    if not words:
        table = pd.read_csv(tmp_path / "out" / "infer.summary.csv")
        assert table.parameter.tolist() == ["mean", "precision", "standard deviation"]


SURVEY = """
import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, mean


def simulate(rng, theta, n):
    return 1.0 * (rng.random((len(theta), n, 1)) < theta[:, :1, None])


MODEL = Model(
    name="survey", title="A survey",
    parameters=(Parameter("share", 0.0, 1.0),), columns=(Column("yes", 0.0, 1.0),),
    unit="one answer", simulate=simulate, sizes=(40,), neighbours="replace",
    statistics=(mean("rate", lambda records: records[..., 0], 0.0, 1.0),),
)
"""


@pytest.mark.parametrize(
    ("prior", "z"), [("uniform", [0.3, 31.0]), ("log-uniform", [0.3])], ids=["noisy", "unknown"]
)
def test_an_unknown_number_of_records_has_the_posterior_of_a_sum_over_all(
    prior: str, z: list[float], tmp_path: Path, own_registry: None
) -> None:
    problem, plugin = tmp_path / "survey.toml", tmp_path / "survey.py"
    plugin.write_text(SURVEY)
    released = str(len(z) > 1).lower()
    text = (
        f'simulator = "survey"\nquery = {z}\nrecords = {{low = 20, high = 60, prior = "{prior}", '
        f"released = {released}}}\neffective_sample_size = 3000\n"
        f'[noise]\nlaw = "laplace"\nscale = {[0.05, 4.0][: len(z)]}\n'
    )
    problem.write_text(text)
    model = ["--plugin", str(plugin), "--workers", "1", "--out", str(tmp_path / "out")]
    assert main(["infer", str(problem), *model]) == 0
    table = pd.read_csv(tmp_path / "out" / "infer.summary.csv")
    assert table.parameter.tolist() == ["share", "records"]
    # Given n, all counts of yes are as likely before; given both, the share is a beta variable.
    n, count = np.mgrid[20:61, 0:61].astype(float)
    before = np.log1p(1.0 / n) if prior == "log-uniform" else np.ones_like(n)
    weights = np.where(count <= n, before / (n + 1.0), 0.0)
    weights *= np.exp(-np.abs(z[0] - count / n) / 0.05)
    weights *= np.exp(-np.abs(z[1] - n) / 4.0) if len(z) > 1 else 1.0
    for name, value in (("share", (count + 1.0) / (n + 2.0)), ("records", n)):
        row = table.set_index("parameter").loc[name]
        mean = (weights * value).sum() / weights.sum()
        # Five standard errors of a fixed seed.
        assert abs(row["mean"] - mean) < 5.0 * row.sd / 3000**0.5
    problem.write_text(text.replace("low = 20", "low = 70"))
    assert main(["infer", str(problem), *model]) == 2
