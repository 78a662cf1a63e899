"""The exact posterior of the log-linear model, by summation over all counts.

Given the class size n and how many of the class have the first value of a feature, probabilities
are independent Beta variables; given n alone, features are independent. So with Beta-binomial
counts everything is a sum over at most 101 × 101 terms.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import betabinom

from abcdp_core.base.arrays import Array


def moments(query: Array, scale: float, people: int) -> tuple[Array, Array]:
    """Means and standard deviations ``(5,)`` of p, p11, p21, p12, p22 given eight noisy counts.

    Args:
        query: the counts ``(8,)`` with Laplace noise.
        scale: of the noise.
        people: of a data set.
    """
    sizes = np.arange(people + 1)
    pairs = query.reshape(4, 2)
    classes = (sizes, sizes, people - sizes, people - sizes)
    terms = [
        np.array([_feature(pair, scale, int(size)) for size in of])
        for pair, of in zip(pairs, classes, strict=True)
    ]
    weights = betabinom.pmf(sizes, people, 2.0, 2.0) * np.prod([t[:, 0] for t in terms], axis=0)
    weights /= weights.sum()
    first = [weights @ (2.0 + sizes) / (people + 4.0)]
    second = [weights @ ((2.0 + sizes) * (3.0 + sizes)) / ((people + 4.0) * (people + 5.0))]
    for term in terms:
        first.append(weights @ (term[:, 1] / term[:, 0]))
        second.append(weights @ (term[:, 2] / term[:, 0]))
    mean = np.array(first)
    return mean, np.sqrt(np.array(second) - mean**2)


def _feature(pair: Array, scale: float, size: int) -> Array:
    """Density of two noisy counts of a class of some size, and that times E p and E p² ``(3,)``."""
    ones = np.arange(size + 1)
    away = np.abs(pair[0] - ones) + np.abs(pair[1] - (size - ones))
    each = betabinom.pmf(ones, size, 2.0, 2.0) * np.exp(-away / scale)
    mean = (2.0 + ones) / (size + 4.0)
    square = mean * (3.0 + ones) / (size + 5.0)
    return np.array([each.sum(), each @ mean, each @ square])
