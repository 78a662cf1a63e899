"""What the errors and the estimates show, in words and figures."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import summaries
from abcdp_core.experiments.estimation_accuracy.settings import BATCH, Params
from abcdp_core.experiments.estimation_accuracy.theory import efficient_errors, trusted_errors
from abcdp_core.online import learnt
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, budget_name, from_to, runs_in_words
from abcdp_core.study.estimates import ASKED, SYMBOL, Errors, Key

Array = NDArray[np.float64]


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    tables = params.tables()
    # As much as answers with noise cost, or less.
    channel = tables[0] if len(tables) == len(params.channel) else "truncation"
    privacy = params.promise(params.epsilon_total, channel)
    result = Result("estimation-accuracy", params, rows, "", privacy)
    return dataclasses.replace(result, summary=ERRORS["mu"].says(result)[1])


def _params(result: Result) -> Params:
    return cast(Params, result.params)


def _smallest(result: Result) -> tuple[float, str]:
    budget = float(result.tables["main"].epsilon_total.min())
    return budget, f"At {budget_name(budget)}"


def _pair(result: Result) -> tuple[Key, Key]:
    """The first two ways of asking, by the first sampler that can follow both."""
    params = _params(result)
    first, second = (*params.ways(), "")[:2]
    both = [s for s in params.sampler if {(s, first), (s, second)} <= {*params.methods()}]
    return (first, (*both, "")[0]), (second, (*both, "")[0])


def _theory(result: Result, rows: pd.DataFrame, name: str) -> list[tuple[fig.Style, Array, Array]]:
    params = _params(result)
    return [
        (ASKED[way].called(f"{way}, theory", dash="dot"), *efficient_errors(params, name, way))
        for way in rows.interval.unique()
    ]


def _curves(result: Result, rows: pd.DataFrame, name: str) -> list[tuple[fig.Style, Array, Array]]:
    """Theory, and beside symbols a trusted collector's error of μ."""
    params = _params(result)
    trusted = fig.GUIDE.called("trusted collector")
    shown = [(trusted, *trusted_errors(params))] if name == "mu" and params.tables() else []
    return [*_theory(result, rows, name), *shown]


def _reach(params: Params, name: str) -> tuple[float, float]:
    """Ends of the axis, by theory and the prior, so that lines move and not the axis."""
    top = 10.0 * params.sigma
    if name == "mu":
        theory = max(efficient_errors(params, name, way)[1].max() for way in params.ways())
        prior = math.sqrt(params.prior_variance) + abs(params.mu - params.prior_mean)
        top = max(2.0 * params.sigma, min(5.0 * theory, 2.0 * prior))
    return params.sigma / 300.0, top


ERRORS = {
    name: Errors(
        f"error_{name}",
        symbol,
        x="epsilon_total",
        ways=("interval", "sampler"),
        at=_smallest,
        pair=_pair,
        theory=partial(_theory, name=name),
        looks=ASKED,
    )
    for name, symbol in SYMBOL.items()
}
VIEWS = {
    name: ERRORS[name].view(
        settings=("n", "sampler"),
        curves=partial(_curves, name=name),
        y_range=partial(_reach, name=name),
    )
    for name in ERRORS
}


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Box plots of the posterior means of all runs, and mean errors against the budget.

    Those of σ are there if it is to be learnt.
    """
    names = [name for name in SYMBOL if name == "mu" or not _params(result).known_sigma]
    boxes = {f"means-{name}": _boxes(result, name) for name in names}
    return boxes | {f"error-{name}": VIEWS[name](result) for name in names}


def _means_say(result: Result, name: str) -> tuple[str, str]:
    """How often posteriors miss the truth, and where the means of the first method are."""
    params, main, symbol = _params(result), result.tables["main"], SYMBOL[name]
    if main.empty:
        return f"Estimates of {symbol}", f"No estimate of {symbol} yet; the line is the truth."
    budget, at = _smallest(result)
    rows = summaries.first_of(main[main.epsilon_total == budget], "sampler", "interval")
    sampler, way = rows.sampler.iloc[0], rows.interval.iloc[0]
    said = (
        f"{at}, the posterior mean of {symbol} over {runs_in_words(rows)} with {sampler} and "
        f"{ASKED[way].name} is {from_to(rows[f'mean_{name}'], 4)}; the truth is "
        f"{amount(getattr(params, name), 4)}"
    )
    if name == "sigma" and sampler not in BATCH:
        gained = params.narrower(sampler, rows.sigma_width.mean()).item()
        said += f"; log σ is {learnt.words(gained)}"
    return _misses(result, name), f"{said}."


def _misses(result: Result, name: str) -> str:
    """How often the truth is more than 1.96 standard deviations from the mean, without chains."""
    course = result.tables["course"]
    last = course[course.t == _params(result).n]
    out = last.assign(out=last[f"error_{name}"] > 1.96 * last[f"sd_{name}"])
    counts = out.groupby("interval", sort=False).out.agg(["size", "sum"]).to_dict("index")
    if not counts:
        return f"Estimates of {SYMBOL[name]}"
    each = (f"{n['sum']} of {n['size']} with {ASKED[str(way)].name}" for way, n in counts.items())
    return f"Mean ± 1.96 standard deviations misses {SYMBOL[name]}: {', '.join(each)}"


def _boxes(result: Result, name: str) -> fig.Drawn:
    params, main = _params(result), result.tables["main"]
    title, caption = _means_say(result, name)
    several = len(params.sampler) > 1
    sampler = "" if several else f", {params.sampler[0]}"
    figure = fig.figure(
        title,
        "privacy budget of each person, ε_total",
        f"posterior mean of {SYMBOL[name]}",
        settings=f"N = {params.n:,}{sampler}, {runs_in_words(main)}",
    )
    markers = dict(zip(params.sampler, fig.styles(params.sampler), strict=True))
    for method, way in params.methods():
        part = main[(main.sampler == method) & (main.interval == way)]
        label = f"{ASKED[way].name} ({method})" if several else ASKED[way].name
        style = ASKED[way].called(label, marker=markers[method].marker)
        budgets = part.epsilon_total.map("{:g}".format).to_numpy()
        trace = fig.boxes(budgets, part[f"mean_{name}"].to_numpy(), style)
        figure.add_trace(trace.update(boxpoints="all", pointpos=0, jitter=0.4, boxmean=False))
    truth = getattr(params, name)
    figure.add_hline(y=truth, line={"color": fig.TRUTH.color, "width": 2.5})
    # Fixed by the truth and the settings, so that boxes move and not the axes.
    reach = 1.5 * params.sigma
    figure.update_yaxes(range=[truth - reach if name == "mu" else 0.0, truth + reach])
    names = [f"{value:g}" for value in params.epsilon_total]
    figure.update_xaxes(
        type="category", tickmode="linear", categoryarray=names, range=[-0.5, len(names) - 0.5]
    )
    return fig.Drawn(figure.update_layout(boxmode="group"), caption)
