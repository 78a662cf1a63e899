r"""Normalize a prior given as a function, and check that it agrees with its sampler (MATH E10).

Weighting draws of several proposals needs the prior's density, and a function $\tilde p$ gives it
up to a constant $Z = \int \tilde p$. Uniform draws over the bounds miss a prior that fills little
of them, so $Z$ comes from the prior's own draws: a mixture of Student t distributions $q$ is fitted
to half of them, and bridge sampling compares the other half with as many draws of $q$,

$$Z \leftarrow \frac{\operatorname{mean}_q\, \tilde p / (s_1 \tilde p / Z + s_2 q)}
{\operatorname{mean}_p\, q / (s_1 \tilde p / Z + s_2 q)} . \tag{E10}$$

Draws of $q$ with weights $\tilde p / q$ follow the function, whatever $Z$ is. If the ranks of the
sampler's draws among them are not uniform in some coordinate, function and sampler are different
priors, as with a forgotten Jacobian.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import kolmogorov, logsumexp, ndtri

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.models.mixtures import FREEDOM, Component, mixture
from abcdp_core.models.priors import NEAREST, Prior, log_of_product

DRAWS = 10_000
"""Draws to which the mixture is fitted, and from each side of the bridge."""

LARGEST_ERROR = 0.02
"""Largest relative standard error of the constant."""

NARROWEST = 1e-5
"""Smallest standard deviation on the scale x; proposals resolve a tenth of that."""

LEVEL = 1e-4
"""Probability that a function which agrees with its sampler is refused."""

STEPS, PRECISION = 200, 1e-10
"""Most steps of the iteration for Z, and the relative change at which it ends."""

REMEDY = (
    "narrow the bounds of the parameters to where the prior lies, or leave log_prior out, which "
    "needs more simulations"
)


class PriorError(ParameterError):
    """A density that cannot be normalized, or is not that of its sampler; one line says why."""


def log_constant(prior: Prior) -> float:
    """Return log Z of a prior's log density, estimated with a relative error of at most 2 %.

    Args:
        prior: has ``draw_theta`` and ``log_relative``; its ``log_constant`` is not used.

    Raises:
        PriorError: the density is 0 where the sampler draws, differs from the sampler's, or fills
            too small a part of the bounds.
    """
    rng = generator(0, "prior-constant")
    drawn = _spread(prior, rng)
    at_drawn = _log_shape(prior, drawn)
    if not np.isfinite(at_drawn).all():
        raise PriorError("is minus infinity at values that the prior draws.")
    deviations = drawn.std(axis=0)
    if deviations.min() < NARROWEST:
        raise PriorError(f"covers too small a part of the bounds to be weighed: {REMEDY}.")
    fitted, left = drawn[:DRAWS], drawn[DRAWS:]
    components = mixture(fitted, np.full(DRAWS, 1.0 / DRAWS), rng)
    proposed = _draw(components, rng)
    ratios = at_drawn[DRAWS:] - _log_density(components, left)
    more = _log_shape(prior, proposed) - _log_density(components, proposed)
    if not np.isfinite(more).any():
        raise PriorError(f"covers too small a part of the bounds to be weighed: {REMEDY}.")
    _check_same(left, proposed, more)
    value, error = bridge(ratios, more)
    if error > LARGEST_ERROR:
        raise PriorError(f"cannot be normalized to better than {100.0 * error:.0f} %: {REMEDY}.")
    return value


def bridge(of_prior: Array, of_mixture: Array) -> tuple[float, float]:
    """Return log Z and its relative standard error by bridge sampling (MATH E10).

    Args:
        of_prior, of_mixture: log of shape over mixture density ``(m,)``, finite at the prior's
            draws, and minus infinity outside the support at the mixture's.
    """
    middle = float(np.median(of_prior))
    first, second = np.exp(of_prior - middle), np.exp(of_mixture - middle)
    share = len(first) / (len(first) + len(second))
    before, z = 0.0, 1.0
    above, below = second, first
    for _ in range(STEPS):
        if abs(z - before) <= PRECISION * z:
            break
        above = second / (share * second / z + 1.0 - share)
        below = 1.0 / (share * first / z + 1.0 - share)
        before, z = z, float(above.mean() / below.mean())
    variances = [each.var() / (len(each) * each.mean() ** 2) for each in (above, below)]
    return middle + math.log(z), math.sqrt(sum(variances))


def _check_same(drawn: Array, proposed: Array, log_weights: Array) -> None:
    """Refuse a density whose weighted draws ``(m, d)`` rank the sampler's ``(n, d)`` unevenly."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    size = effective_sample_size(weights)
    size = size * len(drawn) / (size + len(drawn))
    for column, others in zip(drawn.T, proposed.T, strict=True):
        order, mine = np.argsort(others), np.sort(column)
        reached = np.concatenate([[0.0], np.cumsum(weights[order])])
        ranks = reached[np.searchsorted(others[order], mine, side="right")]
        steps = np.arange(len(mine) + 1) / len(mine)
        gap = float(max(np.abs(ranks - steps[1:]).max(), np.abs(ranks - steps[:-1]).max()))
        if kolmogorov(math.sqrt(size) * gap) * drawn.shape[1] < LEVEL:
            raise PriorError(
                "is not the density of prior: their draws differ. Does log_prior lack the "
                "derivative of a change of variables (a Jacobian)?"
            )


def _spread(prior: Prior, rng: np.random.Generator) -> Array:
    """Draw x ``(2 DRAWS, d)`` from the sampler, evenly over the range of a whole number."""
    assert prior.draw_theta is not None
    theta, ranks, start = prior.draw_theta(rng, 2 * DRAWS), [], 0
    for law in prior.laws:
        own = theta[:, start : start + law.size]
        if getattr(law, "whole", False):
            low, high = law.probability(own - 0.5), law.probability(own + 0.5)
            ranks.append(low + rng.random(own.shape) * (high - low))
        else:
            ranks.append(law.probability(own))
        start += law.size
    return np.asarray(ndtri(np.clip(np.hstack(ranks), NEAREST, 1.0 - NEAREST)))


def _log_shape(prior: Prior, x: Array) -> Array:
    assert prior.log_relative is not None
    return log_of_product(x) + prior.log_relative(prior.theta(x))


def _log_density(components: tuple[Component, ...], x: Array) -> Array:
    shares = np.log([each.share for each in components])
    each = [share + one.log_density(x) for share, one in zip(shares, components, strict=True)]
    return np.asarray(logsumexp(each, axis=0)) - float(logsumexp(shares))


def _draw(components: tuple[Component, ...], rng: np.random.Generator) -> Array:
    shares = np.array([each.share for each in components])
    chosen = rng.choice(len(components), size=DRAWS, p=shares / shares.sum())
    d = len(components[0].mean)
    longer = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, DRAWS))
    steps = longer[:, None] * rng.standard_normal((DRAWS, d))
    means, roots = (
        np.array([getattr(each, name) for each in components]) for name in ("mean", "root")
    )
    return means[chosen] + np.einsum("mij,mj->mi", roots[chosen], steps)
