r"""Counts of a person's own values with exact noise: whole numbers, no seed, no trace (MATH E7).

A release is $r = n + \nu$: of K cells, how many values lie in each, and independent noise with
$P(\nu_i = k) \propto e^{-|k|/t}$. The number of values N, the cells, t and the budget are public.

**Proof.** Another value in place of one changes the probability of any r by at most $e^\epsilon$:

* *Counting.* A value is clipped, carried to the scenario's domain and compared with the edges of
  the cells by itself, without any other value, and always lies in exactly one of them. However
  floating point rounds on the way, that is one function from a value to a cell. So another value
  in place of one leaves one cell and enters another, or stays: one count falls by 1 and one rises
  by 1, or none moves. The sum of the moves, Δ, is at most :data:`SENSITIVITY` = 2. Counts are
  whole numbers below $2^{53}$, which floating point holds exactly; they need no grid.
* *Noise.* For whole numbers n, n' and any r,
  $$\log \frac{P(r \mid n)}{P(r \mid n')} = \frac{1}{t} \sum_i |r_i - n'_i| - |r_i - n_i|
  \le \frac{1}{t} \sum_i |n_i - n'_i| \le \frac{2}{t} .$$
  It is drawn from the operating system by comparing uniform whole numbers
  (:func:`~abcdp_core.privacy.discrete.laplace`) and added in Python's whole numbers, which do not
  overflow. So r has the law that is written here, not one near it.
* *Rounding.* $t = \lceil 2 G / \epsilon \rceil / G$ with
  $G$ = :data:`~abcdp_core.own_data.discrete_summary.PARTS`: a fraction, found by
  exact arithmetic from the smaller of the float ε and the decimal number that it is written as.
  It is at least $2 / \epsilon$, so $2 / t \le \epsilon$. As G is a power of two, floating point
  holds t exactly, and the cost is computed from that.

All that follows looks at r and at what is public, and costs nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from abcdp_core.own_data.discrete_summary import least_scale, with_noise
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import round_up
from abcdp_core.privacy.discrete import RandBelow, deviation

SENSITIVITY = 2
"""Most by which another value in place of one moves all counts, added up."""


@dataclass(frozen=True)
class CountNoise(Event):
    """Counts of some cells, each with discrete Laplace noise.

    Attributes:
        sensitivity: most that one value moves the counts, added up.
        scale: t of the noise on every count, on the grid of scales.
        cells: how many counts.
    """

    sensitivity: int
    scale: float
    cells: int

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on one count."""
        return deviation(self.scale)


@cost.register
def _(event: CountNoise, delta: float = 0.0) -> Cost:  # noqa: ARG001 - pure, so delta is 0
    return Cost(round_up(Fraction(event.sensitivity) / Fraction(event.scale)))


def count_noise(epsilon_total: float, cells: int) -> CountNoise:
    """The least noise on the grid of scales that keeps the budget.

    Args:
        epsilon_total: privacy budget, above 0 and finite.
        cells: how many counts are released.

    Raises:
        ValueError: the budget is not.
    """
    return CountNoise(SENSITIVITY, least_scale(epsilon_total, SENSITIVITY), cells)


def release_counts(
    counts: Sequence[int], noise: CountNoise, randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    """Run the mechanism once: pure differential privacy at the cost of the noise.

    Args:
        counts: whole numbers, one for each cell.
        noise: of :func:`count_noise`.
        randbelow: where the noise comes from: the operating system, but for tests.

    Raises:
        ValueError: there are more or fewer counts than cells.
    """
    return with_noise(counts, (noise.scale,) * noise.cells, randbelow)
