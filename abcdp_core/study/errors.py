"""Errors of estimates from data whose truth is known: a run's own data, and the least error."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from abcdp_core import pool, simulators, summaries
from abcdp_core.figures.lines import Lines
from abcdp_core.pool import DistanceTable, PublicSide
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import (
    AXES,
    amount,
    budget_name,
    counted,
    little,
    percent,
    plain,
    setting,
    with_budget,
)
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study.tables import Rows, Total
from abcdp_core.tasks import Run

if TYPE_CHECKING:
    from abcdp_core.mechanisms import Release


@dataclass(frozen=True)
class OwnData:
    """A scenario's own data in one run, against the pool of that run.

    Attributes:
        key: of the pool.
        run: of the study; its parameters may say the scenario, and how many points each simulated
            data set has.
    """

    key: pool.PoolKey
    run: Run[Any]

    @classmethod
    def of(cls, run: Run[Any]) -> OwnData:
        """The data of the parameters' scenario, at the largest size that they list."""
        params, chosen = run.params, vars(run.params)
        largest = max(params.n) if isinstance(params.n, tuple) else _points(chosen, params.n)
        scenario = chosen.get("scenario", uniform_mixture.SCENARIO)
        known = {name: chosen[name] for name in ("bandwidth", "distance") if name in chosen}
        key = pool.key_for(scenario, largest, params.pool_size, run.seed, run.run, **known)
        return cls(key, run)

    @property
    def scenario(self) -> Any:
        """Whose data they are."""
        return self.key.source

    def public(self, n: int) -> PublicSide:
        """What is public where the data have n points."""
        return PublicSide(self.key, n)

    def comparison(self, n: int) -> DistanceTable:
        """The data of n points against the pool."""
        return _comparison(self.key, n, _points(vars(self.run.params), n))

    @property
    def prior_errors(self) -> dict[str, float]:
        """Errors of the prior mean, as ``prior_mse`` and ``prior_mae``."""
        prior = np.asarray(self.scenario.PRIOR_MEAN)
        found = summaries.errors_by_metric(prior, self.scenario.TRUTH)
        return {f"prior_{metric}": error for metric, error in found.items()}

    def errors(self, release: Release, n: int) -> dict[str, float]:
        """Squared and absolute error of what a release says; of the prior's if it is empty."""
        prior = np.asarray(self.scenario.PRIOR_MEAN)
        estimate = release.mean(self.comparison(n).theta, prior)
        return summaries.errors_by_metric(estimate, self.scenario.TRUTH)


def _points(chosen: dict[str, Any], n: int) -> int:
    """Points of each simulated data set."""
    if "pseudo_n" not in chosen:
        return n
    return uniform_mixture.simulated_points(n, chosen["pseudo_n"])


@functools.lru_cache(maxsize=8)
def _comparison(key: pool.PoolKey, n: int, points: int) -> DistanceTable:
    return pool.observed_comparison(key, n, points)


def own_pool(params: Any, seed: int) -> list[pool.PoolKey]:
    """Return the public pool of the first run unless its distances are at hand."""
    key = OwnData.of(Run(params, 0, seed)).key
    return [] if pool.is_ready(key) else [key]


def rival(world: OwnData, run: Run[Any]) -> pd.DataFrame:
    """The errors of the counts with noise (MATH E7), at every size and budget."""
    sizes = run.params.n if isinstance(run.params.n, tuple) else (run.params.n,)
    address = (run.seed, run.run, run.params.noise_draw)
    budgets = run.params.epsilon_total
    # Inside the function: the first page has a study, and waits for no mechanism but its own.
    from abcdp_core import trials

    tables = [trials.rival(world.public(n), world.comparison(n), budgets, address) for n in sizes]
    return pd.concat(tables, ignore_index=True)


RIVAL = Rows("n epsilon_total run mse mae", rival)  # The table of these errors


def scenario_of(result: Result) -> Any:
    """The scenario of a result's parameters."""
    return simulators.load(getattr(result.params, "scenario", uniform_mixture.SCENARIO))


def prior_error(result: Result, metric: str) -> float:
    """The error of the prior mean, which looks at no data."""
    scenario = scenario_of(result)
    prior = np.asarray(scenario.PRIOR_MEAN)
    return summaries.errors_by_metric(prior, scenario.TRUTH)[metric]


@dataclass(frozen=True)
class LeastError:
    """What privacy does to the least mean error over some settings.

    Attributes:
        who: what has the error, in the plural.
        over: parameters among whose values the best are taken.
        of_noise: those of them that change nothing where there is no noise.
    """

    who: str
    over: tuple[str, ...]
    of_noise: tuple[str, ...] = ()

    def table(self, main: pd.DataFrame, metric: str) -> pd.DataFrame:
        """A row for each budget: its best setting and the mean error there, smallest first."""
        keys = ["epsilon_total", *self.over]
        means = main.groupby(keys, sort=True)[metric].mean().reset_index()
        return means.loc[means.groupby("epsilon_total")[metric].idxmin()].reset_index(drop=True)

    def title(self, result: Result, metric: str) -> str:
        """The least error at the smallest budget, against that without noise or the prior's."""
        table, prior = self.table(result.tables["main"], metric), prior_error(result, metric)
        budgets, errors = table.epsilon_total.tolist(), table[metric].tolist()
        noisy = math.isfinite(budgets[0])
        who = f"{self.who} {f'at {budget_name(budgets[0])}' if noisy else 'without noise'}"
        if said := little(errors[0], prior):
            return f"{who}: {said}"
        if not noisy or math.isfinite(budgets[-1]):
            return f"{who}: {percent(errors[0] / prior)} of the prior's error"
        return f"{who}: {plain(errors[0] / errors[-1], 2)} times the error without noise"

    def caption(self, result: Result, metric: str) -> str:
        """The least error at the smallest and the largest budget, and the prior's."""
        main = result.tables["main"]
        table, prior = self.table(main, metric), prior_error(result, metric)
        ends = table.iloc[[0, -1]] if len(table) > 1 else table
        over = [name for name in self.over if len(main[name].unique()) > 1]
        errors = []
        for _, row in ends.iterrows():
            beside = self.of_noise if math.isinf(row.epsilon_total) else ()
            best = ", ".join(setting(name, row[name]) for name in over if name not in beside)
            at = f"{with_budget(row.epsilon_total)}{f' ({best})' if best else ''}"
            errors.append(f"{amount(row[metric])} {at}")
        same = main[list(self.of_noise)]
        main = main[np.isfinite(main.epsilon_total) | (same == same.iloc[0]).all(axis=1)]
        found = " and ".join(errors)
        return (
            f"Over {counted(main.run.nunique(), 'run')}, the least {AXES[metric]} is {found}; the "
            f"prior mean's is {amount(prior)}.{summaries.empty_note(main.get('accepted', [1]))}"
        )

    def best_of_runs(self, metric: str = "mse") -> Total:
        """The table of the best setting at each budget in every run, if one parameter is varied."""
        (over,) = self.over
        columns = ["epsilon_total", "run", over]

        def make(_: Any, rows: Tables) -> pd.DataFrame:
            main = rows["main"]
            least = main.loc[main.groupby(["run", "epsilon_total"])[metric].idxmin(), columns]
            return least.rename(columns={over: "best"}).reset_index(drop=True)

        return Total("epsilon_total run best", make)

    def views(self, x: str, **looks: Any) -> dict[str, Lines]:
        """A view for each metric: errors along ``x``, beside the prior's and the rival's.

        Args:
            x: parameter along the axis.
            looks: further attributes of :class:`~abcdp_core.figures.lines.Lines`.
        """

        def says(result: Result, metric: str) -> tuple[str, str]:
            # Inside the function, as in :func:`rival`.
            from abcdp_core.mechanisms import noisy_counts

            counts = noisy_counts.rival(scenario_of(result))
            return self.title(result, metric), f"{self.caption(result, metric)} {counts}"

        return {
            metric: Lines(
                metric,
                x,
                says=partial(says, metric=metric),
                prior=partial(prior_error, metric=metric),
                rival=True,
                **looks,
            )
            for metric in summaries.METRICS
        }
