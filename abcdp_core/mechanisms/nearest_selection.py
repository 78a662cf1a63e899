r"""Select the c nearest draws privately, without a threshold (MATH E4).

*c rounds.* Each round takes one of the remaining draws, with a probability proportional to its
weight: the exponential mechanism (McSherry & Talwar, 2007) with sensitivity $\Delta$,

$$P(t) \propto w_t = e^{-\rho_t / s}, \qquad s = 2\Delta/\epsilon_0. \tag{E4}$$

*One pass.* The $c$ smallest of $\rho_t - s\,G_t$ with independent standard Gumbel noise $G_t$, in
increasing order, have exactly the distribution of the $c$ rounds (Durfee & Rogers, 2019):
$e^{(\rho_t - s G_t)/s} = e^{-G_t}/w_t$ is exponential with rate $w_t$. The smallest of independent
exponential variables is that of $t$ with probability $w_t / \sum_j w_j$, and the others, counted
from there, are memoryless: the next round.

*Pure.* One person moves each distance by at most $\Delta$, up or down. So $w_t$ and the sum of the
weights each change by a factor between $e^{-\epsilon_0/2}$ and $e^{\epsilon_0/2}$: a round is
$\epsilon_0$-differentially private given all earlier ones, and the cost of all is $c\,\epsilon_0$.
The factor 2 in $s$ is needed, because a record that comes nearer to one draw may move away from
another.

*With a δ.* The sum is the same for all $t$, so in one round the privacy loss
$X = \ln P(t) - \ln P'(t)$ lies in an interval of length $\epsilon_0$, not only in
$[-\epsilon_0, \epsilon_0]$: the round has bounded range (Dong, Durfee & Rogers, 2020). Let
$f(\alpha) = \ln E' e^{\alpha X}$, with $t$ drawn from $P'$. Then $f(0) = f(1) = 0$, and $f''$ is
the variance of a variable in that interval, at most $\epsilon_0^2/4$. So
$f(\alpha) - \alpha(\alpha - 1)\,\epsilon_0^2/8$ is concave and 0 at 0 and 1, hence at most 0 for
$\alpha > 1$: the Rényi divergence $f(\alpha)/(\alpha - 1)$ is at most $\alpha\,\epsilon_0^2/8$
(Cesar & Rogers, 2021), a quarter of what the pure $\epsilon_0$ alone would allow. Divergences of
rounds add up, also when a round depends on those before (Bun & Steinke, 2016), to

$$\alpha\rho, \qquad \rho = c\,\epsilon_0^2/8,$$

which :func:`.composition.from_renyi` converts to ε at a given δ (Canonne, Kamath & Steinke, 2020).
The pure guarantee also holds; the cost is the smaller ε.

The release has the selected draws in the order of the pool, without noisy distances; all draws if
there are fewer than c. Noise is drawn at scale 1 and then scaled, so another budget or c reuses it.
It is in floating point, which is good enough for studies; its last digits are not exactly those of
the proof.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Params
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.privacy import Cost, Event, NonPrivate, composition, cost, tradeoff
from abcdp_core.privacy.calibration import (
    check_counts,
    check_positive,
    ratio,
    round_up,
    smallest_satisfying,
)

ROUNDING = 1e-12
"""Relative error allowed for in a converted ε."""

ODDS = np.linspace(-8.0, 8.0, 33)
"""Logarithms of the middle odds at which the worst pair is looked for."""


# ----------------------------------------------------------------------------------- what it costs


@dataclass(frozen=True)
class NearestSelection(Event):
    """The c smallest of all distances with Gumbel noise (MATH E4).

    Attributes:
        sensitivity: Δ of every distance, as the noise was calibrated for.
        scale: s of the Gumbel noise on each distance.
        c: draws to keep, at least 1.
    """

    sensitivity: float
    scale: float
    c: int

    @property
    def round_epsilon(self) -> float:
        """ε₀ of one round, rounded up; ``inf`` without noise."""
        return ratio(2.0 * self.sensitivity, self.scale)

    @property
    def pure_epsilon(self) -> float:
        """ε of all rounds, rounded up; ``inf`` without noise."""
        if self.scale == 0.0:
            return math.inf
        return round_up(2 * self.c * Fraction(self.sensitivity) / Fraction(self.scale))

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated differential privacy: Rényi divergences are at most αρ."""
        return self.c * self.round_epsilon**2 / 8.0


@cost.register
def _(event: NearestSelection, delta: float = 0.0) -> Cost:
    pure = event.pure_epsilon
    if delta == 0.0 or math.isinf(pure):
        return Cost(pure, delta)
    converted = composition.from_renyi(lambda alpha: event.rho * alpha, delta)
    return Cost(min(pure, converted * (1.0 + ROUNDING)), delta)


@tradeoff.curve.register
def _(event: NearestSelection, false_alarm: Array) -> tradeoff.Curve:
    """Return the curve for equal distances that one person moves, some down and the others up.

    In a pool so large that c draws do not thin it out, each round takes one of those that move down
    with the same probability, whose odds grow by e^ε₀; only their number tells the two data sets
    apart. The curve is that of the worst odds tried.
    """
    laws = [pair_law(odds - event.round_epsilon / 2.0, event) for odds in ODDS.tolist()]
    return tradeoff.Curve(false_alarm, tradeoff.worst(laws, false_alarm), "attained")


def pair_law(odds: float, event: NearestSelection) -> tradeoff.TwoDistributions:
    """Return the distributions, for two data sets, of the number of kept draws that move down.

    Args:
        odds: logarithm of the odds of such a draw under the first data set.
        event: its c rounds and ε₀.
    """
    taken = np.arange(event.c + 1)
    ways = -math.log(event.c + 1) - special.betaln(event.c - taken + 1, taken + 1)

    def law(odds: float) -> Array:
        one, other = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
        return ways + taken * one + (event.c - taken) * other

    return tradeoff.TwoDistributions(law(odds), law(odds + event.round_epsilon))


def calibrate(epsilon_total: float, delta: float, sensitivity: float, c: int) -> NearestSelection:
    """Return the least noise whose cost is at most the budget, rounded to the safe side.

    Args:
        epsilon_total: privacy budget, positive and finite.
        delta: 0 for a pure guarantee, else below 1.
        sensitivity: Δ of every distance, positive and finite.
        c: draws to keep, at least 1.

    Raises:
        ValueError: an argument is out of range.
    """
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    check_counts(c=c)
    if not 0.0 <= delta < 1.0:
        raise ValueError(f"delta = {delta}: must be at least 0 and below 1.")

    def fits(scale: float) -> bool:
        return cost(NearestSelection(sensitivity, scale, c), delta).epsilon <= epsilon_total

    scale = smallest_satisfying(fits, start=2.0 * c * sensitivity / epsilon_total)
    return NearestSelection(sensitivity, scale, c)


# ----------------------------------------------------------------------------------------- the run


def run(rho: Array, c: int, event: Event, rng: np.random.Generator) -> Release:
    """Select once, with the noise of an event.

    Args:
        rho: distances ``(T,)`` of the data to the draws.
        c: draws to keep without noise; with noise, the event's own c.
        event: holds the noise scale; :class:`NonPrivate` for the c nearest themselves.
        rng: source of all noise.

    Raises:
        TypeError: the event is of another kind.
    """
    if isinstance(event, NearestSelection):
        c, noisy = event.c, rho - event.scale * rng.gumbel(size=len(rho))
    elif isinstance(event, NonPrivate):
        noisy = rho
    else:
        raise TypeError(f"{type(event).__name__} is not an event of a selection.")
    return Release.of_equals(nearest(noisy, c), len(rho), event)


def nearest(distance: Array, count: int) -> NDArray[np.int64]:
    """Return indices of the smallest distances, in order of the pool; ties go to the first."""
    return np.sort(np.argsort(distance, kind="stable")[:count])


# ------------------------------------------------------------------------------------ the contract


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    c: int = par.C.field(10)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def calibrated(
    public: PublicSide, options: Options, fitted: None, budget: Budget, accountant: str
) -> NearestSelection:
    """Return the noise of all rounds: ``linear`` is pure, ``rdp`` the better of both guarantees."""
    delta = 0.0 if accountant == "linear" else budget.delta
    sensitivity = public.distance.sensitivity(public.n, options.sensitivity)
    return calibrate(budget.epsilon_total, delta, sensitivity, options.c)


def released(prepared: Prepared, comparison: Distances, rng: np.random.Generator) -> Release:
    """Select once from all distances of a comparison."""
    return run(comparison.rho, prepared.options.c, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of each kept draw; the others are free."""
    event, pool_size = cast(NearestSelection, prepared.event), prepared.public.pool_size
    taken = min(event.c, pool_size)
    return (
        Part("selected draw", taken, event.scale, event.round_epsilon, "ε"),
        Part("other draw", pool_size - taken, event.scale, 0.0, "ε"),
    )


PURE = Mechanism(
    name="nearest-selection",
    title="Selection of the nearest",
    description="Keeps the c nearest draws, with Gumbel noise on every distance and no threshold; "
    "each kept draw is paid for.",
    source="ours, after Durfee & Rogers (2019)",
    options=Options(),
    takes=("c", "sensitivity"),
    accountants={"linear": "pure"},
    calibrate=calibrated,
    release=released,
    parts=parts,
    shown_in=("compare-mechanisms", "accounting", "coverage"),
)

APPROXIMATE = dataclasses.replace(
    PURE,
    name="nearest-selection-approximate",
    title="Selection of the nearest with a δ",
    description="Keeps the c nearest draws, with Gumbel noise on every distance and no threshold; "
    "all c are paid for together, with a δ.",
    accountants={"rdp": "approximate"},
    # Its intervals are of the same kind as the pure variant's.
    shown_in=("compare-mechanisms", "accounting"),
)

MECHANISMS = (PURE, APPROXIMATE)
