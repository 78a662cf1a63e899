"""Numbers that a model releases: its statistics, as exact whole numbers on the lattice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from abcdp_core.base import registry
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.models.own_model import lattice
from abcdp_core.models.own_model.lattice import RecordSchema, Whole, steps, whole_numbers
from abcdp_core.models.own_model.model import Model
from abcdp_core.models.own_model.statistics import OwnStatistic, Summary
from abcdp_core.models.own_model.time_limit import limited
from abcdp_core.models.own_model.user_errors import (
    TWICE,
    OwnError,
    call,
    call_quietly,
    check_again,
    place_of,
)

PART = 20
"""Draws simulated at a time."""

AT_ONCE = 4_000_000
"""Most contributions in memory at once, 32 MB a copy, or those of one data set."""

LOOKED_AT = 200
"""Simulated records on which a statistic is evaluated one record at a time."""


def summaries_of(model: Model) -> tuple[Summary, ...]:
    """Return the numbers of a model."""
    return tuple(each for own in model.statistics for each in own.summaries())


def of_model(model: Model) -> RecordSchema:
    """Describe the release of records by a model with statistics."""
    summaries = summaries_of(model)
    declared = tuple(each.name for each in model.statistics if each.kind == "declared")
    rounded = sum(each.kind == "declared" for each in summaries)
    last = model.sizes[-1]
    is_sum = all(each.is_sum for each in model.statistics)
    free = model.independent and model.neighbours == "replace" and is_sum
    moved = sum((_moved_by_roundings(model, each) for each in model.statistics), Fraction(0))
    return RecordSchema(
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
            lattice.sensitivity(summaries, model.neighbours, len(declared) + moved, rounded),
            lambda data: numbers(model, data),
            lambda data: _one_by_one(model, data),
        ),
        bounds=lattice.bounds_in_words(
            [(each.name, each.low, each.high) for each in model.columns]
        ),
        wrong=lambda values: "",  # noqa: ARG005 - any records are valid
        simulate=lambda rng, theta, n: _simulated(model, rng, theta, n),
        check=lambda n, seed: _check(model, n, seed),
    )


def _moved_by_roundings(model: Model, own: OwnStatistic) -> Fraction:
    """Bound the effect of rounding on the difference of neighboring sums of a table, in units."""
    if own.kind != "declared" or not own.is_sum:
        return Fraction(0)
    (each,), farthest = own.summaries(), Fraction(max(abs(own.lower), abs(own.upper)))
    n, unit = model.sizes[-1], Fraction(each.unit(model.neighbours, 1))
    return Fraction(n**2, 2**52) * farthest / unit


def numbers(model: Model, data: Array) -> Array:
    """Compute numbers ``(..., k)``, in units, of public data sets ``(..., n, d)``.

    Records are clipped to the public bounds; absent ones are all NaN.

    Raises:
        OwnError: a user's statistic raises or returns something invalid.
    """
    absent = np.isnan(data).all(axis=-1, keepdims=True)
    has_absent = bool(absent.any())
    parts = []
    for own in model.statistics:
        within, of = np.clip(data, model.low, model.high), own.summaries()
        what, is_declared = f"statistic {own.name}", own.kind == "declared"
        values = call(model.file, what, own.values, within)
        if has_absent and not is_declared:
            values = np.where(absent, 0.0, values)
        whole = whole_numbers(of, _finite(model, own, values), model.neighbours)
        if not is_declared:
            whole = np.where(absent, 0, whole) if has_absent else whole
            _check_cells(model, own, whole)
            whole = whole.sum(axis=-2)
        elif (np.abs(values) > lattice.FARTHEST * of[0].unit(model.neighbours, 1)).any():
            raise OwnError(f"{model.file}: {what} {lattice.TOO_FAR}.")
        parts.append(whole / np.array(steps(of)))
    return np.concatenate(parts, axis=-1)


def _finite(model: Model, own: OwnStatistic, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise OwnError(f"{model.file}: statistic {own.name} returns NaN or infinity.")
    return values


def _check_cells(model: Model, own: OwnStatistic, whole: Whole) -> None:
    """Refuse a histogram that counts a record of ``(..., k)`` in several cells."""
    if own.kind == "histogram" and (whole.sum(axis=-1) > 1).any():
        raise OwnError(f"{model.file}: statistic {own.name} counts a record in several cells.")


def _one_by_one(model: Model, data: Array) -> list[int]:
    """Compute whole numbers ``(k,)`` of a private data set ``(n, d)``, one record at a time."""
    within = np.clip(data, model.low, model.high)
    present = within[~np.isnan(data).all(axis=-1)]
    wholes: list[int] = []
    for own in model.statistics:
        of, what = own.summaries(), f"statistic {own.name}"
        if own.kind == "declared":
            values = _quietly(model, what, own.values, within)
            wholes += whole_numbers(of, values, model.neighbours).tolist()
            continue
        total = np.zeros(len(of), dtype=np.int64)
        for row, record in enumerate(present, start=1):
            values = _quietly(model, f"{what} of record {row}", own.values, record[None])
            whole = whole_numbers(of, values[0], model.neighbours)
            _check_cells(model, own, whole)
            total += whole
        wholes += total.tolist()
    return wholes


def _quietly(model: Model, what: str, function: Callable[[Array], Array], records: Array) -> Array:
    """Evaluate a statistic on private records; errors contain no message and no value."""
    values = call_quietly(model.file, what, function, records.copy())
    if not np.isfinite(values).all():
        raise OwnError(f"{model.file}: {what} is NaN or infinite; nothing was released.")
    return values


def _simulated(model: Model, rng: np.random.Generator, theta: Array, n: int) -> Array:
    """Simulate numbers ``(m, k)``, in units, at parameters ``(m, p)``; NaN for failures."""
    if model.simulate_numbers is not None:
        return drawn_numbers(model, rng, theta, n)
    k = len(summaries_of(model))
    made, step = np.full((len(theta), k), np.nan), max(1, AT_ONCE // (n * k))
    for start in range(0, len(theta), PART):
        data = model.records(rng, theta[start : start + PART], n)
        failed = model.failed(data)
        for first in range(0, len(data), step):
            done = first + np.flatnonzero(~failed[first : first + step])
            if len(done):
                made[start + done] = numbers(model, data[done])
    return made


def drawn_numbers(model: Model, rng: np.random.Generator, theta: Array, n: int) -> Array:
    """Simulate numbers ``(m, k)``, in units, without records; NaN for failures.

    Raises:
        OwnError: ``simulate_numbers`` raises, or returns something invalid or a refused failure.
    """
    of, what = summaries_of(model), "simulate_numbers"
    assert model.simulate_numbers is not None
    with limited(model.file, len(theta)):
        made = call(model.file, what, model.simulate_numbers, rng, theta.copy(), n)
    values = np.array(made, dtype=np.float64)
    if values.shape != (wanted := (len(theta), len(of))):
        raise OwnError(f"{model.file}: {what} returns {values.shape}; it must be {wanted}.")
    failed = ~np.isfinite(values).all(axis=1)
    if failed.any() and model.failures == "refused":
        raise OwnError(f"{model.file}: {what} fails at {theta[failed][0].tolist()}.")
    for j, each in enumerate(of):
        values[:, j] = each.in_units(values[:, j], model.neighbours, n)
        if each.kind == "declared" and (np.abs(values[~failed, j]) > lattice.FARTHEST).any():
            raise OwnError(f"{model.file}: {what}: {each.name} {lattice.TOO_FAR}.")
    values[failed] = np.nan
    return np.rint(values * steps(of)) / steps(of)


def check_reproducible(model: Model, n: int, seed: int) -> None:
    """Refuse a model whose prior, simulator or statistics do not depend on the seed alone.

    Raises:
        OwnError: something is not reproducible; a function raises; ``log_prior`` is not the
            density of ``prior``; or the simulator does not use the generator it is given.
    """
    _, n = model.prior_law, model.rows(n)
    first, second = (_made(model, n, seed) for _ in range(2))
    subjects = ("prior is", "simulate is", "the statistics are", "simulate_numbers is")
    for place, what in enumerate(subjects[: len(first)]):
        check_again(model.file, what, first[place], second[place])
    if not model.deterministic:
        _check_random(model, n, seed)


def _check_random(model: Model, n: int, seed: int) -> None:
    """Refuse a simulator that gives the same data with two generators at all of several draws."""
    theta = model.draw(generator(seed, "own-summary-prior"), PART)
    for some in (theta[:TWICE], theta):
        first, second = (
            model.tried(generator(seed, "own-summary-random", each), some, n)[0] for each in (0, 1)
        )
        if model.failed(first).all() or not np.array_equal(first, second, equal_nan=True):
            return
    raise OwnError(
        f"{model.file}: simulate gives the same data with two generators at all of {PART} draws "
        "from the prior: draw all random numbers from rng, or declare deterministic=True if it "
        "needs none."
    )


def _check(model: Model, n: int, seed: int) -> None:
    """Refuse a model whose releases could not be verified, or that mixes records."""
    check_reproducible(model, n, seed)
    n = model.rows(n)
    theta = model.draw(generator(seed, "own-summary-prior"), PART)
    data = model.records(generator(seed, "own-summary-alone"), theta, n)
    check_alone(model, data[~model.failed(data)])


def _made(model: Model, n: int, seed: int) -> tuple[Array, ...]:
    """Return parameters, data sets and numbers of the first draws."""
    theta = model.draw(generator(seed, "own-summary-prior"), PART)[:TWICE]
    data, _ = model.tried(generator(seed, "own-summary-again"), theta, n)
    left = data[~model.failed(data)]
    made = theta, data, numbers(model, left) if model.statistics else left
    if model.simulate_numbers is None:
        return made
    return *made, drawn_numbers(model, generator(seed, "own-summary-numbers"), theta, n)


def check_alone(model: Model, data: Array) -> None:
    """Refuse a statistic whose contributions depend on other records.

    Args:
        model: the model.
        data: simulated data sets ``(k, n, d)``; the first is used.

    Raises:
        OwnError: a statistic does; with its line.
    """
    records = data[:1, :LOOKED_AT].reshape(-1, data.shape[-1])
    present = records[~np.isnan(records).all(axis=-1)]
    for own in model.statistics if len(present) else ():
        if own.kind == "declared":
            continue
        what = f"statistic {own.name}"
        many = call(model.file, what, own.values, present.copy())
        single = [call(model.file, what, own.values, each[None].copy()) for each in present]
        first, second = (
            whole_numbers(own.summaries(), _finite(model, own, values), model.neighbours)
            for values in (many, np.concatenate(single))
        )
        # The last digit may depend on how many records are computed at once, but no count may.
        if np.abs(first - second).max() > (0 if own.whole else 1):
            raise OwnError(
                f"{model.file}: {what}{place_of(own.of, model.file)} depends on other records; "
                f"compute it from each record alone, or declare its sensitivity."
            )
