"""Write a scenario's pool as a table and a TOML file, the format that :mod:`.reading` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Statistic
from abcdp_core.base.tabular import pools
from abcdp_core.models.own_model.model import Model
from abcdp_core.models.own_model.model_table import summaries_of
from abcdp_core.models.own_model.parameter import Parameter
from abcdp_core.models.own_model.pool_file import PoolFile
from abcdp_core.models.own_model.statistics import Summary
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.models.simulators import Scenario


def statistic_of(source: Scenario) -> Statistic:
    """Return the first statistic of a scenario.

    Raises:
        OwnError: the scenario has no statistic.
    """
    for statistic in source.statistics.values():
        return statistic
    raise OwnError(f"scenario = {source.name}: has no statistics to write.")


def pool_of(
    source: Scenario, theta: Array, numbers: Array, n: int, file: Path
) -> tuple[PoolFile, Array]:
    """Return the pool of a scenario's first statistic, and its numbers in natural units ``(T, k)``.

    Args:
        source: the scenario.
        theta: parameters ``(T, d)``.
        numbers: numbers of the statistic ``(T, k)``, in the scenario's units.
        n: records of each data set.
        file: place of the TOML file.

    Raises:
        OwnError: the scenario has no statistic.
    """
    statistic = statistic_of(source)
    model: Model | None = source.model
    if model is not None:
        summaries, declared = summaries_of(model), None
    else:
        summaries = tuple(Summary(name, "declared", column=name) for name in statistic.names)
        declared = statistic.l1(n), statistic.l2(n)
    parameters = tuple(
        Parameter(name, low, high, source.units[name]) for name, (low, high) in source.axes.items()
    )
    pool = PoolFile(
        file=file,
        name=source.name,
        title=source.title,
        unit=model.unit if model is not None else statistic.unit,
        neighbours=statistic.neighbours,
        n=n,
        parameters=parameters,
        summaries=summaries,
        declared=declared,
        theta=theta,
        numbers=numbers,
    )
    natural = [
        each.natural(column, statistic.neighbours, n)
        for each, column in zip(summaries, numbers.T, strict=True)
    ]
    return pool, np.stack(natural, axis=1)


def write(pool: PoolFile, values: Array, table: Path) -> None:
    """Write a pool and its TOML file.

    Args:
        pool: the pool; ``file`` is the place of the TOML file, beside the table.
        values: numbers in natural units ``(T, k)``.
        table: place of the table, CSV or Parquet by its name.

    Raises:
        OSError: a file cannot be written.
    """
    names = [f"theta.{each.name}" for each in pool.parameters]
    names += [f"summary.{each.name}" for each in pool.summaries]
    frame = pd.DataFrame(np.hstack([pool.theta, values]), columns=names)
    pools.write(frame, table, table.suffix)
    pool.file.write_text(as_toml(pool, table.name), encoding="utf-8")


def as_toml(pool: PoolFile, table: str) -> str:
    """Return the text of a TOML file for a pool whose table has this name."""
    parts: dict[str, dict[str, Any]] = {"": {
        "name": pool.name, "title": pool.title, "unit": pool.unit,
        "neighbours": pool.neighbours, "n": pool.n, "pool": table,
    }}  # fmt: skip
    if pool.declared is not None:
        parts["[declared]"] = dict(zip(("l1", "l2"), pool.declared, strict=True))
    for each in pool.parameters:
        bounds = {"low": each.low, "high": each.high, "unit": each.unit}
        parts[f"[theta.{_value(each.name)}]"] = bounds
    for summary in pool.summaries:
        stated = {} if pool.declared is not None else _stated(summary, pool.neighbours)
        parts[f"[summary.{_value(summary.name)}]"] = stated
    texts = []
    for head, values in parts.items():
        lines = [f"{key} = {_value(value)}" for key, value in values.items() if value != ""]
        texts.append("\n".join([head, *lines] if head else lines))
    return "\n\n".join(texts) + "\n"


def _stated(summary: Summary, neighbours: str) -> dict[str, Any]:
    if summary.kind == "declared":
        return {"sensitivity": summary.unit(neighbours, 1)}
    keys = ("kind", "group") if summary.kind == "count" else ("kind", "lower", "upper")
    return {key: getattr(summary, key) for key in keys}


def _value(value: object) -> str:
    """Write a text or a number for TOML; JSON texts are also valid in TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(float(value)) if isinstance(value, float) else str(value)
