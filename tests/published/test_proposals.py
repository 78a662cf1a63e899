"""Proposals fitted to weighted draws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.published import models, proposals
from abcdp_core.summaries import effective_sample_size
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]


def test_the_density_is_that_of_scipy() -> None:
    x = np.random.default_rng(1).normal(size=(5, 3))
    root = np.array([[0.5, 0.0, 0.0], [0.2, 0.4, 0.0], [-0.1, 0.3, 0.9]])
    mean = np.array([0.1, -0.2, 0.3])
    expected = stats.multivariate_t.logpdf(x, mean, root @ root.T, df=proposals.FREEDOM)
    np.testing.assert_allclose(proposals.student_log_density(x, mean, root), expected)


def test_draws_have_the_density_with_its_share_of_the_prior() -> None:
    model = models.load("linear-regression")
    proposal = proposals.Proposal(0.3, (2.0, 0.0, 0.0), ((0.2, 0.0, 0.0), (0.0, 0.3, 0.0),
                                                         (0.0, 0.1, 0.4)))  # fmt: skip
    x = proposal.draw(model, np.random.default_rng(1), 20_000)

    def cdf(values: Array) -> Array:
        fitted = stats.t.cdf((values - 2.0) / 0.2, proposals.FREEDOM)
        return np.asarray(0.3 * stats.norm.cdf(values) + 0.7 * fitted)

    assert_distribution(x[:, 0], cdf)
    assert rejects(assert_distribution, x[:, 0] + 0.05, cdf)
    log_prior = model.log_prior(x)
    root = np.array(proposal.root)
    student = stats.multivariate_t.pdf(x, proposal.mean, root @ root.T, df=proposals.FREEDOM)
    expected = np.log(0.3 * np.exp(log_prior) + 0.7 * student)
    np.testing.assert_allclose(proposal.log_density(x, log_prior), expected)


def test_a_fit_has_mean_and_covariance_of_the_weighted_draws() -> None:
    rng = np.random.default_rng(1)
    x, log_base, log_noise = rng.normal(size=(5000, 2)), rng.normal(size=5000), np.zeros(5000)
    log_noise -= (x[:, 0] - 1.0) ** 2
    found = proposals.fitted(x, log_base, log_noise)
    weights = np.exp(log_base + log_noise)
    np.testing.assert_allclose(found.mean, np.average(x, axis=0, weights=weights))
    root = np.array(found.root)
    np.testing.assert_allclose(
        root @ root.T, np.cov(x.T, aweights=weights, ddof=0), rtol=1e-9, atol=1e-11
    )
    assert found.prior_share == proposals.PRIOR_SHARE


def test_noise_is_tempered_until_enough_draws_count() -> None:
    x = np.random.default_rng(1).normal(size=4000)
    log_noise = -0.5 * ((x - 3.0) / 0.001) ** 2
    much = proposals.temperature(np.zeros(4000), log_noise)
    # So much of it that a little more would do.
    little = proposals.temperature(np.zeros(4000), 1.25 * much * log_noise)
    assert 0.0 < much < 1.0
    assert little == pytest.approx(0.8)
    weights = proposals.normalised(much * log_noise)
    assert proposals.FIT <= effective_sample_size(weights) < 1.01 * proposals.FIT
    assert proposals.temperature(np.zeros(4000), 1e-4 * log_noise / 1e4) == 1.0


def test_draws_that_cannot_be_do_not_stop_a_fit() -> None:
    x = np.random.default_rng(1).normal(size=(4000, 1))
    log_noise = np.where(x[:, 0] > 2.5, -x[:, 0], -np.inf)
    found = proposals.fitted(x, np.zeros(4000), log_noise)
    assert np.isfinite(found.mean).all()
    assert found.mean[0] > -0.1
