"""Typical results of streams of people, beside those of a single run.

A single run may look too good or too bad by chance. So many streams with the default settings were
run beforehand, each with other people and other noise, with adaptive and with fixed intervals.
``python -m tools.typical_streams`` remakes the table in ``assets/typical`` in about 15 minutes.
Streams do not depend on how many people follow, so they also give the results for fewer people.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.base.places import ASSETS
from abcdp_core.base.sentences import amount, counted

FILE = ASSETS / "typical" / "streams.csv"

COLUMNS = ("epsilon_total", "run", "t", "interval", "sd_mu", "error_mu")

BUDGETS = (1.0, 2.0)
"""Budgets that were run, the default first."""

PEOPLE = (100, 300, 1000)
"""Numbers of people after which results are kept."""

RUNS = 100
"""Number of streams per budget."""

FEWEST = 10
"""Number of runs from which their middle 80 % is reported."""

SAMPLER, SEED = "smc", 1
WAYS = ("adaptive", "fixed")


@dataclass(frozen=True)
class Typical:
    """Summary of streams with the same settings.

    Attributes:
        runs: number of streams.
        middle, tenth, ninetieth: quantiles 0.5, 0.1 and 0.9 over runs of the posterior's standard
            deviation of μ with fixed intervals, divided by the one with adaptive intervals.
        adaptive_error, fixed_error: median distance of the posterior mean from μ.
    """

    runs: int
    middle: float
    tenth: float
    ninetieth: float
    adaptive_error: float
    fixed_error: float

    def in_words(self, people: int) -> str:
        """Summarize streams of this many people in Markdown."""
        of_many = self.runs >= FEWEST
        runs, sharp = counted(self.runs, "run"), (self.middle, self.tenth, self.ninetieth)
        lead = f"Over {runs}, typically" if of_many else f"In {runs} so far"
        middle, tenth, ninetieth = (amount(each, 2) for each in sharp)
        spread = f" (80 % of runs: {tenth} to {ninetieth})" if of_many else ""
        adaptive, fixed = (amount(each, 2) for each in (self.adaptive_error, self.fixed_error))
        return (
            f"**{lead}**, with {counted(people, 'person', 'people')}: {middle}× as sharp as with a "
            f"fixed interval{spread}, and an error of {adaptive} instead of {fixed} for the mean."
        )


def of(params: StreamParams, epsilon_total: float, sampler: str) -> Typical | None:
    """Summarize the streams with these settings; ``None`` if there are none.

    Args:
        params: defaults but for ``n``, one of :data:`PEOPLE`, and ``noise_draw``.
        epsilon_total: each person's budget.
        sampler: its name.
    """
    default = dataclasses.replace(StreamParams(), n=params.n, noise_draw=params.noise_draw)
    # Studies add parameters of their own.
    alike = all(getattr(params, name) == value for name, value in vars(default).items())
    if not alike or sampler != SAMPLER or not FILE.exists():
        return None
    table = _kept()
    return of_both(table[(table.epsilon_total == epsilon_total) & (table.t == params.n)])


def of_both(table: pd.DataFrame) -> Typical | None:
    """Summarize the runs that exist with both kinds of interval; ``None`` without any.

    Args:
        table: ``run, interval, sd_mu, error_mu`` of one budget and one number of people.
    """
    if not {*WAYS} <= {*table.interval}:
        return None
    every = table.pivot_table(index="run", columns="interval", values=["sd_mu", "error_mu"])
    wide = every.dropna()
    # A single particle has no spread to compare.
    wide = wide[(wide["sd_mu", "adaptive"] > 0.0) & (wide["sd_mu", "fixed"] > 0.0)]
    if wide.empty:
        return None
    times = (wide["sd_mu", "fixed"] / wide["sd_mu", "adaptive"]).to_numpy()
    tenth, middle, ninetieth = np.quantile(times, (0.1, 0.5, 0.9)).tolist()
    errors = (float(wide["error_mu", way].median()) for way in WAYS)
    return Typical(len(times), middle, tenth, ninetieth, *errors)


@functools.cache
def _kept() -> pd.DataFrame:
    return pd.read_csv(FILE)
