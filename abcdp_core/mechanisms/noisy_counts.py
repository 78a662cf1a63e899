r"""Release the sufficient statistic, then reckon with its noise exactly (MATH E7, M9).

Where points fall into K cells with unknown shares $\theta \sim \mathrm{Dirichlet}(\alpha)$, the K
counts say all that the data say of θ, and there is a likelihood: nothing has to be simulated. So
the honest rival of ABC is to release the counts, $r = n + \nu$, with discrete Laplace noise
(:class:`~abcdp_core.mechanisms.private_summary.SummaryNoise`), and to take the posterior given $r$.
That is what every simulation-based method is to be measured by here. Where no likelihood can be
computed there is no such rival.

**Proof.** One point replaced by another leaves one cell and enters another, or stays: the counts
move by at most 2 in sum. With $P(\nu_i = k) \propto e^{-|k|/t}$, independent, $t = 2/\epsilon$,

$$\log \frac{P(r \mid n)}{P(r \mid n')} = \frac{1}{t} \sum_i |r_i - n'_i| - |r_i - n_i|
\le \frac{1}{t} \sum_i |n_i - n'_i| \le \frac{2}{t} = \epsilon .$$

All that follows looks at $r$ and at what is public: post-processing. How many points there are, N,
is public, as points are replaced and none is added or removed; so the counts need no noise on their
sum, and the posterior may use it.

**Posterior.** Given the counts, $\theta \sim \mathrm{Dirichlet}(\alpha + n)$. A priori the counts
are Dirichlet-multinomial, and so

$$P(n \mid r) \propto \prod_i f_i(n_i) \quad \text{where } \sum_i n_i = N, \qquad
f_i(m) = e^{-|r_i - m|/t}\, \frac{\Gamma(m + \alpha_i)}{m!}$$

(a flat prior makes the last factor 1: all compositions of N are equally likely). These are K
independent whole numbers given their sum. Its law is a convolution, found by fast Fourier transform
over all of 0..N, so nothing is cut off. Only two things are done about floating point:

* A released $r_i$ below 0 counts as 0, one above N as N: that changes $f_i$ by a factor.
* Each $f_i(m)$ is multiplied by $e^{\lambda m}$, which changes the product by the factor
  $e^{\lambda N}$; λ is such that the independent numbers add up to N on average. Then N is in the
  middle of the law of their sum, where Fourier transforms are good to about 13 digits, and not in
  a tail, however far the noise has moved the sum of the r.

The *estimate* is the exact posterior mean, $(\alpha_i + E[n_i \mid r]) / (\sum \alpha + N)$.
*Samples* are independent draws from the exact posterior: counts, the last cell first, each given
what the ones before it leave; then shares given the counts.

Chance is used in a fixed order and number: noise at scale 1, then uniform numbers for counts and
for shares, turned into draws by inverse distribution functions. So another budget moves the same
noise and the same draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    PosteriorInfo,
    Prepared,
    PublicSide,
    Release,
)
from abcdp_core.mechanisms.private_summary import SummaryNoise, noise_for, noisy
from abcdp_core.parameters import Params, scale
from abcdp_core.privacy import Event, cost
from abcdp_core.statistic import DirichletCounts, Statistic, stated_by

Array = NDArray[np.float64]

RIVAL = (
    "You may not need ABC here: this model has a likelihood, and its counts, released once with "
    "noise, have an exact posterior. What is simulated has to be measured by that."
)
"""Beside errors of a scenario that this mechanism serves."""

NO_RIVAL = (
    "Where no likelihood can be computed, ABC earns its keep: all it needs is a simulator of the "
    "data."
)
"""Beside errors of the others."""


def rival(scenario: Any) -> str:
    """Whether there is a rival that needs no simulation, in a sentence or two."""
    return NO_RIVAL if refuses(scenario) else RIVAL


# --------------------------------------------------------------------------------- the posterior


@dataclass(frozen=True)
class Counts:
    """The law of K whole numbers from 0 to N that add up to N, independent but for that.

    Attributes:
        laws: of each number by itself, tilted so that the means add up to N: ``(K, N + 1)``.
        sums: probabilities of the first 1, 2, ..., K numbers' sum, up to N: ``(K, N + 1)``.
        marginals: of each number given that all add up to N: ``(K, N + 1)``.
    """

    laws: Array = field(repr=False)
    sums: Array = field(repr=False)
    marginals: Array = field(repr=False)

    @classmethod
    def given(cls, log_weights: Array) -> Counts:
        """From weights ``(K, N + 1)`` of each number by itself; finite logarithms."""
        laws = _tilted(log_weights)
        numbers, values = laws.shape
        # Sums go up to K·N: with that much room none comes back around as a smaller one.
        room = fft.next_fast_len(numbers * (values - 1) + 1, real=True)
        spectra = fft.rfft(laws, room)
        before = np.ones_like(spectra)
        after = np.ones_like(spectra)
        np.cumprod(spectra[:-1], axis=0, out=before[1:])
        np.cumprod(spectra[:0:-1], axis=0, out=after[-2::-1])
        others = _inverse(before * after, room, values)
        marginals = laws * others[:, ::-1]
        sums = _inverse(before * spectra, room, values)
        return cls(laws, sums, marginals / marginals.sum(axis=1, keepdims=True))

    def mean(self) -> Array:
        """Means ``(K,)`` of the numbers; they add up to N."""
        found: Array = self.marginals @ np.arange(self.marginals.shape[1])
        return found

    def draw(self, uniform: Array) -> Array:
        """Draws ``(m, K)`` from uniform numbers ``(m, K - 1)``."""
        counts = np.empty((len(uniform), len(self.laws)))
        _fill(counts, uniform, self.laws, self.sums)
        return counts


def _inverse(spectra: NDArray[np.complex128], room: int, values: int) -> Array:
    """The probabilities of the first ``values`` sums; rounding takes none below 0."""
    found: Array = np.maximum(fft.irfft(spectra, room)[:, :values], 0.0)
    return found


def _tilted(log_weights: Array) -> Array:
    """Weights times e^(λm), each row adding up to 1, with means that add up to N.

    To half a standard deviation of the sum, which is near enough. Newton's method in λ, and halving
    where a step leaves the interval that λ is known to be in.
    """
    values = np.arange(log_weights.shape[1])
    slope, low, high = 0.0, -math.inf, math.inf
    laws: Array = special.softmax(log_weights, axis=1)
    for _ in range(STEPS):
        means = laws @ values
        variance = max(float(np.sum(laws * (values - means[:, None]) ** 2)), SMALLEST)
        gap = float(values[-1] - means.sum())
        if gap**2 <= variance / 4.0:
            break
        low, high = (slope, high) if gap > 0.0 else (low, slope)
        longest = 1.0 + abs(slope)
        slope += min(max(gap / variance, -longest), longest)
        if not low < slope < high:
            slope = (low + high) / 2.0
        laws = special.softmax(log_weights + slope * values, axis=1)
    return laws


STEPS = 200
"""Most steps; one or two are usual."""

SMALLEST = 1e-9
"""A variance that is none."""


@numba.njit(cache=True, nogil=True)
def _fill(counts: Array, uniform: Array, laws: Array, sums: Array) -> None:
    """Numbers from the last to the second by inversion, each given what is left; then the first."""
    draws, numbers = counts.shape
    for draw in range(draws):
        left = laws.shape[1] - 1
        for number in range(numbers - 1, 0, -1):
            target = uniform[draw, number - 1] * sums[number, left]
            passed, value = laws[number, 0] * sums[number - 1, left], 0
            while passed <= target and value < left:
                value += 1
                passed += laws[number, value] * sums[number - 1, left - value]
            counts[draw, number] = value
            left -= value
        counts[draw, 0] = left


def counts_given(released: Array, scale: float, n: int, concentration: Array) -> Counts:
    """The law of the counts given what was released of them.

    Args:
        released: counts with noise ``(K,)``, any whole numbers.
        scale: t of their noise, above 0.
        n: of all points.
        concentration: α of the prior ``(K,)``, above 0.
    """
    values, alpha = np.arange(n + 1.0), concentration[:, None]
    within = np.clip(released, 0.0, n)[:, None]
    prior = special.gammaln(values + alpha) - special.gammaln(values + 1.0)
    return Counts.given(prior - np.abs(within - values) / scale)


def shares(counts: Array, concentration: Array, uniform: Array) -> Array:
    """Draws ``(m, K)`` from Dirichlet laws given counts ``(m, K)``, from as many uniform numbers.

    Gamma variables by inversion, divided by their sum.
    """
    gamma = special.gammaincinv(counts + concentration, uniform)
    found: Array = gamma / gamma.sum(axis=1, keepdims=True)
    return found


def posterior(
    released: Array,
    event: Event,
    n: int,
    concentration: Array,
    draws: int,
    rng: np.random.Generator,
) -> Release:
    """Exact mean and independent draws of the posterior given released counts.

    Args:
        released: counts with noise ``(K,)``; without any if the event has none.
        event: how they were released.
        n: of all points.
        concentration: α of the prior ``(K,)``.
        draws: how many.
        rng: of the draws.
    """
    cells = len(released)
    uniform = rng.random((draws, 2 * cells - 1))
    if isinstance(event, SummaryNoise):
        law = counts_given(released, float(event.steps()[0]), n, concentration)
        mean, counts = law.mean(), law.draw(uniform[:, : cells - 1])
    else:
        mean, counts = released, np.broadcast_to(released, (draws, cells))
    return Release(
        np.empty(0, dtype=np.int64),
        np.full(draws, 1.0 / draws),
        0,
        event,
        samples=shares(counts, concentration, uniform[:, cells - 1 :]),
        exact_mean=(concentration + mean) / (concentration.sum() + n),
        made=PosteriorInfo("exact", 0.0, 0.0),
    )


# ---------------------------------------------------------------------------------- the contract

DRAWS = scale(
    "Draws from the posterior",
    "They cost nothing: any number follows from what was released.",
    (100, 200, 500, 1000, 2000, 5000, 10_000),
    low=1,
    high=100_000,
)


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    draws: int = DRAWS.field(1000)


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published.

    Attributes:
        counts: of the data ``(K,)``, private.
        released: the same with noise ``(K,)``; they may be published.
    """

    counts: Array = field(repr=False)
    released: Array = field(repr=False)


def _model(scenario: Any) -> DirichletCounts | None:
    """The model of a scenario's counts; ``None`` if it states none."""
    stated: DirichletCounts | None = getattr(scenario, "CONJUGATE", None)
    return stated


def _statistic(scenario: Any) -> Statistic:
    """The counts of a scenario that has a model of them."""
    return stated_by(scenario)[cast(DirichletCounts, _model(scenario)).statistic]


def refuses(scenario: Any) -> str:
    """A scenario has to state a model of counts, and that their sum is public."""
    if _model(scenario) is None:
        return "It states no counts of cells with unknown shares, whose posterior is known exactly."
    if _statistic(scenario).neighbours != "replace":
        return "Its number of points is private, and this posterior uses it."
    return ""


def protects(scenario: Any) -> tuple[str, str]:
    """As the counts have it."""
    statistic = _statistic(scenario)
    return statistic.unit, statistic.neighbours


def calibrated(
    public: PublicSide,
    options: Options,
    fitted: None,
    budget: Budget,
    accountant: str,
) -> SummaryNoise:
    """The noise of the counts."""
    return noise_for(_statistic(public.scenario), public.n, budget.epsilon_total)


def released(
    prepared: Prepared, comparison: Any, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Release the counts of a comparison, and what follows from them."""
    public = prepared.public
    model = cast(DirichletCounts, _model(public.scenario))
    counts = comparison.summaries[model.statistic]
    noised = noisy(counts, prepared.event, rng)
    concentration, draws = np.array(model.concentration), prepared.options.draws
    release = posterior(noised, prepared.event, public.n, concentration, draws, rng)
    return release, Trace(counts, noised)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """The counts are paid for, and nothing that follows from them."""
    event = cast(SummaryNoise, prepared.event)
    return (
        Part("all counts", 1, event.scale, cost(event).epsilon, "ε"),
        Part("draws from the posterior", prepared.options.draws, event.scale, 0.0, "ε"),
    )


MECHANISMS = (
    Mechanism(
        name="noisy-counts",
        title="Noisy counts",
        description="The number of points in each cell with discrete Laplace noise, paid for once; "
        "the exact posterior given these, without any simulation.",
        source="ours",
        options=Options(),
        takes=(),
        accountants={"linear": "pure"},
        calibrate=calibrated,
        release=released,
        parts=parts,
        refuses=refuses,
        protects=protects,
        noise_needs_fitted=False,
    ),
)
