r"""What does it cost to protect a larger unit?

The same published numbers are released repeatedly at the same $\epsilon_{total}$, in one of two
ways. One protects a single *person*, who adds little to each number. The other protects the *larger
unit* that the papers take for a data point, a day's national count or a whole outbreak, which can
change each number by all of its public range (MATH M9). Both add (discrete) Laplace noise once,

$$z = s(Y^*) + \nu, \qquad b = \frac{\Delta_1}{\epsilon_{total}},$$

and both posteriors use the distribution of this noise (MATH E5). Only $\Delta_1$ differs, the most
that one unit changes the numbers in sum. For the six numbers of a tuberculosis report it is 13/3
for a patient and 2760 for the outbreak; for daily counts of cases it is 1 for a person and 500 for
a day, as larger counts are cut to 500.

The interval for a parameter is from the 5 % to the 95 % quantile of the posterior. Its width is
compared with the width between the same quantiles of the pool, which are the prior's: at 100 %
nothing was learned. The data are published and the truth behind them is unknown, so this study is
about widths and not about errors.

Neither unit is wrong. If you protect the outbreak, the release cannot show which outbreak it was,
so nothing can be learned about it. If you protect the patients, the release cannot show whether any
one of them was there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool, privacy, simulators, summaries, trials
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.sentences import amount, counted, settings_line
from abcdp_core.simulators import ScenarioParams, tuberculosis_patients
from abcdp_core.streams import generator
from abcdp_core.study import BaseParams, Parameter, Result, Rows, Run, Study, Tables, Total
from abcdp_core.study import mechanisms as shared
from abcdp_core.tasks import SingleTask, single_task

Array = NDArray[np.float64]

EXPERIMENT = "unit-of-privacy"
TITLE = "What protecting a larger unit costs"

TAIL = 0.05
"""On each side of an interval."""

MECHANISMS = (private_summary.SUMMARY, private_summary.LARGE_UNIT)


def _scenarios() -> tuple[str, ...]:
    """Scenarios whose published data state two units."""
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
    help="Of the same data, each with its own noise.",
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


def intervals(public: pool.PublicSide, task: Run[Params] | SingleTask[Params]) -> pd.DataFrame:
    """Means and intervals of the prior, of a release without noise, and of those for each unit."""
    params, source = task.params, public.scenario
    even = np.full(params.pool_size, 1.0 / params.pool_size)
    parts = [_rows(public, public.theta, even, release="prior", unit="", run=0)]
    private = ("private", params.epsilon_total, params.runs)
    ways = [(MECHANISMS[0], "", "non-private", math.inf, 1)]
    ways += [(each, each.protects(source)[0], *private) for each in MECHANISMS]
    comparison = trials.own(public, 0).comparison
    for mechanism, unit, release, epsilon_total, runs in ways:
        prepared = mechanism.prepare(public, mechanism.options, Budget(epsilon_total))
        for run in range(runs):
            made = prepared.release(comparison, generator(task.seed, "noise", 0, run))
            sample = made.parameters(public.theta)
            parts.append(_rows(public, sample, made.weights, release=release, unit=unit, run=run))
    return pd.concat(parts, ignore_index=True)


def _rows(public: pool.PublicSide, sample: Array, weights: Array, **of: object) -> pd.DataFrame:
    """Mean and interval of each parameter of a weighted sample."""
    low, high = summaries.weighted_quantile(sample, weights, (TAIL, 1.0 - TAIL))
    mean = summaries.weighted_mean(sample, weights)
    parameters = list(public.scenario.AXES)
    return pd.DataFrame({**of, "parameter": parameters, "mean": mean, "low": low, "high": high})


def widths(_: Params, rows: Tables) -> pd.DataFrame:
    """Mean over runs and parameters of an interval's width, as a share of the prior's.

    The ends are the means of the runs with the narrowest and the widest intervals.
    """
    wide = rows["main"].assign(width=rows["main"].high - rows["main"].low)
    prior = wide[wide.release == "prior"].set_index("parameter").width
    shares = wide.assign(share=wide.width / wide.parameter.map(prior))
    runs = shares.groupby(["release", "unit", "run"], sort=False).share.mean()
    each = runs.groupby(["release", "unit"], sort=False)
    found = {"": each.mean(), "_low": each.min(), "_high": each.max()}
    return pd.DataFrame({f"width_share{end}": part for end, part in found.items()}).reset_index()


def promise(params: Params) -> str:
    """State both promises, of which each release keeps one, in a sentence."""
    source, cost = (
        simulators.load(params.scenario),
        MECHANISMS[0].spends(Budget(params.epsilon_total)),
    )
    one, other = (privacy.guarantee(cost, *each.protects(source)) for each in MECHANISMS)
    first, rest = one.split(". ", 1)
    return f"{first}; or p{other.split('. ', 1)[0][1:]}. {rest}"


def _shares(result: Result, release: str = "private") -> list[tuple[str, str]]:
    """Units, the smaller one first, with the widths of their intervals in words."""
    table = result.tables["widths"]
    chosen = table[table.release == release]
    shares = [f"{amount(100.0 * share, 2)} %" for share in chosen.width_share]
    return list(zip(chosen.unit, shares, strict=True))


def says(result: Result) -> str:
    """Say how wide intervals are with each unit protected, and what a small pool does to them."""
    params = cast(Params, result.params)
    (unit, share), (larger, other), (_, bare) = *_shares(result), *_shares(result, "non-private")
    caution = shared.small_pool(params, [each.name for each in MECHANISMS])
    return (
        f"With {settings_line(params, ['epsilon_total'])} and {unit} protected, 90 % intervals are "
        f"on average {share} as wide as the prior's; with {larger} protected, they are {other} as "
        f"wide. Without noise they would be {bare} as wide. {caution}"
    ).strip()


def drawn(result: Result) -> fig.Drawn:
    """Draw intervals of each parameter: the prior's, without noise, and for each unit."""
    params, main = cast(Params, result.params), result.tables["main"]
    source = simulators.load(params.scenario)
    (small, share), (large, other) = _shares(result)
    looks = [
        ("prior", "", fig.PRIOR),
        ("non-private", "", fig.NON_PRIVATE.called("no noise")),
        ("private", small, fig.PRIVATE.called(small)),
        ("private", large, fig.styles([large])[0].called(large, marker="triangle-up")),
    ]
    names = [", ".join(filter(None, (name, source.UNITS[name]))) for name in source.AXES]
    title = (
        f"Intervals are {share} as wide as the prior's with {small} protected, {other} as wide "
        f"with {large} protected"
    )
    figure = fig.panels(names, title, "", "", rows=2, height=200 + 2 * (40 + 24 * len(looks)))
    dots = f", means of {counted(params.runs, 'release')} as dots" * (params.runs > 1)
    whose = str(getattr(source, "PUBLISHED", "published data"))
    settings = f"{whose[:1].upper()}{whose[1:]}, {settings_line(params, ['epsilon_total'])}"
    figure.layout.title.subtitle.text = f"{settings}, mean and 90 % interval{dots}"
    for index, (parameter, ends) in enumerate(source.AXES.items()):
        for place, (release, unit, style) in enumerate(looks):
            of = (main.release == release) & (main.unit == unit) & (main.parameter == parameter)
            for trace in _marks(main[of], place, style):
                figure.add_trace(trace.update(showlegend=False, **fig.panel(index)))
        # Parameters have their own units: their panels share only the rows.
        axis = "xaxis" + fig.panel(index)["xaxis"][1:]
        figure.layout[axis].update(matches=None, range=list(ends), nticks=4, tickangle=0)
    words = [f'<span style="color:{style.color}">{style.name}</span>' for _, _, style in looks]
    figure.update_yaxes(
        range=[len(looks) - 0.5, -0.5],
        tickvals=list(range(len(looks))),
        ticktext=words,
        **{"ticks": "", "showgrid": False, "zeroline": False},
    )
    return fig.Drawn(figure, result.summary)


def _marks(rows: pd.DataFrame, place: int, style: fig.Style) -> list[go.Scatter]:
    """The mean of each release, and the average of means and of intervals."""
    single, average = rows["mean"].to_numpy(), rows[["mean", "low", "high"]].mean()
    mean, low, high = (np.array([average[name]]) for name in ("mean", "low", "high"))
    marks = fig.row_marks(mean, np.array([float(place)]), style, low, high)
    dots = fig.points(single, np.full(len(single), place - 0.28), style)
    dots.update(marker={"size": 5, "symbol": "circle", "opacity": 0.6})
    return [dots, marks] if len(single) > 1 else [marks]


STUDY = Study(
    EXPERIMENT,
    Params,
    world=lambda task: shared.public_side(task.params, task.seed),
    tables={"main": Rows("release unit run parameter mean low high", intervals)},
    totals={
        "widths": Total("release unit width_share width_share_low width_share_high", widths),
    },
    says=says,
    privacy=promise,
    views={EXPERIMENT: drawn},
)
COLUMNS, _, work, collect, figures = STUDY.contract()
# All releases are of the same data, and quick.
tasks = single_task
prepare = shared.prepare
