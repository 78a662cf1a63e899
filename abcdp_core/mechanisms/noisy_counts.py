r"""Release the sufficient statistic and infer with its noise exactly (MATH E7, M9).

If records fall into K cells with unknown shares $\theta \sim \mathrm{Dirichlet}(\alpha)$, the K
counts are sufficient for θ and the likelihood is known. So the fair benchmark for ABC is to release
the counts with discrete Laplace noise, $r = n + \nu$
(:class:`~abcdp_core.mechanisms.private_summary.SummaryNoise`), and take the posterior given $r$.

**Proof.** Replacing one record moves the counts by at most 2 in sum. With independent noise,
$P(\nu_i = k) \propto e^{-|k|/t}$, $t = 2/\epsilon$,

$$\log \frac{P(r \mid n)}{P(r \mid n')} = \frac{1}{t} \sum_i |r_i - n'_i| - |r_i - n_i|
\le \frac{1}{t} \sum_i |n_i - n'_i| \le \frac{2}{t} = \epsilon .$$

Everything else is post-processing of $r$. The number of records N is public, because records are
replaced and never added or removed; so the posterior may use it.

**Posterior.** Given the counts, $\theta \sim \mathrm{Dirichlet}(\alpha + n)$. A priori the counts
are Dirichlet-multinomial, and so

$$P(n \mid r) \propto \prod_i f_i(n_i) \quad \text{where } \sum_i n_i = N, \qquad
f_i(m) = e^{-|r_i - m|/t}\, \frac{\Gamma(m + \alpha_i)}{m!}$$

(a flat prior makes the last factor 1: all compositions of N are equally likely). These are K
independent whole numbers given their sum. The distribution of the sum is a convolution, found by
fast Fourier transform over all of 0..N. Two steps keep it accurate in floating point:

* A released $r_i$ below 0 counts as 0, one above N as N: that changes $f_i$ by a factor.
* Each $f_i(m)$ is multiplied by $e^{\lambda m}$, which changes the product by the factor
  $e^{\lambda N}$, with λ such that the independent numbers add up to N on average. Then N is near
  the middle of the distribution of their sum, where Fourier transforms are good to 13 digits.

The *estimate* is the exact posterior mean, $(\alpha_i + E[n_i \mid r]) / (\sum \alpha + N)$.
*Samples* are independent draws from the exact posterior: counts, the last cell first, each given
what the previous ones leave; then shares given the counts.

Random numbers are used in a fixed order: noise at scale 1, then uniform numbers, which inverse
distribution functions turn into counts and shares. So another budget reuses all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Params, scale
from abcdp_core.base.statistic import DirichletCounts, Statistic
from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    PosteriorInfo,
    Prepared,
    PublicSide,
    Release,
)
from abcdp_core.mechanisms.private_summary import SummaryNoise, noise_for, noisy, parts_of_release
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy import Event

RIVAL = (
    "This example does not need ABC: its likelihood can be computed, so noisy counts, released "
    "once, give the exact posterior given those counts. Compare other methods with that."
)
NO_RIVAL = "ABC is useful when no likelihood can be computed: it needs only a simulator."


def rival(scenario: Scenario) -> str:
    """Return whether the scenario can be served without simulation, in a sentence or two."""
    return NO_RIVAL if refuses(scenario) else RIVAL


# --------------------------------------------------------------------------------- the posterior


@dataclass(frozen=True)
class Counts:
    """The joint distribution of K independent whole numbers from 0 to N, given their sum N.

    Attributes:
        laws: probabilities of each number by itself, tilted so that the means add up to N:
            ``(K, N + 1)``.
        sums: probabilities of the sum of the first 1, 2, ..., K numbers, up to N: ``(K, N + 1)``.
        marginals: probabilities of each number given that all add up to N: ``(K, N + 1)``.
    """

    laws: Array = field(repr=False)
    sums: Array = field(repr=False)
    marginals: Array = field(repr=False)

    @classmethod
    def given(cls, log_weights: Array) -> Counts:
        """Return the distribution for finite logarithms of weights ``(K, N + 1)``."""
        laws = _tilted(log_weights)
        numbers, values = laws.shape
        # Sums go up to K·N: with that much room none wraps around.
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
        """Return means ``(K,)`` of the numbers; they add up to N."""
        return self.marginals @ np.arange(self.marginals.shape[1])

    def draw(self, uniform: Array) -> Array:
        """Return draws ``(m, K)`` from uniform numbers ``(m, K - 1)``."""
        counts = np.empty((len(uniform), len(self.laws)))
        _fill(counts, uniform, self.laws, self.sums)
        return counts


def _inverse(spectra: NDArray[np.complex128], room: int, values: int) -> Array:
    """Return the probabilities of the first ``values`` sums, none below 0 by rounding."""
    return np.maximum(fft.irfft(spectra, room)[:, :values], 0.0)


def _tilted(log_weights: Array) -> Array:
    """Return weights times e^(λm), each row adding up to 1, with means that add up to about N.

    Half a standard deviation of the sum is near enough. Find λ by Newton's method, with bisection
    if a step leaves the interval that must hold λ; one or two steps are usual.
    """
    values = np.arange(log_weights.shape[1])
    slope, low, high = 0.0, -math.inf, math.inf
    laws: Array = special.softmax(log_weights, axis=1)
    for _ in range(200):
        means = laws @ values
        variance = max(float(np.sum(laws * (values - means[:, None]) ** 2)), 1e-9)
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


@numba.njit(cache=True, nogil=True)
def _fill(counts: Array, uniform: Array, laws: Array, sums: Array) -> None:
    """Draw numbers from the last to the second by inversion, given what is left for them."""
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
    """Return the distribution of the counts given the released ones.

    Args:
        released: counts with noise ``(K,)``, any whole numbers.
        scale: t of their noise, above 0.
        n: number of records.
        concentration: α of the prior ``(K,)``, above 0.
    """
    values, alpha = np.arange(n + 1.0), concentration[:, None]
    within = np.clip(released, 0.0, n)[:, None]
    prior = special.gammaln(values + alpha) - special.gammaln(values + 1.0)
    return Counts.given(prior - np.abs(within - values) / scale)


def shares(counts: Array, concentration: Array, uniform: Array) -> Array:
    """Return Dirichlet draws ``(m, K)`` given counts and uniform numbers ``(m, K)``."""
    gamma = special.gammaincinv(counts + concentration, uniform)
    return gamma / gamma.sum(axis=1, keepdims=True)


def posterior(
    released: Array,
    event: Event,
    n: int,
    concentration: Array,
    draws: int,
    rng: np.random.Generator,
) -> Release:
    """Return the exact mean and independent draws of the posterior given released counts.

    Args:
        released: counts ``(K,)``, with the noise of the event.
        event: how they were released.
        n, concentration: as in :func:`counts_given`.
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
    "Draws are free: any number of them follows from the released counts.",
    (100, 200, 500, 1000, 2000, 5000, 10_000),
    low=1,
    high=100_000,
)


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    draws: int = DRAWS.field(1000)


def model_of(scenario: Scenario) -> DirichletCounts:
    """Return the model of the counts of a scenario that is served."""
    assert scenario.conjugate is not None
    return scenario.conjugate


def statistic_of(scenario: Scenario) -> Statistic:
    """Return the counts themselves."""
    return scenario.statistics[model_of(scenario).statistic]


def refuses(scenario: Scenario) -> str:
    """Refuse scenarios without a model of counts, or with a private number of records."""
    if scenario.conjugate is None:
        return "Its data are not counts in cells with unknown shares: no exact posterior is known."
    if statistic_of(scenario).neighbours != "replace":
        return "Its number of records is private, and this posterior uses that number."
    return ""


def protects(scenario: Scenario) -> tuple[str, str]:
    """Return protected unit and neighbors of the counts."""
    statistic = statistic_of(scenario)
    return statistic.unit, statistic.neighbours


def calibrated(
    public: PublicSide,
    options: Options,
    fitted: None,
    budget: Budget,
    accountant: str,
) -> SummaryNoise:
    """Return the noise of the counts."""
    return noise_for(statistic_of(public.scenario), public.n, budget.epsilon_total)


def released(prepared: Prepared, comparison: Any, rng: np.random.Generator) -> Release:
    """Release the counts of a comparison, and their posterior."""
    public, draws = prepared.public, prepared.options.draws
    model = model_of(public.scenario)
    noised = noisy(comparison.summaries[model.statistic], prepared.event, rng)
    concentration = np.array(model.concentration)
    return posterior(noised, prepared.event, public.n, concentration, draws, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of the counts; draws from the posterior are free."""
    draws = prepared.options.draws
    return parts_of_release(prepared, "all counts", "draws from the posterior", draws)


MECHANISMS = (
    Mechanism(
        name="noisy-counts",
        title="Noisy counts",
        description="Releases the number of records in each cell with discrete Laplace noise, paid "
        "for once. Their posterior is exact and needs no simulation.",
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
