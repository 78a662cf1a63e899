r"""A log-linear model: counts of two binary features in two classes of 100 people.

A person is in class 1 with probability $p$; in class $c$ feature $j$ has its first value with
probability $p_{jc}$, independently. All five probabilities are Beta(2, 2), which is what
Dirichlet(2, 2) means for two cells. The summary is, for class 1 and then for class 2, how many
have feature 1 of the first and of the second value, and feature 2 (Xiong, Ju & Zhang, Transactions
on Machine Learning Research, 2025). Within a class both features add up to the same class size.

The scale of the prior is the logarithm of $p / (1 - p)$.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from abcdp_core.published.models import Model

Array = NDArray[np.float64]

PUBLISHED_MODEL = "log-linear"

PEOPLE = 100
"""People of a data set."""


def prior(rng: np.random.Generator, size: int) -> Array:
    """Log-odds ``(size, 5)`` of independent Beta(2, 2) probabilities."""
    found: Array = logit(rng.beta(2.0, 2.0, (size, 5)))
    return found


def log_prior(x: Array) -> Array:
    """Their log-density ``(m,)``: 6 p (1 − p), times p (1 − p) for the scale."""
    # log p + log(1 − p), without a difference of nearly equal numbers.
    log_product = -np.logaddexp(0.0, -x) - np.logaddexp(0.0, x)
    found: Array = (math.log(6.0) + 2.0 * log_product).sum(axis=1)
    return found


def simulate(rng: np.random.Generator, x: Array) -> Array:
    """Counts ``(m, 8)`` of 100 people at log-odds ``(m, 5)``."""
    p = expit(x)
    first = rng.binomial(PEOPLE, p[:, 0])
    sizes = np.stack([first, first, PEOPLE - first, PEOPLE - first], axis=1)
    ones = rng.binomial(sizes, p[:, 1:])
    return np.stack([ones, sizes - ones], axis=2).reshape(len(x), 8).astype(float)


MODEL = Model(
    title="log-linear model",
    parameters=(
        "p(class 1)",
        *("p(feature 1 | class 1)", "p(feature 2 | class 1)"),
        *("p(feature 1 | class 2)", "p(feature 2 | class 2)"),
    ),
    numbers=tuple(
        f"feature {feature} = {value} in class {each}"
        for each in (1, 2)
        for feature in (1, 2)
        for value in (1, 2)
    ),
    prior=prior,
    log_prior=log_prior,
    simulate=simulate,
    theta=expit,
    chunk=20_000,
    most=5_000_000,
)
