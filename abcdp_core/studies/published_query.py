r"""What can be learned from a noisy query that somebody else released?

A publisher computed numbers $s$ from private data, added noise with a known distribution
$f(z \mid s)$, and released the noisy numbers $z$ together with that distribution. Anyone with a
prior $\pi$ and a simulator of such data can infer its parameters $\theta$ from $z$. No private data
are read, so nothing more is spent: this is post-processing.

The posterior takes the noise into account. Parameters $x_i$ are drawn from proposals $q_r$, $n_r$
of the $n$ draws from each, and the numbers without noise are simulated once for each. The weights

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i)$$

then give the right posterior, without any tolerance: averaged over simulations, $f(z \mid s_i)$ is
the likelihood of the noisy query (the balance heuristic of Veach & Guibas 1995). The first 10 000
draws come from the prior. Each later round draws from a fit to the weighted draws before it.

If a few draws carry all the weight, the effective sample size $(\sum w)^2 / \sum w^2$ is small.
Below 200 the weights are not used. Instead, noise is added to the simulated numbers, and draws near
the query are moved by a regression, an approximation. Finally, noisy data sets are simulated from
the posterior to check whether the model produces numbers like those released.

The reference is the same posterior from a separate long run without adaptation. The queries are
from Xiong, Ju & Zhang, Simulation-based Bayesian Inference from Privacy Protected Data, TMLR 2025.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.sentences import at_most, counted, percent
from abcdp_core.figures import ranked
from abcdp_core.posterior import fit
from abcdp_core.posterior.outcome import Moments, Posterior, Summary
from abcdp_core.posterior.parts import ResumableInference
from abcdp_core.posterior.published import inference, pools, problems, reference, report
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.rounds import InferenceProblem
from abcdp_core.studies.engine import (
    BaseParams,
    Chain,
    Continuation,
    DerivedTable,
    Result,
    Study,
    Tables,
    choice,
    scale,
)

EXPERIMENT = "published-query"
TITLE = "Posterior from a noisy query that others released"

ERRORS = 4.0  # Standard errors beyond which a difference is reported

REPLICATES = 5000
"""Data sets simulated to check the model; with at most ten numbers, p-values are at least 0.005."""

PUBLISHERS = "Xiong, Ju & Zhang, Transactions on Machine Learning Research, 2025"

WHAT = {
    "log-linear": "Eight counts of two binary features of 100 people in two classes",
    "linear-regression": "Nine bounded averages of the 100 records of a linear regression",
    "sir-epidemic": "Share of infected people in a random sample, on ten days of an epidemic",
}
"""Problem -> what was released."""

PROBLEM = choice(
    "Release",
    "A noisy query that somebody else published, with the distribution of its noise.",
    tuple(WHAT),
)
SIMULATIONS = scale(
    "Simulations",
    "Data sets simulated in total. More give a larger effective sample size.",
    (2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Which release, and how many simulations."""

    problem: str = PROBLEM.field("log-linear")
    simulations: int = SIMULATIONS.field(50_000)


@dataclass(frozen=True)
class Task(Chain[Params]):
    """All simulations for one ``text`` of the problem's file."""

    text: str

    @property
    def question(self) -> InferenceProblem:
        """Return what was released, with its simulator."""
        problem = _read(self.text, self.params.problem)
        return InferenceProblem(
            cast(Model, problem.source), problem.noise, problem.query, self.seed
        )


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
    # The number of simulations is fixed, whatever their effective sample size.
    return replace(problem, wanted=0)


def _problem(params: Any) -> Problem:
    return _read(text_of(params.problem), params.problem)


def link(chain: Continuation[Task]) -> tuple[dict[str, Any], tuple[ResumableInference, int]]:
    """Simulate the next part, and infer the posterior from all complete rounds."""
    question, most = chain.task.question, chain.task.params.simulations
    simulated, before = chain.state or (ResumableInference(), 0)
    # A round may end within a link.
    simulated = simulated.until((chain.done + 1) / chain.task.links * most, question, most)
    state = simulated, simulated.size
    if simulated.size == before and not chain.is_last:
        return {}, state
    draws = simulated.infer(question)
    model, fitted = question.model, None
    way: dict[str, Any] = {"p_value": math.nan, "fit": ""}
    if chain.is_last:
        fitted = fit.fit(question, draws, size=REPLICATES)
        statement = " ".join([fitted.statement, *fitted.remarks])
        way = {"p_value": fitted.p_value, "fit": statement}
    made = Posterior.of(draws, model.parameters, model.prior, fitted, inference.DRAWS).summary
    way |= {"way": made.way, "effective_sample_size": made.effective, "simulated": made.simulated}
    return {"main": report.table(made).assign(simulated=made.simulated), "way": [way]}, state


def _released(params: Params, _: Tables) -> pd.DataFrame:
    """Return the released numbers, each with its noise."""
    problem = _problem(params)
    names = list(cast(Model, problem.source).numbers)
    scales = getattr(problem.noise, "scale", ())
    noise = [f"Laplace, scale {scale:g}" for scale in scales] or ["binomial sample"] * len(names)
    return pd.DataFrame({"number": names, "released": problem.query, "noise": noise})


def _sample(params: Params, _: Tables) -> pd.DataFrame:
    """Compare the publishers' reference sample with the exact answer."""
    both = reference.against(reference.read(), reference.read(reference.SAMPLES))
    return _of_problem(both, params)


def _of_problem(table: pd.DataFrame, params: Params) -> pd.DataFrame:
    of = table[table.problem == params.problem.replace("-", "_")]
    return of.drop(columns=["problem", "seed"], errors="ignore").reset_index(drop=True)


def _posterior(tables: Tables) -> Summary:
    """Return the posterior from its tables."""
    main, way = tables["main"], cast(Any, tables["way"].iloc[0])
    posterior, prior = (
        Moments(*(main[f"{prefix}{name}"].to_numpy() for name in ("mean", "sd", "low", "high")))
        for prefix in ("", "prior_")
    )
    size = float(way.effective_sample_size)
    return Summary(tuple(main.parameter), posterior, prior, way.way, size, int(way.simulated))


def _how(result: Result) -> str:
    """Say how the posterior was computed and whether the model fits; a misfit comes first."""
    way: Any = result.tables["way"].iloc[0]
    parts = [report.how(_problem(result.params), _posterior(result.tables)), way.fit]
    parts = parts[::-1] if way.p_value < fit.MISFIT else parts
    return " ".join(part for part in parts if part)


def headline(result: Result) -> str:
    """Say how much of the prior's uncertainty is left, on average over the parameters."""
    main = result.tables["main"]
    share = ((main.high - main.low) / (main.prior_high - main.prior_low)).mean()
    numbers = counted(len(result.tables["released"]), "noisy number")
    intervals = f"the 90 % intervals of {counted(len(main), 'parameter')}"
    width = f"on average {percent(float(share))} as wide as the prior's"
    return f"Given {numbers}, {intervals} are {width}"


def from_reference(result: Result) -> str:
    """Bound the distance of the means from those of the reference."""
    main, exact = result.tables["main"], result.tables["reference"]
    far = float((np.abs(main["mean"] - exact["mean"]) / exact["sd"]).max())
    return f"Every mean is within {at_most(far, 2)} standard deviations of the reference mean."


def released_in_words(result: Result) -> str:
    """Say what was released, with which noise, and what it spent."""
    problem, what = _problem(result.params), WHAT[cast(Params, result.params).problem]
    noise = problem.noise.in_words()
    return f"{what}. Noise: {noise}. Released by {PUBLISHERS}. {report.spent(problem)}"


def sample_in_words(result: Result) -> str:
    """Compare the publishers' own reference sample with the reference here; empty without one."""
    sample = result.tables["sample"]
    if sample.empty:
        return ""
    off = sample[["mean_standard_errors", "sd_standard_errors"]].abs() > ERRORS
    return (
        f"They also publish a reference sample. In it, {int(off.to_numpy().sum())} of {off.size} "
        f"means and standard deviations differ from the reference here by more than {ERRORS:g} "
        f"standard errors."
    )


REFERENCE = fig.TRUTH.called("reference mean")


def _parameters(result: Result) -> fig.CaptionedFigure:
    """Draw posterior, prior and reference mean of each parameter."""
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


MAIN = "simulated parameter mean sd low high prior_mean prior_sd prior_low prior_high"
WAY = "simulated way effective_sample_size p_value fit"
STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    chains=chains,
    link=link,
    tables={"main": MAIN, "way": WAY},
    totals={
        # From the most simulations.
        "main": DerivedTable(
            MAIN,
            lambda _, rows: rows["main"].drop_duplicates(
                "parameter", keep="last", ignore_index=True
            ),
        ),
        "way": DerivedTable(WAY, lambda _, rows: rows["way"].tail(1).reset_index(drop=True)),
        "released": DerivedTable("number released noise", _released),
        "reference": DerivedTable(
            "parameter mean sd effective_sample_size draws",
            lambda params, _: _of_problem(reference.read(), params),
        ),
        "sample": DerivedTable(
            "parameter mean sd draws mean_off mean_standard_errors sd_ratio sd_standard_errors",
            _sample,
        ),
    },
    privacy=lambda params: f"{report.NO_COST} {report.spent(_problem(params))}",
    says=lambda result: f"{headline(result)}. {_how(result)}",
    views={EXPERIMENT: _parameters},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
