r"""Can the intervals be believed?

A 90 % interval of a posterior should hold the truth in 90 % of all data sets that the prior and the
simulator make. Here $\theta$ is drawn from the prior and $Y^*$ simulated at it, again and again,
against one public pool, and each mechanism gives an interval for each parameter: from the 5 % to
the 95 % quantile of what it releases, at the common ε_abc and c where it has one.

* *embedding-noise-aware* and *embedding-noise-ignored*: the private embedding (MATH E1-E3), one
  noisy vector, a prediction of the parameters learnt from the pool. The first conditions on the
  vector *with* its noise, the second takes it for the data's own: right while sampling makes the
  larger error, far too sure where noise does.
* *sparse-vector*: the accepted draws of ABCDP (MATH S1-S3). Where noise decides, they are a sample
  of the prior: enough of them cover as well, and say nothing. If nothing was accepted, the interval
  is the prior's.
* *non-private*: the $c$ draws nearest to the data without noise, at every budget the same.

**How many draws an interval takes.** Quantiles are Hazen's: the $p$ quantile of $c$ equal draws is
the $(pc + \frac12)$-th smallest, with straight lines between and nothing beyond the ends. So the
interval lies between the $k$-th smallest and the $k$-th largest, $k$ the whole part of
$0.05\,c + \frac12$ and at least 1, and holds a further draw of the same law with probability at
most

$$\frac{c + 1 - 2k}{c + 1} \le \frac{c - 1}{c + 1}.$$

That is 0 from one draw and 0.82 from 10; 0.9 takes 19. (Where the law is even between neighbouring
draws it is $0.9\,c/(c+1)$ from 10 draws on: 0.89 from 100.) More can be held only by draws that are
spread wider than the posterior.

**Along an edge.** No posterior promises 90 % at a single truth, only on average over the prior.
With *edge*, one weight in turn is drawn from the prior given that it is at most 0.02, the others
follow from the prior, and that weight alone is counted. An interval with as much below it as above
ends above 0, so even an exact posterior misses the weights nearest to 0 where noise is large: at
$\epsilon_{total} = 0.01$ importance weights, which leave no other error, hold 0.65 of them
(1000 data sets).

An interval that covers can be useless, so look at its width too. Coverage is a mean over data sets
and parameters. The parameters of one data set depend on each other, so its own 95 % interval
(Clopper-Pearson) counts each data set once, as if its parameters were covered all together or not
at all: longer than needed if they are not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, mechanisms, pool, sentences, simulators, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Prepared, Release, regression_adjustment
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED, NonPrivate
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.trials import SCENARIO

Array = NDArray[np.float64]

EXPERIMENT = "coverage"
TITLE = "How often private intervals hold the truth"
COLUMNS = {
    "main": ("mechanism", "epsilon_total", "dataset", "parameter", "low", "high", "truth"),
    "summary": (
        "mechanism", "epsilon_total", "coverage", "coverage_low", "coverage_high", "mean_width",
        "empty_share", "outside_share",
    ),
    "releases": (
        "mechanism", "epsilon_total", "dataset", "accepted", "draws", "way",
        "importance_effective_sample_size", "outside_share",
    ),
}  # fmt: skip
"""In *releases*, ``draws`` are those that the interval is made of: the prior's if none is accepted.
``way`` is how they came to be, :class:`~abcdp_core.mechanisms.Made` or ``accepted``."""

LEVEL = 0.9
"""Probability that an interval should hold the truth."""

DRAWS_NEEDED = math.ceil((1.0 + LEVEL) / (1.0 - LEVEL) - 1e-9)
"""Draws between whose smallest and largest a further one lies with that probability."""

EDGE = 0.02
"""Largest weight that counts as one along an edge."""

CHUNK = 5
"""Data sets of a task."""

NON_PRIVATE = "non-private"
"""The c draws nearest to the data."""

ROLES = {"sparse-vector": "coverage-sparse-vector"}
"""Whose noise comes from a stream of its own; changing that would move its numbers."""

MECHANISM = Parameter(
    kind="choice",
    label="Mechanism",
    help="What releases the draws that intervals are made of.",
    options=tuple(name for name, each in mechanisms.every().items() if each.sample),
)
SHOWN = tuple(
    name for name, each in mechanisms.every().items() if each.sample and EXPERIMENT in each.shown_in
)
"""Mechanisms whose intervals are looked at unless somebody names others."""

DATA_SETS = Parameter(
    kind="integer",
    label="Data sets",
    help="Each is simulated at its own draw from the prior, and released with its own noise.",
    low=1,
    high=2000,
    steps=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
)
TRUTHS = Parameter(
    kind="choice",
    label="Truths",
    help="prior: drawn from the prior, over which intervals should hold 90 %. edge: one weight "
    "near 0, and only that one is counted.",
    options=("prior", "edge"),
)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """Every budget is spent on the same data sets, pool and noise."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((0.01, 0.1, 1.0), many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(0.05)
    c: int = par.C.field(100)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    truths: str = TRUTHS.field("prior")
    runs: int = DATA_SETS.field(50)
    noise_draw: int = par.NOISE_DRAW.field(0)
    scenario: str = SCENARIO.field(uniform_mixture.SCENARIO)
    mechanism: tuple[str, ...] = MECHANISM.field(SHOWN, many=True)
    delta: float = par.DELTA.field(1e-4)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own sizes and threshold bounds, and the truths that it can have."""
        general = super().specification(scenario)
        if scenario in (None, uniform_mixture.SCENARIO):
            return general
        return general | {"truths": dataclasses.replace(TRUTHS, options=("prior",))}

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size, threshold, acceptances and pool, and what can serve it."""
        return super().defaults(scenario) | {"mechanism": trials.serving(SHOWN, scenario)}

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and what cannot be measured."""
        super().check_together()
        trials.check_mechanisms(self.scenario, self.mechanism)
        if self.truths == "edge" and self.scenario != uniform_mixture.SCENARIO:
            raise ParameterError("truths = edge: only the mixture's weights have that edge.")


PRESETS: dict[str, BaseParams] = {"full-size": Params(runs=200)}


Task = experiments.Part[Params]
"""Some data sets."""


def tasks(params: Params, seed: int) -> list[Task]:
    """:data:`CHUNK` data sets each, the last one what is left."""
    single = experiments.with_values(params, runs=1)
    return [
        experiments.Part(single, first, min(CHUNK, params.runs - first), seed)
        for first in range(0, params.runs, CHUNK)
    ]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_kept(_public_side(params, seed).key, progress)


def _public_side(params: Params, seed: int) -> pool.PublicSide:
    return pool.public_side(params.scenario, params.n, params.pool_size, seed)


def work(task: Task) -> Tables:
    """Intervals of every mechanism for some data sets."""
    public = _public_side(task.params, task.seed)
    axes, theta = public.scenario.AXES, public.theta
    every = [
        (name, budget, _prepared(task.params, public, name, budget))
        for budget in task.params.epsilon_total
        for name in task.params.mechanism
    ]
    rows: list[tuple[object, ...]] = []
    releases: list[tuple[object, ...]] = []
    for dataset in task.pieces:
        truth, comparison = _observe(public, task, dataset)
        for *of, release in _releases(task, every, dataset, comparison):
            ends = zip(axes, *interval(release, theta), truth, strict=True)
            rows += [(*of, dataset, *each) for each in ends]
            releases.append((*of, dataset, *_described(release, len(theta))))
    return {
        "main": pd.DataFrame(rows, columns=list(COLUMNS["main"])),
        "releases": pd.DataFrame(releases, columns=list(COLUMNS["releases"])),
    }


def _prepared(params: Params, public: pool.PublicSide, name: str, epsilon_total: float) -> Prepared:
    mechanism = mechanisms.load(name)
    options = mechanism.chosen(
        epsilon_abc=params.epsilon_abc, c=params.c, sensitivity=params.sensitivity
    )
    return mechanism.prepare(public, options, Budget(epsilon_total, params.delta))


def _described(release: Release, pool_size: int) -> tuple[int, int, str, float, float]:
    """Draws accepted and draws of the interval, and how they came to be."""
    accepted, made = len(release.weights), release.made
    draws = int(np.count_nonzero(release.weights)) if accepted else pool_size
    if made is None:
        return accepted, draws, "accepted", 0.0, 0.0
    return accepted, draws, made.way, made.importance_size, made.outside


def _observe(public: pool.PublicSide, task: Task, dataset: int) -> tuple[Array, pool.Comparison]:
    """A truth ``(d,)``, and data simulated at it against the pool."""
    source = public.scenario

    def drawn(*again: int) -> tuple[Array, Array]:
        rng = generator(task.seed, "coverage-prior", dataset, *again)
        truth = (
            source.prior(rng, 1)[0]
            if task.params.truths == "prior"
            else edge_truth(rng, _on_edge(np.array(dataset)))
        )
        chance = generator(task.seed, "coverage-data", dataset, *again)
        return truth, source.simulate(chance, truth[None], task.params.n)[0]

    truth, data = drawn(*pool.unfailed(source, lambda *again: drawn(*again)[1]))
    return truth, pool.compare(pool.open_pool(public.key), data, synthetic=True)


def _on_edge(dataset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which weight is the one near 0."""
    return dataset % len(uniform_mixture.AXES)


def edge_truth(rng: np.random.Generator, which: NDArray[np.int64]) -> Array:
    """Weights ``(5,)`` from the prior given that one of them is at most :data:`EDGE`.

    A weight of the flat Dirichlet distribution has the distribution function 1 − (1 − x)⁴, and the
    others are a flat Dirichlet draw of what is left.
    """
    others = len(uniform_mixture.AXES) - 1
    below = rng.random() * (1.0 - (1.0 - EDGE) ** others)
    weight = 1.0 - (1.0 - below) ** (1.0 / others)
    return np.insert((1.0 - weight) * rng.dirichlet(np.ones(others)), which, weight)


def _releases(
    task: Task,
    every: list[tuple[str, float, Prepared]],
    dataset: int,
    comparison: pool.Comparison,
) -> Iterator[tuple[str, float, Release]]:
    """Mechanism, budget and release; the same noise at every budget."""
    for name, epsilon_total, prepared in every:
        role = ROLES.get(name, "coverage-embedding")
        rng = generator(task.seed, role, dataset, task.params.noise_draw)
        yield name, epsilon_total, prepared.release(comparison, rng)
    nearest = np.sort(np.argsort(comparison.rho, kind="stable")[: task.params.c])
    weights = np.full(len(nearest), 1.0 / len(nearest))
    release = Release(nearest, weights, len(comparison.rho), NonPrivate())
    yield NON_PRIVATE, math.inf, release


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


def most_coverage(draws: int) -> float:
    """Most often that the interval of so many equal draws holds a further one of the same law."""
    inwards = max(1, math.floor((1.0 - LEVEL) / 2.0 * draws + 0.5))
    return (draws + 1 - 2 * inwards) / (draws + 1)


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    source = simulators.load(params.scenario)
    summary = summarise(counted(params, rows["main"]), rows["releases"], units(params.scenario))
    budget = Budget(max(params.epsilon_total), params.delta)
    promised = trials.guarantees(params.mechanism, budget, source, len(params.epsilon_total))
    privacy = f"Each release: {promised} {UNPROTECTED}"
    tables = {"main": rows["main"], "summary": summary, "releases": rows["releases"]}
    result = Result(EXPERIMENT, params, tables, "", privacy)
    words = " ".join([finding(result), *cautions(result)])
    return dataclasses.replace(result, summary=words)


def counted(params: Params, main: pd.DataFrame) -> pd.DataFrame:
    """The intervals whose coverage is measured: all, or those of the weights along the edge."""
    if params.truths == "prior":
        return main
    near = np.array(list(uniform_mixture.AXES))[_on_edge(main.dataset.to_numpy())]
    return main[main.parameter == near]


def units(scenario: str) -> Mapping[str, float]:
    """Parameter -> what its intervals are measured in.

    A standard deviation of the prior where the parameters have several units, 1 where they have
    one.
    """
    source = simulators.load(scenario)
    if not simulators.has_several_units(source):
        return dict.fromkeys(source.AXES, 1.0)
    draws = source.prior(generator(0, "coverage-units"), PRIOR_DRAWS)
    return dict(zip(source.AXES, draws.std(axis=0), strict=True))


PRIOR_DRAWS = 10_000
"""From which a standard deviation of the prior is taken."""


def summarise(
    main: pd.DataFrame, releases: pd.DataFrame, unit: Mapping[str, float]
) -> pd.DataFrame:
    """Coverage with its 95 % interval, mean width and more, of every mechanism and budget.

    Args:
        main, releases: of the study.
        unit: of :func:`units`.
    """
    each = ["mechanism", "epsilon_total"]
    made = dict(list(releases.groupby(each)))
    rows = []
    for of, part in main.groupby(each):
        covered = ((part.low <= part.truth) & (part.truth <= part.high)).mean()
        sets = part.dataset.nunique()
        low, high = summaries.binomial_interval(covered * sets, sets)
        width = ((part.high - part.low) / part.parameter.map(unit)).mean()
        empty, outside = (made[of].accepted == 0).mean(), made[of].outside_share.mean()
        rows.append((*of, covered, float(low), float(high), width, empty, outside))
    return pd.DataFrame(rows, columns=list(COLUMNS["summary"]))


def finding(result: Result) -> str:
    """Coverage of every mechanism at the budget nearest 1."""
    params = cast(Params, result.params)
    return (
        f"Share of {100 * LEVEL:.0f} % intervals that hold {_truth(params)}, {_over(result)}: "
        f"{_each(result, _share)}."
    )


def width_finding(result: Result) -> str:
    """Mean width of every mechanism's intervals at the budget nearest 1."""
    whose = _whose(cast(Params, result.params))
    unit = _unit(cast(Params, result.params))
    return (
        f"Mean width of the intervals{whose}{unit}, {_over(result)}: {_each(result, _width_alone)}."
    )


def _truth(params: Params) -> str:
    """What the intervals are to hold."""
    return "the truth" if params.truths == "prior" else f"a weight of at most {EDGE:g}"


def _whose(params: Params) -> str:
    """Which intervals are counted, after a space; empty for all."""
    return "" if params.truths == "prior" else f" of {_truth(params)}"


def _unit(params: Params) -> str:
    """What widths are measured in, after a comma; empty for the parameters' own unit."""
    several = simulators.has_several_units(simulators.load(params.scenario))
    return ", in prior standard deviations" if several else ""


def _over(result: Result) -> str:
    return sentences.counted(result.tables["main"].dataset.nunique(), "data set")


def _each(result: Result, words: Callable[[pd.Series], str]) -> str:
    """Words on every mechanism at the budget nearest 1, and on what has none."""
    summary = result.tables["summary"]
    budgets = cast(Params, result.params).epsilon_total
    budget = min(sorted(budgets), key=lambda value: abs(math.log(value)))
    here = summary[summary.epsilon_total == budget]
    none = summary[np.isinf(summary.epsilon_total)]
    return (
        f"at ε_total = {budget:g} {', '.join(here.apply(words, axis=1))}; "
        f"{', '.join(none.apply(words, axis=1))}"
    )


def _share(row: pd.Series) -> str:
    return f"{row.mechanism} {row.coverage:.2f}"


def _width_alone(row: pd.Series) -> str:
    return f"{row.mechanism} {sentences.amount(row.mean_width, 2)}"


def cautions(result: Result) -> list[str]:
    """What keeps intervals from being what they should be at these settings; a sentence each."""
    params, releases = cast(Params, result.params), result.tables["releases"]
    found = []
    if params.truths == "edge":
        found.append(
            f"An exact posterior's intervals hold {100 * LEVEL:.0f} % on average over the prior, "
            f"not along an edge: with as much below as above, they end above 0."
        )
    source, by_regression = simulators.load(params.scenario), releases.way.isin(["moved", "kept"])
    names = releases.mechanism[by_regression].unique()
    fewest = [mechanisms.load(name).minimum_pool(source) for name in names]
    found.append(regression_adjustment.caution(params.pool_size, fewest))
    few = releases[releases.draws < DRAWS_NEEDED]
    if len(few):
        most = int(few.draws.max())
        found.append(
            f"Even c draws of an exact posterior hold the truth in (c − 1)/(c + 1) of data sets at "
            f"most ({most}: {100 * most_coverage(most):.0f} %), so {100 * LEVEL:.0f} % takes "
            f"{DRAWS_NEEDED}; fewer here, in releases: {_counts(few, releases)}."
        )
    if len(none := releases[releases.accepted == 0]):
        found.append(
            f"Releases that accepted nothing, where the interval is the prior's: "
            f"{_counts(none, releases)}."
        )
    return [each for each in found if each]


def _counts(chosen: pd.DataFrame, releases: pd.DataFrame) -> str:
    """How many releases of each mechanism are chosen, those that have any."""
    of = releases.groupby("mechanism").size()
    return ", ".join(
        f"{name} {count} of {of[str(name)]}"
        for name, count in chosen.groupby("mechanism").size().items()
    )


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Coverage, and mean width, against the budget."""
    return {
        "coverage": fig.Drawn(_coverage(result), finding(result)),
        "width": fig.Drawn(_width(result), width_finding(result)),
    }


def shortfall(result: Result) -> str:
    """Whose intervals hold the truth least often, if any clearly hold it too seldom."""
    summary = result.tables["summary"]
    low = summary[(summary.coverage_high < LEVEL) & np.isfinite(summary.epsilon_total)]
    whole = f"{100 * LEVEL:.0f} %"
    if low.empty:
        return f"No {whole} intervals are seen to hold the truth too seldom"
    worst = low.loc[low.coverage.idxmin()]
    return (
        f"{fig.called(worst.mechanism).capitalize()}: {whole} intervals hold the truth in "
        f"{100 * worst.coverage:.0f} % at ε_total = {worst.epsilon_total:g}"
    )


def _settings(result: Result) -> str:
    params = cast(Params, result.params)
    truths = "" if params.truths == "prior" else f"{_truth(params)}, "
    return f"{truths}{_over(result)}, N = {params.n:,}, c = {params.c:,}, ε_abc = " + (
        f"{params.epsilon_abc:g}"
    )


def _coverage(result: Result) -> go.Figure:
    """Coverage with its interval, beside what it should be."""
    label = "share that hold the truth"
    figure = _in_rows(
        result, shortfall(result), label, "coverage", ("coverage_low", "coverage_high")
    )
    name = f"{LEVEL:g}" + (" over the prior" if _edge(result) else "")
    fig.upright(figure, LEVEL, fig.THEORY, name, "right")
    return figure.update_xaxes(range=[0.0, 1.02], tickvals=[0.0, 0.25, 0.5, 0.75, 1.0])


def _edge(result: Result) -> bool:
    return cast(Params, result.params).truths == "edge"


def widest(result: Result) -> str:
    """How far the widths of the intervals are apart at the smallest budget."""
    summary = result.tables["summary"]
    known = summary[np.isfinite(summary.epsilon_total) & (summary.mean_width > 0.0)]
    here = known[known.epsilon_total == known.epsilon_total.min()]
    if len(here) < 2:
        return "How wide the intervals are"
    low, high = here.loc[here.mean_width.idxmin()], here.loc[here.mean_width.idxmax()]
    ratio = high.mean_width / low.mean_width
    at = f"at ε_total = {low.epsilon_total:g}"
    # Intervals of a single draw have no width.
    here = summary[summary.epsilon_total == low.epsilon_total]
    has_points = bool((here.mean_width == 0.0).any())
    if ratio < 1.1:
        return f"All intervals{' that are no points' * has_points} are about as wide {at}"
    widest_one = fig.called(high.mechanism).capitalize()
    narrowest = f"the narrowest{' that is no point' * has_points}"
    return f"{widest_one}: {sentences.plain(ratio, 2)} times as wide as {narrowest} {at}"


def _width(result: Result) -> go.Figure:
    """Mean width of the intervals."""
    params = cast(Params, result.params)
    label = f"mean width of an interval{_unit(params)}"
    figure = _in_rows(result, widest(result), label, "mean_width")
    widths = result.tables["summary"].mean_width
    shown = widths[widths > 0.0]
    if params.scenario == uniform_mixture.SCENARIO:
        ends = (0.001, 1.0)
    else:
        ends = (float(shown.min()) / 1.5, float(shown.max()) * 1.5) if len(shown) else (0.1, 1.0)
    return figure.update_xaxes(fig.plain_ticks(*ends))


def _in_rows(
    result: Result, title: str, label: str, column: str, ends: tuple[str, str] | None = None
) -> go.Figure:
    """A row for each mechanism, and in it a mark for each budget, the smallest on top."""
    params, summary = cast(Params, result.params), result.tables["summary"]
    names = [*params.mechanism, NON_PRIVATE]
    figure = fig.ranked(
        ["without noise" if name == NON_PRIVATE else fig.called(name) for name in names],
        title,
        label,
        _settings(result),
        row_height=14 + 11 * len(params.epsilon_total),
    )
    budgets = sorted(params.epsilon_total)
    styles = fig.styles([f"ε_total = {budget:g}" for budget in budgets])
    # Marks of a row stand nearer to each other than to the next row.
    half = min(0.32, 0.16 * (len(budgets) - 1))
    offsets = np.linspace(-half, half, len(budgets))
    series = [*zip(styles, budgets, offsets, strict=True), (fig.NON_PRIVATE, math.inf, 0.0)]
    for style, budget, offset in series:
        part = summary[summary.epsilon_total == budget]
        low, high = (part[end].to_numpy() for end in ends) if ends else (None, None)
        places = np.array([names.index(name) for name in part.mechanism], dtype=float) + offset
        marks = fig.row_marks(part[column].to_numpy(), places, style, low, high)
        if math.isinf(budget):
            marks.update(showlegend=False)
        figure.add_trace(marks.update(marker={"size": 9}, hovertemplate="%{x:.3g}"))
    figure.update_yaxes(showgrid=False)
    return figure.update_layout(showlegend=True)
