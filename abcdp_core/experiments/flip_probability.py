r"""How often does the noise change a decision?

[P21] Lemma 2 and Proposition 1. The private decision about a draw at distance $\rho$ differs from
the non-private one with probability

$$G_b(|\rho - \epsilon_{abc}|), \qquad G_b(a) = \tfrac16\left(4e^{-a/2b} - e^{-a/b}\right)
\qquad \text{(MATH F1, F2)}$$

where $b$ is the noise scale that $\epsilon_{total}$, $c$ and $N$ ask for (MATH S2). A draw at the
threshold is a coin flip, whatever the budget; far from it the flip probability falls off
exponentially, the faster the smaller $b$.

**Scope.** The formula is exact when the threshold's noise is drawn anew for the decision (points
called *fresh*). Inside a run the threshold keeps its noise from draw to draw, and runs with a low
threshold last longer; so, given that a run got as far as a draw, false acceptances are rarer and
false rejections more frequent than the formula says (points called *in a run*). After the stop
there is no decision.

**What agreement means.** All fresh frequencies are tested together at 1 %. Of the p-value of that
test only a range is known: it is at least the smallest of the single ones, and at most that times
their number (Bonferroni). A test that rejects nothing says only as much as it could have seen, so
the nearest noise scales are named that it would have rejected at least every second time. Where
every probability is near 0 or one half at any scale it can tell nothing.

The paper draws the distances from Uniform(0, 1) and its script sets $\Delta = 1/N$, half of the
$2/N$ of its own Lemma 1: half the noise, and not private at the stated budget.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool, simulators, summaries
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import SparseVector, statement
from abcdp_core.privacy.sparse_vector import calibrate
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.theory import flip

Array = NDArray[np.float64]

EXPERIMENT = "flip-probability"
TITLE = "How often the noise changes a decision"
COLUMNS = {
    "main": (
        "n", "c", "epsilon_total", "epsilon_abc", "resample", "sensitivity", "noise_scale", "rho",
        "flip_probability", "fresh", "fresh_low", "fresh_high",
        "in_run", "in_run_low", "in_run_high", "reached",
    ),
    "needed": ("n", "c", "resample", "sensitivity", "level", "epsilon_needed"),
}  # fmt: skip
"""In *needed*, the smallest ε_total at which at least half of the draws flip with a probability of
at most ``level``."""

SIMULATIONS = 2000
"""Noises simulated per draw."""

JOINT_LEVEL = 0.01
"""Level of the joint test behind the sentence "simulation agrees"."""

RARE = 0.05
"""Flip probability of the table *needed*."""

SCRIPT_SENSITIVITY = Parameter(
    kind="choice",
    label=par.SENSITIVITY.label,
    help="sharp: √2/N. published: Lemma 1, 2/N. script: 1/N as in the published code, not private.",
    options=("sharp", "published", "script"),
)
DISTANCES = Parameter(
    kind="choice",
    label="Distances",
    help="public: pool against data simulated from further prior draws. uniform: U(0, 1) as in the "
    "paper. observed: pool against the private data; uses the data.",
    options=("public", "uniform", "observed"),
)
DRAWS = Parameter(
    kind="integer",
    label="Draws",
    help="How many distances are looked at.",
    low=10,
    high=1000,
    steps=(10, 20, 50, 100, 200, 500, 1000),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of n, c and epsilon_total is looked at."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(1.0, many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: tuple[int, ...] = par.C.field(10, many=True)
    n: tuple[int, ...] = uniform_mixture.N.field(uniform_mixture.N_DEFAULT, many=True)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = SCRIPT_SENSITIVITY.field("sharp")
    distances: str = DISTANCES.field("public")
    draws: int = DRAWS.field(100)
    noise_draw: int = par.NOISE_DRAW.field(0)


PRESETS: dict[str, BaseParams] = {
    "p21-figure-1": Params(
        epsilon_total=(0.01, 0.1, 0.5, 1, 5, 10, 50, 100),
        epsilon_abc=0.2,
        c=(10, 100, 1000),
        n=(10, 100, 1000),
        resample=True,
        sensitivity="published",
        distances="uniform",
        draws=100,
    )
}


@dataclass(frozen=True)
class Task:
    """One combination."""

    params: Params
    n: int
    c: int
    epsilon_total: float
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per combination."""
    combinations = itertools.product(params.n, params.c, params.epsilon_total)
    return [Task(params, *combination, seed) for combination in combinations]


@functools.lru_cache(maxsize=32)
def distances(which: str, n: int, draws: int, seed: int) -> Array:
    """Distances ``(draws,)`` to look at.

    Args:
        which: ``uniform``, ``public`` (draw i of the pool against data simulated from a further
            prior draw, another one for each i) or ``observed`` (the pool against the private data).
        n: points per data set.
        draws: how many.
        seed: root seed.
    """
    if which == "uniform":
        return generator(seed, "distances").uniform(size=draws)
    key = pool.key_for(uniform_mixture.SCENARIO, n, draws, seed)
    public = pool.build(key)
    if which == "observed":
        return pool.compare(public, pool.observed_data(key, n), synthetic=True).rho
    distance = key.metric()
    further = np.stack([pool.predictive_data(key, n, index) for index in range(draws)])
    pairs = zip(public.statistics[n], distance.statistic(further), strict=True)
    return np.array([distance.compare(ours[None], theirs)[0] for ours, theirs in pairs])


def noise_scale(epsilon_total: float, n: int, c: int, *, resample: bool, sensitivity: str) -> float:
    """B of MATH S2 for a data set of ``n`` points."""
    return event_of(epsilon_total, n, c, resample=resample, sensitivity=sensitivity).threshold_scale


def event_of(
    epsilon_total: float, n: int, c: int, *, resample: bool, sensitivity: str
) -> SparseVector:
    """The event of a run; public."""
    distance = uniform_mixture.distance()
    return calibrate(epsilon_total, distance.sensitivity(n, sensitivity), c, resample=resample)


def work(task: Task) -> Tables:
    """Formula and simulated frequencies for one combination."""
    params = task.params
    rho = distances(params.distances, task.n, params.draws, task.seed)
    scale = noise_scale(
        task.epsilon_total,
        task.n,
        task.c,
        resample=params.resample,
        sensitivity=params.sensitivity,
    )
    rng = generator(task.seed, "noise", 0, params.noise_draw)
    fresh = _fresh_flips(rho, params.epsilon_abc, scale, rng)
    in_run, reached = _flips_in_runs(rho, params, task.c, scale, rng)
    fresh_low, fresh_high = summaries.binomial_interval(fresh, SIMULATIONS)
    in_run_low, in_run_high = summaries.binomial_interval(in_run, reached)
    settings: dict[str, Any] = {
        "n": task.n,
        "c": task.c,
        "epsilon_total": task.epsilon_total,
        "epsilon_abc": params.epsilon_abc,
        "resample": params.resample,
        "sensitivity": params.sensitivity,
        "noise_scale": scale,
    }
    frequencies = {
        "rho": rho,
        "flip_probability": flip.flip_probability(rho, params.epsilon_abc, scale),
        "fresh": fresh / SIMULATIONS,
        "fresh_low": fresh_low,
        "fresh_high": fresh_high,
        "in_run": np.divide(in_run, reached, out=np.full(len(rho), np.nan), where=reached > 0),
        "in_run_low": in_run_low,
        "in_run_high": in_run_high,
        "reached": reached,
    }
    return {"main": pd.DataFrame(frequencies).assign(**settings)[list(COLUMNS["main"])]}


def _fresh_flips(
    rho: Array, epsilon_abc: float, scale: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Flips of each draw in :data:`SIMULATIONS` decisions with a threshold of their own."""
    threshold = epsilon_abc + scale * rng.laplace(size=(SIMULATIONS, len(rho)))
    query = rho + 2.0 * scale * rng.laplace(size=(SIMULATIONS, len(rho)))
    flips: NDArray[np.int64] = np.sum((query <= threshold) != (rho <= epsilon_abc), axis=0)
    return flips


def _flips_in_runs(
    rho: Array, params: Params, c: int, scale: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Flips of each draw among the runs that got to it, and how many of :data:`SIMULATIONS` did."""
    # A run cannot accept more often than there are draws.
    most = min(c, len(rho))
    flips = np.zeros(len(rho), dtype=np.int64)
    reached = np.zeros(len(rho), dtype=np.int64)
    non_private = rho <= params.epsilon_abc
    for _ in range(SIMULATIONS):
        query, threshold = sparse_vector.draw_noise(rng, len(rho), most)
        indices, stop = sparse_vector.scan(
            rho + 2.0 * scale * query,
            params.epsilon_abc + scale * threshold,
            most,
            params.resample,
        )
        flipped = non_private[:stop].copy()
        flipped[indices] = ~flipped[indices]
        flips[:stop] += flipped
        reached[:stop] += 1
    return flips, reached


@dataclass(frozen=True)
class Agreement:
    """What the joint test says of all fresh frequencies against their formula.

    Attributes:
        least: smallest of the single p-values; that of the joint test is no smaller.
        most: that times their number, at most 1; it is no larger (Bonferroni).
        lower: factor of the noise scale below 1, nearest to it, that the test would have rejected
            with probability one half or more; 0 if there is none in reach.
        upper: the same above 1; infinite if there is none.
    """

    least: float
    most: float
    lower: float
    upper: float

    @property
    def rejects(self) -> bool:
        """Whether the frequencies do not come from the formula."""
        return self.most < JOINT_LEVEL

    def sentence(self) -> str:
        """What was found, and what could have been."""
        if not self.rejects and self.lower == 0.0 and math.isinf(self.upper):
            return (
                "Whether simulation agrees with the formula cannot be told here: hardly any "
                "probability depends on the size of the noise."
            )
        found = "does not agree" if self.rejects else "agrees"
        return (
            f"Simulation with a fresh threshold {found} with the formula (joint test at 1 %, "
            f"{self._p_value()}).{'' if self.rejects else self._reach()}"
        )

    def _p_value(self) -> str:
        if f"{self.least:.2g}" == f"{self.most:.2g}":
            return f"p = {self.least:.2g}"
        return f"p from {self.least:.2g} to {self.most:.2g}, Bonferroni"

    def _reach(self) -> str:
        """The nearest noise scales that the test tells from the one at hand."""
        ends = []
        if self.lower > 0.0:
            ends.append(f"at most {_rounded(self.lower, math.floor)}")
        if math.isfinite(self.upper):
            ends.append(f"at least {_rounded(self.upper, math.ceil)}")
        missed = "less" if self.lower == 0.0 else "more"
        other = "" if len(ends) == 2 else f"; much {missed} would mostly go unnoticed"
        return (
            f" It would reject noise {' or '.join(ends)} times as large at least every second "
            f"time{other}."
        )


def _rounded(factor: float, towards: Callable[[float], int]) -> str:
    """Three figures, away from 1."""
    digits = 2 - math.floor(math.log10(factor))
    return f"{towards(factor * 10.0**digits) / 10.0**digits:.3g}"


def agreement(table: pd.DataFrame) -> Agreement:
    """Test of a table's fresh frequencies against their formula."""
    expected = table.flip_probability.to_numpy()
    counts = np.rint(table.fresh.to_numpy() * SIMULATIONS)
    p_values = summaries.binomial_p_values(counts, SIMULATIONS, expected)
    least = float(p_values.min())
    most = min(1.0, len(table) * least)
    return Agreement(least, most, _told_from(table, below=True), _told_from(table, below=False))


LARGEST_FACTOR = 100.0
"""A test that misses so much more or less noise counts as telling nothing."""


def _told_from(table: pd.DataFrame, *, below: bool) -> float:
    """The factor of the noise scale nearest 1 that the joint test rejects every second time.

    With it some draw's count would lie, in half of all simulations, at its median or beyond. So the
    test rejects at least that often if it rejects the median, rounded towards what is expected.
    """
    expected = table.flip_probability.to_numpy()
    away = np.abs(table.rho.to_numpy() - table.epsilon_abc.to_numpy())
    scale, usual = table.noise_scale.to_numpy(), SIMULATIONS * expected

    def rejects(log_factor: float) -> bool:
        factor = math.exp(-log_factor if below else log_factor)
        medians = SIMULATIONS * flip.tail(away / (factor * scale), 1.0)
        counts = np.ceil(medians) if below else np.floor(medians)
        beyond = (counts < usual) if below else (counts > usual)
        p_values = summaries.binomial_p_values(counts[beyond], SIMULATIONS, expected[beyond])
        return bool(len(table) * p_values.min(initial=1.0) < JOINT_LEVEL)

    low, high = 0.0, math.log(LARGEST_FACTOR)
    if not rejects(high):
        return 0.0 if below else math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2.0
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return math.exp(-high if below else high)


def needed(main: pd.DataFrame) -> pd.DataFrame:
    """The table *needed*: of each n and c, from the distances of one of its budgets.

    For the tail G_b(a) = level, x = exp(−a/2b) solves 4x − x² = 6 level (MATH F1), and ε_total is
    in inverse proportion to b (MATH S2).
    """
    rows = []
    for (n, c), part in main.groupby(["n", "c"]):
        one = part[part.epsilon_total == part.epsilon_total.iloc[0]]
        away = np.sort(np.abs(one.rho.to_numpy() - one.epsilon_abc.to_numpy()))
        # At least half of the draws are as far from the threshold as this one.
        middle = away[len(away) // 2]
        scale = -middle / (2.0 * math.log(2.0 - math.sqrt(4.0 - 6.0 * RARE)))
        first = one.iloc[0]
        budget = first.epsilon_total * first.noise_scale / scale if scale > 0 else math.inf
        rows.append((n, c, first["resample"], first.sensitivity, RARE, budget))
    return pd.DataFrame(rows, columns=list(COLUMNS["needed"]))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    main = rows["main"]
    least_private = main.iloc[int(main.epsilon_total.argmax())]
    event = event_of(
        float(least_private.epsilon_total),
        int(least_private.n),
        int(least_private.c),
        resample=params.resample,
        sensitivity=params.sensitivity,
    )
    several = len(tasks(params, 0)) > 1
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables={"main": main, "needed": needed(main)},
        summary=_summary(params, main),
        privacy=_privacy(params, event, several=several),
        event=None if several else event,
    )


def _privacy(params: Params, event: SparseVector, *, several: bool) -> str:
    if params.sensitivity == "script":
        return (
            "Not private at the stated budget: the published script's Δ = 1/N is smaller than "
            "what one point can change, √2/N, so its noise is too small by that ratio."
        )
    text = statement(event, simulators.load(uniform_mixture.SCENARIO).PROTECTED)
    if several:
        text += " Of the settings shown this is one with the largest budget."
    if params.distances == "observed":
        text += " This figure itself uses the data, so it may not be published."
    return text


SEEN = 5e-4
"""One flip in all the noises of a draw; a smaller gap is none."""


def _summary(params: Params, main: pd.DataFrame) -> str:
    median = main.groupby(["n", "c", "epsilon_total"]).flip_probability.median()
    low, high = _small(median.min()), _small(median.max())
    over = f" at each of {len(median)} settings" if len(median) > 1 else ""
    spread = f"is {low}{over}"
    if low != high:
        spread = f"ranges from {low} to {high} over {len(median)} settings"
    gap = (main.in_run - main.flip_probability)[main.reached >= SIMULATIONS / 10].abs().max()
    inside = (
        f" Inside a run frequencies are up to {gap:.2g} away from it, chance included."
        if gap >= SEEN
        else ""
    )
    return (
        f"The median flip probability over {params.draws} draws {spread}. "
        f"{agreement(main).sentence()}{inside}"
    )


def _small(probability: float) -> str:
    return f"{probability:.3g}" if probability >= 1e-6 else "below one in a million"


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Formula against simulation for one combination; box plots for several."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    combinations = main.groupby(["n", "c", "epsilon_total"]).ngroups
    figure = _theory_and_simulation(params, main) if combinations == 1 else _boxes(params, main)
    return {"flip-probability": fig.Drawn(figure, result.summary)}


def _theory_and_simulation(params: Params, main: pd.DataFrame) -> go.Figure:
    row = main.iloc[0]
    figure = fig.figure(
        f"Flip probability at N = {row.n:,}, c = {row.c}, ε_total = {row.epsilon_total:g}, "
        f"ε_abc = {row.epsilon_abc:g} (b = {row.noise_scale:.3g})",
        "distance ρ of the draw",
        "probability that the decision flips",
    )
    grid = np.linspace(0.0, 1.2, 601)
    theory = flip.flip_probability(grid, params.epsilon_abc, row.noise_scale)
    reached = main[main.reached > 0]
    figure.add_traces(
        [
            fig.line(grid, theory, _FORMULA),
            fig.points(
                main.rho.to_numpy(),
                main.fresh.to_numpy(),
                _FRESH,
                main.fresh_low.to_numpy(),
                main.fresh_high.to_numpy(),
            ),
            fig.points(
                reached.rho.to_numpy(),
                reached.in_run.to_numpy(),
                _IN_RUN,
                reached.in_run_low.to_numpy(),
                reached.in_run_high.to_numpy(),
            ),
        ]
    )
    figure.update_xaxes(range=[0, max(1.0, 1.05 * float(main.rho.max()))])
    figure.update_yaxes(range=[-0.02, 1.02])
    return figure


_FORMULA = fig.Style("formula G_b", fig.GREEN, "solid", "diamond")
_FRESH = fig.Style("simulated, fresh threshold", fig.BLUE, "solid", "circle")
_IN_RUN = fig.Style("simulated, in a run", fig.VERMILLION, "solid", "triangle-up-open")


def _boxes(params: Params, main: pd.DataFrame) -> go.Figure:
    """One panel per n, one colour per c, boxes over the draws."""
    sizes = list(params.n)
    figure = fig.panels(
        [f"N = {n:,}" for n in sizes],
        f"Flip probability over {params.draws} draws (Δ {params.sensitivity}, "
        f"ε_abc = {params.epsilon_abc:g})",
        "ε_total",
        "flip probability",
    )
    budgets = [f"{value:g}" for value in params.epsilon_total]
    for style, c in zip(fig.styles([f"c = {c}" for c in params.c]), params.c, strict=True):
        for column, n in enumerate(sizes):
            part = main[(main.n == n) & (main.c == c)]
            figure.add_trace(
                go.Box(
                    x=part.epsilon_total.map("{:g}".format).to_numpy(),
                    y=part.flip_probability.to_numpy(),
                    name=style.name,
                    legendgroup=style.name,
                    offsetgroup=style.name,
                    showlegend=column == 0,
                    line={"color": style.color, "width": 1.5},
                    marker={"color": style.color, "symbol": style.marker, "size": 3},
                    **fig.panel(column),
                )
            )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=budgets)
    figure.update_yaxes(range=[-0.01, 0.52])
    figure.update_layout(boxmode="group")
    return figure
