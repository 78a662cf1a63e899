r"""How often does noise change a decision?

[P21] Lemma 2 and Proposition 1: the private decision about a draw at distance $\rho$ differs from
the non-private one with probability

$$G_b(|\rho - \epsilon_{abc}|), \qquad G_b(a) = \tfrac16\left(4e^{-a/2b} - e^{-a/b}\right)
\qquad \text{(MATH F1, F2)}$$

where the noise scale $b$ follows from $\epsilon_{total}$, $c$ and $N$ (MATH S2). At the threshold
the decision is a coin toss, whatever the budget. Farther away the flip probability decays
exponentially, and faster for a smaller $b$.

**Scope.** The formula is exact if every decision has new threshold noise (points *fresh
threshold*). Inside a run the threshold keeps its noise from draw to draw, and runs with a low
threshold last longer. So in the runs that reach a draw, it is wrongly kept less often and wrongly
rejected more often than the formula says (points *in a run*).

**Base rates.** A small probability matters if there are many draws. So all draws of the public pool
are counted by their distance from $\epsilon_{abc}$. The sum of their flip probabilities is the
number that noise would flip on average, with a fresh threshold for each draw. Counts are averaged
over a few public data sets, each simulated from another prior draw.

The paper draws distances from Uniform(0, 1). Its script sets $\Delta = 1/N$, half the $2/N$ of its
own Lemma 1, so it adds half the noise and is not private at the stated budget.
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
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, counted, one_in, settings_line
from abcdp_core.evaluation import flips, predictive
from abcdp_core.evaluation.theory import flip, flip_agreement
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import Event, statement
from abcdp_core.studies.engine import (
    Array,
    BaseParams,
    DerivedTable,
    Result,
    Run,
    RunTable,
    Settings,
    Study,
    Tables,
    choice,
)

Counts = NDArray[np.int64]

EXPERIMENT = "flip-probability"
TITLE = "How often noise changes a decision"

MAIN = (
    "n c epsilon_total epsilon_abc resample sensitivity noise_scale rho flip_probability fresh "
    "fresh_low fresh_high in_run in_run_low in_run_high reached"
)

GRID = ["n", "c", "epsilon_total"]
NEEDED = "n c resample sensitivity level epsilon_needed"
BASE_RATES = "n c epsilon_total low high draws flips"
"""``epsilon_needed`` is the smallest ε_total at which at least half of the draws flip with a
probability of at most ``level``. Base rates are means over data sets: ``draws`` of the pool whose
distance exceeds ε_abc by ``low`` to ``high`` noise scales b, and how many of them flip."""

SIMULATIONS = 2000  # Noises simulated per draw
RARE = 0.05  # Flip probability of the table *needed*

SCRIPT_SENSITIVITY = choice(
    par.SENSITIVITY.label,
    "sharp: √2/N. published: 2/N, Lemma 1. script: 1/N, as in the published code; not private.",
    ("sharp", "published", "script"),
)
DISTANCES = choice(
    "Distances",
    "public: from the pool to data simulated at further prior draws. uniform: U(0, 1), as in the "
    "paper. observed: from the pool to the private data, so this figure is not public.",
    ("public", "uniform", "observed"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Lists of n, c and epsilon_total, of which every combination is computed."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((par.EPSILON_TOTAL_DEFAULT,))
    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    c: tuple[int, ...] = par.C.field((10,))
    n: tuple[int, ...] = MIXTURE.n.field((MIXTURE.n_default,))
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = SCRIPT_SENSITIVITY.field("sharp")
    distances: str = DISTANCES.field("public")
    draws: int = par.DRAWS.field(100)
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
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
    """Return the public pools that must be made first."""
    if params.distances == "public":
        return flips.missing_pools(params.n, params.pool_size, predictive.SETS, seed)
    sizes = params.n if params.distances == "observed" else ()
    keys = [flips.pool_key(n, params.pool_size, seed) for n in sizes]
    return [key for key in keys if not pool.is_ready(key)]


def frequencies(at: Settings, _run: Run[Params]) -> pd.DataFrame:
    """Return how often each draw flips, by the formula and in simulations."""
    rho = flips.distances(at.distances, at.n, at.draws, at.seed)
    scale, rng = flips.event(at).threshold_scale, at.rng()
    shape = SIMULATIONS, len(rho)
    threshold = at.epsilon_abc + scale * rng.laplace(size=shape)
    query = rho + 2.0 * scale * rng.laplace(size=shape)
    fresh = np.sum((query <= threshold) != (rho <= at.epsilon_abc), axis=0)
    # A run keeps at most all draws. The noise of its thresholds comes last.
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
    columns = {
        "noise_scale": scale,
        "rho": rho,
        "flip_probability": flip.flip_probability(rho, at.epsilon_abc, scale),
        "reached": reached,
        **_shares("fresh", fresh, np.full(len(rho), SIMULATIONS)),
        **_shares("in_run", in_run, reached),
    }
    return pd.DataFrame(vars(at) | columns, columns=MAIN.split())


def _shares(name: str, counts: Counts, trials: Counts) -> dict[str, Array]:
    """Return frequencies with their intervals, as columns; NaN where there is no trial."""
    low, high = summaries.binomial_interval(counts, trials)
    share = np.divide(counts, trials, out=np.full(len(counts), np.nan), where=trials > 0)
    return {name: share, f"{name}_low": low, f"{name}_high": high}


def pool_rates(at: Settings, _: Run[Params]) -> pd.DataFrame:
    """Return the base rates of the whole pool."""
    whole = flips.pool_distances(at.distances, at.n, at.pool_size, at.seed)
    rates = flips.base_rates(whole, at.epsilon_abc, flips.event(at).threshold_scale)
    return rates.assign(**{name: vars(at)[name] for name in GRID})[BASE_RATES.split()]


def needed(_: Params, rows: Tables) -> list[tuple[Any, ...]]:
    """Return the budget that each n and c needs, from its first budget.

    If G_b(a) = level, x = exp(−a/2b) solves 4x − x² = 6 level (MATH F1); ε_total is inversely
    proportional to b (MATH S2).
    """
    made = []
    for _group, part in rows["main"].groupby(["n", "c"]):
        one = summaries.first_of(part, "epsilon_total")
        away, first = np.sort((one.rho - one.epsilon_abc).abs().to_numpy()), one.iloc[0]
        # At least half of the draws are as far from the threshold as this one.
        middle = away[len(away) // 2]
        scale = -middle / (2.0 * math.log(2.0 - math.sqrt(4.0 - 6.0 * RARE)))
        budget = first.epsilon_total * first.noise_scale / scale if scale > 0 else math.inf
        made.append((first.n, first.c, first["resample"], first.sensitivity, RARE, budget))
    return made


def agreement(table: pd.DataFrame) -> flip_agreement.Agreement:
    """Test the frequencies with fresh thresholds against the formula."""
    counts = np.rint(table.fresh.to_numpy() * SIMULATIONS)
    away = np.abs(table.rho.to_numpy() - table.epsilon_abc.to_numpy())
    expected, scale = table.flip_probability.to_numpy(), table.noise_scale.to_numpy()
    return flip_agreement.agreement(counts, SIMULATIONS, expected, away, scale)


NONE = 0.01  # A mean number of flips below this is practically none


def finding(params: Params, rates: pd.DataFrame) -> str:
    """Say how many draws of the pool noise would flip."""
    counts = flips.counts_of(rates)
    close, far = flips.close_and_far(counts.close, params.pool_size)
    flipped = counts.let_in, counts.lost
    kept, rejected = (amount(x, 2) if x >= NONE else "practically none" for x in flipped)
    return (
        f"In the whole pool, noise would wrongly keep {kept} of {far} far draws "
        f"and wrongly reject {rejected} of {close} close ones"
    )


def median(result: Result) -> tuple[str, str]:
    """Say how large the median flip probability is, and over how many draws."""
    medians = result.tables["main"].groupby(GRID).flip_probability.median()
    ends = dict.fromkeys(one_in(end) for end in (medians.min(), medians.max()))
    values = f"ranges from {' to '.join(ends)}" if len(ends) > 1 else f"is {''.join(ends)}"
    title = f"The median flip probability {values}"
    draws = counted(vars(result.params)["draws"], "draw")
    if len(medians) == 1:
        return title, f"{title} over {draws}."
    return title, f"{title} across {len(medians)} settings with {draws} each."


def done(params: Params) -> Event | None:
    """Return the event of a release, if there is one setting."""
    return (
        flips.event(Settings.first(Run(params, 0, 0))) if len(STUDY.tasks(params, 0)) == 1 else None
    )


def guarantee(result: Result) -> str:
    """State what a release with the largest budget guarantees."""
    params, main = cast(Params, result.params), result.tables["main"]
    if params.sensitivity == "script":
        return (
            "Not private at the stated budget: one person can change a distance by √2/N, but the "
            "published script assumes Δ = 1/N. Its noise is too small by a factor of √2."
        )
    row = main.iloc[int(main.epsilon_total.argmax())]
    text = statement(flips.event(Settings(**row)), MIXTURE.protected)
    if len(params.epsilon_total) > 1:
        text += " This is the largest budget shown."
    if params.distances == "observed":
        text += " This figure uses the private data, so do not publish it."
    return text


FORMULA = fig.THEORY.called("formula")
FRESH = fig.TRUTH.called("● fresh threshold", marker="circle")
IN_RUN = fig.TRUTH.called("△ in a run", marker="triangle-up-open")
CLOSE = fig.NON_PRIVATE.called("close enough")
FAR = fig.REJECTED.called("too far")
FLIPPED = fig.PRIVATE.called("flipped by noise")
LOWER = 0.36  # Upper end of the lower panel


def flip_figure(result: Result) -> fig.CaptionedFigure:
    """Draw formula, simulation and base rates for one setting, or box plots for several."""
    params, main = cast(Params, result.params), result.tables["main"]
    tested = f"With a fresh threshold, {agreement(main).in_short()}."
    if main.groupby(GRID).ngroups > 1:
        title, sentence = median(result)
        return fig.CaptionedFigure(_boxes(params, main, title), f"{sentence} {tested}")
    sentence = "At ε_abc, noise makes the decision a coin toss; farther away, it matters less."
    if params.distances == "public":
        sentence += f" {flips.averaged(predictive.SETS)}"
    drawn = _around_threshold(params, main, result.tables["base_rates"])
    return fig.CaptionedFigure(drawn, f"{sentence} {tested}")


def _around_threshold(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> go.Figure:
    """Draw formula and frequencies by distance from ε_abc, and below them the base rates."""
    settings = settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))
    settings += f", {params.distances} distances"
    x = "distance from ε_abc, in units of the noise scale b"
    drawn = fig.figure(finding(params, rates), x, "flip probability", settings=settings)
    # No distance is below 0; the axis ends at a multiple of 5, so that it seldom moves.
    nearest = params.epsilon_abc / float(main.noise_scale.iloc[0])
    left = -min(flips.WINDOW, 5 * math.ceil(nearest / 5))
    at = np.linspace(left, flips.WINDOW, 10 * (flips.WINDOW - left) + 1)
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
    drawn.update_xaxes(range=[left, flips.WINDOW], anchor="y2", showgrid=False)
    return drawn.update_layout(
        yaxis={"domain": [0.48, 1.0], "range": [-0.02, 0.56]},
        yaxis2={"domain": [0.0, LOWER], "anchor": "x", "title": {"text": "draws"}},
        showlegend=False,
        barmode="overlay",
    )


def _boxes(params: Params, main: pd.DataFrame, title: str) -> go.Figure:
    """Draw box plots over the draws, with a panel for each n and a color for each c."""
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
    world=Settings.first,
    tables={"main": RunTable(MAIN, frequencies), "base_rates": RunTable(BASE_RATES, pool_rates)},
    totals={"needed": DerivedTable(NEEDED, needed)},
    says=lambda result: f"{median(result)[1]} {agreement(result.tables['main']).sentence()}",
    guarantee=guarantee,
    views={EXPERIMENT: flip_figure},
    release=done,
    each=tuple(GRID),
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
