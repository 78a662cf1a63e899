"""Read a pool made elsewhere from its TOML file; errors are one line that names the place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field, model_validator

from abcdp_core.base import schemas
from abcdp_core.base.arrays import Array
from abcdp_core.base.schemas import Schema
from abcdp_core.base.tabular import pools
from abcdp_core.models.own_model.model import NAME
from abcdp_core.models.own_model.parameter import Parameter
from abcdp_core.models.own_model.pool_file import PoolFile
from abcdp_core.models.own_model.statistics import AS_HTML, HTML, LARGEST, SMALLEST, Summary
from abcdp_core.models.own_model.user_errors import OwnError

FEWEST = 100
"""Smallest number of draws in a pool."""

MOST_RECORDS = 10**12
"""Largest n; beyond it, rounding would hide a single record."""


def _label(text: str) -> str:
    if HTML.search(text):
        raise ValueError(AS_HTML)
    if not text.isprintable():
        raise ValueError("must be printable")
    return text


def _hyphenated(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError("must be in lower case with hyphens")
    return text


Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_label)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Sensitivity = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]


class Theta(Schema):
    """A parameter with its public bounds."""

    low: Number
    high: Number
    unit: Label | None = None


class Contribution(Schema):
    """A summary: the contribution of one record, or a declared sensitivity."""

    kind: Literal["count", "mean", "sum"] | None = None
    lower: Number | None = None
    upper: Number | None = None
    group: Label | None = None
    sensitivity: Sensitivity | None = None
    column: Label | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        bounds = [each for each in (self.lower, self.upper) if each is not None]
        if self.kind is None and (bounds or self.group):
            raise ValueError("kind: is missing; or declare a sensitivity")
        if self.kind is not None and self.sensitivity is not None:
            raise ValueError("sensitivity: cannot be given with kind; omit one")
        if self.kind == "count" and bounds:
            raise ValueError("a count has no bounds")
        if self.kind in ("mean", "sum"):
            if self.group:
                raise ValueError("only a count can be in a group")
            if len(bounds) < 2 or not bounds[0] < bounds[1]:
                raise ValueError(f"a {self.kind} needs lower and upper, and lower < upper")
        return self

    def summary(self, name: str) -> Summary:
        """Return the summary with this name."""
        column = self.column or name
        if self.kind is None:
            return Summary(name, "declared", sensitivity=self.sensitivity or 1.0, column=column)
        if self.kind == "count":
            return Summary(name, "count", group=self.group or "", column=column)
        return Summary(name, self.kind, self.lower or 0.0, self.upper or 0.0, column=column)


class Declared(Schema):
    """Sensitivities of all summaries together."""

    l1: Sensitivity
    l2: Sensitivity

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.l2 > self.l1:
            raise ValueError(f"l2 = {self.l2:g}: must be at most l1 = {self.l1:g}")
        return self


class Stated(Schema):
    """Contents of the TOML file of a pool; see :mod:`.pool_file`."""

    name: Annotated[Label, AfterValidator(_hyphenated)]
    title: Label | None = None
    unit: Label
    neighbours: Literal["replace", "add-remove"]
    n: int = Field(ge=1, le=MOST_RECORDS)
    pool: Label
    theta: dict[Label, Theta] = Field(min_length=1)
    summary: dict[Label, Contribution] = Field(min_length=1)
    declared: Declared | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        for name, each in self.summary.items():
            has_own = each.kind is not None or each.sensitivity is not None
            if has_own and self.declared is not None:
                raise ValueError(f"summary.{name}: cannot be given with [declared]; omit one")
            if not has_own and self.declared is None:
                raise ValueError(f"summary.{name}.kind: is missing; or declare a sensitivity")
            if each.kind == "mean" and self.neighbours == "add-remove":
                raise ValueError(
                    f"summary.{name}: a mean needs a public number of records; use sum"
                )
        return self


def read(file: Path) -> PoolFile:
    """Read a pool from its TOML file.

    Raises:
        ParameterError: a file is invalid; one line names the file and the place.
    """
    stated = schemas.read(file, Stated)
    try:
        parameters = tuple(
            Parameter(name, each.low, each.high, each.unit or "")
            for name, each in stated.theta.items()
        )
    except ValueError as error:
        raise OwnError(f"{file.name}: {error}") from error
    summaries = tuple(each.summary(name) for name, each in stated.summary.items())
    theta, values = _columns(pools.read(file.parent / stated.pool), stated, parameters, summaries)
    units = [
        each.in_units(numbers, stated.neighbours, stated.n)
        for each, numbers in zip(summaries, values.T, strict=True)
    ]
    return PoolFile(
        file=file,
        name=stated.name,
        title=stated.title or stated.name,
        unit=stated.unit,
        neighbours=stated.neighbours,
        n=stated.n,
        parameters=parameters,
        summaries=summaries,
        declared=None if stated.declared is None else (stated.declared.l1, stated.declared.l2),
        theta=theta,
        numbers=np.stack(units, axis=1),
    )


def draws(place: str, table: pd.DataFrame, names: Sequence[str]) -> Array:
    """Read columns of a pool's table ``(T, len(names))`` of finite numbers that vary.

    Args:
        place: name of the table, for errors.
        table: table with a row for each draw.
        names: names of the columns.

    Raises:
        ParameterError: a column is missing, invalid or constant, or there are too few rows.
    """
    if len(table) < FEWEST:
        raise OwnError(f"{place}: has {len(table)} rows; a pool needs at least {FEWEST}.")
    for name in names:
        if name not in table:
            raise OwnError(f"{place}: column {name} is missing.")
    values = np.stack([pools.finite(place, table, name) for name in names], axis=1)
    for name, column in zip(names, values.T, strict=True):
        if np.ptp(column) == 0.0:
            raise OwnError(
                f"{place}: column {name} is {column[0]:g} in all rows and carries no information; "
                f"omit it."
            )
    return values


def _columns(
    table: pd.DataFrame,
    stated: Stated,
    parameters: Sequence[Parameter],
    summaries: Sequence[Summary],
) -> tuple[Array, Array]:
    """Return parameters ``(T, d)`` and numbers ``(T, k)`` of a table, within their limits."""
    place, n = stated.pool, stated.n
    limits = {f"theta.{each.name}": (each.low, each.high) for each in parameters}
    limits |= {f"summary.{each.name}": each.limits(stated.neighbours, n) for each in summaries}
    values = draws(place, table, list(limits))
    for name in map(str, table.columns):
        if name.startswith(("theta.", "summary.")) and name not in limits:
            raise OwnError(f"{place}: column {name} is not in the TOML file.")
    counts = {f"summary.{each.name}" for each in summaries if each.kind == "count"}
    for (name, (low, high)), column in zip(limits.items(), values.T, strict=True):
        # Rounding may move a sum beyond its bounds.
        ends = [abs(end) for end in (low, high) if math.isfinite(end)]
        room = 0.0 if name.startswith("theta.") else 1e-9 * max([1.0, *ends])
        wrong = (column < low - room) | (column > high + room)
        if name in counts:
            wrong |= column != np.rint(column)
        if wrong.any():
            row = int(np.argmax(wrong))
            what = "a whole number " if name in counts else ""
            raise OwnError(
                f"{place}: column {name}, row {row + 1} is {column[row]:g}; it must be {what}from "
                f"{low:g} to {high:g}."
            )
    return values[:, : len(parameters)], values[:, len(parameters) :]
