"""What is released of records by a model: its statistics, as exact whole numbers on the lattice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry
from abcdp_core.own_model import lattice
from abcdp_core.own_model.lattice import Table, Whole, steps, whole_numbers
from abcdp_core.own_model.model import Model
from abcdp_core.own_model.statistics import OwnStatistic, Summary
from abcdp_core.own_model.user_errors import (
    TWICE,
    OwnError,
    call,
    call_quietly,
    check_again,
    place_of,
)
from abcdp_core.streams import generator

Array = NDArray[np.float64]

PART = 20
"""Draws that are simulated at a time."""

AT_ONCE = 4_000_000
"""Contributions that are in memory at once, 32 MB a copy; or those of one data set."""

LOOKED_AT = 200
"""Simulated records on which a statistic is compared with itself, one record at a time."""


def summaries_of(model: Model) -> tuple[Summary, ...]:
    """The numbers of a model, each as the file of a pool states it."""
    return tuple(each for own in model.statistics for each in own.summaries())


def of_model(model: Model) -> Table:
    """What is released of records by a model; it has statistics."""
    summaries = summaries_of(model)
    declared = tuple(each.name for each in model.statistics if each.kind == "declared")
    rounded = sum(each.kind == "declared" for each in summaries)
    last = model.sizes[-1]
    free = model.independent and model.neighbours == "replace" and not declared
    return Table(
        columns=tuple(each.name for each in model.columns),
        whole=frozenset(each.name for each in model.columns if each.whole),
        levels={each.name: each.levels for each in model.columns if each.levels},
        summaries=summaries,
        neighbours=model.neighbours,
        sizes=(min(2, last) if free else last, last),
        unit=model.unit,
        declared=declared,
        file=model.file,
        digest=hashlib.sha256(registry.texts.get(model.module, b"")).hexdigest(),
        statistic=lattice.statistic(
            summaries,
            model.neighbours,
            model.protected(by_numbers=True),
            lattice.sensitivity(summaries, model.neighbours, len(declared), rounded),
            lambda data: _together(model, data),
            lambda data: _one_by_one(model, data),
        ),
        bounds=lattice.bounds_in_words(
            [(each.name, each.low, each.high) for each in model.columns]
        ),
        wrong=lambda values: "",  # noqa: ARG005 - records are what they are
        simulate=lambda rng, theta, n: _simulated(model, rng, theta, n),
        check=lambda n, seed: _check(model, n, seed),
    )


def _together(model: Model, data: Array) -> Array:
    """Numbers ``(..., k)`` in units of public data sets ``(..., n, d)``."""
    absent = np.isnan(data).all(axis=-1, keepdims=True)
    parts = []
    for own in model.statistics:
        within, of = np.clip(data, model.low, model.high), own.summaries()
        what = f"statistic {own.name}"
        if own.kind == "declared":
            values = _finite(model, own, call(model.file, what, own.whole_set, within))
            if np.abs(values).max() > lattice.FARTHEST * own.l1:
                raise OwnError(f"{model.file}: {what} {lattice.TOO_FAR}.")
            found = whole_numbers(of, values, model.neighbours)
        else:
            values = call(model.file, what, own.contributions, within)
            values = _finite(model, own, np.where(absent, 0.0, values))
            whole = np.where(absent, 0, whole_numbers(of, values, model.neighbours))
            _check_cells(model, own, whole)
            found = whole.sum(axis=-2)
        parts.append(found / np.array(steps(of)))
    return np.concatenate(parts, axis=-1)


def _finite(model: Model, own: OwnStatistic, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise OwnError(f"{model.file}: statistic {own.name} makes NaN or infinity.")
    return values


def _check_cells(model: Model, own: OwnStatistic, whole: Whole) -> None:
    """Refuse a histogram that counts one record of ``(..., k)`` in several cells."""
    if own.kind == "histogram" and (whole.sum(axis=-1) > 1).any():
        raise OwnError(f"{model.file}: statistic {own.name} counts a record in several cells.")


def _one_by_one(model: Model, data: Array) -> list[int]:
    """Whole numbers ``(k,)`` of a private data set ``(n, d)``, one record at a time."""
    within = np.clip(data, model.low, model.high)
    present = within[~np.isnan(data).all(axis=-1)]
    numbers: list[int] = []
    for own in model.statistics:
        of, what = own.summaries(), f"statistic {own.name}"
        if own.kind == "declared":
            values = _quietly(model, what, own.whole_set, within)
            numbers += whole_numbers(of, values, model.neighbours).tolist()
            continue
        total = np.zeros(len(of), dtype=np.int64)
        for row, record in enumerate(present, start=1):
            values = _quietly(model, f"{what} of record {row}", own.contributions, record[None])
            whole = whole_numbers(of, values[0], model.neighbours)
            _check_cells(model, own, whole)
            total += whole
        numbers += total.tolist()
    return numbers


def _quietly(model: Model, what: str, function: Callable[[Array], Array], records: Array) -> Array:
    """What a statistic makes of private records; no error shows its words or a value."""
    found = call_quietly(model.file, what, function, records.copy())
    if not np.isfinite(found).all():
        raise OwnError(f"{model.file}: {what} is NaN or infinite; nothing was released.")
    return found


def _simulated(model: Model, rng: np.random.Generator, theta: Array, n: int) -> Array:
    """Numbers ``(m, k)`` in units, at parameters ``(m, p)``; NaN where a simulation failed."""
    k = len(summaries_of(model))
    found, step = np.full((len(theta), k), np.nan), max(1, AT_ONCE // (n * k))
    for start in range(0, len(theta), PART):
        data = model.records(rng, theta[start : start + PART], n)
        failed = model.failed(data)
        for first in range(0, len(data), step):
            done = first + np.flatnonzero(~failed[first : first + step])
            if len(done):
                found[start + done] = _together(model, data[done])
    return found


def _check(model: Model, n: int, seed: int) -> None:
    """Refuse a model that makes something else each time, so that nobody could verify a release."""
    first, second = (_made(model, n, seed) for _ in range(2))
    for place, what in enumerate(("prior is", "simulate is", "the statistics are")):
        check_again(model.file, what, first[place], second[place])
    theta = model.draw(generator(seed, "own-summary-prior"), PART)
    data = model.records(generator(seed, "own-summary-alone"), theta, n)
    check_alone(model, data[~model.failed(data)])


def _made(model: Model, n: int, seed: int) -> tuple[Array, ...]:
    """Parameters, data sets and numbers of the first draws."""
    theta = model.draw(generator(seed, "own-summary-prior"), PART)[:TWICE]
    data = model.records(generator(seed, "own-summary-again"), theta, n)
    return theta, data, _together(model, data[~model.failed(data)])


def check_alone(model: Model, data: Array) -> None:
    """Refuse a statistic that makes other contributions of records one at a time.

    Args:
        model: whose.
        data: simulated data sets ``(k, n, d)``, of which the first one is looked at.

    Raises:
        OwnError: one does; which, and at which line it begins.
    """
    records = data[:1, :LOOKED_AT].reshape(-1, data.shape[-1])
    present = records[~np.isnan(records).all(axis=-1)]
    for own in model.statistics if len(present) else ():
        if own.kind == "declared":
            continue
        what = f"statistic {own.name}"
        many = call(model.file, what, own.contributions, present.copy())
        single = [call(model.file, what, own.contributions, each[None].copy()) for each in present]
        first, second = (
            whole_numbers(own.summaries(), _finite(model, own, values), model.neighbours)
            for values in (many, np.concatenate(single))
        )
        # The last digit may depend on how many are computed at once; a count has no other.
        if np.abs(first - second).max() > (0 if own.whole else 1):
            raise OwnError(
                f"{model.file}: {what}{place_of(own.of, model.file)} makes something else of a "
                f"record alone than among others; compute it from each record alone, or declare "
                f"its sensitivity."
            )
