r"""A Susceptible-Infected-Removed epidemic among a million people, from one infected person.

Infections occur at the rate $\beta S I / K$ and removals at $\gamma I$, per day; $\log\beta \sim
N(\log 0.4, 0.5)$ and $\log\gamma \sim N(\log 0.125, 0.2)$, with variances. The summary is the
number of infected people on days 0, 17, ..., 153 (Xiong, Ju & Zhang, Transactions on Machine
Learning Research, 2025).

Below :data:`EXACT_BELOW` infected people, every event is simulated. Above, the events in a leap of
at most :data:`LEAP` days are Poisson numbers at the rates of its start. With leaps of 0.1 days,
$\log\beta$ would be off by 0.02: while an epidemic grows, the rates at the start are too small.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.priors import Normal, Prior
from abcdp_core.posterior.published.models import Model

PUBLISHED_MODEL = "sir-epidemic"

PEOPLE = 1_000_000
"""People in all, K."""

DAYS = tuple(range(0, 154, 17))
"""Days on which the infected are counted."""

EXACT_BELOW = 300
"""Infected people below which every event is simulated."""

LEAP = 0.02
"""Most days in which several events are simulated at once."""

MEANS = (math.log(0.4), math.log(0.125))
VARIANCES = (0.5, 0.2)
"""Variances of log β and log γ."""


def simulate(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate numbers of infected people ``(m, 10)`` at logarithms ``(m, 2)`` of both rates."""
    return epidemics(rng, np.exp(theta), PEOPLE, EXACT_BELOW)


def epidemics(
    rng: np.random.Generator, rates: Array, people: int, exact_below: int, leap: float = LEAP
) -> Array:
    """Simulate numbers of infected people ``(m, 10)`` on :data:`DAYS`, at β and γ ``(m, 2)``.

    Below ``exact_below`` infected people, every event is simulated; above, leaps of days.
    """
    infected = np.zeros((len(rates), len(DAYS)))
    days = np.array(DAYS, dtype=float)
    _simulate(rng, rates, float(people), float(exact_below), leap, days, infected)
    return infected


@numba.njit(cache=True, nogil=True)
def _simulate(
    rng: np.random.Generator,
    rates: Array,
    people: float,
    exact_below: float,
    leap: float,
    days: Array,
    infected: Array,
) -> None:
    """Fill in ``infected (m, k)``."""
    for row in range(len(rates)):
        susceptible, now = people - 1.0, 1.0
        infected[row, 0] = now
        for k in range(1, len(days)):
            susceptible, now = _advance(
                rng, susceptible, now, rates[row], people, exact_below, leap, days[k] - days[k - 1]
            )
            infected[row, k] = now


@numba.njit(cache=True, nogil=True)
def _advance(
    rng: np.random.Generator,
    susceptible: float,
    infected: float,
    rates: Array,
    people: float,
    exact_below: float,
    leap: float,
    duration: float,
) -> tuple[float, float]:
    """Susceptible and infected people after so many days.

    Waiting times have no memory, so one that crosses the end is dropped, and the next interval
    draws a new one.
    """
    left = duration
    while left > 0.0 and infected > 0.0:
        infecting = rates[0] * susceptible * infected / people
        removing = rates[1] * infected
        if infected < exact_below:
            left -= rng.standard_exponential() / (infecting + removing)
            if left <= 0.0:
                break
            if rng.random() * (infecting + removing) < infecting:
                susceptible -= 1.0
                infected += 1.0
            else:
                infected -= 1.0
        else:
            step = min(leap, left)
            new = min(float(rng.poisson(infecting * step)), susceptible)
            removed = min(float(rng.poisson(removing * step)), infected)
            susceptible -= new
            infected += new - removed
            left -= step
    return susceptible, infected


MODEL = Model(
    title="SIR epidemic",
    parameters=("log β", "log γ"),
    numbers=tuple(f"infected on day {day}" for day in DAYS),
    prior=Prior(
        tuple(
            Normal(mean, math.sqrt(variance))
            for mean, variance in zip(MEANS, VARIANCES, strict=True)
        )
    ),
    simulate=simulate,
    chunk=500,
    most=400_000,
)
