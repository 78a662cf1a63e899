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
import textwrap
from dataclasses import dataclass
from typing import Any, cast

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
from abcdp_core.sentences import amount, counted
from abcdp_core.streams import generator
from abcdp_core.theory import flip

Array = NDArray[np.float64]

EXPERIMENT = "posterior"
TITLE = "Posterior from one private release"
COLUMNS = {
    "main": ("release", "mechanism", "sample", "parameter", "value", "weight"),
    "decisions": (
        *("t", "rho", "noisy_distance", "noisy_threshold"),
        *("non_private", "private", "flipped", "flip_probability"),
    ),
    "errors": ("release", "mechanism", "accepted", "effective_sample_size", "mse", "mae"),
}

REJECTED_SHOWN = 1500
"""Most draws drawn that both runs reject; a share of them, evenly."""

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
            "noisy_distance": trace.noisy_distance,
            "noisy_threshold": trace.noisy_threshold,
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
        f"Mean absolute error of the posterior mean: private {amount(errors.mae['private'])}, "
        f"non-private {amount(errors.mae['non-private'])} ({accepted} accepted), prior "
        f"{amount(errors.mae['prior'])}."
    )


def counts(result: Result) -> tuple[int, int]:
    """Draws that the private run kept, and those of them that it kept only because of noise."""
    decisions = result.tables["decisions"]
    return int(decisions.private.sum()), int((decisions.private & ~decisions.non_private).sum())


def error(result: Result) -> float:
    """Root mean squared error of the private run, not a number where nobody knows the truth."""
    return math.sqrt(result.tables["errors"].set_index("release").mse["private"])


def headline(result: Result) -> tuple[str, str, str]:
    """What noise did to this run: a number, the sentence it begins, and what else there is to say.

    The sentences are Markdown.
    """
    params, decisions = cast(Params, result.params), result.tables["decisions"]
    errors = result.tables["errors"].set_index("release")
    kept, false = counts(result)
    looked_at = counted(len(decisions), "draw")
    if kept == 0:
        words = f"of the {params.c:,} asked for: none of {looked_at} passed **with the noise**."
        return "0", words, _in_numbers(errors)
    what = "simulation kept in this run is" if kept == 1 else "simulations kept in this run are"
    words = f"{what} there **only because of noise**. {_moved(result)}."
    looked = f"The run looked at {looked_at}"
    stopped = f" and kept {kept:,} of {params.c:,}" if kept < params.c else ""
    return f"{false:,} of {kept:,}", words, f"{looked}{stopped}. {_in_numbers(errors)}"


def _in_numbers(errors: pd.DataFrame) -> str:
    if errors.mse.isna().all():
        return "The data are real: nobody knows the truth."
    private, plain, prior = (
        math.sqrt(float(errors.mse[release])) for release in ("private", "non-private", "prior")
    )
    return (
        f"Root mean squared error of this run {private:.3f}, without noise {plain:.3f}, of the "
        f"prior {prior:.3f}."
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The kept draws of every parameter, and the decisions by distance without and with noise."""
    return {
        "posterior": fig.Drawn(_posterior(result), result.summary),
        "decisions": fig.Drawn(_decided(result), _flips_sentence(result)),
    }


def _flips_sentence(result: Result) -> str:
    """How many decisions of each kind there are."""
    decisions = result.tables["decisions"]
    private, non_private = decisions.private, decisions.non_private
    looked_at = counted(len(decisions), "draw")
    return (
        f"{looked_at} looked at, kept by both runs: {int((private & non_private).sum()):,}, only "
        f"by the private one: {int((private & ~non_private).sum()):,}, only by the non-private "
        f"one: {int((non_private & ~private).sum()):,}, by neither: "
        f"{int((~private & ~non_private).sum()):,}."
    )


def _posterior(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    source = simulators.load(params.scenario)
    main = result.tables["main"]
    return fig.mirrored(source.AXES, source.TRUTH, main, _moved(result), _settings(params))


def _settings(params: Params) -> str:
    return (
        f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, c = {params.c:,}, "
        f"N = {params.n:,}"
    )


def _moved(result: Result) -> str:
    """What noise does to the answer, in a line."""
    errors = result.tables["errors"].set_index("release")
    if errors.accepted["private"] == 0:
        return "Nothing was kept, so the private answer is the prior"
    private, plain = np.sqrt(errors.mse["private"]), np.sqrt(errors.mse["non-private"])
    if not np.isfinite([private, plain]).all():
        return "What was kept with noise, and without"
    if private > 1.1 * plain:
        return f"The answer is {private / plain:.1f} times as far from the truth"
    if private < plain / 1.1:
        return "This time the answer with noise is nearer to the truth"
    return "The answer is about as far from the truth as without noise"


AXIS = 3.0
"""Times the scenario's usual threshold up to which distances are shown."""

BELOW = 0.25
"""Part of the axis of noisy distances that is below 0."""

NARROW = {"top left": 10}
"""Characters of a line in a corner whose neighbour leaves no more room; in the others 16."""

LANES = (
    ("kept by both", True, True, fig.BOTH, "bottom left"),
    ("kept only because of noise", False, True, fig.PRIVATE, "bottom right"),
    ("lost to noise", True, False, fig.NON_PRIVATE, "top left"),
)
"""What was decided without noise and with it, and the corner that says so."""


def _decided(result: Result) -> go.Figure:
    params, decisions = cast(Params, result.params), result.tables["decisions"]
    end = _end_of_axis(params)
    ends = np.array([-BELOW * end, end])
    threshold = float(decisions.noisy_threshold.iloc[-1])
    neither = decisions[~decisions.private & ~decisions.non_private]
    within = neither[(neither.rho <= end) & neither.noisy_distance.between(*ends)]
    drawn = _thinned(within)
    beyond = len(neither) - len(within)
    words = [
        f"{len(neither):,} rejected by both",
        *([f"{beyond:,} beyond the edge"] if beyond else []),
        *([f"{len(drawn):,} drawn"] if len(drawn) < len(within) else []),
    ]
    rejected = " <br>".join(words) + " "
    traces = [
        *_corners(params, threshold, ends),
        _straight(ends.clip(0.0), ends.clip(0.0), fig.GUIDE, fig.GUIDE.name, fig.GUIDE.dash, 2.5),
        *_thresholds(params, threshold, ends),
    ]
    notes = [
        *_called(params, threshold, ends),
        fig.words(end, end, rejected, fig.REJECTED.color, "top right"),
    ]
    lanes = [_Lane(drawn, fig.REJECTED, 4, flipped=False)]
    for name, non_private, private, style, corner in LANES:
        lane = decisions[(decisions.non_private == non_private) & (decisions.private == private)]
        size = 13 if len(lane) <= 30 else 7
        lanes.append(_Lane(lane, style, size, flipped=non_private != private))
        place = (end if "right" in corner else 0.0), (end if "top" in corner else ends[0])
        # Two narrow lines: on a telephone the corners are close to each other.
        lines = textwrap.wrap(f"{len(lane):,} {name}", NARROW.get(corner, 16))
        notes.append(fig.words(*place, f"<b>{'<br>'.join(lines)}</b>", style.color, corner))
    traces.append(_marks(lanes, end))
    layout = fig.layout(
        _changed(decisions),
        "true distance to the data",
        "distance with noise",
        settings=_settings(params),
    )
    ticks = {"tickvals": np.linspace(0.0, end, 4), "tickformat": ".3~g"}
    layout["xaxis"] |= ticks | {"range": [0.0, end]}
    layout["yaxis"] |= ticks | {"range": ends.tolist()}
    layout |= {"annotations": notes}
    return go.Figure({"data": traces, "layout": layout | {"showlegend": False}})


def _thinned(draws: pd.DataFrame) -> pd.DataFrame:
    """Every draw, or every second, fourth, ... by its number: so the next noise shows them too.

    Args:
        draws: with a column ``t``.
    """
    every = 1
    while int((draws.t % every == 0).sum()) > REJECTED_SHOWN:
        every *= 2
    return draws[draws.t % every == 0]


def _end_of_axis(params: Params) -> float:
    """Where the axes end; no knob moves it until the threshold comes near."""
    end = AXIS * float(params.defaults(params.scenario)["epsilon_abc"])
    while end < 1.5 * params.epsilon_abc:
        end *= 2.0
    return end


def _corners(params: Params, threshold: float, ends: Array) -> list[dict[str, Any]]:
    """The two corners in which noise decides; series, so that they move with the threshold."""
    (low, end), epsilon_abc, at = ends, params.epsilon_abc, _on_axis(threshold, ends)
    kept, lost = ((epsilon_abc, end), (low, at)), ((0.0, epsilon_abc), (at, end))
    return [
        {
            "x": np.array([left, right, right, left]),
            "y": np.array([bottom, bottom, top, top]),
            "mode": "lines",
            "name": "noise decides",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": fig.translucent(style.color, 0.1),
            "hoverinfo": "skip",
        }
        for ((left, right), (bottom, top)), style in ((kept, fig.PRIVATE), (lost, fig.NON_PRIVATE))
    ]


def _on_axis(threshold: float, ends: Array) -> float:
    """A threshold beyond the edge stands on it."""
    return float(np.clip(threshold, *ends))


def _thresholds(params: Params, threshold: float, ends: Array) -> list[dict[str, Any]]:
    plain, noisy = _names(params, threshold)
    upright, level = np.full(2, params.epsilon_abc), np.full(2, _on_axis(threshold, ends))
    across = np.array([0.0, ends[1]])
    return [
        _straight(upright, ends, fig.NON_PRIVATE, plain, "dash", 1.5),
        _straight(across, level, fig.PRIVATE, noisy, "dash", 1.5),
    ]


def _straight(
    x: Array, y: Array, style: fig.Style, name: str, dash: str, width: float
) -> dict[str, Any]:
    line = {"color": style.color, "dash": dash, "width": width}
    return {"x": x, "y": y, "mode": "lines", "name": name, "line": line, "hoverinfo": "skip"}


def _called(params: Params, threshold: float, ends: Array) -> list[dict[str, Any]]:
    plain, noisy = _names(params, threshold)
    end, at = float(ends[1]), _on_axis(threshold, ends)
    return [
        fig.words(params.epsilon_abc, end, plain, fig.NON_PRIVATE.color, "bottom center"),
        fig.words(end, at, f"{noisy} ", fig.PRIVATE.color, "bottom right"),
    ]


def _names(params: Params, threshold: float) -> tuple[str, str]:
    """Both thresholds; a redrawn one is shown as it stood last."""
    noisy = f"noisy threshold {threshold:.3g}" + (", the last one" if params.resample else "")
    return f"threshold {params.epsilon_abc:g}", noisy


@dataclass(frozen=True)
class _Lane:
    """Draws that were decided alike, and how they are marked."""

    draws: pd.DataFrame
    style: fig.Style
    size: int
    flipped: bool


def _marks(lanes: list[_Lane], end: float) -> dict[str, Any]:
    """Draws as marks; those beyond the edge stand on it.

    All are one series in which each has its number: so a browser moves the mark of a draw from
    where the former noise had it.
    """
    draws = pd.concat([lane.draws for lane in lanes])
    count = [len(lane.draws) for lane in lanes]
    x, y = draws.rho.to_numpy(), draws.noisy_distance.to_numpy()
    at = np.minimum(x, end), np.clip(y, -BELOW * end, end)
    beyond = (at[0] != x) | (at[1] != y)
    usual = np.repeat([lane.style.marker for lane in lanes], count)
    return {
        "x": at[0],
        "y": at[1],
        "ids": draws.t.to_numpy(),
        "mode": "markers",
        "name": "draws",
        "cliponaxis": False,
        "marker": {
            "symbol": np.where(beyond, "diamond", usual).tolist(),
            "color": np.repeat([lane.style.color for lane in lanes], count).tolist(),
            "size": np.repeat([lane.size for lane in lanes], count),
            "opacity": 1.0,
            "line": {
                "width": np.repeat([2 if lane.flipped else 0 for lane in lanes], count),
                "color": fig.BOTH.color,
            },
        },
        "customdata": draws[["t", "rho", "noisy_distance", "flip_probability"]].to_numpy(),
        "hovertemplate": "draw %{customdata[0]}: distance %{customdata[1]:.4f}, with noise "
        "%{customdata[2]:.4f}, flip probability %{customdata[3]:.3f}<extra></extra>",
    }


def _changed(decisions: pd.DataFrame) -> str:
    """What noise did, in a line."""
    let_in = int((decisions.private & ~decisions.non_private).sum())
    kept_out = int(decisions.flipped.sum()) - let_in
    if let_in == kept_out == 0:
        return "Noise changed no decision"
    of = counted(len(decisions), "simulation")
    return f"Noise let in {let_in:,} and kept out {kept_out:,} of {of}"
