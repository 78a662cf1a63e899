"""Errors of estimates from data with a known truth: the data of a run, and the least error."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from abcdp_core.base import summaries
from abcdp_core.base.sentences import (
    AXES,
    amount,
    budget_name,
    little,
    percent,
    plain,
    runs_in_words,
    with_budget,
)
from abcdp_core.figures.lines import Lines
from abcdp_core.models import pool
from abcdp_core.models.pool import DistanceTable, PublicSide
from abcdp_core.models.simulators import Scenario, uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Run
from abcdp_core.studies.engine.tables import DerivedTable, RunTable

if TYPE_CHECKING:
    from abcdp_core.mechanisms import Release


@dataclass(frozen=True)
class StudyData:
    """A scenario's data in one run, and the pool of that run.

    Attributes:
        key: key of the pool.
        run: run of the study; its parameters may include the scenario and ``pseudo_n``, the size
            of each simulated data set.
    """

    key: pool.PoolKey
    run: Run[Any]

    @classmethod
    def of(cls, run: Run[Any]) -> StudyData:
        """Return the data of the scenario, at the largest size listed."""
        params, chosen = run.params, vars(run.params)
        largest = max(params.n) if isinstance(params.n, tuple) else _points(chosen, params.n)
        scenario = params.source if "scenario" in chosen else MIXTURE
        known = {name: chosen[name] for name in ("bandwidth", "distance") if name in chosen}
        key = pool.key_for(scenario, largest, params.pool_size, run.seed, run.run, **known)
        return cls(key, run)

    @property
    def scenario(self) -> Scenario:
        """Return the scenario of the data."""
        return self.key.scenario

    def public(self, n: int) -> PublicSide:
        """Return the public side of data with n records."""
        return PublicSide(self.key, n)

    def comparison(self, n: int) -> DistanceTable:
        """Return the distances between data with n records and the pool."""
        return _comparison(self.key, n, _points(vars(self.run.params), n))

    @property
    def prior_errors(self) -> dict[str, float]:
        """Return the errors of the prior mean, as ``prior_mse`` and ``prior_mae``."""
        prior = np.asarray(self.scenario.prior_mean)
        errors = summaries.errors_by_metric(prior, self.scenario.truth)
        return {f"prior_{metric}": error for metric, error in errors.items()}

    def errors(self, release: Release, n: int) -> dict[str, float]:
        """Return the squared and the absolute error of a release's estimate."""
        prior = np.asarray(self.scenario.prior_mean)
        estimate = release.mean(self.comparison(n).theta, prior)
        return summaries.errors_by_metric(estimate, self.scenario.truth)


def _points(chosen: dict[str, Any], n: int) -> int:
    """Return the size of each simulated data set."""
    if "pseudo_n" not in chosen:
        return n
    return uniform_mixture.simulated_points(n, chosen["pseudo_n"])


@functools.lru_cache(maxsize=8)
def _comparison(key: pool.PoolKey, n: int, points: int) -> DistanceTable:
    return pool.observed_comparison(key, n, points)


def own_pool(params: Any, seed: int) -> list[pool.PoolKey]:
    """Return the key of the first run's public pool unless its distances are stored."""
    key = StudyData.of(Run(params, 0, seed)).key
    return [] if pool.is_ready(key) else [key]


OwnData = StudyData  # As studies of 0.3.0 import it


def rival(world: StudyData, run: Run[Any]) -> pd.DataFrame:
    """Compute the errors of noisy counts (MATH E7) at every size and budget."""
    sizes = run.params.n if isinstance(run.params.n, tuple) else (run.params.n,)
    address = (run.seed, run.run, run.params.noise_draw)
    budgets = run.params.epsilon_total
    # Imported here, so that the first page loads no further mechanism.
    from abcdp_core.evaluation import cases

    tables = [cases.rival(world.public(n), world.comparison(n), budgets, address) for n in sizes]
    return pd.concat(tables, ignore_index=True)


RIVAL = RunTable("n epsilon_total run mse mae", rival)  # The table of these errors


def scenario_of(result: Result) -> Any:
    """Return the scenario of a result."""
    params: Any = result.params
    return params.source if "scenario" in vars(params) else MIXTURE


def prior_error(result: Result, metric: str) -> float:
    """Return the error of the prior mean, which uses no data."""
    scenario = scenario_of(result)
    prior = np.asarray(scenario.prior_mean)
    return summaries.errors_by_metric(prior, scenario.truth)[metric]


@dataclass(frozen=True)
class LeastError:
    """Describe and draw the effect of privacy on the smallest mean error over some settings.

    Attributes:
        who: the mechanism, in words.
        over: parameters whose best values are chosen.
        of_noise: those of them that have no effect without noise, so that rows are repeated.
    """

    who: str
    over: tuple[str, ...]
    of_noise: tuple[str, ...] = ()

    def table(self, main: pd.DataFrame, metric: str) -> pd.DataFrame:
        """Return the best setting and its mean error for each budget, smallest budget first."""
        keys = ["epsilon_total", *self.over]
        means = main.groupby(keys, sort=True)[metric].mean().reset_index()
        return means.loc[means.groupby("epsilon_total")[metric].idxmin()].reset_index(drop=True)

    def title(self, result: Result, metric: str) -> str:
        """Compare the least error at the smallest budget with no noise, or with the prior."""
        table, prior = self.table(result.tables["main"], metric), prior_error(result, metric)
        budgets, errors = table.epsilon_total.tolist(), table[metric].tolist()
        noisy = math.isfinite(budgets[0])
        at = f"At {budget_name(budgets[0])}" if noisy else "Without noise"
        if verdict := little(errors[0], prior):
            return f"{at}, the estimate of {self.who} is {verdict}"
        beside = f"{percent(errors[0] / prior)} of the prior's error"
        if noisy and math.isinf(budgets[-1]):
            beside = f"{plain(errors[0] / errors[-1], 2)} times the error without noise"
        return f"{at}, the error of {self.who} is {beside}"

    def caption(self, result: Result, metric: str) -> str:
        """Report the least error at the smallest and the largest budget, and of the prior mean."""
        main = result.tables["main"]
        ends = self.table(main, metric).iloc[[0, -1]].drop_duplicates("epsilon_total")
        errors = zip(ends.epsilon_total, ends[metric], strict=True)
        least = " and ".join(f"{amount(error)} {with_budget(budget)}" for budget, error in errors)
        best = "threshold" if self.over == ("epsilon_abc",) else "setting"
        same = main[list(self.of_noise)]
        main = main[np.isfinite(main.epsilon_total) | (same == same.iloc[0]).all(axis=1)]
        return (
            f"Over {runs_in_words(main)}, the {AXES[metric]} at the best {best} is {least}; "
            f"the error of the prior mean is {amount(prior_error(result, metric))}."
            f"{summaries.empty_note(main.get('accepted', [1]))}"
        )

    def best_of_runs(self, metric: str = "mse") -> DerivedTable:
        """Return the table of the best value of the only parameter, by budget and run."""
        (over,) = self.over
        columns = ["epsilon_total", "run", over]

        def make(_: Any, rows: Tables) -> pd.DataFrame:
            main = rows["main"]
            least = main.loc[main.groupby(["run", "epsilon_total"])[metric].idxmin(), columns]
            return least.rename(columns={over: "best"}).reset_index(drop=True)

        return DerivedTable("epsilon_total run best", make)

    def views(self, x: str, **looks: Any) -> dict[str, Lines]:
        """Return a view for each metric: errors along ``x``, with the prior mean and the rival.

        Args:
            x: parameter along the axis.
            looks: further attributes of :class:`~abcdp_core.figures.lines.Lines`.
        """

        def says(result: Result, metric: str) -> tuple[str, str]:
            # Imported here for the same reason as in :func:`rival`.
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
