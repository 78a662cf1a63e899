r"""What does one gradient step per answer lose, compared with a posterior?

[Y23] §7 suggests an online gradient as a cheap method (MATH A13): the estimate moves by a step
along the score of each noisy answer, and no answer is stored,

$$\theta_{t+1} = \theta_t + G_t\,\nabla_\theta \log p(y_t \mid \theta_t), \qquad
\theta = (\mu, \log\sigma).$$

Each run has its own people and noise, the same for all methods. Each method asks the next person
where its own estimate suggests (MATH A5), so the answers differ. The error is the distance between
estimate and truth. The estimate is the posterior mean of ``smc`` (MATH A7) or ``grid`` (A8), or the
average of the gradient's steps. Until the gradient has reduced the variance of its prior below
$\sigma^2$ and its answers are worth one exact value, its estimate is its latest position.

The line *all information used* is the mean absolute error of the best estimate from answers asked
in the right place, $\sqrt{2/\pi}\,\sigma / \sqrt{t F_{11}}$ with the Fisher information $F$ of one
answer (MATH A3, A14). It holds for many people and ignores the prior and the cost of finding the
right place. Errors lie below it if the prior or luck adds information.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.channels import Channel
from abcdp_core.adaptive.gradient import Gradient, asymptotic_variance
from abcdp_core.adaptive.stream import Stream
from abcdp_core.figures.lines import Curve
from abcdp_core.studies.engine import Array, Result, Run, Study, choice
from abcdp_core.studies.engine.estimates import SYMBOL, ErrorCurves, contrast, least_error

EXPERIMENT = "online-gradient"
TITLE = "One gradient step per answer instead of a posterior"

GRADIENT = "gradient"
METHODS = ("smc", GRADIENT, "grid")
METHOD = choice(
    "Methods",
    "gradient: one step per answer. smc: a posterior by particles. grid: the posterior on a grid, "
    "the reference.",
    METHODS,
)
SCORE = dataclasses.replace(
    stream_params.SCORE,
    label="Question is best for",
    help="mu: the mean. determinant: mean and spread together.",
    # Other scores may choose a table without information about μ.
    options=("mu", "determinant"),
)

POINTS = 20  # Numbers of people at which estimates are kept


@dataclass(frozen=True)
class Params(stream_params.OneWayParams):
    """One way of asking, and several methods."""

    n: int = dataclasses.replace(stream_params.PEOPLE, low=10).field(1000)
    method: tuple[str, ...] = METHOD.field(("smc", GRADIENT))
    score: str = SCORE.field("mu")
    prior_mean: float = stream_params.PRIOR_MEAN.field(0.0)
    prior_variance: float = stream_params.PRIOR_VARIANCE.field(1e4)

    def asked(self) -> Channel:
        """Return the channel by which people are asked."""
        return stream_params.channel(self.channel, self.epsilon_total, self.score)

    def times(self) -> NDArray[np.int_]:
        """Return the numbers of people ``(k,)`` after which estimates are kept, up to all."""
        return np.unique(np.geomspace(10, self.n, POINTS).round().astype(int))


def follow(run: Run[Params]) -> dict[str, list[Any]]:
    """Ask the people of a run by each method; return rows of every table."""
    params, times = run.params, run.params.times()
    main, cost = [], []
    for method in params.method:
        start = time.process_time()
        estimates = _estimates(run, method)[times - 1]
        cost.append((method, run.run, time.process_time() - start))
        errors = np.abs(estimates - [params.mu, params.sigma])
        points = zip(times.tolist(), estimates.tolist(), errors.tolist(), strict=True)
        main += [(method, run.run, t, *mean, *error) for t, mean, error in points]
    return {"main": main, "cost": cost}


def _estimates(run: Run[Params], method: str) -> Array:
    """Return estimates ``(n, 2)`` of (μ, σ) after each person."""
    params, stream = run.params, run.params.stream()
    values, chances = stream.people(run.seed, run.run, params.channel)
    if method == GRADIENT:
        steps = Gradient(stream.prior(), params.asked()).follow(values, chances)
        return np.array([(step.mean_mu, step.sigma) for step in steps])
    sampler = stream.sampler_of(method, params.channel)
    asking = Stream(sampler, params.asked(), seed=run.seed, run=run.run)
    turns = asking.ask(None, 0, values, chances)
    return np.array([(answer.mean_mu, answer.mean_sigma) for _, answer in turns])


def bound(params: Params, name: str, people: Array) -> Array:
    """Return the error of ``mu`` or ``sigma`` if all information of ``people (k,)`` is used."""
    index = list(SYMBOL).index(name)
    return least_error(asymptotic_variance(params.asked(), params.sigma)[index, index] / people)


def _theory(result: Result, _: pd.DataFrame, name: str) -> list[Curve]:
    params = cast(Params, result.params)
    times = params.times().astype(float)
    return [(fig.THEORY.called("all information used"), times, bound(params, name, times))]


def _with_time(result: Result) -> fig.CaptionedFigure:
    """Draw the errors of μ, and compare computing times in the caption."""
    drawn, cost = VIEWS["mu"](result), result.tables["cost"]
    seconds = {str(method): rows.seconds.mean() for method, rows in cost.groupby("method")}
    if len(seconds) < 2:
        return drawn
    sentence = f"{drawn.sentence} T{contrast('computing time', seconds)[1:]}."
    return dataclasses.replace(drawn, sentence=sentence)


def _if_learnt(result: Result) -> fig.CaptionedFigure | None:
    """Draw the errors of σ, unless it is known."""
    return None if vars(result.params)["known_sigma"] else VIEWS["sigma"](result)


ERRORS = {
    name: ErrorCurves(
        f"error_{name}",
        symbol,
        x="t",
        ways=("method",),
        at=lambda result: (vars(result.params)["n"], f"After {vars(result.params)['n']:,} people"),
        theory=partial(_theory, name=name),
        looks=dict(zip(METHODS, fig.styles(METHODS), strict=True)),
    )
    for name, symbol in SYMBOL.items()
}
VIEWS = {name: each.view(settings=("epsilon_total", "channel")) for name, each in ERRORS.items()}

STUDY = Study(
    EXPERIMENT,
    Params,
    world=follow,
    tables={
        "main": "method run t mean_mu mean_sigma error_mu error_sigma",
        "cost": "method run seconds",
    },
    says=lambda result: ERRORS["mu"].says(result)[1],
    privacy=lambda params: params.stream().promise([params.epsilon_total], params.channel),
    views={"error-mu": _with_time, "error-sigma": _if_learnt},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
