"""Chains over parameters and records, against sums over all data sets and against weights."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.models.priors import Beta, Normal, Prior, StudentT
from abcdp_core.posterior import augmentation, outcome, rounds
from abcdp_core.posterior import model as posterior_model
from abcdp_core.posterior.model import Model, Records
from abcdp_core.posterior.noise import (
    BinomialSample,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IndependentNoise,
    Laplace,
    Noise,
)
from abcdp_core.posterior.published import inference
from abcdp_core.posterior.published.models import Model as PublishedModel
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.rounds import Effort, InferenceProblem, WeightedDraws, infer, one_by_one

N = 30


def draw(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
    return (rng.random((N, 1)) < theta[0]) * 1.0


def simulate(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
    return rng.binomial(N, theta[:, :1]) * np.array([[1.0, 2.0]])


def log_density(theta: np.ndarray, ones: float) -> float:
    share = min(max(float(theta[0]), 1e-300), 1.0 - 1e-16)
    return ones * math.log(share) + (N - ones) * math.log1p(-share)


def twice(records: np.ndarray) -> np.ndarray:
    return np.hstack([records, 2.0 * records])


SHARE = Model(
    ("share",), ("ones", "twos"), Prior((Beta(1.0, 1.0),)), simulate,
    report={"odds": lambda theta: theta[:, 0] / (1.0 - theta[:, 0])},
    records=Records(draw, twice, lambda records: float(records.sum()), log_density),
)  # fmt: skip

NOISES: tuple[Noise, ...] = (
    Laplace((0.5, 3.0)),
    IndependentNoise((Gaussian((0.7,), of=(0,)), Laplace((2.0,), of=(1,)))),
    IndependentNoise((DiscreteGaussian((0.7,), of=(0,)), DiscreteLaplace((2.0,), of=(1,)))),
)


def chained(question: InferenceProblem, sweeps: int = 6000) -> WeightedDraws:
    first = infer(question, Effort(rounds=(2000,))).prior
    return augmentation.infer(question, first, sweeps=sweeps)


def exact(noise: Noise, z: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the share, by a sum over all counts."""
    counts = np.arange(N + 1.0)
    weights = np.exp(noise.log_density(z, np.stack([counts, 2.0 * counts], axis=1)))
    weights /= weights.sum()
    # Given a count, the share is Beta(1 + count, 1 + N - count); all counts are as likely before.
    means = (1.0 + counts) / (N + 2.0)
    variances = means * (1.0 - means) / (N + 3.0)
    mean = float(weights @ means)
    return mean, math.sqrt(weights @ (variances + (means - mean) ** 2))


@pytest.mark.parametrize("noise", NOISES, ids=["laplace", "both", "discrete"])
def test_chains_have_the_posterior_that_a_sum_over_all_counts_has(noise: Noise) -> None:
    z = np.array([21.4, 39.0]) if noise != NOISES[2] else np.array([21.0, 39.0])
    question = InferenceProblem(SHARE, noise, z, 3)
    assert augmentation.serves(question)
    found = chained(question)
    assert not found.differ
    assert found.effective[0] > 1000
    mean, sd = exact(noise, z)
    values = SHARE.prior.theta(found.x)[:, 0]
    # Five standard errors of the mean, and as many of the standard deviation, of a fixed seed.
    near = 5.0 / math.sqrt(found.effective[0])
    assert abs(values.mean() - mean) < near * sd
    assert abs(values.std() / sd - 1.0) < near
    # Half of the noise is noticed.
    assert abs(exact(Laplace((0.25, 1.5)), np.array([16.0, 49.0]))[0] - mean) > near * sd
    counts = found.numbers[:, 0]
    assert set(counts.tolist()) <= set(np.arange(N + 1.0).tolist())


def test_other_noise_and_other_models_are_left_to_weights() -> None:
    sample = BinomialSample(60, 60.0)
    assert not augmentation.serves(InferenceProblem(SHARE, sample, np.zeros(2), 1))
    bare = Model(SHARE.parameters, SHARE.numbers, SHARE.prior, simulate)
    assert not augmentation.serves(InferenceProblem(bare, NOISES[0], np.zeros(2), 1))


@pytest.mark.parametrize(
    ("size", "value", "words"),
    [(7, 0.0, "with an unknown number of them, leave"), (N, np.nan, "must be finite")],
)
def test_records_that_chains_cannot_take_are_refused(size: int, value: float, words: str) -> None:
    def other(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        return np.full((size if rng.random() < 0.5 else N, 1), value)

    records = Records(other, twice, np.sum, log_density)
    model = dataclasses.replace(SHARE, records=records)
    with pytest.raises(ParameterError, match=words):
        chained(InferenceProblem(model, NOISES[0], np.array([21.4, 39.0]), 3), sweeps=20)


def problem(wanted: int) -> Problem:
    source = PublishedModel(**vars(SHARE), title="A share")
    z = np.array([21.4, 39.0])
    return Problem("share", source, "share", z, NOISES[0], wanted, 20_000, 3, spent=None)


def test_chains_follow_where_weights_do_not_suffice() -> None:
    enough, more = (inference.infer(problem(wanted)).summary for wanted in (100, 60_000))
    assert (enough.way, more.way) == ("weights", "augmentation")
    assert more.parameters == ("share", "odds")
    assert np.allclose(enough.found.mean, more.found.mean, rtol=0.05)
    assert "two chains over parameters and records" in report_of(more)


def test_each_step_takes_about_as_long_as_was_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, perf_counter=lambda: clock.now)
    for module in (rounds, augmentation, inference, posterior_model):
        monkeypatch.setattr(module, "time", clock)

    def slow(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        clock.now += 0.05 * len(theta)
        return simulate(rng, theta)

    def slow_draw(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        clock.now += 0.1
        return draw(rng, theta)

    assert SHARE.records is not None
    records = dataclasses.replace(SHARE.records, draw=slow_draw)
    source = PublishedModel(**vars(SHARE) | {"simulate": slow, "records": records}, title="Slow")
    asked = dataclasses.replace(problem(60_000), source=source)
    assert inference.infer(asked, seconds=60.0).summary.way == "augmentation"
    # Rounds, two chains in turn, and the check of the fit; 12,000 s without a limit.
    assert clock.now < 4.2 * 60.0


def report_of(summary: Any) -> str:
    from abcdp_core.posterior.published import report

    return report.how(problem(100), summary)


def test_an_output_without_variance_has_a_median_and_says_why() -> None:
    def numbers(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        return np.clip(theta, -3.0, 3.0) + 0.1 * rng.standard_normal(theta.shape)

    model = Model(
        ("slope", "other"), ("a", "b"), Prior((StudentT(2.0), Normal(0.0, 1.0))), numbers,
        report={"product": lambda theta: theta[:, 0] * theta[:, 1]}, without_variance=("product",),
    )  # fmt: skip
    assert model.heavy == (0, 2)
    question = InferenceProblem(model, Laplace((1.0, 1.0)), np.array([2.9, 0.2]), 1)
    made = outcome.of_model(question, Effort(500, 20_000), one_by_one, size=2000)
    summary = made.summary
    assert np.isnan(summary.found.mean).tolist() == [True, False, True]
    assert np.isfinite(summary.found.low).all()
    assert summary.medians[0] == pytest.approx(np.median(made.theta[:, 0]), rel=0.01)
    assert "slope: median " in summary.shape[0]
    assert "its prior has no variance" in summary.shape[0]


def test_an_output_that_is_not_finite_is_named() -> None:
    bad = Model(
        SHARE.parameters, SHARE.numbers, SHARE.prior, simulate,
        report={"log": partial(np.log)},
    )  # fmt: skip
    with pytest.raises(ParameterError, match="report log: must give a finite number"):
        bad.scale.theta(np.zeros((3, 1)))
