"""The gradient beside a posterior: its errors, what is said of them, and the bound."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import online_gradient as study
from abcdp_core.results import Result

TINY = study.Params(n=20, particles=20, runs=2, method=("smc", "gradient", "grid"))


@pytest.fixture(scope="module")
def tiny() -> Result:
    return runner.run_to_end(study, TINY, 1)


def test_errors_are_distances_of_the_estimates(tiny: Result) -> None:
    main = tiny.tables["main"]
    np.testing.assert_allclose(main.error_mu, (main.mean_mu - TINY.mu).abs())
    np.testing.assert_allclose(main.mean_sigma, TINY.sigma)
    assert sorted(set(main.t)) == TINY.times().tolist()
    assert TINY.times()[[0, -1]].tolist() == [10, 20]


def test_sigma_has_a_figure_where_it_is_to_be_learnt(tiny: Result) -> None:
    assert set(study.figures(tiny)) == {"error-mu"}
    unknown = dataclasses.replace(TINY, known_sigma=False, channel="sign", method=("gradient",))
    drawn = study.figures(runner.run_to_end(study, unknown, 1))
    assert set(drawn) == {"error-mu", "error-sigma"}
    assert "; the answers carry no information about it." in drawn["error-sigma"].sentence
    lines = [[t.name for t in drawn[f"error-{name}"].figure.data] for name in ("mu", "sigma")]
    assert ["all information used" in names for names in lines] == [True, False]


def test_the_bound_of_a_sign() -> None:
    params = dataclasses.replace(TINY, channel="sign", epsilon_total=2.0)
    told = 2.0 / math.pi * math.tanh(1.0) ** 2
    expected = params.sigma * math.sqrt(2.0 / math.pi / (told * 50))
    assert study.bound(params, "mu", np.array([50]))[0] == pytest.approx(expected)
