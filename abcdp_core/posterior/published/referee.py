"""Judge published means against posteriors computed twice, for ``assets/referee``.

``python -m benchmarks.referee`` makes ``posteriors.csv``: for each cell, which is a release and a
model, and for each parameter a row of each way, with the standard error of each estimate:
``weights`` and ``chains`` for the reference (or ``fixed``, a long run without adaptation, with
means alone), and what ``infer`` answers. ``published.csv`` has the
means over the authors' runs. The derivation of the target is in ``docs/theory.md``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from abcdp_core.base.places import ASSETS

FOLDER = ASSETS / "referee"

CELL = ["family", "epsilon", "n"]
ROW = [*CELL, "parameter"]

ERRORS = 3.0
"""Standard errors within which two estimates agree."""

CLOSE = {"median": 0.02, "low": 0.05, "high": 0.05}
"""How far an answer may be off beside its standard errors, in exact interquartile ranges."""

NO_MEAN = {"sigma", "variance"}
"""Parameters of the location-scale families whose prior has no mean: bounded sums leave its tails,
so the posterior has none either."""


def posteriors() -> pd.DataFrame:
    """Return the shipped posteriors, a row for each cell, parameter and way."""
    table = pd.read_csv(FOLDER / "posteriors.csv")
    without = table.parameter.isin(NO_MEAN) & table.family.str.startswith("location-scale")
    table.loc[without, ["mean", "mean_error"]] = np.nan
    return table


def published() -> pd.DataFrame:
    """Return the published means: cell, parameter, method, mean, standard error and runs."""
    return pd.read_csv(FOLDER / "published.csv")


def _ways(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both ways of the reference on the same rows; NaN where one does not apply."""
    first = table[table.way == "weights"].set_index(ROW)
    second = table[table.way.isin(["chains", "fixed"])].set_index(ROW)
    rows = first.index.union(second.index)
    return first.reindex(rows), second.reindex(rows)


def references(table: pd.DataFrame) -> pd.DataFrame:
    """Return the reference of each cell and parameter; NaN unless two ways apply and agree.

    The way with more effective draws gives the numbers, ``by``. Column ``agrees`` is whether all
    estimates of the cell agree; ``ways`` is how many apply.
    """
    first, second = _ways(table)
    apart = pd.DataFrame({name: _apart(first, second, name) for name in ("mean", *CLOSE)})
    sizes = first.effective.fillna(0.0), second.effective.fillna(0.0)
    both = (sizes[0] > 0.0) & (sizes[1] > 0.0)
    close = ((apart <= ERRORS) | apart.isna()).all(axis=1) & both
    # A way without quantiles does not give the numbers.
    best = first.where((sizes[0] >= sizes[1]) | second["median"].isna(), second)
    found = best.assign(ways=1 + both.astype(int), agrees=close).reset_index()
    found["agrees"] = found.groupby(CELL)["agrees"].transform("all")
    numbers = [f"{name}{end}" for name in ("mean", *CLOSE) for end in ("", "_error")]
    found.loc[~found.agrees, [*numbers, "quartiles_apart"]] = np.nan
    return found


def _apart(first: pd.DataFrame, second: pd.DataFrame, name: str) -> pd.Series[float]:
    """Return the difference of estimates in standard errors of the difference."""
    error = np.hypot(first[f"{name}_error"], second[f"{name}_error"])
    apart: pd.Series[float] = (first[name] - second[name]).abs() / error
    return apart


def answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return what ``infer`` answers beside the reference, and whether it is ``close``."""
    ours = table[table.way == "infer"].drop(columns="way")
    both = ours.merge(references(table), on=ROW, suffixes=("", "_exact"))
    within = [
        (both[name] - both[f"{name}_exact"]).abs()
        <= share * both.quartiles_apart_exact
        + ERRORS * np.hypot(both[f"{name}_error"], both[f"{name}_error_exact"])
        for name, share in CLOSE.items()
    ]
    return both.assign(close=np.logical_and.reduce(within))


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Return published means beside the reference, and by how many of their errors they differ.

    ``differs_by`` is from the nearer of both ways, in standard errors of both; NaN where no mean
    exists or the ways do not agree.
    """
    known = references(table).drop(columns=["way", "by"])
    exact = published().merge(known, on=ROW, suffixes=("_published", ""))
    off: dict[int, pd.Series[float]] = {}
    for place, way in enumerate(_ways(table)):
        means = way[["mean", "mean_error"]].reset_index()
        mean = exact[ROW].merge(means, on=ROW, how="left")
        error = np.hypot(exact.standard_error, mean.mean_error)
        off[place] = (exact.mean_published - mean["mean"]).abs() / error
    differs = pd.DataFrame(off).min(axis=1, skipna=False)
    return exact.assign(differs_by=differs.where(exact.agrees))


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count cells, references, close answers and published means that differ, by family."""
    known, ours, means = references(table), answers(table), compared(table)
    ours = ours.groupby(CELL).agg(close=("close", "all"), seconds=("seconds", "max"))
    cells = known.groupby(CELL).agg(agrees=("agrees", "all"), ways=("ways", "min")).join(ours)
    far = means.assign(far=means.differs_by > ERRORS, known=means.differs_by.notna())
    outside = far.groupby(["family", "method", "epsilon", "n"]).agg(
        far=("far", "any"), known=("known", "any")
    )
    by_method = outside.groupby(["family", "method"]).sum().reset_index("method")
    of = cells.assign(close=cells.close & cells.agrees).groupby("family")
    made = of.agg(
        cells=("agrees", "size"),
        two_ways=("ways", lambda ways: int((ways == 2).sum())),
        references=("agrees", "sum"),
        close=("close", "sum"),
        slowest=("seconds", "max"),
    )
    made = made.join(by_method).rename(columns={"far": "differ", "known": "compared"})
    return made.reset_index().fillna({"method": "", "differ": 0, "compared": 0})
