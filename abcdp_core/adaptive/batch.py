r"""Batch samplers for the same posterior, after everyone has answered ([Y23] §6; MATH A9).

``mh`` is random-walk Metropolis-Hastings on the exact likelihood (MATH A2).

``mhaar`` is the paper's baseline, Metropolis-Hastings with averaged acceptance ratios. A person's
value is $x = \mu + \sigma z$, and each $z$ has M candidates: the current one and M − 1 fresh draws
from N(0, 1). The acceptance ratio of a proposal $\theta'$ is the product over people of

$$\frac{\sum_i p(y \mid \mu' + \sigma' z_i)}{\sum_i p(y \mid \mu + \sigma z_i)}$$

times the ratio of the priors. Then each $z$ is drawn from its candidates in proportion to their
weights under the parameter that was kept, new or old. Equal weights after a rejection would change
the invariant distribution.

Candidates and weights are in single precision (see :mod:`~abcdp_core.adaptive.simd_rng`). Each
person's weights are relative to the largest one, so none that matters underflows; logarithms are
added in double precision. For a thousand people the log ratio is off by less than 2e-4 up to
ε_total = 10, and by less than 2e-3 at 1000. It is compared with an exponential draw of mean 1.

A walk can be done in pieces of any length. Its step adapts during burn-in only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import compiled, log_likelihood_at
from abcdp_core.adaptive.simd_rng import (
    LANES,
    Single,
    Words,
    exp,
    log_noise,
    normals,
    relative,
    streams,
    uniforms,
)
from abcdp_core.adaptive.smc import STEP
from abcdp_core.base.arrays import Array

_ZERO = np.float32(0.0)


@dataclass(frozen=True)
class Walk:
    """Positions ``(k, 2)`` of (μ, log σ), each person's z ``(n,)`` (none for ``mh``), and moves."""

    theta: Array
    latent: Single
    accepted: int = 0


@dataclass(frozen=True)
class Batch:
    """Settings of a batch sampler.

    Attributes:
        prior: of (μ, σ).
        noise: family of the answers' noise.
        iterations: total number of steps.
        burn_in: share of the steps that adapt and are left out of estimates.
        candidates: M of ``mhaar``, at least 2; 0 for ``mh``.
    """

    prior: Prior
    noise: NoiseFamily
    iterations: int = 10_000
    burn_in: float = 0.2
    candidates: int = 0

    def start(self, rng: np.random.Generator, responses: Array) -> Walk:
        """Start a walk from moments of the responses ``(n, 4)``."""
        y, scale = responses[:, 0], responses[:, 3]
        of_noise = np.mean(scale**2) * (2.0 if self.noise == "laplace" else 1.0)
        spread = math.sqrt(max(float(y.var() - of_noise), 0.01 * float(y.var()), 1e-12))
        log_sigma = math.log(spread if self.prior.sigma is None else self.prior.sigma)
        latent = rng.standard_normal(len(responses) if self.candidates else 0)
        return Walk(np.array([[float(y.mean()), log_sigma]]), latent.astype(np.float32))

    def go_on(
        self, rng: np.random.Generator, walk: Walk, responses: Array, iterations: int
    ) -> Walk:
        """Continue a walk by some iterations, all with the same step."""
        root = self._root(walk, len(responses))
        # Drawn first, so that proposals do not depend on the number of candidates.
        steps = rng.standard_normal((iterations, 2)) @ root.T
        thresholds = -rng.standard_exponential(iterations)
        prior = self.prior
        # As numbers for compiled code; a known σ has no prior.
        shape, rate = (prior.shape, prior.rate) if prior.sigma is None else (0.0, 0.0)
        parameters = np.array([prior.mean, prior.variance, shape, rate])
        theta, gaussian = np.empty((iterations, 2)), self.noise == "gaussian"
        if self.candidates:
            (stream,) = streams(rng, 1)
            people = relative(responses)
            latent = np.zeros(len(people) * LANES, dtype=np.float32)
            latent[: len(responses)] = walk.latent
            accepted = _mhaar(
                *(stream, walk.theta[-1], latent, people, steps, thresholds, parameters),
                *(gaussian, self.candidates, theta),
            )
            latent = latent[: len(responses)]
        else:
            latent = walk.latent
            accepted = _mh(
                walk.theta[-1], responses, steps, thresholds, parameters, gaussian, theta
            )
        return Walk(np.concatenate([walk.theta, theta]), latent, walk.accepted + accepted)

    def _root(self, walk: Walk, n: int) -> Array:
        """Step ``(2, 2)`` from the later half of the burn-in so far; at first of size 1/√n."""
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
        """Number of burn-in iterations."""
        return int(self.burn_in * self.iterations)

    def kept(self, walk: Walk) -> Array:
        """Positions ``(k, 2)`` after the burn-in, which estimates use."""
        return walk.theta[1 + self.burned :]


FEWEST = 100
"""Number of positions from which the step follows their covariance."""


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
    """Fill ``theta`` with a walk on the exact posterior; return the number of moves."""
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
    stream: Words,
    start: Array,
    latent: Single,
    people: Array,
    steps: Array,
    thresholds: Array,
    prior: Array,
    gaussian: bool,
    candidates: int,
    theta: Array,
) -> int:
    """Fill ``theta`` with a walk and update ``latent``; return the number of moves.

    People are handled in blocks of one person per lane. A block stays in the processor's cache, so
    candidates are chosen for both outcomes before the proposal is accepted or rejected.
    """
    mu, log_sigma = start
    n = len(latent)
    accepted = 0
    z = np.empty((candidates + candidates % 2) * LANES, dtype=np.float32)
    weights = np.empty(candidates * LANES, dtype=np.float32)
    largest, total = np.empty((2, LANES), dtype=np.float32), np.empty((2, LANES), np.float32)
    point = np.empty(LANES, dtype=np.float32)
    # Under the current parameter and the proposed one: people in scaled units, and choices.
    seen = np.empty((2, *people.shape), dtype=np.float32)
    chosen = np.empty((2, n), dtype=np.float32)
    for i in range(len(steps)):
        new_mu, new_log_sigma = mu + steps[i, 0], log_sigma + steps[i, 1]
        gain = _log_prior(new_mu, new_log_sigma, prior) - _log_prior(mu, log_sigma, prior)
        _see(people, mu, math.exp(log_sigma), seen[0])
        _see(people, new_mu, math.exp(new_log_sigma), seen[1])
        for block in range(len(people)):
            lanes = slice(block * LANES, (block + 1) * LANES)
            normals(stream, z)
            uniforms(stream, point)
            z[:LANES] = latent[lanes]
            for side in range(2):
                _weigh(z, seen[side, block], gaussian, weights, largest[side], total[side])
                _choose(z, weights, total[side], point, chosen[side, lanes])
            gain += _log_ratio(largest, total)
        moved = thresholds[i] < gain
        if moved:
            mu, log_sigma = new_mu, new_log_sigma
            accepted += 1
        latent[:] = chosen[1 if moved else 0]
        theta[i, 0], theta[i, 1] = mu, log_sigma
    return accepted


@compiled
def _see(people: Array, mu: float, sigma: float, seen: Single) -> None:
    """Write people ``(·, 5, LANES)`` with σ/s and (μ − c)/s in place of c and 1/s."""
    for block in range(len(people)):
        person, row = people[block], seen[block]
        for j in range(LANES):
            row[0, j] = sigma * person[1, j]
            row[1, j] = (mu - person[0, j]) * person[1, j]
            row[2, j] = person[2, j]
            row[3, j] = person[3, j]
            row[4, j] = person[4, j]


@compiled
def _weigh(
    z: Single, person: Single, gaussian: bool, weights: Single, largest: Single, total: Single
) -> None:
    """Write the weights of a block's candidates, their largest logarithm, and their sums."""
    for j in range(LANES):
        largest[j] = -np.inf
        total[j] = 0.0
    for start in range(0, len(weights), LANES):
        candidate, weight = z[start : start + LANES], weights[start : start + LANES]
        for j in range(LANES):
            away = candidate[j] * person[0, j] + person[1, j]
            away = min(max(away, person[2, j]), person[3, j])
            weight[j] = log_noise(away, person[4, j], gaussian)
            largest[j] = max(largest[j], weight[j])
    for start in range(0, len(weights), LANES):
        weight = weights[start : start + LANES]
        for j in range(LANES):
            weight[j] = exp(weight[j] - largest[j])
            total[j] += weight[j]


@compiled
def _choose(z: Single, weights: Single, total: Single, point: Single, chosen: Single) -> None:
    """Choose a candidate for each person of a block by weight, with a number from [0, 1)."""
    left = np.empty(LANES, dtype=np.float32)
    for j in range(LANES):
        left[j] = point[j] * total[j]
    for start in range(0, len(weights), LANES):
        candidate, weight = z[start : start + LANES], weights[start : start + LANES]
        for j in range(LANES):
            # The last candidate that begins before the point remains chosen.
            this, last, rest = candidate[j], chosen[j], left[j]
            chosen[j] = this if rest >= _ZERO else last
            left[j] = rest - weight[j]


@compiled
def _log_ratio(largest: Single, total: Single) -> float:
    """Sum log(new / old sum of weights) over a block; arrays are ``(2, LANES)``, old first."""
    # A product of 64 sums of up to 1000 weights, each at most 1, is below 1e193.
    above, new, old = 0.0, 1.0, 1.0
    for j in range(LANES):
        above += np.float64(largest[1, j]) - np.float64(largest[0, j])
        new *= total[1, j]
        old *= total[0, j]
    return above + math.log(new / old)
