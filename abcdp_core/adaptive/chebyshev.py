r"""The log-likelihood of many means at one σ, from a few of them: Chebyshev interpolation.

Each response's density is its conditional one averaged over a normal value (MATH A2, A14), so for a
fixed σ its logarithm is analytic in μ in a strip of about σ around the axis. Once the means to
be looked at lie within a few σ, the log-likelihood of all responses is a polynomial of moderate
degree in μ up to rounding, and a thousand means cost as much as that many nodes do. Nodes closer
than σ miss no feature, and then the last coefficients say whether the degree is enough; where none
is, every mean is computed on its own.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.response import Kind, log_likelihood

Array = NDArray[np.float64]

ORDERS = (16, 32, 64, 128, 256)
"""Polynomials tried, one after the other; the nodes of each are among those of the next."""

LAST = 1 / 8
"""Share of the coefficients, the highest, that have to be next to nothing."""

PRECISION = 1e-10
"""Largest of the last coefficients: a walk on means that far off takes the same steps."""


def log_likelihoods(mu: Array, log_sigma: float, responses: Array, kind: Kind) -> Array:
    """Log-likelihood ``(N,)`` of means ``(N,)`` at one log σ given responses ``(t, 4)``.

    Off by no more than about :data:`PRECISION`, beside rounding.
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
            found = np.polynomial.chebyshev.chebval((mu - middle) / half, coefficients)
            return np.asarray(found, dtype=np.float64)
    return directly(mu)


@functools.cache
def _transform(degree: int) -> Array:
    """From values at the nodes cos(πj/d) to the coefficients of the polynomial through them."""
    steps = np.arange(degree + 1)
    table = np.cos(np.pi * np.outer(steps, steps) / degree) * (2.0 / degree)
    table[:, [0, -1]] *= 0.5
    table[[0, -1]] *= 0.5
    return table
