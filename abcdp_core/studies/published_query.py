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
near the query are moved by a regression: an approximation. Finally, data sets are simulated at
draws of the posterior, with noise, to check whether the model makes numbers like those released.

The reference is the same posterior by a long run of its own, with nothing that adapts. The queries
are those of Xiong, Ju & Zhang, Simulation-based Bayesian Inference from Privacy Protected Data,
Transactions on Machine Learning Research, 2025.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.figures import ranked
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior import fit
from abcdp_core.posterior.outcome import Moments, Posterior, Summary
from abcdp_core.posterior.parts import Simulated
from abcdp_core.posterior.rounds import Question
from abcdp_core.published import pools, problems, reference, report
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem
from abcdp_core.sentences import at_most, counted, percent
from abcdp_core.study import (
    BaseParams,
    Chain,
    Continuation,
    Result,
    Study,
    Tables,
    Total,
    choice,
    scale,
)

EXPERIMENT = "published-query"
TITLE = "What a noisy query of others says"

ERRORS = 4.0  # Standard errors beyond which a difference is told

REPLICATES = 5000
"""Data sets simulated to see whether the model makes such numbers; of at most ten numbers the
smallest p-value is 0.005."""

PUBLISHERS = "Xiong, Ju & Zhang, Transactions on Machine Learning Research, 2025"

WHAT = {
    "log-linear": "Eight counts of two binary features in two classes of 100 people",
    "linear-regression": "Nine bounded averages of the 100 records of a linear regression",
    "sir-epidemic": "Shares of a randomized sample who are infected, on ten days of an epidemic",
}
"""Problem -> what was released."""

PROBLEM = choice(
    "Release",
    "A noisy query that somebody else has published, with the distribution of its noise.",
    tuple(WHAT),
)
SIMULATIONS = scale(
    "Simulations",
    "Data sets that are simulated in all. More of them give a larger effective sample size.",
    (2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Which release, and how much work it is worth."""

    problem: str = PROBLEM.field("log-linear")
    simulations: int = SIMULATIONS.field(50_000)


@dataclass(frozen=True)
class Task(Chain[Params]):
    """All simulations; what is stored is of this ``text`` of the problem's file."""

    text: str

    @property
    def question(self) -> Question:
        """What was released, with its simulator."""
        problem = _read(self.text, self.params.problem)
        return Question(cast(Model, problem.source), problem.noise, problem.query, self.seed)


def chains(params: Params, seed: int) -> list[Task]:
    """Return the one task, in many links."""
    links = -(-params.simulations // cast(Model, _problem(params).source).chunk)
    return [Task(params, 0, seed, links, text_of(params.problem))]


def text_of(release: str) -> str:
    """Return the file of a release's problem."""
    file = EXAMPLES / f"{release.replace('-', '_')}.toml"
    return file.read_text(encoding="utf-8")


def _read(text: str, release: str) -> Problem:
    def pool(name: str) -> pools.Pool:
        return pools.read(EXAMPLES / name)

    problem = problems.parse(text, release.replace("-", "_"), pool)
    # No effective sample size is wanted of it.
    return replace(problem, wanted=0)


def _problem(params: Any) -> Problem:
    return _read(text_of(params.problem), params.problem)


def link(here: Continuation[Task]) -> tuple[dict[str, Any], tuple[Simulated, int]]:
    """Simulate the next part, and infer from all that a posterior can be inferred from."""
    question, most = here.task.question, here.task.params.simulations
    simulated, told = here.state or (Simulated(), 0)
    # A round ends with a small part: then there are two of them in a link.
    simulated = simulated.until((here.done + 1) / here.task.links * most, question, most)
    state = simulated, simulated.size
    if simulated.size == told and not here.is_last:
        return {}, state
    found = simulated.infer(question)
    model, fitted = question.model, None
    way: dict[str, Any] = {"p_value": math.nan, "fit": ""}
    if here.is_last:
        fitted = fit.fit(question, found, size=REPLICATES)
        said = " ".join([fitted.statement, *fitted.remarks])
        way = {"p_value": fitted.p_value, "fit": said}
    made = Posterior.of(found, model.parameters, model.prior.theta, fitted).summary
    way |= {"way": made.way, "effective_sample_size": made.effective, "simulated": made.simulated}
    return {"main": report.table(made).assign(simulated=made.simulated), "way": [way]}, state


def _released(params: Params, _: Tables) -> pd.DataFrame:
    """The numbers, each with its noise."""
    problem = _problem(params)
    names = list(cast(Model, problem.source).numbers)
    scales = getattr(problem.noise, "scale", ())
    noise = [f"Laplace, scale {scale:g}" for scale in scales] or ["binomial sample"] * len(names)
    return pd.DataFrame({"number": names, "released": problem.query, "noise": noise})


def _sample(params: Params, _: Tables) -> pd.DataFrame:
    """What the publishers offer as a reference, beside the exact answer."""
    both = reference.against(reference.read(), reference.read(reference.SAMPLES))
    return _of_problem(both, params)


def _of_problem(table: pd.DataFrame, params: Params) -> pd.DataFrame:
    of = table[table.problem == params.problem.replace("-", "_")]
    return of.drop(columns=["problem", "seed"], errors="ignore").reset_index(drop=True)


def _posterior(tables: Tables) -> Summary:
    """The posterior, again from its tables."""
    main, way = tables["main"], cast(Any, tables["way"].iloc[0])
    found, prior = (
        Moments(*(main[f"{prefix}{name}"].to_numpy() for name in ("mean", "sd", "low", "high")))
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
    numbers = counted(len(result.tables["released"]), "noisy number")
    narrower = f"90 % intervals {percent(float(share))} as wide as the prior's"
    return f"{counted(len(main), 'parameter')} from {numbers}: {narrower}"


def from_reference(result: Result) -> str:
    """How far means are from those of the reference, at most."""
    main, exact = result.tables["main"], result.tables["reference"]
    far = float((np.abs(main["mean"] - exact["mean"]) / exact["sd"]).max())
    return f"No mean is more than {at_most(far, 2)} standard deviations from the reference mean."


def released_in_words(result: Result) -> str:
    """What was released, with which noise and at what price."""
    problem, what = _problem(result.params), WHAT[cast(Params, result.params).problem]
    noise = problem.noise.in_words()
    return f"{what}. Noise: {noise}. Released by {PUBLISHERS}. {report.spent(problem)}"


def sample_in_words(result: Result) -> str:
    """How the publishers' own reference sample differs from the exact answer; empty without one."""
    sample = result.tables["sample"]
    if sample.empty:
        return ""
    off = sample[["mean_standard_errors", "sd_standard_errors"]].abs() > ERRORS
    return (
        f"They also publish a reference sample: {int(off.to_numpy().sum())} of its "
        f"{off.size} means and standard deviations differ from the reference here by more than "
        f"{ERRORS:g} standard errors."
    )


REFERENCE = fig.TRUTH.called("reference mean")


def _parameters(result: Result) -> fig.CaptionedFigure:
    """A row for each parameter: posterior, prior and the mean of the reference."""
    drawn = report.figure(_problem(result.params), _posterior(result.tables)).figure
    drawn.layout.title.text = headline(result)
    exact = result.tables["reference"]["mean"].to_numpy()
    # The posterior is the upper one of each row.
    marks = ranked.row_marks(exact, np.arange(len(exact), dtype=float) - 0.16, REFERENCE)
    look = {"size": 22, "line": {"width": 2, "color": REFERENCE.color}}
    drawn.add_trace(marks.update(marker=look))
    drawn.layout.annotations = ()
    styles = (report.POSTERIOR, fig.PRIOR, REFERENCE)
    fig.key(drawn, [(style.name, style.color) for style in styles])
    return fig.CaptionedFigure(drawn, f"{_how(result)} {from_reference(result)}")


MOMENTS = "mean sd low high prior_mean prior_sd prior_low prior_high"
STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    chains=chains,
    link=link,
    tables={
        "main": f"simulated parameter {MOMENTS}",
        "way": "simulated way effective_sample_size p_value fit",
    },
    totals={
        # From the most simulations.
        "main": Total(
            f"simulated parameter {MOMENTS}",
            lambda _, rows: rows["main"].drop_duplicates(
                "parameter", keep="last", ignore_index=True
            ),
        ),
        "way": Total(
            "simulated way effective_sample_size p_value fit",
            lambda _, rows: rows["way"].tail(1).reset_index(drop=True),
        ),
        "released": Total("number released noise", _released),
        "reference": Total(
            "parameter mean sd effective_sample_size draws",
            lambda params, _: _of_problem(reference.read(), params),
        ),
        "sample": Total(
            "parameter mean sd draws mean_off mean_standard_errors sd_ratio sd_standard_errors",
            _sample,
        ),
    },
    privacy=lambda params: f"{report.NO_COST} {report.spent(_problem(params))}",
    says=lambda result: f"{headline(result)}. {_how(result)}",
    views={EXPERIMENT: _parameters},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
