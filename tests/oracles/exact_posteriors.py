r"""Families of models with exact posteriors given noisy numbers, by quadrature or sums (MATH E8).

With noise density $f$, the likelihood is $L(\theta) = \sum_s P(s \mid \theta) f(z - s)$. On a scale
x on which priors are standard normal, the posterior density is $\varphi(x) L(\theta(x))$; the
trapezoid rule integrates it where it is not negligible.

| family | parameters | released | distribution | error in posterior standard deviations |
|---|---|---|---|---|
| normal-mean | one | clipped mean | records in steps of 1/8, FFT | 0.001 |
| poisson-log-uniform, poisson-gamma | one | sum | Poisson, incomplete gamma functions | 1e-4 |
| product-identified | two factors | sum | as above, the other integrated out | 1e-4 |
| heavy-tails | location, scale | two clipped means | records in steps of 0.1 to 1, FFT | 0.02 |
| beta-binomial, dirichlet-shares | shares | counts | beta mixtures, convolutions | 1e-4 |
| whole-number | trials | sum | binomial, sum | none |

One record is replaced by another, and n is public. A mean of records in [a, b] changes by
(b − a)/n, a sum by b − a, a count by 1, a histogram by 2; the noise scale is that over the budget.
*heavy-tails* releases the mean of one half of the records and the mean absolute value of the other
half, so both are independent given the parameters. Each has the scale of a mean of all records with
half the budget. Sums are clipped at a bound per record that is never reached in practice: 200 for
rates up to 100 (probability 1e-18), 120 for rates up to 50, 50 for Gamma(2, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.interpolate import CubicSpline
from scipy.special import betainc, betaincinv, gammainc, gammaincc, gammaln, ndtr, ndtri

from abcdp_core.base.arrays import Array
from abcdp_core.models.priors import (
    Beta,
    Dirichlet,
    Distribution,
    Gamma,
    LogUniform,
    Prior,
    Uniform,
)
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise

FARTHEST = 7.0
"""Ends of the scale x; the prior probability beyond them is 1e-12."""

CLIP, FAR = 4.0, 10.0
"""Records of normal-mean and of heavy-tails are clipped to plus or minus these."""

SUCCESS = 0.4
"""Probability of success in each of a whole number of trials."""

MU, TRIALS = Uniform(-2.0, 2.0), Uniform(1.0, 20.0, whole=True)
FIRST, SECOND = LogUniform(0.1, 10.0), LogUniform(0.5, 5.0)
PLACE, WIDTH = Uniform(-5.0, 5.0), LogUniform(0.1, 10.0)
"""Priors: of the two factors of product-identified, and of heavy-tails."""


@dataclass(frozen=True)
class Marginal:
    """The exact posterior of one parameter.

    Attributes:
        values: rising grid, or atoms, ``(g,)``.
        cumulative: distribution function at them ``(g,)``, from 0 to 1 on a grid.
        whole: whether values are atoms; if not, the density is constant between grid points.
    """

    values: Array
    cumulative: Array
    whole: bool = False

    def quantile(self, probability: float) -> float:
        """Return the value with this probability below it."""
        if self.whole:
            place = int(np.searchsorted(self.cumulative, probability))
            return float(self.values[min(place, len(self.values) - 1)])
        return float(np.interp(probability, self.cumulative, self.values))

    @property
    def mean(self) -> float:
        """Expectation."""
        values, masses = self._atoms()
        return float(values @ masses)

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        values, masses = self._atoms()
        return math.sqrt(float((values - self.mean) ** 2 @ masses))

    def _atoms(self) -> tuple[Array, Array]:
        if self.whole:
            return self.values, np.diff(self.cumulative, prepend=0.0)
        return (self.values[1:] + self.values[:-1]) / 2.0, np.diff(self.cumulative)


Posterior = Callable[[Array, tuple[float, ...], int], tuple[Marginal, ...]]
"""Released numbers ``(k,)``, their noise scales and n to one posterior for each parameter."""


@dataclass(frozen=True)
class Family:
    """Models with exact posteriors for any number of records and any budget.

    Attributes:
        parameters, numbers: their names, separated by spaces.
        laws: priors of the parameters.
        simulate: generator, parameters ``(m, p)`` and n to numbers ``(m, k)``.
        posterior: the exact answer.
        widths: changes of the sums of all records, one for each number or the same for all.
        means: whether means are released and not sums.
        whole: whether the parameters are whole numbers.
    """

    parameters: str
    numbers: str
    laws: tuple[Distribution, ...]
    simulate: Callable[[np.random.Generator, Array, int], Array]
    posterior: Posterior
    widths: tuple[float, ...]
    means: bool = False
    whole: bool = False

    def model(self, n: int) -> Model:
        """Return the model of n records."""
        names = tuple(self.parameters.split()), tuple(self.numbers.split())
        chunk = 500 if self.means else 5000
        return Model(*names, Prior(self.laws), partial(self.simulate, n=n), chunk)

    def noise(self, epsilon_total: float, n: int) -> Noise:
        """Return the noise on the numbers."""
        widths = np.broadcast_to(self.widths, len(self.numbers.split())).tolist()
        if self.means:
            return Laplace(tuple(width / (n * epsilon_total) for width in widths))
        return DiscreteLaplace(tuple(width / epsilon_total for width in widths))

    def exact(self, z: Array, epsilon_total: float, n: int) -> tuple[Marginal, ...]:
        """Return one posterior for each parameter given released numbers ``(k,)``."""
        noise: Any = self.noise(epsilon_total, n)
        return self.posterior(z, noise.scale, n)


def released(
    family: Family, epsilon_total: float, n: int, level: float, rng: np.random.Generator
) -> Array:
    """Return released numbers ``(k,)`` of data with all parameters at this prior quantile."""
    model = family.model(n)
    theta = model.prior.theta(np.full((1, model.prior.dimensions), ndtri(level)))
    return family.noise(epsilon_total, n).noisy(rng, model.simulate(rng, theta))[0]


# ------------------------------------------------------------------------------ quadrature


def _marginals(
    laws: tuple[Distribution, ...],
    log_likelihood: Callable[[Array], Array],
    nodes: tuple[int, ...] = (2001,) * 4,
    negligible: float = 30.0,
) -> tuple[Marginal, ...]:
    """Return the posteriors of p parameters from their log likelihood at ``(m, p)``.

    Grids of so many ``nodes`` per parameter cover less and less: the next one ends where the log
    density has dropped by ``negligible``.
    """
    places = range(len(laws))
    others = [tuple(other for other in places if other != place) for place in places]
    axes = [np.linspace(-FARTHEST, FARTHEST, nodes[0]) for _ in places]
    for following in (*nodes[1:], 0):
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        log = log_likelihood(Prior(laws).theta(x.reshape(-1, len(laws))))
        log = log.reshape(x.shape[:-1]) - (x**2).sum(axis=-1) / 2.0
        if following:
            kept = log > log.max() - negligible
            axes = [_narrowed(axes[i], kept.any(axis=others[i]), following) for i in places]
    density = np.exp(log - log.max())
    return tuple(_integrated(laws[i], axes[i], density.sum(axis=others[i])) for i in places)


def _narrowed(x: Array, kept: NDArray[np.bool_], nodes: int) -> Array:
    """Return a grid that just covers the kept nodes."""
    places = np.flatnonzero(kept)
    return np.linspace(x[max(places[0] - 1, 0)], x[min(places[-1] + 1, len(x) - 1)], nodes)


def _integrated(law: Distribution, x: Array, density: Array) -> Marginal:
    """Return the posterior with a density ``(g,)`` on the scale x, interpolated by a spline."""
    fine = np.linspace(x[0], x[-1], 2001)
    density = np.maximum(CubicSpline(x, density)(fine), 0.0)
    cumulative = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)))
    return Marginal(Prior((law,)).theta(fine[:, np.newaxis])[:, 0], cumulative / cumulative[-1])


def _logarithm(values: NDArray[np.floating[Any]]) -> Array:
    """Return logarithms, minus infinity at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values), dtype=np.float64)


def _log_each(likelihood: Callable[..., float], theta: Array) -> Array:
    """Return log likelihoods ``(m,)`` at parameters ``(m, p)``."""
    return _logarithm(np.array([likelihood(*each) for each in theta.tolist()]))


def _expected(cells: Array, low: float, step: float, n: int, z: float, scale: float) -> float:
    """Return the density of z up to a constant: Laplace noise on the mean of n records.

    A record is ``low + step * j`` with probability ``cells[j]``. The distribution of their sum is
    computed modulo a number larger than the range of probable sums.
    """
    places = np.arange(len(cells))
    mean = float(cells @ places)
    deviation = math.sqrt(float(cells @ (places - mean) ** 2) * n)
    size = next_fast_len(len(cells) + math.ceil(14.0 * deviation), real=True)
    first = round(n * mean) - size // 2
    masses = np.roll(irfft(rfft(cells, size) ** n, size), -first)
    masses[masses < 1e-13 * masses.max()] = 0.0
    means = low + step * (first + np.arange(size)) / n
    return float(masses @ np.exp(-np.abs(z - means) / scale))


def _cells(below: Callable[[Array], Array], low: float, high: float, step: float) -> Array:
    """Return the probabilities of the steps from low to high for a distribution function."""
    edges = np.arange(low + step / 2.0, high, step)
    return np.diff(below(edges), prepend=0.0, append=1.0)


# -------------------------------------------------------------------------------- families


def _clipped_means(rng: np.random.Generator, theta: Array, n: int) -> Array:
    records = rng.standard_normal((len(theta), n))
    records += theta
    return np.clip(records, -CLIP, CLIP, out=records).mean(axis=1, keepdims=True)


def _exact_normal(z: Array, scale: tuple[float, ...], n: int) -> tuple[Marginal, ...]:
    step = 1.0 / 8.0

    def likelihood(mu: float) -> float:
        cells = _cells(lambda edge: ndtr(edge - mu), -CLIP, CLIP, step)
        return _expected(cells, -CLIP, step, n, float(z[0]), scale[0])

    return _marginals((MU,), partial(_log_each, likelihood), nodes=(201,) * 4)


def _poisson_sums(rng: np.random.Generator, theta: Array, n: int) -> Array:
    """Simulate sums of n records; the rate is the product of all parameters."""
    return rng.poisson(n * theta.prod(axis=1, keepdims=True)).astype(np.float64)


def _log_poisson(z: float, scale: float, expected: Array) -> Array:
    r"""Return logarithms ``(g,)`` of $\sum_s e^{-m} m^s/s!\, e^{-|z - s|/b}$ at means m ``(g,)``.

    Up to z, the terms are those of a Poisson distribution with mean $m e^{1/b}$, beyond it with
    mean $m e^{-1/b}$; their sums are incomplete gamma functions.
    """
    lifted, lowered = expected * math.exp(1.0 / scale), expected * math.exp(-1.0 / scale)
    last = max(z + 1.0, 0.0)
    up_to = _logarithm(gammaincc(last, lifted)) + (lifted - expected) - z / scale
    after = _logarithm(gammainc(last, lowered)) + (lowered - expected) + z / scale
    return np.logaddexp(up_to, after)


def _exact_poisson(
    z: Array, scale: tuple[float, ...], n: int, law: Distribution
) -> tuple[Marginal, ...]:
    return _marginals((law,), lambda rate: _log_poisson(float(z[0]), scale[0], n * rate[:, 0]))


def _exact_product(z: Array, scale: tuple[float, ...], n: int) -> tuple[Marginal, ...]:
    """Return the posteriors of two log-uniform factors; the other one is integrated out exactly.

    The integral is the posterior of a product that is log-uniform itself.
    """
    law = LogUniform(FIRST.low * SECOND.low, FIRST.high * SECOND.high)
    (product,) = _exact_poisson(z, scale, n, law)

    def log_likelihood(factor: Array, other: LogUniform) -> Array:
        ends = np.log(factor * np.array([other.low, other.high]))
        found = np.interp(ends, np.log(product.values), product.cumulative)
        return _logarithm(found[:, 1] - found[:, 0])

    first = _marginals((FIRST,), partial(log_likelihood, other=SECOND))
    return first + _marginals((SECOND,), partial(log_likelihood, other=FIRST))


def _robust_means(rng: np.random.Generator, theta: Array, n: int) -> Array:
    """Simulate means for location and scale ``(m, 2)``: Student's t with 2 degrees of freedom."""
    share = rng.uniform(1e-16, 1.0 - 1e-16, (len(theta), n))
    records = (share - 0.5) / np.sqrt(share * (1.0 - share) / 2.0)
    records = np.clip(theta[:, :1] + theta[:, 1:] * records, -FAR, FAR)
    half = n // 2
    means = records[:, :half].mean(axis=1), np.abs(records[:, half:]).mean(axis=1)
    return np.stack(means, axis=1)


def _exact_heavy_tails(z: Array, scale: tuple[float, ...], n: int) -> tuple[Marginal, ...]:
    half = n // 2

    def likelihood(mu: float, width: float) -> float:
        def below(edge: Array) -> Array:
            t = (edge - mu) / width
            return 0.5 + t / (2.0 * np.sqrt(2.0 + t**2))

        step = max(step for step in (0.1, 0.2, 0.4, 1.0) if step <= max(0.4 * width, 0.1))
        signed = _cells(below, -FAR, FAR, step)
        absolute = _cells(lambda edge: below(edge) - below(-edge), 0.0, FAR, step)
        first = _expected(signed, -FAR, step, half, float(z[0]), scale[0])
        return first * _expected(absolute, 0.0, step, half, float(z[1]), scale[1])

    laws, nodes = (PLACE, WIDTH), (17, 17, 17, 61)
    return _marginals(laws, partial(_log_each, likelihood), nodes, negligible=18.0)


def _binomial_counts(rng: np.random.Generator, theta: Array, n: int) -> Array:
    return rng.binomial(n, theta).astype(np.float64)


def _multinomial_counts(rng: np.random.Generator, theta: Array, n: int) -> Array:
    return rng.multinomial(n, theta).astype(np.float64)


def _exact_shares(
    z: Array, scale: tuple[float, ...], n: int, concentration: tuple[float, ...]
) -> tuple[Marginal, ...]:
    """Return the posteriors of the first k shares with a Dirichlet prior and k noisy counts.

    Counts that add up to n have probability proportional to the product over cells of Γ(c + α)/c!
    times the noise.
    """
    counts, alphas = np.arange(n + 1.0), np.array(concentration)[:, np.newaxis]
    log = gammaln(counts + alphas) - gammaln(counts + 1.0)
    log[: len(z)] -= np.abs(z[:, np.newaxis] - counts) / scale[0]
    weights = np.exp(log - log.max(axis=1, keepdims=True))
    rest, found = sum(concentration), []
    for cell, alpha in enumerate(concentration[: len(z)]):
        others = reduce(lambda a, b: np.convolve(a, b)[: n + 1], np.delete(weights, cell, axis=0))
        found.append(_beta_mixture(weights[cell] * others[::-1], alpha, rest - alpha))
    return tuple(found)


def _beta_mixture(weights: Array, first: float, second: float) -> Marginal:
    """Return the mixture of Beta(c + first, n − c + second) with weights ``(n + 1,)`` of c."""
    counts = np.flatnonzero(weights > 1e-11 * weights.max())
    shares = weights[counts] / weights[counts].sum()
    a, b = first + counts, second + len(weights) - 1.0 - counts
    ends = betaincinv([a[0], a[-1]], [b[0], b[-1]], [1e-9, 1.0 - 1e-9])
    low, high = np.arcsin(np.sqrt(ends)).tolist()
    values = np.sin(np.linspace(low, high, 401)) ** 2
    cumulative = betainc(a, b, values[:, np.newaxis]) @ shares
    return Marginal(values, (cumulative - cumulative[0]) / (cumulative[-1] - cumulative[0]))


def _trial_sums(rng: np.random.Generator, theta: Array, n: int) -> Array:
    return rng.binomial((n * theta).astype(np.int64), SUCCESS).astype(np.float64)


def _exact_trials(z: Array, scale: tuple[float, ...], n: int) -> tuple[Marginal, ...]:
    values, log = np.arange(TRIALS.low, TRIALS.high + 1.0), []
    for trials in n * values:
        s = np.arange(trials + 1.0)
        ways = gammaln(trials + 1.0) - gammaln(s + 1.0) - gammaln(trials - s + 1.0)
        terms = ways + s * math.log(SUCCESS) + (trials - s) * math.log(1.0 - SUCCESS)
        log.append(np.logaddexp.reduce(terms - np.abs(z[0] - s) / scale[0]))
    cumulative = np.cumsum(np.exp(np.array(log) - max(log)))
    return (Marginal(values, cumulative / cumulative[-1], whole=True),)


def _of_rate(law: Distribution, width: float) -> Family:
    return Family("rate", "sum", (law,), _poisson_sums, partial(_exact_poisson, law=law), (width,))


def _of_shares(
    names: str, law: Distribution, simulate: Any, concentration: tuple[float, ...], moved: float
) -> Family:
    exact = partial(_exact_shares, concentration=concentration)
    return Family(names, names, (law,), simulate, exact, (moved,))


ONES = (1.0,) * 5
FACTORS, ROBUST = (FIRST, SECOND), (PLACE, WIDTH)

FAMILIES: dict[str, Family] = {
    "normal-mean": Family(
        "mu", "mean", (MU,), _clipped_means, _exact_normal, (2.0 * CLIP,), means=True
    ),
    "poisson-log-uniform": _of_rate(LogUniform(0.01, 100.0), 200.0),
    "poisson-gamma": _of_rate(Gamma(2.0, 2.0), 50.0),
    "product-identified": Family(
        "first second", "sum", FACTORS, _poisson_sums, _exact_product, (120.0,)
    ),
    "heavy-tails": Family(
        *("place scale", "mean size", ROBUST, _robust_means, _exact_heavy_tails),
        widths=(4.0 * FAR, 2.0 * FAR),
        means=True,
    ),
    "beta-binomial": _of_shares("share", Beta(0.5, 0.5), _binomial_counts, (0.5, 0.5), 1.0),
    "whole-number": Family(
        "trials", "sum", (TRIALS,), _trial_sums, _exact_trials, (TRIALS.high,), whole=True
    ),
    "dirichlet-shares": _of_shares("a b c d e", Dirichlet(ONES), _multinomial_counts, ONES, 2.0),
}
"""Name -> family."""
