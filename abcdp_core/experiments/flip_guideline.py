r"""How large may c be before the noise decides?

Each accepted sample costs privacy, so at a fixed budget more of them mean more noise. What a person
wants to know is the **share of the accepted that is false**: draws at a distance
$\rho_t > \epsilon_{abc}$ that only noise let in (MATH F3). Its expectation over all noise is
exact, without simulated noise (MATH E6). It is averaged over public data sets: each is simulated
from a prior draw of its own and compared with the public pool in an order of its own. The private
data are never looked at, so the guideline costs no privacy. It is the largest $c$ that keeps the
share under a level, as do the smaller ones that are looked at: round values of $c$, and those that
halve the gap in which the level is crossed.

Part of the share is not the noise's doing: if fewer draws of the pool are within $\epsilon_{abc}$
than there are places to fill, the other places can be filled by false ones only.

The paper looks at the *median flip probability* $G_b$ (MATH F2) of public distances instead: how
often noise changes the decision about a typical draw. That is no guide to $c$. Draws that are too
far outnumber those that are close enough, often by a hundred to one, so a small chance for each of
them to be let in is enough to fill the $c$ places with false ones first.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, predictive
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import percent
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import false_share, flip
from abcdp_core.theory import sparse_vector_run as theory
from abcdp_core.theory.false_share import Share

Array = NDArray[np.float64]

EXPERIMENT = "flip-guideline"
TITLE = "Largest number of accepted samples that the noise allows"
MAY_BE_LONG = True
COLUMNS = {
    "main": (
        "c", "noise_scale", "lower_quartile", "median_flip_probability", "upper_quartile",
        "false_share", "false_share_low", "false_share_high", "unfillable", "some", "filled",
        "n", "epsilon_total",
    ),
    "guideline": (
        "n", "epsilon_total", "epsilon_abc", "resample", "sensitivity", "level", "largest_c",
        "false_level", "largest_c_false", "largest_c_false_low", "largest_c_false_high",
        "close", "let_in",
    ),
}  # fmt: skip

LEVEL = Parameter(
    kind="real",
    label="Accepted level of the median flip probability",
    help="The paper's guideline is the largest c that stays at or under it.",
    low=0.0001,
    high=0.5,
    steps=(0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
)
FALSE_LEVEL = Parameter(
    kind="real",
    label="Accepted share of false samples",
    help="The guideline is the largest c that keeps the expected share at or under it.",
    low=0.01,
    high=0.99,
    steps=(0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99),
)
DATA_SETS = Parameter(
    kind="integer",
    label="Public data sets",
    help="Data sets simulated from prior draws, over which the share is averaged.",
    low=2,
    high=100,
    steps=(2, 4, 8, 16, 32, 64, 100),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Sizes of the data, budgets and threshold; the c in use is marked among all that are tried."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT, many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    n: tuple[int, ...] = uniform_mixture.N.field(uniform_mixture.N_DEFAULT, many=True)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    level: float = LEVEL.field(0.1)
    false_level: float = FALSE_LEVEL.field(0.2)
    data_sets: int = DATA_SETS.field(predictive.SETS)
    draws: int = par.DRAWS.field(500)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        for n in self.n:
            par.check_work(n, self.pool_size)
        par.check_accepted(self.c, self.pool_size)

    def event(self, c: int) -> SparseVector:
        """The event of a run that stops at ``c`` acceptances, at one size and budget; public."""
        (n,), (epsilon_total,) = self.n, self.epsilon_total
        sensitivity = uniform_mixture.distance().sensitivity(n, self.sensitivity)
        return calibrate(epsilon_total, sensitivity, c, resample=self.resample)

    def pool_key(self, seed: int) -> pool.PoolKey:
        """The public pool that runs go through, at one size."""
        (n,) = self.n
        return pool.key_for(uniform_mixture.SCENARIO, n, self.pool_size, seed)


PRESETS: dict[str, BaseParams] = {}


def tasks(params: Params, seed: int) -> list[experiments.SingleTask[Params]]:
    """One task per size and budget."""
    return experiments.per_value(params, seed, "n", "epsilon_total")


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pools that are not there yet, and say how far that is."""
    keys = [
        (pool.key_for(uniform_mixture.SCENARIO, n, params.pool_size, seed), n) for n in params.n
    ]
    predictive.make_ready(keys, params.data_sets, progress)


def public_distances(params: Params, seed: int) -> list[Array]:
    """Distances ``(T,)`` of each public data set to the pool, in an order of its own."""
    (n,), key = params.n, params.pool_key(seed)
    return [
        predictive.pool_distances(key, n, index)[pool.order(seed, index + 1, params.pool_size)]
        for index in range(params.data_sets)
    ]


def work(task: experiments.SingleTask[Params]) -> Tables:
    """False share at several c, the guideline, and the paper's median."""
    params = task.params
    (n,), (epsilon_total,) = params.n, params.epsilon_total
    rho, gaps = public_distances(params, task.seed), _gaps(params, task.seed)
    most = min(int(par.C.high), params.pool_size)
    largest = _largest_by_median(params, gaps, most)

    def share_at(c: int) -> Share:
        return false_share.share_of(rho, theory.Run.of(params.event(c), params.epsilon_abc))

    also = {params.c, most, *([largest] if largest else [])}
    shares, largest_false = false_share.search(share_at, params.false_level, most, also)
    row = (n, epsilon_total, params.epsilon_abc, params.resample, params.sensitivity)
    ends = [
        false_share.crossing(
            {c: getattr(share, end) for c, share in shares.items()}, params.false_level
        )
        for end in ("high", "low")
    ]
    far = np.concatenate([one[one > params.epsilon_abc] for one in rho])
    close = params.pool_size - len(far) / len(rho)
    scale = params.event(params.c).threshold_scale
    let_in = float(flip.flip_probability(far, params.epsilon_abc, scale).sum()) / len(rho)
    guideline = (
        *row,
        params.level,
        largest,
        params.false_level,
        largest_false,
        *ends,
        close,
        let_in,
    )
    return {
        "main": _main(params, gaps, shares),
        "guideline": pd.DataFrame([guideline], columns=list(COLUMNS["guideline"])),
    }


def _largest_by_median(params: Params, gaps: Array, most: int) -> int:
    """The paper's guideline: the largest c whose median flip probability keeps the level.

    Noise grows with c and G_b with the noise, so the c that keep it are 1 up to the guideline.
    """

    def too_often(c: int) -> bool:
        return bool(_flip_quantiles(gaps, params.event(c).threshold_scale)[1] > params.level)

    return bisect.bisect_left(range(1, most + 1), True, key=too_often)


def _gaps(params: Params, seed: int) -> Array:
    """How far public distances are from ε_abc ``(draws,)``."""
    (n,) = params.n
    key = pool.key_for(uniform_mixture.SCENARIO, n, params.draws, seed)
    return np.abs(predictive.paired_distances(key, n) - params.epsilon_abc)


def _flip_quantiles(gaps: Array, scale: float) -> Array:
    """Quartiles of the flip probability of draws at these distances from ε_abc."""
    return np.quantile(flip.tail(gaps, scale), [0.25, 0.5, 0.75])


def _main(params: Params, gaps: Array, shares: dict[int, Share]) -> pd.DataFrame:
    (n,), (epsilon_total,) = params.n, params.epsilon_total
    rows = []
    for c, share in shares.items():
        scale = params.event(c).threshold_scale
        false = (share.share, share.low, share.high, share.unfillable, share.some, share.filled)
        rows.append((c, scale, *_flip_quantiles(gaps, scale), *false, n, epsilon_total))
    return pd.DataFrame(rows, columns=list(COLUMNS["main"]))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=_summary(params, rows),
        privacy="Uses public simulations only; costs no privacy.",
    )


def _summary(params: Params, tables: Tables) -> str:
    guideline = tables["guideline"]
    level = f"{100 * params.false_level:g} %"
    what = f"the expected share of false samples, farther than ε_abc = {params.epsilon_abc:g},"
    if len(guideline) > 1:
        low, high = guideline.largest_c_false.min(), guideline.largest_c_false.max()
        return (
            f"The largest c that keeps {what} at or under {level} ranges from {low or 'none'} to "
            f"{high or 'none'} over {len(guideline)} settings, each by {params.data_sets} public "
            f"data sets."
        )
    row, main = guideline.iloc[0], tables["main"].set_index("c")
    first, most, largest = main.index[0], main.index[-1], int(row.largest_c_false)
    if not math.isfinite(main.false_share[first]):
        found = f"At c = {first} practically nothing is ever accepted, so no share of it is known"
    elif largest == 0:
        found = (
            f"Not even c = {first} keeps {what} at or under {level}: there it is "
            f"{percent(main.false_share[first], params.false_level)}"
        )
    elif largest == most:
        found = f"Every c up to {most} keeps {what} at or under {level}"
    else:
        found = f"Up to c = {largest} {what} stays at or under {level}{_range(params, row)}"
    if largest and (fewer := _fewer(_at(main, largest))):
        found += f"; at c = {largest}, {fewer}"
    return f"{found}. {_here(params, main)}{_by_median(params, tables)}"


def _range(params: Params, row: pd.Series[float]) -> str:
    low, high = int(row.largest_c_false_low), int(row.largest_c_false_high)
    if low == high == int(row.largest_c_false):
        return ""
    spread = f"{low} to {high}" if low else f"from none to {high}"
    return f" ({spread} by the spread over {params.data_sets} public data sets)"


def _at(main: pd.DataFrame, c: int) -> pd.Series[float]:
    """The row of a c."""
    return cast("pd.Series[float]", main.loc[c])


def _here(params: Params, main: pd.DataFrame) -> str:
    """What happens at the c in use."""
    here = _at(main, params.c)
    if not math.isfinite(here.false_share):
        return ""
    share = percent(here.false_share, params.false_level)
    fewer = _fewer(here)
    return f"At c = {params.c} it is {share}{f', and {fewer}' if fewer else ''}. "


def _fewer(row: pd.Series[float]) -> str:
    """How often the pool ends before c are accepted; empty where that is rare."""
    fewer = 1.0 - row.filled
    return f"in {percent(fewer)} of the runs fewer than c come back" if fewer >= FEWER else ""


FEWER = 0.05
"""Runs that end with the pool are mentioned from this share on."""


def median_sentence(result: Result) -> str:
    """The paper's guideline, and what is false there if there is one setting."""
    params, guideline = cast(Params, result.params), result.tables["guideline"]
    if len(guideline) == 1:
        return _by_median(params, result.tables)
    each = "; ".join(
        f"{'up to c = ' + str(largest) if largest else 'at no c'} "
        f"(N = {n:,}, ε_total = {epsilon_total:g})"
        for n, epsilon_total, largest in zip(
            guideline.n, guideline.epsilon_total, guideline.largest_c, strict=True
        )
    )
    return f"The paper's median flip probability stays at or under {params.level:g} {each}."


def _by_median(params: Params, tables: Tables) -> str:
    row, main = tables["guideline"].iloc[0], tables["main"].set_index("c")
    largest, most = int(row.largest_c), main.index[-1]
    if largest == 0:
        return f"The paper's median flip probability is above {params.level:g} at every c."
    there = _at(main, largest)
    share, unfillable = float(there.false_share), float(there.unfillable)
    if not math.isfinite(share):
        false = "practically nothing is accepted"
    else:
        false = f"{percent(share)} is false"
        if FEWER <= unfillable <= share:
            false += f", {percent(unfillable)} because too few draws are close enough"
    what = f"The paper's median flip probability stays at or under {params.level:g}"
    if largest == most:
        return f"{what} at every c up to {most}, where {false}."
    return f"{what} up to c = {largest}, where {false}."


def figures(result: Result) -> dict[str, fig.Drawn]:
    """False share against c; the paper's median against c."""
    return {
        EXPERIMENT: fig.Drawn(_share_figure(result), result.summary),
        "median": fig.Drawn(_median_figure(result), median_sentence(result)),
    }


def _settings(result: Result) -> list[tuple[str, pd.DataFrame]]:
    """Name and rows of each setting."""
    params, main = cast(Params, result.params), result.tables["main"]
    found = []
    for (n, epsilon_total), part in main.groupby(["n", "epsilon_total"], sort=False):
        names = [f"N = {n:,}"] * (len(params.n) > 1)
        names += [f"ε_total = {epsilon_total:g}"] * (len(params.epsilon_total) > 1)
        found.append((", ".join(names), part))
    return found


_C_AXIS = {
    **fig.logarithmic(par.C.low, par.C.high),
    "tickvals": [1, 10, 100, 1000],
    "ticktext": ["1", "10", "100", "1000"],
}


def _share_figure(result: Result) -> go.Figure:
    params, settings = cast(Params, result.params), _settings(result)
    guideline = result.tables["guideline"]
    level = f"{100 * params.false_level:g} %"
    if len(settings) > 1:
        each = ", ".join(map(str, guideline.largest_c_false))
        title = f"Largest c with at most {level} false: {each}"
    elif not math.isfinite(result.tables["main"].set_index("c").sort_index().false_share.iloc[0]):
        title = "Practically nothing is ever accepted, false or not"
    elif int(guideline.largest_c_false.iloc[0]) == 0:
        title = f"No c keeps the share of false samples at or under {level}"
    else:
        largest = int(guideline.largest_c_false.iloc[0])
        title = f"Up to c = {largest} at most {level} is expected to be false"
    figure = fig.figure(
        title,
        "c, number of accepted samples",
        "expected share that is false",
        height=400,
        settings=f"ε_abc = {params.epsilon_abc:g}{_place(params)}",
    )
    styles = fig.styles([name for name, _ in settings])
    if len(settings) == 1:
        styles = [dataclasses.replace(fig.PRIVATE, name="private run, exact")]
    for style, (_, part) in zip(styles, settings, strict=True):
        c = part.c.to_numpy(float)
        low, high = part.false_share_low.to_numpy(), part.false_share_high.to_numpy()
        line = fig.line(c, part.false_share.to_numpy(), style)
        figure.add_traces([fig.band(c, low, high, style), line])
    end = float(result.tables["main"].c.max())
    level_line = dataclasses.replace(fig.GUIDE, name=f"level {level}")
    figure.update_xaxes(**_C_AXIS)
    figure.add_trace(fig.line(np.array([1.0, end]), np.full(2, params.false_level), level_line))
    fig.note(figure, 1.0, params.false_level, f"at most {level}", fig.GUIDE.color, "bottom left")
    if len(settings) == 1:
        _mark_here(figure, params, settings[0][1])
    return figure.update_yaxes(
        range=[-0.02, 1.04], tickformat=".0%", tickvals=[0.0, 0.25, 0.5, 0.75, 1.0]
    )


def _mark_here(figure: go.Figure, params: Params, part: pd.DataFrame) -> None:
    """The c in use on the line of one setting, and what would be false without noise."""
    unfillable = dataclasses.replace(fig.NON_PRIVATE, name="places no close draw can fill")
    figure.add_trace(fig.line(part.c.to_numpy(float), part.unfillable.to_numpy(), unfillable))
    words = ("false with noise", fig.PRIVATE), ("too few close draws", fig.NON_PRIVATE)
    fig.key(figure, [(text, style.color) for text, style in words])
    figure.update_layout(showlegend=False)
    here = part[part.c == params.c]
    share = float(here.false_share.iloc[0])
    if math.isfinite(share):
        point = fig.points(here.c.to_numpy(float), np.array([share]), fig.PRIVATE)
        figure.add_trace(point.update(name="your c", marker={"size": 14}))
        side = "left" if params.c <= RIGHT_HALF else "right"
        place = f"{'top' if share > 0.15 else 'bottom'} {side}"
        said = f" your c = {params.c:,}: {percent(share, params.false_level)} "
        fig.note(figure, params.c, share, said, fig.PRIVATE.color, place)


RIGHT_HALF = 40
"""From here on words about a c stand left of it."""


def _place(params: Params) -> str:
    """The settings that hold for the whole figure, after others."""
    n = f", N = {params.n[0]:,}" if len(params.n) == 1 else ""
    one = f", ε_total = {params.epsilon_total[0]:g}" if len(params.epsilon_total) == 1 else ""
    return n + one


def _median_figure(result: Result) -> go.Figure:
    """Median and quartiles of the flip probability against c, with the level and the guideline."""
    params, settings = cast(Params, result.params), _settings(result)
    largest = result.tables["guideline"].largest_c
    title = f"The paper's median allows c up to {', '.join(map(str, largest))}"
    if not largest.any():
        title = "The paper's median allows no c"
    figure = fig.figure(
        title,
        "c, number of accepted samples",
        "flip probability",
        height=380,
        settings=f"ε_abc = {params.epsilon_abc:g}{_place(params)}",
    )
    styles = fig.styles([name for name, _ in settings])
    if len(settings) == 1:
        styles = [dataclasses.replace(fig.THEORY, name="median over public distances")]
        words = [("median", fig.THEORY.color), ("band: middle half of the draws", fig.THEORY.color)]
        fig.key(figure, words)
    for style, (_, part) in zip(styles, settings, strict=True):
        c = part.c.to_numpy(float)
        low, high = part.lower_quartile.to_numpy(), part.upper_quartile.to_numpy()
        line = fig.line(c, part.median_flip_probability.to_numpy(), style)
        figure.add_traces([fig.band(c, low, high, style).update(name="quartiles"), line])
    ends = np.array([1.0, float(result.tables["main"].c.max())])
    level = dataclasses.replace(fig.GUIDE, name=f"level {params.level:g}")
    figure.add_trace(fig.line(ends, np.full(2, params.level), level))
    figure.update_xaxes(**_C_AXIS)
    said = f"at most {params.level:g}"
    fig.note(figure, 1.0, params.level, said, fig.GUIDE.color, "bottom left")
    if len(settings) == 1:
        figure.update_layout(showlegend=False)
    return figure.update_yaxes(range=[-0.01, 0.56], tickvals=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
