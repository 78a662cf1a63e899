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
threshold last longer; so, given that a run got as far as a draw, draws are wrongly kept less often
and wrongly rejected more often than the formula says (points called *in a run*). After the stop
there is no decision.

**Base rates.** A small probability matters where there are many draws. So all draws of the public
pool are counted by their distance from $\epsilon_{abc}$, with the sum of their flip probabilities:
how many a fresh threshold for each would wrongly keep or reject on average. The distances are those
of a few public data sets, each simulated from a prior draw of its own.

The paper draws the distances from Uniform(0, 1) and its script sets $\Delta = 1/N$, half of the
$2/N$ of its own Lemma 1: half the noise, and not private at the stated budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import flips, pool, predictive, summaries
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.privacy import Event, statement
from abcdp_core.sentences import amount, counted, one_in, settings_line
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study import Array, At, BaseParams, Result, Rows, Run, Study, Tables, Total, choice
from abcdp_core.theory import flip, flip_agreement

Counts = NDArray[np.int64]

EXPERIMENT = "flip-probability"
TITLE = "How often the noise changes a decision"

MAIN = (
    "n c epsilon_total epsilon_abc resample sensitivity noise_scale rho flip_probability fresh "
    "fresh_low fresh_high in_run in_run_low in_run_high reached"
)

GRID = ["n", "c", "epsilon_total"]
NEEDED = "n c resample sensitivity level epsilon_needed"
BASE_RATES = "n c epsilon_total low high draws flips"
"""Columns: the smallest ε_total at which half of the draws or more flip with a probability of at
most ``level``; draws of the pool that are from ``low`` to ``high`` noise scales b farther than
ε_abc, and how many of them flip, as means over the data sets they are compared with."""

SIMULATIONS = 2000  # Noises simulated per draw
RARE = 0.05  # Flip probability of the table *needed*

SCRIPT_SENSITIVITY = choice(
    par.SENSITIVITY.label,
    "sharp: √2/N. published: Lemma 1, 2/N. script: 1/N as in the published code, not private.",
    ("sharp", "published", "script"),
)
DISTANCES = choice(
    "Distances",
    "public: pool against data simulated from further prior draws. uniform: U(0, 1) as in the "
    "paper. observed: pool against the private data; uses the data.",
    ("public", "uniform", "observed"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of n, c and epsilon_total is looked at."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((par.EPSILON_TOTAL_DEFAULT,))
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: tuple[int, ...] = par.C.field((10,))
    n: tuple[int, ...] = uniform_mixture.N.field((uniform_mixture.N_DEFAULT,))
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = SCRIPT_SENSITIVITY.field("sharp")
    distances: str = DISTANCES.field("public")
    draws: int = par.DRAWS.field(100)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        for n in self.n if self.distances != "uniform" else ():
            par.check_work(n, self.pool_size)


PRESETS: dict[str, BaseParams] = {
    "p21-figure-1": Params(
        epsilon_total=(0.01, 0.1, 0.5, 1, 5, 10, 50, 100),
        epsilon_abc=0.2,
        c=(10, 100, 1000),
        n=(10, 100, 1000),
        resample=True,
        sensitivity="published",
        distances="uniform",
    )
}


def missing_pools(params: Params, seed: int) -> list[pool.PoolKey]:
    """Return the public pools that are not at hand."""
    if params.distances == "public":
        return flips.missing_pools(params.n, params.pool_size, predictive.SETS, seed)
    sizes = params.n if params.distances == "observed" else ()
    keys = [flips.pool_key(n, params.pool_size, seed) for n in sizes]
    return [key for key in keys if not pool.is_ready(key)]


def frequencies(at: At, _run: Run[Params]) -> pd.DataFrame:
    """Return how often each draw flips by the formula and in simulations."""
    rho = flips.distances(at.distances, at.n, at.draws, at.seed)
    scale, rng = flips.event(at).threshold_scale, at.rng()
    shape = SIMULATIONS, len(rho)
    threshold = at.epsilon_abc + scale * rng.laplace(size=shape)
    query = rho + 2.0 * scale * rng.laplace(size=shape)
    fresh = np.sum((query <= threshold) != (rho <= at.epsilon_abc), axis=0)
    # A run cannot accept more often than there are draws. Its thresholds' noise comes last.
    most, close = min(at.c, len(rho)), rho <= at.epsilon_abc
    noise = rng.laplace(size=(SIMULATIONS, len(rho) + most))
    queries = rho + 2.0 * scale * noise[:, : len(rho)]
    thresholds = at.epsilon_abc + scale * noise[:, len(rho) :]
    accepted, reached = np.zeros((2, len(rho)), dtype=np.int64)
    for query, threshold in zip(queries, thresholds, strict=True):
        kept, stop = sparse_vector.scan(query, threshold, most, at.resample)
        accepted[kept] += 1
        reached[:stop] += 1
    in_run = np.where(close, reached - accepted, accepted)
    found = {
        "noise_scale": scale,
        "rho": rho,
        "flip_probability": flip.flip_probability(rho, at.epsilon_abc, scale),
        "reached": reached,
        **_shares("fresh", fresh, np.full(len(rho), SIMULATIONS)),
        **_shares("in_run", in_run, reached),
    }
    return pd.DataFrame(vars(at) | found, columns=MAIN.split())


def _shares(name: str, counts: Counts, trials: Counts) -> dict[str, Array]:
    """Return frequencies with their intervals, as columns; NaN where there is no trial."""
    low, high = summaries.binomial_interval(counts, trials)
    share = np.divide(counts, trials, out=np.full(len(counts), np.nan), where=trials > 0)
    return {name: share, f"{name}_low": low, f"{name}_high": high}


def pool_rates(at: At, _: Run[Params]) -> pd.DataFrame:
    """Return the base rates of the whole pool."""
    whole = flips.pool_distances(at.distances, at.n, at.pool_size, at.seed)
    rates = flips.base_rates(whole, at.epsilon_abc, flips.event(at).threshold_scale)
    return rates.assign(**{name: vars(at)[name] for name in GRID})[BASE_RATES.split()]


def needed(_: Params, rows: Tables) -> list[tuple[Any, ...]]:
    """Return the budget that each n and c needs, from the distances of one of its budgets.

    For the tail G_b(a) = level, x = exp(−a/2b) solves 4x − x² = 6 level (MATH F1); ε_total is in
    inverse proportion to b (MATH S2).
    """
    found = []
    for _group, part in rows["main"].groupby(["n", "c"]):
        one = summaries.first_of(part, "epsilon_total")
        away, first = np.sort((one.rho - one.epsilon_abc).abs().to_numpy()), one.iloc[0]
        # At least half of the draws are as far from the threshold as this one.
        middle = away[len(away) // 2]
        scale = -middle / (2.0 * math.log(2.0 - math.sqrt(4.0 - 6.0 * RARE)))
        budget = first.epsilon_total * first.noise_scale / scale if scale > 0 else math.inf
        found.append((first.n, first.c, first["resample"], first.sensitivity, RARE, budget))
    return found


def agreement(table: pd.DataFrame) -> flip_agreement.Agreement:
    """Test a table's fresh frequencies against their formula."""
    counts = np.rint(table.fresh.to_numpy() * SIMULATIONS)
    away = np.abs(table.rho.to_numpy() - table.epsilon_abc.to_numpy())
    expected, scale = table.flip_probability.to_numpy(), table.noise_scale.to_numpy()
    return flip_agreement.agreement(counts, SIMULATIONS, expected, away, scale)


NONE = 0.01  # A mean of flips below this is practically none; it is not none


def finding(rates: pd.DataFrame) -> str:
    """Say how many draws of the pool noise would flip."""
    found = flips.counts_of(rates)
    flipped = found.let_in, found.lost
    kept, rejected = (amount(x, 2) if x >= NONE else "practically none" for x in flipped)
    return (
        f"Noise would wrongly keep {kept} of {amount(found.far, 2)} far draws and reject "
        f"{rejected} of {amount(found.close, 2)} close draws"
    )


def median(result: Result) -> tuple[str, str]:
    """Say how large the median flip probability is, and over how many draws."""
    medians = result.tables["main"].groupby(GRID).flip_probability.median()
    ends = dict.fromkeys(one_in(end) for end in (medians.min(), medians.max()))
    title = f"The median flip probability is {' to '.join(ends)}"
    draws = counted(vars(result.params)["draws"], "draw")
    return title, f"{title}, over {counted(len(medians), 'setting')} with {draws} each."


def done(params: Params) -> Event | None:
    """Return what was done, where that is one thing."""
    return flips.event(At.first(Run(params, 0, 0))) if len(STUDY.tasks(params, 0)) == 1 else None


def guarantee(result: Result) -> str:
    """Say what a release with the largest budget guarantees."""
    params, main = cast(Params, result.params), result.tables["main"]
    if params.sensitivity == "script":
        return (
            "Not private at the stated budget: the published script's Δ = 1/N is smaller than "
            "what one point can change, √2/N, so its noise is too small by that ratio."
        )
    row = main.iloc[int(main.epsilon_total.argmax())]
    text = statement(flips.event(At(**row)), uniform_mixture.PROTECTED)
    if done(params) is None:
        text += " Of the settings shown this is one with the largest budget."
    if params.distances == "observed":
        text += " This figure itself uses the data, so it may not be published."
    return text


FORMULA = fig.THEORY.called("formula")
FRESH = fig.PRIVATE.called("● fresh threshold")
IN_RUN = fig.PRIVATE.called("△ in a run", marker="triangle-up-open")
CLOSE = fig.NON_PRIVATE.called("close enough")
FAR = fig.REJECTED.called("too far")
FLIPPED = fig.PRIVATE.called("flipped by noise")
LOWER = 0.36  # Upper end of the lower panel


def flip_figure(result: Result) -> fig.CaptionedFigure:
    """Draw formula, simulation and base rates for one setting, box plots for several."""
    params, main = cast(Params, result.params), result.tables["main"]
    tested = f"With a fresh threshold, {agreement(main).in_short()}."
    if main.groupby(GRID).ngroups > 1:
        title, sentence = median(result)
        return fig.CaptionedFigure(_boxes(params, main, title), f"{sentence} {tested}")
    sentence = "At ε_abc noise makes a decision a coin toss; farther away, noise matters less."
    drawn = _around_threshold(params, main, result.tables["base_rates"])
    return fig.CaptionedFigure(drawn, f"{sentence} {tested}")


def _around_threshold(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> go.Figure:
    """Draw formula and frequencies around ε_abc in units of b, and below them the draws there."""
    settings = settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))
    settings += f", {params.distances} distances"
    x = "distance from ε_abc, in noise scales b"
    drawn = fig.figure(finding(rates), x, "flip probability", settings=settings)
    at = np.linspace(-flips.WINDOW, flips.WINDOW, 20 * flips.WINDOW + 1)
    drawn.add_trace(fig.line(at, flip.tail(np.abs(at), 1.0), FORMULA))
    away = (main.rho - main.epsilon_abc) / main.noise_scale
    near = away.abs() <= flips.WINDOW
    for style, name in ((FRESH, "fresh"), (IN_RUN, "in_run")):
        mean, low, high = (main[near][name + end].to_numpy() for end in ("", "_low", "_high"))
        drawn.add_trace(fig.points(away[near].to_numpy(), mean, style, low, high))
    fig.key(drawn, [(style.name, style.color) for style in (FORMULA, FRESH, IN_RUN)])
    within = rates[np.isfinite(rates.low) & np.isfinite(rates.high)]
    close = within.high <= 0
    bars = (CLOSE, within.draws[close]), (FAR, within.draws[~close]), (FLIPPED, within.flips)
    for style, y in bars:
        middle, looks = within.low[y.index] + 0.5, {"color": style.color}
        drawn.add_trace(go.Bar(x=middle, y=y, width=1.0, name=style.name, yaxis="y2", marker=looks))
    fig.key(drawn, [(style.name, style.color) for style, _ in bars])
    drawn.layout.annotations[-1].y = LOWER
    drawn.update_xaxes(range=[-flips.WINDOW, flips.WINDOW], anchor="y2", showgrid=False)
    return drawn.update_layout(
        yaxis={"domain": [0.48, 1.0], "range": [-0.02, 0.56]},
        yaxis2={"domain": [0.0, LOWER], "anchor": "x", "title": {"text": "draws"}},
        showlegend=False,
        barmode="overlay",
    )


def _boxes(params: Params, main: pd.DataFrame, title: str) -> go.Figure:
    """Draw one panel per n, one color per c, boxes over the draws."""
    words = title, "ε_total", "flip probability"
    settings = f"{settings_line(params, ('epsilon_abc', 'resample'))}, Δ {params.sensitivity}"
    drawn = fig.panels([f"N = {n:,}" for n in params.n], *words, settings=settings)
    for style, c in zip(fig.styles([f"c = {c:,}" for c in params.c]), params.c, strict=True):
        for column, n in enumerate(params.n):
            part = main[(main.n == n) & (main.c == c)]
            budgets = part.epsilon_total.map("{:g}".format).to_numpy()
            boxes = fig.boxes(budgets, part.flip_probability.to_numpy(), style)
            drawn.add_trace(fig.in_panel(boxes.update(offsetgroup=style.name), column))
    drawn.update_xaxes(type="category").update_yaxes(range=[-0.01, 0.52])
    return drawn.update_layout(boxmode="group")


STUDY = Study(
    EXPERIMENT,
    Params,
    world=At.first,
    tables={"main": Rows(MAIN, frequencies), "base_rates": Rows(BASE_RATES, pool_rates)},
    totals={"needed": Total(NEEDED, needed)},
    says=lambda result: f"{median(result)[1]} {agreement(result.tables['main']).sentence()}",
    guarantee=guarantee,
    views={EXPERIMENT: flip_figure},
    release=done,
    each=tuple(GRID),
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
