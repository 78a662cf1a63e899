r"""Batch samplers for the same posterior, after all people have answered ([Y23] §6; MATH A9).

``mh`` is random-walk Metropolis-Hastings on the exact likelihood (MATH A2).

``mhaar`` is the paper's baseline, Metropolis-Hastings with averaged acceptance ratios: a person's
value is $x = \mu + \sigma z$, and of each $z$ there are M candidates, the current one and M − 1
fresh draws from N(0, 1). A proposal $\theta'$ is accepted by the product over people of

$$\frac{\sum_i p(y \mid \mu' + \sigma' z_i)}{\sum_i p(y \mid \mu + \sigma z_i)}$$

times the ratio of the priors; then each $z$ is drawn from its candidates in proportion to the
weights under the parameter that was kept, whether it is the new one or the old one. Drawing it with
equal weights after a rejection would leave another distribution invariant.

A walk is done in pieces of any length. During burn-in its step follows the covariance of what it
has seen; after that nothing changes any more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.online.noise import NoiseFamily
from abcdp_core.online.prior import Prior
from abcdp_core.online.response import compiled, log_likelihood_at
from abcdp_core.online.smc import STEP

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Walk:
    """Where a walk stands.

    Attributes:
        theta: where it has been, ``(k, 2)`` of (μ, log σ), the start first.
        latent: the current z of each person, ``(n,)``; ``mh`` has none, ``(0,)``.
        accepted: number of proposals accepted.
    """

    theta: Array
    latent: Array
    accepted: int = 0


@dataclass(frozen=True)
class Batch:
    """A sampler's settings.

    Attributes:
        prior: of (μ, σ).
        noise: family of the responses' noise.
        iterations: steps in all.
        burn_in: share of them during which the step adapts, and which estimates leave out.
        candidates: M of ``mhaar``, at least 2; 0 for ``mh``.
    """

    prior: Prior
    noise: NoiseFamily
    iterations: int = 10_000
    burn_in: float = 0.2
    candidates: int = 0

    def start(self, rng: np.random.Generator, responses: Array) -> Walk:
        """A walk of length 0 from moments of the responses ``(n, 4)``."""
        y, scale = responses[:, 0], responses[:, 3]
        of_noise = np.mean(scale**2) * (2.0 if self.noise == "laplace" else 1.0)
        spread = math.sqrt(max(float(y.var() - of_noise), 0.01 * float(y.var()), 1e-12))
        log_sigma = math.log(spread if self.prior.sigma is None else self.prior.sigma)
        latent = rng.standard_normal(len(responses) if self.candidates else 0)
        return Walk(np.array([[float(y.mean()), log_sigma]]), latent)

    def go_on(
        self, rng: np.random.Generator, walk: Walk, responses: Array, iterations: int
    ) -> Walk:
        """Some iterations more, all with the same step."""
        root = self._root(walk, len(responses))
        # All randomness of the proposals first, so that it does not depend on the candidates'.
        steps = rng.standard_normal((iterations, 2)) @ root.T
        thresholds = -rng.standard_exponential(iterations)
        parameters = _prior_parameters(self.prior)
        theta = np.empty((iterations, 2))
        gaussian = self.noise == "gaussian"
        if self.candidates:
            latent = walk.latent.copy()
            accepted = _mhaar(
                *(rng, walk.theta[-1], latent, responses, steps, thresholds, parameters),
                *(gaussian, self.candidates, theta),
            )
        else:
            latent = walk.latent
            accepted = _mh(
                walk.theta[-1], responses, steps, thresholds, parameters, gaussian, theta
            )
        return Walk(np.concatenate([walk.theta, theta]), latent, walk.accepted + accepted)

    def _root(self, walk: Walk, n: int) -> Array:
        """Step: from the later half of the burn-in so far, at first of the size 1/√n."""
        seen = walk.theta[1 : 1 + self.burned]
        seen = seen[len(seen) // 2 :]
        if len(seen) < FEWEST or not (np.ptp(seen[:, 0]) > 0):
            sigma = math.exp(walk.theta[-1, 1])
            small = np.diag([sigma, 1.0 if self.prior.sigma is None else 0.0]) / math.sqrt(n)
            return STEP * small
        covariance = np.cov(seen.T)
        if self.prior.sigma is not None:
            covariance[1, :] = covariance[:, 1] = 0.0
        values, vectors = np.linalg.eigh(covariance)
        return STEP * vectors * np.sqrt(np.maximum(values, 0.0))

    @property
    def burned(self) -> int:
        """Iterations of the burn-in."""
        return int(self.burn_in * self.iterations)

    def kept(self, walk: Walk) -> Array:
        """The part ``(k, 2)`` that estimates are made of: what follows the burn-in."""
        return walk.theta[1 + self.burned :]


FEWEST = 100
"""Positions from which a covariance is worth following."""


def _prior_parameters(prior: Prior) -> Array:
    """The prior as numbers: mean and variance of μ, shape and rate of σ² (0 where σ is known)."""
    known = prior.sigma is not None
    shape, rate = (0.0, 0.0) if known else (prior.shape, prior.rate)
    return np.array([prior.mean, prior.variance, shape, rate])


@compiled
def _log_prior(mu: float, log_sigma: float, prior: Array) -> float:
    of_mu = -0.5 * (mu - prior[0]) ** 2 / prior[1]
    return of_mu - 2.0 * prior[2] * log_sigma - prior[3] * math.exp(-2.0 * log_sigma)


@compiled
def _mh(
    start: Array,
    responses: Array,
    steps: Array,
    thresholds: Array,
    prior: Array,
    gaussian: bool,
    theta: Array,
) -> int:
    """Fill ``theta`` with a walk on the exact posterior; return how often it moved."""
    mu, log_sigma = start
    value = _log_prior(mu, log_sigma, prior)
    value += log_likelihood_at(mu, math.exp(log_sigma), responses, gaussian)
    accepted = 0
    for i in range(len(steps)):
        new_mu, new_log_sigma = mu + steps[i, 0], log_sigma + steps[i, 1]
        new_value = _log_prior(new_mu, new_log_sigma, prior)
        new_value += log_likelihood_at(new_mu, math.exp(new_log_sigma), responses, gaussian)
        if thresholds[i] < new_value - value:
            mu, log_sigma, value = new_mu, new_log_sigma, new_value
            accepted += 1
        theta[i, 0], theta[i, 1] = mu, log_sigma
    return accepted


@compiled
def _mhaar(
    rng: np.random.Generator,
    start: Array,
    latent: Array,
    responses: Array,
    steps: Array,
    thresholds: Array,
    prior: Array,
    gaussian: bool,
    candidates: int,
    theta: Array,
) -> int:
    """Fill ``theta`` with a walk and bring ``latent`` along; return how often it moved."""
    mu, log_sigma = start
    n = len(responses)
    weights = np.empty((2, n, candidates))
    accepted = 0
    for i in range(len(steps)):
        new_mu, new_log_sigma = mu + steps[i, 0], log_sigma + steps[i, 1]
        gain = _log_prior(new_mu, new_log_sigma, prior) - _log_prior(mu, log_sigma, prior)
        z = rng.standard_normal((n, candidates))
        z[:, 0] = latent
        _weigh(z, responses, mu, math.exp(log_sigma), gaussian, weights[0])
        _weigh(z, responses, new_mu, math.exp(new_log_sigma), gaussian, weights[1])
        for j in range(n):
            gain += math.log(weights[1, j].sum() / weights[0, j].sum())
        moved = thresholds[i] < gain
        if moved:
            mu, log_sigma = new_mu, new_log_sigma
            accepted += 1
        for j in range(n):
            latent[j] = z[j, _drawn(rng.random(), weights[1 if moved else 0, j])]
        theta[i, 0], theta[i, 1] = mu, log_sigma
    return accepted


@compiled
def _weigh(
    z: Array, responses: Array, mu: float, sigma: float, gaussian: bool, weights: Array
) -> None:
    """Densities ``(n, M)`` of the responses given the candidates, each row up to a constant."""
    for j in range(len(z)):
        y, left, right, scale = responses[j]
        rate = 1.0 / scale
        # The same for all candidates of a person, so that not all of them underflow.
        nearest = rate * abs(y - min(max(y, left), right))
        for m in range(z.shape[1]):
            away = rate * abs(y - min(max(mu + sigma * z[j, m], left), right))
            if gaussian:
                weights[j, m] = 0.5 * (nearest - away) * (nearest + away)
            else:
                weights[j, m] = nearest - away
    _exponentiate(weights.ravel())


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _exponentiate(values: Array) -> None:
    """Replace numbers up to 0 by their exponentials, to 1e-13 from −50 on.

    Ten squarings of a polynomial, which the compiler turns into vector instructions: a call of the
    library's exponential for each number takes six times as long, most of the time of ``mhaar``.
    """
    for i in range(len(values)):
        r = max(values[i], -700.0) / 1024.0
        high = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * (1 / 40320 + r / 362880)))
        value = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * high))))
        for _ in range(10):
            value *= value
        values[i] = value


@compiled
def _drawn(point: float, weights: Array) -> int:
    """Index drawn in proportion to the weights by a number from [0, 1)."""
    left = point * weights.sum()
    for m in range(len(weights) - 1):
        left -= weights[m]
        if left < 0.0:
            return m
    return len(weights) - 1
