r"""Do published posteriors agree with exact ones?

Authors of methods for noisy numbers publish what they released and what their method infers from
it. The model, the noise and the release leave only one right posterior,

$$p(\theta \mid z) \propto \pi(\theta) \int f(z \mid s(r))\, p(r \mid \theta)\, dr,$$

with records $r$, sums $s(r)$ and the density $f$ of the noise. Here it is computed in two ways that
share little: by importance weights of simulated sums (MATH E8), and by chains over parameters and
records (MATH E11). A cell has a reference only where both ways apply and agree within three
standard errors, in the median, in the ends of the 90 % interval and, if it exists, in the mean.

Published means are averages over the authors' runs. A mean *differs* if it is farther than three
standard errors from both of ours. Where the prior has no mean, such as that of the deviation in the
location-scale model, the posterior has none either, and the median is shown alone.

`abcdp infer` answers the same cells with its usual effort. An answer is close if its median is
within 2 % and the ends of its interval are within 5 % of the exact interquartile range, beside
three standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base.sentences import counted
from abcdp_core.figures import ranked
from abcdp_core.posterior.published import referee
from abcdp_core.studies.engine import BaseParams, Result, Run, RunTable, Study, choice

EXPERIMENT = "refereed-posteriors"
TITLE = "Published posteriors, refereed"

FAMILIES = {
    "regression-conjugate": "linear regression with a conjugate prior",
    "regression-non-conjugate": "linear regression with heavy-tailed priors",
    "location-scale-deviation": "location and scale, with a prior on the deviation",
    "location-scale-variance": "location and scale, with a prior on the variance",
    "two-covariates": "linear regression on two covariates",
    "time-use": "shares of a day",
    "linear-regression": "the shipped linear regression",
    "log-linear": "the shipped log-linear model",
    "sir-epidemic": "the shipped epidemic",
}
"""Family of cells -> the same in words."""

FIRST = {"regression": "slope", "two": "b1", "linear": "β1"}
"""First word of a family -> the parameter in the figure; of others, the first."""

FAMILY = choice("Cells", "Cells of the same model, which differ in ε and n.", tuple(FAMILIES))


MAIN = (
    "epsilon n parameter median low high mean mean_error effective by agrees answered_median "
    "answered_low answered_high answered_effective answered_by seconds close"
)
PUBLISHED = (
    "epsilon n parameter method mean_published standard_error runs median mean mean_error "
    "differs_by"
)
COUNTS = "family method cells two_ways references close slowest compared differ"
"""Columns of the tables."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Which cells are shown."""

    family: str = FAMILY.field("regression-conjugate")


def _exact(table: pd.DataFrame, run: Run[Params]) -> pd.DataFrame:
    """Return the exact posteriors of the chosen cells, with what ``infer`` answers."""
    both = referee.answers(table)
    exact = {f"{name}_exact": name for name in MAIN.split() if f"{name}_exact" in both}
    answers = {name: f"answered_{name}" for name in ("median", "low", "high", "effective", "by")}
    found = both.drop(columns=list(exact.values())).rename(columns=exact)
    return _of_family(found.join(both[list(answers)].rename(columns=answers)), run)[MAIN.split()]


def _published(table: pd.DataFrame, run: Run[Params]) -> pd.DataFrame:
    return _of_family(referee.compared(table), run)[PUBLISHED.split()]


def _families(table: pd.DataFrame, _: Run[Params]) -> pd.DataFrame:
    return referee.counts(table)[COUNTS.split()]


def _of_family(table: pd.DataFrame, run: Run[Params]) -> pd.DataFrame:
    return table[table.family == run.params.family].reset_index(drop=True)


def headline(result: Result) -> str:
    """Count published means that differ, by method."""
    table = result.tables["families"]
    rows = table[(table.family == _family(result)) & (table.compared > 0)]
    said = [
        f"{row.method} in {row.differ:.0f} of {row.compared:.0f} cells"
        for row in cast(Any, rows.itertuples())
    ]
    if not table[table.family == _family(result)].references.any():
        return "No reference: in no cell do two exact computations apply and agree"
    if not said:
        return "Exact posteriors, where two computations agree; no means of these are published"
    return f"Published means that differ from both exact ones: {', '.join(said)}"


def finding(result: Result) -> str:
    """Say how many cells have a reference, and how `infer` does on them."""
    row = cast(Any, result.tables["families"].set_index("family").loc[[_family(result)]].iloc[0])
    cells = counted(int(row.cells), "cell")
    said = [
        f"{FAMILIES[_family(result)].capitalize()}. Two exact computations apply to "
        f"{row.two_ways} of {cells} and agree in {row.references}. The command infer is close in "
        f"{row.close} of these; the slowest cell took {row.slowest:.0f} s."
    ]
    if row.references:
        said.append("Lines are 90 % intervals of the exact posterior.")
    if row.compared:
        compared = " or ".join(result.tables["main"].parameter.unique())
        said.append(
            "Lines of published means are three standard errors over their runs. A cell differs if "
            f"the mean of {compared} does."
        )
    return " ".join(said)


def _family(result: Result) -> str:
    return cast(Params, result.params).family


EXACT = fig.THEORY.called("exact median")
"""The reference."""


def rows(result: Result) -> fig.CaptionedFigure:
    """Draw the exact posterior and published means of one parameter, a row for each cell."""
    family = _family(result)
    exact = result.tables["main"]
    parameter = FIRST.get(family.split("-", maxsplit=1)[0], exact.parameter.iloc[0])
    exact = exact[exact.parameter == parameter].reset_index(drop=True)
    keys = pd.MultiIndex.from_frame(exact[["epsilon", "n"]])
    lacking = exact["median"].isna()
    names = [
        f"ε {epsilon:g}, n {n:,}{' (no reference)' if none else ''}"
        for (epsilon, n), none in zip(keys, lacking, strict=True)
    ]
    drawn = ranked.ranked(names, headline(result), parameter, "", row_height=24)
    places = np.arange(len(names), dtype=float)
    median, low, high = exact[["median", "low", "high"]].to_numpy().T
    drawn.add_trace(ranked.row_marks(median, places, EXACT, low, high))
    means = result.tables["published"]
    means = means[means.parameter == parameter]
    methods = list(means.method.unique())
    styles = [EXACT, *fig.styles(methods)]
    for shift, name, style in zip((0.2, -0.2), methods, styles[1:], strict=False):
        of = means[means.method == name].set_index(["epsilon", "n"]).reindex(keys)
        middle, reach = of.mean_published.to_numpy(), 3.0 * of.standard_error.to_numpy()
        marks = ranked.row_marks(middle, places + shift, style, middle - reach, middle + reach)
        drawn.add_trace(marks)
    fig.key(drawn, [(style.name, style.color) for style in styles])
    return fig.CaptionedFigure(drawn, finding(result))


STUDY = Study(
    EXPERIMENT,
    Params,
    world=lambda _: referee.posteriors(),
    tables={
        "main": RunTable(MAIN, _exact),
        "published": RunTable(PUBLISHED, _published),
        "families": RunTable(COUNTS, _families),
    },
    says=lambda result: f"{headline(result)}. {finding(result)}",
    privacy="Only published numbers are read, so no budget is spent.",
    views={EXPERIMENT: rows},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
