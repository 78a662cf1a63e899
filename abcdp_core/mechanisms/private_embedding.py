r"""Release once, then sample freely: one noisy vector, everything else from it (MATH E1-E3).

The data enter only through one vector, $A e(Y^*)$: all features of the distance, or a linear map of
them learnt from the pool (:mod:`.linear_maps`). It is released with noise, $\tilde e = A e + z$.
That is the one thing private data pay for. What follows looks at $\tilde e$ and at the pool, so any
number of samples, thresholds and weights costs nothing more.

| selection | what stands for the posterior |
|---|---|
| ``nearest`` | the c draws with the smallest $d_t = \|\tilde e - A e_t\|_2$ |
| ``threshold`` | the draws with $d_t \le \epsilon_{abc}$ |
| ``soft`` | all draws, weights $\propto \exp(-d_t / \epsilon_{abc})$ |
| ``estimate`` | the regression's prediction from $\tilde e$, a value and no sample |
| ``noise-aware`` | the posterior given the *released* vector, noise included |
| ``noise-ignored`` | the same as if $\tilde e$ were the data's own vector, to compare with |

All but the noise-aware one take $\tilde e$ for the data's own vector: at small budgets they are
sure of what is noise. Noise-aware, the weight of draw t is the density of the noise at
$\tilde e - A e_t$: self-normalised importance sampling from the exact posterior given the release,
without a threshold (Gong 2022). Where noise is small few draws carry all weight. Then each draw's
vector gets noise of its own, of the same law, before the nearest are taken; and as these are not
quite near, their parameters are moved along a local-linear regression to where $\tilde e$ is, with
Epanechnikov weights (Beaumont, Zhang & Balding, Genetics 162, 2002). Moved parameters may leave the
prior's support; they are released as they are.

Noise is drawn at scale 1 and first of all, so another budget, c or selection moves the same noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import Release, linear_maps
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.privacy import Gaussian, NonPrivate, NormNoise, embedding
from abcdp_core.summaries import effective_sample_size

Array = NDArray[np.float64]
Done = NonPrivate | NormNoise | Gaussian

MECHANISM = "private-embedding"

SELECTIONS = ("nearest", "threshold", "soft", "estimate", "noise-aware", "noise-ignored")

ENOUGH = 100.0
"""Effective sample size of the importance weights below which draws are accepted and moved."""

ACCEPTED = 300
"""Draws accepted then. On the toy problem 300, 500 and 1000 of 10 000 give the same intervals."""


@dataclass(frozen=True)
class Setting:
    """What is asked of a run; public.

    Attributes:
        epsilon_total: privacy budget; ``inf`` for no noise.
        delta: 0 for pure differential privacy, else the δ of Gaussian noise.
        c: draws taken by ``nearest``.
        epsilon_abc: threshold or temperature of ``threshold`` and ``soft``, in the unit of what is
            released: that of the distance, or for a regression standard deviations of the prior.
        map: one of :data:`linear_maps.KINDS`.
        axes: principal axes of ``axes``.
        selection: one of :data:`SELECTIONS`.
        sensitivity: ``sharp`` or ``published``.

    Raises:
        ValueError: a value is none of what it may be.
    """

    epsilon_total: float
    delta: float = 0.0
    c: int = 10
    epsilon_abc: float = 0.1
    map: str = "regression"
    axes: int = 4
    selection: str = "noise-aware"
    sensitivity: str = "sharp"

    def __post_init__(self) -> None:
        """Check what no later step would."""
        if self.selection not in SELECTIONS:
            known = ", ".join(SELECTIONS)
            raise ValueError(f"selection = {self.selection}: must be one of {known}.")
        if self.selection == "estimate" and self.map != "regression":
            raise ValueError(f"map = {self.map}: an estimate needs map = regression.")
        if not (self.c >= 1 and 0.0 < self.epsilon_abc < math.inf):
            raise ValueError("a selection needs c >= 1 and a positive finite epsilon_abc.")

    def event(self, learnt: LinearMap) -> Done:
        """The event of a run, which holds its noise scale and depends on nothing private."""
        if math.isinf(self.epsilon_total):
            return NonPrivate()
        return embedding.calibrate(
            self.epsilon_total, self.delta, learnt.sensitivity, learnt.dimension
        )


class Statistics(linear_maps.Public, Protocol):
    """The part of a comparison that this mechanism reads: the pool, and one private vector."""

    @property
    def statistic(self) -> Array:
        """The data set's own statistic ``(D,)``."""
        ...


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published.

    Attributes:
        image: A e(Y*) ``(k,)``, private.
        released: the same with noise ``(k,)``; it may be published.
        distance: of the released vector to each draw's image ``(T,)``.
        effective_sample_size: of the importance weights; 0 without noise, where there are none.
    """

    image: Array = field(repr=False)
    released: Array = field(repr=False)
    distance: Array = field(repr=False)
    effective_sample_size: float


def learn(comparison: linear_maps.Public, setting: Setting) -> LinearMap:
    """The public map of a setting; learnt once, it serves every data set of the same pool and n.

    Raises:
        ValueError: there is none for this distance or this comparison.
    """
    return linear_maps.learn(comparison, setting.map, setting.axes, setting.sensitivity)


def release(
    comparison: Statistics,
    setting: Setting,
    rng: np.random.Generator,
    learnt: LinearMap | None = None,
) -> tuple[Release, Trace]:
    """Release the vector once, and take from the pool what the setting asks for.

    Args:
        comparison: of a distance between mean features, with the pool's statistics.
        setting: what is asked.
        rng: source of all chance.
        learnt: the map, if it is at hand already.

    Raises:
        ValueError: the distance has no such features, or the setting is out of range.
    """
    learnt = learn(comparison, setting) if learnt is None else learnt
    event = setting.event(learnt)
    image = learnt.matrix @ comparison.statistic
    noise = 0.0 if isinstance(event, NonPrivate) else embedding.draw(rng, event, learnt.dimension)
    released = image + noise
    distance = distances(released, learnt)
    size = effective_sample_size(importance_weights(distance, event))
    trace = Trace(image, released, distance, size)
    return select(released, setting, event, learnt, comparison.theta, rng), trace


def distances(released: Array, learnt: LinearMap) -> Array:
    """Distances ``(T,)`` of a released vector ``(k,)`` to the images of the pool."""
    found: Array = np.linalg.norm(learnt.images - released, axis=1)
    return found


def select(
    released: Array,
    setting: Setting,
    event: Done,
    learnt: LinearMap,
    theta: Array,
    rng: np.random.Generator,
) -> Release:
    """What a released vector says: post-processing, so it may be asked again and again.

    Args:
        released: the vector with its noise ``(k,)``.
        setting: what is asked for.
        event: how the vector was released.
        learnt: by which map.
        theta: parameters of the pool ``(T, d)``.
        rng: of the noise that is added to the pool's own vectors.
    """
    distance = distances(released, learnt)
    if setting.selection == "estimate":
        none = np.empty(0)
        prediction = learnt.predict(released)
        return Release(none.astype(np.int64), none, len(theta), event, prediction)
    if setting.selection == "noise-aware":
        weights = importance_weights(distance, event)
        if effective_sample_size(weights) >= ENOUGH:
            return Release(np.arange(len(theta)), weights, len(theta), event)
        return _moved(released, event, event, learnt, theta, rng)
    if setting.selection == "noise-ignored":
        return _moved(released, event, NonPrivate(), learnt, theta, rng)
    if setting.selection == "soft":
        weights = _normalised(-distance / setting.epsilon_abc)
        return Release(np.arange(len(theta)), weights, len(theta), event)
    indices = (
        np.flatnonzero(distance <= setting.epsilon_abc)
        if setting.selection == "threshold"
        else _nearest(distance, setting.c)
    )
    return Release(indices, np.full(len(indices), 1.0 / max(len(indices), 1)), len(theta), event)


def importance_weights(distance: Array, event: Done) -> Array:
    """Weights ``(T,)`` of the draws, adding up to 1: the noise's density at these distances.

    Without noise there is no density, and no weight.
    """
    if isinstance(event, NonPrivate):
        return np.empty(0)
    return _normalised(embedding.log_density(event, distance))


def _normalised(logarithms: Array) -> Array:
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()


def _nearest(distance: Array, count: int) -> NDArray[np.int64]:
    """Indices of the smallest distances, in order of the pool; all if there are no more."""
    return np.sort(np.argsort(distance, kind="stable")[:count])


def _moved(
    released: Array,
    event: Done,
    model: Done,
    learnt: LinearMap,
    theta: Array,
    rng: np.random.Generator,
) -> Release:
    """Nearest draws, each with noise as the model says, moved along a local-linear regression."""
    images, size = learnt.images, len(theta)
    if not isinstance(model, NonPrivate):
        images = images + embedding.draw(rng, model, learnt.dimension, (size,))
    away = images - released
    distance = np.linalg.norm(away, axis=1)
    indices = _nearest(distance, ACCEPTED)
    weights = _epanechnikov(distance[indices])
    samples = theta[indices] - away[indices] @ _slopes(away[indices], theta[indices], weights)
    return Release(indices, weights, size, event, samples=samples)


def _epanechnikov(distance: Array) -> Array:
    """Weights ``(m,)`` adding up to 1, falling to 0 at the largest distance."""
    farthest = float(distance.max())
    weights = 1.0 - (distance / farthest) ** 2 if len(distance) > 1 else np.ones(1)
    return weights / weights.sum()


def _slopes(away: Array, theta: Array, weights: Array) -> Array:
    """Slopes ``(k, d)`` of the weighted least-squares plane through parameters ``(m, d)``."""
    root = np.sqrt(weights)[:, None]
    design = np.hstack([np.ones((len(away), 1)), away])
    return np.linalg.lstsq(root * design, root * theta, rcond=None)[0][1:]
