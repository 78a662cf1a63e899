r"""Chebyshev interpolation of the log-likelihood along the mean, at a fixed σ.

Each response's density averages its conditional density over a normal value (MATH A2, A14), so its
logarithm is analytic in μ in a strip of about σ around the axis. If the means lie within a few σ,
the log-likelihood is a polynomial of moderate degree in μ up to rounding, and a thousand means take
only as many evaluations as there are nodes. Nodes closer than σ miss no feature; the last
coefficients then show whether the degree suffices. If no degree does, every mean is evaluated.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from abcdp_core.adaptive.response import Kind, log_likelihood
from abcdp_core.base.arrays import Array

ORDERS = (16, 32, 64, 128, 256)
"""Degrees tried in turn; each includes the nodes of the one before."""

LAST = 1 / 8
"""Share of the highest coefficients that must be negligible."""

PRECISION = 1e-10
"""Largest size of the last coefficients; such an error does not change a walk's steps."""


def log_likelihoods(mu: Array, log_sigma: float, responses: Array, kind: Kind) -> Array:
    """Return the log-likelihood ``(N,)`` of means ``(N,)`` at one log σ, given rows ``(t, 4)``.

    The error is at most about :data:`PRECISION`, plus rounding.
    """

    def directly(means: Array) -> Array:
        theta = np.column_stack([means, np.full(len(means), log_sigma)])
        return log_likelihood(theta, responses, kind)

    low, high = float(mu.min()), float(mu.max())
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # Nodes are farthest apart in the middle, by π half / degree.
    least, most = math.pi * half / math.exp(log_sigma), 0.5 * len(mu)
    values = np.empty(0)
    for degree in (each for each in ORDERS if least <= each < most and half > 0.0):
        nodes = middle + half * np.cos(np.pi * np.arange(degree + 1) / degree)
        if len(values):
            known, values = values, np.empty(degree + 1)
            values[::2], values[1::2] = known, directly(nodes[1::2])
        else:
            values = directly(nodes)
        coefficients = _transform(degree) @ values
        if np.abs(coefficients[-int(LAST * degree) :]).max() < PRECISION:
            fitted = np.polynomial.chebyshev.chebval((mu - middle) / half, coefficients)
            return np.asarray(fitted, dtype=np.float64)
    return directly(mu)


@functools.cache
def _transform(degree: int) -> Array:
    """Return the matrix from values at the nodes cos(πj/d) to the polynomial's coefficients."""
    steps = np.arange(degree + 1)
    table = np.cos(np.pi * np.outer(steps, steps) / degree) * (2.0 / degree)
    table[:, [0, -1]] *= 0.5
    table[[0, -1]] *= 0.5
    return table
