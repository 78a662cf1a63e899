"""A release of shares from a person's own file: its error, and whether its intervals hold.

Files are simulated and go the whole way of a release, from values to document; only their noise is
from a seed instead of the operating system. The public pool of the sparse vector is made once.
"""

from __future__ import annotations

import functools
import random
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool, simulators
from abcdp_core.own_data import release
from abcdp_core.own_data.discrete_sparse_vector import release_exactly
from abcdp_core.own_data.noisy_counts import NoisyCountsDocument, NoisyCountsRequest
from abcdp_core.own_data.sparse_vector import SparseVectorRequest, noise_of, pool_key
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from benchmarks.goals import SEED, Measured, goal, mean, share

Array = NDArray[np.float64]

N = 2000
FILES = 2000
FILES_OF_POOL = 200
DOMAIN = {"low": 0.0, "high": 100_000.0}
"""Incomes, say."""


@goal("own-data-error-noisy-counts-file", at_most=0.002, against="file")
@goal("own-data-error-noisy-counts-population", at_most=0.0075, against="population")
def counts_error(against: str) -> Measured:
    """Mean absolute error of five shares released by noisy counts, ε_total = 1, 2000 values.

    Uniform mixture at its true weights; 2000 files. Against the file's own shares, which the
    release tells but for its noise, and against the population's, from which sampling alone moves
    them by 0.0062.
    """
    errors = [
        np.abs(made.told.own_mean - own if against == "file" else made.told.mean - theta).mean()
        for theta, own, made in _by_counts("truth")
    ]
    return mean(errors)


@goal("own-data-error-sparse-vector-file", at_least=0.02, at_most=0.04, against="file")
@goal("own-data-error-sparse-vector-population", at_least=0.02, at_most=0.04, against="population")
def sparse_vector_error(against: str) -> Measured:
    """The same of the mean of what the sparse vector accepts: why it is not the recommended one.

    The scenario's ε_abc = 0.1, c = 10 and 10,000 draws; the prior's mean where nothing was
    accepted; 200 files.
    """
    errors = [
        np.abs(estimate - (own if against == "file" else theta)).mean()
        for theta, own, estimate in _by_sparse_vector()
    ]
    return mean(errors)


@goal("own-data-coverage-truth", at_least=0.87, at_most=0.93, weights="truth")
@goal("own-data-coverage-prior", at_least=0.87, at_most=0.93, weights="prior")
def coverage(weights: str) -> Measured:
    """How often 90 % intervals of noisy counts hold the population's shares, ε_total = 1.

    2000 values, 2000 files; the share of five intervals each that hold. Weights: the scenario's
    true ones, or drawn from the prior for each file, which is what the intervals are made for.
    """
    held = [
        np.mean((made.told.low <= theta) & (theta <= made.told.high))
        for theta, _, made in _by_counts(weights)
    ]
    return mean(held)


@goal("own-data-coverage-file", at_least=0.87)
def coverage_of_file() -> Measured:
    """How often 90 % intervals of noisy counts hold the file's own share in the first interval.

    As above, weights from the prior. Counts are whole, so an interval holds 90 % or more.
    """
    held = [
        bool(made.told.own_low[0] <= own[0] <= made.told.own_high[0])
        for _, own, made in _by_counts("prior")
    ]
    return share(sum(held), len(held))


@functools.cache
def _by_counts(weights: str) -> list[tuple[Array, Array, NoisyCountsDocument]]:
    """Weights, the file's own shares and the document of each file."""
    request = NoisyCountsRequest("uniform-mixture", epsilon_total=1.0, **DOMAIN)
    noise = random.Random(SEED).randrange
    found = []
    for file in range(FILES):
        theta, values = _file(weights, file)
        made = cast(NoisyCountsDocument, release.make(request, values, noise))
        found.append((theta, _own(values), made))
    return found


@functools.cache
def _by_sparse_vector() -> list[tuple[Array, Array, Array]]:
    """Weights, the file's own shares and the estimate of each file."""
    usual = SparseVectorRequest.defaults("uniform-mixture")
    request = SparseVectorRequest("uniform-mixture", epsilon_total=1.0, **DOMAIN, **usual)
    public = pool.build(pool_key(request, N))
    noise, randbelow = noise_of(request, N), random.Random(SEED).randrange
    prior_mean, found = simulators.load("uniform-mixture").PRIOR_MEAN, []
    for file in range(FILES_OF_POOL):
        theta, values = _file("truth", file)
        data = (values / DOMAIN["high"] * 5.0)[:, None]
        comparison = pool.compare(public, data, synthetic=False)
        made = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
        found.append((theta, _own(values), made.mean(comparison.theta, prior_mean)))
    return found


def _file(weights: str, file: int) -> tuple[Array, Array]:
    """Weights, and values of a file that is drawn with them."""
    rng = generator(SEED, "own-data", file)
    theta = uniform_mixture.TRUTH if weights == "truth" else uniform_mixture.prior(rng, 1)[0]
    points = uniform_mixture.simulate(rng, theta[None], N)[0, :, 0]
    return theta, points / 5.0 * DOMAIN["high"]


def _own(values: Array) -> Array:
    """Shares of the values in each fifth of the domain."""
    fifths = np.minimum(values // (DOMAIN["high"] / 5.0), 4).astype(int)
    return np.bincount(fifths, minlength=5) / len(values)
