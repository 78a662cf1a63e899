r"""How much noise does a budget require, and what can an attacker learn?

**Accountants.** A mechanism spends its budget in parts, and an accountant adds them up. For the
same mechanism and the same budget, some accountants call for more noise than others.

| accountant | method |
|---|---|
| `linear` | adds up the ε of the parts; pure if every part is pure |
| `advanced` | [DR14] Theorem 3.20: grows with the root of the number of parts, and needs a δ |
| `optimal` | Kairouz, Oh & Viswanath: the tightest rule that uses only the ε of each part |
| `rdp-classic` | Rényi divergence, converted as in the papers (MATH W2) |
| `rdp` | Rényi divergence, converted tightly |
| `direct` | bound by a single Gaussian mechanism, without Rényi divergence (MATH S6) |
| `exact` | the exact privacy loss of the noise (MATH W3) |

For the sparse vector, `linear` covers the whole run (MATH S2); the other accountants compose c
segments, each with its own threshold. Gaussian rejection with a δ is accounted by its T noisy
distances; here it clips at the largest possible distance, and the embedding releases all features.

The noise scale is in the unit of the distance: b of the threshold for the sparse vector, σ of the
threshold for its Gaussian form, σ of a distance or a coordinate, or the scale s of norm noise,
whose length is about D s in D dimensions.

**One pair (ε, δ) is not enough to compare mechanisms.** An attacker tries to tell two neighboring
data sets apart. At a false-alarm rate (type I error) α, the best attacker misses (type II error)
at a rate $T(\alpha)$. A pair guarantees only that

$$T(\alpha) \ge \max\{0,\; 1 - \delta - e^{\epsilon}\alpha,\;
e^{-\epsilon}(1 - \delta - \alpha)\}.$$

Two mechanisms with the same pair can be far apart. Pure ε bounds the most revealing outcome,
however rare. Gaussian rejection under pure ε pays for the most revealing outcome of every draw at
once, so with a large pool its curve shows almost no leak. Gaussian noise with a δ comes closer to
the limit of its pair.

A curve is *exact*, a *bound* that no attacker can beat, or *attained*: some attacker reaches it,
and a better one may exist. The sparse vector's curve is attained on the worst pairs of data sets
that we tried. With more than ten draws to keep, no pairs are tried and only the bound is known.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import mechanisms
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import ROUNDING, percent, settings_line
from abcdp_core.evaluation import cases
from abcdp_core.figures import ranked
from abcdp_core.mechanisms import Budget, Mechanism, Prepared
from abcdp_core.models import pool
from abcdp_core.models.simulators import Scenario, ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import tradeoff
from abcdp_core.studies.engine import Result, Run, RunTable, Study

EXPERIMENT = "accounting"
TITLE = "Noise required by each accountant, and what an attacker can learn"

ACCOUNTANTS = ("linear", "advanced", "optimal", "rdp-classic", "rdp", "direct", "exact")
ANY_PURE = "any pure ε"  # Name of the bound that follows from ε alone

RATES = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 40), np.linspace(0.0, 1.0, 81)]))
"""False-alarm rates of the curves."""

POOL_SEED = 1  # Seed of the pool for mechanisms whose noise depends on one


@dataclass(frozen=True)
class Params(ScenarioParams):
    """The settings that determine the noise; curves use the first budget."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 0.1, 0.2, 0.5, 2.0, 5.0, 10.0))
    delta: float = par.DELTA.field(1e-4)
    c: int = par.C.field(MIXTURE.c_default)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    scenario: str = cases.SCENARIO.field(MIXTURE.name)


def compared(scenario: Scenario = MIXTURE) -> list[Mechanism]:
    """Return the mechanisms that this study compares for a scenario."""
    served = mechanisms.for_scenario(scenario).values()
    return [each for each in served if EXPERIMENT in each.shown_in]


def prepared(
    mechanism: Mechanism, params: Params, epsilon_total: float, accountant: str = ""
) -> Prepared:
    """Calibrate a mechanism to a budget, by default with its own accountant.

    It is fitted to a pool only if its noise depends on the fit.
    """
    public = pool.public_side(params.source, params.n, params.pool_size, POOL_SEED)
    options = mechanism.chosen(epsilon_abc=params.epsilon_abc, c=params.c)
    fitted = mechanism.fit(public, options) if mechanism.noise_needs_fitted else None
    budget = Budget(epsilon_total, params.delta)
    accountant = accountant or mechanism.accountant
    event = mechanism.calibrate(public, options, fitted, budget, accountant)
    return Prepared(mechanism, public, options, fitted, event)


def at_first_budget(run: Run[Params]) -> list[Prepared]:
    """Calibrate each mechanism to the first budget with its own accountant."""
    params = run.params
    return [prepared(each, params, params.epsilon_total[0]) for each in compared(params.source)]


def scales(_: list[Prepared], run: Run[Params]) -> list[Any]:
    """Tabulate the noise that each accountant calls for at every budget."""
    params, rows = run.params, []
    for each in compared(params.source):
        # Accountants of plug-ins come last.
        names = sorted(each.accountants, key=lambda name: (*ACCOUNTANTS, name).index(name))
        for accountant in names:
            delta = 0.0 if each.accountants[accountant] == "pure" else params.delta
            for budget in params.epsilon_total:
                part, *_rest = each.parts(prepared(each, params, budget, accountant))
                rows.append((each.name, accountant, budget, delta, part.noise_scale))
    return rows


def curves(first: list[Prepared], run: Run[Params]) -> pd.DataFrame:
    """Tabulate the trade-off curve of each mechanism, and the bound for ε alone."""
    lines = tradeoff.approximate(run.params.epsilon_total[0], 0.0, RATES)
    curve_of = {each.mechanism.name: tradeoff.curve(each.event, RATES) for each in first}
    curve_of[ANY_PURE] = tradeoff.Curve(RATES, lines, "bound")
    tables = [pd.DataFrame({"mechanism": name} | vars(curve)) for name, curve in curve_of.items()]
    return pd.concat(tables, ignore_index=True)


def prices(first: list[Prepared], _: Run[Params]) -> list[Any]:
    """Tabulate the privacy loss of each mechanism's parts."""
    parts = [(each.mechanism, part) for each in first for part in each.mechanism.parts(each)]
    return [(mechanism.name, *dataclasses.astuple(part)) for mechanism, part in parts]


def excess(result: Result) -> pd.DataFrame:
    """Return the accountants that call for too much noise at the first budget.

    ``share`` is the excess over the least noise for the same mechanism and kind of guarantee, pure
    or with a δ. Rows are sorted by mechanism and ``share``.
    """
    main = result.tables["main"]
    smallest = main[main.epsilon_total == main.epsilon_total.iloc[0]]
    least = smallest.groupby(["mechanism", smallest.delta > 0.0]).noise_scale.transform("min")
    smallest = smallest.assign(share=smallest.noise_scale / least - 1.0)
    return smallest[smallest.share > ROUNDING].sort_values(["mechanism", "share"])


def noise_says(result: Result) -> tuple[str, str]:
    """Compare the papers' accountant of soft weights with the best one."""
    rows = excess(result).set_index(["mechanism", "accountant"])
    more = percent(rows.share["soft-weights", "rdp-classic"])
    params = cast(Params, result.params)
    return f"The papers' accountant calls for {more} more noise than soft weights need", (
        f"At ε_total = {params.epsilon_total[0]:,g} and δ = {params.delta:g}, the papers' "
        f"accountant (rdp-classic) calls for {more} more noise in soft weights than the tightest "
        "accountant."
    )


ENDS = (0.3, 20_000.0)  # Ends of the axis, in percent; smaller values are drawn on its edge


def noise(result: Result) -> fig.CaptionedFigure:
    """Draw a row for each accountant, below the name of the mechanism."""
    title, caption = noise_says(result)
    names, marks = [], []
    for name, part in excess(result).groupby("mechanism"):
        style = fig.mechanism(str(name))
        names.append(fig.bold(style.name, style.color))
        for accountant, share in zip(part.accountant, part.share, strict=True):
            marks.append((len(names), style, 100.0 * share))
            names.append(f"{accountant} +{percent(share)}")
    table = pd.DataFrame(marks, columns=["place", "style", "value"])
    settings = settings_line(result.params, ("epsilon_total", "delta", "c", "n", "pool_size"))
    words = title, "excess over the best accountant's noise, in %", settings
    return fig.CaptionedFigure(ranked.marked(names, table, words, ENDS, row_height=17), caption)


FALSE_ALARMS = 10  # False-alarm rate at which misses are read off, in percent


def least_missed(params: Params) -> int:
    """Return the miss rate in percent that ε_total and δ guarantee, rounded down."""
    rate = np.array([FALSE_ALARMS / 100.0])
    least = tradeoff.approximate(params.epsilon_total[0], params.delta, rate)
    return math.floor(100.0 * float(least[0]) + ROUNDING)


def attack_says(result: Result) -> tuple[str, str]:
    """Report the guaranteed miss rate, and the lowest rate of a known attack."""
    params, table = cast(Params, result.params), result.tables["tradeoff"]
    at = f"At a false-alarm rate of {FALSE_ALARMS} %"
    missed = f"every attack misses at least {least_missed(params)} % of real differences"
    sparse, attack = table[table.mechanism == "sparse-vector"], ""
    if (sparse.kind == "attained").all():
        misses = 100.0 * float(np.interp(FALSE_ALARMS / 100.0, sparse.false_alarm, sparse.miss))
        most = math.ceil(misses - ROUNDING)
        attack = f" The best attack found on the sparse vector misses at most {most} % of them."
    return f"{at}, {missed}", f"{at}, ε_total and δ guarantee that {missed}.{attack}"


def attack(result: Result) -> fig.CaptionedFigure:
    """Draw the trade-off curves on a square, with a guess and the bound for ε alone."""
    title, caption = attack_says(result)
    settings = settings_line(result.params, ("epsilon_total", "delta", "c"))
    axes = "false alarms (type I error)", "misses (type II error)"
    drawn = fig.figure(title, *axes, height=620, settings=settings)
    guess = fig.GUIDE.called("a guess: nothing leaks")
    drawn.add_trace(fig.line(np.array([0.0, 1.0]), np.array([1.0, 0.0]), guess))
    for name, part in result.tables["tradeoff"].groupby("mechanism", sort=False):
        own = fig.mechanism(str(name))
        style = own.called(f"{own.name}, {part.kind.iloc[0]}")
        style = fig.THEORY.called(ANY_PURE) if name == ANY_PURE else style
        drawn.add_trace(fig.line(part.false_alarm.to_numpy(), part.miss.to_numpy(), style))
    ticks = {"range": [0.0, 1.0], "tickvals": [0.0, 0.25, 0.5, 0.75, 1.0], "constrain": "domain"}
    drawn.update_xaxes(ticks).update_yaxes(ticks, scaleanchor="x", scaleratio=1.0)
    return fig.CaptionedFigure(drawn, caption)


STUDY = Study(
    EXPERIMENT,
    Params,
    world=at_first_budget,
    tables={
        "main": RunTable("mechanism accountant epsilon_total delta noise_scale", scales),
        "tradeoff": RunTable("mechanism false_alarm miss kind", curves),
        "price": RunTable("mechanism part count noise_scale cost measure", prices),
    },
    says=lambda result: f"{noise_says(result)[1]} {attack_says(result)[1]}",
    privacy="No data are read, so no budget is spent.",
    views={"noise": noise, "tradeoff": attack},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
