"""Shared by studies of flipped decisions: events on the toy model, distances, and base rates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import predictive
from abcdp_core.evaluation.theory import flip
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE

WINDOW = 15
"""Draws are counted in steps of the noise scale b, up to this many on each side of ε_abc."""


def event(at: Any, c: int | None = None) -> SparseVector:
    """Return the event of a run, which is public.

    Args:
        at: has ``n``, ``epsilon_total``, ``c``, ``sensitivity`` and ``resample``.
        c: replaces that of ``at``.
    """
    sensitivity = MIXTURE.distance().sensitivity(at.n, at.sensitivity)
    return calibrate(at.epsilon_total, sensitivity, c or at.c, resample=at.resample)


def pool_key(n: int, size: int, seed: int) -> pool.PoolKey:
    """Return the key of the public pool."""
    return pool.key_for(MIXTURE, n, size, seed)


def missing_pools(
    sizes: Sequence[int], pool_size: int, data_sets: int, seed: int
) -> list[pool.PoolKey]:
    """Return the public pools that distances need and that are not on disk."""
    keys = [(pool_key(n, pool_size, seed), n) for n in sizes]
    return predictive.missing_pools(keys, data_sets)


@functools.lru_cache(maxsize=32)
def distances(which: str, n: int, draws: int, seed: int) -> Array:
    """Return distances ``(draws,)`` for decisions.

    Args:
        which: ``uniform``, ``public`` (each draw of the pool from its own further simulated data
            set) or ``observed`` (the pool from the private data).
        n: points per data set.
        draws: number of distances.
        seed: root seed.
    """
    if which == "uniform":
        return generator(seed, "distances").uniform(size=draws)
    key = pool_key(n, draws, seed)
    if which == "public":
        return predictive.paired_distances(key, n)
    return pool.compare(pool.build(key), pool.observed_data(key, n), synthetic=True).rho


def pool_distances(
    which: str, n: int, pool_size: int, seed: int, data_sets: int = predictive.SETS
) -> list[Array]:
    """Return distances ``(T,)`` of the whole pool from each data set.

    ``public`` takes a few simulated data sets, ``observed`` the private data; ``uniform`` spreads
    the distances evenly from 0 to 1.
    """
    if which == "uniform":
        return [(np.arange(pool_size) + 0.5) / pool_size]
    key = pool_key(n, pool_size, seed)
    if which == "public":
        return [predictive.pool_distances(key, n, index) for index in range(data_sets)]
    return [pool.observed_comparison(key, n).rho]


def base_rates(rho: Sequence[Array], epsilon_abc: float, scale: float) -> pd.DataFrame:
    """Count draws, and those that flip, by distance from ε_abc in units of b (MATH F2).

    Counts are means over data sets with distances ``(T,)`` each. A draw at the threshold is kept
    without noise.
    """
    every = np.concatenate(rho)
    edges = np.array([-np.inf, *range(-WINDOW, WINDOW + 1), np.inf])
    away = (every - epsilon_abc) / scale
    place = WINDOW + np.clip(np.ceil(away), -WINDOW, WINDOW + 1).astype(int)
    flips = flip.flip_probability(every, epsilon_abc, scale)
    draws, flipped = (np.bincount(place, of, len(edges) - 1) / len(rho) for of in (None, flips))
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "draws": draws, "flips": flipped})


def averaged(data_sets: int) -> str:
    """Return a sentence that says why public numbers differ from those of one data set."""
    return (
        f"Averages over {data_sets} data sets simulated from the prior; one data set can show "
        f"other numbers."
    )


def counts_of(rates: pd.DataFrame) -> SimpleNamespace:
    """Sum draws ``close`` and ``far``; ``lost`` are wrongly rejected, ``let_in`` wrongly kept."""
    close, far = rates[rates.high <= 0].sum(), rates[rates.low >= 0].sum()
    return SimpleNamespace(close=close.draws, lost=close.flips, far=far.draws, let_in=far.flips)


def close_and_far(close: float, total: int) -> tuple[str, str]:
    """Return mean numbers of close and far draws in words that add up to ``total``."""
    places = 0 if min(close, total - close) >= 9.5 or float(close).is_integer() else 1
    near = round(close, places)
    return f"{near:,.{places}f}", f"{total - near:,.{places}f}"
