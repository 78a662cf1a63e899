r"""Release once, then sample freely: one noisy vector, everything else from it (MATH E1-E3).

The data enter only through one vector, $A e(Y^*)$: all features of the distance, or a linear map of
them learnt from the pool (:mod:`.linear_maps`). It is released with noise, $\tilde e = A e + z$.
That is the one thing private data pay for. What follows looks at $\tilde e$ and at the pool, so any
number of samples and estimates costs nothing more.

| selection | what stands for the posterior |
|---|---|
| ``nearest`` | the c draws with the smallest $d_t = \|\tilde e - A e_t\|_2$ |
| ``estimate`` | the regression's prediction from $\tilde e$, a value and no sample |
| ``noise-aware`` | the posterior given the *released* vector, noise included |
| ``noise-ignored`` | the same as if $\tilde e$ were the data's own vector, to compare with |

All but the noise-aware one take $\tilde e$ for the data's own vector: at small budgets they are
sure of what is noise. Noise-aware, the weight of draw t is the density of the noise at
$\tilde e - A e_t$: self-normalised importance sampling from the exact posterior given the release,
without a threshold (Gong 2022). Where noise is small few draws carry all weight, and their
effective sample size says so. Then each draw's vector gets noise of its own, of the same law,
before the nearest are taken; and as these are not quite near, their parameters are moved along a
local-linear regression to where $\tilde e$ is (:mod:`.regression_adjustment`).

**How many draws that needs.** Moving trusts a plane through the accepted draws, and a map that was
learnt from the pool is closer to the pool's draws than to the data. Where there are few, both make
intervals too narrow. Coverage of 90 % intervals of draws that are moved, on the mixture of five
uniforms, N = 5000, with the regression's map; in brackets of draws left where they are, and of
importance weights. 10 pools with 60 data sets each, standard error 0.006:

| T | $\epsilon_{total}$ = 0.01 | 0.1 | 1 | 10 |
|---|---|---|---|---|
| 100 | 0.87 (0.91, 0.79) | 0.88 (0.92, 0.22) | 0.87 (0.92, 0.14) | 0.87 (0.92, 0.25) |
| 200 | 0.89 (0.91, 0.82) | 0.89 (0.91, 0.23) | 0.89 (0.92, 0.11) | 0.89 (0.91, 0.26) |
| 300 | 0.89 | 0.89 | 0.90 | 0.90 |
| 500 | 0.89 | 0.90 | 0.91 | 0.91 |
| 1000 | 0.90 | 0.90 | 0.91 | 0.91 |

So draws are moved in pools of :func:`minimum_pool` and more. In smaller ones they stay where they
are: intervals nearly as wide as the prior's, which say little and hold what so few draws can. With
importance weights, whose effective sample size is often 1 there, they would hold far less.
At N = 100 and N = 20 000, pools of 300 cover 0.88 to 0.91, pools of 200 down to 0.87.

Noise is drawn at scale 1 and first of all, so another budget, c or selection moves the same noise.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.distances.random_features import RandomFeatures
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
from abcdp_core.mechanisms.regression_adjustment import Near, near, nearest, posterior
from abcdp_core.parameters import ParameterError, Params, choice
from abcdp_core.privacy import Gaussian, NonPrivate, NormNoise, embedding, gaussian_series
from abcdp_core.summaries import effective_sample_size
from abcdp_core.transforms import Bijector

Array = NDArray[np.float64]
Done = NonPrivate | NormNoise | Gaussian

SELECTIONS = ("nearest", "estimate", "noise-aware", "noise-ignored")

AXES = 4
"""Principal axes that are released; all where there are fewer features."""

ENOUGH = 100.0
"""Effective sample size of the importance weights from which they are used.

Half of the draws is enough too: then the release says so little that a small pool is no obstacle.
"""

FEWEST = 300
"""Fewest draws accepted otherwise. 500 and 1000 of 10 000 give the same intervals on the toy."""

PER_NUMBER = 20
"""Fewest draws accepted for each coefficient of the regression.

With 300 draws for the 47 of all features 90 % intervals cover 0.75 to 0.84, with 940 they cover
0.88 to 0.90.
"""


def minimum_pool(numbers: int) -> int:
    """Fewest draws of a pool that are moved, for a released vector of so many numbers."""
    return max(FEWEST, PER_NUMBER * (numbers + 1))


# --------------------------------------------------------------------------------------- the run


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


def released(
    prepared: Prepared, comparison: Any, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Release the vector of a comparison once, and take from the pool what was asked for.

    Of the comparison it reads the data set's own ``statistic (D,)`` and the pool's ``theta``.
    """
    fitted: LinearMap = prepared.fitted
    event = cast(Done, prepared.event)
    image = fitted.matrix @ comparison.statistic
    noise = 0.0 if isinstance(event, NonPrivate) else embedding.draw(rng, event, fitted.dimension)
    vector = image + noise
    distance = distances(vector, fitted)
    size = effective_sample_size(importance_weights(distance, event))
    trace = Trace(image, vector, distance, size)
    return select(vector, prepared, comparison.theta, rng), trace


def distances(released: Array, fitted: LinearMap) -> Array:
    """Distances ``(T,)`` of a released vector ``(k,)`` to the images of the pool."""
    return np.asarray(np.linalg.norm(fitted.images - released, axis=1))


def select(released: Array, prepared: Prepared, theta: Array, rng: np.random.Generator) -> Release:
    """What a released vector says: post-processing, so it may be asked again and again.

    Args:
        released: the vector with its noise ``(k,)``.
        prepared: how it was released, and what is asked for.
        theta: parameters of the pool ``(T, d)``.
        rng: of the noise that is added to the pool's own vectors.
    """
    options: Options = prepared.options
    fitted: LinearMap = prepared.fitted
    event, support = cast(Done, prepared.event), prepared.public.support
    distance = distances(released, fitted)
    if options.selection == "estimate":
        none = np.empty(0)
        prediction = fitted.predict(released)
        return Release(none.astype(np.int64), none, len(theta), event, prediction)
    if options.selection == "noise-aware":
        weights = importance_weights(distance, event)
        size = effective_sample_size(weights)
        if size >= min(ENOUGH, len(theta) / 2):
            made = PosteriorInfo("weighted", size, 0.0)
            return Release(np.arange(len(theta)), weights, len(theta), event, made=made)
        found = _near(released, event, fitted, rng)
        return _posterior(found, event, support, theta, size)
    if options.selection == "noise-ignored":
        found = _near(released, NonPrivate(), fitted, rng)
        return _posterior(found, event, support, theta, 0.0)
    indices = nearest(distance, options.c)
    return Release(indices, np.full(len(indices), 1.0 / max(len(indices), 1)), len(theta), event)


def importance_weights(distance: Array, event: Done) -> Array:
    """Weights ``(T,)`` of the draws, adding up to 1: the noise's density at these distances.

    Without noise there is no density, and no weight.
    """
    if isinstance(event, NonPrivate):
        return np.empty(0)
    logarithms = embedding.log_density(event, distance)
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()


def _near(released: Array, model: Done, fitted: LinearMap, rng: np.random.Generator) -> Near:
    """Nearest draws, each with noise as the model says."""
    images = fitted.images
    if not isinstance(model, NonPrivate):
        images = images + embedding.draw(rng, model, fitted.dimension, (len(images),))
    return near(images - released, minimum_pool(fitted.dimension))


def _posterior(
    found: Near, event: Done, support: Bijector, theta: Array, importance_size: float
) -> Release:
    """The draws near a released vector, moved to it where there are enough for that."""
    enough = len(theta) >= minimum_pool(found.away.shape[1])
    return posterior(found, event, support, theta, move=enough, importance_size=importance_size)


# ---------------------------------------------------------------------------------- the contract


MAP = choice(
    "Map of the features",
    "none: all features. axes: the leading principal axes of the pool's. regression: the "
    "prediction of the parameters.",
    linear_maps.KINDS,
)
SELECTION = choice(
    "What follows from the vector",
    "Which draws stand for the posterior, or an estimate.",
    SELECTIONS,
)


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose. The sensitivity is always that of the map itself."""

    c: int = par.C.field(10)
    map: str = MAP.field("axes")
    selection: str = SELECTION.field("nearest")

    def check_together(self) -> None:
        """Refuse an estimate without a regression."""
        if self.selection == "estimate" and self.map != "regression":
            raise ParameterError(f"map = {self.map}: an estimate needs map = regression.")


def learnt_from(public: PublicSide, options: Options) -> LinearMap:
    """The map, learnt from the pool; the same one for every c and selection."""
    return _learnt(public, options.map)


@functools.lru_cache(maxsize=16)
def _learnt(public: PublicSide, kind: str) -> LinearMap:
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
    """The noise of the vector; of all features of an MMD if no map was learnt."""
    if fitted is None and not isinstance(public.distance, FourierMMD | RandomFeatures):
        fitted = learnt_from(public, options)
    if fitted is None:
        change = public.distance.sensitivity(public.n)
        point = np.zeros((1, 1, len(public.scenario.COORDINATES)))
        constant = linear_maps.constants(public.distance)
        dimension = public.distance.statistic(point).shape[-1] - constant
    else:
        change, dimension = fitted.sensitivity, fitted.dimension
    if accountant == "linear":
        return embedding.calibrate(budget.epsilon_total, 0.0, change, dimension)
    series = gaussian_series.calibrate(budget.epsilon_total, budget.delta, 1, change, accountant)
    return Gaussian(series.sensitivity, series.scale)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """One vector is paid for, and nothing that follows from it."""
    event, pool_size = cast("NormNoise | Gaussian", prepared.event), prepared.public.pool_size
    measure = "ε" if isinstance(event, NormNoise) else "μ"
    return (
        Part("vector", 1, event.scale, event.sensitivity / event.scale, measure),
        Part("any number of samples from it", pool_size, event.scale, 0.0, measure),
    )


def refuses(scenario: Any) -> str:
    """A distance that is no distance between mean features has nothing to embed."""
    distance = scenario.distance()
    if math.isfinite(distance.statistic_sensitivity(scenario.N_DEFAULT)):
        return ""
    return "Its distance is none between means of bounded features, so there is nothing to embed."


def smallest_pool(scenario: Any) -> int:
    """Fewest draws that are moved where a prediction of each parameter is released."""
    return minimum_pool(len(scenario.AXES))


NEAREST = Mechanism(
    name="private-embedding",
    title="Private embedding",
    description="One noisy vector of mean features, paid for once; the c nearest draws follow from "
    "it.",
    source="ours",
    options=Options(),
    takes=("c",),
    accountants={"linear": "pure", **Mechanism.with_delta("rdp-classic", "rdp", "exact")},
    calibrate=calibrated,
    release=released,
    parts=parts,
    fit=learnt_from,
    refuses=refuses,
    noise_needs_fitted=False,
    shown_in=("compare-mechanisms", "accounting"),
)

ONCE = "One noisy vector, the regression's prediction of the parameters, paid for once;"

ESTIMATE = dataclasses.replace(
    NEAREST,
    name="embedding-estimate",
    title="Estimate from an embedding",
    description=f"{ONCE} a value, no sample.",
    options=Options(map="regression", selection="estimate"),
    takes=(),
    sample=False,
    shown_in=("compare-mechanisms",),
)

NOISE_AWARE = dataclasses.replace(
    NEAREST,
    name="embedding-noise-aware",
    title="Noise-aware posterior from an embedding",
    description=f"{ONCE} the posterior given that vector, its noise taken into account.",
    options=Options(map="regression", selection="noise-aware"),
    takes=(),
    minimum_pool=smallest_pool,
    shown_in=("coverage",),
)

NOISE_IGNORED = dataclasses.replace(
    NOISE_AWARE,
    name="embedding-noise-ignored",
    title="Posterior that takes the noise for data",
    description=f"{ONCE} the posterior as if it had no noise, to see what goes wrong then.",
    options=Options(map="regression", selection="noise-ignored"),
)

MECHANISMS = (NEAREST, ESTIMATE, NOISE_AWARE, NOISE_IGNORED)
