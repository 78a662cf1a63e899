"""Release by the sparse vector technique: draws of a public pool that resemble the series.

The series is compared with every data set of a pool that is simulated for this release and not
stored. The budget pays for which draws are kept. These decisions, with the public parameters of the
kept draws, are the release (:mod:`~abcdp_core.release.exact_noise` has the noise and the proof).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.base.sentences import counted
from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.models import pool, simulators
from abcdp_core.models.pool import DistanceTable
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.document import ReleaseRecord, in_scale, unit_of
from abcdp_core.release.exact_noise import (
    FINENESS,
    IntegerNoise,
    grid,
    integer_noise,
    release_exactly,
)
from abcdp_core.release.picture import KEPT, MEAN, PRIOR, Marks
from abcdp_core.release.releasable import ReleaseMechanism
from abcdp_core.release.request import POOL_SEED, SERIES, OwnParameter, SeriesRequest

NO_KERNEL = "none"
"""Bandwidth of distances without a kernel."""

DISTANCE = Parameter("choice", "Distance", "How your series is compared with simulated series.")
BANDWIDTH = Parameter("real", "Bandwidth of the kernel", "In the units of the scenario.")


@dataclass(frozen=True)
class SparseVectorRequest(SeriesRequest):
    """Public settings of a release by the sparse vector.

    Attributes:
        epsilon_abc: threshold of the distance.
        c: draws to keep; then the run stops.
        pool_size: number of draws in the public pool.
        distance: name of one of the scenario's distances.
        bandwidth: of its kernel, in the unit of the scenario's domain.
        resample: whether the threshold's noise is redrawn after each kept draw.
        pool_seed: of the public pool.
    """

    mechanism: ClassVar[str] = "sparse-vector"

    epsilon_abc: float = par.EPSILON_ABC_MMD.field(dataclasses.MISSING)
    c: int = par.C.field(dataclasses.MISSING)
    pool_size: int = par.POOL_SIZE.field(dataclasses.MISSING)
    distance: str = DISTANCE.field(dataclasses.MISSING)
    bandwidth: float | str = BANDWIDTH.field(dataclasses.MISSING)
    resample: bool = par.RESAMPLE.field(False)
    pool_seed: int = POOL_SEED.field(1)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the parameters by name, with the scenario's bounds.

        Raises:
            ParameterError: the scenario takes no series.
        """
        general = super().specification(scenario)
        if scenario is None or scenario not in general["scenario"].options:
            return general
        source = simulators.load(scenario)
        return general | {
            "epsilon_abc": source.epsilon_abc,
            "pool_size": source.pool_size,
            "distance": dataclasses.replace(DISTANCE, options=source.distances),
            "bandwidth": _bandwidths(source.bandwidth),
        }

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the default settings, without domain and budget."""
        source = simulators.load(scenario)
        return {
            "epsilon_abc": source.epsilon_abc_default,
            "c": source.c_default,
            "pool_size": source.pool_size_default,
            "distance": source.distances[0],
            "bandwidth": source.bandwidth or NO_KERNEL,
        }

    @classmethod
    def serves(cls, scenario: simulators.Scenario) -> bool:
        """Return whether a scenario takes a series of values; all of these have a distance."""
        return scenario.own_columns == (SERIES,)

    def check_together(self) -> None:
        """Check the domain, and that c is at most the number of draws."""
        super().check_together()
        par.check_accepted(self.c, self.pool_size)

    def check_size(self, n: int) -> None:
        """Check the number of values.

        Raises:
            ParameterError: it is out of the scenario's range, or too large for the pool.
        """
        super().check_size(n)
        par.check_work(n, self.pool_size)

    def event(self, n: int) -> SparseVector:
        """Return the event, in the unit of the distance."""
        return noise_of(self, n).event

    def noise_in_words(self, n: int) -> str:
        """Return the noise of the threshold in a sentence."""
        return (
            f"The noise on the threshold ε_abc = {self.epsilon_abc:.4g} will have scale "
            f"b = {self.event(n).threshold_scale:.3g}."
        )

    def settings_in_words(self) -> str:
        """Return threshold and draws to keep."""
        return f"ε_abc = {self.epsilon_abc:g}, c = {self.c:,}"

    def noise_warning(self, n: int) -> str:
        """Return a warning if the threshold's noise is larger than the threshold."""
        noise = self.event(n).threshold_scale
        if noise <= self.epsilon_abc:
            return ""
        return (
            f"The noise (scale {noise:.3g}) is larger than the threshold "
            f"ε_abc = {self.epsilon_abc:g}, so the results will say little more than the prior. "
            "A larger ε_total, a smaller c or more data help."
        )


def _bandwidths(default: float | None) -> Parameter:
    """From a tenth to ten times the default; only a word without a kernel."""
    if default is None:
        return dataclasses.replace(BANDWIDTH, kind="choice", options=(NO_KERNEL,))
    return dataclasses.replace(BANDWIDTH, low=default / 10.0, high=default * 10.0)


def pool_key(request: SparseVectorRequest, n: int) -> pool.PoolKey:
    """Return the key of the public pool for ``n`` values, which is not stored."""
    default = request.source.distances[0]
    return pool.PoolKey(
        scenario=request.source,
        bandwidth=None if isinstance(request.bandwidth, str) else request.bandwidth,
        pool_size=request.pool_size,
        largest_n=n,
        seed=request.pool_seed,
        distance=None if request.distance == default else request.distance,
    )


def noise_of(request: SparseVectorRequest, n: int) -> IntegerNoise:
    """Return the noise of a release from ``n`` values, for the sharp sensitivity; public."""
    sensitivity = pool_key(request, n).metric().sensitivity(n)
    return integer_noise(
        request.epsilon_total, sensitivity, request.c, grid(sensitivity), resample=request.resample
    )


@dataclass(frozen=True)
class SparseVectorRecord(ReleaseRecord):
    """The kept draws: the decisions with their event, and the parameters ``(k, d)``."""

    request: SparseVectorRequest
    n: int
    release: Release
    theta: Array = field(repr=False)
    reservation: Reservation | None = None

    @property
    def sample(self) -> Array:
        """The kept parameters."""
        return self.theta

    @property
    def summary(self) -> str:
        """How many draws were kept."""
        return (
            f"Kept {counted(len(self.theta), 'draw')} (c = {self.request.c:,}) after comparing "
            f"{self.release.stopped_at:,} of {self.request.pool_size:,} draws."
        )

    @property
    def finding(self) -> str:
        """The largest share, where the parameters are shares."""
        if not len(self.theta):
            return "No draw was kept; the estimate is the prior mean"
        means = self.values.mean(axis=0)
        if len({each.unit for each in self.parameters}) > 1:
            return "A curve through the series, in its own units"
        most = int(means.argmax())
        name = self.parameters[most].name
        return f"Estimated largest share: {name}, about {means[most]:.0f} %"

    @property
    def settings(self) -> str:
        """Budget, threshold, draws to keep and size."""
        request = self.request
        return (
            f"{request.spends}, ε_abc = {request.epsilon_abc:g}, c = {request.c:,}, N = {self.n:,}"
        )

    @property
    def marks_in_words(self) -> str:
        """Kept draws and two means."""
        kept = "Upright marks: kept draws. Diamond: their mean. " if len(self.theta) else ""
        return f"{kept}Gray: prior mean."

    @property
    def remarks(self) -> str:
        """What the estimate is, or that the draws give no interval."""
        if not len(self.theta):
            return "No draw was kept, so the estimate is the prior mean."
        return "The spread of the kept draws does not show the error of their mean."

    def table(self) -> pd.DataFrame:
        """Return the means; kept draws do not determine intervals."""
        means = [self.value_text(row) or "no draw kept" for row in range(len(self.parameters))]
        return pd.DataFrame(
            {"parameter": [each.name for each in self.parameters], "mean of kept draws": means}
        )

    def exactness(self) -> str:
        """Return which parts are exact."""
        return (
            "Distances are computed in floating point; the noise has a margin for rounding of "
            f"2^-{FINENESS} of the sensitivity. Noise and comparison are exact, in whole numbers."
        )

    def contents(self) -> dict[str, Any]:
        """Return the decisions and the parameters, also in the units of the data."""
        source = self.request.source
        return {
            "release": {
                "indices": self.release.indices.tolist(),
                "stopped_at": self.release.stopped_at,
                "parameters": list(source.axes),
                "values": self.theta.tolist(),
            },
            "own_units": {
                "parameters": [each.name for each in self.parameters],
                "units": [each.unit for each in self.parameters],
                "values": self.values.tolist(),
            },
        }

    def marks(self, row: int) -> Marks:
        """Return each kept value, their mean and the prior mean."""
        values = self.values[:, row]
        prior = in_scale(self.parameters, self.request.source.prior_mean)
        return [
            (KEPT, values),
            (MEAN, values.mean(keepdims=True) if len(values) else values),
            (PRIOR, prior[row : row + 1]),
        ]

    def value_text(self, row: int) -> str:
        """Return the mean of the kept draws."""
        if not len(self.theta):
            return ""
        return _with_unit(float(self.values[:, row].mean()), self.parameters[row])


def _with_unit(value: float, parameter: OwnParameter) -> str:
    return f"{value:.2g}{unit_of(parameter)}".replace("-", "\u2212")


def measure(
    request: SparseVectorRequest, values: Array, progress: pool.Progress | None
) -> DistanceTable:
    """Make the public pool and compare the series with it."""
    public = pool.build(pool_key(request, len(values)), progress)
    data = request.data_points(values)
    return pool.compare(public, data, synthetic=False)


def draw(
    request: SparseVectorRequest, n: int, comparison: DistanceTable, randbelow: RandBelow
) -> SparseVectorRecord:
    """Spend the budget: run the mechanism once."""
    noise = noise_of(request, n)
    release = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
    return SparseVectorRecord(request, n, release, comparison.theta[release.indices])


def read(request: SparseVectorRequest, n: int, content: Mapping[str, Any]) -> SparseVectorRecord:
    """Return the record of the decisions in a record's content, with parameters of the pool.

    Raises:
        ParameterError: no run makes these decisions.
        KeyError, TypeError, ValueError: the content has another form.
    """
    stated = content["release"]
    indices = np.array(stated["indices"], dtype=np.int64)
    stopped_at = int(stated["stopped_at"])
    _check_run(request, indices, stopped_at)
    # Prior draws are the same whatever the size of the data sets simulated at them.
    smallest, _ = request.source.own_sizes
    theta = pool.build(pool_key(request, smallest)).theta[indices]
    weights = np.ones(len(indices)) / max(len(indices), 1)
    release = Release(indices, weights, stopped_at, noise_of(request, n).event)
    return SparseVectorRecord(request, n, release, theta)


def _check_run(request: SparseVectorRequest, indices: NDArray[np.int64], stopped_at: int) -> None:
    ends = int(indices[-1]) + 1 if len(indices) == request.c else request.pool_size
    ordered = not len(indices) or (indices[0] >= 0 and bool((indices[1:] > indices[:-1]).all()))
    within = not len(indices) or indices[-1] < stopped_at
    if not (len(indices) <= request.c and ordered and within and stopped_at == ends):
        raise ParameterError("release: no run keeps these draws and stops there.")


RELEASABLE = ReleaseMechanism(
    request=SparseVectorRequest,
    title="Sparse vector",
    reason="This mechanism keeps simulated data sets that resemble yours; each spends a part of "
    "the budget. It needs only a simulator of the data.",
    rank=1,
    measure=measure,
    draw=draw,
    read=read,
)
