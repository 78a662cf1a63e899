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

from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, releases, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted
from abcdp_core.streams import generator
from abcdp_core.theory import flip

EXPERIMENT = "posterior"
TITLE = "Posterior from one private release"
COLUMNS = {
    "main": ("release", "mechanism", "sample", "parameter", "value", "weight"),
    "decisions": ("t", "rho", "non_private", "private", "flipped", "flip_probability"),
    "errors": ("release", "mechanism", "accepted", "effective_sample_size", "mse", "mae"),
}

STRIP_SHOWN = 2000
"""Most decisions drawn in the strip; flipped ones come first."""

Params = releases.ReleaseParams

PRESETS: dict[str, BaseParams] = {}


tasks = experiments.single_task


prepare = releases.prepare


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Run private and non-private release over the same pool."""
    params = task.params
    comparison = releases.comparison_of(params, task.seed)
    rng = generator(task.seed, "noise", 0, params.noise_draw)
    private, trace = releases.release(params, comparison, rng)
    non_private, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    found = {
        ("prior", "prior"): _prior(len(comparison.theta)),
        ("non-private", "rejection"): (non_private.indices, non_private.weights),
        ("private", sparse_vector.LINEAR.name): (private.indices, private.weights),
    }
    return {
        "main": _samples(params.scenario, comparison.theta, found),
        "decisions": _decisions(comparison, params, private, trace),
        "errors": _errors(params.scenario, comparison.theta, found),
    }


Chosen = tuple[NDArray[np.int64], NDArray[np.float64]]


def _prior(size: int) -> Chosen:
    shown = min(size, releases.PRIOR_SHOWN)
    return np.arange(shown), np.full(shown, 1.0 / shown)


def _samples(
    scenario: str, theta: NDArray[np.float64], found: dict[tuple[str, str], Chosen]
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
        for (release, mechanism), (indices, weights) in found.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _decisions(
    comparison: pool.Comparison, params: Params, private: Release, trace: sparse_vector.Trace
) -> pd.DataFrame:
    """One row per draw that the private run looked at; after its stop there is no decision."""
    rho = comparison.rho[: private.stopped_at]
    scale = releases.event_of(params).threshold_scale
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
    scenario: str, theta: NDArray[np.float64], found: dict[tuple[str, str], Chosen]
) -> pd.DataFrame:
    source = simulators.load(scenario)
    rows = []
    for (release, mechanism), (indices, weights) in found.items():
        empty = len(indices) == 0 or release == "prior"
        mean = source.PRIOR_MEAN if empty else summaries.weighted_mean(theta[indices], weights)
        mse, mae = summaries.errors(mean, source.TRUTH)
        size = summaries.effective_sample_size(weights)
        rows.append((release, mechanism, len(indices), size, mse, mae))
    return pd.DataFrame(rows, columns=list(COLUMNS["errors"]))


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    event = releases.event_of(params)
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=_summary(params, rows, event),
        privacy=f"{releases.privacy_of(params)} {UNPROTECTED}",
        event=event,
    )


def _summary(params: Params, tables: Tables, event: sparse_vector.SparseVector) -> str:
    errors = tables["errors"].set_index("release")
    accepted = int(errors.accepted["private"])
    decisions = tables["decisions"]
    if accepted == 0:
        found = f"Nothing was accepted in {len(decisions):,} draws, so the estimate is the prior"
    elif accepted < params.c:
        were = "was" if accepted == 1 else "were"
        found = f"Only {accepted} of {params.c} {were} accepted before the pool ended"
    else:
        were = counted(accepted, "draw was", "draws were")
        found = f"{were} accepted after looking at {len(decisions):,}"
    flipped = counted(int(decisions.flipped.sum()), "decision was", "decisions were")
    return (
        f"{found}; {flipped} flipped by noise of scale b = {event.threshold_scale:.3g}. "
        f"{_error_sentence(errors)}"
    )


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


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Histograms of the parameters, and the strip of decisions."""
    params = cast(Params, result.params)
    return {
        "posterior": fig.Drawn(_histograms(params, result), result.summary),
        "decisions": fig.Drawn(_strip(params, result), _flips_sentence(result)),
    }


def _flips_sentence(result: Result) -> str:
    """How many decisions of each kind there are."""
    decisions = result.tables["decisions"]
    private, non_private = decisions.private, decisions.non_private
    looked_at = "1 draw" if len(decisions) == 1 else f"{len(decisions):,} draws"
    return (
        f"{looked_at} looked at, kept by both runs: {int((private & non_private).sum()):,}, only "
        f"by the private one: {int((private & ~non_private).sum()):,}, only by the non-private "
        f"one: {int((non_private & ~private).sum()):,}, by neither: "
        f"{int((~private & ~non_private).sum()):,}."
    )


def _histograms(params: Params, result: Result) -> go.Figure:
    source = simulators.load(params.scenario)
    return fig.histograms(
        source.AXES,
        source.TRUTH,
        result.tables["main"],
        f"Posterior, share of samples: c = {params.c}, N = {params.n:,}, "
        f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}",
    )


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
