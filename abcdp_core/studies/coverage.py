r"""How often do private intervals contain the truth?

A 90 % interval from a posterior should contain the truth in 90 % of all data sets that the prior
and the simulator produce. Here $\theta$ is drawn from the prior and $Y^*$ is simulated at it, many
times, against one public pool. Each mechanism gives an interval for each parameter, from the 5 % to
the 95 % quantile of its release. ε_abc and c are the same for all mechanisms that use them.

* *embedding-noise-aware* and *embedding-noise-ignored* release one noisy vector (MATH E1-E3). The
  first conditions on the vector *with* its noise. The second is overconfident when noise dominates.
* *sparse-vector* releases the draws that ABCDP keeps (MATH S1-S3). If noise dominates, they are a
  sample from the prior. Their intervals still contain the truth as often, but nothing was learned.
* *non-private* keeps the $c$ draws nearest to the data, without noise, the same at every budget.

**How many draws an interval needs.** An interval from $c$ equally weighted draws never extends
beyond the smallest and the largest. So it contains another draw from the same distribution with
probability at most $(c - 1)/(c + 1)$: 0 with one draw, 0.82 with 10, and 0.9 with 19.

**Along an edge.** A posterior promises 90 % on average over the prior, not for a single truth. With
*edge*, the weights take turns: one is drawn from the prior given that it is at most 0.02, and only
that weight is counted. An equal-tailed interval never reaches 0, so with much noise even an exact
posterior misses the weights nearest to 0. At $\epsilon_{total} = 0.01$, exact intervals contain
65 % of them (1000 data sets).

An interval that contains the truth can still be useless, so look at the width too. Coverage is a
mean over data sets and parameters. The parameters of one data set depend on each other, so the 95 %
interval of the coverage (Clopper-Pearson) counts each data set once, as if all of its parameters
were covered or none. This errs on the wide side.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core import mechanisms
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import (
    amount,
    budget_name,
    counted,
    from_to,
    percent,
    ranges,
    settings_line,
)
from abcdp_core.base.streams import generator
from abcdp_core.figures import ranked
from abcdp_core.mechanisms import Budget, PosteriorInfo, Release
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import UNPROTECTED, NonPrivate
from abcdp_core.run.tasks import Part, in_parts
from abcdp_core.studies.engine import (
    Array,
    BaseParams,
    Parameter,
    Result,
    Tables,
    choice,
    columns,
    scale,
)
from abcdp_core.studies.engine import mechanisms as shared

EXPERIMENT = "coverage"
TITLE = "How often private intervals contain the truth"
COLUMNS = columns(
    main="mechanism epsilon_total dataset parameter low high truth",
    summary="mechanism epsilon_total coverage coverage_low coverage_high mean_width empty_share "
    "outside_share",
    releases="mechanism epsilon_total dataset accepted draws way importance_effective_sample_size "
    "outside_share",
)
"""In *releases*, ``draws`` counts the draws behind the interval (all of the pool if none is kept)
and ``way`` is how they were made: :class:`~abcdp_core.mechanisms.PosteriorInfo` or ``accepted``."""

LEVEL = 0.9  # Probability with which an interval should contain the truth
WHOLE = percent(LEVEL)

DRAWS_NEEDED = math.ceil((1.0 + LEVEL) / (1.0 - LEVEL) - 1e-9)
"""Draws needed so that another one lies between the smallest and the largest that often."""

EDGE = 0.02  # Largest weight that counts as near the edge
WEIGHTS = len(MIXTURE.axes)
CHUNK = 5  # Data sets in a task
NON_PRIVATE = "non-private"  # The c draws nearest to the data

ROLES = {"sparse-vector": "coverage-sparse-vector"}
"""Mechanism -> its own stream of noise, kept so that stored numbers stay valid."""

SAMPLING = {name: each for name, each in mechanisms.every().items() if each.sample}
SHOWN = tuple(name for name, each in SAMPLING.items() if EXPERIMENT in each.shown_in)
"""Mechanisms that are measured by default."""

TRUTHS = choice(
    "Truths",
    "prior: drawn from the prior; intervals should contain 90 % of them. edge: one weight is near "
    "0, and only that weight is counted.",
    ("prior", "edge"),
)


@dataclass(frozen=True)
class Params(shared.MechanismParams):
    """Settings; every budget has the same data sets, pool and noise."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((0.01, 0.1, 1.0))
    epsilon_abc: float = MIXTURE.epsilon_abc.field(0.05)
    c: int = par.C.field(100)
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
    truths: str = TRUTHS.field("prior")
    runs: int = scale(
        "Data sets",
        "Each has its own parameters, drawn from the prior, and its own noise.",
        (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
    ).field(50)
    mechanism: tuple[str, ...] = choice(
        "Mechanism", "Releases the draws that the intervals are made from.", tuple(SAMPLING)
    ).field(SHOWN)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the parameters with the scenario's bounds and possible truths."""
        general = super().specification(scenario)
        if scenario in (None, MIXTURE.name):
            return general
        return general | {"truths": dataclasses.replace(TRUTHS, options=("prior",))}


PRESETS: dict[str, BaseParams] = {"full-size": Params(runs=200)}

Task = Part[Params]
missing_pools = shared.missing_pools


def tasks(params: Params, seed: int) -> list[Task]:
    """Return tasks of :data:`CHUNK` data sets each; the last may have fewer."""
    return in_parts(params, seed, CHUNK)


def work(task: Task) -> Tables:
    """Compute the intervals of every mechanism for some data sets."""
    params, public = task.params, shared.public_side(task.params, task.seed)
    theta, every = public.theta, []
    for budget in params.epsilon_total:
        for mechanism in map(mechanisms.load, params.mechanism):
            options = mechanism.chosen(**shared.common(params, params.c))
            prepared = mechanism.prepare(public, options, Budget(budget, params.delta))
            every.append((mechanism.name, budget, prepared))
    rows, releases = [], []
    for dataset in task.pieces:
        truth, comparison = _observe(public, task, dataset)
        released = []
        for name, budget, prepared in every:
            # The same noise at every budget.
            role = ROLES.get(name, "coverage-embedding")
            rng = generator(task.seed, role, dataset, params.noise_draw)
            released.append((name, budget, prepared.release(comparison, rng)))
        nearest = np.sort(np.argsort(comparison.rho, kind="stable")[: params.c])
        weights = np.full(len(nearest), 1.0 / len(nearest))
        plain = Release(nearest, weights, len(theta), NonPrivate())
        for *of, release in [*released, (NON_PRIVATE, math.inf, plain)]:
            ends = release.sample(theta).interval(LEVEL)
            each_parameter = zip(public.scenario.axes, *ends, truth, strict=True)
            rows += [(*of, dataset, *each) for each in each_parameter]
            made = release.made or PosteriorInfo("accepted", 0.0, 0.0)
            accepted = len(release.weights)
            draws = int(np.count_nonzero(release.weights)) if accepted else len(theta)
            releases.append((*of, dataset, accepted, draws, *dataclasses.astuple(made)))
    tables = {"main": rows, "releases": releases}
    return {name: pd.DataFrame(made, columns=COLUMNS[name]) for name, made in tables.items()}


def _observe(public: pool.PublicSide, task: Task, dataset: int) -> tuple[Array, pool.DistanceTable]:
    """Return a truth ``(d,)``, and the distances of data simulated at it."""
    source, along_edge = public.scenario, task.params.truths == "edge"

    def drawn(*again: int) -> tuple[Array, Array]:
        rng = generator(task.seed, "coverage-prior", dataset, *again)
        near = partial(uniform_mixture.prior_near_edge, which=dataset % WEIGHTS, most=EDGE)
        truth = near(rng) if along_edge else source.prior(rng, 1)[0]
        chance = generator(task.seed, "coverage-data", dataset, *again)
        return truth, source.simulate(chance, truth[None], task.params.n)[0]

    truth, data = drawn(*pool.unfailed(source, lambda *again: drawn(*again)[1]))
    return truth, pool.compare(pool.open_pool(public.key), data, synthetic=True)


def collect(params: Params, rows: Tables) -> Result:
    """Combine the intervals so far, and report how often they contain the truth."""
    tables = {**rows, "summary": summary(params, rows)}
    privacy = f"{shared.each_release(params)} {UNPROTECTED}"
    result = Result(EXPERIMENT, params, tables, "", privacy)
    return dataclasses.replace(result, summary=" ".join([_share(result)[1], *cautions(result)]))


def summary(params: Params, rows: Tables) -> pd.DataFrame:
    """Return coverage with its 95 % interval, mean width and more, by mechanism and budget."""
    each, main, source = ["mechanism", "epsilon_total"], rows["main"], params.source
    unit = dict.fromkeys(source.axes, 1.0)
    if simulators.has_several_units(source):
        draws = source.prior(generator(0, "coverage-units"), 10_000)
        unit = dict(zip(source.axes, draws.std(axis=0), strict=True))
    if params.truths == "edge":
        near = np.array(list(MIXTURE.axes))[main.dataset % WEIGHTS]
        main = main[main.parameter == near]
    made = dict(list(rows["releases"].groupby(each)))
    summed_up = []
    for of, part in main.groupby(each):
        covered = ((part.low <= part.truth) & (part.truth <= part.high)).mean()
        sets = part.dataset.nunique()
        ends = map(float, summaries.binomial_interval(covered * sets, sets))
        width = ((part.high - part.low) / part.parameter.map(unit)).mean()
        empty, outside = (made[of].accepted == 0).mean(), made[of].outside_share.mean()
        summed_up.append((*of, covered, *ends, width, empty, outside))
    return pd.DataFrame(summed_up, columns=list(COLUMNS["summary"]))


def _over(result: Result) -> str:
    return counted(result.tables["main"].dataset.nunique(), "data set")


def _truth(result: Result) -> str:
    return f"true weights of at most {EDGE:g}" if _is_edge(result) else "the truth"


def _is_edge(result: Result) -> bool:
    return bool(vars(result.params)["truths"] == "edge")


def _share(result: Result) -> tuple[str, str]:
    """Report the lowest coverage, and whether it is clearly too low."""
    table, truth = result.tables["summary"], _truth(result)
    worst = table[np.isfinite(table.epsilon_total)].sort_values("coverage", kind="stable").iloc[0]
    name, at = fig.called(worst.mechanism), f"with {budget_name(worst.epsilon_total)}"
    share, low, high = map(percent, (worst.coverage, worst.coverage_low, worst.coverage_high))
    title = f"No mechanism's {WHOLE} intervals clearly miss {truth} too often"
    if worst.coverage_high < LEVEL:
        title = f"{WHOLE} intervals from {name} contain {truth} only {share} of the time {at}"
    when = f"when the true weight is at most {EDGE:g}, " if _is_edge(result) else ""
    return title, (
        f"Over {_over(result)}, coverage is lowest for {name} {at}: {when}{share} of its {WHOLE} "
        f"intervals contain {'it' if when else truth} (95 % interval {low} to {high})."
    )


def _width(result: Result) -> tuple[str, str]:
    """Report the width of intervals at the smallest budget, and without noise."""
    table, params = result.tables["summary"], cast(Params, result.params)
    budget = min(params.epsilon_total)
    widths = table.mean_width[table.epsilon_total == budget]
    wide, ranging = from_to(widths, 2), ranges(widths, 2)
    bare = amount(table.mean_width[np.isinf(table.epsilon_total)].item(), 2)
    at = f"with {budget_name(budget)}"
    return f"Intervals are {wide} wide {at} and {bare} wide without noise", (
        f"Over {_over(result)}, the mean width of {WHOLE} intervals {ranging} {at} and is {bare} "
        f"without noise{shared.in_units(params)}."
    )


def cautions(result: Result) -> list[str]:
    """Explain what keeps intervals from containing the truth here; a sentence each."""
    params, releases = cast(Params, result.params), result.tables["releases"]
    by_regression = releases.mechanism[releases.way.isin(["moved", "kept"])].unique()
    sentences = [shared.small_pool(params, by_regression)]
    if params.truths == "edge":
        sentences.append(
            f"Even exact posterior intervals have {WHOLE} coverage only on average over the prior, "
            "not for parameters near its edge."
        )
    if few := _counts(releases.draws < DRAWS_NEEDED, releases):
        sentences.append(
            f"Even from an exact posterior, fewer than {DRAWS_NEEDED} draws give intervals that "
            f"contain the truth less than {WHOLE} of the time. This concerns {few}."
        )
    if none := _counts(releases.accepted == 0, releases):
        sentences.append(f"No draw was kept in {none}; the interval there is from the prior.")
    return [each for each in sentences if each]


def _counts(chosen: pd.Series[bool], releases: pd.DataFrame) -> str:
    """Count the chosen releases and name their mechanisms; empty if none is chosen."""
    names = ", ".join(_called(name) for name in releases.mechanism[chosen].unique())
    return f"{chosen.sum():,} of {counted(len(releases), 'release')} ({names})" if names else ""


def _called(name: str) -> str:
    return "without noise" if name == NON_PRIVATE else fig.called(name)


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw coverage and mean width for every mechanism and budget."""
    params, widths = cast(Params, result.params), result.tables["summary"].mean_width
    label, whole = f"share that contain {_truth(result)}", (LEVEL, fig.THEORY, f"{LEVEL:g}")
    (title, caption), marks = _share(result), {"coverage": "value"}
    marks |= {"coverage_low": "low", "coverage_high": "high"}
    coverage = fig.CaptionedFigure(_in_rows(result, marks, (title, label), None, whole), caption)
    label = f"mean width of an interval{shared.in_units(params)}"
    shown = [float(each) for each in widths if each > 0.0] or [1.0]
    # Fixed for Five shares, so that a knob moves the marks and not the axis.
    is_mixture = params.scenario == MIXTURE.name
    ends = (0.001, 1.0) if is_mixture else (min(shown) / 1.5, max(shown) * 1.5)
    title, caption = _width(result)
    width = _in_rows(result, {"mean_width": "value"}, (title, label), ends)
    return {"coverage": coverage, "width": fig.CaptionedFigure(width, caption)}


def _in_rows(
    result: Result,
    columns: dict[str, str],
    words: tuple[str, str],
    ends: tuple[float, float] | None,
    *lines: tuple[float, fig.Style, str],
) -> go.Figure:
    """Draw a row for each mechanism, with a mark for each budget, the smallest on top."""
    params, table = cast(Params, result.params), result.tables["summary"]
    names, budgets = [*params.mechanism, NON_PRIVATE], sorted(params.epsilon_total)
    # The marks of a row stay closer to each other than to the next row.
    half = min(0.32, 0.16 * (len(budgets) - 1))
    offsets = dict(zip(budgets, np.linspace(-half, half, len(budgets)), strict=True))
    looks = dict(zip(budgets, fig.styles([budget_name(each) for each in budgets]), strict=True))
    looks[math.inf] = fig.NON_PRIVATE.called("no noise")
    marks = table.sort_values("epsilon_total").rename(columns=columns)
    marks["style"] = marks.epsilon_total.map(looks)
    marks["place"] = marks.mechanism.map(names.index) + marks.epsilon_total.map(offsets).fillna(0.0)
    settings = f"{_over(result)}, {settings_line(params, ('n', 'c', 'epsilon_abc'))}"
    called, height = [_called(name) for name in names], 14 + 13 * len(budgets)
    drawn = ranked.marked(called, marks, (*words, settings), ends, lines, row_height=height)
    return drawn.update_layout(showlegend=True).update_yaxes(showgrid=False)
