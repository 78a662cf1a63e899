r"""How large may c be before noise decides?

Every kept draw uses budget, so at a fixed budget more kept draws mean more noise. What matters is
the **share of kept draws that are wrongly kept**: draws at a distance $\rho_t > \epsilon_{abc}$
that were kept only because of noise (MATH F3). Its expectation over all noise is computed exactly
(MATH E6) and averaged over public data sets. Each is simulated from another prior draw and compared
with the public pool in its own order. The private data are never read, so the guideline uses no
budget. It is the largest $c$ such that the share stays at or below a level there and at every
smaller $c$ evaluated: first round values, then those that halve the gap in which the level is
crossed.

Noise is not the only reason. If fewer than $c$ draws of the pool are within $\epsilon_{abc}$, only
wrongly kept ones can fill the other places.

The paper looks at the *median flip probability* $G_b$ (MATH F2) of public distances instead, the
chance for a typical draw. It does not guide the choice of $c$: far draws often outnumber close ones
by a hundred to one, so even a small chance for each fills the $c$ places with wrongly kept draws
first.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import percent, ranges
from abcdp_core.evaluation import flips, predictive
from abcdp_core.evaluation.one_release import SparseVectorParams
from abcdp_core.evaluation.theory import false_acceptance_rate, flip, sparse_vector_run
from abcdp_core.evaluation.theory.false_acceptance_rate import Share
from abcdp_core.figures.lines import Curve, Lines
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies.engine import Array, Result, Run, RunTable, Settings, Study, scale

EXPERIMENT = "flip-guideline"
TITLE = "The largest c before noise decides"
MAY_BE_LONG = True

GUIDELINE = (
    "n epsilon_total epsilon_abc resample sensitivity level largest_c false_level largest_c_false "
    "largest_c_false_low largest_c_false_high close let_in"
)

LEVEL = scale(
    "Highest median flip probability",
    "The paper's guideline is the largest c that stays at or below it.",
    (0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
)
FALSE_LEVEL = scale(
    "Largest share of wrongly kept draws",
    "The guideline is the largest c that keeps the expected share at or below it.",
    (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99),
)
DATA_SETS = scale(
    "Public data sets",
    "The share is averaged over this many data sets, simulated from prior draws.",
    (2, 4, 8, 16, 32, 64, 100),
)


@dataclass(frozen=True)
class Params(SparseVectorParams):
    """Sizes of the data, budgets and threshold; the chosen c is marked on the curve."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((par.EPSILON_TOTAL_DEFAULT,))
    n: tuple[int, ...] = MIXTURE.n.field((MIXTURE.n_default,))
    level: float = LEVEL.field(0.1)
    false_level: float = FALSE_LEVEL.field(0.2)
    data_sets: int = DATA_SETS.field(predictive.SETS)
    draws: int = par.DRAWS.field(500)


def missing_pools(params: Params, seed: int) -> list[pool.PoolKey]:
    """Return the public pools that must be made first."""
    return flips.missing_pools(params.n, params.pool_size, params.data_sets, seed)


def look(task: Run[Params]) -> Settings:
    """Search for the guideline and for the paper's.

    Returns:
        The setting, with ``rho``, the distances from the pool to each data set; ``shares``, c ->
        share of wrongly kept draws, by rising c; and ``largest_c_false`` and ``largest_c``, up to
        which the share and the paper's median keep their levels, 0 if none does.
    """
    at = Settings.first(task)
    most = min(int(par.C.high), at.pool_size)
    every = flips.pool_distances("public", at.n, at.pool_size, at.seed, at.data_sets)
    rho = [one[pool.order(at.seed, 1 + index, at.pool_size)] for index, one in enumerate(every)]

    def share_at(c: int) -> Share:
        run = sparse_vector_run.Run.of(flips.event(at, c), at.epsilon_abc)
        return false_acceptance_rate.share_of(rho, run)

    def flips_too_often(c: int) -> bool:
        return bool(flip_quartiles(at, c)[1] > at.level)

    # Noise grows with c, and G_b with the noise: a single crossing.
    by_median = bisect.bisect_left(range(1, most + 1), True, key=flips_too_often)
    also = {at.c, most, *([by_median] if by_median else [])}
    shares, largest = false_acceptance_rate.search(share_at, at.false_level, most, also)
    looked_up = {"rho": rho, "shares": shares, "largest_c_false": largest, "largest_c": by_median}
    return Settings(**vars(at) | looked_up)


def flip_quartiles(at: Settings, c: int) -> Array:
    """Return the quartiles of the flip probability of draws at public distances."""
    rho = flips.distances("public", at.n, at.draws, at.seed)
    scale = flips.event(at, c).threshold_scale
    return np.quantile(flip.flip_probability(rho, at.epsilon_abc, scale), [0.25, 0.5, 0.75])


def by_c(at: Settings, _: Run[Params]) -> list[tuple[float, ...]]:
    """Return the share wrongly kept and the quartiles of the flip probability at each c."""
    rows = []
    for c, share in at.shares.items():
        scale = flips.event(at, c).threshold_scale
        results = (*flip_quartiles(at, c), *dataclasses.astuple(share))
        rows.append((c, scale, *results, at.n, at.epsilon_total))
    return rows


def guideline(at: Settings, _: Run[Params]) -> pd.DataFrame:
    """Return both guidelines, and how many draws are close and how many wrongly kept."""
    guide: dict[str, float] = {}
    for name, end in (("low", "high"), ("high", "low")):
        values = {c: getattr(share, end) for c, share in at.shares.items()}
        guide[f"largest_c_false_{name}"] = false_acceptance_rate.crossing(values, at.false_level)
    far = np.concatenate([one[one > at.epsilon_abc] for one in at.rho])
    let_in = flip.flip_probability(far, at.epsilon_abc, flips.event(at).threshold_scale).sum()
    sets = len(at.rho)
    guide |= {"close": at.pool_size - len(far) / sets, "let_in": float(let_in) / sets}
    return pd.DataFrame([vars(at) | guide], columns=GUIDELINE.split())


def share_says(result: Result) -> tuple[str, str]:
    """Say up to which c the share of wrongly kept draws keeps the level."""
    params, table = cast(Params, result.params), result.tables["guideline"]
    level, what = percent(params.false_level), "of the kept draws are expected to be wrongly kept"
    if len(table) > 1:
        largest = ranges(table.largest_c_false)
        title = f"The largest c with at most {level} of kept draws wrongly kept {largest}"
        return title, f"{title}, over {len(table)} settings."
    shares, largest = result.tables["main"].set_index("c").false_share, table.largest_c_false[0]
    title = f"Up to c = {largest:,}, at most {level} {what}"
    if not math.isfinite(shares.iloc[0]):
        title = "Hardly any draw is ever kept, rightly or wrongly"
    elif largest == 0:
        title = f"Even at c = {shares.index[0]}, more than {level} {what}"
    if not math.isfinite(shares[params.c]):
        return title, f"{title}."
    false = percent(shares[params.c], params.false_level)
    return title, f"{title}; at c = {params.c:,}, {false} are. {flips.averaged(params.data_sets)}"


def median_says(result: Result) -> tuple[str, str]:
    """Say up to which c the paper's median keeps its level, and the share wrongly kept there."""
    largest = result.tables["guideline"].largest_c
    title = f"The largest c that the paper's median rule allows {ranges(largest)}"
    if not largest.any():
        title = "The paper's median rule allows no c"
    elif len(largest) == 1:
        share = result.tables["main"].set_index("c").false_share[largest[0]]
        if math.isfinite(share):
            what = "of the kept draws are expected to be wrongly kept"
            return title, f"{title}; at this c, {percent(share)} {what}."
    return title, f"{title}."


C_RANGE = (par.C.low, par.C.high)
AlongC = partial(
    Lines, x="c", x_range=C_RANGE, linear=True, settings=("epsilon_abc", "n", "epsilon_total")
)


def level_line(name: str, result: Result, _: pd.DataFrame) -> list[Curve]:
    """Return the highest allowed level, as a curve."""
    level = vars(result.params)[name]
    style = fig.GUIDE.called(f"at most {percent(level)}")
    return [(style, np.array(C_RANGE), np.full(2, level))]


SHARES = AlongC(
    {
        "false_share": fig.PRIVATE.called("wrongly kept"),
        "unfillable": fig.NON_PRIVATE.called("too few close draws"),
    },
    says=share_says,
    bands={"false_share": ("false_share_low", "false_share_high")},
    y_range=lambda _: (0.0, 1.04),
    y_title="expected share of wrongly kept draws",
    curves=partial(level_line, "false_level"),
)
MEDIAN = AlongC(
    {"median_flip_probability": fig.THEORY.called("median (band: middle half)")},
    says=median_says,
    bands={"median_flip_probability": ("lower_quartile", "upper_quartile")},
    y_range=lambda _: (0.0, 0.56),
    y_title="flip probability",
    curves=partial(level_line, "level"),
)


def shares(result: Result) -> fig.CaptionedFigure:
    """Draw the share wrongly kept by c, with the chosen c marked if there is one setting."""
    drawn, main = SHARES(result), result.tables["main"]
    share = main.false_share[main.c == vars(result.params)["c"]]
    if len(share) == 1:
        drawn.figure.add_trace(fig.own_mark(vars(result.params)["c"], share.iloc[0], "your c"))
    return drawn


STUDY = Study(
    EXPERIMENT,
    Params,
    world=look,
    tables={
        "main": RunTable(
            "c noise_scale lower_quartile median_flip_probability upper_quartile false_share "
            "false_share_low false_share_high unfillable some filled n epsilon_total",
            by_c,
        ),
        "guideline": RunTable(GUIDELINE, guideline),
    },
    says=lambda result: f"{share_says(result)[1]} {median_says(result)[1]}",
    privacy="Uses public simulations only and spends no privacy budget.",
    views={EXPERIMENT: shares, "median": MEDIAN},
    each=("n", "epsilon_total"),
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
