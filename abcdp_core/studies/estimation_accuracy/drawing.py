"""Sentences and figures about estimates, their errors and theory."""

from __future__ import annotations

import math
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
from scipy import special

from abcdp_core import figures as fig
from abcdp_core.adaptive import contraction, information
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.base import summaries
from abcdp_core.base.sentences import (
    AXES,
    NEGLIGIBLE,
    amount,
    budget_name,
    ranges,
    runs_in_words,
    settings_line,
)
from abcdp_core.figures.lines import Curve
from abcdp_core.run.results import Result
from abcdp_core.studies.engine import Array
from abcdp_core.studies.engine.estimates import ASKED, SYMBOL, ErrorCurves, least_error
from abcdp_core.studies.estimation_accuracy.computing import BATCH, Params


def _smallest(result: Result) -> tuple[float, str]:
    budget = float(result.tables["main"].epsilon_total.min())
    return budget, f"At {budget_name(budget)}"


def efficient_errors(params: Params, name: str, interval: str) -> tuple[Array, Array]:
    """Return budgets, and the mean absolute error of an estimate that uses all information.

    The error is infinite if answers carry no information.

    Args:
        params: how people are asked.
        name: ``mu`` or ``sigma``.
        interval: ``adaptive`` for the best interval at the true parameters, ``fixed``, or the name
            of a table (MATH A3, A4, A14).
    """
    index = list(SYMBOL).index(name)
    informed = [_information(params, budget, interval) for budget in params.epsilon_total]
    known = np.array([each[index, index] for each in informed])
    with np.errstate(divide="ignore"):
        variance = 1.0 / (params.n * np.where(known > NEGLIGIBLE, known, 0.0))
    return np.array(params.epsilon_total), params.sigma * least_error(variance)


def _information(params: Params, epsilon_total: float, interval: str) -> Array:
    """Return the information ``(2, 2)`` of an answer, placed right."""
    if interval in stream_params.TABLES:
        return params.table_of(interval, epsilon_total).information(FAMILIES["normal"])
    unit_scale = params.unit_scale(epsilon_total)
    a, b = params.interval_of(interval, unit_scale)
    if interval == "fixed":
        a, b = -params.fixed_width, params.fixed_width
    noise = information.NOISES[params.noise]
    return noise.information(FAMILIES["normal"], np.array(a), np.array(b), unit_scale)


def trusted_errors(params: Params) -> tuple[Array, Array]:
    r"""Return budgets, and the mean absolute error of μ for a trusted collector of exact values.

    The collector clips the values to the fixed interval, of half-width h, and adds Laplace noise of
    scale $b = 2h/(N\epsilon_{total})$ to their mean once. With $s = \sigma/\sqrt{N}$ the mean error
    is $\sqrt{2/\pi}\,s + b\,\mathrm{erfcx}(s / (\sqrt{2}\,b))$, since
    $E|x + \mathrm{Lap}(b)| = |x| + b e^{-|x|/b}$. The bias from clipping is ignored.
    """
    budgets = np.array(params.epsilon_total)
    s = params.sigma / math.sqrt(params.n)
    b = 2.0 * params.fixed_width * params.sigma / (params.n * budgets)
    errors: Array = math.sqrt(2.0 / math.pi) * s + b * special.erfcx(s / (math.sqrt(2.0) * b))
    return budgets, errors


def _theory(result: Result, rows: pd.DataFrame, name: str) -> list[Curve]:
    params = cast(Params, result.params)
    return [
        (ASKED[way].called(f"{way}, theory", dash="dot"), *efficient_errors(params, name, way))
        for way in rows.interval.unique()
    ]


def _curves(result: Result, rows: pd.DataFrame, name: str) -> list[Curve]:
    """Return the theory, and with symbols the error of μ for a trusted collector."""
    curves, params = _theory(result, rows, name), cast(Params, result.params)
    if name == "mu" and params.tables():
        curves.append((fig.GUIDE.called("trusted collector"), *trusted_errors(params)))
    return curves


ERRORS = {
    name: ErrorCurves(
        f"error_{name}",
        symbol,
        x="epsilon_total",
        ways=("interval", "sampler"),
        at=_smallest,
        theory=partial(_theory, name=name),
        looks=ASKED,
    )
    for name, symbol in SYMBOL.items()
}
VIEWS = {
    name: ERRORS[name].view(settings=("n", "sampler"), curves=partial(_curves, name=name))
    for name in ERRORS
}


def means_say(result: Result, name: str) -> tuple[str, str]:
    """Report how often posteriors miss the truth, and the means of the first method."""
    params, main, symbol = cast(Params, result.params), result.tables["main"], SYMBOL[name]
    if main.empty:
        return f"Estimates of {symbol}", f"No estimate of {symbol} yet; the line is the truth."
    budget, at = _smallest(result)
    rows = summaries.first_of(main[main.epsilon_total == budget], "sampler", "interval")
    sampler, way = rows.sampler.iloc[0], rows.interval.iloc[0]
    sentence = (
        f"{at}, with {sampler} and {ASKED[way].name}, the posterior mean of {symbol} over "
        f"{runs_in_words(rows)} {ranges(rows[f'mean_{name}'], 4)}; the truth is "
        f"{amount(getattr(params, name), 4)}"
    )
    if name == "sigma" and sampler not in BATCH:
        gained = params.narrower(sampler, rows.sigma_width.mean()).item()
        sentence += f"; the posterior of log σ is {contraction.words(gained)}"
    course = result.tables["course"]
    last = course[course.t == params.n]
    out = (last[f"error_{name}"] > 1.96 * last[f"sd_{name}"]).groupby(last.interval, sort=False)
    each = [f"{part.sum()} of {len(part)} with {ASKED[str(way)].name}" for way, part in out]
    misses = f"Mean ± 1.96 standard deviations misses {symbol}: {', '.join(each)}"
    return misses if each else f"Estimates of {symbol}", f"{sentence}."


def boxes(result: Result, name: str) -> fig.CaptionedFigure | None:
    """Draw box plots of the posterior means of all runs; nothing for a known σ."""
    params, main = cast(Params, result.params), result.tables["main"]
    if name == "sigma" and params.known_sigma:
        return None
    (title, caption), y = means_say(result, name), f"posterior mean of {SYMBOL[name]}"
    settings = settings_line(params, ("n",), runs=main.run.nunique())
    figure = fig.figure(title, AXES["epsilon_total"], y, settings=settings)
    markers = dict(zip(params.sampler, fig.styles(params.sampler), strict=True))
    for sampler, way in params.methods():
        part = main[(main.sampler == sampler) & (main.interval == way)]
        style = ASKED[way].called(f"{ASKED[way].name}, {sampler}", marker=markers[sampler].marker)
        budgets = part.epsilon_total.map("{:g}".format).to_numpy()
        trace = fig.boxes(budgets, part[f"mean_{name}"].to_numpy(), style)
        figure.add_trace(trace.update(boxpoints="all", pointpos=0, jitter=0.4, boxmean=False))
    truth = getattr(params, name)
    figure.add_hline(y=truth, line={"color": fig.TRUTH.color, "width": 2.5})
    # Axis fixed around the truth, so that boxes move and not the axis.
    reach = 1.5 * params.sigma
    figure.update_yaxes(range=[truth - reach if name == "mu" else 0.0, truth + reach])
    names = [f"{value:g}" for value in params.epsilon_total]
    figure.update_xaxes(type="category", categoryarray=names)
    return fig.CaptionedFigure(figure.update_layout(boxmode="group"), caption)


def errors(result: Result, name: str) -> fig.CaptionedFigure | None:
    """Draw mean errors against the budget; nothing for a known σ."""
    known = name == "sigma" and vars(result.params)["known_sigma"]
    return None if known else VIEWS[name](result)
