r"""What one private release says about the parameters, beside the non-private one.

Rejection ABC keeps the parameters whose simulated data look like the private data:
$\rho_t = \rho(Y^*, Y_t) \le \epsilon_{abc}$. ABCDP ([P21] Algorithm 1) makes the same comparison
with noise on both sides,

$$\rho_t + \nu_t \le \epsilon_{abc} + m, \qquad m \sim \mathrm{Lap}(b),\;
\nu_t \sim \mathrm{Lap}(2b) \qquad \text{(MATH S1)}$$

and stops at $c$ acceptances. The noise scale that a budget buys is (MATH S2)

$$b = \frac{(c+1)\,\Delta}{\epsilon_{total}} \;\text{(threshold noise kept)}, \qquad
b = \frac{2c\,\Delta}{\epsilon_{total}} \;\text{(redrawn)},$$

with $\Delta$ the most that one point can change a distance. Only *which* draws were accepted is
released; everything computed from that afterwards costs no further privacy.

Private and non-private runs go through the same pool in the same order. Where they decide
differently about a draw, the decision is *flipped*; theory gives its probability (MATH F2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED, SparseVector, statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.theory import flip

EXPERIMENT = "posterior"
TITLE = "Posterior from one private release"
COLUMNS = {
    "main": ("release", "mechanism", "sample", "parameter", "value", "weight"),
    "decisions": ("t", "rho", "non_private", "private", "flipped", "flip_probability"),
    "errors": ("release", "mechanism", "accepted", "effective_sample_size", "mse", "mae"),
}

PRIOR_SHOWN = 2000
"""Draws of the pool that stand for the prior in table and figure."""

STRIP_SHOWN = 2000
"""Most decisions drawn in the strip; flipped ones come first."""

BINS = 20


@dataclass(frozen=True)
class Params(BaseParams):
    """One release: scenario and size of the data, the four knobs, and what else sets the noise."""

    scenario: str = Parameter(
        kind="choice",
        label="Scenario",
        help="Where the data come from.",
        options=tuple(dict.fromkeys((uniform_mixture.SCENARIO, *simulators.names()))),
    ).field(uniform_mixture.SCENARIO)
    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(10)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own sizes and threshold bounds."""
        general = super().specification()
        if scenario is None or scenario not in general["scenario"].options:
            return general
        source = simulators.load(scenario)
        return general | {
            "n": source.N,
            "epsilon_abc": source.EPSILON_ABC,
            "pool_size": source.POOL_SIZE,
        }

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size, threshold, acceptances and pool."""
        source = simulators.load(scenario)
        return {
            "n": source.N_DEFAULT,
            "epsilon_abc": source.EPSILON_ABC_DEFAULT,
            "c": source.C_DEFAULT,
            "pool_size": source.POOL_SIZE_DEFAULT,
        }

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(self.n, self.pool_size)
        par.check_accepted(self.c, self.pool_size)

    def setting(self, comparison: pool.Comparison) -> sparse_vector.Setting:
        """What is asked of the mechanism."""
        return sparse_vector.Setting(
            self.epsilon_total,
            self.epsilon_abc,
            self.c,
            self.resample,
            comparison.sensitivity(self.sensitivity),
        )


PRESETS: dict[str, BaseParams] = {}


tasks = experiments.single_task


def pool_key(params: Params, seed: int) -> pool.PoolKey:
    """The public pool that a release goes through."""
    return pool.key_for(params.scenario, params.n, params.pool_size, seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(pool_key(params, seed), progress)


def comparison_of(params: Params, seed: int) -> pool.Comparison:
    """The synthetic private data against the public pool."""
    return pool.observed_comparison(pool_key(params, seed), params.n)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Run private and non-private release over the same pool."""
    params = task.params
    comparison = comparison_of(params, task.seed)
    setting = params.setting(comparison)
    rng = generator(task.seed, "noise", 0, params.noise_draw)
    private, trace = sparse_vector.release(comparison, setting, rng)
    plain = sparse_vector.Setting(math.inf, params.epsilon_abc, params.c, False, 0.0)
    non_private, _ = sparse_vector.release(comparison, plain, rng)
    releases = {
        ("prior", "prior"): _prior(len(comparison.theta)),
        ("non-private", "rejection"): (non_private.indices, non_private.weights),
        ("private", sparse_vector.LINEAR.name): (private.indices, private.weights),
    }
    return {
        "main": _samples(params.scenario, comparison.theta, releases),
        "decisions": _decisions(comparison, params, private, trace),
        "errors": _errors(params.scenario, comparison.theta, releases),
    }


Chosen = tuple[NDArray[np.int64], NDArray[np.float64]]


def _prior(size: int) -> Chosen:
    shown = min(size, PRIOR_SHOWN)
    return np.arange(shown), np.full(shown, 1.0 / shown)


def _samples(
    scenario: str, theta: NDArray[np.float64], releases: dict[tuple[str, str], Chosen]
) -> pd.DataFrame:
    names = list(simulators.load(scenario).AXES)
    tables = [
        pd.DataFrame(
            {
                "release": release,
                "mechanism": mechanism,
                "sample": np.repeat(indices, len(names)),
                "parameter": np.tile(names, len(indices)),
                "value": theta[indices].ravel(),
                "weight": np.repeat(weights, len(names)),
            }
        )
        for (release, mechanism), (indices, weights) in releases.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _decisions(
    comparison: pool.Comparison, params: Params, private: Release, trace: sparse_vector.Trace
) -> pd.DataFrame:
    """One row per draw that the private run looked at; after its stop there is no decision."""
    rho = comparison.rho[: private.stopped_at]
    scale = private.event.threshold_scale if isinstance(private.event, SparseVector) else 0.0
    return pd.DataFrame(
        {
            "t": np.arange(private.stopped_at),
            "rho": rho,
            "non_private": trace.non_private,
            "private": trace.accepted,
            "flipped": trace.non_private != trace.accepted,
            "flip_probability": flip.flip_probability(rho, params.epsilon_abc, scale),
        }
    )


def _errors(
    scenario: str, theta: NDArray[np.float64], releases: dict[tuple[str, str], Chosen]
) -> pd.DataFrame:
    source = simulators.load(scenario)
    rows = []
    for (release, mechanism), (indices, weights) in releases.items():
        empty = len(indices) == 0 or release == "prior"
        mean = source.PRIOR_MEAN if empty else summaries.weighted_mean(theta[indices], weights)
        mse, mae = summaries.errors(mean, source.TRUTH)
        size = summaries.effective_sample_size(weights)
        rows.append((release, mechanism, len(indices), size, mse, mae))
    return pd.DataFrame(rows, columns=list(COLUMNS["errors"]))


def event_of(params: Params) -> SparseVector:
    """The event of a release with these parameters; it depends on nothing private."""
    distance = simulators.load(params.scenario).distance()
    sensitivity = distance.sensitivity(params.n, params.sensitivity)
    setting = sparse_vector.Setting(
        params.epsilon_total, params.epsilon_abc, params.c, params.resample, sensitivity
    )
    return cast(SparseVector, setting.event())


def protected(params: Params) -> str:
    """What one unit of the data is, e.g. "one of the N points"."""
    return unit_and_neighbours(params)[0]


def unit_and_neighbours(params: Params) -> tuple[str, str]:
    """What one unit of the data is, and how data sets that must look alike differ in it."""
    return sparse_vector.LINEAR.protects(simulators.load(params.scenario))


def privacy_of(params: Params) -> str:
    """What one release with these parameters guarantees, in words."""
    unit, neighbours = unit_and_neighbours(params)
    return statement(event_of(params), unit, neighbours=neighbours)


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    event = event_of(params)
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=_summary(params, rows, event),
        privacy=f"{privacy_of(params)} {UNPROTECTED}",
        event=event,
    )


def _summary(params: Params, tables: Tables, event: SparseVector) -> str:
    errors = tables["errors"].set_index("release")
    accepted = int(errors.accepted["private"])
    decisions = tables["decisions"]
    if accepted == 0:
        found = f"Nothing was accepted in {len(decisions):,} draws, so the estimate is the prior"
    elif accepted < params.c:
        found = f"Only {accepted} of {params.c} {_were(accepted)} accepted before the pool ended"
    else:
        draws = "draw" if accepted == 1 else "draws"
        found = f"{accepted} {draws} {_were(accepted)} accepted after looking at {len(decisions):,}"
    flipped = int(decisions.flipped.sum())
    return (
        f"{found}; {flipped:,} {'decision' if flipped == 1 else 'decisions'} {_were(flipped)} "
        f"flipped by noise of scale b = {event.threshold_scale:.3g}. {_error_sentence(errors)}"
    )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _error_sentence(errors: pd.DataFrame) -> str:
    accepted = int(errors.accepted["non-private"])
    if errors.mae.isna().all():
        return (
            f"The non-private run accepted {accepted}. The data are real: no truth is known that "
            f"an error could be measured against."
        )
    return (
        f"Mean absolute error of the posterior mean: private {errors.mae['private']:.3g}, "
        f"non-private {errors.mae['non-private']:.3g} ({accepted} accepted), prior "
        f"{errors.mae['prior']:.3g}."
    )


def figures(result: Result) -> dict[str, go.Figure]:
    """Histograms of the parameters, and the strip of decisions."""
    params = cast(Params, result.params)
    return {"posterior": _histograms(params, result), "decisions": _strip(params, result)}


def _histograms(params: Params, result: Result) -> go.Figure:
    return histograms(
        params.scenario,
        result.tables["main"],
        f"Posterior, share of samples: c = {params.c}, N = {params.n:,}, "
        f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}",
    )


def histograms(scenario: str, main: pd.DataFrame, title: str) -> go.Figure:
    """Weighted histograms of every parameter, one row each, with the truth.

    Args:
        scenario: whose parameters.
        main: with columns ``release, parameter, value, weight``.
        title: of the figure.
    """
    source = simulators.load(scenario)
    groups = dict(list(main.groupby(["release", "parameter"])))
    traces = []
    for row, name in enumerate(source.AXES):
        edges = np.linspace(*source.AXES[name], BINS + 1)
        for style in (fig.PRIVATE, fig.NON_PRIVATE, fig.PRIOR):
            part = groups.get((style.name, name))
            if part is not None:
                heights, _ = np.histogram(part.value, edges, weights=part.weight)
                traces.append(_steps(edges, heights, style, row))
        if source.TRUTH is not None:
            traces.append(truth_line(float(source.TRUTH[row]), row))
    figure = fig.stack(
        list(source.AXES),
        title,
        "value of the parameter",
        list(source.AXES.values()),
    )
    return figure.add_traces(traces)


def truth_line(value: float, row: int) -> go.Scatter:
    """The true value of a parameter as an upright line in its row."""
    line = fig.line(np.full(2, value), np.array([0.0, 1.0]), fig.TRUTH)
    return line.update(showlegend=row == 0, legendgroup="truth", **fig.panel(row))


def _steps(
    edges: NDArray[np.float64], heights: NDArray[np.float64], style: fig.Style, row: int
) -> go.Scatter:
    """A histogram as a stepped outline; the private one is filled."""
    trace = fig.line(np.repeat(edges, 2)[1:-1], np.repeat(heights, 2), style)
    if style is fig.PRIVATE:
        trace.update(fill="tozeroy")
    return trace.update(showlegend=row == 0, legendgroup=style.name, **fig.panel(row))


LANES = (
    ("kept by both", True, True, fig.Style("kept by both", fig.GREEN, marker="circle")),
    ("only private", False, True, fig.Style("only private", fig.VERMILLION, marker="triangle-up")),
    ("only non-private", True, False, fig.Style("only non-private", fig.BLUE, marker="square")),
    ("neither", False, False, fig.Style("neither", fig.GREY, marker="line-ns-open")),
)


def _strip(params: Params, result: Result) -> go.Figure:
    shown = strip_sample(result.tables["decisions"])
    figure = fig.figure(
        f"Decisions, draws ordered by distance to the data (ε_abc = {params.epsilon_abc:g})",
        "distance ρ of the draw to the data",
        "",
        height=320,
    )
    for name, non_private, private, style in LANES:
        lane = shown[(shown.non_private == non_private) & (shown.private == private)]
        figure.add_trace(
            go.Scatter(
                x=lane.rho.to_numpy(),
                y=np.full(len(lane), name),
                mode="markers",
                name=f"{name}: {len(lane):,}",
                marker={"symbol": style.marker, "color": style.color, "size": 10, "opacity": 0.8},
                customdata=lane[["t", "flip_probability"]].to_numpy(),
                hovertemplate="draw %{customdata[0]}: ρ = %{x:.4f}, "
                "flip probability %{customdata[1]:.3f}<extra></extra>",
            )
        )
    figure.add_vline(x=params.epsilon_abc, line={"dash": "dash", "width": 1.5, "color": fig.GREY})
    figure.update_yaxes(categoryorder="array", categoryarray=[lane[0] for lane in LANES[::-1]])
    figure.update_xaxes(range=[0, simulators.load(params.scenario).DISTANCE_AXIS])
    figure.update_layout(showlegend=False)
    return figure


def strip_sample(decisions: pd.DataFrame) -> pd.DataFrame:
    """At most :data:`STRIP_SHOWN` decisions by distance: all flipped ones and an even sample."""
    ordered = decisions.sort_values("rho", kind="stable")
    flipped = ordered[ordered.flipped].head(STRIP_SHOWN)
    rest = ordered[~ordered.flipped]
    room = STRIP_SHOWN - len(flipped)
    if len(rest) > room:
        rest = rest.iloc[np.linspace(0, len(rest) - 1, room).astype(int)]
    return pd.concat([flipped, rest]).sort_values("rho", kind="stable")
