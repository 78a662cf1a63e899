"""Proposals fitted to weighted draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.models.mixtures import FREEDOM, Component, mixture
from abcdp_core.models.priors import Normal, Prior
from abcdp_core.posterior import proposals
from abcdp_core.posterior.proposals import PRIOR_SHARE, Proposal
from tests.statistics import assert_distribution, rejects

NEAR = Component(1.0, (2.0, 0.0), ((0.2, 0.0), (0.1, 0.4)))
FAR = Component(3.0, (-1.0, 1.0), ((0.5, 0.0), (-0.3, 0.3)))


def density(x: Array, each: Component) -> Array:
    root = np.array(each.root)
    return np.asarray(stats.multivariate_t.pdf(x, each.mean, root @ root.T, df=FREEDOM))


def test_draws_have_the_density_of_their_mixture_with_its_share_of_the_prior() -> None:
    prior, proposal = Prior((Normal(0.0, 1.0),) * 2), Proposal((NEAR, FAR))
    x = proposal.draw(prior, np.random.default_rng(1), 20_000)

    def cdf(values: Array) -> Array:
        near, far = (
            stats.t.cdf(each, FREEDOM) for each in ((values - 2.0) / 0.2, (values + 1) * 2)
        )
        fitted = 0.25 * near + 0.75 * far
        return np.asarray(PRIOR_SHARE * stats.norm.cdf(values) + (1.0 - PRIOR_SHARE) * fitted)

    assert_distribution(x[:, 0], cdf)
    assert rejects(assert_distribution, x[:, 0] + 0.05, cdf)
    log_prior = prior.log_density(x)
    fitted = 0.25 * density(x, NEAR) + 0.75 * density(x, FAR)
    expected = np.log(PRIOR_SHARE * np.exp(log_prior) + (1.0 - PRIOR_SHARE) * fitted)
    np.testing.assert_allclose(proposal.log_density(x, log_prior), expected)


def test_a_fit_has_the_components_of_the_weighted_draws() -> None:
    """Draws from a wide normal distribution, weighted to be those of two Student t."""
    rng = np.random.default_rng(1)
    x = 3.0 * rng.standard_normal((40_000, 2))
    weights = 0.25 * density(x, NEAR) + 0.75 * density(x, FAR)
    weights /= stats.norm.pdf(x, scale=3.0).prod(axis=1)
    found = mixture(x, weights / weights.sum(), rng)
    assert len(found) == 4
    for each, wide in zip(found[:2], found[2:], strict=True):
        right = NEAR if each.mean[0] > 0.0 else FAR
        scale, expected = (np.array(one.root) @ np.array(one.root).T for one in (each, right))
        np.testing.assert_allclose(each.mean, right.mean, atol=0.05)
        np.testing.assert_allclose(scale, expected, atol=0.05)
        assert each.share == pytest.approx(0.8 * right.share / 4.0, abs=0.03)
        # The wider copies.
        assert wide.mean == each.mean
        np.testing.assert_allclose(wide.root, 3.0 * np.array(each.root), rtol=1e-5)


def test_noise_is_tempered_until_enough_draws_count() -> None:
    x, base = np.random.default_rng(1).normal(size=4000), np.zeros(4000)
    log_noise = -0.5 * ((x - 3.0) / 0.001) ** 2
    much, weights = proposals.tempered(base, log_noise)
    # Just enough: a little more noise would suffice.
    little, _ = proposals.tempered(base, 1.25 * much * log_noise)
    assert 0.0 < much < 1.0
    assert little == pytest.approx(0.8)
    assert proposals.FIT <= effective_sample_size(weights) < 1.01 * proposals.FIT
    assert proposals.tempered(base, 1e-8 * log_noise)[0] == 1.0

    temperature, weights = proposals.tempered(base, np.where(x > 2.5, -3.0 * x, -np.inf))
    assert 0.0 < temperature < 1.0
    assert effective_sample_size(weights) >= proposals.FIT
    # Impossible draws count as much as the least likely one.
    np.testing.assert_allclose(weights[x <= 2.5], weights.min())
    assert weights[x > 2.5].max() > 2.0 * weights.min()
