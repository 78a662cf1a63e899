"""Try every setting on a few cases, choose the best, and predict its error on other cases."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import mechanisms
from abcdp_core.base import cache, fingerprint
from abcdp_core.evaluation.planning.cases import case, ideal, prior
from abcdp_core.evaluation.planning.simulated_releases import Outcome, Setting, outcomes, settings
from abcdp_core.mechanisms import Budget
from abcdp_core.models.simulators import Scenario

INTERVAL_SCORE = "interval_score"
"""Score for choosing settings if the goal is about intervals."""

TRIED = 16
"""Cases for choosing settings; later cases are for prediction."""

NOISES = 4
"""Runs in each case for prediction."""

LOOKED_UP = ("abcdp_core.mechanisms", "abcdp_core.models.simulators")
"""Packages whose plug-ins are found by scanning."""

ROWS = (
    *("mechanism", "setting", "c", "index", "noise", "epsilon_abc", *Outcome._fields),
    *("prior_mse", "prior_mae", "ideal_mse", "ideal_expected"),
)
"""Columns of outcomes. ``setting`` is the index in :func:`.simulated_releases.settings`; c is 0 and
ε_abc NaN for a mechanism without them; ``prior_mse`` and ``prior_mae`` are errors of the prior mean
in the case; the last two are those of :class:`.Ideal`."""

WHOLE = ("setting", "c", "index", "noise")
"""Columns of whole numbers."""


@dataclass(frozen=True)
class Asked:
    """The request that settings are tried for.

    Attributes:
        n: points of the data.
        epsilon_total, delta: budget of a release.
        mechanism: names of the mechanisms.
        score: column of outcomes; the best setting has the least mean.
    """

    scenario: Scenario
    n: int
    epsilon_total: float
    delta: float
    mechanism: tuple[str, ...]
    pool_size: int
    score: str

    @property
    def intervals(self) -> bool:
        """Whether intervals are computed."""
        return self.score == INTERVAL_SCORE

    def settings(self, mechanism: str, seed: int) -> tuple[Setting, ...]:
        """Return the settings of a mechanism that are tried."""
        budget = Budget(self.epsilon_total, self.delta)
        return settings(mechanism, budget, self.scenario, self.n, self.pool_size, seed)


def tried(asked: Asked, seed: int, index: int) -> pd.DataFrame:
    """Return outcomes of every setting of every mechanism in one case, one run each."""
    every = [
        (place, setting)
        for name in asked.mechanism
        for place, setting in enumerate(asked.settings(name, seed))
    ]
    return table(every, seed, index, 1, intervals=asked.intervals)


def kept(asked: Asked, seed: int, index: int) -> pd.DataFrame:
    """Return the outcomes of :func:`tried`, cached on disk, from which settings are chosen."""
    code = fingerprint.of(__name__, folders=LOOKED_UP)
    stated = vars(asked) | {"scenario": asked.scenario.name, "seed": seed, "index": index}
    entry = cache.entry("plan-tried", stated, code)

    def make() -> cache.Arrays:
        rows = tried(asked, seed, index)
        places = rows.mechanism.map(asked.mechanism.index)
        numbers = rows.drop(columns="mechanism").to_numpy(float)
        return {"mechanism": places.to_numpy(np.int64), "numbers": numbers}

    arrays = cache.load_or_make(entry, make)
    rows = pd.DataFrame(arrays["numbers"], columns=[name for name in ROWS if name != "mechanism"])
    rows = rows.astype(dict.fromkeys(WHOLE, np.int64))
    rows.insert(0, "mechanism", [asked.mechanism[place] for place in arrays["mechanism"]])
    return rows


def predicted(asked: Asked, seed: int, index: int) -> pd.DataFrame:
    """Return outcomes of the best setting of every mechanism in one case, several runs each."""
    every = [
        (place, asked.settings(name, seed)[place]) for name, place in chosen(asked, seed).items()
    ]
    return table(every, seed, index, NOISES, exact=True, intervals=asked.intervals)


def table(
    every: Sequence[tuple[int, Setting]],
    seed: int,
    index: int,
    noises: int,
    *,
    exact: bool = False,
    intervals: bool = False,
) -> pd.DataFrame:
    """Return outcomes of settings with their indices in one case, with the columns :data:`ROWS`.

    The settings have one scenario, n and pool size; options as in `simulated_releases.outcomes`.
    """
    any_of = every[0][1]
    known = prior(any_of.scenario)
    at = case(any_of.scenario, any_of.n, any_of.pool_size, seed, index)
    best_there_is = ideal(at)
    controls = *known.errors(known.mean, at.truth), best_there_is.mse, best_there_is.expected_mse
    rows = []
    for place, setting in every:
        tried = outcomes(setting, seed, index, noises, exact=exact, intervals=intervals)
        takes, options = mechanisms.load(setting.mechanism).takes, vars(setting.options)
        c = int(options["c"]) if "c" in takes else 0
        epsilon_abc = float(options.get("epsilon_abc", math.nan))
        for noise, outcome in enumerate(tried):
            of = setting.mechanism, place, c, index, noise, epsilon_abc
            rows.append((*of, *outcome, *controls))
    return pd.DataFrame(rows, columns=list(ROWS))


@functools.lru_cache(maxsize=32)
def chosen(asked: Asked, seed: int) -> Mapping[str, int]:
    """Return mechanism -> index of its best setting, by the first :data:`TRIED` cases."""
    return best(pd.concat([kept(asked, seed, index) for index in range(TRIED)]), asked.score)


HONEST_OF_FEW = 0.82
"""Least coverage of 90 % intervals in a few cases that counts as honest."""


def best(rows: pd.DataFrame, score: str) -> dict[str, int]:
    """Return mechanism -> index of the setting with the least mean score; of ties the first.

    If intervals are scored, only settings whose intervals hold the truth often enough count, if
    there are any. A mechanism without intervals is scored by mean squared errors.
    """
    place_of: dict[str, int] = {}
    for name, part in rows.groupby("mechanism", sort=False):
        places, which = np.unique(part["setting"].to_numpy(), return_inverse=True)
        scores = _means(part[score], which)
        if np.isnan(scores).any():
            scores = _means(part["mse"], which)
        elif score == INTERVAL_SCORE:
            honest = _means(part["coverage"], which) >= HONEST_OF_FEW
            scores = np.where(honest | ~honest.any(), scores, np.inf)
        place_of[str(name)] = int(places[int(np.argmin(scores))])
    return place_of


def _means(values: pd.Series[float], which: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means over the rows of each setting; pandas groups take ten times as long."""
    return np.bincount(which, values.to_numpy()) / np.bincount(which)
