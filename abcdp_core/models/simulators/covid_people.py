r"""COVID-19 in the Netherlands, spring 2020, with *people* as units: daily counts (MATH M9).

The data are new cases a day: the differences of the 18 published cumulative counts in
:mod:`.covid`. A person is confirmed on one day, so adding or removing a person changes one daily
count by 1, but up to 18 cumulative counts. Release daily counts and add them up afterwards.

To show the effect of the unit, the same counts are also stated with a *day* as the unit, which may
have any count up to a public limit.

Unlike the cubic of [P21], the model is a stochastic epidemic of people. Among $K = 17.4$ million
people, $I$ are infectious and $S$ susceptible. In each of four steps a day, a susceptible person is
infected with probability $1 - e^{-R I / (4 D K)}$, and an infectious person recovers with
probability $1 - e^{-1/(4D)}$. One in ten is confirmed on the day of recovery, with overdispersion:
given $x$ recoveries, the count is Poisson with mean $0.1\, x\, G$, where $G$ is gamma with mean 1
and standard deviation $\sigma$ (a negative binomial count).

| parameter | prior | reason |
|---|---|---|
| R, infections by one case | U(0.5, 4) | from a dying outbreak to above all early estimates |
| D, days infectious | U(4, 10) | early clinical estimates; the data say little about it |
| log₁₀ of the infectious on the first day | U(1, 5) | 10 to 100 000 people |
| σ, spread of a day's reporting | U(0.05, 0.6) | from a weekly rhythm to half the cases late |

Early data identify only the growth rate $(R - 1)/D$, so R is as uncertain as D. They identify only
the product of the confirmed share and the number infectious, so the share is fixed.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base import transforms
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.statistic import Quantity, Statistic, TailProbability, largest_length
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.summaries import ClippedSummaries
from abcdp_core.models.priors import Prior, Uniform
from abcdp_core.models.simulators import Scenario, covid

LOW = np.array([0.5, 4.0, 1.0, 0.05])
HIGH = np.array([4.0, 10.0, 5.0, 0.6])
"""Bounds of the uniform prior."""
UNITS = {"R": "", "infectious period": "days", "log₁₀ infectious": "", "spread": ""}
DISTANCE_AXIS = 2000.0

POPULATION = 17_400_000
"""K: people in the Netherlands in 2020."""

CONFIRMED = 0.1
"""Share of infections confirmed."""

STEPS = 4
"""Steps a day, part of the model. At R = 2.5 and D = 6.5, 4 steps give 10 % fewer cases on the last
day than 64 steps."""


def prior(rng: np.random.Generator, size: int) -> Array:
    """Draw parameters ``(size, 4)``: R, D, log₁₀ of the infectious, σ."""
    return rng.uniform(LOW, HIGH, (size, len(LOW)))


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Simulate pairs of day and count ``(k, size, 2)`` for successive days from 0."""
    reproduction, period, logarithm, spread = theta.T
    infectious = np.rint(10.0**logarithm).astype(np.int64)
    susceptible = POPULATION - infectious
    ceasing = -np.expm1(-1.0 / (STEPS * period))
    rate = reproduction / (STEPS * period * POPULATION)
    counts = np.empty((len(theta), size))
    for day in range(size):
        ceased = np.zeros(len(theta), dtype=np.int64)
        for _ in range(STEPS):
            infected = rng.binomial(susceptible, -np.expm1(-rate * infectious))
            leaving = rng.binomial(infectious, ceasing)
            susceptible = susceptible - infected
            infectious = infectious + infected - leaving
            ceased += leaving
        reporting = rng.gamma(1.0 / spread**2, spread**2)
        counts[:, day] = rng.poisson(CONFIRMED * ceased * reporting)
    days = np.broadcast_to(np.arange(float(size)), counts.shape)
    return np.stack([days, counts], axis=-1)


def daily(data: Array) -> Array:
    """Return the daily counts ``(..., n)`` of data sets ``(..., n, 2)``."""
    return data[..., 1]


def daily_growth(theta: Array) -> Array:
    """Return the growth rate ``(k,)`` per day of the number infectious, while few are immune.

    Each of the :data:`STEPS` a day multiplies the expected number by
    $1 + R/(4D) - (1 - e^{-1/(4D)})$, so the rate is slightly below (R − 1)/D where that is large.
    """
    step = 1.0 / (STEPS * theta[:, 1])
    return STEPS * np.log1p(theta[:, 0] * step + np.expm1(-step))


ONE_PERSON = ((1,),)
"""Largest changes of the counts when a person is added or removed: one count, by 1."""

LIMIT = 500
"""Public. About four in five draws have no day with more cases."""


def cut(data: Array) -> Array:
    """Return daily counts ``(..., n)``, cut at :data:`LIMIT`."""
    return np.minimum(daily(data), LIMIT)


NAMES = tuple(f"day {day}" for day in range(1, 19))

counts = functools.partial(Statistic.by_cases, names=NAMES, low=(0.0,) * 18, whole=(1,) * 18)

OWN_NAMES = {
    "R": "R, infections by one case",
    "infectious period": "infectious period",
    "log₁₀ infectious": "log₁₀ of the infectious on the first day",
    "spread": "spread of a day's reporting",
}


def from_series(values: Array) -> Array:
    """Turn counts ``(n,)`` of successive days into data points ``(n, 2)``."""
    return np.column_stack([np.arange(float(len(values))), values])


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Return the Euclidean distance between daily counts, in cases, at most 2000."""
    return ClippedSummaries(daily, (1.0,), largest_length(ONE_PERSON), DISTANCE_AXIS)


SCENARIO = Scenario(
    module=__name__,
    name="covid-people",
    title="COVID-19, by person",
    protected="one person",
    neighbours="add-remove",
    coordinates=("day", "new cases"),
    axes=dict(zip(UNITS, zip(LOW.tolist(), HIGH.tolist(), strict=True), strict=True)),
    units=UNITS,
    prior_mean=(LOW + HIGH) / 2.0,
    prior_law=Prior(tuple(Uniform(low, high) for low, high in zip(LOW, HIGH, strict=True))),
    support=transforms.box(LOW, HIGH),
    domain=(0.0, 1e6),
    # Day and new cases ``(18, 2)``.
    observed=np.column_stack([covid.days(len(covid.CASES)), np.diff(covid.CASES, prepend=0.0)]),
    published="the Netherlands",
    is_series=True,
    n=dataclasses.replace(
        covid.SCENARIO.n,
        label="Days in the series",
        help="The number of people counted is private.",
    ),
    n_default=18,
    epsilon_abc=Parameter(
        kind="real",
        label="ε_abc · how close is close enough",
        help="A draw is kept if the Euclidean distance between its daily counts and the data's is "
        "at most this many cases. It is a distance, not a privacy parameter.",
        low=10.0,
        high=2000.0,
        steps=(10, 20, 50, 100, 200, 500, 1000, 2000),
        unit="cases",
    ),
    epsilon_abc_default=200.0,
    c_default=100,
    pool_size=par.POOL_SIZE,
    pool_size_default=20_000,
    distances=("clipped-counts",),
    distance_axis=DISTANCE_AXIS,
    statistics={
        "daily-counts": counts(
            ONE_PERSON,
            name="daily-counts",
            unit="one person",
            neighbours="add-remove",
            reduce=daily,
            high=(math.inf,) * 18,
        ),
        # One day's count replaced by any other, both cut.
        "daily-counts-of-a-day": counts(
            ((LIMIT,),),
            name="daily-counts-of-a-day",
            unit="one day",
            neighbours="replace",
            reduce=cut,
            high=(float(LIMIT),) * 18,
        ),
    },
    prior=prior,
    simulate=simulate,
    distance=distance,
    from_series=from_series,
    # Days.
    own_sizes=(14, 60),
    own_model=(
        "For daily new cases at the start of an epidemic, 14 to 60 successive days: a stochastic "
        "epidemic with a constant reproduction number R, 10 to 100,000 infectious people on the "
        "first day, one in ten infections confirmed, and a population of 17.4 million. The model "
        "has no weekday effect."
    ),
    own_columns=("daily-counts",),
    own_rows="days",
    own_data="a series of daily cases for {n} days",
    own_hidden="How many people were counted, on a day or in all, is protected too.",
    own_repeated=(
        "Whoever is counted several times is protected less, and so are several people together: "
        "k counts are protected with k times ε_total, as are k members of a household."
    ),
    own_names=OWN_NAMES,
    own_quantities=(
        Quantity(
            "growth rate at the beginning",
            "per day",
            -0.15,
            0.8,
            lambda theta, numbers: daily_growth(theta),  # noqa: ARG005 - one interface
            inverse=("doubling time", "days", math.log(2.0)),
        ),
    ),
    own_questions=(TailProbability("R", "R < 1", 1.0), TailProbability("R", "R < 2", 2.0)),
    own_headline=OWN_NAMES["R"],
    own_finding="One case infects {low} to {high} others",
    own_jagged=(
        "The model has no weekday effect. If fewer cases are reported on weekends and more on "
        "Mondays, do not rely on its intervals."
    ),
)
