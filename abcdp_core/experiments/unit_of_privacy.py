r"""Who is protected? The unit decides what can be learnt.

The same published numbers are released again and again at the same $\epsilon_{total}$, in one of
two ways. Either a single *person* is protected, who adds little to each number; or the *larger
unit* that the papers take for a data point, a day's national count or a whole outbreak, which may
change each number by all of its public range (MATH M9). Both are released once with (discrete)
Laplace noise,

$$z = s(Y^*) + \nu, \qquad b = \frac{\Delta_1}{\epsilon_{total}},$$

and both posteriors know the law of their noise (MATH E5). All that differs is $\Delta_1$, the most
that one unit moves the numbers in sum: for the six numbers of a tuberculosis report 13/3 for a
patient, and 2760 for the outbreak; for daily counts of cases 1 for a person, and 500 for a day,
which stands for counts cut at that limit.

The interval of a parameter is from the 5 % to the 95 % quantile of the posterior. Its width is
compared with that of the same quantiles of the pool, which are the prior's: at 100 % nothing was
learnt. The data are published, and nobody knows the truth behind them; so this is about width, and
says nothing of errors.

Neither unit is wrong. Whoever protects the outbreak promises that nobody can tell from the release
which outbreak this was; then nothing can be learnt of it. Whoever protects the patients promises
each of them that nobody can tell whether they were there.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, privacy, simulators, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Release,
    private_summary,
    regression_adjustment,
)
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted, percent
from abcdp_core.simulators import ScenarioParams, tuberculosis_patients
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "unit-of-privacy"
TITLE = "What protecting a larger unit costs"
COLUMNS = {
    "main": ("release", "unit", "run", "parameter", "mean", "low", "high"),
    "widths": ("release", "unit", "width_share", "width_share_low", "width_share_high"),
}
"""``width_share``: mean over runs and parameters of an interval's width, as a share of the prior's;
its ends are those of the single runs."""

TAIL = 0.05
"""On each side of an interval."""

MECHANISMS = (private_summary.SUMMARY, private_summary.LARGE_UNIT)


def _scenarios() -> tuple[str, ...]:
    """Those whose published data state two units."""
    return tuple(
        name
        for name in simulators.names()
        if private_summary.statistic_of(simulators.load(name), "larger") is not None
    )


SCENARIO = Parameter(
    kind="choice",
    label="Scenario",
    help="Published data for which two units are stated.",
    options=_scenarios(),
)
RUNS = Parameter(
    kind="integer",
    label="Releases",
    help="Of the same data, each with noise of its own.",
    low=1,
    high=1000,
    steps=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """One budget, spent for each unit."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    pool_size: int = tuberculosis_patients.POOL_SIZE.field(tuberculosis_patients.POOL_SIZE_DEFAULT)
    runs: int = RUNS.field(20)
    scenario: str = SCENARIO.field(tuberculosis_patients.SCENARIO)

    def check_together(self) -> None:
        """Refuse too much work; the size is that of the published data."""
        par.check_work(simulators.load(self.scenario).N_DEFAULT, self.pool_size)


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.open_pool(_public_side(params, seed).key, progress)


def _public_side(params: Params, seed: int) -> pool.PublicSide:
    n = simulators.load(params.scenario).N_DEFAULT
    return pool.public_side(params.scenario, n, params.pool_size, seed)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Release again and again for each unit, and once without noise."""
    params, seed = task.params, task.seed
    public = _public_side(params, seed)
    bare = private_summary.SUMMARY
    ways: list[tuple[str, Mechanism, float, int]] = [("non-private", bare, math.inf, 1)]
    ways += [("private", each, params.epsilon_total, params.runs) for each in MECHANISMS]
    even = np.full(params.pool_size, 1.0 / params.pool_size)
    parts = [_rows(public, "prior", "", 0, public.theta, even)]
    for release, mechanism, epsilon_total, runs in ways:
        prepared = mechanism.prepare(public, mechanism.options, Budget(epsilon_total))
        unit = mechanism.protects(public.scenario)[0] if release == "private" else ""
        for run in range(runs):
            rng = generator(seed, "noise", 0, run)
            made = prepared.release(trials.own(public, 0).comparison, rng)
            parts.append(_sample(public, release, unit, run, made))
    main = pd.concat(parts, ignore_index=True)
    return {"main": main, "widths": _widths(main)}


def _sample(
    public: pool.PublicSide, release: str, unit: str, run: int, made: Release
) -> pd.DataFrame:
    return _rows(public, release, unit, run, made.parameters(public.theta), made.weights)


def _rows(
    public: pool.PublicSide, release: str, unit: str, run: int, sample: Array, weights: Array
) -> pd.DataFrame:
    """Mean and interval of each parameter of a weighted sample."""
    low, high = summaries.weighted_quantile(sample, weights, (TAIL, 1.0 - TAIL))
    return pd.DataFrame(
        {
            **{"release": release, "unit": unit, "run": run},
            "parameter": list(public.scenario.AXES),
            "mean": summaries.weighted_mean(sample, weights),
            **{"low": low, "high": high},
        }
    )


def _widths(main: pd.DataFrame) -> pd.DataFrame:
    """How wide intervals are on average over the parameters, as a share of the prior's."""
    wide = main.assign(width=main.high - main.low)
    prior = wide[wide.release == "prior"].set_index("parameter").width
    shares = wide.assign(share=wide.width / wide.parameter.map(prior))
    runs = shares.groupby(["release", "unit", "run"], sort=False).share.mean()
    each = runs.groupby(["release", "unit"], sort=False)
    found = pd.DataFrame(
        {
            "width_share": each.mean(),
            "width_share_low": each.min(),
            "width_share_high": each.max(),
        }
    )
    return found.reset_index()


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    source = simulators.load(params.scenario)
    cost = private_summary.SUMMARY.spends(Budget(params.epsilon_total))
    promises = [privacy.guarantee(cost, *each.protects(source)) for each in MECHANISMS]
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{_in_words(params, rows['widths'])}{_caution(params)}",
        privacy=_either(*promises),
    )


def _private(widths: pd.DataFrame) -> list[Any]:
    """Rows of the private releases, the smaller unit first."""
    return list(widths[widths.release == "private"].itertuples())


def _in_words(params: Params, widths: pd.DataFrame) -> str:
    bare = widths[widths.release == "non-private"].width_share.item()
    one = params.runs == 1
    said = "; ".join(
        f"with {row.unit} protected {percent(row.width_share)}"
        + (
            ""
            if one
            else f" ({percent(row.width_share_low)[:-2]} to {percent(row.width_share_high)})"
        )
        for row in _private(widths)
    )
    return (
        f"Width of 90 % intervals, as a share of the prior's, on average over the parameters, at "
        f"ε_total = {params.epsilon_total:g}: without noise {percent(bare)}; {said}. "
        f"{counted(params.runs, 'release')} of the same data for each unit"
        f"{'' if one else '; in brackets the narrowest and the widest'}."
    )


def _either(one: str, other: str) -> str:
    """Two promises of which each release keeps one, in a sentence; what follows is the same."""
    first, rest = one.split(". ", 1)
    second = other.split(". ", 1)[0]
    return f"{first}; or p{second[1:]}. {rest}"


def _caution(params: Params) -> str:
    """What a small pool does to the posterior, after a space; empty where it does nothing."""
    source = simulators.load(params.scenario)
    needed = [each.minimum_pool(source) for each in MECHANISMS]
    said = regression_adjustment.caution(params.pool_size, needed)
    return f" {said}" if said else ""


def finding(result: Result) -> str:
    """What is left of the prior's uncertainty for each unit."""
    small, large = _private(result.tables["widths"])
    return (
        f"Protect {small.unit} and intervals are {percent(small.width_share)} as wide as the "
        f"prior's; protect {large.unit}, {percent(large.width_share)}"
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Intervals of each parameter for each unit, below those of the prior and without noise."""
    params, main = cast(Params, result.params), result.tables["main"]
    source = simulators.load(params.scenario)
    small, large = (str(row.unit) for row in _private(result.tables["widths"]))
    looks = [
        ("prior", "", fig.PRIOR),
        ("non-private", "", dataclasses.replace(fig.NON_PRIVATE, name="no noise")),
        ("private", small, dataclasses.replace(fig.PRIVATE, name=small)),
        ("private", large, dataclasses.replace(fig.styles([large])[0], marker="triangle-up")),
    ]
    axes = source.AXES
    drawn = fig.panels(
        [_called(source, name) for name in axes],
        finding(result),
        "",
        "",
        rows=2,
        height=200 + 2 * (40 + 24 * len(looks)),
    )
    below = "by whom is protected: mean and 90 % interval, averaged; dots: single releases"
    settings = f"{_whose(source)}, ε_total = {params.epsilon_total:g}; {below}"
    drawn.layout.title.subtitle.text = settings
    for index, (parameter, ends) in enumerate(axes.items()):
        for place, (release, unit, style) in enumerate(looks):
            of = (main.release == release) & (main.unit == unit) & (main.parameter == parameter)
            for trace in _marks(main[of], place, style):
                drawn.add_trace(trace.update(showlegend=False, **fig.panel(index)))
        # Parameters have units of their own: their panels share the rows and nothing else.
        name = "xaxis" + fig.panel(index)["xaxis"][1:]
        drawn.layout[name].update(matches=None, range=list(ends), nticks=4, tickangle=0)
    words = [f'<span style="color:{style.color}">{style.name}</span>' for _, _, style in looks]
    drawn.update_yaxes(
        range=[len(looks) - 0.5, -0.5],
        tickvals=list(range(len(looks))),
        ticktext=words,
        **{"ticks": "", "showgrid": False, "zeroline": False},
    )
    return {EXPERIMENT: fig.Drawn(drawn, result.summary)}


def _whose(source: simulators.Scenario) -> str:
    """Where the data are from, at the beginning of a line."""
    name = str(getattr(source, "PUBLISHED", "published data"))
    return f"{name[:1].upper()}{name[1:]}"


def _called(source: simulators.Scenario, parameter: str) -> str:
    unit = source.UNITS[parameter]
    return f"{parameter}, {unit}" if unit else parameter


def _marks(rows: pd.DataFrame, place: int, style: fig.Style) -> list[go.Scatter]:
    """The mean of each release, and the average of means and of intervals."""
    single, average = rows["mean"].to_numpy(), rows[["mean", "low", "high"]].mean()
    mean, low, high = (np.array([average[name]]) for name in ("mean", "low", "high"))
    dots = fig.points(single, np.full(len(single), place - 0.28), style)
    dots.update(marker={"size": 5, "symbol": "circle", "opacity": 0.6})
    marks = fig.row_marks(mean, np.array([float(place)]), style, low, high)
    return [dots, marks] if len(single) > 1 else [marks]
