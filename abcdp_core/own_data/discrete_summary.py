r"""Numbers of a data set with exact noise: whole numbers, no seed, no trace (MATH E5, M9).

Number j of a summary s is a multiple of $1/w_j$. What is released is $z_j = (w_j s_j + \nu_j)/w_j$
with whole $w_j s_j$ and independent noise $P(\nu_j = k) \propto e^{-|k|/t_j}$, $t_j = w_j b$.

**Proof.** A unit that is added or removed changes the probability of any z by at most $e^\epsilon$:

* *Sensitivity.* The scenario states, case by case and in fractions, how far one unit moves each
  number (:mod:`~abcdp_core.statistic`): for the clusters of a report
  (:func:`~abcdp_core.simulators.tuberculosis_patients.one_patient`) the cases add up to 13/3, 13/3,
  10/3 and 7/3, so $\Delta_1 = 13/3$; for daily counts
  (:func:`~abcdp_core.simulators.covid_people.one_person`) one count moves by 1, so $\Delta_1 = 1$.
  The float that stands for $\Delta_1$ is rounded up.
* *Add and remove.* The cases hold for a unit that joins and, backwards, for one that leaves. How
  many units there are is in none of the formulas, and is not read from the data but as one of the
  numbers, which have noise. What has a shape, a table of clusters or a series of days, has a public
  one.
* *Noise.* Let y, y' be neighbours. For every z, by the triangle inequality,
  $$\log \frac{P(z \mid y)}{P(z \mid y')} \le \sum_j \frac{w_j |s_j(y) - s_j(y')|}{t_j}
  = \frac{1}{b} \sum_j |s_j(y) - s_j(y')| \le \frac{\Delta_1}{b} .$$
  It is drawn from the operating system by comparing uniform whole numbers
  (:func:`~abcdp_core.privacy.discrete.laplace`) and added in Python's whole numbers, which do not
  overflow. So z has the law that is written here, not one near it.
* *Rounding.* $b = \lceil \Delta_1 G / \epsilon \rceil / G$ with $G$ = :data:`PARTS`: a fraction,
  found by exact arithmetic from the smaller of the float ε and the decimal number that it is
  written as. It is at least $\Delta_1/\epsilon$, so $\Delta_1/b \le \epsilon$. Each $t_j$ is a
  multiple of $1/G$ too. As G is a power of two, floating point holds all of them exactly, and the
  cost is computed from these. $w_j s_j$ is found by rounding what floating point has of it: sums
  and differences of whole numbers far below $2^{53}$, exact, but for a division by $w_j$ that
  rounding undoes.

All that follows looks at z and at what is public, and costs nothing.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.privacy.discrete import RandBelow, laplace
from abcdp_core.statistic import Statistic

PARTS = 2**20
"""The scale of the noise is a multiple of 1 over this."""


def least_scale(epsilon_total: float, sensitivity: float) -> float:
    """The least scale of noise on the grid that keeps the budget.

    Args:
        epsilon_total: privacy budget, above 0 and finite.
        sensitivity: most that one unit moves the numbers, added up.

    Raises:
        ValueError: the budget is not.
    """
    if not 0.0 < epsilon_total < math.inf:
        raise ValueError(f"epsilon_total = {epsilon_total}: must be positive and finite.")
    exact = min(Fraction(epsilon_total), Fraction(Decimal(repr(float(epsilon_total)))))
    return math.ceil(Fraction(sensitivity) * PARTS / exact) / PARTS


def with_noise(
    numbers: Sequence[int], scales: Sequence[float], randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    """Whole numbers, each with noise of its own.

    Args:
        numbers: one for each scale.
        scales: multiples of ``1 / PARTS``.
        randbelow: where the noise comes from: the operating system, but for tests.

    Raises:
        ValueError: there are more or fewer numbers than scales.
    """
    if len(numbers) != len(scales):
        raise ValueError(f"{len(numbers)} numbers: must be {len(scales)}.")
    return [
        int(number) + laplace(int(scale * PARTS), randbelow, PARTS)
        for number, scale in zip(numbers, scales, strict=True)
    ]


def summary_noise(statistic: Statistic, n: int, k: int, epsilon_total: float) -> SummaryNoise:
    """The least noise on the grid of scales that keeps the budget.

    Args:
        statistic: what is released, multiples of fractions.
        n: rows of the data, public.
        k: how many numbers these have, public too.
        epsilon_total: privacy budget, above 0 and finite.

    Raises:
        ValueError: the budget is not, or the numbers are real.
    """
    sensitivity = statistic.l1(n)
    return SummaryNoise(
        statistic.unit,
        statistic.neighbours,
        sensitivity,
        least_scale(epsilon_total, sensitivity),
        statistic.steps(k),
    )
