r"""Tuberculosis with *patients* as units: one genotype report, released once with noise (MATH M9).

Model, parameters and prior are those of :mod:`.tuberculosis`. What differs is whose privacy is
protected. There a data point is a whole outbreak, and a single one must not be seen. Here the
data are one report, the sizes of its clusters (patients with the same strain), and one patient
is added or removed. Six numbers are kept of it: patients observed, clusters, clusters of one and of
two patients, the largest cluster, and the mean difference between successive sizes of the four
largest, $g = (s_{(1)} - s_{(4)}) / 3$, with clusters that are not there of size 0.

A data set is a table with one row per cluster. How many clusters there are is private, so rows of
size 0 follow up to :data:`ROWS`, and no number depends on them. The summaries of
:mod:`.tuberculosis` leave clusters above 80 out of the differences. Here they must not be left out:
at the edge of such a cut one patient can move g by 80/3.

The published data are those of San Francisco, and nobody knows the truth behind them; accuracy is
judged by reports held out from the pool.

Two of the summaries there, the months of the largest cluster, are not here: nothing bounds what a
single patient changes of them.

To see what the unit decides, the same numbers are stated once more with the whole outbreak as unit:
then each may change by all of its public range.

The pool in ``assets`` is made again by ``python -m tools.patients_pool``
in less than a minute.
"""

from __future__ import annotations

import functools
import io
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from abcdp_core import transforms
from abcdp_core.distances import Distance
from abcdp_core.distances.summaries import ClippedSummaries
from abcdp_core.parameters import Parameter, scale
from abcdp_core.posterior.priors import Prior
from abcdp_core.simulators import shipped, tuberculosis
from abcdp_core.statistic import Quantity, Question, Statistic, largest_length
from abcdp_core.streams import generator

Array = NDArray[np.float64]

SCENARIO = "tuberculosis-patients"
TITLE = "Tuberculosis, patients as units"
PROTECTED = "one patient"
NEIGHBOURS = "add-remove"
PUBLISHED = "San Francisco"
COORDINATES = ("patients in the cluster",)
AXES = tuberculosis.AXES
UNITS = tuberculosis.UNITS
TRUTH = None
PRIOR_MEAN = tuberculosis.PRIOR_MEAN
PRIOR_SD = tuberculosis.PRIOR_SD
SUPPORT = transforms.box(np.array([1.0, 0.0, 0.0, 0.0]), np.array([20.0, 30.0, 1.0, 400.0]))
PRIOR = Prior(tuberculosis.LAWS, tuberculosis.prior, tuberculosis.log_relative)
DOMAIN = (0.0, math.inf)
ROWS = 1000
"""Rows of a simulated report. Of the 23 000 of the pool none has more than 574 clusters."""

N = Parameter(
    kind="integer",
    label="Rows of a simulated report",
    help="Clusters come first, and rows of size 0 fill the table: how many there are is private.",
    low=ROWS,
    high=ROWS,
    options=(ROWS,),
)
N_DEFAULT = ROWS
EPSILON_ABC = scale(
    "ε_abc · similarity threshold",
    "A draw is accepted if its distance to the data is at most this. A distance, "
    "not a privacy parameter.",
    (0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10),
    high=10.0,
)
EPSILON_ABC_DEFAULT = 1.0
C_DEFAULT = 100
POOL_SIZE = scale(
    "T · prior draws in the pool",
    "Public simulations that are compared with the data.",
    (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000),
    low=10,
)
POOL_SIZE_DEFAULT = 20_000
DISTANCES = ("clipped-summaries",)
BANDWIDTH: float | None = None
DISTANCE_AXIS = 10.0

POOL = "tuberculosis-patients/pool.npz"
"""Parameters and numbers of :data:`DRAWS` reports, as whole numbers."""

DRAWS = 23_000
"""The first :data:`POOL_SIZE_DEFAULT` are the pool; the others are held out to judge it by."""

POOL_SEED = 1
CHUNK = 1000

RESOLUTION = np.array([1e3, 1e3, 1e4, 1e2])
"""The pool's parameters are rounded to a thousandth of R1 and t1, a ten-thousandth of R2 and a
hundredth of β *before* the simulation, so that whole numbers hold them without any loss."""

NAMES = ("patients", "clusters", "clusters of 1", "clusters of 2", "largest cluster", "g")
WHOLE = (1, 1, 1, 1, 1, 3)
"""g is a number of thirds."""


def prior(rng: np.random.Generator, size: int) -> Array:
    """Parameters ``(size, 4)``: R1, t1, R2, β; :func:`.tuberculosis.prior`."""
    return tuberculosis.prior(rng, size)


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Reports ``(k, size, 1)`` for parameters ``(k, 4)``: sizes of clusters, the largest first.

    Raises:
        ValueError: there is no balance, so that the number of hosts would grow without end.
    """
    return tuberculosis.clusters(rng, theta, size)[..., None]


def report(sizes: Array) -> Array:
    """A data set ``(1000, 1)`` from the sizes of clusters, rows of size 0 last; longer if need be.

    For a report of one's own too.
    """
    empty = np.zeros(max(ROWS - len(sizes), 0))
    return np.concatenate([sizes, empty])[:, None]


OBSERVED = report(np.repeat(*np.array(list(tuberculosis.SAN_FRANCISCO_CLUSTERS.items())).T))
"""San Francisco: its 326 clusters."""


def summarise(data: Array) -> Array:
    """Six numbers ``(..., 6)`` of reports ``(..., n, 1)``; rows of size 0 are ignored."""
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
    r"""Most by which the six numbers change when a patient joins a cluster of k, case by case.

    The number of patients moves by 1 in every case. The sorted sizes change in one place, by 1, so
    of the largest and the fourth largest *one* moves, by 1 at most, and g by 1/3.

    - k = 0, a new cluster: one cluster more, of one patient. The largest moves only if this is the
      first cluster of all.
    - k = 1: one cluster of 1 less and one of 2 more.
    - k = 2: one cluster of 2 less.
    - k ≥ 3: neither.

    In the last three the largest may be the one that grows. A patient who leaves goes the same way
    backwards. The sums are 13/3, 13/3, 10/3, 7/3: the L1 sensitivity is 13/3 (MATH M9).
    """
    g = Fraction(1, 3)
    return ((1, 1, 1, 0, 1, g), (1, 0, 1, 1, 1, g), (1, 0, 0, 1, 1, g), (1, 0, 0, 0, 1, g))


LIMITS = (1200, 600, 510, 100, 270, 80)
"""Public: above all of the pool's numbers."""


def _cut(data: Array) -> Array:
    """The six numbers ``(..., 6)``, none above :data:`LIMITS`."""
    return np.minimum(summarise(data), LIMITS)


numbers = functools.partial(Statistic.by_cases, names=NAMES, low=(0.0,) * 6, whole=WHOLE)

STATISTICS = {
    "cluster-summary": numbers(
        one_patient(),
        name="cluster-summary",
        unit="one patient",
        neighbours="add-remove",
        reduce=summarise,
        high=(math.inf,) * 6,
    ),
    # From one outbreak to any other, both cut.
    "cluster-summary-of-an-outbreak": numbers(
        (LIMITS,),
        name="cluster-summary-of-an-outbreak",
        unit="one outbreak",
        neighbours="replace",
        reduce=_cut,
        high=tuple(float(limit) for limit in LIMITS),
    ),
}
"""What may be released, the first by default."""

OWN_SIZES = (20_000, 20_000)
"""A report of one's own is a table of so many rows, of size 0 where there is no cluster: how many
there are is private."""

OWN_COLUMNS = ("labels", "sizes")
OWN_MODEL = (
    "For the genotypes of the patients that a register saw in two years: clusters of patients with "
    "the same strain, from the model of tuberculosis in San Francisco (Lintusaari et al., 2019), "
    "with some 300 to 1200 patients."
)
OWN_DATA = "a report of clusters"
OWN_NAMES = {
    "R1": "R₁, hosts not compliant with therapy",
    "t1": "net transmission, hosts not compliant with therapy",
    "R2": "R₂, hosts compliant with therapy",
    "β": "burden, new strains",
}
OWN_HIDDEN = "How many patients there are, and how many clusters, is protected too."
OWN_REPEATED = (
    "Whoever is in the report several times is protected less, and so are several people together: "
    "k patients, as a household or a whole outbreak, are protected with k times ε_total. A patient "
    "whose strain is another one, with the number of patients as it was, counts as two."
)


def recent_transmission(theta: Array, numbers: Array) -> Array:  # noqa: ARG001 - one interface
    """1 − clusters / patients ``(T,)``, in percent, of reports with six numbers ``(T, 6)``."""
    share: Array = 100.0 * (1.0 - numbers[:, 1] / np.maximum(numbers[:, 0], 1.0))
    return share


OWN_QUANTITIES = (
    Quantity("recent transmission, of the report's cases", "%", 0.0, 100.0, recent_transmission),
)
OWN_QUESTIONS = (
    Question(
        "R2",
        "R₂ < 1",
        1.0,
        "The prior allows no other value, whatever the data: this is no finding.",
    ),
    Question("R2", "R₂ < 0.1", 0.1),
)
OWN_HEADLINE = OWN_QUANTITIES[0].name
OWN_FINDING = "Of the report's cases {low} to {high} % come from recent transmission"


def from_series(values: Array) -> Array:
    """Sizes of clusters ``(n,)``, rows of size 0 among them, as a report ``(n, 1)``."""
    return values[:, None]


SPREAD = (109, 27, 27, 15, 23, 6)
"""Standard deviations of the six numbers over the pool, rounded: public."""


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Euclidean distance of the six numbers, each divided by its :data:`SPREAD`, at most 10."""
    cases = [
        [Fraction(c) / unit for c, unit in zip(case, SPREAD, strict=True)] for case in one_patient()
    ]
    weights = tuple(1.0 / unit for unit in SPREAD)
    return ClippedSummaries(summarise, weights, largest_length(cases), DISTANCE_AXIS)


@functools.cache
def _precomputed() -> tuple[Array, Array]:
    """Parameters ``(23000, 4)`` and numbers ``(23000, 6)`` of the file in ``assets``."""
    with np.load(io.BytesIO(shipped.read(POOL))) as file:
        theta, numbers = file["theta"].T / RESOLUTION, file["numbers"].T / np.array(WHOLE)
    theta.flags.writeable = numbers.flags.writeable = False
    return theta, numbers


def precomputed_pool(pool_size: int = POOL_SIZE_DEFAULT) -> tuple[Array, Array]:
    """The first draws ``(T, 4)`` of the pool in ``assets`` and their numbers ``(T, 6)``; public."""
    theta, numbers = _precomputed()
    size = min(pool_size, POOL_SIZE_DEFAULT)
    return theta[:size], numbers[:size]


def from_numbers(numbers: Array) -> tuple[Array, dict[str, Array]]:
    """What is kept of reports with six numbers ``(T, 6)`` each.

    Returns:
        Statistics of the distance ``(T, 6)``; name -> numbers ``(T, 6)`` of each statistic.
    """
    kept = {
        "cluster-summary": numbers,
        "cluster-summary-of-an-outbreak": np.minimum(numbers, LIMITS),
    }
    return numbers / np.array(SPREAD), kept


def held_out() -> tuple[Array, Array]:
    """3000 further draws ``(3000, 4)`` and the numbers ``(3000, 6)`` of their reports; public."""
    theta, numbers = _precomputed()
    return theta[POOL_SIZE_DEFAULT:], numbers[POOL_SIZE_DEFAULT:]


def draw(chunk: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Parameters ``(4, 1000)`` and numbers ``(6, 1000)`` of a chunk of the pool, made anew."""
    rng = generator(POOL_SEED, "tuberculosis-patients", chunk)
    whole = np.rint(prior(rng, CHUNK) * RESOLUTION)
    numbers = np.rint(summarise(simulate(rng, whole / RESOLUTION, ROWS)) * np.array(WHOLE))
    return whole.T.astype(np.uint16), numbers.T.astype(np.uint16)
