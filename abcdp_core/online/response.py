r"""The density of a private response to a normal value, in closed form (MATH A2, A12).

With $z = (x - \mu)/\sigma$, interval ends $\alpha = (l-\mu)/\sigma$ and
$\beta = (r-\mu)/\sigma$, $k = \sigma/s$ for Laplace noise of scale $s$, and $\eta$ the response
brought into $[\alpha, \beta]$,

$$p(y) = \frac{1}{2s}\, e^{-\mathrm{dist}(y, [l, r])/s}\, g(\eta), \qquad
g(\eta) = E\, e^{-k|\eta - \mathrm{clip}(Z, \alpha, \beta)|},$$

$$g(\eta) = \Phi(\alpha)e^{-(\eta-\alpha)k} + \Phi(-\beta)e^{-(\beta-\eta)k}
+ J(\alpha, \eta) + J(-\beta, -\eta), \qquad
J(\alpha, \eta) = \int_\alpha^\eta \varphi(z)\, e^{-(\eta-z)k}\, dz. \tag{A2}$$

All terms are positive and $g \ge e^{-(r-l)/s}$, so nothing underflows, however far outside the
response lies. $J$ is a difference of Mills ratios, each brought to the size of the density, so
nothing overflows, however narrow the interval is. Outside $[l, r]$ the score is constant in $y$.
With Gaussian noise (A12) the three terms are normal densities and are added as logarithms.

Particles are rows $(\mu, \log\sigma)$; a response is a row $(y, l, r, s)$.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.online.noise import NoiseFamily

Array = NDArray[np.float64]


_ROOT_2 = math.sqrt(2.0)
_ROOT_PI = math.sqrt(math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)
_PER_ROOT_2_PI = 1.0 / math.sqrt(2.0 * math.pi)
_LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)

_ASYMPTOTIC = 10.0
"""From here on the series of erfcx has an error below 1e-13 with the terms used."""

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@compiled
def _mills(t: float) -> float:
    """Mills ratio (1 − Φ(t)) / φ(t) for t >= 0."""
    x = t / _ROOT_2
    if x < _ASYMPTOTIC:
        return _ROOT_HALF_PI * math.exp(x * x) * math.erfc(x)
    q = 0.5 / (x * x)
    series = 1.0 - 15.0 * q * (1.0 - 17.0 * q)
    for odd in (13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = 1.0 - odd * q * series
    return series / (x * _ROOT_2)


@compiled
def _normal_density(z: float) -> float:
    return _PER_ROOT_2_PI * math.exp(-0.5 * z * z)


@compiled
def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / _ROOT_2)


@compiled
def _smoothed(start: float, end: float, k: float) -> float:
    """J(start, end): the normal density over an interval, damped by the distance to its end."""
    if not start < end:
        return 0.0
    u, v = start - k, end - k
    if v <= 0.0:
        damped = _normal_density(start) * math.exp((start - end) * k)
        return _normal_density(end) * _mills(-v) - damped * _mills(-u)
    if u >= 0.0:
        damped = _normal_density(start) * math.exp((start - end) * k)
        return damped * _mills(u) - _normal_density(end) * _mills(v)
    return 0.5 * math.exp(k * (0.5 * k - end)) * (math.erf(v / _ROOT_2) - math.erf(u / _ROOT_2))


@compiled
def log_density_laplace(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> float:
    """Log density of a response under Laplace noise (MATH A2).

    Args:
        y: the response.
        left, right: the interval, ``left < right``.
        scale: Laplace scale of the noise, above 0.
        mu, sigma: mean and standard deviation of the person's value.
    """
    inside = min(max(y, left), right)
    alpha, beta, eta = (left - mu) / sigma, (right - mu) / sigma, (inside - mu) / sigma
    k = sigma / scale
    g = (
        _normal_cdf(alpha) * math.exp((left - inside) / scale)
        + _normal_cdf(-beta) * math.exp((inside - right) / scale)
        + _smoothed(alpha, eta, k)
        + _smoothed(-beta, -eta, k)
    )
    return math.log(g / (2.0 * scale)) - abs(y - inside) / scale


@compiled
def score_laplace(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> tuple[float, float]:
    """Derivatives of :func:`log_density_laplace` by μ and by log σ (MATH A2)."""
    inside = min(max(y, left), right)
    alpha, beta, eta = (left - mu) / sigma, (right - mu) / sigma, (inside - mu) / sigma
    k = sigma / scale
    from_left, from_right = math.exp((left - inside) / scale), math.exp((inside - right) / scale)
    below, above = _smoothed(alpha, eta, k), _smoothed(-beta, -eta, k)
    g = _normal_cdf(alpha) * from_left + _normal_cdf(-beta) * from_right + below + above
    # By parts: the mean of z over either side of the response.
    below_z = k * below - _normal_density(eta) + _normal_density(alpha) * from_left
    above_z = -k * above + _normal_density(eta) - _normal_density(beta) * from_right
    return (below - above) / (scale * g), k * (below_z - above_z) / g


@compiled
def _log_normal_cdf(z: float) -> float:
    if z > 0.0:
        return math.log(_normal_cdf(z))
    return math.log(_mills(-z)) - 0.5 * z * z - _LOG_ROOT_2_PI


@compiled
def _log_normal_mass(start: float, end: float) -> float:
    """log(Φ(end) − Φ(start)) for start < end."""
    if start > 0.0:
        start, end = -end, -start
    if end > 0.0:
        return math.log(0.5 * (math.erf(end / _ROOT_2) - math.erf(start / _ROOT_2)))
    rest = math.exp(0.5 * (end - start) * (end + start)) * _mills(-start)
    return math.log(max(_mills(-end) - rest, 5e-324)) - 0.5 * end * end - _LOG_ROOT_2_PI


@compiled
def log_density_gaussian(
    y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> float:
    """Log density of a response under Gaussian noise (MATH A12).

    Args:
        y: the response.
        left, right: the interval, ``left < right``.
        scale: standard deviation of the noise, above 0.
        mu, sigma: mean and standard deviation of the person's value.
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
def _log_likelihood_laplace(theta: Array, responses: Array) -> Array:
    total = np.zeros(len(theta))
    for i in range(len(theta)):
        mu, sigma = theta[i, 0], math.exp(theta[i, 1])
        for j in range(len(responses)):
            y, left, right, scale = responses[j]
            total[i] += log_density_laplace(y, left, right, scale, mu, sigma)
    return total


@compiled
def _log_likelihood_gaussian(theta: Array, responses: Array) -> Array:
    total = np.zeros(len(theta))
    for i in range(len(theta)):
        mu, sigma = theta[i, 0], math.exp(theta[i, 1])
        for j in range(len(responses)):
            y, left, right, scale = responses[j]
            total[i] += log_density_gaussian(y, left, right, scale, mu, sigma)
    return total


_LOG_LIKELIHOOD = {"laplace": _log_likelihood_laplace, "gaussian": _log_likelihood_gaussian}


def log_likelihood(theta: Array, responses: Array, noise: NoiseFamily) -> Array:
    """Log-likelihood ``(N,)`` of particles ``(N, 2)`` given responses ``(t, 4)``.

    Releases the interpreter's lock, so several threads can each do a part of the particles.
    """
    return _LOG_LIKELIHOOD[noise](theta, responses)
