"""Adaptive truncation for people with several values, and with stochastic gradients.

About four minutes on two quiet processors.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.studies import online_gradient, vector_truncation
from benchmarks.goals import Measured, goal, ratio, study

VALUES = 10
"""Values per person."""


def _vectors(epsilon_total: float) -> dict[int, Array]:
    """Return number of values asked for -> mean absolute errors over coordinates, by run."""
    asked = {"n": 1000, "dimension": (VALUES,), "epsilon_total": epsilon_total}
    result = study("vector-truncation", runs=200, **asked)
    by_run = result.tables["main"].groupby(["asked", "run"]).error_mu.mean()
    return {asked: by_run[asked].sort_index().to_numpy() for asked in (1, VALUES)}


@goal("vectors-one-over-all-1", at_most=1.0, epsilon_total=1.0)
@goal("vectors-one-over-all-100", at_least=1.0, epsilon_total=100.0)
def one_over_all(epsilon_total: float) -> Measured:
    """Error of μ if one of ten values is asked for, relative to the error if all ten are.

    Mean absolute error, truncation, N = 1000, σ known, sampler smc, the same people; 200 runs.
    """
    errors = _vectors(epsilon_total)
    return ratio(errors[1], errors[VALUES])


@goal("vectors-one-over-formula-10", at_least=0.9, at_most=1.1, epsilon_total=10.0, asked=1)
@goal("vectors-all-over-formula-10", at_least=0.9, at_most=1.1, epsilon_total=10.0, asked=VALUES)
def over_formula(epsilon_total: float, asked: int) -> Measured:
    """Mean absolute error of μ relative to the dotted line of the figure, for large budgets.

    Truncation, ten values, N = 1000, σ known, sampler smc; 200 runs.
    """
    params = vector_truncation.Params(n=1000, epsilon_total=epsilon_total)
    least = vector_truncation.bound(params, params.told(VALUES))[asked - 1]
    errors = _vectors(epsilon_total)[asked]
    return ratio(errors, np.full_like(errors, least))


@goal("gradient-over-bound-1", at_most=1.5, epsilon_total=1.0)
@goal("gradient-over-bound-2", at_most=1.5, epsilon_total=2.0)
@goal("gradient-over-bound-5", at_most=1.5, epsilon_total=5.0)
def gradient_over_bound(epsilon_total: float) -> Measured:
    """Mean absolute error of the averaged gradient relative to the information bound.

    Truncation, N = 1000, σ known, the paper's prior; 500 runs.
    """
    result = study("online-gradient", epsilon_total=epsilon_total, method=("gradient",), runs=500)
    params = cast(online_gradient.Params, result.params)
    main = result.tables["main"]
    errors = main[main.t == params.n].error_mu.to_numpy()
    least = float(online_gradient.bound(params, "mu", np.array([params.n]))[0])
    return ratio(errors, np.full_like(errors, least))
