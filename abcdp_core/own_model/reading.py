"""A pool made anywhere, read by its TOML file; what is wrong is one line that says where."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import syntax
from abcdp_core.own_model import tables
from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.model import NAME, Parameter
from abcdp_core.own_model.pool_file import PoolFile, Summary
from abcdp_core.own_model.statistics import AS_HTML, HTML, LARGEST, SMALLEST
from abcdp_core.parameters import shown
from abcdp_core.statistic import Neighbours

Array = NDArray[np.float64]

KEYS = {
    "": {"name", "title", "unit", "neighbours", "n", "pool", "theta", "summary", "declared"},
    "theta": {"low", "high", "unit"},
    "summary": {"kind", "lower", "upper", "group", "sensitivity", "column"},
    "declared": {"l1", "l2"},
}  # fmt: skip
"""Table of the file -> keys that it may have."""

NEEDED = {"": ("name", "unit", "neighbours", "n", "pool", "theta", "summary")}

KINDS = ("count", "mean", "sum")

FEWEST = 100
"""Draws without which there is nothing to learn from."""

LARGEST_FILE = 1_000_000
"""Bytes of a TOML file."""

MOST_RECORDS = 10**12
"""Largest n: beyond, floating point could not tell one record from none."""

LABEL = re.compile(r"[^\x00-\x1f]{1,200}")


def read(file: Path) -> PoolFile:
    """A pool by its TOML file.

    Raises:
        OwnError: one line names the file and what is wrong where.
    """
    try:
        tables.check_file(file)
        if file.stat().st_size > LARGEST_FILE:
            raise OwnError(f"{file.name}: is larger than {LARGEST_FILE:,} bytes.")
        found = syntax.toml(file.read_text(encoding="utf-8-sig"))
    except OwnError:
        raise
    except OSError as error:
        raise OwnError(f"{file.name}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        # A whole number of thousands of digits is a plain ValueError.
        raise OwnError(f"{file.name}: is no TOML ({error}).") from error
    said = _Reader(file.name)
    said.check_keys(found, "", "")
    neighbours = said.one_of(found, "neighbours", ("replace", "add-remove"))
    if not NAME.fullmatch(name := said.text(found, "name")):
        raise said.wrong("name", name, "must be in lower case with hyphens")
    n = found["n"]
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_RECORDS:
        raise said.wrong("n", n, f"must be a whole number from 1 to {MOST_RECORDS:,}")
    declared = _declared(said, found)
    parameters = tuple(_parameter(said, *item) for item in said.tables(found, "theta"))
    summaries = tuple(
        _summary(said, key, table, neighbours, is_declared=declared is not None)
        for key, table in said.tables(found, "summary")
    )
    table = tables.read(file.parent / said.text(found, "pool"))
    place = said.text(found, "pool")
    theta, values = _columns(place, table, parameters, summaries)
    for number, each in enumerate(summaries):
        _check_summary(place, each, values[:, number], neighbours, n)
    units = [each.in_units(values[:, i], neighbours, n) for i, each in enumerate(summaries)]
    return PoolFile(
        file=file,
        name=name,
        title=said.text(found, "title") if "title" in found else name,
        unit=said.text(found, "unit"),
        neighbours=cast(Neighbours, neighbours),
        n=n,
        parameters=parameters,
        summaries=summaries,
        declared=declared,
        theta=theta,
        numbers=np.stack(units, axis=1),
    )


class _Reader:
    """Keys of one file, and how what is wrong with them is said."""

    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, key: str, value: object, why: str) -> OwnError:
        return OwnError(f"{self.file}: key {key} = {shown(value)}: {why}.")

    def check_keys(self, table: Mapping[str, Any], kind: str, at: str) -> None:
        known = sorted(KEYS[kind])
        for key in table:
            if key not in known:
                why = f"known are {', '.join(known)}"
                if at + key == "observed":
                    # A public file is no place for them.
                    why = f"records are given to `release {self.file} --data FILE.csv`"
                raise OwnError(f"{self.file}: key {at}{key}: is unknown; {why}.")
        for key in NEEDED.get(kind, ()):
            if key not in table:
                raise OwnError(f"{self.file}: key {at}{key}: is missing.")

    def text(self, table: Mapping[str, Any], key: str) -> str:
        value = table[key]
        if not isinstance(value, str) or not LABEL.fullmatch(value):
            raise self.wrong(key, value, "must be a text of 1 to 200 characters")
        if HTML.search(value):
            raise self.wrong(key, value, AS_HTML)
        return value

    def one_of(self, table: Mapping[str, Any], key: str, options: tuple[str, ...]) -> str:
        value = table[key.rpartition(".")[2]]
        if value not in options:
            raise self.wrong(key, value, f"must be one of {', '.join(options)}")
        return str(value)

    def number(self, table: Mapping[str, Any], key: str, at: str) -> float:
        if key not in table:
            raise OwnError(f"{self.file}: key {at}{key}: is missing.")
        value = table[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"{at}{key}", value, "must be a number")
        # Of a whole number of any size a float cannot be asked for first.
        if not abs(value) <= LARGEST:
            raise self.wrong(f"{at}{key}", value, f"must lie within ±{LARGEST:g}")
        return float(value)

    def above_zero(self, table: Mapping[str, Any], key: str, at: str) -> float:
        """A sensitivity, by which numbers are divided."""
        value = self.number(table, key, at)
        if value < SMALLEST:
            raise self.wrong(f"{at}{key}", value, f"must be {SMALLEST:g} or more")
        return value

    def tables(self, found: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
        tables = found[key]
        if not isinstance(tables, dict) or not tables:
            raise OwnError(f"{self.file}: key {key}: must be tables [{key}.NAME], one at least.")
        for name, table in tables.items():
            self.text({key: name}, key)
            if not isinstance(table, dict):
                raise OwnError(f"{self.file}: key {key}.{name}: must be a table.")
            self.check_keys(table, key, f"{key}.{name}.")
        return list(tables.items())


def _parameter(said: _Reader, name: str, table: Mapping[str, Any]) -> Parameter:
    at = f"theta.{name}."
    low, high = said.number(table, "low", at), said.number(table, "high", at)
    if not high - low >= SMALLEST:
        raise said.wrong(f"{at}high", high, f"must be above low = {low:g}, by {SMALLEST:g} or more")
    unit = said.text(table, "unit") if table.get("unit") else ""
    return Parameter(name, low, high, unit)


def _summary(
    said: _Reader, name: str, table: Mapping[str, Any], neighbours: str, *, is_declared: bool
) -> Summary:
    at = f"summary.{name}."
    column = said.text(table, "column") if "column" in table else name
    alone = ("kind", "lower", "upper", "group")
    if is_declared or "sensitivity" in table:
        both = [key for key in (*alone, *(("sensitivity",) * is_declared)) if key in table]
        if both:
            what = "[declared]" if is_declared else "sensitivity"
            raise OwnError(f"{said.file}: key {at}{both[0]}: stands beside {what}; leave one out.")
        if is_declared:
            return Summary(name, "declared", column=column)
        sensitivity = said.above_zero(table, "sensitivity", at)
        return Summary(name, "declared", sensitivity=sensitivity, column=column)
    if "kind" not in table:
        raise OwnError(f"{said.file}: key {at}kind: is missing; or declare a sensitivity.")
    kind = said.one_of(table, f"{at}kind", KINDS)
    group = said.text(table, "group") if "group" in table else ""
    if kind == "count":
        bounds = [key for key in ("lower", "upper") if key in table]
        if bounds:
            raise OwnError(f"{said.file}: key {at}{bounds[0]}: a count has no bounds.")
        return Summary(name, kind, group=group, column=column)
    if group:
        raise said.wrong(f"{at}group", group, "only counts are in one")
    if kind == "mean" and neighbours == "add-remove":
        raise said.wrong(f"{at}kind", kind, "a mean needs a public number of records; use sum")
    lower, upper = said.number(table, "lower", at), said.number(table, "upper", at)
    if not lower < upper:
        raise said.wrong(f"{at}upper", upper, f"must be above lower = {lower:g}")
    return Summary(name, kind, lower, upper, column=column)


def _declared(said: _Reader, found: Mapping[str, Any]) -> tuple[float, float] | None:
    if "declared" not in found:
        return None
    table = found["declared"]
    if not isinstance(table, dict):
        raise OwnError(f"{said.file}: key declared: must be a table.")
    said.check_keys(table, "declared", "declared.")
    l1, l2 = (said.above_zero(table, key, "declared.") for key in ("l1", "l2"))
    if l2 > l1:
        raise said.wrong("declared.l2", l2, f"must be at most l1 = {l1:g}")
    return l1, l2


def _columns(
    place: str,
    table: pd.DataFrame,
    parameters: tuple[Parameter, ...],
    summaries: tuple[Summary, ...],
) -> tuple[Array, Array]:
    """Parameters ``(T, d)`` and numbers ``(T, k)`` of a table, as they are in it."""
    expected = [f"theta.{each.name}" for each in parameters]
    expected += [f"summary.{each.name}" for each in summaries]
    for name in expected:
        if name not in table:
            raise OwnError(f"{place}: column {name} is missing.")
    for name in table.columns:
        if str(name).startswith(("theta.", "summary.")) and name not in expected:
            raise OwnError(f"{place}: column {name} is not in the TOML file.")
    if len(table) < FEWEST:
        raise OwnError(f"{place}: has {len(table)} rows; a pool needs {FEWEST} at least.")
    arrays = []
    for name in expected:
        values = tables.finite(place, table, name)
        arrays.append(values)
    for each, values in zip(parameters, arrays, strict=False):
        outside = (values < each.low) | (values > each.high)
        if outside.any():
            row = int(np.argmax(outside))
            raise OwnError(
                f"{place}: column theta.{each.name}, row {row + 1}: {values[row]:g} is outside "
                f"{each.low:g} to {each.high:g}."
            )
        if np.ptp(values) == 0.0:
            raise OwnError(
                f"{place}: column theta.{each.name}: is {values[0]:g} in all rows, so there is "
                f"nothing to learn of it; leave it out."
            )
    whole = np.stack(arrays, axis=1)
    return whole[:, : len(parameters)], whole[:, len(parameters) :]


def _check_summary(place: str, each: Summary, values: Array, neighbours: str, n: int) -> None:
    """Refuse numbers of the pool that cannot be, or that say nothing."""
    at = f"{place}: column summary.{each.name}"
    if np.ptp(values) == 0.0:
        raise OwnError(f"{at}: is {values[0]:g} in all rows; it says nothing and costs noise.")
    if each.kind == "count" and not np.array_equal(values, np.rint(values)):
        row = int(np.argmax(values != np.rint(values)))
        raise OwnError(f"{at}, row {row + 1}: {values[row]:g} is no count.")
    low, high = each.limits(neighbours, n)
    room = 1e-9 * max([1.0, *(abs(end) for end in (low, high) if math.isfinite(end))])
    outside = (values < low - room) | (values > high + room)
    if outside.any():
        row = int(np.argmax(outside))
        raise OwnError(
            f"{at}, row {row + 1}: {values[row]:g} cannot be, as kind, bounds and n allow "
            f"{low:g} to {high:g}."
        )
