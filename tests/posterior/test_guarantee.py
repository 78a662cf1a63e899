"""Intervals by test inversion."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.places import EXAMPLES
from abcdp_core.models.priors import Dirichlet, LogUniform, Normal, Prior
from abcdp_core.posterior import guarantee, rounds
from abcdp_core.posterior.guarantee import Guarantee
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Gaussian, Laplace
from abcdp_core.posterior.rounds import InferenceProblem
from tests.statistics import assert_frequencies, rejects

Array = np.ndarray

SETS = 300


def clamped(times: float, rng: np.random.Generator, theta: Array) -> Array:
    """Sum of 30 waiting times, each clamped to 0 to 10."""
    return np.minimum(rng.exponential(1.0, (len(theta), 30)) * times * theta, 10.0).sum(
        axis=1, keepdims=True
    )


def waiting(times: float = 1.0) -> Model:
    return Model(
        ("mean",), ("sum",), Prior((LogUniform(0.1, 100.0),)), partial(clamped, times)
    )  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarantee, "SIMULATED", (99, 99, 49))
    monkeypatch.setattr(guarantee, "GRID", 17)
    monkeypatch.setattr(rounds, "FIRST", 2000)


def held(mean: float, model: Model) -> Array:
    """Number of intervals of a level of 80 % that hold a mean, and of those that do not."""
    rng, noise = np.random.default_rng(1), Laplace((20.0,))
    count = 0
    for seed in range(SETS):
        z = noise.noisy(rng, clamped(1.0, rng, np.array([[mean]])))[0]
        low, high = Guarantee(InferenceProblem(model, noise, z, seed), 0.8).intervals().ends["mean"]
        count += low <= mean <= high
    return np.array([count, SETS - count])


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    assert_frequencies(held(4.0, waiting()), np.array([0.8, 0.2]))


def test_a_model_that_is_wrong_is_not_guaranteed() -> None:
    assert rejects(assert_frequencies, held(4.0, waiting(times=1.5)), np.array([0.8, 0.2]))


def shifted(rng: np.random.Generator, theta: Array) -> Array:
    return theta[:, :1] + theta[:, 1:] + 0.1 * rng.standard_normal((len(theta), 1))


def test_ends_are_those_of_the_test_and_another_parameter_widens_them() -> None:
    alone = Model(("a",), ("z",), Prior((Normal(0.0, 1.0),)), lambda _, theta: theta)
    question = InferenceProblem(alone, Gaussian((0.5,)), np.array([0.3]), 1)
    low, high = Guarantee(question, 0.9).intervals().ends["a"]
    # Quantiles of 99 draws are off by 0.12 at most here.
    assert (low, high) == pytest.approx((0.3 - 1.645 * 0.5, 0.3 + 1.645 * 0.5), abs=0.25)
    two = Model(("a", "b"), ("z",), Prior((Normal(0.0, 1.0),) * 2), shifted)
    both = InferenceProblem(two, Gaussian((0.5,)), np.array([0.3]), 1)
    ends = Guarantee(both, 0.9).intervals().ends
    # b may be anything, so that a is unbounded.
    assert ends["a"] == (-math.inf, math.inf)


def test_far_numbers_have_no_value_or_no_end() -> None:
    alone = Model(("a",), ("z",), Prior((Normal(0.0, 1.0),)), lambda _, theta: theta)
    far = Guarantee(InferenceProblem(alone, Gaussian((0.5,)), np.array([4.2]), 1), 0.9).intervals()
    assert far.ends["a"][1] == math.inf
    assert "a at least " in far.sentence
    away = Guarantee(InferenceProblem(alone, Gaussian((0.5,)), np.array([9.0]), 1), 0.9).intervals()
    assert "a has no value that fits the numbers" in away.sentence
    assert away.record()["intervals"] == {"a": [None, None]}


def test_what_cannot_be_guaranteed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    many = Model(tuple("abcd"), ("z",), Prior((Normal(0.0, 1.0),) * 4), shifted)
    with pytest.raises(ParameterError, match="at most 3 parameters; this model has 4"):
        Guarantee(InferenceProblem(many, Gaussian((0.5,)), np.array([0.3]), 1), 0.9)
    shares = Model(("a", "b"), ("z",), Prior((Dirichlet((1.0, 1.0)),)), shifted)
    with pytest.raises(ParameterError, match="independent in the prior"):
        Guarantee(InferenceProblem(shares, Gaussian((0.5,)), np.array([0.3]), 1), 0.9)
    wrong = ["--guarantee", "1.5", "--out", "unused"]
    assert main(["infer", str(EXAMPLES / "linear_regression.toml"), *wrong]) == 2
    assert "guarantee = 1.5: must be a number from 0.5 to 0.99" in capsys.readouterr().err


def test_the_command_says_how_much_is_simulated_and_writes_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarantee, "GRID", 5)
    monkeypatch.setattr(guarantee, "HALVINGS", 2)
    problem = str(EXAMPLES / "linear_regression.toml")
    out = ["--out", str(tmp_path), "--workers", "1", "--guarantee", "0.8"]
    assert main(["infer", problem, *out]) == 0
    said = capsys.readouterr().out
    assert said.startswith("For --guarantee, at most ")
    record = json.loads((tmp_path / "infer.json").read_text(encoding="utf-8"))["guaranteed"]
    assert record["sentence"] in said
    assert "Each holds its parameter with probability at least 80 %" in said
    assert list(record["intervals"]) == ["β0", "β1", "β2"]
    assert record["level"] == 0.8
