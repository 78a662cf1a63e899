"""Release by the sparse vector technique: draws of a public pool that resemble the series.

The series is compared with every data set of a pool that is simulated for this release and kept
nowhere. Which draws were accepted is what the budget pays for; with their public parameters they
are the release (:mod:`~abcdp_core.release.exact_noise` has the noise and the proof).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import pool, simulators
from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.pool import DistanceTable
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
from abcdp_core.release.request import (
    POOL_SEED,
    SERIES,
    SeriesRequest,
    columns_of,
    source_of,
    to_domain,
)

Array = NDArray[np.float64]

NO_KERNEL = "none"
"""Bandwidth where a scenario's distances have no kernel."""

DISTANCE = Parameter("choice", "Distance", "How the series is compared with simulated ones.")
BANDWIDTH = Parameter("real", "Bandwidth of the kernel", "In the unit of the scenario's values.")


@dataclass(frozen=True)
class SparseVectorRequest(SeriesRequest):
    """What is asked for; public. :meth:`defaults` has what a scenario starts from.

    Attributes:
        epsilon_abc: similarity threshold.
        c: acceptances after which the run stops.
        pool_size: public prior draws.
        distance: name of one of the scenario's.
        bandwidth: of its kernel, in the unit of the scenario's domain.
        resample: whether the threshold's noise is redrawn after each acceptance.
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
        """The scenario's own bounds.

        Raises:
            ParameterError: the scenario takes no series.
        """
        general = super().specification(scenario)
        if scenario is None or scenario not in general["scenario"].options:
            return general
        source = simulators.load(scenario)
        return general | {
            "epsilon_abc": source.EPSILON_ABC,
            "pool_size": source.POOL_SIZE,
            "distance": dataclasses.replace(DISTANCE, options=source.DISTANCES),
            "bandwidth": _bandwidths(source.BANDWIDTH),
        }

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """All but domain and budget, which a person has to choose."""
        source = simulators.load(scenario)
        return {
            "epsilon_abc": source.EPSILON_ABC_DEFAULT,
            "c": source.C_DEFAULT,
            "pool_size": source.POOL_SIZE_DEFAULT,
            "distance": source.DISTANCES[0],
            "bandwidth": source.BANDWIDTH or NO_KERNEL,
        }

    @classmethod
    def serves(cls, scenario: str) -> bool:
        """Every scenario that takes a series of values; all have a distance."""
        return columns_of(scenario) == (SERIES,)

    def check_together(self) -> None:
        """Refuse a domain without inside, or more acceptances than draws."""
        super().check_together()
        par.check_accepted(self.c, self.pool_size)

    def check_size(self, n: int) -> None:
        """Refuse a series that is too short or too long for its scenario or for the pool.

        Raises:
            ParameterError: it is.
        """
        super().check_size(n)
        par.check_work(n, self.pool_size)

    def event(self, n: int) -> SparseVector:
        """The run, in the unit of the distance."""
        return noise_of(self, n).event

    def noise_in_words(self, n: int) -> str:
        """The noise of the threshold."""
        return (
            f"The noise of the threshold ε_abc = {self.epsilon_abc:.4g} will have the scale "
            f"b = {self.event(n).threshold_scale:.3g}."
        )

    def settings_in_words(self) -> str:
        """Threshold and acceptances."""
        return f"ε_abc = {self.epsilon_abc:g}, c = {self.c}"

    def drowned(self, n: int) -> str:
        """Where the threshold's noise is larger than the threshold."""
        noise = self.event(n).threshold_scale
        if noise <= self.epsilon_abc:
            return ""
        return (
            f"The noise (scale {noise:.3g}) is larger than the threshold "
            f"ε_abc = {self.epsilon_abc:g}, so what comes out will say little more than the "
            f"prior. A larger ε_total, a smaller c or more data help."
        )


def _bandwidths(default: float | None) -> Parameter:
    """A tenth to ten times the default; only a word where there is no kernel."""
    if default is None:
        return dataclasses.replace(BANDWIDTH, kind="choice", options=(NO_KERNEL,))
    return dataclasses.replace(BANDWIDTH, low=default / 10.0, high=default * 10.0)


def pool_key(request: SparseVectorRequest, n: int) -> pool.PoolKey:
    """The public pool for a series of ``n`` values; made for this release and kept nowhere."""
    default = source_of(request).DISTANCES[0]
    return pool.PoolKey(
        scenario=request.scenario,
        bandwidth=None if isinstance(request.bandwidth, str) else request.bandwidth,
        pool_size=request.pool_size,
        largest_n=n,
        seed=request.pool_seed,
        distance=None if request.distance == default else request.distance,
    )


def noise_of(request: SparseVectorRequest, n: int) -> IntegerNoise:
    """The noise of a release from ``n`` values, for the sharp sensitivity; public."""
    sensitivity = pool_key(request, n).metric().sensitivity(n)
    return integer_noise(
        request.epsilon_total, sensitivity, request.c, grid(sensitivity), resample=request.resample
    )


# ---------------------------------------------------------------------------- what comes out


@dataclass(frozen=True)
class SparseVectorRecord(ReleaseRecord):
    """The accepted draws.

    Attributes:
        request: the settings.
        n: number of values in the series.
        release: the decisions and their event.
        theta: accepted parameters ``(k, d)``.
        reservation: what it was taken from, if from a budget.
    """

    request: SparseVectorRequest
    n: int
    release: Release
    theta: Array = field(repr=False)
    reservation: Reservation | None = None

    @property
    def sample(self) -> Array:
        """The accepted parameters."""
        return self.theta

    @property
    def summary(self) -> str:
        """How many were accepted."""
        were = "was" if len(self.theta) == 1 else "were"
        return (
            f"{len(self.theta)} of {self.request.c} samples {were} accepted after looking at "
            f"{self.release.stopped_at:,} of {self.request.pool_size:,} draws."
        )

    @property
    def in_own_words(self) -> str:
        """The mean of what was accepted, or the prior's."""
        source, some = source_of(self.request), len(self.theta) > 0
        mean = self.theta.mean(axis=0) if some else source.PRIOR_MEAN
        means = in_scale(self.parameters, mean)
        each = "; ".join(
            f"{parameter.name}: {value:.2g}{unit_of(parameter)}".replace("-", "\u2212")
            for parameter, value in zip(self.parameters, means, strict=True)
        )
        whose = "Mean of what was accepted" if some else "The prior's mean, as nothing was accepted"
        return f"{whose}: {each}."

    @property
    def finding(self) -> str:
        """The largest share, where the parameters are shares."""
        if not len(self.theta):
            return "Nothing was accepted: no more is known than before"
        means = self.values.mean(axis=0)
        if len({each.unit for each in self.parameters}) > 1:
            return "The curve through the series, in its own units"
        most = int(means.argmax())
        name = self.parameters[most].name
        return (
            f"In what was accepted the largest share is that of {name}: about {means[most]:.0f} %"
        )

    @property
    def settings(self) -> str:
        """Budget, threshold, acceptances and size."""
        request = self.request
        return (
            f"{request.spends}, ε_abc = {request.epsilon_abc:g}, c = {request.c:,}, N = {self.n:,}"
        )

    @property
    def marks_in_words(self) -> str:
        """Accepted values and two means."""
        if not len(self.theta):
            return "Grey: the prior's mean."
        return (
            "Upright marks: what was accepted. Diamond: its mean. Grey: the prior's mean. What was "
            "accepted does not tell how far its mean may be off."
        )

    def table(self) -> pd.DataFrame:
        """Means; there are no intervals, as acceptances do not tell how uncertain they are."""
        means = [self.said(row) or "nothing accepted" for row in range(len(self.parameters))]
        return pd.DataFrame(
            {"parameter": [each.name for each in self.parameters], "mean of accepted": means}
        )

    def exactness(self) -> str:
        """Rounding of the distances."""
        return (
            "Distances are computed in floating point; the noise has a margin for rounding of "
            f"2^-{FINENESS} of the sensitivity. Noise and comparison are exact, in whole numbers."
        )

    def contents(self) -> dict[str, Any]:
        """The decisions, the parameters and the same in the person's own scale."""
        source = source_of(self.request)
        return {
            "release": {
                "indices": self.release.indices.tolist(),
                "stopped_at": self.release.stopped_at,
                "parameters": list(source.AXES),
                "values": self.theta.tolist(),
            },
            "own_units": {
                "parameters": [each.name for each in self.parameters],
                "units": [each.unit for each in self.parameters],
                "values": self.values.tolist(),
            },
        }

    def marks(self, row: int) -> Marks:
        """Each accepted value, their mean and the prior's."""
        values = self.values[:, row]
        prior = in_scale(self.parameters, source_of(self.request).PRIOR_MEAN)
        return [
            (KEPT, values),
            (MEAN, values.mean(keepdims=True) if len(values) else values),
            (PRIOR, prior[row : row + 1]),
        ]

    def said(self, row: int) -> str:
        """The mean of what was accepted."""
        if not len(self.theta):
            return ""
        mean = float(self.values[:, row].mean())
        return f"{mean:.2g}{unit_of(self.parameters[row])}".replace("-", "\u2212")


# ------------------------------------------------------------------------------- the release


def measure(
    request: SparseVectorRequest, values: Array, progress: pool.Progress | None
) -> DistanceTable:
    """Make the public pool and compare the series with it."""
    source = source_of(request)
    public = pool.build(pool_key(request, len(values)), progress)
    data = source.from_series(to_domain(values, (request.low, request.high), source.DOMAIN))
    return pool.compare(public, data, synthetic=False)


def draw(
    request: SparseVectorRequest, n: int, comparison: DistanceTable, randbelow: RandBelow
) -> SparseVectorRecord:
    """Run the mechanism once."""
    noise = noise_of(request, n)
    release = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
    return SparseVectorRecord(request, n, release, comparison.theta[release.indices])


def read(request: SparseVectorRequest, n: int, content: Mapping[str, Any]) -> SparseVectorRecord:
    """The document of some decisions; their parameters are those of the public pool.

    Raises:
        ParameterError: no run decides so.
        KeyError, TypeError, ValueError: the content is of another form.
    """
    found = content["release"]
    indices = np.array(found["indices"], dtype=np.int64)
    stopped_at = int(found["stopped_at"])
    _check_run(request, indices, stopped_at)
    # Prior draws are the same whatever the size of the data sets simulated at them.
    smallest, _ = source_of(request).OWN_SIZES
    theta = pool.build(pool_key(request, smallest)).theta[indices]
    weights = np.ones(len(indices)) / max(len(indices), 1)
    release = Release(indices, weights, stopped_at, noise_of(request, n).event)
    return SparseVectorRecord(request, n, release, theta)


def _check_run(request: SparseVectorRequest, indices: NDArray[np.int64], stopped_at: int) -> None:
    ends = int(indices[-1]) + 1 if len(indices) == request.c else request.pool_size
    ordered = not len(indices) or (indices[0] >= 0 and bool((indices[1:] > indices[:-1]).all()))
    within = not len(indices) or indices[-1] < stopped_at
    if not (len(indices) <= request.c and ordered and within and stopped_at == ends):
        raise ParameterError("release: no run accepts these draws and stops there.")


RELEASABLE = ReleaseMechanism(
    request=SparseVectorRequest,
    title="Sparse vector",
    reason="Simulated data sets that resemble the series are accepted, each for its part of the "
    "budget; nothing is needed but a simulator of the data.",
    rank=1,
    measure=measure,
    draw=draw,
    read=read,
)
