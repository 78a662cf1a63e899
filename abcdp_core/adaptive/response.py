r"""The density of a private response to a normal value, in closed form (MATH A2, A12).

With $z = (x - \mu)/\sigma$, interval ends $\alpha = (l-\mu)/\sigma$ and
$\beta = (r-\mu)/\sigma$, $k = \sigma/s$ for Laplace noise of scale $s$, and $\eta$ the
standardized response clipped to $[\alpha, \beta]$,

$$p(y) = \frac{1}{2s}\, e^{-\mathrm{dist}(y, [l, r])/s}\, g(\eta), \qquad
g(\eta) = E\, e^{-k|\eta - \mathrm{clip}(Z, \alpha, \beta)|},$$

$$g(\eta) = \Phi(\alpha)e^{-(\eta-\alpha)k} + \Phi(-\beta)e^{-(\beta-\eta)k}
+ J(\alpha, \eta) + J(-\beta, -\eta), \qquad
J(\alpha, \eta) = \int_\alpha^\eta \varphi(z)\, e^{-(\eta-z)k}\, dz. \tag{A2}$$

All terms are positive and $g \ge e^{-(r-l)/s}$, so nothing underflows up to a width of 700
scales, however far outside the response lies. $J$ is a difference of Mills ratios scaled by the
density, so nothing overflows in a narrow interval. Outside $[l, r]$ the score is constant in $y$.
With Gaussian noise (A12) the three terms are normal densities, added as logarithms.

Particles are rows $(\mu, \log\sigma)$; a response is a row $(y, l, r, s)$. For a table of symbols
(A14) it is $(k, l, r, e^\epsilon - 1)$: the symbol and its set $I$, all $x$ with $l \le x < r$, or
all but those with $r \le x < l$ if $l > r$. The symbol's probability is proportional to
$m = 1 + (e^\epsilon - 1) P(I)$.
"""

from __future__ import annotations

import math
from typing import Literal

import numba
import numpy as np
from scipy import special

from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.base.arrays import Array

Kind = NoiseFamily | Literal["table"]
KINDS: tuple[Kind, ...] = ("laplace", "gaussian", "table")
"""Kinds of response; compiled functions take the index."""

_LAPLACE, _GAUSSIAN = 0, 1

_PER_ROOT_2_PI = 1.0 / math.sqrt(2.0 * math.pi)
_LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)

_PANELS = 32
_DEGREE = 6
_HALFWAY = 4.0

_LEAST = 1e-307
"""Densities below this may have lost digits."""

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


def _mills_table() -> Array:
    """Fit (1 + t) times the Mills ratio to 4e-15 by polynomials in 4 / (4 + t) on 32 panels."""

    def bounded(w: Array) -> Array:
        t = _HALFWAY / w - _HALFWAY
        mills = math.sqrt(math.pi / 2.0) * special.erfcx(t / math.sqrt(2.0))
        return (1.0 + t) * mills

    rows = []
    for panel in range(_PANELS):
        nodes = np.polynomial.chebyshev.chebpts1(_DEGREE + 1)
        values = bounded((panel + 0.5 * (nodes + 1.0)) / _PANELS)
        rows.append(np.polynomial.Polynomial.fit(nodes, values, _DEGREE, domain=[-1, 1]).coef)
    return np.array(rows)


_TABLE = _mills_table()


@compiled
def _mills(t: float) -> float:
    """Return the Mills ratio (1 − Φ(t)) / φ(t) for t >= 0, four times faster than erfc."""
    place = _PANELS * _HALFWAY / (_HALFWAY + t)
    panel = min(int(place), _PANELS - 1)
    x = 2.0 * (place - panel) - 1.0
    row = _TABLE[panel]
    value = row[_DEGREE]
    for power in range(_DEGREE - 1, -1, -1):
        value = value * x + row[power]
    return value / (1.0 + t)


@compiled
def _normal_density(z: float) -> float:
    return _PER_ROOT_2_PI * math.exp(-0.5 * z * z)


@compiled
def _cdf_with(z: float, density: float) -> float:
    """Return Φ(z), given φ(z)."""
    return density * _mills(-z) if z < 0.0 else 1.0 - density * _mills(z)


@compiled
def _smoothed(
    start: float, end: float, k: float, damping: float, at_start: float, at_end: float
) -> float:
    """Return J(start, end), given exp(−k (end − start)) and the normal density at both."""
    if not start < end:
        return 0.0
    u, v = start - k, end - k
    if v <= 0.0:
        return at_end * _mills(-v) - at_start * damping * _mills(-u)
    if u >= 0.0:
        return at_start * damping * _mills(u) - at_end * _mills(v)
    whole = math.exp(k * (0.5 * k - end))
    return whole - at_end * _mills(v) - at_start * damping * _mills(-u)


@compiled
def _parts(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> tuple[float, float, float, float, float, float]:
    """Return the parts of density and score (MATH A2).

    Returns:
        g, the distance to the interval in scales, J on both sides of the response, and for its
        mean of z there φ(α) e^(−(η−α)k) − φ(η) and φ(η) − φ(β) e^(−(β−η)k).
    """
    inside = min(max(y, left), right)
    alpha, beta, eta = (left - mu) / sigma, (right - mu) / sigma, (inside - mu) / sigma
    k = sigma / scale
    from_left = math.exp((left - inside) / scale)
    from_right = math.exp((inside - right) / scale)
    at_left, at_right = _normal_density(alpha), _normal_density(beta)
    at_eta = at_left if inside == left else at_right if inside == right else _normal_density(eta)
    below = _smoothed(alpha, eta, k, from_left, at_left, at_eta)
    above = _smoothed(-beta, -eta, k, from_right, at_right, at_eta)
    g = _cdf_with(alpha, at_left) * from_left + _cdf_with(-beta, at_right) * from_right
    edge_below = at_left * from_left - at_eta
    edge_above = at_eta - at_right * from_right
    return g + below + above, abs(y - inside) / scale, below, above, edge_below, edge_above


@compiled
def log_density_laplace(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> float:
    """Return the log density of a response under Laplace noise (MATH A2).

    Args:
        y: the response.
        left, right: the interval, ``left < right``.
        scale: Laplace scale of the noise, above 0.
        mu, sigma: mean and standard deviation of the person's value.
    """
    g, away, _, _, _, _ = _parts(y, left, right, scale, mu, sigma)
    if g < _LEAST:
        # Only for a width above 700 scales: use the lower bound of g.
        return (left - right) / scale - math.log(2.0 * scale) - away
    return math.log(g / (2.0 * scale)) - away


@compiled
def score_laplace(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> tuple[float, float]:
    """Return the derivatives of :func:`log_density_laplace` by μ and by log σ (MATH A2)."""
    g, _, below, above, edge_below, edge_above = _parts(y, left, right, scale, mu, sigma)
    if g < _LEAST:
        # The bound used for the density is flat.
        return 0.0, 0.0
    k = sigma / scale
    # The mean of z over either side of the response, by parts.
    below_z, above_z = k * below + edge_below, -k * above + edge_above
    return (below - above) / (scale * g), k * (below_z - above_z) / g


@compiled
def _log_normal_cdf(z: float) -> float:
    if z > 0.0:
        return math.log1p(-_normal_density(z) * _mills(z))
    return math.log(_mills(-z)) - 0.5 * z * z - _LOG_ROOT_2_PI


@compiled
def _log_normal_mass(start: float, end: float) -> float:
    """Return log(Φ(end) − Φ(start)) for start < end."""
    if start > 0.0:
        start, end = -end, -start
    if end > 0.0:
        outside = _normal_density(start) * _mills(-start) + _normal_density(end) * _mills(end)
        return math.log1p(-outside)
    rest = math.exp(0.5 * (end - start) * (end + start)) * _mills(-start)
    return math.log(max(_mills(-end) - rest, 5e-324)) - 0.5 * end * end - _LOG_ROOT_2_PI


@compiled
def log_density_gaussian(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> float:
    """Return the log density of a response under Gaussian noise (MATH A12).

    Arguments as for :func:`log_density_laplace`; ``scale`` is a standard deviation.
    """
    from_left, from_right = (y - left) / scale, (y - right) / scale
    total = math.hypot(sigma, scale)
    share = sigma / total
    middle, spread = mu + share * share * (y - mu), share * scale
    standard = (y - mu) / total
    first = _log_normal_cdf((left - mu) / sigma) - 0.5 * from_left * from_left
    second = _log_normal_cdf((mu - right) / sigma) - 0.5 * from_right * from_right
    third = (
        _log_normal_mass((left - middle) / spread, (right - middle) / spread)
        + math.log(scale / total)
        - 0.5 * standard * standard
    )
    largest = max(first, second, third) + _LOG_ROOT_2_PI
    terms = (
        math.exp(first + _LOG_ROOT_2_PI - largest)
        + math.exp(second + _LOG_ROOT_2_PI - largest)
        + math.exp(third + _LOG_ROOT_2_PI - largest)
    )
    return largest - 2.0 * _LOG_ROOT_2_PI - math.log(scale) + math.log(terms)


@compiled
def _normal_cdf(z: float) -> float:
    return _cdf_with(z, _normal_density(z))


@compiled
def _normal_mass(low: float, high: float) -> float:
    """Return the probability of [low, high), or of all but [high, low), accurate in both tails."""
    if low > high:
        return _normal_cdf(high) + _normal_cdf(-low)
    if low > 0.0:
        return _normal_cdf(-low) - _normal_cdf(-high)
    return _normal_cdf(high) - _normal_cdf(low)


@compiled
def log_density_table(left: float, right: float, gain: float, mu: float, sigma: float) -> float:
    """Return the log probability of a symbol, up to a constant (MATH A14).

    Args:
        left, right: ends of the symbol's set; ``left > right`` for the complement of an interval.
        gain: e^ε − 1.
        mu, sigma: mean and standard deviation of the person's value.
    """
    return math.log1p(gain * _normal_mass((left - mu) / sigma, (right - mu) / sigma))


@compiled
def score_table(
    left: float, right: float, gain: float, mu: float, sigma: float
) -> tuple[float, float]:
    """Return the derivatives of :func:`log_density_table` by μ and by log σ (MATH A14)."""
    low, high = (left - mu) / sigma, (right - mu) / sigma
    at_low, at_high = _normal_density(low), _normal_density(high)
    # Both terms vanish at an infinite end.
    by_low = low * at_low if at_low > 0.0 else 0.0
    by_high = high * at_high if at_high > 0.0 else 0.0
    share = gain / (1.0 + gain * _normal_mass(low, high))
    return share * (at_low - at_high) / sigma, share * (by_low - by_high)


@compiled
def log_density(response: Array, mu: float, sigma: float, kind: int) -> float:
    """Return the log density of one response ``(4,)``; ``kind`` is an index in :data:`KINDS`."""
    y, left, right, scale = response
    if kind == _LAPLACE:
        return log_density_laplace(y, left, right, scale, mu, sigma)
    if kind == _GAUSSIAN:
        return log_density_gaussian(y, left, right, scale, mu, sigma)
    return log_density_table(left, right, scale, mu, sigma)


@compiled
def log_likelihood_at(mu: float, sigma: float, responses: Array, kind: int) -> float:
    """Return the log-likelihood of one particle given responses ``(t, 4)``, when compiled."""
    total = 0.0
    for j in range(len(responses)):
        total += log_density(responses[j], mu, sigma, kind)
    return total


@compiled
def _log_likelihoods(theta: Array, responses: Array, kind: int) -> Array:
    total = np.empty(len(theta))
    for i in range(len(theta)):
        total[i] = log_likelihood_at(theta[i, 0], math.exp(theta[i, 1]), responses, kind)
    return total


def log_likelihood(theta: Array, responses: Array, kind: Kind) -> Array:
    """Return the log-likelihood ``(N,)`` of particles ``(N, 2)`` given responses ``(t, 4)``.

    Releases the interpreter's lock, so threads can share the particles.
    """
    return _log_likelihoods(theta, responses, KINDS.index(kind))
