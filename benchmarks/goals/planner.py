"""Predicted errors against errors of releases from fresh data and pools."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import mechanisms, planning, pool, simulators, summaries
from abcdp_core.mechanisms import Budget
from abcdp_core.planning import Setting
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from benchmarks.goals import SEED, Measured, goal

Array = NDArray[np.float64]

SETTINGS = 20
CASES = 256
"""Simulated cases per prediction."""

POOLS, RUNS = 50, 4
"""Fresh pools, and fresh data sets against each."""

POOL_SIZE = 10_000
DELTA = 1e-6
WITHIN = 0.1
"""Allowed relative difference."""

BOUNDS = {"epsilon_total": (0.05, 10.0), "c": (1.0, 300.0), "n": (300.0, 20_000.0),
          "epsilon_abc": (0.03, 0.5)}  # fmt: skip


@goal("planner-within-10-percent", at_least=18)
def within_ten_percent() -> Measured:
    """Number of 20 random settings whose predicted RMSE is within 10 % of simulated releases.

    Uniform mixture, truths from the prior, T = 10 000, sharp Δ, δ = 1e-6. ε_total, c, N and ε_abc
    are log-uniform over 0.05-10, 1-300, 300-20 000 and 0.03-0.5; mechanisms are in random order,
    and none repeats before all were used. Predictions use 256 cases. They are compared with 200
    releases from data and pools simulated point by point, 4 data sets for each of 50 pools.
    """
    kept = 0
    print(
        f"{'mechanism':30} ε_total      c      N  ε_abc  predicted  (95 % interval)   runs  ratio"
    )
    for number, setting in enumerate(drawn()):
        predicted = prediction(setting)
        errors = fresh(setting, number)
        root = math.sqrt(float(errors.mean()))
        ratio = predicted.value / root
        spread = float(errors.std(ddof=1)) / math.sqrt(errors.size) / errors.mean() / 2.0
        kept += abs(ratio - 1.0) <= WITHIN
        options = vars(setting.options)
        print(
            f"{setting.mechanism:30} {setting.budget.epsilon_total:7.3g} {options.get('c', 0):6} "
            f"{setting.n:6} {options.get('epsilon_abc', math.nan):6.3f}  {predicted.value:9.3g}  "
            f"({predicted.low:.3g} to {predicted.high:.3g})  {root:.3g} ± {100 * spread:.1f} %  "
            f"{ratio:.3f}{'' if abs(ratio - 1.0) <= WITHIN else '  MISSED'}",
            flush=True,
        )
    low, high = summaries.binomial_interval(kept, SETTINGS)
    return Measured(kept, SETTINGS * float(low), SETTINGS * float(high), SETTINGS)


def drawn() -> list[Setting]:
    """Return the random settings, at least one for every mechanism."""
    rng = generator(SEED, "planner-settings")
    serving = list(mechanisms.for_scenario(uniform_mixture))
    names = [*rng.permutation(serving), *rng.permutation(serving)][:SETTINGS]
    return [_setting(str(name), rng) for name in names]


def _setting(name: str, rng: np.random.Generator) -> Setting:
    values = {
        key: float(np.exp(rng.uniform(math.log(low), math.log(high))))
        for key, (low, high) in BOUNDS.items()
    }
    options = mechanisms.load(name).chosen(c=round(values["c"]), epsilon_abc=values["epsilon_abc"])
    budget = Budget(values["epsilon_total"], DELTA)
    scenario, n = uniform_mixture.SCENARIO, round(values["n"])
    return Setting(name, options, budget, scenario, n, POOL_SIZE)


def prediction(setting: Setting, cases: int = CASES) -> planning.Estimate:
    """Return the root mean squared error that a plan predicts."""
    every = [
        planning.table([(0, setting)], SEED, index, planning.NOISES, exact=True)
        for index in range(cases)
    ]
    return planning.Goal("rmse").error(pd.concat(every), planning.prior(setting.scenario))


def fresh(setting: Setting, number: int) -> Array:
    """Return mean squared errors ``(POOLS * RUNS,)`` of releases from simulated points."""
    source = simulators.load(setting.scenario)
    mechanism, errors = mechanisms.load(setting.mechanism), []
    for run in range(POOLS):
        key = dataclasses.replace(
            pool.key_for(setting.scenario, setting.n, setting.pool_size, SEED + 1 + number, run),
            largest_n=setting.n,
        )
        made = pool.build(key)
        public = _Public(key, setting.n, made=made)
        ready = mechanism.prepare(public, setting.options, setting.budget)
        for index in range(RUNS):
            rng = generator(SEED, "planner-fresh", number, run, index)
            truth = source.prior(rng, 1)
            data = source.simulate(rng, truth, setting.n)[0]
            comparison = pool.compare(made, data, synthetic=True)
            estimate = ready.release(comparison, rng).mean(made.theta, source.PRIOR_MEAN)
            errors.append(float(np.mean((estimate - truth[0]) ** 2)))
    return np.array(errors)


@dataclasses.dataclass(frozen=True)
class _Public(pool.PublicSide):
    """The public side of a pool in memory; on disk, all pools would take gigabytes."""

    made: pool.Pool = dataclasses.field(kw_only=True, compare=False, repr=False)

    @property
    def theta(self) -> Array:
        return self.made.theta

    @property
    def statistics(self) -> Array:
        return self.made.statistics[self.n]

    def summaries(self, name: str) -> Array:
        return self.made.summaries[name][self.n]

    def simulated(self, index: int) -> pool.DistanceTable:
        data = pool.predictive_data(self.key, self.n, index)
        return pool.compare(self.made, data, synthetic=True)
