"""A scenario's pool as a table and a TOML file: the way out, as :mod:`.pool_file` is the way in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.lattice import summaries_of
from abcdp_core.own_model.model import Model, Parameter
from abcdp_core.own_model.pool_file import PoolFile, Summary
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
        each.natural(numbers[:, i], statistic.neighbours, n) for i, each in enumerate(summaries)
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
    top = {
        "name": pool.name,
        "title": pool.title,
        "unit": pool.unit,
        "neighbours": pool.neighbours,
        "n": pool.n,
        "pool": table,
    }
    lines = [f"{key} = {_value(value)}" for key, value in top.items()]
    if pool.declared is not None:
        both = dict(zip(("l1", "l2"), pool.declared, strict=True))
        lines += ["", "[declared]", *_lines(both)]
    for each in pool.parameters:
        stated: dict[str, object] = {"low": each.low, "high": each.high}
        stated |= {"unit": each.unit} if each.unit else {}
        lines += ["", f"[theta.{_value(each.name)}]", *_lines(stated)]
    for summary in pool.summaries:
        lines += ["", f"[summary.{_value(summary.name)}]", *_lines(_stated(summary, pool.declared))]
    return "\n".join(lines) + "\n"


def _stated(summary: Summary, declared: tuple[float, float] | None) -> dict[str, object]:
    if declared is not None:
        return {}
    if summary.kind == "declared":
        return {"sensitivity": summary.sensitivity}
    stated: dict[str, object] = {"kind": summary.kind}
    if summary.kind == "count":
        return stated | ({"group": summary.group} if summary.group else {})
    return stated | {"lower": summary.lower, "upper": summary.upper}


def _lines(stated: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in stated.items()]


def _value(value: object) -> str:
    """A text or a number as TOML has it; of a text JSON's form is TOML's too, but for DEL."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(float(value)) if isinstance(value, float) else str(value)
