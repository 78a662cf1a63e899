"""The interpolated log-likelihood along the mean: exact, and with few evaluations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.adaptive import chebyshev
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Truncation
from abcdp_core.adaptive.noise import unit_scale
from abcdp_core.adaptive.response import Kind, log_likelihood
from abcdp_core.streams import generator

Array = NDArray[np.float64]

LOG_SIGMA = math.log(2.0)
KINDS = pytest.mark.parametrize("kind", ["laplace", "gaussian", "table"])


def responses(kind: Kind, count: int) -> Array:
    """Answers of people with μ = 3 and σ = 2, asked ever closer to μ."""
    rng = generator(1, "along")
    if kind == "table":
        channel = best(5.0).channel
    else:
        channel = Truncation(-0.5, 0.5, kind, unit_scale(kind, 5.0, 1e-5))
    drawn = channel.draw(rng, count)
    asked = 3.0 + 2.0 * rng.standard_normal(count) / np.sqrt(np.arange(1, count + 1))
    values = 3.0 + 2.0 * rng.standard_normal(count)
    people = zip(values.tolist(), drawn.tolist(), asked.tolist(), strict=True)
    return np.array([channel.answer(*person, 2.0) for person in people])


def directly(mu: Array, rows: Array, kind: Kind, log_sigma: float = LOG_SIGMA) -> Array:
    return log_likelihood(np.column_stack([mu, np.full(len(mu), log_sigma)]), rows, kind)


@KINDS
@pytest.mark.parametrize(
    ("count", "reach", "most"), [(100, 0.3, 33), (100, 2.0, 129), (10, 10.0, 129), (10, 1e6, 600)]
)
def test_it_is_exact_with_fewer_evaluations(
    kind: Kind, count: int, reach: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = responses(kind, count)
    mu = 3.0 + reach * generator(2, "means").uniform(-1.0, 1.0, 600)
    expected, counts = directly(mu, rows, kind), list[int]()

    def counted(theta: Array, rows: Array, kind: Kind) -> Array:
        counts.append(len(theta))
        return log_likelihood(theta, rows, kind)

    monkeypatch.setattr(chebyshev, "log_likelihood", counted)
    found = chebyshev.log_likelihoods(mu, LOG_SIGMA, rows, kind)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    assert sum(counts) <= most, counts
    same = np.full(50, 2.5)
    found = chebyshev.log_likelihoods(same, LOG_SIGMA, rows, kind)
    np.testing.assert_array_equal(found, directly(same, rows, kind))


@pytest.mark.parametrize("unit", [1.0, 0.05])
def test_a_feature_between_distant_nodes_is_not_missed(unit: float) -> None:
    # One symbol of a set 2σ wide, means on both sides of it: all of the usual nodes miss it.
    rows = np.array([[2.0, 18.0 * unit, 22.0 * unit, math.expm1(5.0)]])
    mu = unit * np.concatenate([np.linspace(-200.0, 200.0, 600), [19.0, 20.0, 21.0]])
    log_sigma = math.log(2.0 * unit)
    found = chebyshev.log_likelihoods(mu, log_sigma, rows, "table")
    expected = directly(mu, rows, "table", log_sigma)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    assert found.max() > 4.0
