r"""Can one city's outbreak be released privately?

[P22] Section 4.2: the data are those of San Francisco, *one* outbreak, $n = 1$. The distance of a
prior draw to them is clipped at $C = 200$, and differential privacy protects this one outbreak: it
could be replaced by another city's. So one unit can change a distance by the whole of its range,
$\Delta = C$ (MATH M7), and the soft weights (MATH W1) are computed from

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2), \qquad
\sigma = \frac{\sqrt{T}\, C}{\epsilon_{abc}\,\mu},$$

with $\mu = 1.04$ for $\epsilon_{total} = 4$, $\delta = 10^{-4}$ by the exact account (MATH W3).
Distances in units of the threshold are at most $C / \epsilon_{abc}$. So for $T = 1000$ the noise is
thirty times the largest signal, *whatever the threshold*: about half of all draws, picked by noise
alone, get equal weights and the others none. Their mean is near the prior mean, which uses no data.

The paper reports errors averaged over 10 independent runs, relative to the posterior mean that
Lintusaari et al. report for these data; the truth is unknown. Here runs differ only in their noise,
on the pool that comes with the program, or each also simulates its own prior draws. The error is
the mean absolute difference over four parameters in their own units, where $\beta$ and $t_1$ count
most; scaled, each is divided by its prior standard deviation. Compare it with *equal weights* on
the same draws, which learn nothing; their mean is not quite the prior mean. The *spread* is the
weighted standard deviation in units of the prior's, averaged over parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import overpaid, percent, setting, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import effective_sample_size, first_of
from abcdp_core.mechanisms import soft_weights
from abcdp_core.models.simulators import tuberculosis
from abcdp_core.models.simulators.tuberculosis import SCENARIO as TUBERCULOSIS
from abcdp_core.privacy import GaussianSeries, cost, in_digits
from abcdp_core.run.tasks import Part, with_values
from abcdp_core.studies.engine import (
    Array,
    BaseParams,
    Parameter,
    Result,
    Tables,
    columns,
    outbreaks,
)

EXPERIMENT = "tuberculosis-soft"
TITLE = "Soft weights for the outbreak of San Francisco"

SCORES = "epsilon_abc run effective_sample_size mae mae_scaled spread"
COLUMNS = columns(
    main="release epsilon_abc run parameter value",
    errors=f"{SCORES} non_private_mae non_private_spread pool_mae prior_mae paper_mae",
    non_private=f"{SCORES} paper_mae",
    shares="release epsilon_abc parameter left right share",
)

PAPER = {20.0: 4.12, 80.0: 4.05}, {20.0: 3.10}
"""Threshold -> error that [P22] reports, averaged over 10 runs, with and without noise."""

PAPER_BUDGET = (4.0, 1e-4)
BINS = 24

_place = partial(setting, "epsilon_abc")

INDEPENDENT = Parameter(
    kind="switch",
    label="New prior draws in every run",
    help="Off: all runs share the pool that comes with the program. On: each simulates its own.",
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Thresholds, budget, and how many times the noise is drawn."""

    epsilon_abc: tuple[float, ...] = TUBERCULOSIS.epsilon_abc.field((20.0, 80.0))
    epsilon_total: float = par.EPSILON_TOTAL.field(4.0)
    delta: float = par.DELTA.field(1e-4)
    accountant: str = par.ACCOUNTANT.field("exact")
    pool_size: int = TUBERCULOSIS.pool_size.field(TUBERCULOSIS.pool_size_default)
    burden: str = tuberculosis.BURDEN.field("variance 30")
    independent: bool = INDEPENDENT.field(False)
    runs: int = par.RUNS.field(100)
    noise_draw: int = par.NOISE_DRAW.field(0)

    @property
    def is_papers(self) -> bool:
        """Whether the paper reports errors for this budget."""
        return (self.epsilon_total, self.delta) == PAPER_BUDGET


AS_PUBLISHED = Params(accountant="rdp-classic", independent=True, runs=10)
PRESETS: dict[str, BaseParams] = {"p22-figure-4": AS_PUBLISHED}

Task = Part[Params]  # Runs that share prior draws


def tasks(params: Params, seed: int) -> list[Task]:
    """Return a task for each run if runs have their own prior draws, else one for all."""
    single = with_values(params, runs=1)
    parts = [(run, 1) for run in range(params.runs)] if params.independent else [(0, params.runs)]
    return [Part(single, first, count, seed) for first, count in parts]


def event_of(params: Params, epsilon_abc: float) -> GaussianSeries:
    """Return what a release with one threshold does with the data; public."""
    change = TUBERCULOSIS.distance().sensitivity(1)
    return soft_weights.calibrate(
        params.epsilon_total, params.delta, change, epsilon_abc, params.pool_size, params.accountant
    )


def work(task: Task) -> Tables:
    """Weight the draws without noise and with the noise of each run, at every threshold."""
    params, runs = task.params, np.array(task.pieces)
    theta, rho = _draws(task)
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS}
    for at in params.epsilon_abc:
        scaled, event = rho / at, event_of(params, at)
        noises = (generator(task.seed, "noise", run, params.noise_draw) for run in runs)
        noisy = [soft_weights.run(scaled, event, rng).weights for rng in noises]
        weights = {
            "prior": np.full((1, len(theta)), 1.0 / len(theta)),
            "non-private": soft_weights.weights_of(scaled)[None],
            "private": np.stack(noisy),
        }
        equal, plain, private = (_scores(each, theta, params.burden) for each in weights.values())
        beside = {
            "non_private_mae": plain.mae[0],
            "non_private_spread": plain.spread[0],
            "pool_mae": equal.mae[0],
            "prior_mae": outbreaks.prior_error(params.burden),
        }
        papers = [each.get(at, math.nan) if params.is_papers else math.nan for each in PAPER]
        private = private.assign(epsilon_abc=at, run=runs, paper_mae=papers[0], **beside)
        plain = plain.assign(epsilon_abc=at, run=task.first, paper_mae=papers[1])
        tables["errors"].append(private)
        tables["non_private"].append(plain)
        for name, of in (("non-private", runs[:1]), ("private", runs)):
            means = np.stack([one @ theta for one in weights[name]])
            of_run = outbreaks.by_parameter(means, run=of)
            tables["main"].append(of_run.assign(release=name, epsilon_abc=at))
        for name, each in weights.items():
            shares = _shares(each.mean(axis=0), theta, params.burden)
            tables["shares"].append(shares.assign(release=name, epsilon_abc=at))
    whole = {name: pd.concat(each, ignore_index=True) for name, each in tables.items()}
    return {name: whole[name][list(columns)] for name, columns in COLUMNS.items()}


def _draws(task: Task) -> tuple[Array, Array]:
    """Return prior draws ``(T, 4)`` and their distances ``(T,)`` to San Francisco."""
    params = task.params
    if not params.independent:
        return tuberculosis.precomputed(params.pool_size, 1, 0, params.burden)
    deviation = float(tuberculosis.PRIORS[params.burden].deviation[-1])
    prior, outcomes = (
        generator(task.seed, f"san-francisco-{part}", task.first) for part in ("prior", "outbreaks")
    )
    theta = tuberculosis.prior(prior, params.pool_size, deviation)
    metric = TUBERCULOSIS.distance()
    simulated = metric.statistic(TUBERCULOSIS.simulate(outcomes, theta, 1))
    return theta, metric.compare(simulated, metric.statistic(tuberculosis.SAN_FRANCISCO))


def _scores(weights: Array, theta: Array, burden: str) -> pd.DataFrame:
    """Return errors and spreads, with a row for each of the weights ``(k, T)``."""
    prior, means = tuberculosis.PRIORS[burden], weights @ theta
    # Centered at the prior mean, so that squares of large numbers need not cancel.
    variance = weights @ (theta - prior.mean) ** 2 - (means - prior.mean) ** 2
    columns = {
        "effective_sample_size": [effective_sample_size(each) for each in weights],
        **outbreaks.errors(means, burden),
        "spread": (np.sqrt(np.maximum(variance, 0.0)) / prior.deviation).mean(axis=1),
    }
    return pd.DataFrame(columns)


def _shares(weights: Array, theta: Array, burden: str) -> pd.DataFrame:
    """Return the weighted histogram of every parameter for weights ``(T,)``."""
    tables = []
    for column, (name, ends) in enumerate(tuberculosis.axes(burden).items()):
        edges = np.linspace(*ends, BINS + 1)
        shares, _ = np.histogram(theta[:, column], edges, weights=weights)
        part = {"parameter": name, "left": edges[:-1], "right": edges[1:], "share": shares}
        tables.append(pd.DataFrame(part))
    return pd.concat(tables)


def collect(params: Params, rows: Tables) -> Result:
    """Average histograms over runs; add the summary and the guarantee."""
    named = ["release", "epsilon_abc", "parameter", "left", "right"]
    shares = rows["shares"].groupby(named, sort=False).share.mean()
    event = event_of(params, params.epsilon_abc[0])
    privacy = outbreaks.guarantee(event, "There is one outbreak,", params.delta)
    exact = in_digits(cost(event, params.delta).epsilon)
    privacy += overpaid(params.epsilon_total, params.accountant, exact)
    _, summary = outbreaks.error_words(rows["errors"], rows["non_private"], "epsilon_abc")
    tables = {**rows, "shares": shares.reset_index()}
    return Result(EXPERIMENT, params, tables, summary, privacy, event)


REPORTED = fig.styles(["reported by [P22]", "reported, no noise"])
EQUAL_WEIGHTS = fig.GUIDE.called("equal weights")


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the errors of all runs, and the weighted posterior at each threshold."""
    params = cast(Params, result.params)
    private, plain = (result.tables[name] for name in ("errors", "non_private"))
    settings = settings_line(params, ("epsilon_total", "delta"), runs=private.run.nunique())
    title, sentence = outbreaks.error_words(private, plain, "epsilon_abc")
    ours = {fig.PRIVATE: private, fig.NON_PRIVATE: plain}
    papers = [{_place(at): error for at, error in each.items()} for each in PAPER]
    error = outbreaks.error_figure(
        (title, settings),
        [_place(at) for at in params.epsilon_abc],
        {style: ([*map(_place, table.epsilon_abc)], table.mae) for style, table in ours.items()},
        dict(zip(REPORTED, papers, strict=True)) if params.is_papers else {},
        {fig.PRIOR_MEAN: private.prior_mae.iloc[0], EQUAL_WEIGHTS: private.pool_mae.mean()},
    )
    both = (first_of(table, "epsilon_abc").spread.mean() for table in (private, plain))
    wide, narrow = map(percent, both)
    title = f"With noise, the posterior is {wide} as wide as the prior"
    drawn = outbreaks.values_figure((title, settings), _values(result), params.burden, "reference")
    widths = (
        f"At {_place(params.epsilon_abc[0])}, the standard deviation of the posterior is {wide} of "
        f"the prior's with noise and {narrow} without, averaged over the four parameters."
    )
    shown = {"error": (error, sentence), "posterior": (drawn, widths)}
    return {name: fig.CaptionedFigure(*each) for name, each in shown.items()}


def _values(result: Result) -> list[outbreaks.Values]:
    """Return the values by weight, with and without noise, and the prior's."""
    shares = result.tables["shares"]
    # The middle of a bar, repeated once for each thousandth of the weight.
    times = (1000.0 * shares.share).round().astype(int)
    values = shares.assign(value=(shares.left + shares.right) / 2.0)
    parts = dict(list(values.loc[shares.index.repeat(times)].groupby(["release", "epsilon_abc"])))
    first, *_ = several = vars(result.params)["epsilon_abc"]
    return [
        *((_place(each), fig.PRIVATE, parts["private", each]) for each in several),
        (f"{_place(first)}, no noise", fig.NON_PRIVATE, parts["non-private", first]),
        ("prior", fig.PRIOR, parts["prior", first]),
    ]
