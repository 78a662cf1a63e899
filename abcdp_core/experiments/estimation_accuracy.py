r"""How accurate is what is learnt from truncated answers, by each way of asking and of inferring?

Each run has people and noise of its own, the same for all methods. A method is a way of asking,
in an adaptive or in a fixed interval (MATH A5, A9), and a way of inferring: online by particles,
the paper's (``smc-latent``, MATH A6), ours (``smc``, A7) or the grid (A8); or afterwards by a batch
sampler, the paper's ``mhaar`` or plain ``mh`` on the exact likelihood (A9). A batch sampler can
only follow a fixed interval, which does not wait for anybody. What is reported is the posterior
mean of $\mu$ and of $\sigma$ and its distance from the truth.

All ways of inferring approximate one posterior, so between them only the Monte Carlo error and the
time differ. Between ways of asking the information differs, and Fisher information $F$ says by how
much (MATH A3, A4). The dotted lines are the mean absolute error of an estimate that uses all of it,
$\sqrt{2/\pi}\;\sigma/\sqrt{N F}$: for the best interval at the true parameters, and for the
fixed one. They leave out the prior and the cost of exploring, and mean nothing where they are
wider than the prior.

With ``channel`` people also answer by symbols from a table, placed like an adaptive interval (MATH
A14): a *sign*, or the *optimal* symbols. The column ``interval`` then has the channel's name.
Beside them stands what one trusted collector with everybody's exact value could do, who adds noise
once: what trust would buy.

The table ``course`` follows the online samplers: spread and error after each part of the people,
and how far apart the intervals' centres were within it. ``reach`` counts the people needed until
the standard deviation of $\mu$ stays below $\sigma/\sqrt{10}$, what ten people's exact values
would tell; one more than there are if it never does. Beside each posterior of $\sigma$ stands its
width, the standard deviation of $\log\sigma$ as a share of the prior's: near 1 the answers have
told nothing about $\sigma$, and its mean is the prior's.

With the paper's start, every particle at the first answer, its sampler can stay far off when the
fixed interval is wide: an answer then says so little about the person's value that each sweep moves
$\mu$ by no more than about $\sigma/\sqrt{t}$.

``score`` says what answers are to be best for, which matters where $\sigma$ is unknown too: up to
$\epsilon_{total} = 2$ the symbols that tell most about $\mu$ are its sign, which placed right tells
nothing about $\sigma$, and all that is learnt of it comes from signs placed elsewhere.
``determinant`` tells of both.

An interval of the posterior holds the truth as often as it says in the mean over truths from the
prior (simulation-based calibration). At one truth it need not: where answers say little about
$\sigma$, its prior decides how wide the interval of $\mu$ is.

[Y23] draws box plots of 30 runs. Its published script adds noise too small by the factor
$\sqrt{2}$ (MATH A11), so its runs cost more than they state; ours do not.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy import special

from abcdp_core import experiments, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.online import information, learnt
from abcdp_core.online import parameters as online
from abcdp_core.online.batch import Batch
from abcdp_core.online.channels import answer
from abcdp_core.online.families import FAMILIES
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import runs_in_words
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "estimation-accuracy"
TITLE = "How accurate each choice of interval and of algorithm is"
COLUMNS = {
    "main": (
        "epsilon_total", "sampler", "interval", "channel", "run",
        "mean_mu", "mean_sigma", "error_mu", "error_sigma", "sigma_width", "seconds",
    ),
    "course": (
        "epsilon_total", "sampler", "interval", "channel", "run", "t",
        "sd_mu", "sd_sigma", "sigma_width", "error_mu", "error_sigma", "centre_sd",
    ),
    "reach": ("epsilon_total", "sampler", "interval", "channel", "run", "people"),
    "chains": (
        "epsilon_total", "sampler", "interval", "channel", "run",
        "acceptance", "autocorrelation_mu", "autocorrelation_sigma",
    ),
}  # fmt: skip

BATCH = ("mhaar", "mh")
SAMPLER = Parameter(
    kind="choice",
    label="Samplers",
    help="smc, smc-latent and grid follow people online; mhaar and mh come after the last one.",
    options=(*online.SAMPLER.options, *BATCH),
)
ITERATIONS = Parameter(
    kind="integer",
    label="Iterations of a batch sampler",
    help="Steps of its chain; the paper takes 100 000.",
    low=100,
    high=1_000_000,
    steps=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
)
BURN_IN = Parameter(
    kind="real",
    label="Burn-in",
    help="Share of a chain that estimates leave out; its step adapts meanwhile.",
    low=0.0,
    high=0.95,
    steps=(0.1, 0.2, 0.5, 0.8),
)
CANDIDATES = Parameter(
    kind="integer",
    label="Candidates of mhaar",
    help="Candidate values per person and iteration; the paper takes 20.",
    low=2,
    high=1000,
    steps=(2, 5, 10, 20, 50, 100),
)

RUNS = dataclasses.replace(par.RUNS, high=2000)
"""So many tell a few per cent between ways of asking."""

FOLLOWS_TABLES = ("smc", "grid")
"""Samplers that know the probability of a symbol."""

LINKS = 20
"""Parts that a run of one method is done in, so that it can be stopped."""

CLOSE = 10**-0.5
"""Standard deviation of μ, in σ, that ``reach`` waits for: that of the mean of ten exact values."""


@dataclass(frozen=True)
class Params(online.StreamParams):
    """Every budget with every method, on the same people within a run."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0), many=True)
    sampler: tuple[str, ...] = SAMPLER.field("smc", many=True)
    interval: tuple[str, ...] = online.INTERVAL.field(("adaptive", "fixed"), many=True)
    runs: int = RUNS.field(10)
    iterations: int = ITERATIONS.field(10_000)
    burn_in: float = BURN_IN.field(0.2)
    candidates: int = CANDIDATES.field(20)
    channel: tuple[str, ...] = online.CHANNEL.field(("truncation",), many=True)

    def check_together(self) -> None:
        """Refuse a study without a method, or what a sampler or a way of asking cannot do."""
        for sampler in self.sampler:
            self.check_sampler(sampler)
        online.check_noise(self.channel, self.noise)
        if self.tables() and "adaptive" not in self.interval:
            raise ParameterError(
                f"channel = {', '.join(self.tables())}: needs interval = adaptive; symbols are "
                "placed by what is known so far."
            )
        if self.tables() and not {*self.sampler} & {*FOLLOWS_TABLES}:
            raise ParameterError(
                f"channel = {', '.join(self.tables())}: needs sampler = smc or grid; the others "
                "know answers with noise only."
            )
        if not self.methods():
            raise ParameterError(
                f"sampler = {', '.join(self.sampler)}: a batch sampler needs interval = fixed."
            )

    def tables(self) -> list[str]:
        """Channels whose answers are symbols from a table."""
        return [name for name in self.channel if name in online.TABLES]

    def ways(self) -> list[str]:
        """Ways of asking: the intervals of truncation, and the names of other channels."""
        return [*(self.interval if "truncation" in self.channel else ()), *self.tables()]

    def methods(self) -> list[tuple[str, str]]:
        """Ways of inferring and asking: (sampler, interval or name of a table)."""
        every = itertools.product(self.sampler, self.ways())
        return [(sampler, way) for sampler, way in every if _fit(sampler, way)]


def _fit(sampler: str, way: str) -> bool:
    """Whether a sampler can follow a way of asking."""
    if way in online.TABLES:
        return sampler in FOLLOWS_TABLES
    return sampler not in BATCH or way == "fixed"


PRESETS: dict[str, BaseParams] = {
    "y23-figure-3": Params(
        sampler=("smc-latent", "mhaar", "smc"),
        start="paper",
        resampling="multinomial",
        runs=30,
        iterations=100_000,
        burn_in=0.8,
    )
}


@dataclass(frozen=True)
class Task(experiments.Run[Params]):
    """One method on the people of one run; ``params`` hold one budget, sampler and interval."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        of_people = self.params.sampler[0] not in BATCH
        return min(LINKS, self.params.n if of_people else self.params.iterations)

    def part(self, number: int, whole: int) -> slice:
        """The ``number``-th of the parts of a whole."""
        return slice(number * whole // self.links, (number + 1) * whole // self.links)

    def row(self) -> tuple[float, str, str, str, int]:
        """What its rows begin with; a table of symbols has its name for an interval."""
        params = self.params
        way, channel = params.ways()[0], params.channel[0]
        return params.epsilon_total[0], params.sampler[0], way, channel, self.run


@dataclass(frozen=True)
class Onward:
    """The rest of a task.

    Attributes:
        task: what is done.
        state: of the sampler after so many parts.
        done: how many.
        seconds: that they took.
        reached: people until μ was known closely enough and stayed so, as far as is known.
    """

    task: Task
    state: Any
    done: int
    seconds: float
    reached: int = 1


def tasks(params: Params, seed: int) -> list[Task]:
    """All methods of a run, then the next run: the study can be stopped at any time."""
    return [
        Task(_single(params, epsilon_total, method), run, seed)
        for run in range(params.runs)
        for epsilon_total in params.epsilon_total
        for method in params.methods()
    ]


def _single(params: Params, epsilon_total: float, method: tuple[str, str]) -> Params:
    sampler, way = method
    is_table = way in online.TABLES
    return dataclasses.replace(
        params,
        epsilon_total=(epsilon_total,),
        sampler=(sampler,),
        interval=("adaptive",) if is_table else (way,),
        channel=(way,) if is_table else ("truncation",),
        runs=1,
    )


def work(task: Task | Onward) -> experiments.Link:
    """Do the next part of one method's run."""
    here = task if isinstance(task, Onward) else Onward(task, None, 0, 0.0)
    start = time.perf_counter()
    advance = _batch if here.task.params.sampler[0] in BATCH else _online
    part = advance(here)
    seconds = here.seconds + time.perf_counter() - start
    rest = Onward(here.task, part.state, here.done + 1, seconds, part.reached)
    rows = {"course": part.course}
    is_last = rest.done == here.task.links
    if is_last:
        estimate = part.mean_mu, part.mean_sigma
        errors = _errors_of(here.task.params, *estimate)
        rows["main"] = [(*estimate, *errors, part.sigma_width, seconds)]
        rows["chains"] = part.chain
        rows["reach"] = [(part.reached,)] if part.course else []
    key = here.task.row()
    tables = {name: _table(name, [(*key, *row) for row in rows.get(name, [])]) for name in COLUMNS}
    return experiments.Link(tables, None if is_last else rest)


_KINDS = {"sampler": str, "interval": str, "channel": str, "run": int, "t": int, "people": int}


def _table(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Rows as a table, whose columns are of the right kind even if there is none."""
    return pd.DataFrame(rows, columns=list(COLUMNS[name])) if rows else _no_rows(name).copy()


@functools.cache
def _no_rows(name: str) -> pd.DataFrame:
    """A table without rows, which most links give three of: slow to make, fast to copy."""
    columns = {column: pd.Series(dtype=_KINDS.get(column, float)) for column in COLUMNS[name]}
    return pd.DataFrame(columns)


def _errors_of(params: Params, mean_mu: float, mean_sigma: float) -> tuple[float, float]:
    return abs(mean_mu - params.mu), abs(mean_sigma - params.sigma)


@dataclass(frozen=True)
class Part:
    """What came of a part of a run.

    Attributes:
        state: of the sampler.
        mean_mu, mean_sigma, sigma_width: of the posterior; of a chain only after its end.
        course: a row of that table without its key, if people were asked.
        chain: a row of the table ``chains`` without its key, at a chain's end.
        reached: as in :class:`Onward`.
    """

    state: Any
    mean_mu: float = 0.0
    mean_sigma: float = 0.0
    sigma_width: float = 0.0
    course: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)
    chain: list[tuple[float, ...]] = dataclasses.field(default_factory=list)
    reached: int = 1


def _online(here: Onward) -> Part:
    """Ask the next people; what is known then."""
    task, params = here.task, here.task.params
    stream = params.stream(
        *(params.epsilon_total[0], params.sampler[0], params.interval[0], task.seed, task.run),
        params.channel[0],
    )
    part = task.part(here.done, params.n)
    values, noises = params.people(task.seed, task.run, params.channel[0])
    turns = list(stream.ask(here.state, part.start, values[part], noises[part]))
    asked = [row for _, row in turns]
    last = asked[-1]
    reached = max(
        (row.t + 1 for row in asked if row.sd_mu >= CLOSE * params.sigma), default=here.reached
    )
    errors = _errors_of(params, last.mean_mu, last.mean_sigma)
    # Half of it first: the ends may be as far away as a computer counts.
    centres = np.array([0.5 * row.left + 0.5 * row.right for row in asked])
    spread = last.sd_mu, last.sd_sigma, last.sigma_width
    course = [(last.t, *spread, *errors, float(centres.std()))]
    state = turns[-1][0]
    return Part(state, last.mean_mu, last.mean_sigma, last.sigma_width, course, reached=reached)


def _batch(here: Onward) -> Part:
    """The next iterations of a chain; at its end its means and how well it moved."""
    task, params = here.task, here.task.params
    candidates = params.candidates if params.sampler[0] == "mhaar" else 0
    prior = params.prior()
    sampler = Batch(prior, params.family(), params.iterations, params.burn_in, candidates)
    responses = _responses(task)
    rng = generator(task.seed, "chain", task.run, here.done)
    walk = sampler.start(rng, responses) if here.state is None else here.state
    part = task.part(here.done, params.iterations)
    walk = sampler.go_on(rng, walk, responses, part.stop - part.start)
    if here.done + 1 < task.links:
        return Part(walk)
    kept = sampler.kept(walk)
    times = [summaries.autocorrelation_time(column) for column in kept.T]
    mean_mu, mean_sigma = float(kept[:, 0].mean()), float(np.exp(kept[:, 1]).mean())
    width = learnt.width(float(kept[:, 1].std()), prior)
    chain = [(walk.accepted / params.iterations, *times)]
    return Part(walk, mean_mu, mean_sigma, width, chain=chain)


def _responses(task: Task) -> Array:
    """Everybody's answer in the fixed interval, ``(n, 4)``."""
    params = task.params
    unit_scale = params.unit_scale(params.epsilon_total[0])
    left, right = params.interval_of("fixed", unit_scale)
    turns: Iterator[tuple[float, float]] = zip(*params.people(task.seed, task.run), strict=True)
    return np.array([answer(value, scaled, left, right, unit_scale) for value, scaled in turns])


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    tables = params.tables()
    # As much as answers with noise cost, or less.
    channel = tables[0] if len(tables) == len(params.channel) else "truncation"
    privacy = params.promise(params.epsilon_total, channel)
    return Result(EXPERIMENT, params, rows, _summary(params, rows["main"]), privacy)


def _summary(params: Params, main: pd.DataFrame) -> str:
    if main.empty:
        verb, each = ("is", "") if params.runs == 1 else ("are", "each ")
        return (
            f"No run is finished yet; {params.runs} {verb} to be done, {each}with N = {params.n:,}."
        )
    statistics = error_statistics(main, "mu")
    first = statistics[statistics.epsilon_total == statistics.epsilon_total.min()]
    each = "; ".join(
        f"{row.sampler} {row.interval} {row.mean:.3g}"
        + (f" ({row.low:.3g} to {row.high:.3g})" if np.isfinite(row.low) else "")
        for row in first.itertuples()
    )
    interval = " (95 % interval)" if statistics.low.notna().any() else ""
    return (
        f"Over {runs_in_words(main)} with N = {params.n:,}, mean absolute error "
        f"of μ{interval} at ε_total = {statistics.epsilon_total.min():g}: {each}."
    )


def efficient_errors(params: Params, name: str, interval: str) -> tuple[Array, Array]:
    """Budgets, and the mean absolute error of ``mu`` or ``sigma`` if all information were used.

    For the best interval at the true parameters, for the fixed one (MATH A3, A4), or for a table
    of symbols by its name (A14).
    """
    index, errors = ("mu", "sigma").index(name), []
    for epsilon_total in params.epsilon_total:
        found = _told(params, epsilon_total, interval)
        errors.append(np.sqrt(2.0 / np.pi / (params.n * max(found[index, index], 1e-300))))
    return np.array(params.epsilon_total), params.sigma * np.array(errors)


def _told(params: Params, epsilon_total: float, interval: str) -> Array:
    """Information ``(2, 2)`` of an answer, by the way of asking, placed right."""
    if interval in online.TABLES:
        return params.table_of(interval, epsilon_total).information(FAMILIES["normal"])
    unit_scale = params.unit_scale(epsilon_total)
    a, b = params.interval_of(interval, unit_scale)
    if interval == "fixed":
        a, b = -params.fixed_width, params.fixed_width
    return information.NOISES[params.noise].information(
        FAMILIES["normal"], np.array(a), np.array(b), unit_scale
    )


def trusted_errors(params: Params) -> tuple[Array, Array]:
    r"""Budgets, and the mean absolute error of μ if one trusted collector had all exact values.

    The collector clips them to the fixed interval, of half-width h, and adds Laplace noise of scale
    $b = 2h/(N\epsilon_{total})$ to their mean once. With $s = \sigma/\sqrt{N}$ the error has the
    mean $\sqrt{2/\pi}\,s + b\,\mathrm{erfcx}(s / (\sqrt{2}\,b))$, as
    $E|x + \mathrm{Lap}(b)| = |x| + b e^{-|x|/b}$; what clipping moves is left out.
    """
    budgets = np.array(params.epsilon_total)
    s = params.sigma / math.sqrt(params.n)
    b = 2.0 * params.fixed_width * params.sigma / (params.n * budgets)
    errors: Array = math.sqrt(2.0 / math.pi) * s + b * special.erfcx(s / (math.sqrt(2.0) * b))
    return budgets, errors


def error_statistics(main: pd.DataFrame, name: str) -> pd.DataFrame:
    """Errors of ``mu`` or ``sigma`` over runs, of each budget and method in the order asked for.

    A run counts for a method and a budget as soon as it is done.
    """
    key = ["epsilon_total", "sampler", "interval"]
    statistics = summaries.over_runs(main, f"error_{name}", key)
    return main[key].drop_duplicates().merge(statistics, on=key)


def narrower(result: Result, epsilon_total: float, sampler: str, interval: str) -> float:
    """By which share log σ is narrower than its prior, in the mean of runs; 0 where unclear.

    A chain tells a width as well as so many particles as it has independent steps.
    """
    params = cast(Params, result.params)
    key = {"epsilon_total": epsilon_total, "sampler": sampler, "interval": interval}

    def rows(name: str) -> pd.DataFrame:
        table = result.tables[name]
        return table[np.all([table[column] == value for column, value in key.items()], axis=0)]

    width = rows("main").sigma_width.mean()
    if sampler not in BATCH or params.known_sigma:
        return float(params.narrower(sampler, width).item())
    kept = (1.0 - params.burn_in) * params.iterations
    steps = max(1, int(kept / rows("chains").autocorrelation_sigma.mean()))
    return float(learnt.narrower(width, steps).item())


def about_sigma(result: Result, epsilon_total: float, sampler: str, interval: str) -> str:
    """How much narrower than its prior log σ is, in words."""
    return f"log σ {learnt.words(narrower(result, epsilon_total, sampler, interval))}"


# --------------------------------------------------------------------------------------- figures

_SYMBOL = {"mu": "μ", "sigma": "σ"}


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Box plots of the posterior means of all runs, and mean errors against the budget."""
    kinds = (("means", _boxes, _means_sentence), ("error", _errors, _errors_sentence))
    return {
        f"{kind}-{name}": fig.Drawn(draw(result, name), sentence(result, name))
        for kind, draw, sentence in kinds
        for name in _SYMBOL
    }


def _errors_sentence(result: Result, name: str) -> str:
    """Mean error of ``mu`` or ``sigma`` of each method at the smallest and the largest budget."""
    params, main = cast(Params, result.params), result.tables["main"]
    if main.empty:
        return result.summary
    if name == "sigma" and params.known_sigma:
        return f"σ = {params.sigma:.3g} is known, so every estimate of it is right."
    table = error_statistics(main, name)
    trusted = dict(zip(*trusted_errors(params), strict=True))
    parts = []
    for budget in _both_ends(table):
        each = [
            f"{row['sampler']} {row['interval']} {row['mean']:.2g}"
            + (f" ({row['low']:.2g} to {row['high']:.2g})" if math.isfinite(row["low"]) else "")
            for row in table[table.epsilon_total == budget].to_dict("records")
        ]
        if name == "mu" and params.tables():
            each.append(f"one trusted collector, by theory, {trusted[budget]:.2g}")
        parts.append(f"At ε_total = {budget:g}: {'; '.join(each)}.")
    what = f"Mean absolute error of {_SYMBOL[name]}{_in_brackets(table.low)}"
    return f"{what}. {' '.join(parts)}"


def _means_sentence(result: Result, name: str) -> str:
    """Where the posterior means of each method lie at the smallest and the largest budget.

    For σ also how much narrower than its prior it is on average, and so whether it is learnt.
    """
    params, main = cast(Params, result.params), result.tables["main"]
    if main.empty:
        return f"No estimate of {_SYMBOL[name]} yet; the line is the truth."
    if name == "sigma" and params.known_sigma:
        return f"σ = {params.sigma:.3g} is known: every estimate lies on the line."
    parts = []
    for budget in _both_ends(main):
        here = main[main.epsilon_total == budget]
        each = []
        for method in params.methods():
            means = here[(here.sampler == method[0]) & (here.interval == method[1])]
            if means.empty:
                continue
            words = f"{' '.join(method)} {_range(means[f'mean_{name}'])}"
            words += f", {about_sigma(result, budget, *method)}" if name == "sigma" else ""
            each.append(words)
        parts.append(f"At ε_total = {budget:g}: {'; '.join(each)}.")
    truth = f"{getattr(params, name):.4g}"
    what = f"Posterior mean of {_SYMBOL[name]}, lowest to highest of the runs (true {truth})"
    return f"{what}. {' '.join(parts)}"


def _both_ends(table: pd.DataFrame) -> list[float]:
    """The smallest and the largest budget, once if they are one."""
    return sorted({table.epsilon_total.min(), table.epsilon_total.max()})


def _range(values: pd.Series[float]) -> str:
    low, high = (f"{end:.4g}" for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _in_brackets(low: pd.Series[float]) -> str:
    """What stands in brackets behind a mean; nothing does where there is one run only."""
    return " (95 % interval over runs)" if np.isfinite(low.to_numpy(float)).any() else ""


def _styles(params: Params) -> dict[tuple[str, str], fig.Style]:
    """A way of asking has its colour on every page, a sampler its dash and marker."""
    every = ["adaptive", "fixed", *params.tables()]
    ways = {style.name: style for style in fig.styles(every)}
    samplers = dict(zip(params.sampler, fig.styles(params.sampler), strict=True))
    alone = len(params.sampler) == 1
    return {
        (sampler, interval): dataclasses.replace(
            ways[interval] if alone else samplers[sampler],
            name=interval if alone else f"{sampler}, {interval}",
            color=ways[interval].color,
        )
        for sampler, interval in params.methods()
    }


def _settings(params: Params, main: pd.DataFrame) -> str:
    sampler = f", {params.sampler[0]}" if len(params.sampler) == 1 else ""
    return f"{runs_in_words(main)}, N = {params.n:,}{sampler}"


def missed(result: Result, name: str) -> pd.DataFrame:
    """How many posteriors there are at the ends of runs and how many of them miss the truth.

    A posterior misses it where it lies more than 1.96 standard deviations from the mean; those of
    chains are not kept.

    Returns:
        ``interval``, ``count`` and ``missed``, a row for each way of asking.
    """
    params, course = cast(Params, result.params), result.tables["course"]
    last = course[course.t == params.n]
    out = last[f"error_{name}"] > 1.96 * last[f"sd_{name}"]
    table = last.assign(out=out).groupby("interval").out
    return table.agg(["size", "sum"]).set_axis(["count", "missed"], axis=1).reset_index()


def missing(result: Result, name: str) -> str:
    """The title of the estimates: how often mean ± 1.96 standard deviations misses the truth."""
    table = missed(result, name)
    symbol = _SYMBOL[name]
    if table.empty:
        return f"Estimates of {symbol}"
    each = ", ".join(
        f"{row.missed} of {row.count} {row.interval}"
        for row in table.itertuples(index=False, name="Row")
    )
    return f"Mean ± 1.96 standard deviations misses {symbol}: {each}"


def finding(result: Result, name: str) -> str:
    """The title of the errors: which intervals make them smaller at the smallest budget."""
    main, symbol = result.tables["main"], _SYMBOL[name]
    table = error_statistics(main, name) if len(main) else main.assign(mean=[])
    pairs = table[table.sampler.isin(table[table.interval == "adaptive"].sampler)]
    pairs = pairs[pairs.sampler.isin(pairs[pairs.interval == "fixed"].sampler)]
    if pairs.empty:
        return f"Error of {symbol}"
    budget = pairs.epsilon_total.min()
    here = pairs[(pairs.epsilon_total == budget) & (pairs.sampler == pairs.sampler.iloc[0])]
    rows = here.set_index("interval")
    if not {"adaptive", "fixed"} <= set(rows.index):
        return f"Error of {symbol}"
    adaptive, fixed = rows.loc["adaptive"], rows.loc["fixed"]
    at = f"At ε_total = {budget:g}"
    if not (adaptive.low > fixed.high or fixed.low > adaptive.high):
        return f"{at} no clear difference between the errors of {symbol}"
    if fixed["mean"] > adaptive["mean"]:
        ratio, best = fixed["mean"] / max(adaptive["mean"], 1e-300), "adaptive"
    else:
        ratio, best = adaptive["mean"] / max(fixed["mean"], 1e-300), "fixed"
    return f"{at} {best} intervals make the error of {symbol} {ratio:.1f} times smaller"


def _boxes(result: Result, name: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    figure = fig.figure(
        missing(result, name),
        "privacy budget of each person, ε_total",
        f"posterior mean of {_SYMBOL[name]}",
        settings=_settings(params, main),
    )
    for method, style in _styles(params).items():
        part = main[(main.sampler == method[0]) & (main.interval == method[1])]
        figure.add_trace(
            go.Box(
                x=part.epsilon_total.map("{:g}".format).to_numpy(),
                y=part[f"mean_{name}"].to_numpy(),
                name=style.name,
                boxpoints="all",
                pointpos=0,
                jitter=0.4,
                line={"color": style.color, "width": 1.5},
                marker={"color": style.color, "symbol": style.marker, "size": 5, "opacity": 0.6},
            )
        )
    truth = getattr(params, name)
    figure.add_hline(y=truth, line={"color": fig.TRUTH.color, "dash": fig.TRUTH.dash, "width": 2.5})
    # Fixed by the truth, so that boxes move and not the axis.
    reach = 1.5 * params.sigma
    low = truth - reach if name == "mu" else 0.0
    figure.update_yaxes(range=[low, truth + reach])
    budgets = [f"{value:g}" for value in params.epsilon_total]
    figure.update_xaxes(
        type="category",
        categoryorder="array",
        categoryarray=budgets,
        tickmode="linear",
        # Room for every budget from the start, so that boxes do not move while runs are done.
        range=[-0.5, len(budgets) - 0.5],
    )
    return figure.update_layout(boxmode="group")


def _errors(result: Result, name: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    figure = fig.figure(
        finding(result, name),
        "privacy budget of each person, ε_total",
        f"mean |posterior mean − true {_SYMBOL[name]}|",
        settings=_settings(params, main),
    )
    least, most = min(params.epsilon_total), max(params.epsilon_total)
    ends = []
    statistics = error_statistics(main, name)
    if name == "mu" and params.tables():
        x, y = trusted_errors(params)
        trusted = dataclasses.replace(fig.GUIDE, name="trusted collector")
        figure.add_trace(fig.line(x, y, trusted, showlegend=False))
        ends.append((trusted, float(y[x.argmax()])))
    for interval in params.ways():
        x, y = efficient_errors(params, name, interval)
        theory = dataclasses.replace(fig.THEORY, name=f"theory, {interval}")
        figure.add_trace(fig.line(x, y, theory, showlegend=False))
        ends.append((theory, float(y[x.argmax()])))
    for method, style in _styles(params).items():
        part = statistics[(statistics.sampler == method[0]) & (statistics.interval == method[1])]
        figure.add_traces(fig.run_line(part, "epsilon_total", style))
        if most in part.epsilon_total.tolist():
            last = part[part.epsilon_total == most]["mean"]
            ends.append((style, float(last.iloc[0])))
    low, high = np.log10(params.sigma / 300), np.log10(2.0 * params.sigma)
    room = 0.45 * max(np.log10(most / least), 0.5)
    budgets = sorted(set(params.epsilon_total))
    figure.update_xaxes(
        type="log",
        range=[np.log10(least) - 0.05, np.log10(most) + room],
        tickvals=budgets,
        ticktext=[f"{value:g}" for value in budgets],
    )
    ticks = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    figure.update_yaxes(
        type="log", range=[low, high], tickvals=ticks, ticktext=[f"{value:g}" for value in ticks]
    )
    # After the axes: a note asks whether they are logarithmic.
    for style, at in _apart(ends, low, high):
        fig.note(figure, most, at, f" {style.name}", style.color, "middle left")
    return figure.update_layout(showlegend=False)


LINE = 0.055
"""Part of the height that a line of words takes."""


def _apart(
    ends: list[tuple[fig.Style, float]], low: float, high: float
) -> list[tuple[fig.Style, float]]:
    """Where names stand at the ends of lines, on a scale of log10, none on another."""
    gap = LINE * (high - low)
    known = [(style, value) for style, value in ends if math.isfinite(value) and value > 0.0]
    placed: list[tuple[fig.Style, float]] = []
    for style, value in sorted(known, key=lambda end: end[1]):
        lowest = placed[-1][1] + gap if placed else low + gap / 2
        placed.append((style, max(math.log10(value), lowest)))
    over = max(0.0, placed[-1][1] - high + gap / 2) if placed else 0.0
    return [(style, at - over) for style, at in placed]
