r"""What does a budget buy, and who does the sums?

*Accountants.* The same mechanism at the same budget gets different amounts of noise, depending on
how the cost of its parts is added up.

| accountant | what it does |
|---|---|
| `linear` | adds up the ε of the parts; pure where they are |
| `advanced` | [DR14] Theorem 3.20: grows with the root of their number, for a δ |
| `optimal` | Kairouz, Oh & Viswanath: the best rule that knows only each part's ε |
| `rdp-classic` | Rényi divergence, converted as in the papers (MATH W2) |
| `rdp` | Rényi divergence, converted tightly |
| `direct` | a bound by one Gaussian mechanism, without Rényi divergence (MATH S6) |
| `exact` | what the noise really costs (MATH W3) |

The sparse vector's `linear` is one run (MATH S2); its other accountants compose c segments, each
with a threshold of its own. The decisions of Gaussian rejection follow from T noisy distances, so
with a δ they cost no more than those do: its rows `rdp-classic`, `rdp` and `direct`. It clips to
the largest possible distance here, and the embedding releases all features.

The noise scale is the one each mechanism is set by, in the unit of the distance: b of the threshold
for the sparse vector, σ of the threshold for its Gaussian form, σ of a distance or a coordinate, or
the scale s of norm noise, whose length is about D s in D dimensions.

*One pair (ε, δ) is not enough to compare.* An attacker has to tell two neighbouring data sets
apart. At a false-alarm rate (type I
error) α the best one misses (type II error) at a rate $T(\alpha)$; one pair says only that

$$T(\alpha) \ge \max\{0,\; 1 - \delta - e^{\epsilon}\alpha,\;
e^{-\epsilon}(1 - \delta - \alpha)\}.$$

Two mechanisms with the same pair may lie far apart. Pure ε is about the most telling outcome,
however rare. Gaussian rejection under pure ε pays for the most telling outcome of every draw at
once, and with a large pool its curve is nearly that of no leak at all; the sparse vector reaches
its ε by a run of rare decisions, and the best attack found gets little from all others. Norm noise
in many dimensions rarely points where it would tell much. Gaussian noise with a δ comes nearer to
what its pair allows.

A curve is *exact*, a *bound* that no attacker gets below, or *attained*: an attacker gets there,
and a better one may exist. That of the sparse vector is attained, on the worst pairs of data sets
that were tried; the truth lies between it and *any pure ε*. For more than ten acceptances no pairs
are tried, and the two lines are what is known.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, mechanisms, pool, simulators, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Mechanism, Prepared
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import tradeoff
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import percent, plain
from abcdp_core.simulators import ScenarioParams, uniform_mixture

Array = NDArray[np.float64]

EXPERIMENT = "accounting"
TITLE = "Noise that a budget asks for, by accountant, and what an attacker gets"
COLUMNS = {
    "main": ("mechanism", "accountant", "epsilon_total", "delta", "noise_scale"),
    "tradeoff": ("mechanism", "false_alarm", "miss", "kind"),
    "price": ("mechanism", "part", "count", "noise_scale", "cost", "measure"),
}

ACCOUNTANTS = ("linear", "advanced", "optimal", "rdp-classic", "rdp", "direct", "exact")

ANY_PURE = "any pure ε"
"""Name of the two lines that ε alone draws."""

RATES = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 40), np.linspace(0.0, 1.0, 81)]))
"""False-alarm rates of the curves."""


@dataclass(frozen=True)
class Params(ScenarioParams):
    """What sets the noise; curves are drawn at the first of the budgets."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(
        (1.0, 0.1, 0.2, 0.5, 2.0, 5.0, 10.0), many=True
    )
    delta: float = par.DELTA.field(1e-4)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    scenario: str = trials.SCENARIO.field(uniform_mixture.SCENARIO)


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


# ---------------------------------------------------------------------------------- noise scales


@dataclass(frozen=True)
class Calibration:
    """A mechanism and who does the sums.

    Attributes:
        mechanism: which.
        accountant: of those that it knows.
    """

    mechanism: Mechanism
    accountant: str

    def prepared(self, params: Params, epsilon_total: float) -> Prepared:
        """What is done within a budget; with nothing learnt, where noise can be set so."""
        mechanism, public = self.mechanism, public_side(params)
        options = mechanism.chosen(epsilon_abc=params.epsilon_abc, c=params.c)
        learnt = mechanism.learn(public, options) if mechanism.noise_needs_learnt else None
        budget = Budget(epsilon_total, params.delta)
        event = mechanism.calibrate(public, options, learnt, budget, self.accountant)
        return Prepared(mechanism, public, options, learnt, event)

    def delta(self, params: Params) -> float:
        """δ of the guarantee."""
        return 0.0 if self.mechanism.accountants[self.accountant] == "pure" else params.delta


def public_side(params: Params) -> pool.PublicSide:
    """Sizes and distance; the pool itself is opened by nobody who does not need it."""
    return pool.public_side(params.scenario, params.n, params.pool_size, POOL_SEED)


POOL_SEED = 1
"""Of the pool that a mechanism learns from whose noise cannot be set without."""


def compared(scenario: str = uniform_mixture.SCENARIO) -> list[Mechanism]:
    """Mechanisms whose noise is compared: those that serve a scenario and ask to be here."""
    served = mechanisms.for_scenario(simulators.load(scenario)).values()
    return [each for each in served if EXPERIMENT in each.shown_in]


def calibrations(scenario: str = uniform_mixture.SCENARIO) -> list[Calibration]:
    """Every mechanism with every accountant that it knows, in the order of :data:`ACCOUNTANTS`."""
    return [
        Calibration(mechanism, accountant)
        for mechanism in compared(scenario)
        for accountant in sorted(mechanism.accountants, key=_rank)
    ]


def _rank(accountant: str) -> int:
    """Accountants that nobody foresaw come last."""
    return (*ACCOUNTANTS, accountant).index(accountant)


# ------------------------------------------------------------------------------------ the study


def prepared(params: Params, epsilon_total: float) -> list[Prepared]:
    """What each mechanism does at a budget, by the accountant that it uses."""
    return [
        Calibration(each, each.accountant).prepared(params, epsilon_total)
        for each in compared(params.scenario)
    ]


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Noise scales at all budgets; curves, and what the parts cost, at the first."""
    params = task.params
    rows = []
    for each in calibrations(params.scenario):
        for epsilon_total in params.epsilon_total:
            scale = each.mechanism.parts(each.prepared(params, epsilon_total))[0].noise_scale
            at = (each.mechanism.name, each.accountant, epsilon_total)
            rows.append((*at, each.delta(params), scale))
    main = pd.DataFrame(rows, columns=list(COLUMNS["main"]))
    first = params.epsilon_total[0]
    parts = [
        (each.mechanism.name, *dataclasses.astuple(part))
        for each in prepared(params, first)
        for part in each.mechanism.parts(each)
    ]
    price = pd.DataFrame(parts, columns=list(COLUMNS["price"]))
    return {"main": main, "tradeoff": _curves(params, first), "price": price}


def _curves(params: Params, epsilon_total: float) -> pd.DataFrame:
    lines = tradeoff.approximate(epsilon_total, 0.0, RATES)
    curves = {
        each.mechanism.name: tradeoff.curve(each.event, RATES)
        for each in prepared(params, epsilon_total)
    }
    curves[ANY_PURE] = tradeoff.Curve(RATES, lines, "bound")
    tables = [
        pd.DataFrame(
            {
                "mechanism": name,
                "false_alarm": curve.false_alarm,
                "miss": curve.miss,
                "kind": curve.kind,
            }
        )
        for name, curve in curves.items()
    ]
    return pd.concat(tables, ignore_index=True)


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    main, curves = rows["main"], rows["tradeoff"]
    budget = params.epsilon_total[0]
    found = main[main.epsilon_total == budget].set_index(["mechanism", "accountant"]).noise_scale
    classic = found["soft-weights", "rdp-classic"] / found["soft-weights", "exact"]
    # The standard deviation of Laplace noise is √2 times its scale.
    gaussian = found["gaussian-sparse-vector", "direct"] / found["sparse-vector", "linear"]
    deviations = gaussian / math.sqrt(2.0)
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"At ε_total = {budget:g} and δ = {params.delta:g} soft weights need "
        f"{plain(classic)} times as much noise by the papers' conversion as by the exact account, "
        f"and the threshold noise of the sparse vector has a standard deviation "
        f"{plain(deviations, 2)} times as large if it is Gaussian as if it is Laplace. "
        f"{_attack(curves)}",
        privacy="No data are read here, so nothing is spent.",
    )


def _attack(curves: pd.DataFrame) -> str:
    """What is missed at 5 % false alarms in a sparse vector run, as far as that is known."""
    misses = {
        name: 100.0 * float(np.interp(0.05, curve.false_alarm, curve.miss))
        for name, curve in curves.groupby("mechanism")
    }
    least = math.floor(misses[ANY_PURE] + ROUNDING)
    most = math.ceil(misses["sparse-vector"] - ROUNDING)
    searched = (curves[curves.mechanism == "sparse-vector"].kind == "attained").all()
    return (
        f"With 5 % false alarms an attacker on the sparse vector run misses at least {least} % by "
        f"pure ε{f', and the best attack found misses {most} %' if searched else ''}."
    )


ROUNDING = 1e-6
"""Percentage points that are no difference."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """How much more noise an accountant asks for than the best; and the trade-off curves."""
    return {
        "noise": fig.Drawn(_noise_figure(result), result.summary),
        "tradeoff": fig.Drawn(_tradeoff_figure(result), attack(result)),
    }


FALSE_ALARMS = 0.1

KNOWN: dict[str, tuple[str, Callable[[float], int]]] = {
    "exact": ("", round),
    "attained": ("at most ", lambda misses: math.ceil(misses - ROUNDING)),
    "bound": ("at least ", lambda misses: math.floor(misses + ROUNDING)),
}
"""Kind of a trade-off curve -> how it limits the best attacker's misses, and how to round."""


def attack(result: Result) -> str:
    """How often the best attacker misses, at one rate of false alarms, as far as that is known."""
    table = result.tables["tradeoff"]
    each = []
    for mechanism, part in table.groupby("mechanism", sort=False):
        misses = np.interp(FALSE_ALARMS, part.false_alarm.to_numpy(), part.miss.to_numpy())
        limit, rounded = KNOWN[part.kind.iloc[0]]
        each.append(f"{mechanism} {limit}{rounded(100 * float(misses))}")
    text = (
        f"With {100 * FALSE_ALARMS:.0f} false alarms (type I errors) in 100 the best attacker "
        f"misses (type II error) so often in 100: {', '.join(each)}; a guess "
        f"misses {100 * (1 - FALSE_ALARMS):.0f} times."
    )
    if "attained" in set(table.kind):
        text += " At most: an attack that misses so often is known; a better one may exist."
    return text


def excess(result: Result) -> pd.DataFrame:
    """How much more noise each accountant asks for at the first budget, in per cent.

    More than the best of the same mechanism and the same promise, pure or with δ, which stands
    among the rows of no one; nor does what has no other to be compared with.

    Columns ``mechanism, accountant, best, percent``, the least first within a mechanism.
    """
    params, main = cast(Params, result.params), result.tables["main"]
    here = main[main.epsilon_total == params.epsilon_total[0]]
    rows = []
    for name in here.mechanism.unique():
        of = here[here.mechanism == name]
        for _, part in of.groupby(of.delta > 0.0):
            least = part.loc[part.noise_scale.idxmin()]
            others = part.drop(index=least.name).sort_values("noise_scale", kind="stable")
            rows += [
                (name, each.accountant, least.accountant, 100.0 * (more - 1.0))
                for each in others.itertuples()
                for more in [float(each.noise_scale) / float(least.noise_scale)]
            ]
    return pd.DataFrame(rows, columns=["mechanism", "accountant", "best", "percent"])


PERCENT = (0.3, 20_000.0)
"""Ends of the axis; what is less stands on its edge."""


def _noise_figure(result: Result) -> go.Figure:
    """A row for each accountant, below the name of its mechanism."""
    params, table = cast(Params, result.params), excess(result)
    classic = table[(table.mechanism == "soft-weights") & (table.accountant == "rdp-classic")]
    names: list[str] = []
    series = []
    for name in table.mechanism.unique():
        part, style = table[table.mechanism == name], fig.mechanism(str(name))
        names.append(f'<b><span style="color:{style.color}">{style.name}</span></b>')
        places = len(names) + np.arange(float(len(part)))
        names += [
            f"{accountant} +{percent(more / 100.0)}"
            for accountant, more in zip(part.accountant, part.percent, strict=True)
        ]
        marks = fig.row_marks(np.clip(part.percent.to_numpy(float), *PERCENT), places, style)
        series.append(
            marks.update(
                customdata=part[["accountant", "best", "percent"]].to_numpy(),
                hovertemplate="%{customdata[0]}: %{customdata[2]:.3g} % more than "
                f"%{{customdata[1]}}<extra>{name}</extra>",
            )
        )
    figure = fig.ranked(
        names,
        f"The papers' accountant asks for {percent(float(classic.percent.iloc[0]) / 100.0)} more "
        "noise than soft weights need",
        "% more noise than needed",
        f"ε_total = {params.epsilon_total[0]:g}, δ = {params.delta:g}, c = {params.c:,}, "
        f"N = {params.n:,}, T = {params.pool_size:,}; needed: by the best accountant known here",
        row_height=17,
    )
    figure.add_traces(series)
    return figure.update_xaxes(
        type="log",
        range=np.log10(PERCENT).tolist(),
        tickvals=[1.0, 100.0, 10_000.0],
        ticktext=["1", "100", "10,000"],
        tickangle=0,
    )


def _tradeoff_figure(result: Result) -> go.Figure:
    """All curves on a square, below them what no guarantee of this ε_total lets through."""
    params, curves = cast(Params, result.params), result.tables["tradeoff"]
    budget = params.epsilon_total[0]
    figure = fig.figure(
        f"With {100 * FALSE_ALARMS:.0f} false alarms in 100 an attacker misses at least "
        f"{least_missed(params)} in 100",
        "false alarms (type I error)",
        "misses (type II error)",
        height=620,
        settings=f"ε_total = {budget:g}, δ = {params.delta:g} where there is one, c = {params.c:,}",
    )
    nothing = dataclasses.replace(fig.GUIDE, name="a guess: nothing leaks")
    figure.add_trace(fig.line(np.array([0.0, 1.0]), np.array([1.0, 0.0]), nothing))
    for name in curves.mechanism.unique():
        part = curves[curves.mechanism == name]
        style = fig.THEORY if name == ANY_PURE else fig.mechanism(name)
        labelled = dataclasses.replace(
            style, name=f"{fig.called(name)}, {part.kind.iloc[0]}" if name != ANY_PURE else name
        )
        figure.add_trace(fig.line(part.false_alarm.to_numpy(), part.miss.to_numpy(), labelled))
    ticks = {"range": [0.0, 1.0], "tickvals": [0.0, 0.25, 0.5, 0.75, 1.0], "constrain": "domain"}
    figure.update_xaxes(ticks)
    return figure.update_yaxes(ticks, scaleanchor="x", scaleratio=1.0)


def least_missed(params: Params) -> int:
    """Misses in 100 below which no attack on any of the mechanisms gets, by ε_total and δ."""
    least = tradeoff.approximate(params.epsilon_total[0], params.delta, np.array([FALSE_ALARMS]))
    return math.floor(100.0 * float(least[0]) + ROUNDING)
