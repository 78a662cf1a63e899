"""Predicted errors against errors of releases from fresh data and pools."""

from __future__ import annotations

import dataclasses
import math
import os
import tempfile
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pandas as pd

from abcdp_core import mechanisms
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import planning
from abcdp_core.evaluation.planning import Setting
from abcdp_core.mechanisms import Budget
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from benchmarks.goals import SEED, Measured, goal
from benchmarks.measure import head, row

SETTINGS, CASES = 20, 256
"""Settings, and simulated cases for each prediction."""

POOLS, RUNS = 50, 4
"""Fresh pools, and fresh data sets against each."""

POOL_SIZE, DELTA = 10_000, 1e-6

BOUNDS = {
    **{"epsilon_total": (0.05, 10.0), "c": (1.0, 300.0)},
    **{"n": (300.0, 20_000.0), "epsilon_abc": (0.03, 0.5)},
}


@goal("planner-within-10-percent", at_least=18)
def within_ten_percent() -> Measured:
    """Number of 20 random settings whose predicted RMSE is within 10 % of simulated releases.

    Uniform mixture, truths from the prior, T = 10 000, sharp Δ, δ = 1e-6. ε_total, c, N and ε_abc
    are log-uniform over 0.05-10, 1-300, 300-20 000 and 0.03-0.5; mechanisms are in random order,
    and none repeats before all were used. Predictions use 256 cases. They are compared with 200
    releases from data and pools simulated point by point, 4 data sets for each of 50 pools.
    """
    kept = 0
    print(head("mechanism", *BOUNDS, "predicted", "95 % interval", "runs", "± %", "ratio"))
    for number, setting in enumerate(drawn()):
        predicted = prediction(setting)
        errors = fresh(setting, number)
        root = math.sqrt(float(errors.mean()))
        spread = float(errors.std(ddof=1)) / math.sqrt(errors.size) / errors.mean() / 2.0
        ratio = predicted.value / root
        kept += abs(ratio - 1.0) <= 0.1
        options = {"c": math.nan, "epsilon_abc": math.nan} | vars(setting.options)
        asked = setting.budget.epsilon_total, options["c"], setting.n, options["epsilon_abc"]
        interval = f"{predicted.low:.3g} to {predicted.high:.3g}"
        found = predicted.value, interval, root, 100.0 * spread, ratio
        print(row(setting.mechanism, *asked, *found), flush=True)
    low, high = summaries.binomial_interval(kept, SETTINGS)
    return Measured(kept, SETTINGS * float(low), SETTINGS * float(high), SETTINGS)


def drawn() -> Iterator[Setting]:
    """Draw the settings, at least one for every mechanism."""
    rng = generator(SEED, "planner-settings")
    serving = list(mechanisms.for_scenario(MIXTURE))
    for name in [*rng.permutation(serving), *rng.permutation(serving)][:SETTINGS]:
        values = {
            key: float(np.exp(rng.uniform(math.log(low), math.log(high))))
            for key, (low, high) in BOUNDS.items()
        }
        c, epsilon_abc = round(values["c"]), values["epsilon_abc"]
        options = mechanisms.load(str(name)).chosen(c=c, epsilon_abc=epsilon_abc)
        budget, n = Budget(values["epsilon_total"], DELTA), round(values["n"])
        yield Setting(str(name), options, budget, MIXTURE, n, POOL_SIZE)


def prediction(setting: Setting, cases: int = CASES) -> planning.Estimate:
    """Return the root mean squared error that a plan predicts."""
    every = [
        planning.table([(0, setting)], SEED, index, planning.NOISES, exact=True)
        for index in range(cases)
    ]
    return planning.Goal("rmse").error(pd.concat(every), planning.prior(setting.scenario))


def fresh(setting: Setting, number: int) -> Array:
    """Return mean squared errors ``(POOLS * RUNS,)`` of releases from simulated points."""
    source, mechanism = setting.scenario, mechanisms.load(setting.mechanism)
    errors = []
    for run in range(POOLS):
        own = pool.key_for(source, setting.n, POOL_SIZE, SEED + 1 + number, run)
        key = dataclasses.replace(own, largest_n=setting.n)
        pool.forget()
        # All pools together would take gigabytes.
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, ABCDP_CACHE_DIR=folder),
        ):
            made, public = pool.open_pool(key), pool.PublicSide(key, setting.n)
            ready = mechanism.prepare(public, setting.options, setting.budget)
        for index in range(RUNS):
            rng = generator(SEED, "planner-fresh", number, run, index)
            truth = source.prior(rng, 1)
            data = source.simulate(rng, truth, setting.n)[0]
            comparison = pool.compare(made, data, synthetic=True)
            estimate = ready.release(comparison, rng).mean(made.theta, source.prior_mean)
            errors.append(float(np.mean((estimate - truth[0]) ** 2)))
    return np.array(errors)
