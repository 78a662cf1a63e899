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

**Base rates.** A small probability is much where there are many draws. So all draws of the public
pool are counted by their distance from $\epsilon_{abc}$, with the sum of their flip probabilities:
how many a fresh threshold for each would let in or keep out on average. The distances are those of
a few public data sets, each simulated from a prior draw of its own.

The paper draws the distances from Uniform(0, 1) and its script sets $\Delta = 1/N$, half of the
$2/N$ of its own Lemma 1: half the noise, and not private at the stated budget.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, predictive, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted, one_in, plain
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.theory import flip, flip_agreement

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
    "base_rates": ("n", "c", "epsilon_total", "low", "high", "draws", "flips"),
}  # fmt: skip
"""In *needed*, the smallest ε_total at which at least half of the draws flip with a probability of
at most ``level``. In *base_rates*, draws of the pool that are from ``low`` to ``high`` noise scales
b farther than ε_abc, and how many of them flip; means over the data sets they are compared with."""

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


def tasks(params: Params, seed: int) -> list[experiments.SingleTask[Params]]:
    """One task per combination."""
    return experiments.per_value(params, seed, "n", "c", "epsilon_total")


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pools that are not there yet, and say how far that is."""
    if params.distances == "uniform":
        return
    keys = [
        (pool.key_for(uniform_mixture.SCENARIO, n, params.pool_size, seed), n) for n in params.n
    ]
    if params.distances == "public":
        predictive.make_ready(keys, predictive.SETS, progress)
        return
    for key, _ in keys:
        pool.make_ready(key, progress)


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
    if which == "public":
        return predictive.paired_distances(key, n)
    return pool.compare(pool.build(key), pool.observed_data(key, n), synthetic=True).rho


def pool_distances(which: str, n: int, pool_size: int, seed: int) -> list[Array]:
    """Distances ``(T,)`` of all draws of the pool, from each data set that is compared with it.

    Args:
        which: ``public`` for a few simulated data sets, ``observed`` for the private data,
            ``uniform`` for as many distances spread evenly from 0 to 1.
        n: points per data set.
        pool_size: draws of the pool, T.
        seed: root seed.
    """
    if which == "uniform":
        return [(np.arange(pool_size) + 0.5) / pool_size]
    key = pool.key_for(uniform_mixture.SCENARIO, n, pool_size, seed)
    if which == "public":
        return [predictive.pool_distances(key, n, index) for index in range(predictive.SETS)]
    return [pool.observed_comparison(key, n).rho]


def event_of(params: Params, epsilon_total: float, n: int, c: int) -> SparseVector:
    """The event of a run; public."""
    sensitivity = uniform_mixture.distance().sensitivity(n, params.sensitivity)
    return calibrate(epsilon_total, sensitivity, c, resample=params.resample)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Formula and simulated frequencies for one combination."""
    params = task.params
    (n,), (c,), (epsilon_total,) = params.n, params.c, params.epsilon_total
    rho = distances(params.distances, n, params.draws, task.seed)
    scale = event_of(params, epsilon_total, n, c).threshold_scale
    rng = generator(task.seed, "noise", 0, params.noise_draw)
    fresh = _fresh_flips(rho, params.epsilon_abc, scale, rng)
    in_run, reached = _flips_in_runs(rho, params, c, scale, rng)
    fresh_low, fresh_high = summaries.binomial_interval(fresh, SIMULATIONS)
    in_run_low, in_run_high = summaries.binomial_interval(in_run, reached)
    settings: dict[str, Any] = {
        "n": n,
        "c": c,
        "epsilon_total": epsilon_total,
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
    whole = pool_distances(params.distances, n, params.pool_size, task.seed)
    rates = base_rates(whole, params.epsilon_abc, scale)
    return {
        "main": pd.DataFrame(frequencies).assign(**settings)[list(COLUMNS["main"])],
        "base_rates": rates.assign(n=n, c=c, epsilon_total=epsilon_total)[
            list(COLUMNS["base_rates"])
        ],
    }


def base_rates(rho: Sequence[Array], epsilon_abc: float, scale: float) -> pd.DataFrame:
    """Draws by their distance from ε_abc in units of b, and how many flip (MATH F2); averages.

    Args:
        rho: distances ``(T,)`` of each data set.
        epsilon_abc: threshold; a draw at it is within it.
        scale: noise scale b.
    """
    every = np.concatenate(rho)
    edges = np.array([-np.inf, *range(-WINDOW, WINDOW + 1), np.inf])
    away = (every - epsilon_abc) / scale
    place = WINDOW + np.clip(np.ceil(away), -WINDOW, WINDOW + 1).astype(int)
    flips = flip.flip_probability(every, epsilon_abc, scale)
    counts = (np.bincount(place, each, len(edges) - 1) / len(rho) for each in (None, flips))
    draws, flipped = counts
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "draws": draws, "flips": flipped})


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


def agreement(table: pd.DataFrame) -> flip_agreement.Agreement:
    """Test of a table's fresh frequencies against their formula."""
    return flip_agreement.agreement(
        np.rint(table.fresh.to_numpy() * SIMULATIONS),
        SIMULATIONS,
        table.flip_probability.to_numpy(),
        np.abs(table.rho.to_numpy() - table.epsilon_abc.to_numpy()),
        table.noise_scale.to_numpy(),
    )


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
    budget, n, c = (least_private[name] for name in ("epsilon_total", "n", "c"))
    event = event_of(params, float(budget), int(n), int(c))
    several = len(tasks(params, 0)) > 1
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables={"main": main, "needed": needed(main), "base_rates": rows["base_rates"]},
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
    low, high = one_in(median.min()), one_in(median.max())
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


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Formula, simulation and base rates for one combination; box plots for several."""
    params = cast(Params, result.params)
    main, rates = result.tables["main"], result.tables["base_rates"]
    if main.groupby(["n", "c", "epsilon_total"]).ngroups > 1:
        return {EXPERIMENT: fig.Drawn(_boxes(params, main), result.summary)}
    figure = _theory_and_simulation(params, main, rates)
    return {EXPERIMENT: fig.Drawn(figure, _sentence(params, main, rates))}


WINDOW = 15
"""Noise scales b to each side of ε_abc that are drawn; no knob moves them."""


@dataclass(frozen=True)
class BaseRates:
    """How many draws of the pool are close or far, and flip on average; means over data sets."""

    close: float
    lost: float
    far: float
    let_in: float


def counts_of(rates: pd.DataFrame) -> BaseRates:
    """Sums over one setting's table of base rates."""
    close, far = rates[rates.high <= 0], rates[rates.low >= 0]
    return BaseRates(close.draws.sum(), close.flips.sum(), far.draws.sum(), far.flips.sum())


def finding(rates: pd.DataFrame) -> str:
    """How many draws of the pool the noise decides about, in a line."""
    found = counts_of(rates)
    let_in, lost = _about(found.let_in), _about(found.lost)
    if found.let_in + found.lost < NONE:
        draws = f"{_mean(found.close + found.far)} draws"
        return (
            f"Noise decides about practically none of {draws}, {_mean(found.close)} of them close"
        )
    if found.far == 0:
        return f"Noise would lose {lost} of {_mean(found.close)} draws, all close enough"
    if found.close == 0:
        return f"Noise would let in {let_in} of {_mean(found.far)} draws, all too far"
    return (
        f"Noise would let in {let_in} of {_mean(found.far)} draws that are too far, "
        f"and lose {lost} of {_mean(found.close)} close ones"
    )


def _mean(count: float) -> str:
    """A mean count: whole from ten on."""
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.2g}"


def _about(flips: float) -> str:
    """A mean of flips, rounded; what is rare is not none."""
    return "practically none" if flips < NONE else _mean(flips)


NONE = 0.01
"""A mean of flips below this is practically none."""

SELDOM = 0.1
"""What happens to at most this share of the draws happens seldom."""

MORE = 1.1
"""Times as many are more, whatever was rounded."""


WHOSE = {
    "public": f"means over {predictive.SETS} public data sets",
    "uniform": "distances spread evenly from 0 to 1, as in the paper",
    "observed": "their distances from the private data",
}
"""What the distances are of which the draws of the pool are counted."""


def _sentence(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> str:
    """What is seen, in plain words."""
    found, agrees = counts_of(rates), agreement(main)
    many = ""
    if NONE < found.let_in <= SELDOM * found.far and found.let_in > MORE * found.lost:
        many = (
            " A draw that is too far is seldom let in, but there are many of them: more are let in "
            "than lost."
        )
    return (
        f"At ε_abc noise decides like the toss of a coin; the farther away a draw is, the less it "
        f"can do. Below, the {params.pool_size:,} draws of the pool by their distance "
        f"({WHOSE[params.distances]}) and the part of them that noise flips.{many} "
        f"Marks: {counted(params.draws, 'draw')} decided about {SIMULATIONS:,} times; "
        f"{agrees.in_short()}."
    )


def _theory_and_simulation(params: Params, main: pd.DataFrame, rates: pd.DataFrame) -> go.Figure:
    """Formula and frequencies around ε_abc in units of b, and below them how many draws there are.

    Both together tell what is let in: where the draws are many, a small probability is enough.
    """
    row = main.iloc[0]
    figure = fig.figure(
        finding(rates),
        "distance from ε_abc, in noise scales b",
        "flip probability",
        settings=f"ε_total = {row.epsilon_total:g}, ε_abc = {row.epsilon_abc:g}, c = {row.c:,}, "
        f"N = {row.n:,}, b = {plain(row.noise_scale)}, {params.distances} distances",
    )
    away = ((main.rho - main.epsilon_abc) / main.noise_scale).to_numpy()
    shown = np.abs(away) <= WINDOW
    at = np.linspace(-WINDOW, WINDOW, 20 * WINDOW + 1)
    figure.add_trace(fig.line(at, flip.tail(np.abs(at), 1.0), _FORMULA))
    for style, name, those in (
        (_FRESH, "fresh", shown),
        (_IN_RUN, "in_run", shown & (main.reached > 0).to_numpy()),
    ):
        part = main[those]
        values = [part[name + end].to_numpy() for end in ("", "_low", "_high")]
        figure.add_trace(fig.points(away[those], values[0], style, *values[1:]))
    _draws_below(figure, rates)
    words = [("formula", _FORMULA), ("● fresh threshold", _FRESH), ("△ in a run", _IN_RUN)]
    fig.key(figure, [(text, style.color) for text, style in words])
    ticks = np.arange(-WINDOW, WINDOW + 1, 5)
    figure.update_xaxes(range=[-WINDOW, WINDOW], tickvals=ticks, anchor="y2", showgrid=False)
    figure.update_yaxes(showgrid=True)
    upper = {
        "domain": [0.48, 1.0],
        "range": [-0.02, 0.56],
        "tickvals": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
    }
    lower = {
        "domain": [0.0, 0.36],
        "anchor": "x",
        "title": {"text": "draws"},
        "rangemode": "tozero",
    }
    return figure.update_layout(
        showlegend=False, bargap=0.0, barmode="overlay", yaxis=upper, yaxis2=lower
    )


def _draws_below(figure: go.Figure, rates: pd.DataFrame) -> None:
    """Histogram of the pool's draws by their distance from ε_abc in units of b, and what flips."""
    drawn = rates[np.isfinite(rates.low) & np.isfinite(rates.high)]
    first, last = rates.draws.iloc[0], rates.draws.iloc[-1]
    for name, style, inside, flipped, x, beyond in (
        ("close enough", fig.NON_PRIVATE, drawn.high <= 0, "lost", 0.0, first),
        ("too far", fig.REJECTED, drawn.low >= 0, "let in", 1.0, last),
    ):
        middle = ((drawn.low + drawn.high) / 2.0)[inside].to_numpy()
        for column, said, color in (
            ("draws", name, style.color),
            ("flips", f"{name}, {flipped} by noise", fig.PRIVATE.color),
        ):
            heights = drawn[column][inside].to_numpy()
            bars = go.Bar(x=middle, y=heights, width=1.0, name=said, yaxis="y2")
            figure.add_trace(bars.update(marker={"color": color}))
        more = f", {_mean(beyond)} beyond" if beyond else ""
        _words_below(figure, x, "bottom", f"<b>{name}</b>{more}", style.color)
    # Where there are fewest draws as a rule.
    _words_below(figure, 0.0, "top", "<b>flipped by noise</b>", fig.PRIVATE.color)


def _words_below(figure: go.Figure, x: float, above_or_in: str, text: str, color: str) -> None:
    """Words at the upper edge of the lower panel."""
    figure.add_annotation(
        **{"x": x, "xref": "paper", "xanchor": "right" if x else "left"},
        **{"y": 0.36, "yref": "paper", "yanchor": above_or_in},
        text=text,
        font={"color": color},
        showarrow=False,
    )


_FORMULA = dataclasses.replace(fig.THEORY, name="formula G_b")
_FRESH = dataclasses.replace(fig.PRIVATE, name="simulated, fresh threshold")
_IN_RUN = dataclasses.replace(fig.PRIVATE, name="simulated, in a run", marker="triangle-up-open")


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
