"""One release by the sparse vector technique from the data of a scenario.

Its parameters, the public pool that it goes through and what it costs: what all studies of such a
release share, whatever they then look at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core import parameters as par
from abcdp_core import pool, simulators
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Parameter
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


def pool_key(params: ReleaseParams, seed: int) -> pool.PoolKey:
    """The public pool that a release goes through."""
    return pool.key_for(params.scenario, params.n, params.pool_size, seed)


def prepare(params: ReleaseParams, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(pool_key(params, seed), progress)


def comparison_of(params: ReleaseParams, seed: int) -> pool.Comparison:
    """The synthetic private data against the public pool, made and kept on disk if it is new.

    Its distances are ``(pool_size,)``.
    """
    return pool.observed_comparison(pool_key(params, seed), params.n)


def event_of(params: ReleaseParams) -> sparse_vector.SparseVector:
    """The event of a release with these parameters (MATH S2); it depends on nothing private."""
    distance = simulators.load(params.scenario).distance()
    sensitivity = distance.sensitivity(params.n, params.sensitivity)
    return sparse_vector.calibrate(
        params.epsilon_total, sensitivity, params.c, resample=params.resample
    )


def release(
    params: ReleaseParams, comparison: pool.Comparison, rng: np.random.Generator
) -> tuple[Release, sparse_vector.Trace]:
    """Release once ([P21] Algorithm 1), with what happened inside.

    Args:
        params: of the release.
        comparison: of the data, as :func:`comparison_of` gives it.
        rng: source of all noise.
    """
    return sparse_vector.run(comparison.rho, params.epsilon_abc, event_of(params), rng)


def both(
    params: ReleaseParams, comparison: pool.Comparison, seed: int
) -> tuple[Release, sparse_vector.Trace, Release]:
    """Release once with the noise that is asked for, and once without any.

    Returns:
        The private release, what happened inside, and the release without noise.
    """
    rng = generator(seed, "noise", 0, params.noise_draw)
    private, trace = release(params, comparison, rng)
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    return private, trace, plain


def kept(
    params: ReleaseParams, comparison: pool.Comparison, release: Release, /, **of: object
) -> pd.DataFrame:
    """Return a row for each parameter of each draw that a release kept.

    Args:
        params: of the release.
        comparison: of the data with the pool.
        release: what was kept.
        of: columns in front that are the same in all rows, such as the release's name.
    """
    names, count = list(simulators.load(params.scenario).AXES), len(release.indices)
    columns = {
        "sample": np.repeat(release.indices, len(names)),
        "parameter": np.tile(names, count),
        "value": comparison.theta[release.indices].ravel(),
        "weight": np.repeat(release.weights, len(names)),
    }
    return pd.DataFrame({**of, **columns})


def settings(params: ReleaseParams) -> str:
    """Say the four knobs in a line."""
    return settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))


def protected(params: ReleaseParams) -> str:
    """What one unit of the data is, e.g. "one of the N points"."""
    return unit_and_neighbours(params)[0]


def unit_and_neighbours(params: ReleaseParams) -> tuple[str, str]:
    """What one unit of the data is, and how data sets that must look alike differ in it."""
    return sparse_vector.LINEAR.protects(simulators.load(params.scenario))


def privacy_of(params: ReleaseParams) -> str:
    """What one release with these parameters guarantees, in words."""
    unit, neighbours = unit_and_neighbours(params)
    return statement(event_of(params), unit, neighbours=neighbours)
