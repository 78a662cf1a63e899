"""What is typical of streams of people: how many others went, whatever one of them did.

One stream is one draw of chance: a headline of one run alone may flatter. So many streams with the
usual settings, other people and other noise in each, were run beforehand with either way of asking.
``python -m tools.typical_streams`` makes the table in ``assets/typical`` again (about a quarter of
an hour of one core); a test compares it with what is computed. What is known after fewer people
is in the same streams, for each person is asked without a thought of how many will come.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.places import ASSETS
from abcdp_core.sentences import amount, counted

FILE = ASSETS / "typical" / "streams.csv"

COLUMNS = ("epsilon_total", "run", "t", "interval", "sd_mu", "error_mu")

BUDGETS = (1.0, 2.0)
"""Budgets of each person that were run, the usual one first."""

PEOPLE = (100, 300, 1000)
"""After how many people is kept what is known."""

RUNS = 100
"""Streams of each budget."""

FEWEST = 10
"""Runs from which on their middle 80 % say something."""

SAMPLER, SEED = "smc", 1
WAYS = ("adaptive", "fixed")


@dataclass(frozen=True)
class Typical:
    """What streams of the same settings did.

    Attributes:
        runs: how many of them.
        middle, tenth, ninetieth: times as sharp that adaptive intervals tell μ as fixed ones, in
            the median of the runs, and between which the middle 80 % of them lie.
        adaptive_error, fixed_error: how far the posterior mean is from μ, in the median.
    """

    runs: int
    middle: float
    tenth: float
    ninetieth: float
    adaptive_error: float
    fixed_error: float

    def in_words(self, people: int) -> str:
        """Say in Markdown what the streams did, with so many people in each."""
        of_many = self.runs >= FEWEST
        runs, sharp = counted(self.runs, "run"), (self.middle, self.tenth, self.ninetieth)
        lead = f"Over {runs}, typically" if of_many else f"In {runs} so far"
        middle, tenth, ninetieth = (amount(each, 2) for each in sharp)
        spread = f" (80 % of runs: {tenth} to {ninetieth})" if of_many else ""
        adaptive, fixed = (amount(each, 2) for each in (self.adaptive_error, self.fixed_error))
        return (
            f"**{lead}**, with {counted(people, 'person', 'people')}: {middle}× as sharp{spread}, "
            f"and an error of {adaptive} instead of {fixed} for the mean."
        )


def of(params: StreamParams, epsilon_total: float, sampler: str) -> Typical | None:
    """What is typical of settings; ``None`` where no streams were run with them.

    Args:
        params: all but the noise's number has to be as usual, the number of people one of
            :data:`PEOPLE`.
        epsilon_total: of each person.
        sampler: that follows them.
    """
    usual = StreamParams()
    shared = {each.name for each in dataclasses.fields(usual)} - {"n", "noise_draw"}
    alike = all(getattr(params, name) == getattr(usual, name) for name in shared)
    if not alike or sampler != SAMPLER or not FILE.exists():
        return None
    table = _kept()
    here = table[(table.epsilon_total == epsilon_total) & (table.t == params.n)]
    return of_both(here)


def of_both(table: pd.DataFrame) -> Typical | None:
    """Median and middle 80 % over the runs that were done both ways; ``None`` without any.

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
