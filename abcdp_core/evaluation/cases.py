"""Trials: data sets with known true parameters, and errors of releases from them.

The best public setting of a mechanism has the least error over data sets simulated at prior draws.
The data that a study scores are never used for this choice.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from abcdp_core import mechanisms, privacy
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError, Params, choice
from abcdp_core.base.sentences import listed
from abcdp_core.base.streams import generator
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.models import pool, simulators
from abcdp_core.models.pool import PublicSide
from abcdp_core.models.simulators import Scenario
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE

TUNING_SETS = 20
"""Number of simulated data sets for the choice of a setting."""

HELD_OUT = 10_000
"""Number of the first prior draw that is never used to choose a setting."""

METRICS = ("mse", "mae", "mse_scaled", "mae_scaled")
"""Mean squared and absolute error over the parameters; scaled: in prior standard deviations."""


@dataclass(frozen=True)
class Case:
    """Data with known true parameters, for releases.

    Attributes:
        public: the pool and everything else that is public.
        comparison: of the data, in the place of private ones, with the pool.
        truth: their parameters ``(d,)``.
    """

    public: mechanisms.PublicSide
    comparison: pool.DistanceTable = field(repr=False)
    truth: Array


@functools.lru_cache(maxsize=512)
def own(public: PublicSide, run: int) -> Case:
    """Return the scenario's own data of a run, published or simulated; all runs share one pool.

    The truth is NaN if it is unknown.
    """
    data = pool.observed_data(dataclasses.replace(public.key, run=run), public.n)
    comparison = pool.compare(pool.open_pool(public.key), data, synthetic=True)
    scenario = public.scenario
    unknown = np.full(len(scenario.prior_mean), np.nan)
    return Case(public, comparison, unknown if scenario.truth is None else scenario.truth)


def simulated(public: PublicSide, index: int) -> Case:
    """Return data simulated at the ``index``-th prior draw beyond the pool, from 0.

    Those from :data:`HELD_OUT` on are never used to choose a setting.
    """
    return Case(public, public.simulated(index), public.simulated_theta(index))


SCENARIO = choice(
    "Scenario",
    "The data and their model.",
    tuple(
        name
        for name in dict.fromkeys((MIXTURE.name, *simulators.names()))
        if name not in simulators.with_feature("precomputed")
    ),
)


MECHANISM = choice("Mechanism", "How the release is made.", tuple(mechanisms.names()))
SENSITIVITY = dataclasses.replace(
    par.SENSITIVITY,
    help=f"{par.SENSITIVITY.help} Mechanisms without this choice have their own Δ.",
)


def able(parameter: Parameter, scenario: str) -> Parameter:
    """Return a choice of mechanisms without those that cannot serve a scenario."""
    names = tuple(str(name) for name in parameter.options)
    return dataclasses.replace(parameter, options=serving(names, simulators.load(scenario)))


def serving(names: tuple[str, ...], scenario: Scenario) -> tuple[str, ...]:
    """Return those of some mechanisms that can serve a scenario."""
    served = mechanisms.for_scenario(scenario)
    return tuple(name for name in names if name in served)


def check_truths(scenario: Scenario, truths: str) -> None:
    """Refuse a scenario's own data if their true parameters are unknown.

    Raises:
        ParameterError: they are unknown.
    """
    if truths == "own" and not knows_truth(scenario):
        raise ParameterError(
            f"truths = own: the true parameters of {scenario.name}'s data are unknown; "
            f"use truths = prior."
        )


def check_mechanisms(scenario: Scenario, names: tuple[str, ...]) -> None:
    """Refuse mechanisms that cannot serve a scenario.

    Raises:
        ParameterError: one cannot; the message says why.
    """
    for name in names:
        if reason := mechanisms.load(name).refuses(scenario):
            raise ParameterError(f"mechanism = {name}: cannot serve {scenario.name}. {reason}")


def guarantees(names: tuple[str, ...], budget: Budget, scenario: Scenario, budgets: int = 1) -> str:
    """Return the guarantee of one release by each mechanism, equal guarantees together.

    Args:
        names: names of the mechanisms.
        budget: budget of each release; the largest if there are several.
        scenario: the scenario of the data.
        budgets: number of different budgets shown.
    """
    names_of: dict[str, list[str]] = {}
    for name in names:
        mechanism = mechanisms.load(name)
        text = privacy.guarantee(mechanism.spends(budget), *mechanism.protects(scenario))
        names_of.setdefault(text.removesuffix(privacy.ADDS_UP).strip(), []).append(name)
    texts = []
    for text, of in names_of.items():
        words = listed([name.replace("-", " ") for name in of])
        # A sentence on what is protected, or that nothing is.
        follows = f" p{text[1:]}" if text.startswith("Protects") else f": {text}"
        texts.append(f"Each release with {words}{follows}")
    largest = ["That is the largest budget shown."] * (budgets > 1)
    return " ".join([*texts, *largest, privacy.ADDS_UP])


def knows_truth(scenario: Scenario) -> bool:
    """Return whether the scenario's own data are simulated at known parameters."""
    return scenario.truth is not None and scenario.observed is None


def scores(case: Case, release: Release) -> tuple[float, ...]:
    """Return the :data:`METRICS` of a release; of the prior mean if no draw was kept."""
    theta = case.public.theta
    estimate = release.mean(theta, np.asarray(case.public.scenario.prior_mean))
    return errors(estimate, case.truth, theta)


def errors(estimate: Array, truth: Array, theta: Array) -> tuple[float, ...]:
    """Return the :data:`METRICS` of an estimate ``(d,)``; ``theta (T, d)`` are prior draws."""
    unit = theta.std(axis=0)
    return (
        *summaries.errors(estimate, truth),
        *summaries.errors(estimate / unit, truth / unit),
    )


@functools.lru_cache(maxsize=256)
def tried(
    name: str, public: PublicSide, options: Params, budget: Budget, seed: int
) -> tuple[tuple[Params, float], ...]:
    """Return every setting of a mechanism's grid with its mean squared error on simulated data.

    If parameters have different units, errors are in prior standard deviations. A single setting is
    not tried; its error is NaN.

    Args:
        name: name of the mechanism.
        public: data size and pool.
        options: options that the grid does not vary.
        budget: budget of each release.
        seed: seed of the noise.
    """
    mechanism = mechanisms.load(name)
    grid = mechanism.grid(public)
    settings = [
        dataclasses.replace(options, **dict(zip(grid, values, strict=True)))
        for values in itertools.product(*grid.values())
    ]
    if len(settings) == 1:
        return ((settings[0], math.nan),)
    scaled = simulators.has_several_units(public.scenario)
    metric = METRICS.index("mse_scaled" if scaled else "mse")
    errors = []
    for chosen in settings:
        prepared = mechanism.prepare(public, chosen, budget)
        each = []
        for index in range(TUNING_SETS):
            trial = simulated(public, index)
            rng = generator(seed, "tuning-noise", index)
            each.append(scores(trial, prepared.release(trial.comparison, rng))[metric])
        errors.append((chosen, float(np.mean(each))))
    return tuple(errors)


def best(name: str, public: PublicSide, options: Params, budget: Budget, seed: int) -> Params:
    """Return the setting with the least error on simulated data; see :func:`tried`."""
    return min(tried(name, public, options, budget, seed), key=lambda row: row[1])[0]


# ----------------------------------------------------------- a rival that needs no simulation

RIVAL = "noisy-counts"
RIVAL_COLUMNS = ("n", "epsilon_total", "run", "mse", "mae")


def rival(
    public: PublicSide,
    comparison: pool.DistanceTable,
    budgets: Sequence[float],
    address: tuple[int, int, int],
) -> pd.DataFrame:
    """Return errors of the exact posterior mean given noisy counts of the data (MATH E7).

    A scenario without a model of counts has no such rival and gives no rows.

    Args:
        public: size of the data, and the scenario.
        comparison: has the counts of the data.
        budgets: budgets of the releases; ``inf`` for counts without noise.
        address: seed, run and number of the noise draw.
    """
    mechanism, rows = mechanisms.load(RIVAL), []
    served = budgets if not mechanism.refuses(public.scenario) else ()
    for epsilon_total in served:
        prepared = mechanism.prepare(public, mechanism.chosen(draws=1), Budget(epsilon_total))
        seed, run, noise_draw = address
        release = prepared.release(comparison, generator(seed, "rival-noise", run, noise_draw))
        # The public side would make the pool of a further run again, which is not kept.
        mean = release.mean(comparison.theta, np.asarray(public.scenario.prior_mean))
        errors_of = summaries.errors(mean, public.scenario.truth)
        rows.append((public.n, epsilon_total, run, *errors_of))
    return pd.DataFrame(rows, columns=list(RIVAL_COLUMNS)).astype(
        {"n": int, "epsilon_total": float, "run": int, "mse": float, "mae": float}
    )
