"""One release by the sparse vector technique from the data of a scenario.

Its parameters, the public pool that it goes through and what it costs: what all studies of such a
release share, whatever they then look at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core import parameters as par
from abcdp_core import simulators
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.pool.comparing import DistanceTable, observed_comparison
from abcdp_core.pool.key import PoolKey, key_for
from abcdp_core.pool.making import is_ready
from abcdp_core.privacy import statement
from abcdp_core.sentences import settings_line
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.streams import generator

PRIOR_SHOWN = 2000
"""Draws of the pool that stand for the prior in a table and its figure."""


@dataclass(frozen=True)
class SparseVectorParams(ScenarioParams):
    """What sets a release from the uniform mixture but size and budget, which a study adds."""

    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")


@dataclass(frozen=True)
class ReleaseParams(ScenarioParams):
    """One release: scenario and size of the data, the four knobs, and what else sets the noise."""

    scenario: str = Parameter(
        kind="choice",
        label="Scenario",
        help="Where the data come from.",
        options=tuple(dict.fromkeys((uniform_mixture.SCENARIO, *simulators.names()))),
    ).field(uniform_mixture.SCENARIO)
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(10)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)


def pool_key(params: ReleaseParams, seed: int) -> PoolKey:
    """The public pool that a release goes through."""
    return key_for(params.scenario, params.n, params.pool_size, seed)


def missing_pools(params: ReleaseParams, seed: int) -> list[PoolKey]:
    """Return the public pool unless its distances are at hand."""
    key = pool_key(params, seed)
    return [] if is_ready(key) else [key]


def comparison_of(params: ReleaseParams, seed: int) -> DistanceTable:
    """Return the synthetic private data against the public pool; kept on disk.

    Its distances are ``(pool_size,)``.
    """
    return observed_comparison(pool_key(params, seed), params.n)


def event_of(params: ReleaseParams) -> sparse_vector.SparseVector:
    """Return the event of a release with these parameters (MATH S2); it is public."""
    sensitivity = params.source.distance().sensitivity(params.n, params.sensitivity)
    return sparse_vector.calibrate(
        params.epsilon_total, sensitivity, params.c, resample=params.resample
    )


def release(
    params: ReleaseParams, comparison: DistanceTable, rng: np.random.Generator
) -> tuple[Release, sparse_vector.Trace]:
    """Release once ([P21] Algorithm 1), with what happened inside.

    Args:
        params: of the release.
        comparison: of the data, as :func:`comparison_of` gives it.
        rng: source of all noise.
    """
    return sparse_vector.run(comparison.rho, params.epsilon_abc, event_of(params), rng)


@dataclass(frozen=True)
class Pair:
    """A release with noise beside one without, from the same data and the same pool.

    Attributes:
        comparison: of the data with the pool.
        event: what the private one does with the data.
        private: with noise.
        trace: what happened inside.
        plain: without noise.
    """

    comparison: DistanceTable
    event: sparse_vector.SparseVector
    private: Release
    trace: sparse_vector.Trace
    plain: Release


def both(params: ReleaseParams, seed: int) -> Pair:
    """Release once with the noise that is asked for, and once without any."""
    comparison, event = comparison_of(params, seed), event_of(params)
    rng = generator(seed, "noise", 0, params.noise_draw)
    private, trace = sparse_vector.run(comparison.rho, params.epsilon_abc, event, rng)
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    return Pair(comparison, event, private, trace, plain)


def kept(
    params: ReleaseParams, comparison: DistanceTable, release: Release, /, **of: object
) -> pd.DataFrame:
    """Return a row for each parameter of each draw that a release kept.

    Args:
        params: of the release.
        comparison: of the data with the pool.
        release: what was kept.
        of: columns in front that are the same in all rows, such as the release's name.
    """
    names, count = list(params.source.AXES), len(release.indices)
    columns = {
        "sample": np.repeat(release.indices, len(names)),
        "parameter": np.tile(names, count),
        "value": comparison.theta[release.indices].ravel(),
        "weight": np.repeat(release.weights, len(names)),
    }
    return pd.DataFrame({**of, **columns})


def settings(params: ReleaseParams) -> str:
    """Return the four knobs in a line."""
    return settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))


def protected(params: ReleaseParams) -> str:
    """Return what one unit of the data is, e.g. "one of the N points"."""
    return sparse_vector.LINEAR.protects(params.source)[0]


def privacy_of(params: ReleaseParams) -> str:
    """Return what one release with these parameters guarantees, in words."""
    unit, neighbours = sparse_vector.LINEAR.protects(params.source)
    return statement(event_of(params), unit, neighbours=neighbours)
