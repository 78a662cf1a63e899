r"""What one private release says about the parameters, beside the release without noise.

Rejection ABC keeps the parameters whose simulated data look like the private data:
$\rho_t = \rho(Y^*, Y_t) \le \epsilon_{abc}$. ABCDP ([P21] Algorithm 1) makes the same comparison
with noise on both sides,

$$\rho_t + \nu_t \le \epsilon_{abc} + m, \qquad m \sim \mathrm{Lap}(b),\;
\nu_t \sim \mathrm{Lap}(2b) \qquad \text{(MATH S1)}$$

and stops once $c$ draws are kept. The noise scale that a budget buys is (MATH S2)

$$b = \frac{(c+1)\,\Delta}{\epsilon_{total}} \;\text{(threshold noise kept)}, \qquad
b = \frac{2c\,\Delta}{\epsilon_{total}} \;\text{(redrawn)},$$

with $\Delta$ the most that one point can change a distance. Only *which* draws were kept is
released; anything computed from them afterwards costs no further privacy.

Private and non-private runs go through the same pool in the same order. Where they decide
differently about a draw, the decision is *flipped*; theory gives its probability (MATH F2).
"""

from __future__ import annotations

import math
import textwrap
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, releases, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED, NonPrivate
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import against_no_noise, amount, counted
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

Params = releases.ReleaseParams
PRESETS: dict[str, BaseParams] = {}

prepare = releases.prepare
tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Run private and non-private release over the same pool."""
    params, source = task.params, simulators.load(task.params.scenario)
    comparison = releases.comparison_of(params, task.seed)
    private, trace, plain = releases.both(params, comparison, task.seed)
    size = min(len(comparison.theta), releases.PRIOR_SHOWN)
    prior = Release(np.arange(size), np.full(size, 1.0 / size), size, NonPrivate())
    found = [
        ("prior", "prior", prior),
        ("non-private", "rejection", plain),
        ("private", sparse_vector.LINEAR.name, private),
    ]
    samples, errors = [], []
    for name, mechanism, each in found:
        of = {"release": name, "mechanism": mechanism}
        samples.append(releases.kept(params, comparison, each, **of))
        prior_mean = source.PRIOR_MEAN
        mean = prior_mean if name == "prior" else each.mean(comparison.theta, prior_mean)
        of_sample = len(each.indices), summaries.effective_sample_size(each.weights)
        errors.append((name, mechanism, *of_sample, *summaries.errors(mean, source.TRUTH)))
    # A row for each draw that the private run looked at; after its stop there is no decision.
    rho, scale = comparison.rho[: private.stopped_at], releases.event_of(params).threshold_scale
    decisions = {
        "t": np.arange(private.stopped_at),
        "rho": rho,
        "noisy_distance": trace.noisy_distance,
        "noisy_threshold": trace.noisy_threshold,
        "non_private": trace.non_private,
        "private": trace.accepted,
        "flipped": trace.non_private != trace.accepted,
        "flip_probability": flip.flip_probability(rho, params.epsilon_abc, scale),
    }
    return {
        "main": pd.concat(samples, ignore_index=True),
        "decisions": pd.DataFrame(decisions),
        "errors": pd.DataFrame(errors, columns=list(COLUMNS["errors"])),
    }


def collect(params: Params, rows: Tables) -> Result:
    """Say the errors with noise and without, and which run found too few draws to keep."""
    said, errors = _errors_in_words(rows), rows["errors"].set_index("release")
    for name, run in (("private", "With noise"), ("non-private", "Without noise")):
        if (kept := int(errors.accepted[name])) < params.c:
            left = "" if kept else ", which leaves the prior mean"
            said += (
                f" {run}, the pool ended with {kept:,} of {counted(params.c, 'draw')} kept{left}."
            )
    privacy = f"{releases.privacy_of(params)} {UNPROTECTED}"
    return Result(EXPERIMENT, params, rows, said, privacy, releases.event_of(params))


# ------------------------------------------------------------------------------------ what is said


def counts(result: Result) -> tuple[int, int]:
    """Draws that the private run kept, and those of them that it kept only because of noise."""
    decisions = result.tables["decisions"]
    return int(decisions.private.sum()), int((decisions.private & ~decisions.non_private).sum())


def error(result: Result) -> float:
    """Root mean squared error of the private run, not a number where the truth is unknown."""
    return math.sqrt(result.tables["errors"].set_index("release").mse["private"])


def headline(result: Result) -> tuple[str, str, str]:
    """What noise did to this run: a number, the sentence it begins, and what else there is to say.

    The sentences are Markdown.
    """
    params, (kept, false) = cast(Params, result.params), counts(result)
    looked_at, errors = (
        counted(len(result.tables["decisions"]), "draw"),
        _errors_in_words(result.tables),
    )
    if kept == 0:
        words = f"of the {params.c:,} asked for: none of {looked_at} passed **with the noise**."
        return "0", words, errors
    what = "draw kept in this run is" if kept == 1 else "draws kept in this run are"
    known = "" if math.isnan(error(result)) else f" {_moved(result)}."
    words = f"{what} there **only because of noise**.{known}"
    stopped = f" and kept {kept:,} of {params.c:,}" if kept < params.c else ""
    return f"{false:,} of {kept:,}", words, f"The run looked at {looked_at}{stopped}. {errors}"


def _errors_in_words(tables: Tables) -> str:
    found = np.sqrt(tables["errors"].set_index("release").mse)
    if found.isna().all():
        return "The true parameters are unknown, so there is no error to report."
    private, plain, prior = (
        amount(float(found[name])) for name in ("private", "non-private", "prior")
    )
    return (
        f"The root mean squared error is {private} with noise, {plain} without noise and {prior} "
        f"for the prior mean."
    )


def _moved(result: Result) -> str:
    """What noise does to the estimate, in a line."""
    kept, false = counts(result)
    if kept == 0:
        return "With noise no draw was kept, so the estimate is the prior mean"
    if math.isnan(error(result)):
        return f"Noise picked {false:,} of {counted(kept, 'kept draw')}"
    plain = math.sqrt(result.tables["errors"].set_index("release").mse["non-private"])
    return f"The error is {against_no_noise(error(result), plain)}"


def _decisions_in_words(result: Result) -> tuple[str, str]:
    """What noise did to the decisions, as a title, and how many it left as they were."""
    decisions, (kept, false) = result.tables["decisions"], counts(result)
    flipped, both = int(decisions.flipped.sum()), kept - false
    are = "is" if both == 1 else "are"
    neither = f"{len(decisions) - flipped - both:,} rejected"
    alike = f"Both with and without noise, {counted(both, 'draw')} {are} kept and {neither}"
    if flipped == 0:
        return "Noise changed no decision", f"{alike}."
    looked_at = counted(len(decisions), "draw")
    title = f"Noise wrongly kept {false:,} and wrongly rejected {flipped - false:,} of {looked_at}"
    return title, f"{alike}; noise flipped {counted(flipped, 'decision')}."


# ----------------------------------------------------------------------------------------- figures

REJECTED_SHOWN = 1500
"""Most draws drawn that both runs reject; a share of them, evenly."""

AXIS = 3.0
"""Times the scenario's usual threshold up to which distances are shown."""

BELOW = 0.25
"""Part of the axis of noisy distances that is below 0."""

FEW = 30
"""Draws of a kind up to which their marks are large."""

KINDS = (
    ("rejected by both", False, False, fig.REJECTED, "top right", 0),
    ("kept by both", True, True, fig.BOTH, "bottom left", 16),
    ("wrongly kept", True, False, fig.PRIVATE, "bottom right", 16),
    ("wrongly rejected", False, True, fig.NON_PRIVATE, "top left", 10),
)
"""What was decided with noise and without, the corner that says so, and characters of a line there:
on a telephone the corners are close to each other."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The kept draws of every parameter, and the decisions by distance without and with noise."""
    params = cast(Params, result.params)
    source, settings = simulators.load(params.scenario), releases.settings(params)
    main = result.tables["main"]
    posterior = fig.mirrored(source.AXES, source.TRUTH, main, _moved(result), settings)
    title, said = _decisions_in_words(result)
    layout = fig.layout(title, "true distance to the data", "distance with noise")
    scale = amount(releases.event_of(params).threshold_scale)
    layout["title"] |= {"subtitle": {"text": f"{settings}, noise b = {scale}"}}
    return {
        "posterior": fig.Drawn(posterior, result.summary),
        "decisions": fig.Drawn(_decided(params, result.tables["decisions"], layout), said),
    }


def _decided(params: Params, decisions: pd.DataFrame, layout: dict[str, Any]) -> go.Figure:
    """Every decision at its distance without and with noise.

    Plain dictionaries, which plotly checks once at the end: it is drawn whenever a knob moves.
    """
    plain, end = params.epsilon_abc, _end_of_axis(params)
    low, threshold = -BELOW * end, float(decisions.noisy_threshold.iloc[-1])
    # A threshold beyond the edge is drawn on it.
    level = float(np.clip(threshold, low, end))
    called = f"noisy threshold {amount(threshold)}{', the last one' if params.resample else ''}"
    usual = fig.NON_PRIVATE.called(f"threshold {plain:g}", dash="dash")
    noisy = fig.PRIVATE.called(called, dash="dash")
    notes = [
        fig.words(plain, end, usual.name, usual.color, "bottom center"),
        fig.words(end, level, f"{noisy.name} ", noisy.color, "bottom right"),
    ]
    # At the edge, above the words of the corner.
    notes[1]["yshift"] += 20 if level == low else 0
    kinds = []
    for name, private, non_private, style, corner, width in KINDS:
        draws = decisions[(decisions.private == private) & (decisions.non_private == non_private)]
        size, lines = 13 if len(draws) <= FEW else 7, [f"{len(draws):,} {name}"]
        if style is fig.REJECTED:
            draws, further = _thinned(draws, low, end)
            size, text = 4, " <br>".join([*lines, *further]) + " "
        else:
            text = f"<b>{'<br>'.join(textwrap.wrap(lines[0], width))}</b>"
        ring = 2 if private != non_private else 0
        looks = draws.assign(symbol=style.marker, color=style.color, size=size, ring=ring)
        kinds.append(looks)
        place = end if "right" in corner else 0.0, end if "top" in corner else low
        notes.append(fig.words(*place, text, style.color, corner))
    across, upright = np.array([0.0, end]), np.array([low, end])
    traces = [
        _corner((plain, end), (low, level), fig.PRIVATE),
        _corner((0.0, plain), (level, end), fig.NON_PRIVATE),
        _straight(across, across, fig.GUIDE, 2.5),
        _straight(np.full(2, plain), upright, usual, 1.5),
        _straight(across, np.full(2, level), noisy, 1.5),
        _marks(pd.concat(kinds), low, end),
    ]
    ticks = {"tickvals": np.linspace(0.0, end, 4), "tickformat": ".3~g"}
    layout["xaxis"] |= ticks | {"range": [0.0, end]}
    layout["yaxis"] |= ticks | {"range": [low, end]}
    layout |= {"annotations": notes, "showlegend": False}
    return go.Figure({"data": traces, "layout": layout})


def _end_of_axis(params: Params) -> float:
    """Where the axes end; no knob moves it until the threshold comes near."""
    end = AXIS * float(params.defaults(params.scenario)["epsilon_abc"])
    while end < 1.5 * params.epsilon_abc:
        end *= 2.0
    return end


def _thinned(draws: pd.DataFrame, low: float, end: float) -> tuple[pd.DataFrame, list[str]]:
    """Draws within the edges, and what is left out.

    Of many, every second, fourth, ... by its number: so the next noise shows the same ones.
    """
    within = draws[(draws.rho <= end) & draws.noisy_distance.between(low, end)]
    every = 1
    while int((within.t % every == 0).sum()) > REJECTED_SHOWN:
        every *= 2
    drawn, beyond = within[within.t % every == 0], len(draws) - len(within)
    further = [f"{beyond:,} beyond the edge"] if beyond else []
    return drawn, further + ([f"{len(drawn):,} drawn"] if len(drawn) < len(within) else [])


def _corner(x: tuple[float, float], y: tuple[float, float], style: fig.Style) -> dict[str, Any]:
    """A corner in which noise decides; a series, so that it moves with the threshold."""
    return {
        **{"x": np.repeat(x, 2), "y": np.array([*y, *y[::-1]]), "mode": "lines"},
        **{"name": "noise decides", "line": {"width": 0}, "hoverinfo": "skip"},
        **{"fill": "toself", "fillcolor": fig.translucent(style.color, 0.1)},
    }


def _straight(x: Array, y: Array, style: fig.Style, width: float) -> dict[str, Any]:
    line = {"color": style.color, "dash": style.dash, "width": width}
    return {"x": x, "y": y, "mode": "lines", "name": style.name, "line": line, "hoverinfo": "skip"}


def _marks(draws: pd.DataFrame, low: float, end: float) -> dict[str, Any]:
    """Draws as marks; those beyond the edge are on it.

    All are one series in which each has its number: so a browser moves the mark of a draw from
    where the former noise had it.
    """
    x, y = draws.rho.to_numpy(), draws.noisy_distance.to_numpy()
    at = np.minimum(x, end), np.clip(y, low, end)
    beyond = (at[0] != x) | (at[1] != y)
    return {
        "x": at[0],
        "y": at[1],
        "ids": draws.t.to_numpy(),
        "mode": "markers",
        "name": "draws",
        "cliponaxis": False,
        "marker": {
            "symbol": draws.symbol.mask(beyond, "diamond").tolist(),
            "color": draws.color.tolist(),
            "size": draws["size"].to_numpy(int),
            "opacity": 1.0,
            "line": {"width": draws.ring.to_numpy(int), "color": fig.BOTH.color},
        },
        "customdata": draws[["t", "rho", "noisy_distance", "flip_probability"]].to_numpy(),
        "hovertemplate": "draw %{customdata[0]}: distance %{customdata[1]:.4f}, with noise "
        "%{customdata[2]:.4f}, flip probability %{customdata[3]:.3f}<extra></extra>",
    }
