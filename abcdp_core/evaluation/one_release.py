"""One release by the sparse vector technique from a scenario's data: parameters, pool, guarantee.

Shared by all studies of such a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.sentences import settings_line
from abcdp_core.base.streams import generator
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.models import simulators
from abcdp_core.models.pool.comparing import DistanceTable, observed_comparison
from abcdp_core.models.pool.key import PoolKey, key_for
from abcdp_core.models.pool.making import is_ready
from abcdp_core.models.simulators import Scenario, ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import statement

PRIOR_SHOWN = 2000
"""Draws of the pool that represent the prior in a table and its figure."""


@dataclass(frozen=True)
class SparseVectorParams(ScenarioParams):
    """Parameters of a release from the uniform mixture, without size and budget."""

    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    c: int = par.C.field(MIXTURE.c_default)
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")


@dataclass(frozen=True)
class ReleaseParams(ScenarioParams):
    """Parameters of one release: scenario, the four knobs, and the other settings of the noise."""

    scenario: str = Parameter(
        kind="choice",
        label="Scenario",
        help="The data and their model.",
        options=tuple(dict.fromkeys((MIXTURE.name, *simulators.names()))),
    ).field(MIXTURE.name)
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    c: int = par.C.field(10)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)


def pool_key(params: ReleaseParams, seed: int) -> PoolKey:
    """Return the key of the public pool of a release."""
    return key_for(params.source, params.n, params.pool_size, seed)


def missing_pools(params: ReleaseParams, seed: int) -> list[PoolKey]:
    """Return the public pool if its distances are not cached."""
    key = pool_key(params, seed)
    return [] if is_ready(key) else [key]


def comparison_of(params: ReleaseParams, seed: int) -> DistanceTable:
    """Return the comparison of the synthetic private data with the public pool; kept on disk."""
    return observed_comparison(pool_key(params, seed), params.n)


def event_of(params: ReleaseParams) -> sparse_vector.SparseVector:
    """Return the event of a release with these parameters (MATH S2), which is public."""
    sensitivity = params.source.distance().sensitivity(params.n, params.sensitivity)
    return sparse_vector.calibrate(
        params.epsilon_total, sensitivity, params.c, resample=params.resample
    )


def release(
    params: ReleaseParams, comparison: DistanceTable, rng: np.random.Generator
) -> tuple[Release, sparse_vector.Trace]:
    """Make one release ([P21] Algorithm 1) and its trace.

    Args:
        params: parameters of the release.
        comparison: comparison of the data, from :func:`comparison_of`.
        rng: source of all noise.
    """
    return sparse_vector.run(comparison.rho, params.epsilon_abc, event_of(params), rng)


@dataclass(frozen=True)
class Pair:
    """A release with noise and one without, from the same data and pool.

    Attributes:
        comparison: comparison of the data with the pool.
        event: event of the private release.
        private: release with noise.
        trace: trace of the private release.
        plain: release without noise.
    """

    comparison: DistanceTable
    event: sparse_vector.SparseVector
    private: Release
    trace: sparse_vector.Trace
    plain: Release


def both(params: ReleaseParams, seed: int) -> Pair:
    """Make one release with noise and one without."""
    comparison, event = comparison_of(params, seed), event_of(params)
    rng = generator(seed, "noise", 0, params.noise_draw)
    private, trace = sparse_vector.run(comparison.rho, params.epsilon_abc, event, rng)
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    return Pair(comparison, event, private, trace, plain)


def kept(
    scenario: Scenario, comparison: DistanceTable, release: Release, /, **of: object
) -> pd.DataFrame:
    """Return a row for each parameter of each draw that a release kept.

    Args:
        scenario: of the data.
        comparison: comparison of the data with the pool.
        release: the release.
        of: columns in front with one value each, such as the name of the release.
    """
    names, count = list(scenario.axes), len(release.indices)
    columns = {
        "sample": np.repeat(release.indices, len(names)),
        "parameter": np.tile(names, count),
        "value": comparison.theta[release.indices].ravel(),
        "weight": np.repeat(release.weights, len(names)),
    }
    return pd.DataFrame({**of, **columns})


def settings(params: ReleaseParams) -> str:
    """Return the four knobs in one line."""
    return settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))


def privacy_of(params: ReleaseParams) -> str:
    """Return the privacy statement of one release with these parameters."""
    unit, neighbours = sparse_vector.LINEAR.protects(params.source)
    return statement(event_of(params), unit, neighbours=neighbours)
