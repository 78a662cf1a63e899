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
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import demonstration, summaries
from abcdp_core import figures as fig
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.privacy import UNPROTECTED, NonPrivate
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import against_no_noise, amount, counted
from abcdp_core.study import Array, columns
from abcdp_core.tasks import SingleTask, single_task
from abcdp_core.theory import flip

EXPERIMENT = "posterior"
TITLE = "Posterior from one private release"
COLUMNS = columns(
    main="release mechanism sample parameter value weight",
    decisions="t rho noisy_distance noisy_threshold non_private private flipped flip_probability",
    errors="release mechanism accepted effective_sample_size mse mae",
)

Params = demonstration.ReleaseParams

missing_pools = demonstration.missing_pools
tasks = single_task


def work(task: SingleTask[Params]) -> Tables:
    """Run private and non-private release over the same pool."""
    params, source = task.params, task.params.source
    pair = demonstration.both(params, task.seed)
    comparison, private, trace = pair.comparison, pair.private, pair.trace
    size = min(len(comparison.theta), demonstration.PRIOR_SHOWN)
    prior = Release(np.arange(size), np.full(size, 1.0 / size), size, NonPrivate())
    found = {"prior": prior, "non-private": pair.plain, "private": private}
    mechanisms = "prior", "rejection", sparse_vector.LINEAR.name
    samples, errors = [], []
    for (name, each), mechanism in zip(found.items(), mechanisms, strict=True):
        of = {"release": name, "mechanism": mechanism}
        samples.append(demonstration.kept(params, comparison, each, **of))
        mean = each.mean(comparison.theta, source.PRIOR_MEAN)
        mean = source.PRIOR_MEAN if name == "prior" else mean
        of_sample = len(each.indices), summaries.effective_sample_size(each.weights)
        errors.append((name, mechanism, *of_sample, *summaries.errors(mean, source.TRUTH)))
    # A row for each draw that the private run looked at; after its stop there is no decision.
    rho, scale = comparison.rho[: private.stopped_at], pair.event.threshold_scale
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
    """Say the errors with noise and without, and how many draws either run kept."""
    errors = rows["errors"].set_index("release")
    said = "The true parameters are unknown, so there is no error to report."
    if not errors.mse.isna().all():
        prior, plain, private = map(amount, np.sqrt(errors.mse))
        said = (
            f"The root mean squared error is {private} with noise, {plain} without noise and "
            f"{prior} for the prior mean."
        )
    kept = errors.accepted
    said += (
        f" With noise the run kept {kept['private']:,} of {counted(params.c, 'draw')}, without "
        f"noise {kept['non-private']:,}."
    )
    privacy = f"{demonstration.privacy_of(params)} {UNPROTECTED}"
    return Result(EXPERIMENT, params, rows, said, privacy, demonstration.event_of(params))


def counts(result: Result) -> tuple[int, int]:
    """Draws that the private run kept, and those of them that it kept only because of noise."""
    decisions = result.tables["decisions"]
    return int(decisions.private.sum()), int((decisions.private & ~decisions.non_private).sum())


def error(result: Result) -> float:
    """Root mean squared error of the private run, not a number where the truth is unknown."""
    return math.sqrt(result.tables["errors"].set_index("release").mse["private"])


def headline(result: Result) -> tuple[str, str, str]:
    """What noise did to this run: a number, the sentence it begins, and the rest, in Markdown."""
    params, (kept, false) = cast(Params, result.params), counts(result)
    looked_at = counted(len(result.tables["decisions"]), "draw")
    if kept == 0:
        words = f"of the {params.c:,} asked for: none of {looked_at} passed **with the noise**."
        return "0", words, result.summary
    known = "" if math.isnan(error(result)) else f" {_moved(result)}."
    what = "draw kept in this run is" if kept == 1 else "draws kept in this run are"
    words = f"{what} there **only because of noise**.{known}"
    return f"{false:,} of {kept:,}", words, f"The run looked at {looked_at}. {result.summary}"


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
    lost = int(decisions.flipped.sum()) - false
    looked_at, neither = counted(len(decisions), "draw"), len(decisions) - kept - lost
    return (
        f"Noise kept {false:,} and rejected {lost:,} draws wrongly",
        f"Both with and without noise, the run kept {kept - false:,} and rejected {neither:,} of "
        f"the {looked_at} it looked at.",
    )


REJECTED_SHOWN = 1500  # Most draws drawn that both runs reject; a share of them, evenly

AXIS, BELOW = 3.0, 0.25
"""Times the scenario's usual threshold up to which distances are shown, and the part of the axis of
noisy distances that is below 0."""

KINDS = (
    ("rejected by both", False, False, fig.REJECTED, "top right"),
    ("kept by both", True, True, fig.BOTH, "bottom left"),
    ("wrongly kept", True, False, fig.PRIVATE, "bottom right"),
    ("wrongly rejected", False, True, fig.NON_PRIVATE, "top left"),
)
"""What was decided with noise and without, and the corner that says so."""


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """The kept draws of every parameter, and the decisions by distance without and with noise."""
    params = cast(Params, result.params)
    source, settings = params.source, demonstration.settings(params)
    main = result.tables["main"]
    posterior = fig.mirrored(source.AXES, source.TRUTH, main, _moved(result), settings)
    title, said = _decisions_in_words(result)
    axes = "true distance to the data", "distance with noise"
    decided = _decided(params, result.tables["decisions"], fig.layout(title, *axes, 440, settings))
    shown = {"posterior": (posterior, result.summary), "decisions": (decided, said)}
    return {name: fig.CaptionedFigure(*each) for name, each in shown.items()}


def _decided(params: Params, decisions: pd.DataFrame, layout: dict[str, Any]) -> go.Figure:
    """Every decision at its distance without and with noise; plotly checks it once, at the end."""
    plain, end = params.epsilon_abc, AXIS * float(params.source.EPSILON_ABC_DEFAULT)
    # No knob moves the axes until the threshold comes near.
    while end < 1.5 * plain:
        end *= 2.0
    low, threshold = -BELOW * end, float(decisions.noisy_threshold.iloc[-1])
    # A threshold beyond the edge is drawn on it.
    level = float(np.clip(threshold, low, end))
    usual = fig.NON_PRIVATE.called(f"threshold {plain:g}", dash="dash")
    last = ", the last one" if params.resample else ""
    noisy = fig.PRIVATE.called(f"noisy threshold {amount(threshold)}{last}", dash="dash")
    notes = [
        fig.words(plain, end, usual.name, usual.color, "bottom center"),
        fig.words(end, level, f"{noisy.name} ", noisy.color, "bottom right"),
    ]
    kinds = []
    for name, private, non_private, style, corner in KINDS:
        draws = decisions[(decisions.private == private) & (decisions.non_private == non_private)]
        place = end if "right" in corner else 0.0, end if "top" in corner else low
        text = f"<b>{len(draws):,}<br>{name}</b>"
        notes.append(fig.words(*place, text, style.color, corner))
        both = private == non_private
        looks = {"size": 9, "ring": 2 - 2 * both}
        looks = {"size": 4, "ring": 0} if style is fig.REJECTED else looks
        shown = _thinned(draws, low, end) if style is fig.REJECTED else draws
        kinds.append(shown.assign(symbol=style.marker, color=style.color, **looks))
    across, upright = np.array([0.0, end]), np.array([low, end])
    traces = [
        _corner((plain, end), (low, level), fig.PRIVATE),
        _corner((0.0, plain), (level, end), fig.NON_PRIVATE),
        _straight(across, across, fig.GUIDE),
        _straight(np.full(2, plain), upright, usual),
        _straight(across, np.full(2, level), noisy),
        _marks(pd.concat(kinds), low, end),
    ]
    layout["xaxis"] |= {"range": [0.0, end]}
    layout["yaxis"] |= {"range": [low, end]}
    layout |= {"annotations": notes, "showlegend": False}
    return go.Figure({"data": traces, "layout": layout})


def _thinned(draws: pd.DataFrame, low: float, end: float) -> pd.DataFrame:
    """Draws within the edges; of many, every second, fourth, ..., the same ones with any noise."""
    within = draws[(draws.rho <= end) & draws.noisy_distance.between(low, end)]
    every = 1
    while int((within.t % every == 0).sum()) > REJECTED_SHOWN:
        every *= 2
    return within[within.t % every == 0]


def _corner(x: tuple[float, float], y: tuple[float, float], style: fig.Style) -> dict[str, Any]:
    """A corner in which noise decides; a series, so that it moves with the threshold."""
    return {
        **{"x": np.repeat(x, 2), "y": np.array([*y, *y[::-1]]), "mode": "lines"},
        **{"name": "noise decides", "line": {"width": 0}, "hoverinfo": "skip"},
        **{"fill": "toself", "fillcolor": fig.translucent(style.color, 0.1)},
    }


def _straight(x: Array, y: Array, style: fig.Style) -> dict[str, Any]:
    line = {"color": style.color, "dash": style.dash, "width": 1.5}
    return {"x": x, "y": y, "mode": "lines", "name": style.name, "line": line, "hoverinfo": "skip"}


def _marks(draws: pd.DataFrame, low: float, end: float) -> dict[str, Any]:
    """Draws as a series whose marks a browser moves; those beyond the edge are diamonds on it."""
    x, y = draws.rho.clip(upper=end), draws.noisy_distance.clip(low, end)
    beyond = (x != draws.rho) | (y != draws.noisy_distance)
    ring = {"width": draws.ring.to_numpy(int), "color": fig.BOTH.color}
    return {
        **{"x": x.to_numpy(), "y": y.to_numpy(), "ids": draws.t.to_numpy()},
        **{"mode": "markers", "name": "draws", "cliponaxis": False},
        "marker": {
            "symbol": draws.symbol.mask(beyond, "diamond").tolist(),
            "color": draws.color.tolist(),
            "size": draws["size"].to_numpy(int),
            "opacity": 1.0,
            "line": ring,
        },
    }
