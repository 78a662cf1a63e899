"""Turn a model into a scenario, with defaults for everything optional.

Defaults that need simulated data, such as the scale of a distance, are computed on first use from
:data:`PILOT` public draws. The seed is fixed, so every process gets the same values.

The model chooses the distance:

* ``numbers``, the default if there are statistics: their Euclidean distance, each in standard
  deviations over the prior (:mod:`~abcdp_core.models.distances.standardised`).
* ``records``: the kernel distance between records, exact for one column and by random Fourier
  features for several (:mod:`~abcdp_core.models.distances.boxed_features`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from abcdp_core.base import cache, fingerprint, transforms
from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Statistic, added, whole_only
from abcdp_core.base.streams import generator
from abcdp_core.models.distances import Distance, maximum_mean_discrepancy
from abcdp_core.models.distances.boxed_features import BoxedFeatures
from abcdp_core.models.distances.kernel import median_bandwidth
from abcdp_core.models.distances.standardised import Standardised
from abcdp_core.models.own_model import lattice, model_table
from abcdp_core.models.own_model.model import Model
from abcdp_core.models.own_model.statistics import KEY, as_one
from abcdp_core.models.own_model.user_errors import TWICE, OwnError
from abcdp_core.models.simulators import Later, Scenario

PILOT = 200
"""Number of public draws for scales; fewer where they do not fit into memory."""

MOST_VALUES = 20_000_000
"""Most values of records in these draws."""

WIDEST = 4.0
"""Largest distance between k standardized numbers, in units of √k; two draws are √2 apart on
average."""

NARROWEST = 0.05
BROADEST = 5.0
"""Range of bandwidths that studies allow, as fractions of a column's range."""


def scenario(model: Model, module: str, file: str) -> Scenario:
    """Turn a model into a scenario.

    Args:
        model: the model.
        module: name of the module that states it, under which results are cached.
        file: name of its file, for errors.
    """
    model = dataclasses.replace(model, module=module, file=file)
    sizes, highest = model.sizes, _highest(model)
    axes = {each.name: (each.low, each.high) for each in model.parameters}
    units = {each.name: each.unit for each in model.parameters}
    low, high = np.array([*axes.values()]).T
    on_simplex = len(model.parameters[0].concentrations) == len(model.parameters)
    label = "N · records"
    help_ = "With more records, each has less effect, so the same privacy needs less noise."
    if model.neighbours == "add-remove":
        label, help_ = "Room for records in a data set", "The number of records is private."

    def later(of: Callable[[Model], Any]) -> Any:
        """Compute from the model on first use, as it needs draws or simulated data."""
        return Later(functools.partial(of, model))

    more: dict[str, Any] = {}
    if model.statistics:
        table = model_table.of_model(model)
        more = lattice.stated(table, model.title, units, independent=model.independent)
    return Scenario(
        model=model,
        module=module,
        name=model.name,
        title=model.title,
        protected=model.protected(by_numbers=model.distance_kind == "numbers"),
        neighbours=model.neighbours,
        coordinates=tuple(column.name for column in model.columns),
        axes=axes,
        units=units,
        support=transforms.SIMPLEX if on_simplex else transforms.box(low, high),
        domain=(float(model.low.min()), float(model.high.max())),
        n=par.Parameter("integer", label, help_, sizes[0], sizes[-1], options=sizes),
        n_default=_usual(model),
        epsilon_abc=dataclasses.replace(
            par.EPSILON_ABC_MMD,
            low=highest / 2000.0,
            high=highest,
            steps=tuple(float(f"{highest * step:.3g}") for step in STEPS),
        ),
        c_default=model.accepted,
        pool_size=par.POOL_SIZE,
        pool_size_default=model.draws(),
        distances=(model.distance_kind,),
        distance_axis=highest,
        is_series=model.is_series,
        prior=model.draw,
        simulate=model.records,
        distance=functools.cache(functools.partial(_distance, model)),
        prior_law=later(operator.attrgetter("prior_law")),
        prior_mean=later(_prior_mean),
        truth=later(_truth),
        bandwidth=later(_bandwidth),
        epsilon_abc_default=later(_threshold),
        failed=model.failed if model.failures == "excluded" else None,
        statistics=statistics(model) if model.statistics else {},
        **more,
    )


STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Thresholds for a slider, as fractions of the largest distance."""


def statistics(model: Model) -> dict[str, Statistic]:
    """Return all statistics of a model as one that is released together."""
    is_declared = any(own.kind == "declared" for own in model.statistics)
    combine = whole_only if is_declared else added
    summaries, unit = model_table.summaries_of(model), model.protected(by_numbers=True)
    moves, reduce = model.moves(), _reduction(model)
    return {KEY: as_one(unit, model.neighbours, summaries, moves, reduce, combine)}


@functools.cache
def _reduction(model: Model) -> Callable[[Array], Array]:
    """Return the function that computes all numbers; cached, since equal distances share it."""
    return functools.partial(model_table.numbers, model)


_pilots: dict[Model, Array] = {}


def pilot(model: Model, progress: Callable[[float], None] | None = None) -> Array:
    """Return records ``(k, n, d)`` of public draws that did not fail; fixed, and cached on disk.

    Args:
        model: model of a scenario.
        progress: called with the fraction done, unless they are cached.
    """
    if model not in _pilots:
        entry = cache.entry(
            "pilot", {"model": model.name, "n": _usual(model)}, fingerprint.of(model.module)
        )
        made = cache.load_or_make(entry, lambda: {"records": _simulated(model, progress)})
        _pilots[model] = made["records"]
    return _pilots[model]


def has_pilot(model: Model) -> bool:
    """Return whether the public draws of a model are in memory."""
    return model in _pilots


def _simulated(model: Model, progress: Callable[[float], None] | None) -> Array:
    """Simulate public draws and drop those that fail, after checking reproducibility."""
    size = _usual(model) * len(model.columns)
    draws = max(PART, min(PILOT, MOST_VALUES // size))
    theta = model.draw(generator(0, "own-model-prior"), PILOT)[:draws]
    model_table.check_reproducible(model, _usual(model), 0)
    parts = []
    for start in range(0, draws, PART):
        rng = generator(0, "own-model-data", start)
        records = model.records(rng, theta[start : start + PART], _usual(model))
        parts.append(records[~model.failed(records)])
        if progress is not None:
            progress(min((start + PART) / draws, 1.0))
    left = np.concatenate(parts)
    if len(left) < TWICE:
        raise OwnError(f"{model.file}: simulate fails at {draws - len(left)} of {draws} draws.")
    return left


PART = 20
"""Draws simulated at a time; some simulators need much memory for many."""


def _usual(model: Model) -> int:
    """Return the default size of data sets."""
    return model.sizes[len(model.sizes) // 2]


def _prior_mean(model: Model) -> Array:
    """Return the mean ``(p,)`` of the prior, estimated from draws unless it is the midpoint."""
    if model.prior is None and all(
        each.prior in ("uniform", "normal") and not each.concentrations for each in model.parameters
    ):
        return np.array([(each.low + each.high) / 2.0 for each in model.parameters])
    return model.draw(generator(0, "own-model-mean"), 100_000).mean(axis=0)


def _truth(model: Model) -> Array:
    """Return the parameters at which data are simulated in place of private data."""
    if model.truth is not None:
        return np.array(model.truth, dtype=np.float64)
    return model.draw(generator(0, "own-model-truth"), 1)[0]


def _bandwidth(model: Model) -> float | None:
    """Return the median heuristic on public draws as a fraction of column ranges, to two digits."""
    if model.distance_kind != "records":
        return None
    records = pilot(model)
    scaled = (records - model.low) / (model.high - model.low)
    chosen = generator(0, "own-model-bandwidth").integers(records.shape[1], size=len(records))
    median = median_bandwidth(scaled[np.arange(len(records)), chosen])
    return float(f"{min(max(median, NARROWEST), BROADEST):.2g}")


def _threshold(model: Model) -> float:
    """Return a threshold that about one in fifty public draws meets, for the median data set."""
    records = pilot(model)
    metric = _distance(model)
    statistics = metric.statistic(records)
    tried = range(min(TRIED, len(statistics)))
    rho = [metric.compare(np.delete(statistics, i, axis=0), statistics[i]) for i in tried]
    usual = float(f"{np.median(np.quantile(rho, 0.02, axis=1)):.2g}")
    return min(max(usual, _highest(model) / 2000.0), metric.bound)


TRIED = 40
"""Most public data sets on which a threshold is tried."""


def _highest(model: Model) -> float:
    """Return the largest value of the default distance at any bandwidth."""
    if model.distance_kind == "numbers":
        return WIDEST * math.sqrt(sum(len(each.names) for each in model.statistics))
    return math.sqrt(2.0) if len(model.columns) == 1 else 2.0


@functools.cache
def _spread(model: Model) -> tuple[float, ...]:
    """Return the standard deviation of each number over public draws; 1 for a constant."""
    records = pilot(model)
    spread = model_table.numbers(model, records).std(axis=0)
    return tuple(float(f"{value:.3g}") if value > 0.0 else 1.0 for value in spread)


def _length(model: Model) -> float:
    """Bound the L2 change of the standardized numbers from one record."""
    lengths, place = [], 0
    for each in model.statistics:
        spread = _spread(model)[place : place + len(each.names)]
        lengths.append(each.moves(model.neighbours)[1] / min(spread))
        place += len(each.names)
    return math.hypot(*lengths) * (1.0 + 1e-12)


def _distance(model: Model, bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Return the model's distance, by default with the default bandwidth."""
    if model.distance_kind == "numbers":
        n = _usual(model) if model.neighbours == "replace" else None
        return Standardised(
            reduce=_reduction(model),
            weights=tuple(1.0 / value for value in _spread(model)),
            length=_length(model),
            bound=_highest(model),
            usual=n,
        )
    width = bandwidth if bandwidth is not None else _bandwidth(model)
    assert width is not None
    if len(model.columns) == 1:
        low, high = model.columns[0].low, model.columns[0].high
        return maximum_mean_discrepancy(low, high, width * (high - low))
    return BoxedFeatures(tuple(model.low.tolist()), tuple(model.high.tolist()), width)
