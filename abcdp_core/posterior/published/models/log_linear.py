r"""A log-linear model: counts of two binary features of 100 people in two classes.

A person is in class 1 with probability $p$; in class $c$, feature $j$ has its first value with
probability $p_{jc}$, independently. All five probabilities are Beta(2, 2), the Dirichlet(2, 2) for
two cells. The summary counts, for class 1 and then for class 2, people with the first and with the
second value of feature 1, and the same for feature 2 (Xiong, Ju & Zhang, Transactions on Machine
Learning Research, 2025). Within a class, the counts of either feature add up to the class size.
"""

from __future__ import annotations

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.priors import Beta, Prior
from abcdp_core.posterior.published.models import Model

PUBLISHED_MODEL = "log-linear"

PEOPLE = 100
"""People in a data set."""


def simulate(rng: np.random.Generator, p: Array) -> Array:
    """Simulate counts ``(m, 8)`` of 100 people at probabilities ``(m, 5)``."""
    first = rng.binomial(PEOPLE, p[:, 0])
    sizes = np.stack([first, first, PEOPLE - first, PEOPLE - first], axis=1)
    ones = rng.binomial(sizes, p[:, 1:])
    return np.stack([ones, sizes - ones], axis=2).reshape(len(p), 8).astype(float)


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
    prior=Prior((Beta(2.0, 2.0),) * 5),
    simulate=simulate,
    chunk=20_000,
    most=5_000_000,
)
