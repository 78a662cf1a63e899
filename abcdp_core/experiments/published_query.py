r"""What does a query that somebody else released say?

A publisher has computed some numbers $s$ from private data, added noise of a known law
$f(z \mid s)$, and released the noisy numbers $z$ with the law. Whoever has a prior $\pi$ and a
simulator of such data can infer its parameters $\theta$ from $z$ alone. No private data are read,
so nothing more is spent: whatever follows from a release is post-processing.

The posterior takes the noise into account. Parameters $x_i$ are drawn from proposals $q_r$, with
$n_r$ of $n$ draws each, and the numbers without noise are simulated once at each. The weights

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i)$$

then have the right posterior, with no tolerance: on average over the simulation $f(z \mid s_i)$ is
the likelihood of the noisy query (the balance heuristic of Veach & Guibas 1995). The first 10 000
draws are the prior's; each later round draws from what was fitted to the weighted draws before.

Where a few draws have all weight, the effective sample size $(\sum w)^2 / \sum w^2$ is small, and
weights do not carry: that is where it is below 200. Then simulated numbers get noise of
their own, and draws near the query are moved by a regression: an approximation, and the page says
so. At last data sets are simulated at draws of the posterior, with noise, to see whether the model
makes such numbers as were released.

The reference is the same posterior by a long run of its own, with nothing that adapts. The queries
are those of Xiong, Ju & Zhang, Simulation-based Bayesian Inference from Privacy Protected Data,
Transactions on Machine Learning Research, 2025.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.experiments import Link, Onward
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.posterior import fit
from abcdp_core.posterior import rounds as engine
from abcdp_core.posterior.outcome import Moments, Posterior, Summary
from abcdp_core.posterior.rounds import Draws, Effort, Found, Question, Way
from abcdp_core.published import problems, reference, report
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem
from abcdp_core.results import Result, Tables

EXPERIMENT = "published-query"
TITLE = "What a noisy query of others says"

MOMENTS = ("mean", "sd", "low", "high")

COLUMNS = {
    "main": ("simulated", "parameter", *MOMENTS, *(f"prior_{name}" for name in MOMENTS)),
    "way": ("simulated", "way", "effective_sample_size", "p_value", "fit"),
    "released": ("number", "released", "noise"),
    "reference": ("parameter", "mean", "sd", "effective_sample_size", "draws"),
    "sample": (
        *("parameter", "mean", "sd", "draws"),
        *("mean_off", "mean_standard_errors", "sd_ratio", "sd_standard_errors"),
    ),
}
"""``way``: ``weights`` or ``regression``; ``p_value`` and ``fit``: whether the model makes such
numbers, in figures and words, once all is simulated. ``sample``: what the publishers offer as a
reference, as :func:`abcdp_core.published.reference.against` sets it beside the exact answer."""

PUBLISHERS = "Xiong, Ju & Zhang, Transactions on Machine Learning Research, 2025"

WHAT = {
    "log-linear": "eight counts of two binary features in two classes of 100 people",
    "linear-regression": "nine bounded averages of the 100 records of a linear regression",
    "sir-epidemic": "shares of a randomised sample who are infected, on ten days of an epidemic",
}
"""Problem -> what was released."""

PROBLEM = Parameter(
    kind="choice",
    label="Release",
    help="A noisy query that somebody else has published, with the law of its noise.",
    options=tuple(WHAT),
)
SIMULATIONS = Parameter(
    kind="integer",
    label="Simulations",
    help="Data sets that are simulated in all. More of them give a larger effective sample size.",
    low=2000,
    high=200_000,
    steps=(2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000),
)

REFERENCE = dataclasses.replace(fig.TRUTH, name="reference mean")


@dataclass(frozen=True)
class Params(BaseParams):
    """Which release, and how much work it is worth."""

    problem: str = PROBLEM.field("log-linear")
    simulations: int = SIMULATIONS.field(50_000)


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task:
    """All simulations, of which each depends on the former rounds.

    Attributes:
        params: of the study.
        seed: root seed.
        text: of the problem's file: what is stored is of this one.
    """

    params: Params
    seed: int
    text: str

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return -(-self.params.simulations // _model(self.problem).chunk)

    @property
    def problem(self) -> Problem:
        """What is to be done; it ends by the number of simulations alone."""
        stem = self.params.problem.replace("-", "_")
        problem = problems.from_document(tomllib.loads(self.text), stem, _no_pool)
        return dataclasses.replace(
            problem,
            # More than so many draws can count for.
            wanted=self.params.simulations + 1,
            draws=self.params.simulations,
            seed=self.seed,
        )


def tasks(params: Params, seed: int) -> list[Task]:
    """The one task, in many links."""
    return [Task(params, seed, text_of(params.problem))]


def text_of(release: str) -> str:
    """The file of a release's problem."""
    file = reference.EXAMPLES / f"{release.replace('-', '_')}.toml"
    return file.read_text(encoding="utf-8")


def _no_pool(name: str) -> NoReturn:
    """None of the shipped problems has one."""
    raise ValueError(f"pool = {name}: no shipped problem has a pool.")


def _model(problem: Problem) -> Model:
    """The simulator of a shipped problem; none of them has a pool."""
    return cast(Model, problem.source)


# ----------------------------------------------------------------------- one link after another

Rounds = tuple[tuple[Draws, ...], ...]


class _UnsimulatedError(Exception):
    """A round whose draws are still missing."""

    def __init__(self, tasks: Sequence[engine.Task]) -> None:
        super().__init__()
        self.tasks = tuple(tasks)


def _question(problem: Problem) -> Question:
    return Question(_model(problem), problem.noise, problem.query, problem.seed)


def _replayed(problem: Problem, there: Rounds, effort: Effort) -> Found:
    """The posterior, if all its rounds are there.

    Args:
        problem: what was released.
        there: draws of its rounds.
        effort: what may be simulated, or the rounds themselves.

    Raises:
        _UnsimulatedError: has the tasks of the first one that is not.
    """
    left = iter(there)

    def each(
        name: str,  # noqa: ARG001 - part of the interface
        work: Callable[[engine.Task], Draws],  # noqa: ARG001 - part of the interface
        tasks: Sequence[engine.Task],
    ) -> Iterable[Draws]:
        found = next(left, None)
        if found is None:
            raise _UnsimulatedError(tasks)
        return found

    return engine.infer(_question(problem), effort, each)


@dataclass(frozen=True)
class _State:
    """Where the simulations stand.

    Attributes:
        rounds: what is simulated, the last round perhaps in part.
        waiting: the tasks of the last round that are to be done.
        told: draws that the latest posterior was inferred from.
    """

    rounds: Rounds = ()
    waiting: tuple[engine.Task, ...] = ()
    told: int = 0

    @property
    def simulated(self) -> int:
        """Draws."""
        return _count(self.rounds)

    @property
    def whole(self) -> Rounds:
        """What a posterior can be inferred from: whole rounds, or a part of the first."""
        return self.rounds if len(self.rounds) == 1 or not self.waiting else self.rounds[:-1]


def _count(rounds: Rounds) -> int:
    """Draws."""
    return sum(len(draws) for each in rounds for draws in each)


def work(task: Task | Onward[Task]) -> Link:
    """Simulate the next part, and infer from all whenever that is worth while."""
    here = Onward.of(task, _State())
    whole, done = here.task, here.done + 1
    problem, state = whole.problem, cast(_State, here.state)
    # A round ends with a small part: then there are two of them in a link.
    enough = done / whole.links * problem.draws
    while state.simulated < enough:
        following = _next(problem, state)
        if following is None:
            break
        state = following
    made = _count(state.whole)
    # Of the first parts several may have the same draws, as many as something can be inferred from.
    if made > state.told and _is_worth_while(state, done, whole.links):
        sizes = tuple(_count((each,)) for each in state.whole)
        found = _replayed(problem, state.whole, Effort(rounds=sizes))
        tables = _tables(problem, found, is_last=done == whole.links)
        state = dataclasses.replace(state, told=made)
    else:
        tables = {name: pd.DataFrame(columns=list(COLUMNS[name])) for name in ("main", "way")}
    return here.link(tables, state)


def _next(problem: Problem, state: _State) -> _State | None:
    """With one more part simulated; ``None`` if there is nothing more to simulate."""
    there, waiting = state.rounds, state.waiting
    if not waiting:
        try:
            _replayed(problem, there, Effort(problem.wanted, problem.draws))
        except _UnsimulatedError as unsimulated:
            there, waiting = (*there, ()), unsimulated.tasks
        else:
            return None
    draws = engine.simulate(waiting[0])
    there = (*there[:-1], (*there[-1], draws))
    return dataclasses.replace(state, rounds=there, waiting=waiting[1:])


def _is_worth_while(state: _State, done: int, links: int) -> bool:
    """At the end, after each round, and in the first whenever there are twice as many draws."""
    doubled = len(state.rounds) == 1 and done & (done - 1) == 0
    # A round has ended if another one was begun: nothing else adds to what was told.
    return done == links or len(state.rounds) > 1 or not state.waiting or doubled


REPLICATES = 5000
"""Data sets simulated to see whether the model makes such numbers; of at most ten numbers the
smallest p-value is 0.005."""


def _tables(problem: Problem, found: Found, *, is_last: bool) -> Tables:
    """What is kept of a posterior; whether the model fits is asked at the end."""
    question = _question(problem)
    fitted = fit.fit(question, found, size=REPLICATES) if is_last else None
    model = _model(problem)
    made = Posterior.of(found, model.parameters, model.prior.theta, fitted).summary
    main = report.table(made)
    main.insert(0, "simulated", made.simulated)
    way = {
        "simulated": [made.simulated],
        "way": [made.way],
        "effective_sample_size": [made.effective],
        "p_value": [math.nan if fitted is None else fitted.p_value],
        "fit": ["" if fitted is None else " ".join([fitted.statement, *fitted.remarks])],
    }
    return {"main": main[list(COLUMNS["main"])], "way": pd.DataFrame(way)}


# ------------------------------------------------------------------------------------ what it found


def collect(params: Params, rows: Tables) -> Result:
    """The result of the latest posterior; those by fewer simulations are left out."""
    latest = rows["way"].simulated.max()
    tables = {
        name: table[table.simulated == latest].reset_index(drop=True)
        for name, table in rows.items()
    }
    problem = _said_of(params)
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables={**tables, **_published(problem)},
        summary=_said(problem, tables),
        privacy=f"{report.NO_COST} {report.spent(problem)}",
    )


def _said_of(params: Params) -> Problem:
    """The problem as sentences need it: nothing was wanted but so many simulations."""
    return dataclasses.replace(tasks(params, 0)[0].problem, wanted=0)


def _published(problem: Problem) -> Tables:
    """What was released, and the reference."""
    each = getattr(problem.noise, "scale", ())
    names = _model(problem).numbers
    words = [f"Laplace, scale {scale:g}" for scale in each] or ["binomial sample"] * len(names)
    released = pd.DataFrame({"number": list(names), "released": problem.query, "noise": words})
    exact, sample = (
        table[table.problem == problem.name].reset_index(drop=True)
        for table in (reference.read(), reference.read(reference.SAMPLES))
    )
    beside = reference.against(exact, sample)
    return {
        "released": released,
        "reference": exact[list(COLUMNS["reference"])],
        "sample": beside[list(COLUMNS["sample"])],
    }


def _posterior(tables: Tables) -> Summary:
    """What was said of a posterior, again from its tables."""
    main: pd.DataFrame = tables["main"]
    way: Any = tables["way"].iloc[0]
    found, prior = (
        Moments(*(main[f"{prefix}{name}"].to_numpy() for name in MOMENTS))
        for prefix in ("", "prior_")
    )
    return Summary(
        tuple(main.parameter),
        found,
        prior,
        cast(Way, way.way),
        float(way.effective_sample_size),
        int(way.simulated),
    )


def _said(problem: Problem, tables: Tables) -> str:
    """What was found; a model that does not fit comes first."""
    way: Any = tables["way"].iloc[0]
    finding = report.finding(problem, _posterior(tables))
    parts = (way.fit, finding) if way.p_value < fit.MISFIT else (finding, way.fit)
    return " ".join(part for part in parts if part)


def width_share(main: pd.DataFrame) -> float:
    """Width of the intervals as a share of the prior's, on average over the parameters."""
    return float(((main.high - main.low) / (main.prior_high - main.prior_low)).mean())


def headline(result: Result) -> str:
    """How much of the prior's uncertainty is left."""
    main, (way,) = result.tables["main"], result.tables["way"].way
    share = f"90 % intervals {100.0 * width_share(main):.0f} % as wide as the prior's"
    if way == "regression":
        return f"Weights do not carry; an approximation has {share}"
    return f"{len(main)} parameters from {len(result.tables['released'])} noisy numbers: {share}"


def from_reference(result: Result) -> str:
    """How far means are from those of the reference."""
    main, exact = result.tables["main"], result.tables["reference"]
    each = np.abs(main["mean"] - exact["mean"]) / exact["sd"]
    # Upwards: what is said is a bound.
    far = math.ceil(100.0 * float(each.max())) / 100.0
    return (
        f"No mean is further than {far:.2f} standard deviations from that of the reference "
        f"({exact.draws.iloc[0]:,} simulations, effective sample size "
        f"{exact.effective_sample_size.iloc[0]:,.0f})."
    )


def released_in_words(result: Result) -> str:
    """What was released by whom, with which noise and at what price."""
    params = cast(Params, result.params)
    what, problem = WHAT[params.problem], _said_of(params)
    return (
        f"{what[:1].upper()}{what[1:]}. Noise: {problem.noise.in_words()}. Released by "
        f"{PUBLISHERS}. {report.spent(problem)}"
    )


ERRORS = 4.0
"""Standard errors beyond which a difference is told."""


def sample_in_words(result: Result) -> str:
    """How the publishers' own reference sample differs from the exact answer; empty without one."""
    sample, exact = result.tables["sample"], result.tables["reference"]
    if sample.empty:
        return ""
    rows = [*zip(sample.itertuples(), exact.itertuples(), strict=True)]
    off = [
        f"{what} of {theirs.parameter} is {value:.3g}, not {right:.3g}"
        for theirs, ours in rows
        for what, value, right, errors in (
            ("mean", theirs.mean, ours.mean, theirs.mean_standard_errors),
            ("standard deviation", theirs.sd, ours.sd, theirs.sd_standard_errors),
        )
        if abs(cast(float, errors)) > ERRORS
    ]
    first = (
        f"With it they publish a reference sample, of which {sample.draws.iloc[0]} draws were "
        f"compared with the reference here"
    )
    if not off:
        return (
            f"{first}: no mean and no standard deviation differs by more than {ERRORS:g} standard "
            f"errors."
        )
    return (
        f"{first}, and it differs by more than {ERRORS:g} standard errors: its "
        f"{'; its '.join(off)}."
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """A row for each parameter: posterior, prior and the mean of the reference."""
    problem = _said_of(cast(Params, result.params))
    usual = report.figure(problem, _posterior(result.tables))
    drawn, exact = usual.figure, result.tables["reference"]
    drawn.layout.title.text = headline(result)
    # The posterior is the upper one of each row.
    marks = fig.row_marks(
        exact["mean"].to_numpy(), np.arange(len(exact), dtype=float) - 0.16, REFERENCE
    )
    line = {"color": REFERENCE.color, "width": 2}
    drawn.add_trace(marks.update(marker={"size": 22, "line": line}))
    drawn.layout.annotations = ()
    styles = (report.POSTERIOR, fig.PRIOR, REFERENCE)
    fig.key(drawn, [(style.name, style.color) for style in styles])
    sentence = (
        f"90 % intervals are {100.0 * width_share(result.tables['main']):.0f} % as wide as the "
        f"prior's, on average over the parameters. {result.summary} {from_reference(result)}"
    )
    return {EXPERIMENT: fig.Drawn(drawn, sentence)}
