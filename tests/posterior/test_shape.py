"""Several modes and known combinations are found, and none where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from abcdp_core.models.priors import Normal, Prior, Uniform
from abcdp_core.posterior import outcome, shape
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Laplace
from abcdp_core.posterior.rounds import Effort, InferenceProblem

Array = Any
Generator = np.random.Generator


@pytest.mark.parametrize(
    ("means", "shares", "size"),
    [
        ((-2.0, 2.0), (0.5, 0.5), 400),
        ((0.0, 6.0), (0.85, 0.15), 1000),
        ((0, 7, 14), (1, 1, 1), 1000),
    ],
)
def test_modes_are_counted_and_their_region_has_the_highest_density(
    means: Array, shares: Array, size: int
) -> None:
    rng = np.random.default_rng(1)
    which = rng.choice(len(means), size, p=np.array(shares) / np.sum(shares))
    x = np.array(means)[which] + 0.5 * rng.standard_normal(size)
    between = shape.valleys(x, np.full(size, 1.0 / size))
    assert (np.searchsorted(between, means) == np.arange(len(means))).all()
    found = shape.modes(0, x, np.exp(x), between)
    ends = np.log(found.region)
    inside = ((ends[:, :1] <= x) & (x <= ends[:, 1:])).any(axis=0)
    assert 0.88 < inside.mean() < 0.92
    # Beyond 1.65 standard deviations of each mode the density is below that within.
    assert np.abs(ends - np.array(means)[:, None]).max() < 1.25
    assert found.in_words.count(" or ") == len(means) - 1


ONE: dict[str, Callable[[Generator, int], Array]] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "flat": lambda rng, size: rng.random(size),
    "skewed": lambda rng, size: rng.exponential(size=size),
    "heavy": lambda rng, size: rng.standard_t(2, size),
    "spike on a slab": lambda rng, size: (
        rng.uniform(-3.0, 3.0, size) * np.where(rng.random(size) < 0.7, 0.001, 1.0)
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_one_mode_is_not_several(name: str) -> None:
    """At one false alarm in 100 draws or more, this would fail with a probability of 0.95."""
    rng = np.random.default_rng(2)
    for size in (200, 1000):
        for spread in (0.0, 0.8):
            for _ in range(75):
                weights = np.exp(spread * rng.standard_normal(size))
                assert not shape.valleys(ONE[name](rng, size), weights / weights.sum())


def absolute(rng: Generator, theta: Array) -> Array:
    numbers = np.column_stack([np.abs(theta[:, 0]), theta[:, 1] + 2.0 * theta[:, 2]])
    return numbers + 0.05 * rng.standard_normal(numbers.shape)


def test_a_posterior_says_both() -> None:
    prior = Prior((Uniform(-3.0, 3.0), Normal(0.0, 2.0), Normal(0.0, 1.0)))
    model = Model(("θ", "a", "b"), ("s", "t"), prior, absolute)
    question = InferenceProblem(model, Laplace((0.03, 0.03)), np.array([2.0, 0.7]), 1)
    found = outcome.of_model(question, Effort(500, 40_000), size=1000).summary
    (modes,) = found.modes
    assert modes.parameter == 0
    ends = np.array(modes.region)
    assert np.abs(np.abs(ends).mean(axis=1) - 2.0).max() < 0.03
    assert (np.ptp(ends, axis=1) < 0.3).all()
    # Two parameters of which only a sum is known; the other pairs are not correlated.
    first, second = found.shape
    assert first.startswith(f"θ has 2 modes, so its mean says little: 90 % of its posterior is in "
                            f"{modes.in_words}, ")  # fmt: skip
    assert "What is known best is a + 2 × b: 0.69 ± 0.1" in second


def test_a_pair_that_the_prior_correlates_is_not_mentioned() -> None:
    rng = np.random.default_rng(3)
    a, noise = rng.standard_normal((2, 2000))
    independent = rng.standard_normal((2000, 2))
    for scale, sign, words in ((1.0, 1.0, "{2} \u2212 {3}:"), (0.013, -1.0, "{2} + 76 × {3}:")):
        theta = np.column_stack([a, scale * sign * (a + 0.1 * noise)])
        ((first, second, said),) = shape.combinations(theta, independent)
        assert (first, second) == (0, 1)
        assert words in said
        assert not shape.combinations(theta, theta)
    assert not shape.combinations(np.column_stack([a, a + noise]), independent)
