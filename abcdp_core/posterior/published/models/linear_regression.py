r"""Linear regression with 100 records; nine bounded averages were released.

$y = \beta_0 + \beta_1 x_1 + \beta_2 x_2 + e$ with $e \sim N(0, 2)$, $x \sim N((0.9, -1.17), I_2)$
and $\beta \sim N(0, I_3)$. Every $x_j$ and $y$ is clipped to $[-10, 10]$ and divided by 10; with
$X$ the records and a column of ones, the summary is $X'y/n$, $y'y/n$ and the entries of $X'X/n$
that vary. One record moves these nine by at most $((p + 3)p + 3)/n = 0.13$ in sum, $p = 2$ (Xiong,
Ju & Zhang, Transactions on Machine Learning Research, 2025; the largest change found is 0.094).
"""

from __future__ import annotations

import math

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.priors import Normal, Prior
from abcdp_core.posterior.published.models import Model

PUBLISHED_MODEL = "linear-regression"

RECORDS = 100
"""Records of a data set, n."""

MEANS = (0.9, -1.17)
"""Means of both covariates; their variance is 1."""

VARIANCE = 2.0
"""Variance of the error."""

BOUND = 10.0
"""Covariates and response are clipped to ± this and divided by it."""


def simulate(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate summaries ``(m, 9)`` of data sets at coefficients ``(m, 3)``."""
    normal = rng.standard_normal((3, len(theta), RECORDS))
    first, second = normal[0] + MEANS[0], normal[1] + MEANS[1]
    response = (
        theta[:, :1]
        + theta[:, 1:2] * first
        + theta[:, 2:] * second
        + math.sqrt(VARIANCE) * normal[2]
    )
    return summary(
        *(np.clip(values, -BOUND, BOUND) / BOUND for values in (first, second, response))
    )


def summary(first: Array, second: Array, response: Array) -> Array:
    """Return averages ``(m, 9)`` of bounded records ``(m, n)``, in the order of the release."""
    products = [
        *(response, first * response, second * response, response**2),
        *(first, second, first**2, first * second, second**2),
    ]
    return np.stack([each.mean(axis=1) for each in products], axis=1)


MODEL = Model(
    title="linear regression",
    parameters=("β0", "β1", "β2"),
    numbers=("y", "x1 y", "x2 y", "y y", "x1", "x2", "x1 x1", "x1 x2", "x2 x2"),
    prior=Prior((Normal(0.0, 1.0),) * 3),
    simulate=simulate,
    chunk=4000,
)
