"""Visits of a million people to a doctor, simulated by a few numbers instead of a row for each."""

from __future__ import annotations

import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, of_table


def simulate(rng, theta, n):
    """Records ``(k, n, 2)`` at parameters ``(k, 3)``; `check` compares a few tables of them."""
    smoker = rng.random((len(theta), n)) < theta[:, :1]
    visits = rng.poisson(np.where(smoker, theta[:, 1:2], theta[:, 2:]))
    return np.stack([smoker, visits], axis=-1)


def simulate_numbers(rng, theta, n):
    """The same three numbers ``(k, 3)`` at once: binomial, and two sums of Poisson numbers."""
    share, of_smokers, of_others = theta.T
    smokers = rng.binomial(n, share)
    sums = rng.poisson(smokers * of_smokers), rng.poisson((n - smokers) * of_others)
    return np.stack([smokers, *sums], axis=-1)


def numbers(table):
    """Numbers ``(..., 3)`` of tables ``(..., n, 2)``."""
    smoker, visits = table[..., 0], table[..., 1]
    sums = smoker.sum(axis=-1), (smoker * visits).sum(axis=-1), ((1 - smoker) * visits).sum(axis=-1)
    return np.stack(sums, axis=-1)


MODEL = Model(
    name="doctor-visits",
    title="Visits to a doctor",
    parameters=(
        Parameter("share of smokers", 0.0, 1.0),
        Parameter("visits of a smoker", 0.5, 8.0, unit="a year"),
        Parameter("visits of another", 0.5, 8.0, unit="a year"),
    ),
    columns=(Column("smoker", 0, 1, whole=True), Column("visits", 0, 30, whole=True)),
    unit="one person",
    simulate=simulate,
    simulate_numbers=simulate_numbers,
    statistics=of_table(
        numbers, {"smokers": (0, 1), "their visits": (0, 30), "visits of others": (0, 30)}
    ),
    sizes=(1000, 10_000, 1_000_000),
)
