"""Trials: data sets whose true parameters are known, and releases that are scored on them.

The best public setting of a mechanism is the one with the least error over data sets simulated from
prior draws. The data that a study scores are never looked at for that.
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
from numpy.typing import NDArray

from abcdp_core import mechanisms, pool, privacy, simulators, summaries
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.parameters import Parameter, ParameterError, Params, choice
from abcdp_core.pool import PublicSide
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

TUNING_SETS = 20
"""Simulated data sets that a setting is chosen on."""

HELD_OUT = 10_000
"""Numbers from here on are of prior draws that no setting is chosen on."""

METRICS = ("mse", "mae", "mse_scaled", "mae_scaled")
"""Mean squared and absolute difference over the parameters; scaled: in prior standard deviations"""


@dataclass(frozen=True)
class Trial:
    """Data against the pool of a public side, and the parameters ``(d,)`` they come from."""

    public: PublicSide
    comparison: pool.DistanceTable = field(repr=False)
    truth: Array


@functools.lru_cache(maxsize=512)
def own(public: PublicSide, run: int) -> Trial:
    """The scenario's own data, published or drawn for a run; those of every run meet one pool.

    The truth is NaN where nobody knows it.
    """
    data = pool.observed_data(dataclasses.replace(public.key, run=run), public.n)
    comparison = pool.compare(pool.open_pool(public.key), data, synthetic=True)
    scenario = public.scenario
    unknown = np.full(len(scenario.PRIOR_MEAN), np.nan)
    return Trial(public, comparison, unknown if scenario.TRUTH is None else scenario.TRUTH)


def simulated(public: PublicSide, index: int) -> Trial:
    """Data simulated at the ``index``-th prior draw beyond the pool, from 0.

    No setting is chosen on those from :data:`HELD_OUT` on.
    """
    return Trial(public, public.simulated(index), public.simulated_theta(index))


SCENARIO = choice(
    "Scenario",
    "Where the data come from: any whose data sets take seconds to simulate.",
    tuple(
        name
        for name in dict.fromkeys((uniform_mixture.SCENARIO, *simulators.names()))
        if name not in simulators.with_feature("precomputed")
    ),
)


MECHANISM = choice("Mechanism", "What answers to the data.", tuple(mechanisms.names()))
SENSITIVITY = dataclasses.replace(
    par.SENSITIVITY,
    help=f"{par.SENSITIVITY.help} A mechanism without this choice has its own Δ.",
)


def able(parameter: Parameter, scenario: str) -> Parameter:
    """A choice of mechanisms without those that cannot serve a scenario."""
    names = tuple(str(name) for name in parameter.options)
    return dataclasses.replace(parameter, options=serving(names, scenario))


def serving(names: tuple[str, ...], scenario: str) -> tuple[str, ...]:
    """Those of some mechanisms that can serve a scenario."""
    served = mechanisms.for_scenario(simulators.load(scenario))
    return tuple(name for name in names if name in served)


def check_truths(scenario: str, truths: str) -> None:
    """Refuse a scenario's own data where nobody knows their true parameters.

    Raises:
        ParameterError: one sentence says so, and what can be done.
    """
    if truths == "own" and not knows_truth(simulators.load(scenario)):
        raise ParameterError(
            f"truths = own: nobody knows the true parameters of {scenario}'s data; "
            f"truths = prior has some that are known."
        )


def check_mechanisms(scenario: str, names: tuple[str, ...]) -> None:
    """Refuse mechanisms that cannot serve a scenario.

    Raises:
        ParameterError: one sentence says which and why.
    """
    source = simulators.load(scenario)
    for name in names:
        if reason := mechanisms.load(name).refuses(source):
            raise ParameterError(f"mechanism = {name}: cannot serve {scenario}. {reason}")


def guarantees(
    names: tuple[str, ...], budget: Budget, scenario: simulators.Scenario, budgets: int = 1
) -> str:
    """What one release by each of some mechanisms promises; those that promise the same, together.

    Args:
        names: of the mechanisms.
        budget: of each release, the largest one if there are several.
        scenario: whose data.
        budgets: how many different budgets are shown.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        mechanism = mechanisms.load(name)
        text = privacy.guarantee(mechanism.spends(budget), *mechanism.protects(scenario))
        found.setdefault(text.removesuffix(privacy.ADDS_UP).strip(), []).append(name)
    texts = [f"{', '.join(of)}: {text}" if len(found) > 1 else text for text, of in found.items()]
    largest = ["That is the largest budget shown."] * (budgets > 1)
    return " ".join([*texts, *largest, privacy.ADDS_UP])


def knows_truth(scenario: simulators.Scenario) -> bool:
    """Whether the scenario's own data are drawn at known parameters."""
    return scenario.TRUTH is not None and scenario.OBSERVED is None


def scores(trial: Trial, release: Release) -> tuple[float, ...]:
    """The :data:`METRICS` of what a release stands for; the prior mean if nothing was accepted."""
    theta = trial.public.theta
    estimate = release.mean(theta, np.asarray(trial.public.scenario.PRIOR_MEAN))
    return errors(estimate, trial.truth, theta)


def errors(estimate: Array, truth: Array, theta: Array) -> tuple[float, ...]:
    """The :data:`METRICS` of an estimate ``(d,)``; ``theta (T, d)`` are draws from the prior."""
    unit = theta.std(axis=0)
    return (
        *summaries.errors(estimate, truth),
        *summaries.errors(estimate / unit, truth / unit),
    )


@functools.lru_cache(maxsize=256)
def tried(
    name: str, public: PublicSide, options: Params, budget: Budget, seed: int
) -> tuple[tuple[Params, float], ...]:
    """Every setting of a mechanism's grid, and its mean squared error over simulated data sets.

    Where parameters have different units the error is that in prior standard deviations. Where
    there is one setting only it is not tried, and its error is NaN.

    Args:
        name: of the mechanism.
        public: data size and pool.
        options: what the grid does not vary.
        budget: of each release.
        seed: of the noise.
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
    found = []
    for chosen in settings:
        prepared = mechanism.prepare(public, chosen, budget)
        each = []
        for index in range(TUNING_SETS):
            trial = simulated(public, index)
            rng = generator(seed, "tuning-noise", index)
            each.append(scores(trial, prepared.release(trial.comparison, rng))[metric])
        found.append((chosen, float(np.mean(each))))
    return tuple(found)


def best(name: str, public: PublicSide, options: Params, budget: Budget, seed: int) -> Params:
    """The setting of the grid with the least error over simulated data sets; see :func:`tried`."""
    return min(tried(name, public, options, budget, seed), key=lambda row: row[1])[0]


# ------------------------------------------------------------- the rival that needs no simulation

RIVAL = "noisy-counts"
RIVAL_COLUMNS = ("n", "epsilon_total", "run", "mse", "mae")


def rival(
    public: PublicSide,
    comparison: pool.DistanceTable,
    budgets: Sequence[float],
    address: tuple[int, int, int],
) -> pd.DataFrame:
    """Errors of the exact posterior mean given the data's counts with noise (MATH E7).

    No row where a scenario states no model of counts: then there is no such rival.

    Args:
        public: size of the data, and the scenario.
        comparison: the data's own counts.
        budgets: of a release each; ``inf`` for counts without noise.
        address: seed, run and number of the noise draw.
    """
    mechanism, rows = mechanisms.load(RIVAL), []
    served = budgets if not mechanism.refuses(public.scenario) else ()
    for epsilon_total in served:
        prepared = mechanism.prepare(public, mechanism.chosen(draws=1), Budget(epsilon_total))
        seed, run, noise_draw = address
        release = prepared.release(comparison, generator(seed, "rival-noise", run, noise_draw))
        # Not the public side's draws: a pool of a further run is not kept, and would be made anew.
        mean = release.mean(comparison.theta, np.asarray(public.scenario.PRIOR_MEAN))
        errors_of = summaries.errors(mean, public.scenario.TRUTH)
        rows.append((public.n, epsilon_total, run, *errors_of))
    return pd.DataFrame(rows, columns=list(RIVAL_COLUMNS)).astype(
        {"n": int, "epsilon_total": float, "run": int, "mse": float, "mae": float}
    )
