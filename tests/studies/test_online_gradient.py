"""The gradient beside a posterior: its errors and the bound."""

import dataclasses
import math

import numpy as np
import pytest

from abcdp_core.studies import online_gradient as study
from tests import results

TINY = study.Params(n=20, particles=20, runs=2, method=("smc", "gradient"))


def test_errors_are_distances_of_the_estimates() -> None:
    main = results.changed(study, TINY).tables["main"]
    np.testing.assert_allclose(main.error_mu, (main.mean_mu - TINY.mu).abs())
    np.testing.assert_allclose(main.mean_sigma, TINY.sigma)
    assert sorted(set(main.t)) == TINY.times().tolist()
    assert TINY.times()[[0, -1]].tolist() == [10, 20]


def test_the_bound_of_a_sign() -> None:
    params = dataclasses.replace(TINY, channel="sign", epsilon_total=2.0)
    information = 2.0 / math.pi * math.tanh(1.0) ** 2
    expected = params.sigma * math.sqrt(2.0 / math.pi / (information * 50))
    assert study.bound(params, "mu", np.array([50]))[0] == pytest.approx(expected)
