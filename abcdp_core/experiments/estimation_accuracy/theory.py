"""Errors by theory: if all information in the answers were used, and with a trusted collector."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core.experiments.estimation_accuracy.settings import Params
from abcdp_core.online import information
from abcdp_core.online import parameters as online
from abcdp_core.online.families import FAMILIES
from abcdp_core.sentences import NEGLIGIBLE
from abcdp_core.study.estimates import SYMBOL, least_error

Array = NDArray[np.float64]


def efficient_errors(params: Params, name: str, interval: str) -> tuple[Array, Array]:
    """Return budgets, and mean absolute errors if all information were used; infinite without.

    Args:
        params: how people are asked.
        name: ``mu`` or ``sigma``.
        interval: ``adaptive`` for the best one at the true parameters, ``fixed`` (MATH A3, A4), or
            the name of a table of symbols (A14).
    """
    index = list(SYMBOL).index(name)
    found = [_information(params, budget, interval) for budget in params.epsilon_total]
    told = np.array([each[index, index] for each in found])
    with np.errstate(divide="ignore"):
        variance = 1.0 / (params.n * np.where(told > NEGLIGIBLE, told, 0.0))
    return np.array(params.epsilon_total), params.sigma * least_error(variance)


def _information(params: Params, epsilon_total: float, interval: str) -> Array:
    """Information ``(2, 2)`` of an answer, by the way of asking, placed right."""
    if interval in online.TABLES:
        return params.table_of(interval, epsilon_total).information(FAMILIES["normal"])
    unit_scale = params.unit_scale(epsilon_total)
    a, b = params.interval_of(interval, unit_scale)
    if interval == "fixed":
        a, b = -params.fixed_width, params.fixed_width
    noise = information.NOISES[params.noise]
    return noise.information(FAMILIES["normal"], np.array(a), np.array(b), unit_scale)


def trusted_errors(params: Params) -> tuple[Array, Array]:
    r"""Return budgets, and mean absolute errors of μ for a trusted collector of all exact values.

    The collector clips them to the fixed interval, of half-width h, and adds Laplace noise of scale
    $b = 2h/(N\epsilon_{total})$ to their mean once. With $s = \sigma/\sqrt{N}$ the error has the
    mean $\sqrt{2/\pi}\,s + b\,\mathrm{erfcx}(s / (\sqrt{2}\,b))$, as
    $E|x + \mathrm{Lap}(b)| = |x| + b e^{-|x|/b}$; what clipping moves is left out.
    """
    budgets = np.array(params.epsilon_total)
    s = params.sigma / math.sqrt(params.n)
    b = 2.0 * params.fixed_width * params.sigma / (params.n * budgets)
    errors: Array = math.sqrt(2.0 / math.pi) * s + b * special.erfcx(s / (math.sqrt(2.0) * b))
    return budgets, errors
