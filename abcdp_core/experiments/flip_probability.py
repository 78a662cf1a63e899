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

The paper draws the distances from Uniform(0, 1) and its script sets $\Delta = 1/N$, half of the
$2/N$ of its own Lemma 1: half the noise, and not private at the stated budget.
"""

from __future__ import annotations

import functools
import itertools
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
    )
}  # fmt: skip

SIMULATIONS = 2000
"""Noises simulated per draw."""

JOINT_LEVEL = 0.01
"""Level of the joint test behind the sentence "simulation agrees"."""

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


def agreement(table: pd.DataFrame) -> float:
    """p-value of the joint test that every fresh frequency comes from its formula."""
    counts = np.rint(table.fresh.to_numpy() * SIMULATIONS)
    expected = table.flip_probability.to_numpy()
    p_values = summaries.binomial_p_values(counts, SIMULATIONS, expected)
    return float(min(1.0, len(table) * p_values.min()))


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
        tables=rows,
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
    text = "Largest budget shown: " if several else ""
    text += statement(event, simulators.load(uniform_mixture.SCENARIO).PROTECTED)
    if params.distances == "observed":
        text += " This figure itself uses the data, so it may not be published."
    return text


def _summary(params: Params, main: pd.DataFrame) -> str:
    median = main.groupby(["n", "c", "epsilon_total"]).flip_probability.median()
    p_value = agreement(main)
    agrees = "agrees" if p_value >= JOINT_LEVEL else "does not agree"
    spread = (
        f"is {_small(median.iloc[0])}"
        if len(median) == 1
        else f"ranges from {_small(median.min())} to {_small(median.max())} over "
        f"{len(median)} settings"
    )
    gap = (main.in_run - main.flip_probability)[main.reached >= SIMULATIONS / 10].abs().max()
    inside = f"; inside a run the gap is up to {gap:.2g}" if np.isfinite(gap) else ""
    return (
        f"The median flip probability over {params.draws} draws {spread}. Simulation with a fresh "
        f"threshold {agrees} with the formula (joint test at 1 %, p = {p_value:.2g}){inside}."
    )


def _small(probability: float) -> str:
    return f"{probability:.3g}" if probability >= 1e-6 else "below one in a million"


def figures(result: Result) -> dict[str, go.Figure]:
    """Formula against simulation for one combination; box plots for several."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    combinations = main.groupby(["n", "c", "epsilon_total"]).ngroups
    if combinations == 1:
        return {"flip-probability": _theory_and_simulation(params, main)}
    return {"flip-probability": _boxes(params, main)}


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
