"""A scenario's pool as a table and a TOML file: the way out, as :mod:`.pool_file` is the way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model.model import Model
from abcdp_core.own_model.model_table import summaries_of
from abcdp_core.own_model.parameter import Parameter
from abcdp_core.own_model.pool_file import PoolFile
from abcdp_core.own_model.statistics import Summary
from abcdp_core.own_model.user_errors import OwnError
from abcdp_core.statistic import Statistic, stated_by

Array = NDArray[np.float64]


def statistic_of(source: Any) -> Statistic:
    """The first statistic of a scenario.

    Raises:
        OwnError: it states no numbers.
    """
    for statistic in stated_by(source).values():
        return statistic
    raise OwnError(f"scenario = {source.SCENARIO}: states no numbers of its data.")


def pool_of(
    source: Any, theta: Array, numbers: Array, n: int, file: Path
) -> tuple[PoolFile, Array]:
    """The pool of a scenario's first statistic, and its numbers themselves ``(T, k)``.

    Args:
        source: the scenario.
        theta: parameters ``(T, d)``.
        numbers: of its statistic ``(T, k)``, as the scenario has them.
        n: records of each data set.
        file: where the TOML file goes.

    Raises:
        OwnError: it states no numbers.
    """
    statistic = statistic_of(source)
    model = getattr(source, "MODEL", None)
    if isinstance(model, Model):
        summaries, declared = summaries_of(model), None
    else:
        summaries = tuple(Summary(name, "declared", column=name) for name in statistic.names)
        declared = statistic.l1(n), statistic.l2(n)
    parameters = tuple(
        Parameter(name, low, high, source.UNITS[name]) for name, (low, high) in source.AXES.items()
    )
    pool = PoolFile(
        file=file,
        name=source.SCENARIO,
        title=source.TITLE,
        unit=model.unit if isinstance(model, Model) else statistic.unit,
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
        pool: what is in it; ``file`` is where the TOML file goes, beside the table.
        values: the numbers themselves ``(T, k)``.
        table: where the table goes, CSV or Parquet by its name.

    Raises:
        OSError: one of the two cannot be written.
    """
    names = [f"theta.{each.name}" for each in pool.parameters]
    names += [f"summary.{each.name}" for each in pool.summaries]
    frame = pd.DataFrame(np.hstack([pool.theta, values]), columns=names)
    if table.suffix == ".parquet":
        frame.to_parquet(table, index=False)
    else:
        frame.to_csv(table, index=False)
    pool.file.write_text(as_toml(pool, table.name), encoding="utf-8")


def as_toml(pool: PoolFile, table: str) -> str:
    """The text of a TOML file for a pool in a table of that name."""
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
        stated = {} if pool.declared is not None else _stated(summary)
        parts[f"[summary.{_value(summary.name)}]"] = stated
    texts = []
    for head, values in parts.items():
        lines = [f"{key} = {_value(value)}" for key, value in values.items() if value != ""]
        texts.append("\n".join([head, *lines] if head else lines))
    return "\n\n".join(texts) + "\n"


def _stated(summary: Summary) -> dict[str, Any]:
    if summary.kind == "declared":
        return {"sensitivity": summary.sensitivity}
    if summary.kind == "count":
        return {"kind": "count", "group": summary.group}
    return {"kind": summary.kind, "lower": summary.lower, "upper": summary.upper}


def _value(value: object) -> str:
    """A text or a number as TOML has it; JSON's form of a text is TOML's too."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(float(value)) if isinstance(value, float) else str(value)
