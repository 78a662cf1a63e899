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

**What agreement means.** All fresh frequencies are tested together at 1 %. Only a range is known
for the p-value of that test: it is at least the smallest of the single ones, and at most that times
their number (Bonferroni). A test that rejects nothing says only as much as it could have detected,
so we name the nearest noise scales that it would have rejected at least half the time. Where every
probability is near 0 or one half at any scale, the test can show nothing.

**Base rates.** A small probability matters where there are many draws. So all draws of the public
pool are counted by their distance from $\epsilon_{abc}$, with the sum of their flip probabilities:
how many a fresh threshold for each would wrongly keep or reject on average. The distances are those
of a few public data sets, each simulated from a prior draw of its own.

The paper draws the distances from Uniform(0, 1) and its script sets $\Delta = 1/N$, half of the
$2/N$ of its own Lemma 1: half the noise, and not private at the stated budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import flips, pool, predictive, summaries
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy import statement
from abcdp_core.sentences import amount, counted, listed, one_in, settings_line
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study import At, BaseParams, Parameter, Result, Rows, Run, Study, Tables, Total
from abcdp_core.theory import flip, flip_agreement

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

EXPERIMENT = "flip-probability"
TITLE = "How often the noise changes a decision"

MAIN = (
    "n c epsilon_total epsilon_abc resample sensitivity noise_scale rho flip_probability fresh "
    "fresh_low fresh_high in_run in_run_low in_run_high reached"
)

NEEDED = "n c resample sensitivity level epsilon_needed"
"""Columns; the smallest ε_total at which half of the draws or more flip with a probability of at
most ``level``."""

BASE_RATES = "n c epsilon_total low high draws flips"
"""Columns; draws of the pool that are from ``low`` to ``high`` noise scales b farther than ε_abc,
and how many of them flip; means over the data sets they are compared with."""

SIMULATIONS = 2000
"""Noises simulated per draw."""

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


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of n, c and epsilon_total is looked at."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT, many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: tuple[int, ...] = par.C.field(10, many=True)
    n: tuple[int, ...] = uniform_mixture.N.field(uniform_mixture.N_DEFAULT, many=True)
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
        draws=100,
    )
}


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pools that are not there yet, and say how far that is."""
    if params.distances == "public":
        flips.make_pools(params.n, params.pool_size, predictive.SETS, seed, progress)
    for n in params.n if params.distances == "observed" else ():
        pool.make_ready(flips.pool_key(n, params.pool_size, seed), progress)


def frequencies(at: At, _: Run[Params]) -> pd.DataFrame:
    """Return how often each draw flips by the formula and in simulations."""
    rho = flips.distances(at.distances, at.n, at.draws, at.seed)
    event, rng = flips.event(at), at.rng()
    scale, shape = event.threshold_scale, (SIMULATIONS, len(rho))
    threshold = at.epsilon_abc + scale * rng.laplace(size=shape)
    query = rho + 2.0 * scale * rng.laplace(size=shape)
    fresh = np.sum((query <= threshold) != (rho <= at.epsilon_abc), axis=0)
    # A run cannot accept more often than there are draws.
    short = replace(event, query_scale=2.0 * scale, c=min(at.c, len(rho)))
    in_run, reached = _flips_in_runs(rho, at.epsilon_abc, short, rng)
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


def _flips_in_runs(
    rho: Array, epsilon_abc: float, event: SparseVector, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Count flips of each draw in runs that got to it, and how many of :data:`SIMULATIONS` did."""
    flipped, reached = np.zeros((2, len(rho)), dtype=np.int64)
    for _ in range(SIMULATIONS):
        _, trace = sparse_vector.run(rho, epsilon_abc, event, rng)
        flipped[: len(trace.accepted)] += trace.accepted != trace.non_private
        reached[: len(trace.accepted)] += 1
    return flipped, reached


def pool_rates(at: At, _: Run[Params]) -> pd.DataFrame:
    """Return the base rates of the whole pool."""
    whole = flips.pool_distances(at.distances, at.n, at.pool_size, at.seed)
    rates = flips.base_rates(whole, at.epsilon_abc, flips.event(at).threshold_scale)
    settings = {"n": at.n, "c": at.c, "epsilon_total": at.epsilon_total}
    return rates.assign(**settings)[BASE_RATES.split()]


def needed(_: Params, rows: Tables) -> pd.DataFrame:
    """Return the budget that each n and c needs, from the distances of one of its budgets.

    For the tail G_b(a) = level, x = exp(−a/2b) solves 4x − x² = 6 level (MATH F1), and ε_total is
    in inverse proportion to b (MATH S2).
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
    return pd.DataFrame(found, columns=NEEDED.split())


# ------------------------------------------------------------------------------------ the words


def agreement(table: pd.DataFrame) -> flip_agreement.Agreement:
    """Test a table's fresh frequencies against their formula."""
    counts = np.rint(table.fresh.to_numpy() * SIMULATIONS)
    away = np.abs(table.rho.to_numpy() - table.epsilon_abc.to_numpy())
    expected, scale = table.flip_probability.to_numpy(), table.noise_scale.to_numpy()
    return flip_agreement.agreement(counts, SIMULATIONS, expected, away, scale)


NONE = 0.01
"""A mean of flips below this is practically none."""


def finding(rates: pd.DataFrame) -> str:
    """Say how many draws of the pool noise would flip."""
    found, wrong = flips.counts_of(rates), []
    if found.far:
        wrong.append(f"keep {_about(found.let_in)} of {amount(found.far, 2)} far draws")
    if found.close:
        wrong.append(f"reject {_about(found.lost)} of {amount(found.close, 2)} close draws")
    return f"Noise would wrongly {listed(wrong)}"


def _about(flipped: float) -> str:
    """Return a mean number of flips; what is rare is not none."""
    return "practically none" if flipped < NONE else amount(flipped, 2)


WHOSE = {
    "public": f"means over {predictive.SETS} public data sets",
    "uniform": "distances spread evenly from 0 to 1, as in the paper",
    "observed": "distances from the private data",
}
"""Which distances the draws of the pool are counted by."""


def _caption(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> str:
    found, many = flips.counts_of(rates), ""
    # Small next to their number, and clearly more than the others.
    if NONE < found.let_in <= 0.1 * found.far and found.let_in > 1.1 * found.lost:
        many = (
            " A draw that is too far is seldom kept, but there are so many of them that more are "
            "wrongly kept than wrongly rejected."
        )
    return (
        f"At ε_abc noise makes a decision a coin toss; farther away, noise matters less.{many} "
        f"Below are the {counted(params.pool_size, 'draw')} of the pool by distance "
        f"({WHOSE[params.distances]}), and those that noise flips. With a fresh threshold, "
        f"{agreement(main).in_short()}."
    )


def median(result: Result) -> tuple[str, str]:
    """Say how large the median flip probability is, and over how many draws."""
    main, params = result.tables["main"], cast(Params, result.params)
    medians = main.groupby(["n", "c", "epsilon_total"]).flip_probability.median()
    low, high = one_in(medians.min()), one_in(medians.max())
    spread = f"ranges from {low} to {high}" if low != high else f"is {low}"
    title = f"The median flip probability {spread}"
    over = f", over {len(medians)} settings with" if len(medians) > 1 else ", for"
    each = " each" if len(medians) > 1 else ""
    return title, f"{title}{over} {counted(params.draws, 'draw')}{each}."


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
    if len(STUDY.tasks(params, 0)) > 1:
        text += " Of the settings shown this is one with the largest budget."
    if params.distances == "observed":
        text += " This figure itself uses the data, so it may not be published."
    return text


# ------------------------------------------------------------------------------------ the figures

FORMULA = fig.THEORY.called("formula G_b")
FRESH = fig.PRIVATE.called("simulated, fresh threshold")
IN_RUN = fig.PRIVATE.called("simulated, in a run", marker="triangle-up-open")

LOWER = 0.36
"""Upper end of the lower panel."""


def flip_figure(result: Result) -> fig.Drawn:
    """Draw formula, simulation and base rates for one setting, box plots for several."""
    params, main = cast(Params, result.params), result.tables["main"]
    rates = result.tables["base_rates"]
    if main.groupby(["n", "c", "epsilon_total"]).ngroups > 1:
        title, sentence = median(result)
        caption = f"{sentence} With a fresh threshold, {agreement(main).in_short()}."
        return fig.Drawn(_boxes(params, main, title), caption)
    return fig.Drawn(_around_threshold(params, main, rates), _caption(params, main, rates))


def _around_threshold(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> go.Figure:
    """Draw formula and frequencies around ε_abc in units of b, and below them the draws there.

    Both together show what is wrongly kept: where draws are many, a small probability is enough.
    """
    settings = settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))
    settings += f", b = {amount(main.noise_scale.iloc[0])}, {params.distances} distances"
    x, y = "distance from ε_abc, in noise scales b", "flip probability"
    drawn = fig.figure(finding(rates), x, y, settings=settings)
    at = np.linspace(-flips.WINDOW, flips.WINDOW, 20 * flips.WINDOW + 1)
    drawn.add_trace(fig.line(at, flip.tail(np.abs(at), 1.0), FORMULA))
    away = (main.rho - main.epsilon_abc) / main.noise_scale
    for style, name in ((FRESH, "fresh"), (IN_RUN, "in_run")):
        shown = (away.abs() <= flips.WINDOW) & main[name].notna()
        mean, low, high = (main[shown][name + end].to_numpy() for end in ("", "_low", "_high"))
        drawn.add_trace(fig.points(away[shown].to_numpy(), mean, style, low, high))
    _draws_below(drawn, rates)
    words = [("formula", FORMULA), ("● fresh threshold", FRESH), ("△ in a run", IN_RUN)]
    fig.key(drawn, [(text, style.color) for text, style in words])
    ticks = np.arange(-flips.WINDOW, flips.WINDOW + 1, 5)
    drawn.update_xaxes(
        range=[-flips.WINDOW, flips.WINDOW], tickvals=ticks, anchor="y2", showgrid=False
    )
    upper = {"domain": [0.48, 1.0], "range": [-0.02, 0.56], "dtick": 0.1}
    lower = {"domain": [0.0, LOWER], "anchor": "x", "title": {"text": "draws"}}
    drawn.update_layout(yaxis=upper, yaxis2=lower | {"rangemode": "tozero"})
    return drawn.update_layout(showlegend=False, bargap=0.0, barmode="overlay")


def _draws_below(drawn: go.Figure, rates: pd.DataFrame) -> None:
    """Add a histogram of the pool's draws by their distance from ε_abc, and of those that flip."""
    names = []
    for side, wrongly, here, beyond, style in (
        ("close enough", "wrongly rejected", rates.high <= 0, rates.iloc[0], fig.NON_PRIVATE),
        ("too far", "wrongly kept", rates.low >= 0, rates.iloc[-1], fig.REJECTED),
    ):
        part = rates[here & np.isfinite(rates.low) & np.isfinite(rates.high)]
        middle = (part.low + 0.5).to_numpy()
        for column, name, color in (
            ("draws", side, style.color),
            ("flips", f"{side}, {wrongly}", fig.PRIVATE.color),
        ):
            bars = go.Bar(x=middle, y=part[column].to_numpy(), width=1.0, name=name, yaxis="y2")
            drawn.add_trace(bars.update(marker={"color": color}))
        more = f", {amount(beyond.draws, 2)} beyond" if beyond.draws else ""
        names.append((f"{side}{more}", style.color))
    fig.key(drawn, [*names, ("flipped by noise", fig.PRIVATE.color)])
    drawn.layout.annotations[-1].y = LOWER


def _boxes(params: Params, main: pd.DataFrame, title: str) -> go.Figure:
    """Draw one panel per n, one color per c, boxes over the draws."""
    names = [f"N = {n:,}" for n in params.n]
    drawn = fig.panels(names, title, "ε_total", "flip probability")
    text = settings_line(params, ("epsilon_abc", "resample"))
    drawn.layout.title.subtitle.text = f"{text}, Δ {params.sensitivity}"
    for style, c in zip(fig.styles([f"c = {c:,}" for c in params.c]), params.c, strict=True):
        for column, n in enumerate(params.n):
            part = main[(main.n == n) & (main.c == c)]
            budgets = part.epsilon_total.map("{:g}".format).to_numpy()
            boxes = fig.boxes(budgets, part.flip_probability.to_numpy(), style)
            boxes.update(offsetgroup=style.name, legendgroup=style.name, boxmean=False)
            drawn.add_trace(boxes.update(showlegend=column == 0, **fig.panel(column)))
    categories = [f"{value:g}" for value in params.epsilon_total]
    drawn.update_xaxes(type="category", categoryorder="array", categoryarray=categories)
    return drawn.update_yaxes(range=[-0.01, 0.52]).update_layout(boxmode="group")


STUDY = Study(
    EXPERIMENT,
    Params,
    world=At.first,
    tables={"main": Rows(MAIN, frequencies), "base_rates": Rows(BASE_RATES, pool_rates)},
    totals={"needed": Total(NEEDED, needed)},
    says=lambda result: f"{median(result)[1]} {agreement(result.tables['main']).sentence()}",
    guarantee=guarantee,
    views={EXPERIMENT: flip_figure},
    each=("n", "c", "epsilon_total"),
)
COLUMNS, tasks, work, _, figures = STUDY.contract()


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far, with what was done where that is one thing."""
    result = STUDY.collect(params, rows)
    if len(tasks(params, 0)) > 1:
        return result
    return replace(result, event=flips.event(At.first(Run(params, 0, 0))))
