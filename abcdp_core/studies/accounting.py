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
with a threshold of its own. Gaussian rejection with a δ is accounted by its T noisy distances; it
clips to the largest possible distance here, and the embedding releases all features.

A noise scale is the one that sets its mechanism, in the unit of the distance: b of the threshold
for the sparse vector, σ of the threshold for its Gaussian form, σ of a distance or a coordinate, or
the scale s of norm noise, whose length is about D s in D dimensions.

*One pair (ε, δ) is not enough to compare.* An attacker has to tell two neighboring data sets apart.
At a false-alarm rate (type I error) α the best attacker misses (type II error) at a rate
$T(\alpha)$; one pair says only that

$$T(\alpha) \ge \max\{0,\; 1 - \delta - e^{\epsilon}\alpha,\;
e^{-\epsilon}(1 - \delta - \alpha)\}.$$

Two mechanisms with the same pair can be far apart. Pure ε is about the most revealing outcome,
however rare. Gaussian rejection under pure ε pays for that of every draw at once, and with a large
pool its curve nearly shows no leak at all. Gaussian noise with a δ comes closer to what its pair
allows.

A curve is *exact*, a *bound* that no attacker gets below, or *attained*: an attacker gets there,
and a better one may exist. The curve of the sparse vector is attained on the worst pairs of data
sets that were tried; for more than ten acceptances no pairs are tried, and only the bound is known.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import mechanisms, pool, simulators, trials
from abcdp_core import parameters as par
from abcdp_core.figures import ranked
from abcdp_core.mechanisms import Budget, Mechanism, Prepared
from abcdp_core.privacy import tradeoff
from abcdp_core.sentences import ROUNDING, percent, settings_line
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.study import Result, Rows, Run, Study

EXPERIMENT = "accounting"
TITLE = "Noise that a budget asks for, by accountant, and what an attacker gets"

ACCOUNTANTS = ("linear", "advanced", "optimal", "rdp-classic", "rdp", "direct", "exact")
ANY_PURE = "any pure ε"  # Name of the two lines that ε alone draws

RATES = np.unique(np.concatenate([np.geomspace(1e-4, 0.1, 40), np.linspace(0.0, 1.0, 81)]))
"""False-alarm rates of the curves."""

POOL_SEED = 1  # Of the pool that a mechanism learns from whose noise cannot be set without


@dataclass(frozen=True)
class Params(ScenarioParams):
    """What sets the noise; curves are drawn at the first of the budgets."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 0.1, 0.2, 0.5, 2.0, 5.0, 10.0))
    delta: float = par.DELTA.field(1e-4)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    scenario: str = trials.SCENARIO.field(uniform_mixture.SCENARIO)


def compared(scenario: str = uniform_mixture.SCENARIO) -> list[Mechanism]:
    """Return the mechanisms that serve a scenario and ask to be in this study."""
    served = mechanisms.for_scenario(simulators.load(scenario)).values()
    return [each for each in served if EXPERIMENT in each.shown_in]


def prepared(
    mechanism: Mechanism, params: Params, epsilon_total: float, accountant: str = ""
) -> Prepared:
    """Return what a mechanism does within a budget, by its own accountant if none is given.

    Nothing is learnt from a pool where noise can be set without.
    """
    public = pool.public_side(params.scenario, params.n, params.pool_size, POOL_SEED)
    options = mechanism.chosen(epsilon_abc=params.epsilon_abc, c=params.c)
    fitted = mechanism.fit(public, options) if mechanism.noise_needs_fitted else None
    budget = Budget(epsilon_total, params.delta)
    accountant = accountant or mechanism.accountant
    event = mechanism.calibrate(public, options, fitted, budget, accountant)
    return Prepared(mechanism, public, options, fitted, event)


def at_first_budget(run: Run[Params]) -> list[Prepared]:
    """Return what each mechanism does at the first budget, by the accountant that it uses."""
    params = run.params
    return [prepared(each, params, params.epsilon_total[0]) for each in compared(params.scenario)]


def scales(_: list[Prepared], run: Run[Params]) -> list[Any]:
    """Return the noise that each accountant asks for, at every budget."""
    params, rows = run.params, []
    for each in compared(params.scenario):
        # Those that a plug-in adds come last.
        names = sorted(each.accountants, key=lambda name: (*ACCOUNTANTS, name).index(name))
        for accountant in names:
            delta = 0.0 if each.accountants[accountant] == "pure" else params.delta
            for budget in params.epsilon_total:
                part, *_rest = each.parts(prepared(each, params, budget, accountant))
                rows.append((each.name, accountant, budget, delta, part.noise_scale))
    return rows


def curves(first: list[Prepared], run: Run[Params]) -> pd.DataFrame:
    """Return the trade-off curve of each mechanism, and of ε alone."""
    lines = tradeoff.approximate(run.params.epsilon_total[0], 0.0, RATES)
    found = {each.mechanism.name: tradeoff.curve(each.event, RATES) for each in first}
    found[ANY_PURE] = tradeoff.Curve(RATES, lines, "bound")
    tables = [pd.DataFrame({"mechanism": name} | vars(curve)) for name, curve in found.items()]
    return pd.concat(tables, ignore_index=True)


def prices(first: list[Prepared], _: Run[Params]) -> list[Any]:
    """Return what the parts of each mechanism cost."""
    parts = [(each.mechanism, part) for each in first for part in each.mechanism.parts(each)]
    return [(mechanism.name, *dataclasses.astuple(part)) for mechanism, part in parts]


def excess(result: Result) -> pd.DataFrame:
    """Return the rows of the first budget that have more noise than needed, and which share more.

    Needed is the least for the mechanism and its kind of guarantee, pure or with δ. Rows are sorted
    by mechanism and ``share``.
    """
    main = result.tables["main"]
    here = main[main.epsilon_total == main.epsilon_total.iloc[0]]
    least = here.groupby(["mechanism", here.delta > 0.0]).noise_scale.transform("min")
    here = here.assign(share=here.noise_scale / least - 1.0)
    return here[here.share > ROUNDING].sort_values(["mechanism", "share"])


def noise_says(result: Result) -> tuple[str, str]:
    """Compare the papers' accountant of soft weights with the best one."""
    rows = excess(result).set_index(["mechanism", "accountant"])
    more = percent(rows.share["soft-weights", "rdp-classic"])
    return f"The papers' accountant asks for {more} more noise than soft weights need", (
        f"With {settings_line(result.params, ['epsilon_total', 'delta'])}, the papers' accountant, "
        f"rdp-classic, asks soft weights for {more} more noise than the best accountant."
    )


ENDS = (0.3, 20_000.0)  # Of the axis, in percent; less is drawn on its edge


def noise(result: Result) -> fig.CaptionedFigure:
    """Draw a row for each accountant, below the name of its mechanism."""
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
    words = title, "% more noise than the best accountant asks for", settings
    return fig.CaptionedFigure(ranked.marked(names, table, words, ENDS, row_height=17), caption)


FALSE_ALARMS = 10  # In 100: where misses are read off


def least_missed(params: Params) -> int:
    """Return the misses in 100 that no attack on any mechanism gets below, by ε_total and δ."""
    rate = np.array([FALSE_ALARMS / 100.0])
    least = tradeoff.approximate(params.epsilon_total[0], params.delta, rate)
    return math.floor(100.0 * float(least[0]) + ROUNDING)


def attack_says(result: Result) -> tuple[str, str]:
    """Say how rarely an attacker may miss by ε and δ alone, and how rarely one is known to."""
    params, table = cast(Params, result.params), result.tables["tradeoff"]
    alarms, least = f"With {FALSE_ALARMS} false alarms in 100", least_missed(params)
    sparse, found = table[table.mechanism == "sparse-vector"], ""
    if (sparse.kind == "attained").all():
        misses = 100.0 * float(np.interp(FALSE_ALARMS / 100.0, sparse.false_alarm, sparse.miss))
        most = math.ceil(misses - ROUNDING)
        found = f" The best attack found on the sparse vector misses at most {most}."
    return f"{alarms} an attacker misses at least {least} in 100", (
        f"{alarms} a guess misses {100 - FALSE_ALARMS} in 100; by ε_total and δ alone an attacker "
        f"may miss as few as {least}.{found}"
    )


def attack(result: Result) -> fig.CaptionedFigure:
    """Draw all curves on a square, below them what no guarantee of this ε_total lets through."""
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
        "main": Rows("mechanism accountant epsilon_total delta noise_scale", scales),
        "tradeoff": Rows("mechanism false_alarm miss kind", curves),
        "price": Rows("mechanism part count noise_scale cost measure", prices),
    },
    says=lambda result: f"{noise_says(result)[1]} {attack_says(result)[1]}",
    privacy="No data are read here, so nothing is spent.",
    views={"noise": noise, "tradeoff": attack},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
