r"""Tuberculosis with *patients* as units: one genotype report, released once with noise (MATH M9).

Model, parameters and prior are those of :mod:`.tuberculosis`, where the unit of privacy is a whole
outbreak. Here the data are one report, the sizes of its clusters (patients with the same strain),
and one patient is added or removed. A report is reduced to six numbers: patients, clusters,
clusters of one and of two patients, the largest cluster, and the mean difference between successive
sizes of the four largest, $g = (s_{(1)} - s_{(4)}) / 3$, with size 0 for missing clusters.

A data set is a table with one row per cluster. The number of clusters is private, so rows of size 0
fill the table up to :data:`ROWS`; they affect no number. Unlike in :mod:`.tuberculosis`, clusters
above 80 are not left out of g: at such a cutoff one patient could move g by 80/3. The two summaries
on months of the largest cluster are omitted, since a single patient's effect on them is unbounded.

The published data are from San Francisco, where the truth is unknown. Accuracy is judged by reports
held out from the pool.

To show the effect of the unit, the same numbers are also stated with a whole outbreak as the unit.
Each may then change by its whole public range.

``python -m tools.patients_pool`` remakes the pool in ``assets`` in less than a minute.
"""

from __future__ import annotations

import functools
import io
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import transforms
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, scale
from abcdp_core.base.statistic import Quantity, Statistic, TailProbability, largest_length
from abcdp_core.base.streams import generator
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.summaries import ClippedSummaries
from abcdp_core.models.priors import Prior
from abcdp_core.models.simulators import Scenario, shipped, tuberculosis

ROWS = 1000
"""Rows of a simulated report. No report of the 23 000 in the pool has more than 574 clusters."""

POOL_SIZE_DEFAULT = 20_000
DISTANCE_AXIS = 10.0

POOL = "tuberculosis-patients/pool.npz"
"""Parameters and numbers of :data:`DRAWS` reports, stored as whole numbers."""

DRAWS = 23_000
"""The first :data:`POOL_SIZE_DEFAULT` are the pool; the others are held out."""

POOL_SEED = 1
CHUNK = 1000

RESOLUTION = np.array([1e3, 1e3, 1e4, 1e2])
"""Steps in a unit of R1, t1, R2 and β. Parameters of the pool are rounded to a step *before* the
simulation, so whole numbers store them exactly."""

NAMES = ("patients", "clusters", "clusters of 1", "clusters of 2", "largest cluster", "g")
WHOLE = (1, 1, 1, 1, 1, 3)
"""Parts of a unit of each number: g is a multiple of 1/3."""


def prior(rng: np.random.Generator, size: int) -> Array:
    """Draw parameters ``(size, 4)``: R1, t1, R2, β (:func:`.tuberculosis.prior`)."""
    return tuberculosis.prior(rng, size)


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Simulate reports ``(k, size, 1)`` for parameters ``(k, 4)``, the largest clusters first.

    Raises:
        ValueError: there is no balance, so the number of hosts would grow without bound.
    """
    return tuberculosis.clusters(rng, theta, size)[..., None]


def report(sizes: Array) -> Array:
    """Turn cluster sizes into a data set ``(1000, 1)``, or longer, with rows of size 0 last."""
    empty = np.zeros(max(ROWS - len(sizes), 0))
    return np.concatenate([sizes, empty])[:, None]


def summarise(data: Array) -> Array:
    """Reduce reports ``(..., n, 1)`` to six numbers ``(..., 6)``; rows of size 0 are ignored."""
    sizes = data[..., 0]
    fewest = max(4 - sizes.shape[-1], 0)
    padded = np.concatenate([sizes, np.zeros((*sizes.shape[:-1], fewest))], axis=-1)
    four = np.partition(padded, padded.shape[-1] - np.arange(1, 5), axis=-1)[..., -4:]
    return np.stack(
        [
            sizes.sum(axis=-1),
            (sizes > 0).sum(axis=-1),
            (sizes == 1).sum(axis=-1),
            (sizes == 2).sum(axis=-1),
            four[..., 3],
            (four[..., 3] - four[..., 0]) / 3.0,
        ],
        axis=-1,
    )


def one_patient() -> tuple[tuple[Fraction | int, ...], ...]:
    r"""Return the largest changes of the six numbers when a patient joins a cluster of k, by case.

    The number of patients always changes by 1. The sorted sizes change in one place, by 1, so only
    *one* of the largest and the fourth largest can change, by at most 1, and g by 1/3.

    - k = 0, a new cluster: one more cluster, of one patient. The largest changes only if this is
      the first cluster.
    - k = 1: one fewer cluster of 1 and one more of 2.
    - k = 2: one fewer cluster of 2.
    - k ≥ 3: neither.

    In the last three cases the largest cluster may grow. A patient who leaves reverses a case. The
    sums are 13/3, 13/3, 10/3 and 7/3, so the L1 sensitivity is 13/3 (MATH M9).
    """
    g = Fraction(1, 3)
    return ((1, 1, 1, 0, 1, g), (1, 0, 1, 1, 1, g), (1, 0, 0, 1, 1, g), (1, 0, 0, 0, 1, g))


LIMITS = (1200, 600, 510, 100, 270, 80)
"""Public; above all numbers in the pool."""


def _cut(data: Array) -> Array:
    """Return the six numbers ``(..., 6)``, cut at :data:`LIMITS`."""
    return np.minimum(summarise(data), LIMITS)


numbers = functools.partial(Statistic.by_cases, names=NAMES, low=(0.0,) * 6, whole=WHOLE)


def recent_transmission(theta: Array, numbers: Array) -> Array:  # noqa: ARG001 - one interface
    """Return 1 − clusters / patients ``(T,)``, in percent, for six numbers ``(T, 6)``."""
    return 100.0 * (1.0 - numbers[:, 1] / np.maximum(numbers[:, 0], 1.0))


OWN_QUANTITIES = (
    Quantity("recent transmission, of the report's cases", "%", 0.0, 100.0, recent_transmission),
)


def from_series(values: Array) -> Array:
    """Turn cluster sizes ``(n,)``, which may be 0, into a report ``(n, 1)``."""
    return values[:, None]


SPREAD = (109, 27, 27, 15, 23, 6)
"""Public: rounded standard deviations of the six numbers over the pool."""


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Return the Euclidean distance between the numbers divided by :data:`SPREAD`, at most 10."""
    cases = [
        [Fraction(c) / unit for c, unit in zip(case, SPREAD, strict=True)] for case in one_patient()
    ]
    weights = tuple(1.0 / unit for unit in SPREAD)
    return ClippedSummaries(summarise, weights, largest_length(cases), DISTANCE_AXIS)


@functools.cache
def _precomputed() -> tuple[Array, Array]:
    """Read parameters ``(23000, 4)`` and numbers ``(23000, 6)`` from ``assets``."""
    with np.load(io.BytesIO(shipped.read(POOL))) as file:
        theta, numbers = file["theta"].T / RESOLUTION, file["numbers"].T / np.array(WHOLE)
    theta.flags.writeable = numbers.flags.writeable = False
    return theta, numbers


def precomputed_pool(pool_size: int = POOL_SIZE_DEFAULT) -> tuple[Array, Array]:
    """Return the first draws ``(T, 4)`` of the shipped pool and their numbers ``(T, 6)``."""
    theta, numbers = _precomputed()
    size = min(pool_size, POOL_SIZE_DEFAULT)
    return theta[:size], numbers[:size]


def from_numbers(numbers: Array) -> tuple[Array, dict[str, Array]]:
    """Reduce six numbers ``(T, 6)`` of each report.

    Returns:
        Statistics of the distance ``(T, 6)``; name -> numbers ``(T, 6)`` of each statistic.
    """
    kept = {
        "cluster-summary": numbers,
        "cluster-summary-of-an-outbreak": np.minimum(numbers, LIMITS),
    }
    return numbers / np.array(SPREAD), kept


def held_out() -> tuple[Array, Array]:
    """Return 3000 further draws ``(3000, 4)`` and the numbers ``(3000, 6)`` of their reports."""
    theta, numbers = _precomputed()
    return theta[POOL_SIZE_DEFAULT:], numbers[POOL_SIZE_DEFAULT:]


def draw(chunk: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Remake the parameters ``(4, 1000)`` and numbers ``(6, 1000)`` of a chunk of the pool."""
    rng = generator(POOL_SEED, "tuberculosis-patients", chunk)
    whole = np.rint(prior(rng, CHUNK) * RESOLUTION)
    numbers = np.rint(summarise(simulate(rng, whole / RESOLUTION, ROWS)) * np.array(WHOLE))
    return whole.T.astype(np.uint16), numbers.T.astype(np.uint16)


SCENARIO = Scenario(
    module=__name__,
    name="tuberculosis-patients",
    title="Tuberculosis, by patient",
    protected="one patient",
    neighbours="add-remove",
    coordinates=("patients in the cluster",),
    axes=tuberculosis.SCENARIO.axes,
    units=tuberculosis.SCENARIO.units,
    prior_mean=tuberculosis.SCENARIO.prior_mean,
    prior_law=Prior(tuberculosis.PROPOSAL, tuberculosis.prior, tuberculosis.log_relative),
    support=transforms.box(np.array([1.0, 0.0, 0.0, 0.0]), np.array([20.0, 30.0, 1.0, 400.0])),
    domain=(0.0, math.inf),
    # The 326 clusters of San Francisco.
    observed=report(np.repeat(*np.array(list(tuberculosis.SAN_FRANCISCO_CLUSTERS.items())).T)),
    published="San Francisco",
    n=Parameter(
        kind="integer",
        label="Rows of a simulated report",
        help="Rows of size 0 follow the clusters and fill the table, since the number of clusters "
        "is private.",
        low=ROWS,
        high=ROWS,
        options=(ROWS,),
    ),
    n_default=ROWS,
    epsilon_abc=scale(
        "ε_abc · how close is close enough",
        "A draw is kept if its distance to the data is at most this. It is a distance, not a "
        "privacy parameter.",
        (0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10),
        high=10.0,
    ),
    epsilon_abc_default=1.0,
    c_default=100,
    pool_size=scale(
        "T · draws in the pool",
        "Public draws that are compared with the data.",
        (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000),
        low=10,
    ),
    pool_size_default=POOL_SIZE_DEFAULT,
    distances=("clipped-summaries",),
    distance_axis=DISTANCE_AXIS,
    statistics={
        "cluster-summary": numbers(
            one_patient(),
            name="cluster-summary",
            unit="one patient",
            neighbours="add-remove",
            reduce=summarise,
            high=(math.inf,) * 6,
        ),
        # One outbreak replaced by any other, both cut.
        "cluster-summary-of-an-outbreak": numbers(
            (LIMITS,),
            name="cluster-summary-of-an-outbreak",
            unit="one outbreak",
            neighbours="replace",
            reduce=_cut,
            high=tuple(float(limit) for limit in LIMITS),
        ),
    },
    prior=prior,
    simulate=simulate,
    distance=distance,
    precomputed_pool=precomputed_pool,
    from_numbers=from_numbers,
    from_series=from_series,
    # An uploaded report is filled up to this many rows, since the number of clusters is private.
    own_sizes=(20_000, 20_000),
    own_model=(
        "For genotypes of the patients in a register over two years: clusters of patients with the "
        "same strain, from the model of tuberculosis in San Francisco (Lintusaari et al., 2019), "
        "with about 300 to 1,200 patients."
    ),
    own_columns=("labels", "sizes"),
    own_data="a report of clusters",
    own_hidden="How many patients there are, and how many clusters, is protected too.",
    own_repeated=(
        "Whoever is in the report several times is protected less, and so are several people "
        "together: k patients, as a household or a whole outbreak, are protected with k times "
        "ε_total. A patient whose strain is another one, with the number of patients as it was, "
        "counts as two."
    ),
    own_names={
        "R1": "R₁, hosts not compliant with therapy",
        "t1": "net transmission, hosts not compliant with therapy",
        "R2": "R₂, hosts compliant with therapy",
        "β": "burden, new strains",
    },
    own_quantities=OWN_QUANTITIES,
    own_questions=(
        TailProbability(
            "R2",
            "R₂ < 1",
            1.0,
            "The prior allows no other value, whatever the data: this is no finding.",
        ),
        TailProbability("R2", "R₂ < 0.1", 0.1),
    ),
    own_headline=OWN_QUANTITIES[0].name,
    own_finding="Of the report's cases {low} to {high} % come from recent transmission",
)
