r"""Every decision with Gaussian noise: how much does it help to clip the distances?

Rejection ABC with Gaussian noise ([P22] Theorem 3.1) decides about every draw of the pool and
releases all decisions:

$$\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}.$$

A decision that is nearly certain tells much when it goes the other way. Clipping at a small
$B_\rho$ keeps every decision uncertain, so the same guarantee needs less noise, by the paper's
bound (MATH R1) and exactly (MATH R2); but what lies beyond $B_\rho$ can no longer be told apart.
The bound is a quantile of the distances between *simulated* data sets (MATH R3), here of
prior-predictive data sets to the pool of the first run; it never reads the private data. At
quantile 1 it is the largest distance there is, and nothing is clipped.

Simulated data sets may have another size than the data ([P22] Figure 3: 1000 points against 5000).
What one person can change, hence the noise, depends on the size of the data alone.

There is no stop: all $T$ decisions are paid for, each with $\epsilon_{total} / T$, so the noise
grows in proportion to the pool. The sparse vector technique pays for its acceptances alone. If a
run accepts nothing, its estimate *is* the prior mean. Each run has its own data, pool and noise.

This model has a likelihood, so there is a rival that needs no simulation: its counts, released once
with noise, and their exact posterior (MATH E7), in the table *rival*. It has no bound to choose, so
its line is the same in every panel with noise.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, sentences, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import gaussian_rejection as mechanism
from abcdp_core.mechanisms import noisy_counts, thresholds
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import Event, NonPrivate, statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "gaussian-rejection"
TITLE = "Rejection with Gaussian noise: clipped distances"
COLUMNS = {
    "main": ("bound_quantile", "epsilon_abc", "epsilon_total", "run", "accepted", "mse", "mae"),
    "noise": ("bound_quantile", "bound", "epsilon_abc", "epsilon_total", "published", "exact"),
    "rival": trials.RIVAL_COLUMNS,
}

DATA_SETS = 20
"""Prior-predictive data sets whose distances to the pool give the bound."""

BOUND_QUANTILE = Parameter(
    kind="real",
    label="Quantile of simulated distances at which they are clipped",
    help="Smaller: less noise, but draws beyond it look alike. 1: nothing is clipped.",
    low=0.01,
    high=1.0,
    steps=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)
ACCOUNTANT = dataclasses.replace(
    par.ACCOUNTANT,
    help="How noise follows from ε_total. exact: the least noise. published: the paper's bound.",
    options=("exact", "published"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same data, pool and noise within a run."""

    bound_quantile: tuple[float, ...] = BOUND_QUANTILE.field((0.05, 0.2, 1.0), many=True)
    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field(
        (0.05, 0.1, 0.2, 0.5), many=True
    )
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, math.inf), many=True
    )
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pseudo_n: int | str = uniform_mixture.PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(self.points, self.pool_size)

    @property
    def points(self) -> int:
        """Points in each simulated data set."""
        return uniform_mixture.simulated_points(self.n, self.pseudo_n)

    def key(self, seed: int, run: int) -> pool.PoolKey:
        """The pool of a run."""
        scenario = uniform_mixture.SCENARIO
        return pool.key_for(scenario, self.points, self.pool_size, seed, run, self.bandwidth)


PRESETS: dict[str, BaseParams] = {
    # Thresholds, budgets and the number of draws are not stated. The thresholds are those of [P21]
    # Figure 3 but for 0.05, which hardly any of 1000 draws is within.
    "p22-figure-3": Params(
        bound_quantile=(0.05, 0.2),
        epsilon_abc=(0.1, 0.2, 0.5),
        epsilon_total=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, math.inf),
        pseudo_n=1000,
        sensitivity="published",
        accountant="published",
    )
}


tasks = experiments.per_run


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool of the first run, which the bounds are taken from."""
    pool.make_ready(params.key(seed, 0), progress)


def work(task: experiments.Run[Params]) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    params, run, seed = task.params, task.run, task.seed
    comparison = pool.observed_comparison(params.key(seed, run), params.n, params.points)
    bounds = {
        quantile: bound(params.key(seed, 0), params.n, quantile, params.sensitivity, params.points)
        for quantile in params.bound_quantile
    }
    main, noise = [], []
    for quantile, epsilon_abc, epsilon_total in itertools.product(
        bounds, params.epsilon_abc, params.epsilon_total
    ):
        named = (epsilon_abc, epsilon_total)
        event = _event(params, bounds[quantile], *named)
        main.append((quantile, *named, run, *_error(comparison, epsilon_abc, event, task)))
        both = [_event(params, bounds[quantile], *named, each) for each in mechanism.ACCOUNTANTS]
        scales = (
            each.scale if isinstance(each, mechanism.GaussianRejection) else 0.0 for each in both
        )
        noise.append((quantile, bounds[quantile], *named, *scales))
    public, address = (
        pool.PublicSide(params.key(seed, run), params.n),
        (seed, run, params.noise_draw),
    )
    return {
        "main": pd.DataFrame(main, columns=list(COLUMNS["main"])),
        "noise": pd.DataFrame(noise, columns=list(COLUMNS["noise"])),
        "rival": trials.rival(public, comparison, params.epsilon_total, address),
    }


def bound(
    key: pool.PoolKey,
    n: int,
    quantile: float,
    sensitivity: str = "sharp",
    pseudo_n: int | None = None,
) -> float:
    """B_ρ, from public simulations (MATH R3).

    Args:
        key: of the pool that they are taken from.
        n: points of the data.
        quantile: of simulated distances; 1 for the largest distance there is.
        sensitivity: by which account of it.
        pseudo_n: points of each simulated data set; as many as the data have if not given.
    """
    if quantile == 1.0:
        # The only point of a data set can take it from any distance to any other.
        return key.metric().sensitivity(1, sensitivity)
    return mechanism.bound_quantile(public_distances(key, n, pseudo_n), quantile)


def public_distances(key: pool.PoolKey, n: int, pseudo_n: int | None = None) -> Array:
    """Distances ``(20, T)`` of prior-predictive data sets to a pool."""
    return thresholds.simulated(pool.PublicSide(key, n, pseudo_n), DATA_SETS)


def _event(
    params: Params,
    clipped_to: float,
    epsilon_abc: float,
    epsilon_total: float,
    accountant: str | None = None,
) -> Event:
    """What a release with one bound, threshold and budget does with the data; public."""
    if math.isinf(epsilon_total):
        return NonPrivate()
    sensitivity = uniform_mixture.distance().sensitivity(params.n, params.sensitivity)
    return mechanism.calibrate(
        epsilon_total,
        sensitivity,
        clipped_to,
        epsilon_abc,
        params.pool_size,
        accountant or params.accountant,
    )


def _error(
    comparison: pool.Comparison, epsilon_abc: float, event: Event, task: experiments.Run[Params]
) -> tuple[int, float, float]:
    rng = generator(task.seed, "noise", task.run, task.params.noise_draw)
    release, _ = mechanism.run(comparison.rho, epsilon_abc, event, rng)
    estimate = release.mean(comparison.theta, uniform_mixture.PRIOR_MEAN)
    return (len(release.indices), *summaries.errors(estimate, uniform_mixture.TRUTH))


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far; noise and bounds are the same in every run."""
    tables = {**rows, "noise": rows["noise"].drop_duplicates(ignore_index=True)}
    noise = tables["noise"]

    def at(budget: float) -> Event:
        row = noise[noise.epsilon_total == budget].iloc[0]
        return _event(params, float(row.bound), float(row.epsilon_abc), budget)

    privacy = statement_of_largest(params.epsilon_total, at, uniform_mixture.PROTECTED)
    finite = [value for value in params.epsilon_total if math.isfinite(value)]
    if finite:
        privacy += sentences.overpaid(max(finite), params.accountant)
    return Result(EXPERIMENT, params, tables, _summary(tables), privacy)


PRIOR_ERRORS = summaries.errors_by_metric(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)
"""Of the prior mean, which needs no data."""


def _summary(tables: Tables, metric: str = "mae") -> str:
    main, noise = tables["main"], tables["noise"]
    noisy = main[np.isfinite(main.epsilon_total)]
    plain = main[np.isinf(main.epsilon_total)]
    parts = []
    if len(noisy):
        largest = noisy[noisy.epsilon_total == noisy.epsilon_total.max()]
        each = "; ".join(
            f"{_lowest(largest[largest.bound_quantile == quantile], metric)} "
            f"(quantile {quantile:g}, bound "
            f"{noise.bound[noise.bound_quantile == quantile].iloc[0]:.3g})"
            for quantile in _ends(sorted(main.bound_quantile.unique().tolist()))
        )
        parts.append(f"at {sentences.budget_name(float(largest.epsilon_total.iloc[0]))} {each}")
    if len(plain):
        parts.append(f"without noise {_lowest(plain, metric)}")
    return (
        f"Over {sentences.runs_in_words(main)} at each setting, the least "
        f"{summaries.METRICS[metric]} of the posterior mean over the thresholds shown is "
        f"{'; '.join(parts)}. The prior mean alone has {PRIOR_ERRORS[metric]:.3g}."
        f"{summaries.empty_note(_distinct(main).accepted)}"
    )


def _distinct(main: pd.DataFrame) -> pd.DataFrame:
    """Without noise nothing is clipped: those rows are the same for every quantile."""
    plain = np.isinf(main.epsilon_total)
    return main[~plain | (main.bound_quantile == main.bound_quantile.iloc[0])]


def _ends(values: list[float]) -> list[float]:
    return values if len(values) < 4 else [values[0], values[-1]]


def _lowest(part: pd.DataFrame, metric: str) -> str:
    return f"{part.groupby('epsilon_abc')[metric].mean().min():.3g}"


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors against the budget, a line for each threshold, a panel for each bound; the noise."""
    rival = noisy_counts.rival(uniform_mixture)
    drawn = {
        metric: fig.Drawn(_curves(result, metric), f"{_summary(result.tables, metric)} {rival}")
        for metric in summaries.METRICS
    }
    return drawn | {"noise": fig.Drawn(_noise_figure(result), _noises_sentence(result))}


def _noises_sentence(result: Result) -> str:
    """How much noise the smallest budget asks for, and how often it is more than the threshold."""
    noise = result.tables["noise"]
    finite = noise[np.isfinite(noise.epsilon_total)]
    if finite.empty:
        return "No noise is added to any distance, as no budget is set."
    shown = finite[finite.epsilon_total == finite.epsilon_total.min()]
    larger = int((shown.exact > shown.epsilon_abc).sum())
    return (
        f"At {sentences.budget_name(float(shown.epsilon_total.iloc[0]))} the exact account asks "
        f"for noise of standard deviation {_from_to(shown.exact)} over the thresholds and bounds "
        f"shown, the published bound for {_from_to(shown.published)}. Even the exact one is larger "
        f"than the threshold at {larger} of {len(shown)} settings."
    )


def _from_to(values: pd.Series) -> str:
    """The smallest and the largest of positive numbers."""
    low, high = sentences.amount(values.min()), sentences.amount(values.max())
    return low if low == high else f"{low} to {high}"


def _bounds(result: Result) -> dict[float, str]:
    """Quantile -> title of its panel."""
    noise = result.tables["noise"].drop_duplicates("bound_quantile").set_index("bound_quantile")
    titles: dict[float, str] = {}
    for digits in (2, 3, 4, 17):
        titles = {q: f"B_ρ = {noise.bound[q]:.{digits}g}" for q in sorted(noise.index.tolist())}
        if len(set(titles.values())) == len(titles):
            break
    return titles


def _curves(result: Result, metric: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    words = summaries.METRICS[metric]
    panels = _panels(result)
    sizes = sentences.sizes_in_words(params.n, params.points, params.pool_size)
    figure = fig.panels(
        list(panels),
        finding(result, metric),
        "ε_total",
        words,
        # More than two beside each other cannot be read on a telephone.
        rows=(rows := -(-len(panels) // 2)),
        height=400 + 40 * rows,
    )
    figure.layout.title.subtitle.text = f"{sizes}, {sentences.runs_in_words(main)}"
    if rows > 1:
        # What stands below says it, and there is no room between two rows.
        figure.layout.yaxis.title.text = None
    for index in range(len(panels) - 2):
        figure.layout["xaxis" + fig.panel(index)["xaxis"][1:]].showticklabels = False
    ends = _budget_ends(main)
    rival = result.tables["rival"]
    style = fig.RIVAL if np.isfinite(rival.epsilon_total).any() else fig.RIVAL_WITHOUT_NOISE
    for index, part in enumerate(panels.values()):
        plain = np.isinf(part.epsilon_total).all()
        statistics = summaries.over_runs(part, metric, ("epsilon_total", "epsilon_abc"))
        beside = rival[np.isinf(rival.epsilon_total) == plain]
        without_abc = summaries.over_runs(beside, metric, ("n", "epsilon_total"))
        if plain:
            # The same at every budget.
            statistics, without_abc = (
                pd.concat([each.assign(epsilon_total=end) for end in ends])
                for each in (statistics, without_abc)
            )
        lines = fig.run_lines(statistics, "epsilon_abc", "epsilon_total", _threshold_name, index)
        figure.add_traces(lines)
        figure.add_traces(fig.run_line(without_abc, "epsilon_total", style, index))
    figure.update_xaxes(fig.plain_ticks(*ends, most=4))
    prior = PRIOR_ERRORS[metric]
    fig.error_axes(figure, metric, prior, ends, len(panels), rival=True)
    low = prior / 10.0 ** (fig.DECADES[metric] * 1.4)
    return figure.update_yaxes(fig.plain_ticks(low, 2.0 * prior))


def finding(result: Result, metric: str) -> str:
    """The least error with noise at the smallest budget, against the prior and no noise."""
    main, prior = result.tables["main"], PRIOR_ERRORS[metric]
    budget = float(main.epsilon_total.min())
    at = sentences.budget_name(budget)
    error = _least(main[main.epsilon_total == budget], metric)
    if said := sentences.little(error, prior):
        return f"A decision about every draw at {at}: {said}"
    plain = main[np.isinf(main.epsilon_total)]
    if math.isinf(budget) or plain.empty:
        return f"A decision about every draw at {at}: {100.0 * error / prior:.0f} % of the " + (
            "prior's error"
        )
    times = sentences.plain(error / _least(plain, metric), 2)
    return f"A decision about every draw at {at}: {times} times the error without noise"


def _least(part: pd.DataFrame, metric: str) -> float:
    return float(part.groupby(["bound_quantile", "epsilon_abc"])[metric].mean().min())


def _panels(result: Result) -> dict[str, pd.DataFrame]:
    """Title -> rows: those without noise, which no bound matters for, then each bound's."""
    main = result.tables["main"]
    noisy = np.isfinite(main.epsilon_total)
    panels: dict[str, pd.DataFrame] = {}
    if not noisy.all():
        distinct = _distinct(main)
        panels["no noise"] = distinct[np.isinf(distinct.epsilon_total)]
    for quantile, title in _bounds(result).items() if noisy.any() else ():
        panels[title] = main[noisy & (main.bound_quantile == quantile)]
    return panels


def _threshold_name(epsilon_abc: float) -> str:
    return f"ε_abc = {epsilon_abc:g}"


def _budget_ends(main: pd.DataFrame) -> tuple[float, float]:
    """Ends of the axis of budgets; some range where there is none or one."""
    finite = main.epsilon_total[np.isfinite(main.epsilon_total)]
    low, high = (finite.min(), finite.max()) if len(finite) else (1.0, 1.0)
    return (float(low), float(high)) if high > low else (low / 2.0, high * 2.0)


def _noise_figure(result: Result) -> go.Figure:
    """Standard deviation of the noise by both accounts, and the threshold that it blurs."""
    noise = result.tables["noise"]
    finite = noise[np.isfinite(noise.epsilon_total)]
    budget = finite.epsilon_total.min() if len(finite) else math.inf
    bounds = _bounds(result)
    figure = fig.panels(
        list(bounds.values()),
        _noise_finding(finite[finite.epsilon_total == budget]),
        "ε_abc",
        "standard deviation of the noise",
    )
    figure.layout.title.subtitle.text = sentences.budget_name(budget)
    # Smaller thresholds tell little here, and panels are narrow.
    left = min(0.01, float(noise.epsilon_abc.min()))
    figure.update_xaxes(fig.plain_ticks(left, 1.0, most=3))
    published, exact = fig.styles(["published bound", "exact"])
    styles = {"published": published, "exact": exact}
    for index, quantile in enumerate(bounds):
        part = noise[(noise.bound_quantile == quantile) & (noise.epsilon_total == budget)]
        x = part.epsilon_abc.to_numpy()
        for column, style in styles.items():
            marks = fig.line(x, part[column].to_numpy(), style).update(
                mode="lines+markers", marker={"symbol": style.marker, "size": 8}
            )
            figure.add_trace(marks.update(showlegend=index == 0, **fig.panel(index)))
        same = fig.line(x, x, dataclasses.replace(fig.GUIDE, name="the threshold itself"))
        figure.add_trace(same.update(showlegend=index == 0, **fig.panel(index)))
    shown = finite[finite.epsilon_total == budget][["exact", "published", "epsilon_abc"]]
    ends = (shown.min().min() / 1.2, shown.max().max() * 1.2) if len(shown) else (0.01, 1.0)
    return figure.update_yaxes(fig.plain_ticks(float(ends[0]), float(ends[1])))


def _noise_finding(shown: pd.DataFrame) -> str:
    """How often the noise of the smallest budget is larger than the threshold."""
    if shown.empty:
        return "No noise on any distance"
    ratio = (shown.exact / shown.epsilon_abc).to_numpy()
    low, high = (sentences.plain(value, 2) for value in (ratio.min(), ratio.max()))
    return f"The noise is {low if low == high else f'{low} to {high}'} times the threshold"
