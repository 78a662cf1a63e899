r"""What does a gradient step per answer lose against a posterior?

[Y23] §7 names an online gradient as the cheap way (MATH A13): the estimate moves by a step along
the score of each noisy answer, and no answer is kept,

$$\theta_{t+1} = \theta_t + G_t\,\nabla_\theta \log p(y_t \mid \theta_t), \qquad
\theta = (\mu, \log\sigma).$$

Each run has people and noise of its own, the same for all methods. Each method asks the next person
where its own estimate says (MATH A5), so their answers differ. What is reported is the distance of
the estimate from the truth: of the posterior mean of ``smc`` (MATH A7) or ``grid`` (A8), or of the
average of the gradient's steps. Until the gradient has brought the variance of its prior below
$\sigma^2$ and its answers are worth one exact value, its estimate is its last place.

The line *all information used* is the mean absolute error of the best estimate there is from
answers asked for in the right place, $\sqrt{2/\pi}\,\sigma / \sqrt{t F_{11}}$ with the Fisher
information $F$ of an answer (MATH A3, A14). It holds for many people, and leaves out the prior and
the cost of finding the place; where the prior or luck tells more, errors lie below it.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.online import parameters as online
from abcdp_core.online import vectors
from abcdp_core.online.channels import Channel
from abcdp_core.online.gradient import Gradient, asymptotic_variance
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import plain, runs_in_words

Array = NDArray[np.float64]

EXPERIMENT = "online-gradient"
TITLE = "A gradient step for each answer, in place of a posterior"
COLUMNS = {
    "main": ("method", "run", "t", "mean_mu", "mean_sigma", "error_mu", "error_sigma"),
    "cost": ("method", "run", "seconds"),
}

GRADIENT = "gradient"
METHOD = Parameter(
    kind="choice",
    label="Methods",
    help="gradient: a step for each answer. smc: a posterior of particles. grid: the posterior "
    "computed on a grid, the reference.",
    options=("smc", GRADIENT, "grid"),
)
SCORE = dataclasses.replace(
    online.SCORE,
    label="The channel is best for",
    help="mu: the mean. determinant: mean and spread at once.",
    options=("mu", "determinant"),
)
"""Others may choose a table that tells nothing about μ."""

POINTS = 20
"""Numbers of people at which estimates are kept."""


@dataclass(frozen=True)
class Params(BaseParams):
    """One way of asking, and several of inferring."""

    n: int = dataclasses.replace(online.PEOPLE, low=10).field(1000)
    epsilon_total: float = online.EPSILON_TOTAL.field(2.0)
    method: tuple[str, ...] = METHOD.field(("smc", GRADIENT), many=True)
    channel: str = online.CHANNEL.field("truncation")
    score: str = SCORE.field("mu")
    mu: float = online.MU.field(50.0)
    sigma: float = online.SIGMA.field(math.sqrt(10.0))
    known_sigma: bool = online.KNOWN_SIGMA.field(True)
    particles: int = dataclasses.replace(online.PARTICLES, high=1000).field(100)
    prior_mean: float = online.PRIOR_MEAN.field(0.0)
    prior_variance: float = online.PRIOR_VARIANCE.field(1e4)
    runs: int = par.RUNS.field(10)

    def stream(self) -> online.StreamParams:
        """The same for one stream of people."""
        names = ("n", "mu", "sigma", "particles", "known_sigma", "prior_mean", "prior_variance")
        return online.StreamParams(**{name: getattr(self, name) for name in names})

    def asked(self) -> Channel:
        """How people are asked."""
        return online.channel(self.channel, self.epsilon_total, self.score)

    def times(self) -> Array:
        """Numbers of people ``(k,)`` at which estimates are kept, the last of them all."""
        return np.unique(np.geomspace(10, self.n, POINTS).round().astype(int))


PRESETS: dict[str, BaseParams] = {}

Task = experiments.Run[Params]


def tasks(params: Params, seed: int) -> list[Task]:
    """All methods of a run, then the next run."""
    return [
        Task(dataclasses.replace(params, method=(method,), runs=1), run, seed)
        for run in range(params.runs)
        for method in params.method
    ]


def work(task: Task) -> Tables:
    """One method on the people of one run."""
    params, method = task.params, task.params.method[0]
    values, chances = params.stream().people(task.seed, task.run, params.channel)
    follow = _by_gradient if method == GRADIENT else _by_posterior
    start = time.process_time()
    estimates = follow(task, values, chances)
    seconds = time.process_time() - start
    times = params.times()
    at = estimates[times - 1]
    away = np.abs(at - [params.mu, params.sigma])
    rows = [
        (method, task.run, t, *of, *off)
        for t, of, off in zip(times.tolist(), at.tolist(), away.tolist(), strict=True)
    ]
    return {
        "main": pd.DataFrame(rows, columns=list(COLUMNS["main"])),
        "cost": pd.DataFrame([(method, task.run, seconds)], columns=list(COLUMNS["cost"])),
    }


def _by_gradient(task: Task, values: Array, chances: Array) -> Array:
    """Estimates ``(n, 2)`` of (μ, σ) after each person."""
    gradient = Gradient(task.params.stream().prior(), task.params.asked())
    return np.array([(s.mean_mu, s.sigma) for s in gradient.follow(values, chances)])


def _by_posterior(task: Task, values: Array, chances: Array) -> Array:
    """The same: posterior means."""
    params = task.params
    sampler = params.stream().sampler_of(params.method[0], params.channel)
    stream = vectors.stream_of(params.asked(), sampler, task.seed, task.run)
    turns = stream.ask(None, 0, values, chances)
    return np.array([(answer.mean_mu, answer.mean_sigma) for _, answer in turns])


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    privacy = params.stream().promise([params.epsilon_total], params.channel)
    return Result(EXPERIMENT, params, rows, _summary(params, rows["main"]), privacy)


def bound(params: Params, name: str, people: Array) -> Array:
    """Mean absolute errors ``(k,)`` of ``mu`` or ``sigma`` if all information were used.

    Args:
        params: how people are asked.
        name: of the parameter.
        people: how many ``(k,)``.
    """
    index = ("mu", "sigma").index(name)
    variance = float(asymptotic_variance(params.asked(), params.sigma)[index, index])
    errors: Array = np.sqrt(2.0 / np.pi * variance / people)
    return errors


def errors(main: pd.DataFrame, name: str) -> pd.DataFrame:
    """Mean errors of ``mu`` or ``sigma`` over runs with 95 % intervals, by method and ``t``."""
    return summaries.over_runs(main, f"error_{name}", ["method", "t"])


def _summary(params: Params, main: pd.DataFrame) -> str:
    return f"Over {runs_in_words(main)} with {_asked(params)}, {_at_the_end(params, main, 'mu')}"


def _asked(params: Params) -> str:
    return f"ε_total = {params.epsilon_total:g} and {params.channel}"


def _at_the_end(params: Params, main: pd.DataFrame, name: str) -> str:
    """Mean errors of all methods after the last person, and the bound, to end a sentence."""
    table = errors(main, name)
    each = "; ".join(
        f"{row['method']} {plain(row['mean'])}"
        + (f" ({plain(row['low'])} to {plain(row['high'])})" if math.isfinite(row["low"]) else "")
        for row in table[table.t == params.n].to_dict("records")
    )
    interval = " (95 % interval)" if table.low.notna().any() else ""
    least = float(bound(params, name, np.array([params.n]))[0])
    used = (
        f"the best estimate from so many answers alone is about {plain(least)} off"
        if math.isfinite(least)
        else "the answers tell nothing about it"
    )
    what = f"mean absolute error of {SYMBOL[name]}{interval} after {params.n:,} people"
    return f"{what}: {each}; {used}."


# --------------------------------------------------------------------------------------- figures

SYMBOL = {"mu": "μ", "sigma": "σ"}


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors against the number of people; of σ too where it is not known."""
    params = cast(Params, result.params)
    names = ("mu",) if params.known_sigma else ("mu", "sigma")
    return {
        f"error-{name}": fig.Drawn(_figure(result, name), _sentence(result, name)) for name in names
    }


def finding(result: Result, name: str) -> str:
    """The title: how the gradient's error compares with a posterior mean's at the end."""
    params = cast(Params, result.params)
    others = [method for method in params.method if method != GRADIENT]
    table = errors(result.tables["main"], name)
    last = table[table.t == params.n].set_index("method").to_dict("index")
    after = f"After {params.n:,} people"
    if not others or not {GRADIENT, others[0]} <= set(last):
        return f"Error of {SYMBOL[name]}"
    steps, posterior = last[GRADIENT], last[others[0]]
    if not (steps["low"] > posterior["high"] or posterior["low"] > steps["high"]):
        return f"{after} no clear difference between the errors of {SYMBOL[name]}"
    better, worse = sorted((GRADIENT, others[0]), key=lambda method: last[method]["mean"])
    ratio = last[worse]["mean"] / max(last[better]["mean"], 1e-300)
    times = plain(ratio, 2 if ratio >= 2.0 else 3)
    return f"{after} the error of {SYMBOL[name]} with {worse} is {times} times that with {better}"


def _sentence(result: Result, name: str) -> str:
    """The errors at the end, and what a person takes."""
    params, tables = cast(Params, result.params), result.tables
    means = tables["cost"].groupby("method", sort=False).seconds.mean() / params.n
    times = ", ".join(f"{1e3 * mean:.2g} ms with {method}" for method, mean in means.items())
    ends = _at_the_end(params, tables["main"], name)
    return f"M{ends[1:]} A person takes {times} of this computer's time."


def _figure(result: Result, name: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    figure = fig.figure(
        finding(result, name),
        "people who have answered",
        f"mean |estimate − true {SYMBOL[name]}|",
        settings=f"{runs_in_words(main)}, {_asked(params)}",
    )
    table, labels = errors(main, name), []
    for style in fig.styles([str(option) for option in METHOD.options]):
        part = table[table.method == style.name]
        if len(part):
            figure.add_traces(fig.run_line(part, "t", style, called="people"))
            labels.append((float(part["mean"].iloc[-1]), style.name, style.color))
    times = params.times().astype(float)
    least = bound(params, name, times)
    if np.isfinite(least).all():
        style = dataclasses.replace(fig.THEORY, name="all information used")
        figure.add_trace(fig.line(times, least, style))
        labels.append((float(least[-1]), style.name, style.color))
    figure.update_xaxes(**fig.logarithmic(times[0], times[-1]))
    # By the truth and the prior, so that lines move and not the axis.
    widest = math.sqrt(params.prior_variance) + abs(params.mu - params.prior_mean)
    top = 2.0 * max(params.sigma, widest if name == "mu" else 0.0)
    low = min(params.sigma / 100.0, 0.5 * float(least[-1]))
    figure.update_yaxes(type="log", range=[math.log10(low), math.log10(top)], dtick=1)
    fig.end_labels(figure, labels, (low, top))
    return figure.update_layout(showlegend=False)
