r"""Release one noisy vector, then sample from it freely (MATH E1-E3).

The data enter only through one vector, $A e(Y^*)$: all features of the distance, or a linear map of
them fitted to the pool (:mod:`.linear_maps`). Only its one noisy release, $\tilde e = A e + z$,
costs privacy; any number of samples and estimates follows from $\tilde e$ and the pool for free.

| selection | result |
|---|---|
| ``nearest`` | the c draws with the smallest $d_t = \|\tilde e - A e_t\|_2$ |
| ``estimate`` | the regression's prediction from $\tilde e$, a point estimate |
| ``noise-aware`` | the posterior given the *released* vector, noise included |
| ``noise-ignored`` | the posterior as if $\tilde e$ had no noise, for comparison |

Only ``noise-aware`` accounts for the noise. The weight of draw t is the density of the noise at
$\tilde e - A e_t$: self-normalized importance sampling from the exact posterior given the release,
without a threshold (Gong 2022). If the noise is small, few draws carry all the weight and their
effective sample size is small. Then noise of the same distribution is added to each draw's vector,
and the nearest draws are moved to $\tilde e$ along a local-linear regression
(:mod:`.regression_adjustment`).

**How many draws that needs.** With few draws a regression, and a map fitted to the same pool, make
intervals too narrow. For five shares with N = 5000 and ε_total from 0.01 to 10, 90 % intervals of
moved draws cover 0.87 to 0.88 with pools of 100, 0.89 with 200, 0.89 to 0.90 with 300 and 0.90 to
0.91 with 1000 (10 pools with 60 data sets each, standard error 0.006). Draws left in place cover
0.91 to 0.92 with pools of 100 and 200, importance weights only 0.11 to 0.82. So draws are moved in
pools of :func:`minimum_pool` and more, and stay in place in smaller ones.

**Noise.** A vector that one person can move by at most $\Delta$ in the L2 norm is
$\epsilon$-differentially private with noise of density proportional to $\exp(-\|z\|_2 / s)$,
$s = \Delta/\epsilon$: for any two of its values $v, v'$ and any outcome $y$, by the triangle
inequality,

$$\frac{\|y - v'\|_2 - \|y - v\|_2}{s} \le \frac{\Delta}{s} = \epsilon,$$

with equality for every $y$ on the line through both, beyond $v$. In polar coordinates of $D$
dimensions this is a length $\|z\| \sim \mathrm{Gamma}(D, s)$ and an independent direction, uniform
on the sphere. For $(\epsilon, \delta)$ the noise is Gaussian (MATH W3). Noise is drawn first and at
scale 1, so another budget, c or selection reuses it. It is in floating point, which is good enough
for studies; its last digits are not exactly those of the proof.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, Params, choice
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    PosteriorInfo,
    Prepared,
    PublicSide,
    Release,
    linear_maps,
)
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.mechanisms.nearest_selection import nearest
from abcdp_core.mechanisms.regression_adjustment import posterior
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.distances.random_features import RandomFeatures
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy import Gaussian, NonPrivate, NormNoise, gaussian_series
from abcdp_core.privacy.calibration import check_counts, check_positive, scale_for

Done = NonPrivate | NormNoise | Gaussian

SELECTIONS = ("nearest", "estimate", "noise-aware", "noise-ignored")

AXES = 4
"""Principal axes that are released; all if there are fewer features."""

ENOUGH = 100.0
"""Effective sample size from which importance weights are used.

Half of the draws is enough too: then the release says so little that a small pool will do.
"""

FEWEST = 300
"""Least number of draws to move. 500 and 1000 of 10 000 give the same intervals for five shares."""

PER_NUMBER = 20
"""Least number of draws to move for each coefficient of the regression.

With 300 draws for the 47 coefficients of all features, 90 % intervals cover 0.75 to 0.84; with 940,
0.88 to 0.90.
"""


def minimum_pool(numbers: int) -> int:
    """Return the smallest pool whose draws are moved, for a vector of so many numbers."""
    return max(FEWEST, PER_NUMBER * (numbers + 1))


# ------------------------------------------------------------------------------------- the noise


def calibrate(epsilon_total: float, sensitivity: float, dimension: int) -> NormNoise:
    """Return the least norm noise whose cost is at most the budget, rounded to the safe side.

    The sensitivity is in the L2 norm.

    Raises:
        ValueError: an argument is not positive and finite.
    """
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    check_counts(dimension=dimension)
    return NormNoise(sensitivity, scale_for(epsilon_total, sensitivity), dimension)


def draw_norm_noise(rng: np.random.Generator, dimension: int, size: tuple[int, ...] = ()) -> Array:
    """Draw noise ``(*size, dimension)`` of scale 1: density proportional to exp(−‖z‖₂)."""
    direction = rng.standard_normal((*size, dimension))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    return rng.gamma(dimension, size=(*size, 1)) * direction


def draw(
    rng: np.random.Generator,
    event: NormNoise | Gaussian,
    dimension: int,
    size: tuple[int, ...] = (),
) -> Array:
    """Draw the noise ``(*size, dimension)`` of an event, at scale 1 and then scaled."""
    if isinstance(event, NormNoise):
        return event.scale * draw_norm_noise(rng, dimension, size)
    return event.scale * rng.standard_normal((*size, dimension))


# --------------------------------------------------------------------------------------- the run


def released(prepared: Prepared, comparison: Any, rng: np.random.Generator) -> Release:
    """Release the vector of a comparison once, and what was asked for from the pool.

    Of the comparison it reads the data's ``statistic (D,)`` and the pool's ``theta``.
    """
    vector, event = prepared.fitted.matrix @ comparison.statistic, cast(Done, prepared.event)
    if not isinstance(event, NonPrivate):
        vector = vector + draw(rng, event, prepared.fitted.dimension)
    return select(vector, prepared, comparison.theta, rng)


def select(released: Array, prepared: Prepared, theta: Array, rng: np.random.Generator) -> Release:
    """Return what was asked for, given a released vector; repeating this is free.

    Args:
        released: the vector with its noise ``(k,)``.
        prepared: how it was released, and what is asked for.
        theta: parameters of the pool ``(T, d)``.
        rng: of the noise that is added to the pool's vectors.
    """
    selection, fitted = prepared.options.selection, prepared.fitted
    event, size = cast(Done, prepared.event), 0.0
    if selection == "estimate":
        none = np.empty(0)
        prediction = fitted.predict(released)
        return Release(none.astype(np.int64), none, len(theta), event, prediction)
    images = fitted.images
    distance = np.asarray(np.linalg.norm(images - released, axis=1))
    if selection == "nearest":
        return Release.of_equals(nearest(distance, prepared.options.c), len(theta), event)
    if selection == "noise-aware":
        weights = importance_weights(distance, event)
        size = effective_sample_size(weights)
        if size >= min(ENOUGH, len(theta) / 2):
            made = PosteriorInfo("weighted", size, 0.0)
            return Release(np.arange(len(theta)), weights, len(theta), event, made=made)
        if not isinstance(event, NonPrivate):
            images = images + draw(rng, event, fitted.dimension, (len(images),))
    fewest = minimum_pool(fitted.dimension)
    support = prepared.public.scenario.support
    return posterior(images - released, event, support, theta, fewest, size)


def importance_weights(distance: Array, event: Done) -> Array:
    """Return weights ``(T,)`` of the draws: the noise's density at these distances, normalized.

    Without noise there are none.
    """
    if isinstance(event, NonPrivate):
        return np.empty(0)
    scaled = distance / event.scale
    logarithms = -scaled if isinstance(event, NormNoise) else -0.5 * scaled**2
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()


# ---------------------------------------------------------------------------------- the contract


MAP = choice(
    "Map of the features",
    "none: all features. axes: the leading principal axes over the pool. regression: a prediction "
    "of the parameters.",
    linear_maps.KINDS,
)
SELECTION = choice(
    "Result from the vector",
    "How to choose draws for the posterior, or a point estimate.",
    SELECTIONS,
)


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose. The sensitivity always comes from the map itself."""

    c: int = par.C.field(10)
    map: str = MAP.field("axes")
    selection: str = SELECTION.field("nearest")

    def check_together(self) -> None:
        """Refuse an estimate without a regression."""
        if self.selection == "estimate" and self.map != "regression":
            raise ParameterError(f"map = {self.map}: an estimate needs map = regression.")


def fit(public: PublicSide, options: Options) -> LinearMap:
    """Fit the map to the pool; it is the same for every c and selection."""
    return _fit(public, options.map)


@functools.lru_cache(maxsize=16)
def _fit(public: PublicSide, kind: str) -> LinearMap:
    features = AXES
    if public.statistics is not None:
        features = public.statistics.shape[1] - linear_maps.constants(public.distance)
    return linear_maps.fit(public, kind, min(AXES, features))


def calibrated(
    public: PublicSide,
    options: Options,
    fitted: LinearMap | None,
    budget: Budget,
    accountant: str,
) -> Done:
    """Return the noise of the vector; without a fitted map, of all features of an MMD."""
    if fitted is None and not isinstance(public.distance, FourierMMD | RandomFeatures):
        fitted = fit(public, options)
    if fitted is None:
        change = public.distance.sensitivity(public.n)
        point = np.zeros((1, 1, len(public.scenario.coordinates)))
        constant = linear_maps.constants(public.distance)
        dimension = public.distance.statistic(point).shape[-1] - constant
    else:
        change, dimension = fitted.sensitivity, fitted.dimension
    if accountant == "linear":
        return calibrate(budget.epsilon_total, change, dimension)
    series = gaussian_series.calibrate(budget.epsilon_total, budget.delta, 1, change, accountant)
    return Gaussian(series.sensitivity, series.scale)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of the vector; samples that follow from it are free."""
    event, pool_size = cast("NormNoise | Gaussian", prepared.event), prepared.public.pool_size
    measure = "ε" if isinstance(event, NormNoise) else "μ"
    return (
        Part("vector", 1, event.scale, event.sensitivity / event.scale, measure),
        Part("any number of samples from it", pool_size, event.scale, 0.0, measure),
    )


def refuses(scenario: Scenario) -> str:
    """Refuse scenarios whose distance does not compare mean features."""
    distance = scenario.distance()
    if math.isfinite(distance.statistic_sensitivity(scenario.n_default)):
        return ""
    return "Its distance does not compare means of bounded features, so there is nothing to embed."


def smallest_pool(scenario: Scenario) -> int:
    """Return the smallest pool whose draws are moved, given a prediction of each parameter."""
    return minimum_pool(len(scenario.axes))


NEAREST = Mechanism(
    name="private-embedding",
    title="Private embedding",
    description="Releases one noisy vector of mean features, paid for once. The c nearest draws "
    "follow from it.",
    source="ours",
    options=Options(),
    takes=("c",),
    accountants={"linear": "pure", **Mechanism.with_delta("rdp-classic", "rdp", "exact")},
    calibrate=calibrated,
    release=released,
    parts=parts,
    fit=fit,
    refuses=refuses,
    noise_needs_fitted=False,
    shown_in=("compare-mechanisms", "accounting"),
)

ONCE = "Releases one noisy vector, a regression's prediction of the parameters, paid for once."

ESTIMATE = dataclasses.replace(
    NEAREST,
    name="embedding-estimate",
    title="Estimate from an embedding",
    description=f"{ONCE} The result is a point estimate, not a sample.",
    options=Options(map="regression", selection="estimate"),
    takes=(),
    sample=False,
    shown_in=("compare-mechanisms",),
)

NOISE_AWARE = dataclasses.replace(
    NEAREST,
    name="embedding-noise-aware",
    title="Noise-aware posterior from an embedding",
    description=f"{ONCE} The posterior given that vector takes the noise into account.",
    options=Options(map="regression", selection="noise-aware"),
    takes=(),
    minimum_pool=smallest_pool,
    shown_in=("coverage",),
)

NOISE_IGNORED = dataclasses.replace(
    NOISE_AWARE,
    name="embedding-noise-ignored",
    title="Posterior that ignores the noise",
    description=f"{ONCE} The posterior treats that vector as exact, to show what goes wrong then.",
    options=Options(map="regression", selection="noise-ignored"),
)

MECHANISMS = (NEAREST, ESTIMATE, NOISE_AWARE, NOISE_IGNORED)
