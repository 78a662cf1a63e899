r"""Can the intervals be believed?

A 90 % interval of a posterior should hold the truth in 90 % of all data sets that the prior and the
simulator make. Here $\theta$ is drawn from the prior and $Y^*$ simulated at it, again and again,
against one public pool, and each mechanism gives an interval for each parameter: from the 5 % to
the 95 % quantile of what it releases.

* *noise-aware* and *noise-ignored*: the private embedding (MATH E1-E3), one noisy vector, a
  prediction of the parameters learnt from the pool. The first conditions on the vector *with* its
  noise, the second takes it for the data's own: right while sampling makes the larger error, far
  too sure where noise does.
* *sparse-vector*: the accepted draws of ABCDP (MATH S1-S3). Where noise decides, they are a sample
  of the prior, and its intervals cover as well: they are honest and say nothing. If nothing was
  accepted, the interval is the prior's.
* *non-private*: the $c$ draws nearest to the data without noise, at every budget the same.

An interval that covers can be useless, so look at its width too. Coverage is a mean over data sets
and parameters. The parameters of one data set depend on each other, so its own 95 % interval
(Clopper-Pearson) counts each data set once, as if its parameters were covered all together or not
at all: longer than needed if they are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Release, private_embedding, sparse_vector
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import embedding, statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "coverage"
TITLE = "How often private intervals hold the truth"
COLUMNS = {
    "main": ("mechanism", "epsilon_total", "dataset", "parameter", "low", "high", "truth"),
    "summary": (
        "mechanism", "epsilon_total", "coverage", "coverage_low", "coverage_high", "mean_width",
    ),
}  # fmt: skip

LEVEL = 0.9
"""Probability that an interval should hold the truth."""

CHUNK = 5
"""Data sets of a task."""

STYLES = {
    "noise-aware": fig.Style("noise-aware", fig.VERMILLION),
    "noise-ignored": fig.Style("noise-ignored", fig.PURPLE, "dash", "square"),
    "sparse-vector": fig.Style("sparse-vector", fig.GREEN, "dashdot", "diamond"),
    "non-private": fig.Style("non-private", fig.BLUE, "longdash", "triangle-up"),
}

DATA_SETS = Parameter(
    kind="integer",
    label="Data sets",
    help="Each is simulated at its own draw from the prior, and released with its own noise.",
    low=1,
    high=1000,
    steps=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every budget is spent on the same data sets, pool and noise; ``c`` is the sparse vector's."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((0.01, 0.1, 1.0), many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(0.05)
    c: int = par.C.field(100)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    runs: int = DATA_SETS.field(50)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(self.n, self.pool_size)
        par.check_accepted(self.c, self.pool_size)


PRESETS: dict[str, BaseParams] = {"full-size": Params(runs=200)}


@dataclass(frozen=True)
class Task:
    """Some data sets: ``params`` without the number of runs, so that more runs repeat none."""

    epsilon_total: tuple[float, ...]
    epsilon_abc: float
    c: int
    n: int
    pool_size: int
    sensitivity: str
    noise_draw: int
    first: int
    count: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """:data:`CHUNK` data sets each, the last one what is left."""
    shared = experiments.shared(Task, params)
    return [
        Task(**shared, first=first, count=min(CHUNK, params.runs - first), seed=seed)
        for first in range(0, params.runs, CHUNK)
    ]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(_key(params, seed), progress)


def _key(params: Params | Task, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, params.n, params.pool_size, seed)


def work(task: Task) -> Tables:
    """Intervals of every mechanism for some data sets."""
    public = pool.open_pool(_key(task, task.seed))
    rows: list[tuple[object, ...]] = []
    learnt: LinearMap | None = None
    for dataset in range(task.first, task.first + task.count):
        truth, comparison = _observe(public, task, dataset)
        if learnt is None:
            learnt = private_embedding.learn(comparison, _embedding(task, 1.0, "noise-aware"))
        for mechanism, epsilon_total, release in _releases(task, dataset, comparison, learnt):
            ends = zip(uniform_mixture.AXES, *interval(release, public.theta), truth, strict=True)
            rows += [(mechanism, epsilon_total, dataset, *each) for each in ends]
    return {"main": pd.DataFrame(rows, columns=list(COLUMNS["main"]))}


def _observe(public: pool.Pool, task: Task, dataset: int) -> tuple[Array, pool.Comparison]:
    """A truth ``(d,)`` from the prior, and data simulated at it against the pool."""
    truth = uniform_mixture.prior(generator(task.seed, "coverage-prior", dataset), 1)
    chance = generator(task.seed, "coverage-data", dataset)
    data = uniform_mixture.simulate(chance, truth, task.n)[0]
    return truth[0], pool.compare(public, data, synthetic=True)


def _embedding(task: Task, epsilon_total: float, selection: str) -> private_embedding.Setting:
    return private_embedding.Setting(
        epsilon_total, selection=selection, sensitivity=task.sensitivity
    )


def _releases(
    task: Task, dataset: int, comparison: pool.Comparison, learnt: LinearMap
) -> list[tuple[str, float, Release]]:
    """Mechanism, budget and release; the same noise at every budget."""
    address = (dataset, task.noise_draw)
    found = []
    for epsilon_total in task.epsilon_total:
        for selection in ("noise-aware", "noise-ignored"):
            rng = generator(task.seed, "coverage-embedding", *address)
            setting = _embedding(task, epsilon_total, selection)
            release, _ = private_embedding.release(comparison, setting, rng, learnt)
            found.append((selection, epsilon_total, release))
        accepting = sparse_vector.Setting(
            epsilon_total, task.epsilon_abc, task.c, False, comparison.sensitivity(task.sensitivity)
        )
        rng = generator(task.seed, "coverage-sparse-vector", *address)
        release, _ = sparse_vector.release(comparison, accepting, rng)
        found.append(("sparse-vector", epsilon_total, release))
    nearest = np.sort(np.argsort(comparison.rho, kind="stable")[: task.c])
    weights = np.full(len(nearest), 1.0 / len(nearest))
    plain = sparse_vector.Setting(math.inf, task.epsilon_abc, task.c, False, 0.0)
    release = Release(nearest, weights, len(comparison.rho), plain.event())
    return [*found, ("non-private", math.inf, release)]


def interval(release: Release, theta: Array) -> tuple[Array, Array]:
    """Ends ``(d,)`` of the equal-tailed interval of each parameter; the prior's if there is none.

    Args:
        release: draws with their weights, or what stands for them.
        theta: parameters of the pool ``(T, d)``.
    """
    samples, weights = release.parameters(theta), release.weights
    if len(samples) == 0:
        samples, weights = theta, np.full(len(theta), 1.0 / len(theta))
    tail = (1.0 - LEVEL) / 2.0
    low, high = summaries.weighted_quantile(samples, weights, [tail, 1.0 - tail])
    return low, high


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    summary = summarise(rows["main"])
    sensitivity = uniform_mixture.distance().sensitivity(params.n, params.sensitivity)
    event = embedding.calibrate(max(params.epsilon_total), 0.0, sensitivity, 1)
    protected = simulators.load(uniform_mixture.SCENARIO).PROTECTED
    privacy = "Each release, at the largest budget shown: " + statement(event, protected)
    tables = {"main": rows["main"], "summary": summary}
    return Result(EXPERIMENT, params, tables, _summary(summary, rows["main"]), privacy)


def summarise(main: pd.DataFrame) -> pd.DataFrame:
    """Coverage with its 95 % interval, and mean width, of every mechanism and budget."""
    rows = []
    for (mechanism, epsilon_total), part in main.groupby(["mechanism", "epsilon_total"]):
        covered = ((part.low <= part.truth) & (part.truth <= part.high)).mean()
        sets = part.dataset.nunique()
        low, high = summaries.binomial_interval(covered * sets, sets)
        width = (part.high - part.low).mean()
        rows.append((mechanism, epsilon_total, covered, float(low), float(high), width))
    return pd.DataFrame(rows, columns=list(COLUMNS["summary"]))


def _summary(summary: pd.DataFrame, main: pd.DataFrame) -> str:
    each = [
        f"ε_total = {epsilon_total:g}: " + ", ".join(_words(part))
        for epsilon_total, part in summary[np.isfinite(summary.epsilon_total)].groupby(
            "epsilon_total"
        )
    ]
    shown = "; ".join(each[:2] if len(each) < 3 else [each[0], each[-1]])
    return (
        f"Share of {main.dataset.nunique()} data sets whose {100 * LEVEL:.0f} % intervals hold the "
        f"truth, and mean width: {shown}."
    )


def _words(part: pd.DataFrame) -> list[str]:
    return [
        f"{name} {coverage:.2f} ({width:.2g})"
        for name, coverage, width in zip(
            part.mechanism, part.coverage, part.mean_width, strict=True
        )
    ]


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, go.Figure]:
    """Coverage, and mean width, against the budget."""
    params = cast(Params, result.params)
    sets = result.tables["main"].dataset.nunique()
    over = f"{sets} data {'set' if sets == 1 else 'sets'}, N = {params.n:,}"
    return {"coverage": _coverage(result, over), "width": _width(result, over)}


def _coverage(result: Result, over: str) -> go.Figure:
    """Coverage with its interval, beside what it should be."""
    params = cast(Params, result.params)
    title = f"How often {100 * LEVEL:.0f} % intervals hold the truth ({over})"
    figure = fig.figure(title, "privacy budget ε_total", "coverage")
    for style, part in _parts(result):
        x, y = _ends(params), np.repeat(part.coverage.to_numpy(), 2)
        if style.name != "non-private":
            x, y = part.epsilon_total.to_numpy(), part.coverage.to_numpy()
            low, high = part.coverage_low.to_numpy(), part.coverage_high.to_numpy()
            marks = fig.points(x, y, style, low, high)
            figure.add_trace(marks.update(showlegend=False, marker={"size": 10}))
        figure.add_trace(fig.line(x, y, style))
    nominal = fig.Style("as it should be", fig.GREY, "dot")
    figure.add_trace(fig.line(_ends(params), np.full(2, LEVEL), nominal))
    _budget_axis(figure, params)
    return figure.update_yaxes(range=[0.0, 1.02])


def _width(result: Result, over: str) -> go.Figure:
    """Mean width of the intervals."""
    params = cast(Params, result.params)
    title = f"Mean width of the {100 * LEVEL:.0f} % intervals ({over})"
    figure = fig.figure(title, "privacy budget ε_total", "mean width")
    for style, part in _parts(result):
        x, y = _ends(params), np.repeat(part.mean_width.to_numpy(), 2)
        if style.name != "non-private":
            x, y = part.epsilon_total.to_numpy(), part.mean_width.to_numpy()
            marks = fig.points(x, y, style)
            figure.add_trace(marks.update(showlegend=False, marker={"size": 10}))
        figure.add_trace(fig.line(x, y, style))
    _budget_axis(figure, params)
    return figure.update_yaxes(**fig.logarithmic(0.01, 1.0))


def _parts(result: Result) -> list[tuple[fig.Style, pd.DataFrame]]:
    """Style and rows of every mechanism, in order of the budget."""
    summary = result.tables["summary"].sort_values("epsilon_total")
    return [(style, summary[summary.mechanism == name]) for name, style in STYLES.items()]


def _ends(params: Params) -> Array:
    """Ends of the budget's axis."""
    return np.array([min(params.epsilon_total) / 1.5, max(params.epsilon_total) * 1.5])


def _budget_axis(figure: go.Figure, params: Params) -> None:
    low, high = (float(end) for end in _ends(params))
    figure.update_xaxes(**fig.logarithmic(low, high))
