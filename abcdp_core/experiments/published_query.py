r"""What does a query that somebody else released say?

A publisher has computed some numbers $s$ from private data, added noise of a known distribution
$f(z \mid s)$, and released the noisy numbers $z$ together with that distribution. Anyone with a
prior $\pi$ and a simulator of such data can infer its parameters $\theta$ from $z$ alone. No
private data are read, so nothing more is spent: whatever follows from a release is post-processing.

The posterior takes the noise into account. Parameters $x_i$ are drawn from proposals $q_r$, with
$n_r$ of $n$ draws each, and the numbers without noise are simulated once at each. The weights

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i)$$

then have the right posterior, with no tolerance: on average over the simulation $f(z \mid s_i)$ is
the likelihood of the noisy query (the balance heuristic of Veach & Guibas 1995). The first 10 000
draws come from the prior; each later round draws from a fit to the weighted draws before it.

Where a few draws carry all the weight, the effective sample size $(\sum w)^2 / \sum w^2$ is small;
below 200 the weights are not used. Instead, simulated numbers get noise of their own, and draws
near the query are moved by a regression: an approximation, and the page says so. Finally, data sets
are simulated at draws of the posterior, with noise, to check whether the model makes numbers like
those released.

The reference is the same posterior by a long run of its own, with nothing that adapts. The queries
are those of Xiong, Ju & Zhang, Simulation-based Bayesian Inference from Privacy Protected Data,
Transactions on Machine Learning Research, 2025.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.posterior import fit
from abcdp_core.posterior import rounds as engine
from abcdp_core.posterior.outcome import Moments, Posterior, Summary
from abcdp_core.posterior.rounds import Draws, Effort, Found, Question
from abcdp_core.published import pools, problems, reference, report
from abcdp_core.published.models import Model
from abcdp_core.published.pools import Pool
from abcdp_core.published.problems import Problem
from abcdp_core.sentences import amount, at_most, counted, percent
from abcdp_core.study import BaseParams, Parameter, Result, Tables
from abcdp_core.tasks import Link, Onward

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

ERRORS = 4.0
"""Standard errors beyond which a difference is told."""

REPLICATES = 5000
"""Data sets simulated to see whether the model makes such numbers; of at most ten numbers the
smallest p-value is 0.005."""

PUBLISHERS = "Xiong, Ju & Zhang, Transactions on Machine Learning Research, 2025"

WHAT = {
    "log-linear": "eight counts of two binary features in two classes of 100 people",
    "linear-regression": "nine bounded averages of the 100 records of a linear regression",
    "sir-epidemic": "shares of a randomized sample who are infected, on ten days of an epidemic",
}
"""Problem -> what was released."""

PROBLEM = Parameter(
    kind="choice",
    label="Release",
    help="A noisy query that somebody else has published, with the distribution of its noise.",
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


@dataclass(frozen=True)
class Params(BaseParams):
    """Which release, and how much work it is worth."""

    problem: str = PROBLEM.field("log-linear")
    simulations: int = SIMULATIONS.field(50_000)


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task:
    """All simulations; each round depends on the rounds before it.

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
        return -(-self.params.simulations // self.question.model.chunk)

    @property
    def problem(self) -> Problem:
        """What was released; no effective sample size is wanted of it."""
        stem = self.params.problem.replace("-", "_")
        problem = problems.from_document(tomllib.loads(self.text), stem, _pool)
        return replace(problem, wanted=0, seed=self.seed)

    @property
    def question(self) -> Question:
        """The same, with its simulator."""
        problem = self.problem
        return Question(cast(Model, problem.source), problem.noise, problem.query, self.seed)


def _pool(name: str) -> Pool:
    return pools.read(reference.EXAMPLES / name)


def tasks(params: Params, seed: int) -> list[Task]:
    """Return the one task, in many links."""
    return [Task(params, seed, text_of(params.problem))]


def text_of(release: str) -> str:
    """Return the file of a release's problem."""
    file = reference.EXAMPLES / f"{release.replace('-', '_')}.toml"
    return file.read_text(encoding="utf-8")


# ----------------------------------------------------------------------- one link after another

Rounds = tuple[tuple[Draws, ...], ...]


class _UnsimulatedError(Exception):
    """Has the tasks of a round whose draws are missing."""


def _replayed(task: Task, rounds: Rounds, effort: Effort) -> Found:
    """The posterior from rounds that are simulated.

    Raises:
        _UnsimulatedError: one more round is needed.
    """
    left = iter(rounds)

    def each(_name: str, _work: Any, tasks: Sequence[engine.Task]) -> Iterable[Draws]:
        found = next(left, None)
        if found is None:
            raise _UnsimulatedError(*tasks)
        return found

    return engine.infer(task.question, effort, each)


@dataclass(frozen=True)
class _State:
    """What is simulated so far.

    Attributes:
        rounds: their draws, the last round's perhaps in part.
        waiting: the tasks of the last round that are to be done.
        told: draws that the latest posterior was inferred from.
    """

    rounds: Rounds = ()
    waiting: tuple[engine.Task, ...] = ()
    told: int = 0

    @property
    def whole(self) -> Rounds:
        """What a posterior can be inferred from: whole rounds, or a part of the first."""
        return self.rounds if len(self.rounds) == 1 or not self.waiting else self.rounds[:-1]

    def further(self, task: Task) -> _State:
        """With one more part simulated; the same if there is nothing more to simulate."""
        rounds, waiting, most = self.rounds, self.waiting, task.params.simulations
        if not waiting:
            try:
                # More than so many draws can count for: only their number ends it.
                _replayed(task, rounds, Effort(most + 1, most))
            except _UnsimulatedError as unsimulated:
                rounds, waiting = (*rounds, ()), unsimulated.args
            else:
                return self
        last = (*rounds[-1], engine.simulate(waiting[0]))
        return replace(self, rounds=(*rounds[:-1], last), waiting=waiting[1:])


def _sizes(rounds: Rounds) -> tuple[int, ...]:
    """Draws of each round."""
    return tuple(sum(map(len, draws)) for draws in rounds)


def work(task: Task | Onward[Task]) -> Link:
    """Simulate the next part, and infer from all that a posterior can be inferred from."""
    here = Onward.of(task, _State())
    task, state, before = here.task, cast(_State, here.state), None
    # A round ends with a small part: then there are two of them in a link.
    enough = (here.done + 1) / task.links * task.params.simulations
    while sum(_sizes(state.rounds)) < enough and state is not before:
        before, state = state, state.further(task)
    sizes = _sizes(state.whole)
    is_last = here.done + 1 == task.links
    if sum(sizes) == state.told and not is_last:
        empty = {name: pd.DataFrame(columns=COLUMNS[name]) for name in ("main", "way")}
        return here.link(empty, state)
    found = _replayed(task, state.whole, Effort(rounds=sizes))
    tables = _tables(task.question, found, is_last=is_last)
    return here.link(tables, replace(state, told=sum(sizes)))


def _tables(question: Question, found: Found, *, is_last: bool) -> Tables:
    """What is kept of a posterior; whether the model fits is asked at the end."""
    fitted, model = None, question.model
    p_value, said = math.nan, ""
    if is_last:
        fitted = fit.fit(question, found, size=REPLICATES)
        p_value, said = fitted.p_value, " ".join([fitted.statement, *fitted.remarks])
    made = Posterior.of(found, model.parameters, model.prior.theta, fitted).summary
    main = report.table(made).assign(simulated=made.simulated)
    way = (made.simulated, made.way, made.effective, p_value, said)
    return {"main": main[[*COLUMNS["main"]]], "way": pd.DataFrame([way], columns=COLUMNS["way"])}


# ------------------------------------------------------------------------------------ what it found


def collect(params: Params, rows: Tables) -> Result:
    """Return the latest posterior; those by fewer simulations are left out."""
    latest = {
        "main": rows["main"].drop_duplicates("parameter", keep="last").reset_index(drop=True),
        "way": rows["way"].tail(1).reset_index(drop=True),
    }
    problem = _problem(params)
    privacy = f"{report.NO_COST} {report.spent(problem)}"
    result = Result(EXPERIMENT, params, {**latest, **_published(problem)}, "", privacy)
    return replace(result, summary=f"{headline(result)}. {_how(result)}")


def _problem(params: Any) -> Problem:
    return tasks(params, 0)[0].problem


def _published(problem: Problem) -> Tables:
    """What was released, and the reference."""
    names = cast(Model, problem.source).numbers
    words = [f"Laplace, scale {scale:g}" for scale in getattr(problem.noise, "scale", ())]
    released = {"number": list(names), "released": problem.query}
    noise = words or ["binomial sample"] * len(names)
    exact, sample = (
        table[table.problem == problem.name].reset_index(drop=True)
        for table in (reference.read(), reference.read(reference.SAMPLES))
    )
    return {
        "released": pd.DataFrame(released | {"noise": noise}),
        "reference": exact[list(COLUMNS["reference"])],
        "sample": reference.against(exact, sample)[list(COLUMNS["sample"])],
    }


def _posterior(tables: Tables) -> Summary:
    """The posterior, again from its tables."""
    main, way = tables["main"], cast(Any, tables["way"].iloc[0])
    found, prior = (
        Moments(*(main[f"{prefix}{name}"].to_numpy() for name in MOMENTS))
        for prefix in ("", "prior_")
    )
    size = float(way.effective_sample_size)
    return Summary(tuple(main.parameter), found, prior, way.way, size, int(way.simulated))


def _how(result: Result) -> str:
    """By which way, and whether the model fits; a misfit comes first."""
    way: Any = result.tables["way"].iloc[0]
    parts = [report.how(_problem(result.params), _posterior(result.tables)), way.fit]
    parts = parts[::-1] if way.p_value < fit.MISFIT else parts
    return " ".join(part for part in parts if part)


def headline(result: Result) -> str:
    """How much of the prior's uncertainty is left, on average over the parameters."""
    main = result.tables["main"]
    share = ((main.high - main.low) / (main.prior_high - main.prior_low)).mean()
    narrower = f"90 % intervals {percent(float(share))} as wide as the prior's"
    if result.tables["way"].way.iloc[0] == "regression":
        return f"Weights do not carry; an approximation has {narrower}"
    numbers = counted(len(result.tables["released"]), "noisy number")
    return f"{counted(len(main), 'parameter')} from {numbers}: {narrower}"


def from_reference(result: Result) -> str:
    """How far means are from those of the reference, at most."""
    main, exact = result.tables["main"], result.tables["reference"]
    far = float((np.abs(main["mean"] - exact["mean"]) / exact["sd"]).max())
    return f"No mean is more than {at_most(far, 2)} standard deviations from the reference mean."


def released_in_words(result: Result) -> str:
    """What was released by whom, with which noise and at what price."""
    problem, what = _problem(result.params), WHAT[cast(Params, result.params).problem]
    return (
        f"{what[:1].upper()}{what[1:]}. Noise: {problem.noise.in_words()}. Released by "
        f"{PUBLISHERS}. {report.spent(problem)}"
    )


def sample_in_words(result: Result) -> str:
    """How the publishers' own reference sample differs from the exact answer; empty without one."""
    sample, exact = result.tables["sample"], result.tables["reference"]
    if sample.empty:
        return ""
    off = []
    for place, row in enumerate(sample.to_dict("records")):
        for what, name in (("mean", "mean"), ("sd", "standard deviation")):
            if abs(row[f"{what}_standard_errors"]) > ERRORS:
                theirs, ours = amount(row[what]), amount(exact[what].iloc[place])
                off.append(f"its {name} of {row['parameter']} is {theirs}, not {ours}")
    by = f"by more than {ERRORS:g} standard errors"
    differs = f"it differs {by}: {'; '.join(off)}" if off else f"no number differs {by}"
    return (
        f"They also publish a reference sample. Of {sample.draws.iloc[0]} draws compared with the "
        f"reference here, {differs}."
    )


REFERENCE = fig.TRUTH.called("reference mean")


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw a row for each parameter: posterior, prior and the mean of the reference."""
    usual = report.figure(_problem(result.params), _posterior(result.tables))
    drawn, exact = usual.figure, result.tables["reference"]
    drawn.layout.title.text = headline(result)
    # The posterior is the upper one of each row.
    places = np.arange(len(exact), dtype=float) - 0.16
    marks = fig.row_marks(exact["mean"].to_numpy(), places, REFERENCE)
    line = {"color": REFERENCE.color, "width": 2}
    drawn.add_trace(marks.update(marker={"size": 22, "line": line}))
    drawn.layout.annotations = ()
    styles = (report.POSTERIOR, fig.PRIOR, REFERENCE)
    fig.key(drawn, [(style.name, style.color) for style in styles])
    return {EXPERIMENT: fig.Drawn(drawn, f"{_how(result)} {from_reference(result)}")}
