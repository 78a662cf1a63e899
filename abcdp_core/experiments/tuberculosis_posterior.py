r"""What can be learnt privately about the spread of tuberculosis?

[P21] Section 6.3: the data are $n$ outbreaks, all simulated at one truth; differential privacy
protects *one outbreak*. The distance of a prior draw is the mean over $n$ simulated outbreaks of
their clipped distance to the observed ones, in pairs,

$$\rho_t = \frac1n \sum_{j=1}^n \min(d(Y_{t,j}, Y^*_j),\, C), \qquad \Delta = \frac{C}{n},
\quad C = 200 \qquad \text{(MATH M7)}$$

so the noise of ABCDP (MATH S2) falls with $n$: with $c = 10$ and $\epsilon_{total} = 1$ its scale
is 22 for $n = 100$ and 2.2 for $n = 1000$, where the distances of the prior differ by some 20.
That is the sensitivity of the published script. The paper's text has $\Delta = C$, for a distance
that is clipped as a whole; the noise then does not fall with $n$.

The paper does not say how many runs its errors rest on. Here ten observed data sets, numbered 0 to
9, go through one public pool, each in an order of its own, and each is released again and again.
Runs of one data set differ in their *noise* alone; what differs between data sets is the *data* and
which draws of the pool come first. The latter matters more: ten accepted draws are a small sample
even without noise. With the same order for all, only the data differ.

The error is the mean absolute difference of posterior mean and truth over four parameters in their
own units, in which $\beta$ and $t_1$ count most; scaled, each is divided by its prior standard
deviation. The *prior mean* needs no data at all: what is not better than it has learnt nothing. The
papers on privacy give $\beta$ the prior variance 30 where the original model has the standard
deviation 30; both pools are here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, sentences, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED, statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "tuberculosis-posterior"
TITLE = "Parameters of a tuberculosis outbreak, released privately"
MAY_BE_LONG = True
COLUMNS = {
    "main": ("n", "resample", "observed_set", "run", "release", "sample", "parameter", "value"),
    "errors": (
        "n", "resample", "observed_set", "run", "accepted", "mae", "mae_scaled", "prior_mae",
    ),
    "non_private": ("n", "observed_set", "accepted", "mae", "mae_scaled"),
    "prior": ("sample", "parameter", "value"),
    "counts": ("what", "count"),
}  # fmt: skip

PAPER = {(100, True): 4.71, (1000, True): 2.20, (100, False): 4.51, (1000, False): 2.10}
"""(n, resample) -> the error that [P21] Figure 5 reports; of how many runs, it does not say."""

OBSERVED_SET = Parameter(
    kind="integer",
    label="Observed data sets",
    help="Numbers of the synthetic data sets, all simulated at the same truth.",
    low=0,
    high=9,
    options=tuple(range(10)),
)
ORDER = Parameter(
    kind="choice",
    label="Order of the pool",
    help="own: every data set meets the draws in another order. same: all in the pool's own.",
    options=("own", "same"),
)
SENSITIVITY_OF = Parameter(
    kind="choice",
    label="Sensitivity",
    help="mean: C/n, what one outbreak changes the mean of n clipped distances by. term: C, as for "
    "a distance that is clipped as a whole; the paper's text, and far too much noise here.",
    options=("mean", "term"),
)
SIZES = Parameter(
    kind="integer",
    label="N · outbreaks in the private data",
    help=tuberculosis.N.help,
    low=100,
    high=1000,
    options=(100, 1000),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same noise, scaled."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = tuberculosis.EPSILON_ABC.field(tuberculosis.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(tuberculosis.C_DEFAULT)
    n: tuple[int, ...] = SIZES.field((100, 1000), many=True)
    pool_size: int = tuberculosis.POOL_SIZE.field(tuberculosis.POOL_SIZE_DEFAULT)
    resample: tuple[bool, ...] = par.RESAMPLE.field((True, False), many=True)
    observed_set: tuple[int, ...] = OBSERVED_SET.field(tuple(range(10)), many=True)
    order: str = ORDER.field("own")
    sensitivity_of: str = SENSITIVITY_OF.field("mean")
    burden: str = tuberculosis.BURDEN.field("variance 30")
    runs: int = par.RUNS.field(30)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse more acceptances than draws, or too large a result."""
        par.check_accepted(self.c, self.pool_size)
        releases = len(self.n) * len(self.resample) * len(self.observed_set)
        par.check_rows(self.runs, releases * self.c * len(tuberculosis.AXES))

    def event(self, n: int, resample: bool) -> sparse_vector.SparseVector:
        """What a release of one size does with the data."""
        distance = tuberculosis.distance()
        sensitivity = distance.sensitivity(n if self.sensitivity_of == "mean" else 1)
        return sparse_vector.calibrate(self.epsilon_total, sensitivity, self.c, resample=resample)


PRESETS: dict[str, BaseParams] = {"p21-figure-5": Params(epsilon_total=1.0)}

tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Release every data set at every size, again and again with other noise."""
    params = task.params
    main, errors, plain = [], [], []
    theta = np.empty((0, len(tuberculosis.AXES)))
    prior = tuberculosis.PRIORS[params.burden]
    prior_mae, _ = _errors(theta, prior)
    for n in params.n:
        for observed_set in params.observed_set:
            own = observed_set if params.order == "own" else 0
            order = pool.order(task.seed, own, params.pool_size)
            theta, rho = tuberculosis.precomputed(params.pool_size, n, observed_set, params.burden)
            distances = rho[order]
            release, _ = sparse_vector.non_private(distances, params.epsilon_abc, params.c)
            kept = order[release.indices]
            main.append((n, False, observed_set, 0, "non-private", kept))
            plain.append((n, observed_set, len(kept), *_errors(theta[kept], prior)))
            for resample in params.resample:
                event = params.event(n, resample)
                for run in range(params.runs):
                    rng = generator(task.seed, "noise", run, observed_set, params.noise_draw)
                    release, _ = sparse_vector.run(distances, params.epsilon_abc, event, rng)
                    kept = order[release.indices]
                    main.append((n, resample, observed_set, run, "private", kept))
                    row = (n, resample, observed_set, run, len(kept))
                    errors.append((*row, *_errors(theta[kept], prior), prior_mae))
    return {
        "main": _samples(main, theta),
        "errors": pd.DataFrame(errors, columns=list(COLUMNS["errors"])),
        "non_private": pd.DataFrame(plain, columns=list(COLUMNS["non_private"])),
        "prior": pd.DataFrame(_long(np.arange(len(theta)), theta)),
        "counts": tuberculosis.shipped_counts(params.burden),
    }


def _errors(kept: Array, prior: tuberculosis.Moments) -> tuple[float, float]:
    """Mean absolute error of the mean of draws ``(k, 4)``, and scaled; of the prior's for none."""
    mean = kept.mean(axis=0) if len(kept) else prior.mean
    difference = np.abs(mean - tuberculosis.TRUTH)
    return float(difference.mean()), float((difference / prior.deviation).mean())


Kept = tuple[int, bool, int, int, str, NDArray[np.int64]]


def _samples(releases: list[Kept], theta: Array) -> pd.DataFrame:
    """One row per accepted draw and parameter."""
    kept = [release[-1] for release in releases]
    rows = [len(indices) * theta.shape[1] for indices in kept]
    columns = {
        name: np.repeat(np.array([release[place] for release in releases]), rows)
        for place, name in enumerate(COLUMNS["main"][:5])
    }
    samples = np.concatenate(kept)
    return pd.DataFrame(columns | _long(samples, theta[samples]))


def _long(samples: NDArray[np.int64], theta: Array) -> dict[str, NDArray[Any]]:
    """Columns of draws ``(k,)`` with their parameters ``(k, 4)``."""
    names = list(tuberculosis.AXES)
    return {
        "sample": np.repeat(samples, len(names)),
        "parameter": np.tile(np.array(names), len(samples)),
        "value": theta.ravel(),
    }


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    case = max(params.n), params.resample[0]
    event = params.event(*case)
    privacy = (
        f"{statement(event, tuberculosis.PROTECTED)} One outbreak is a whole city's two years; "
        f"who fell ill in it is not protected one by one. {UNPROTECTED}"
    )
    return Result(EXPERIMENT, params, rows, _summary(rows), privacy, event)


def spreads(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean error at every size and ``resample``, and where its spread comes from.

    Columns: those of :func:`summaries.over_runs`, with what is repeated being data sets; ``noise``,
    the standard deviation between runs of one data set; ``data``, that of the data sets' expected
    errors, of data and order of the pool together: what is left of the variance of their means
    after the noise.
    """
    case = ["n", "resample"]
    sets = errors.groupby([*case, "observed_set"]).mae.agg(["mean", "var", "count"]).reset_index()
    noise = sets.groupby(case)["var"].mean().to_numpy()
    each = sets.groupby(case)["count"].first().to_numpy()
    data = sets.groupby(case)["mean"].var().to_numpy() - noise / each
    return summaries.over_runs(sets, "mean", case, run="observed_set").assign(
        noise=np.sqrt(noise), data=np.sqrt(np.maximum(data, 0.0))
    )


def _summary(rows: Tables) -> str:
    errors = rows["errors"]
    each = "; ".join(
        f"{row.mean:.2f}{_parts(cast(float, row.noise), cast(float, row.data))} "
        f"({_case(row.n, row.resample)})"
        for row in spreads(errors).itertuples()
    )
    plain = rows["non_private"].groupby("n").mae.mean()
    non_private = ", ".join(f"{value:.2f} (N = {n})" for n, value in plain.items())
    return (
        f"Mean absolute error of the posterior mean: {each}. Non-private {non_private}; "
        f"the prior mean alone {errors.prior_mae.iloc[0]:.2f}."
        f"{summaries.empty_note(errors.accepted)}"
    )


def _parts(noise: float, data: float) -> str:
    """Where the spread of an error comes from, as far as several runs and data sets tell."""
    known = (("noise", noise), ("data", data))
    return "".join(f" ± {size:.2f} by {what}" for what, size in known if not math.isnan(size))


def _case(n: Any, resample: Any) -> str:
    return f"N = {n}, threshold {'redrawn' if resample else 'kept'}"


def means(result: Result, resample: bool) -> dict[str, list[str]]:
    """Parameter -> mean of the accepted values at every size, of the prior, and the truth."""
    params = cast(Params, result.params)
    main, prior = result.tables["main"], result.tables["prior"]
    private = main[(main.release == "private") & (main["resample"] == resample)]
    # A size at which nothing was accepted has no mean.
    named = {f"N = {n}": private[private.n == n] for n in params.n if (private.n == n).any()}
    named |= {"prior": prior}
    return {
        name: [
            *(f"{what} {_values(part, name).mean():.3g}" for what, part in named.items()),
            f"truth {truth:g}",
        ]
        for name, truth in zip(tuberculosis.AXES, tuberculosis.TRUTH, strict=True)
    }


UNMOVED = 0.25
"""Prior standard deviations; a mean that is closer to the prior's says that nothing was learnt."""


def unmoved(result: Result, resample: bool) -> dict[int, list[str]]:
    """Size -> parameters whose accepted values are on average where the prior is."""
    params = cast(Params, result.params)
    prior = tuberculosis.PRIORS[params.burden]
    main = result.tables["main"]
    private = main[(main.release == "private") & (main["resample"] == resample)]
    means = private.groupby(["n", "parameter"]).value.mean()
    scales = zip(tuberculosis.AXES, prior.mean, prior.deviation, strict=True)
    places = {name: (mean, UNMOVED * deviation) for name, mean, deviation in scales}
    return {
        n: [
            name
            for name, (mean, near) in places.items()
            if (n, name) in means.index and abs(means[n, name] - mean) < near
        ]
        for n in params.n
    }


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """What is accepted of each parameter, and the errors of all runs."""
    params = cast(Params, result.params)
    said = " ".join(
        f"Threshold {_called(resample)}. {_accepted_sentence(result, resample)}"
        for resample in params.resample
    )
    return {
        "posterior": fig.Drawn(_posterior_figure(params, result), said),
        "error": fig.Drawn(_error_figure(params, result), result.summary),
    }


def _called(resample: bool) -> str:
    return "redrawn" if resample else "kept"


def _accepted_sentence(result: Result, resample: bool) -> str:
    """Means of accepted parameters at each size, beside truth and prior."""
    found, near_prior = means(result, resample), unmoved(result, resample)
    each = "; ".join(f"{name} {', '.join(parts)}" for name, parts in found.items())
    none = "; ".join(f"{', '.join(names)} (N = {n})" for n, names in near_prior.items() if names)
    params, main = cast(Params, result.params), result.tables["main"]
    filled = set(main.n[(main.release == "private") & (main["resample"] == resample)])
    empty = ", ".join(f"N = {n}" for n in params.n if n not in filled)
    nothing = f" Nothing was accepted at {empty}." if empty else ""
    near = f" Less than a quarter of a prior standard deviation from the prior mean: {none}."
    return f"Mean of the accepted values: {each}.{nothing}{near if none else ''}"


def _over(params: Params) -> str:
    """What an average is over, in words."""
    noises = sentences.counted(params.runs, "noise")
    return f"{noises} and {sentences.counted(len(params.observed_set), 'data set')}"


def _settings(params: Params) -> str:
    both = " or ".join(_called(resample) for resample in params.resample)
    return (
        f"ε_total = {params.epsilon_total:g}, c = {params.c}, ε_abc = {params.epsilon_abc:g}, "
        f"threshold {both}, {_over(params)}"
    )


def finding(result: Result) -> str:
    """What noise makes of the error at each size, with the first treatment of the threshold."""
    params, tables = cast(Params, result.params), result.tables
    found = []
    for n in sorted(params.n):
        private = _of(tables["errors"], (n, params.resample[0]))
        error, prior = private.mae.mean(), float(private.prior_mae.iloc[0])
        plain = tables["non_private"].mae[tables["non_private"].n == n].mean()
        found.append(f"N = {n}: {_verdict(error, plain, prior)}")
    return ". ".join(found)


def _verdict(error: float, plain: float, prior: float) -> str:
    if said := sentences.little(error, prior):
        return said
    if error <= plain:
        return "no larger error than without noise"
    return f"error {100.0 * (error / plain - 1.0):.0f} % above that without noise"


def _error_figure(params: Params, result: Result) -> go.Figure:
    errors, plain = result.tables["errors"], result.tables["non_private"]
    figure = fig.figure(
        _range_of_runs(params, errors),
        "",
        "mean absolute error",
        height=440,
        settings=_settings(params),
    )
    cases = [(n, resample) for n in params.n for resample in params.resample]
    private = pd.concat([_of(errors, case) for case in cases])
    words = [
        _label(n, resample) for n, resample in zip(private.n, private["resample"], strict=True)
    ]
    figure.add_trace(fig.boxes(np.array(words), private.mae.to_numpy(), fig.PRIVATE))
    words = [f"N = {n}<br>no noise" for n in plain.n]
    figure.add_trace(fig.boxes(np.array(words), plain.mae.to_numpy(), fig.NON_PRIVATE))
    reported = [case for case in cases if case in PAPER and _as_reported(params)]
    (paper,) = fig.styles(["reported by [P21]"])
    labels = np.array([_label(*case) for case in reported])
    points = fig.points(labels, np.array([PAPER[case] for case in reported]), paper)
    if reported:
        figure.add_trace(points.update(marker={"size": 13, "symbol": "diamond"}))
    order = [
        name
        for n in params.n
        for name in (*(_label(n, each) for each in params.resample), f"N = {n}<br>no noise")
    ]
    prior = np.full(len(order), float(errors.prior_mae.iloc[0]))
    figure.add_trace(fig.line(np.array(order), prior, fig.PRIOR_MEAN))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    return figure.update_yaxes(range=[0.0, 9.0])


def _as_reported(params: Params) -> bool:
    """Whether budget, c and threshold are those of the paper's figure."""
    (preset,) = PRESETS.values()
    names = ("epsilon_total", "c", "epsilon_abc")
    return all(getattr(params, name) == getattr(preset, name) for name in names)


def _range_of_runs(params: Params, errors: pd.DataFrame) -> str:
    """Between which errors single releases lie, at the smallest size."""
    case = min(params.n), params.resample[0]
    values = _of(errors, case).mae
    if len(values) == 1:
        return f"Error of one release at N = {case[0]}: {values.iloc[0]:.1f}"
    low, high = values.quantile([0.1, 0.9])
    return f"Of single releases at N = {case[0]} 80 % err by {low:.1f} to {high:.1f}"


def _of(errors: pd.DataFrame, case: tuple[int, bool]) -> pd.DataFrame:
    return errors[(errors.n == case[0]) & (errors["resample"] == case[1])]


def _label(n: int, resample: bool) -> str:
    return f"N = {n}<br>{_called(resample)}"


INTERVAL = (0.05, 0.95)
"""Quantiles of the accepted values between which an interval lies."""


def _posterior_figure(params: Params, result: Result) -> go.Figure:
    """Mean and 90 % interval of accepted values: a panel a parameter, private and not in pairs."""
    main, axes = result.tables["main"], tuberculosis.axes(params.burden)
    rows = [
        *((n, resample, style) for n in params.n for resample, style in _releases(params)),
        (None, None, fig.PRIOR),
    ]
    figure = fig.panels(
        list(axes), finding(result), "", "", rows=2, height=200 + 2 * (40 + 22 * len(rows))
    )
    settings = f"Mean and 90 % interval of what is accepted. {_settings(params)}"
    figure.layout.title.subtitle.text = settings
    for index, (name, ends) in enumerate(axes.items()):
        for style in (fig.PRIVATE, fig.NON_PRIVATE, fig.PRIOR):
            chosen = [
                (place, _values(_accepted(result, main, *row), name))
                for place, row in enumerate(rows)
                if row[-1] is style
            ]
            marks = _intervals([(place, values) for place, values in chosen if len(values)], style)
            figure.add_trace(marks.update(**fig.panel(index)))
        truth = np.full(2, float(tuberculosis.TRUTH[index]))
        line = fig.line(truth, np.array([-0.5, len(rows) - 0.5]), fig.TRUTH)
        figure.add_trace(line.update(**fig.panel(index)))
        figure.update_layout({f"xaxis{index + 1 if index else ''}": _axis(ends)})
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=[_row_name(params, *row) for row in rows],
        **{"ticks": "", "zeroline": False, "showline": False},
    )
    figure.add_annotation(
        **{"text": "│ truth", "showarrow": False, "font": {"color": fig.TRUTH.color}},
        **{"x": 1.0, "xref": "paper", "xanchor": "right"},
        **{"y": 1.0, "yref": "paper", "yanchor": "bottom"},
    )
    return figure.update_layout(showlegend=False)


def _releases(params: Params) -> list[tuple[bool | None, fig.Style]]:
    """What there is at each size: private, a row each, and the one without noise."""
    return [*((resample, fig.PRIVATE) for resample in params.resample), (None, fig.NON_PRIVATE)]


def _accepted(
    result: Result, main: pd.DataFrame, n: int | None, resample: bool | None, style: fig.Style
) -> pd.DataFrame:
    """Rows of what is accepted at a size; draws of the prior where there is none."""
    if n is None:
        return result.tables["prior"]
    chosen = (main.release == style.name) & (main.n == n)
    return main[chosen] if resample is None else main[chosen & (main["resample"] == resample)]


def _row_name(params: Params, n: int | None, resample: bool | None, style: fig.Style) -> str:
    if n is None:
        return "prior"
    if resample is None:
        return f"N = {n}, no noise"
    which = _called(resample) if len(params.resample) > 1 else "private"
    return f'N = {n}, <b><span style="color:{style.color}">{which}</span></b>'


def _axis(ends: tuple[float, float]) -> dict[str, object]:
    empty = {"matches": None, "title": {"text": None}}
    return empty | {"range": list(ends), "nticks": 4, "tickangle": 0}


def _intervals(rows: list[tuple[int, Array]], style: fig.Style) -> go.Scatter:
    """Mean and interval of each row's values."""
    means = np.array([values.mean() for _, values in rows])
    ends = np.array([np.quantile(values, INTERVAL) for _, values in rows]).reshape(-1, 2)
    places = np.array([place for place, _ in rows], dtype=float)
    marks = fig.row_marks(means, places, style, ends[:, 0], ends[:, 1])
    return marks.update(hovertemplate="mean %{x:.4g}")


def _values(table: pd.DataFrame, name: str) -> Array:
    return table.value[table.parameter == name].to_numpy()
