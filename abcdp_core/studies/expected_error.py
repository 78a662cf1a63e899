r"""How much error does a privacy budget cause? Exact over the noise.

The error of a release is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$, where $\hat\theta$ is the mean of
the kept draws (the prior mean if none is kept), $\theta$ the truth and $d$ the number of
parameters. For one data set, the mean over all noise needs no simulation. Given the noise of the
threshold, the decisions are independent, so one pass over the pool yields the moments of the kept
draws, and a quadrature over the noise of the threshold completes the mean (MATH E6). The result is
averaged over a few data sets, each compared with the same public pool. The data sets are the only
source of chance; the band is the 95 % interval.

Single releases are simulated to show how much they vary. With ``noises``, releases are simulated
at every budget to check the computed errors (:mod:`abcdp_core.evaluation.error_gaps`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, counted, from_to, noise_cost, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import error_curve, error_gaps
from abcdp_core.evaluation.one_release import SparseVectorParams
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.tasks import per_run
from abcdp_core.studies.engine import Chain, Continuation, DerivedTable, Result, Study, scale

EXPERIMENT = "expected-error"
TITLE = "Error against the privacy budget, exact over the noise"

BUDGETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
USUAL = (*BUDGETS, math.inf)  # Budgets of the curve, besides the chosen one
RELEASES = "run noise private_mse non_private_mse accepted false"
SIMULATED = "c epsilon_total run noise mse expected_mse"
LINES = (10, 100)  # The value farther from the chosen c has a second line
NOISES = 25  # Simulated releases of each data set


@dataclass(frozen=True)
class Params(SparseVectorParams):
    """Settings: those of the release, and the number of data sets."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    runs: int = scale(
        "Data sets",
        "Each is simulated at the true parameters and compared with the same pool.",
        (2, 4, 8, 16, 32),
        high=100,
    ).field(8)
    noises: int = scale(
        "Simulated releases",
        "For each data set at every budget, to check the computed errors.",
        (0, 25, 100),
        high=1000,
    ).field(0)


PART, STEPS_OF_RELEASE = 10**8, 8
"""Steps (draws times c) in half a second of work; steps for one draw of a simulated release."""


def chains(params: Params, seed: int) -> list[Chain[Params]]:
    """Return one task for each data set; each link has at least one budget."""
    steps = sum(c + STEPS_OF_RELEASE * params.noises for c in lines(params)) * params.pool_size
    links = min(-(-len(USUAL) * steps // PART), len(USUAL))
    return [Chain(each.params, each.run, each.seed, links) for each in per_run(params, seed)]


def missing_pools(params: Params, seed: int) -> list[pool.PoolKey]:
    """Return the key of the public pool if it is needed and not stored."""
    key = _setting(params, params.c, 0, seed).key
    needed = pool.lacking_distances(key, params.n, params.runs)
    return [key] if needed and not pool.is_kept(key) else []


def lines(params: Params) -> tuple[int, ...]:
    """Return the values of c with a line: the chosen one and another of :data:`LINES`."""
    others = [c for c in LINES if c != params.c and c <= params.pool_size]
    far = max(others, key=lambda c: abs(math.log(c / params.c)), default=params.c)
    return tuple(sorted({params.c, far}))


def link(chain: Continuation[Chain[Params]]) -> tuple[dict[str, pd.DataFrame], Any]:
    """Compute the errors of one data set at the next budgets.

    The last link has all rows, so that averages are over the same data sets at all budgets.
    """
    whole, (main, simulated) = chain.task, chain.state or ([], [])
    params = whole.params
    for c in lines(params):
        setting = _setting(params, c, whole.run, whole.seed)
        usual = USUAL[chain.done :: whole.links]
        errors = dict(zip(usual, error_curve.kept(setting, usual).tolist(), strict=True))
        if chain.is_last and params.epsilon_total not in USUAL:
            # Not stored with the usual budgets, which serve every chosen budget.
            errors[params.epsilon_total] = error_curve.mse(setting, params.epsilon_total)
        main = main + [(c, budget, mse) for budget, mse in errors.items()]
        for budget in filter(math.isfinite, errors):
            made = _simulated(setting, budget, params.noises, whole.seed)
            rows = [(c, budget, whole.run, *each[:2], errors[budget]) for each in made]
            simulated = simulated + rows
    if not chain.is_last:
        return {}, (main, simulated)
    tables = {
        "main": pd.DataFrame(main, columns=["c", "epsilon_total", "mse"]),
        "simulated": pd.DataFrame(simulated, columns=SIMULATED.split()),
    }
    keys = ["c", "epsilon_total"]
    tables = {name: each.sort_values(keys, kind="stable") for name, each in tables.items()}
    return tables | {"releases": _releases(whole)}, None


def _setting(params: Params, c: int, run: int, seed: int) -> error_curve.Setting:
    key = pool.key_for(MIXTURE, params.n, params.pool_size, seed)
    return error_curve.Setting(
        key, params.n, run, params.epsilon_abc, c, params.resample, params.sensitivity
    )


def _simulated(
    setting: error_curve.Setting, epsilon_total: float, noises: int, seed: int
) -> Iterator[tuple[int, float, NDArray[np.int64]]]:
    """Yield number, error and kept draws of each release; budgets share noise, scaled."""
    event, rho = error_curve.event(setting, epsilon_total), setting.rho
    for noise in range(noises):
        rng = generator(seed, "noise", setting.run, noise)
        kept = sparse_vector.run(rho, setting.epsilon_abc, event, rng)[0].indices
        yield noise, _error(kept, setting), kept


def _releases(task: Chain[Params]) -> pd.DataFrame:
    """Tabulate the errors of releases with different noise, and without noise."""
    setting = _setting(task.params, task.params.c, task.run, task.seed)
    close = setting.rho <= setting.epsilon_abc
    plain = _error(np.flatnonzero(close)[: setting.c], setting)
    made = _simulated(setting, task.params.epsilon_total, NOISES, task.seed)
    rows = [(noise, mse, plain, len(kept), int((~close[kept]).sum())) for noise, mse, kept in made]
    return pd.DataFrame(rows, columns=RELEASES.split()[1:])


def _error(kept: NDArray[np.int64], setting: error_curve.Setting) -> float:
    """Return the mean squared error of the mean of the kept draws, or of the prior mean."""
    mean = setting.theta[kept].mean(axis=0) if len(kept) else MIXTURE.prior_mean
    return summaries.errors(mean, uniform_mixture.TRUTH)[0]


PRIOR_ERROR = math.sqrt(summaries.errors(MIXTURE.prior_mean, uniform_mixture.TRUTH)[0])
"""The error without any data."""

NOT_YET = "No data set is finished yet"


def says(result: Result) -> tuple[str, str]:
    """Report the effect of the noise, and the errors."""
    params, main = cast(Params, result.params), result.tables["main"]
    if main.empty:
        return NOT_YET, averaged_in_words(main)
    private, plain = own_errors(params, main)
    error, without = amount(private), amount(plain)
    both = f"{error}. Without noise it is {without}"
    if error == without:
        both = f"{error} with and without noise"
    return f"On average, {noise_cost(private, plain, PRIOR_ERROR)}", (
        f"At ε_total = {params.epsilon_total:,g}, the root mean squared error is {both}; the error "
        f"of the prior mean is {amount(PRIOR_ERROR)}. {averaged_in_words(main)}"
    )


def averaged_in_words(main: pd.DataFrame) -> str:
    """Say what the curve averages over."""
    if main.empty:
        return f"{NOT_YET}."
    return f"Average over noise and {counted(main.run.nunique(), 'data set')}."


def own_errors(params: Params, main: pd.DataFrame) -> tuple[float, float]:
    """Return the root mean squared error at the chosen budget and without noise."""
    errors = main[main.c == params.c].groupby("epsilon_total").mse.mean() ** 0.5
    return errors[params.epsilon_total], errors[math.inf]


def typical_in_words(result: Result) -> str:
    """Describe single releases, in Markdown; empty before there are any."""
    table, c = result.tables["releases"], cast(Params, result.params).c
    if table.empty:
        return ""
    sets = counted(table.run.nunique(), "data set")
    runs = f"**Median over {counted(len(table), 'run')} ({sets} from the same true parameters):**"
    kept = table.accepted.quantile(0.5, "lower")
    if kept == 0:
        return f"{runs} typically, nothing is kept."
    false, low, high = table.false.quantile([0.5, 0.1, 0.9], "lower")
    short = "" if kept == c else f", fewer than c = {c:,} because the pool ends first"
    ratio = (table.private_mse / table.non_private_mse) ** 0.5
    return (
        f"{runs} noise picks {false:,.0f} of the {kept:,.0f} kept draws{short} (middle 80 %: "
        f"{low:,.0f} to {high:,.0f}), and the error is {amount(ratio.median(), 2)} times the error "
        f"without noise ({from_to(ratio.quantile([0.1, 0.9]), 2)}). Averages weigh bad runs more."
    )


def marks_in_words(result: Result, error: float) -> str:
    """Explain the marks of :func:`mark`; off the axis, report the error instead."""
    if not _is_on_axis(cast(Params, result.params).epsilon_total):
        return f"Your budget is off the axis; the error of this run is {amount(error)}."
    return "The ring marks your setting, the dot this run."


def people(params: Params, epsilon_total: float) -> float:
    """Return how many people have another budget's noise at the chosen budget; a real number.

    The noise is proportional to Δ/ε_total (MATH S2), and Δ to 1/N, sharp or published (MATH M2).
    """
    return params.n * epsilon_total / params.epsilon_total


TOP = 1.2 * PRIOR_ERROR  # Top of the axis of errors
ENDS = (min(BUDGETS) / 1.15, max(BUDGETS) * 1.25)  # Ends of the axis of budgets


def _is_on_axis(epsilon_total: float) -> bool:
    return bool(ENDS[0] <= epsilon_total <= ENDS[1])


def errors(result: Result) -> fig.CaptionedFigure:
    """Draw the error against the budget, and mark the chosen setting."""
    params, main, gaps = cast(Params, result.params), result.tables["main"], result.tables["gaps"]
    title, caption = says(result)
    given = settings_line(params, ("c", "epsilon_abc", "n"))
    figure = fig.figure(
        title, "privacy budget ε_total (more private ←)", "root mean squared error", settings=given
    )
    ticks = {"tickvals": BUDGETS, "ticktext": [f"{budget:g}" for budget in BUDGETS]}
    figure.update_xaxes(type="log", range=np.log10(ENDS).tolist(), showgrid=False, **ticks)
    figure.update_yaxes(range=[0.0, TOP])
    fig.no_better(figure, PRIOR_ERROR)
    names = [(PRIOR_ERROR, "prior mean", fig.PRIOR.color)]
    if not main.empty:
        names += _add_curves(figure, params, main, gaps)
        _add_people(figure, params)
    # Beside the plot, so that none lies on a line at any setting.
    fig.end_labels(figure, names, (0.0, TOP), gap=0.09)
    check = "" if gaps.empty else f" Crosses: {error_gaps.in_words(gaps)}"
    return fig.CaptionedFigure(figure.update_layout(showlegend=False), f"{caption}{check}")


def _add_curves(
    figure: go.Figure, params: Params, main: pd.DataFrame, gaps: pd.DataFrame
) -> list[tuple[float, str, str]]:
    """Draw a line and simulated checks for each c, the error without noise, and the setting.

    Returns the height, name and color of each line.
    """
    private, plain = own_errors(params, main)
    without = fig.NON_PRIVATE.called("without noise")
    figure.add_trace(fig.line(np.array(ENDS), np.full(2, plain), without))
    names = [(plain, without.name, without.color)]
    shown = main[main.epsilon_total.between(*ENDS)]
    x = np.unique(shown.epsilon_total)
    styles = fig.styles([f"keep {c:,}" for c in lines(params)])
    for c, style in zip(lines(params), styles, strict=True):
        curve = summaries.root_over_runs(shown[shown.c == c], "mse", "epsilon_total")
        y, low, high = curve[["error", "low", "high"]].to_numpy().T
        if np.isfinite(low).all():
            figure.add_trace(fig.band(x, low, high, style))
        figure.add_trace(fig.line(x, y, style).update(mode="lines+markers"))
        names.append((float(y[-1]), style.name, style.color))
        part = gaps[(gaps.c == c) & gaps.epsilon_total.between(*ENDS)]
        mse, low, high = np.sqrt(part[["mse", "low", "high"]].to_numpy(float).T)
        cross = style.called("simulated", marker="x-thin-open")
        figure.add_trace(fig.points(part.epsilon_total.to_numpy(float), mse, cross, low, high))
    if _is_on_axis(params.epsilon_total):
        figure.add_trace(fig.own_mark(params.epsilon_total, private, "your setting"))
    return names


def _add_people(figure: go.Figure, params: Params) -> None:
    """Draw a second axis: the people that have each budget's noise at the chosen budget."""
    first, last = (people(params, end) for end in ENDS)
    # Close to an end there is no room for a number.
    axis = fig.plain_ticks(max(1.0, 1.15 * first), last / 1.15) if last > 1.15 else {}
    if axis.get("tickvals"):
        own = f"at ε_total = {params.epsilon_total:,g}"
        title = f"people needed for the same noise {own}"
        axis |= {"overlaying": "x", "side": "top", "showgrid": False, "title": {"text": title}}
        figure.update_layout(xaxis2=axis | {"range": np.log10([first, last]).tolist()})
        # An axis without a series is not drawn.
        nothing = {"x": np.array([np.nan]), "y": np.array([np.nan]), "xaxis": "x2"}
        figure.add_trace(go.Scatter(nothing, name="people", hoverinfo="skip"))


def mark(drawn: fig.CaptionedFigure, epsilon_total: float, error: float) -> fig.CaptionedFigure:
    """Draw the error of one run as a dot."""
    figure = go.Figure(drawn.figure)
    if _is_on_axis(epsilon_total):
        run = fig.points(np.array([epsilon_total]), np.array([min(error, TOP)]), fig.PRIVATE)
        look = {"size": 9, "symbol": "triangle-up" if error > TOP else "circle"}
        figure.add_trace(run.update(name="this run", marker=look, cliponaxis=False))
    words = f"{drawn.sentence} The error of this run is {amount(error)}."
    return fig.CaptionedFigure(figure, words)


GAPS = DerivedTable(" ".join(error_gaps.COLUMNS), lambda _, rows: error_gaps.of(rows["simulated"]))

STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    tables={
        "main": "c epsilon_total run mse",
        "releases": RELEASES,
        "simulated": SIMULATED,
    },
    totals={"gaps": GAPS},
    says=lambda result: says(result)[1],
    privacy="Errors are averaged over data sets and noise; nothing is released.",
    views={"error": errors},
    chains=chains,
    link=link,
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
