r"""The mean of randomized answers where values are not taken to be normal (MATH A17).

The range has :data:`BINS` equal parts. Their shares are Dirichlet($1 \cdot N(\mu, \sigma)$ on the
bins), $\mu$ uniform and $\sigma$ log-uniform on a grid, and values are uniform within each. Gibbs
sampling draws in turn

- each person's value, given the word and the shares;
- the tables of a Chinese restaurant at which the people in each bin sit (Antoniak 1974), the bin
  of each, and given how many tables $t_b$ are in a bin, $(\mu, \sigma)$, of likelihood
  $\prod_b N(\mu, \sigma)_b^{t_b}$;
- the shares, given $\mu$, $\sigma$ and how many people are in each bin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator

BINS, SPREADS = 48, 12
"""Equal parts of the range, which are the means on the grid too, and standard deviations there."""

NARROWEST, WIDE, WIDEST = 1 / 100, 1 / 6, 1 / 2
"""Parts of the range: least and largest standard deviation, and the normal model's largest."""

CHAINS, SETTLING, KEPT = 4, 150, 400
"""Chains, and for each the sweeps that are dropped and those that are kept."""


@dataclass(frozen=True)
class Robust:
    """What answers tell without a shape, in draws from the posterior.

    Attributes:
        own: mean of the class ``(KEPT * CHAINS,)``; of the population while it has nobody.
        population: mean of the population that it comes from ``(KEPT * CHAINS,)``.
        spreads: standard deviation over the range ``(KEPT * CHAINS,)``.
    """

    own: Array
    population: Array
    spreads: Array

    def class_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of the mean of the class."""
        return _central(self.own, level)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of the mean of the population."""
        return _central(self.population, level)

    @property
    def heads(self) -> bool:
        """Whether values are more likely than not spread wider than the normal model's can be."""
        return bool((self.spreads > WIDE).mean() > 0.5)


def _central(draws: Array, level: float) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def _drawn(log: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one of each row of logarithms of weights ``(rows, k)``."""
    reached = np.cumsum(np.exp(log - log.max(axis=1, keepdims=True)), axis=1)
    return (reached < rng.uniform(size=(len(log), 1)) * reached[:, -1:]).sum(axis=1)


def sampled(
    bounds: tuple[float, float], cells: Array, wrong: float, absent: int, seed: int
) -> Robust:
    """Return what words tell; the same seed gives the same digits.

    Args:
        bounds: of the values.
        cells: between which two values the word of each person says that theirs is ``(n, 2)``.
        wrong: probability of each of the two words that are not true.
        absent: people of the class who answered another question instead.
        seed: of the draws.
    """
    rng, n, honest = generator(seed, "robust"), len(cells), 1.0 - 3.0 * wrong
    edges, middles = np.linspace(0.0, 1.0, BINS + 1), (np.arange(BINS) + 0.5) / BINS
    parts = (np.arange(SPREADS) + 0.5) / SPREADS
    spreads = np.tile(NARROWEST * (WIDEST / NARROWEST) ** parts, BINS)
    base = np.diff(ndtr((edges - np.repeat(middles, SPREADS)[:, None]) / spreads[:, None])) + 1e-12
    base /= base.sum(axis=1, keepdims=True)
    log_base = np.log(base).T
    # A wide start: a narrow one would stay where it is. Chains lie side by side, 2 apart, so that
    # one look-up serves all of them.
    at, shares = np.full(CHAINS, len(base) - 1), np.full((CHAINS, BINS), 1.0 / BINS)
    chain = 2.0 * np.arange(CHAINS)[:, None]
    first, place = BINS * np.arange(CHAINS)[:, None], np.arange(CHAINS * n)
    places = (edges + chain).ravel()
    cells = (cells - bounds[0]) / (bounds[1] - bounds[0])
    inside = np.diff(np.clip(cells[:, :, None], edges[:-1], edges[1:]), axis=1)[:, 0] * BINS
    log_told, ends = np.log(wrong + honest * inside), cells.T[:, None] + chain
    kept, sums = np.empty((KEPT, CHAINS, BINS)), np.empty((KEPT, CHAINS))
    chosen = np.empty((KEPT, CHAINS), dtype=int)
    for sweep in range(-SETTLING, KEPT):
        reached = np.pad(np.cumsum(shares, axis=1), ((0, 0), (1, 0)))
        steps = (reached / reached[:, -1:] + chain).ravel()
        low, high = np.interp(ends, places, steps)
        # A word drawn whatever the value tells nothing; an honest one, that it is in its cell.
        drawn = rng.uniform(size=(CHAINS, n)) * (wrong + honest * (high - low))
        drawn = np.where(drawn < wrong, drawn / wrong + chain, low + (drawn - wrong) / honest)
        values = np.interp(drawn, steps, places) - chain
        bins = np.minimum((values * BINS).astype(int), BINS - 1) + first
        # The i-th in a bin of weight g, from 0 on, opens a table with probability g / (g + i), and
        # otherwise sits where one of those before does.
        person = np.argsort(bins, axis=None)
        sits = bins.ravel()[person]
        earlier, weights = place - np.searchsorted(sits, sits), base[at].ravel()[sits]
        opens = rng.uniform(size=CHAINS * n) * (weights + earlier) < weights
        beside = place - 1 - (rng.uniform(size=CHAINS * n) * earlier).astype(int)
        beside = np.where(opens, place, beside)
        for _ in range(n.bit_length()):
            beside = beside[beside]
        table, room = (np.cumsum(opens) - 1)[beside], sits[opens] // BINS
        # All of a table go to a bin together, so that many need not go one by one.
        seats = csr_array((np.ones(len(table)), (table, person % n)), (len(room), n))
        stands = _drawn(seats @ log_told + log_base.T[at[room]], rng) + BINS * room
        people, tables = (
            np.bincount(each, minlength=CHAINS * BINS).reshape(CHAINS, BINS)
            for each in (stands[table], stands)
        )
        at = _drawn(np.asarray(tables @ log_base), rng)
        shares = rng.standard_gamma(base[at] + people)
        shares /= shares.sum(axis=1, keepdims=True)
        if sweep >= 0:
            kept[sweep], sums[sweep], chosen[sweep] = shares, values.sum(axis=1), at
    population = own = kept @ middles
    if n + absent:
        own = (sums + rng.multinomial(absent, kept) @ middles) / (n + absent)
    own, population = (np.interp(means.ravel(), [0.0, 1.0], bounds) for means in (own, population))
    return Robust(own, population, spreads[chosen.ravel()])
