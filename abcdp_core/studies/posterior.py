r"""What one private release says about the parameters, beside the release without noise.

Rejection ABC keeps the parameters whose simulated data look like the private data:
$\rho_t = \rho(Y^*, Y_t) \le \epsilon_{abc}$. ABCDP ([P21] Algorithm 1) makes the same comparison
with noise on both sides,

$$\rho_t + \nu_t \le \epsilon_{abc} + m, \qquad m \sim \mathrm{Lap}(b),\;
\nu_t \sim \mathrm{Lap}(2b) \qquad \text{(MATH S1)}$$

and stops once $c$ draws are kept. The budget sets the noise scale (MATH S2):

$$b = \frac{(c+1)\,\Delta}{\epsilon_{total}} \;\text{(threshold noise kept)}, \qquad
b = \frac{2c\,\Delta}{\epsilon_{total}} \;\text{(redrawn)},$$

with $\Delta$ the most that one person can change a distance. Only *which* draws were kept is
released; anything computed from them afterwards uses no more of the budget.

Private and non-private runs go through the same pool in the same order. Where they decide
differently about a draw, the decision is *flipped*; theory gives its probability (MATH F2).
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base import summaries
from abcdp_core.base.sentences import against_no_noise, amount, counted
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.theory import flip
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.models.simulators import axis_words
from abcdp_core.privacy import UNPROTECTED, NonPrivate
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import SingleTask, single_task
from abcdp_core.studies.engine import Array, columns

EXPERIMENT = "posterior"
TITLE = "Posterior from one private release"

COLUMNS = columns(
    main="release mechanism sample parameter value weight",
    decisions="t rho noisy_distance noisy_threshold non_private private flipped flip_probability",
    errors="release mechanism accepted effective_sample_size mse mae",
)

Params = one_release.ReleaseParams
missing_pools, tasks = one_release.missing_pools, single_task


def work(task: SingleTask[Params]) -> Tables:
    """Run with and without noise over the same pool."""
    params, source = task.params, task.params.source
    pair = one_release.both(params, task.seed)
    comparison, private, trace = pair.comparison, pair.private, pair.trace
    size = min(len(comparison.theta), one_release.PRIOR_SHOWN)
    prior = Release(np.arange(size), np.full(size, 1.0 / size), size, NonPrivate())
    releases = (
        ("prior", "prior", prior),
        ("non-private", "rejection", pair.plain),
        ("private", sparse_vector.LINEAR.name, private),
    )
    samples, errors = [], []
    for name, mechanism, release in releases:
        of = {"release": name, "mechanism": mechanism}
        samples.append(one_release.kept(source, comparison, release, **of))
        mean = release.mean(comparison.theta, source.prior_mean)
        mean = source.prior_mean if name == "prior" else mean
        effective = summaries.effective_sample_size(release.weights)
        error = summaries.errors(mean, source.truth)
        errors.append((name, mechanism, len(release.indices), effective, *error))
    # A row for each draw that the private run looked at; after it stops there is no decision.
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
    """Add the summary and what the release guarantees."""
    privacy = f"{one_release.privacy_of(params)} {UNPROTECTED}"
    event = one_release.event_of(params)
    return Result(EXPERIMENT, params, rows, _summary(params, rows), privacy, event)


def _summary(params: Params, rows: Tables) -> str:
    """Report the errors with and without noise; and the kept draws, if the pool ran out."""
    errors = rows["errors"].set_index("release")
    private, plain = map(int, errors.accepted[["private", "non-private"]])
    kept = _kept_words(private, plain, params.c) + _too_few(params, plain)
    if errors.mse.isna().all():
        return f"{kept} The true parameters are unknown, so there is no error to report."
    of_prior, of_plain, of_private = map(amount, np.sqrt(errors.mse))
    both = f"{of_private} with noise and {of_plain} without noise"
    if of_private == of_plain:
        both = f"{of_private} with and without noise"
    errors_in_words = f"The root mean squared error is {both}; the prior mean's is {of_prior}."
    return errors_in_words if private == plain == params.c else f"{errors_in_words} {kept}"


def _too_few(params: Params, plain: int) -> str:
    """Return why a run without noise kept only ``plain`` draws; empty if it kept c."""
    pool, few = counted(params.pool_size, "draw"), f"only {plain:,}" if plain else "none"
    verb = "is" if plain < 2 else "are"
    return f" Of {pool}, {few} {verb} close enough." if plain < params.c else ""


def _kept_words(private: int, plain: int, c: int) -> str:
    """Report how many draws the run kept, and the maximum c."""
    without = f"{plain:,}" + ", the maximum" * (plain == c)
    draws = counted(private, "draw") + ", the maximum" * (private == c)
    if private == plain:
        sentence = f"With and without noise, the run kept {draws}"
    else:
        sentence = f"With noise, the run kept {draws}; without noise, it kept {without}"
    return f"{sentence}." if c in (private, plain) else f"{sentence}; the maximum is {c:,}."


def counts(result: Result) -> tuple[int, int]:
    """Count the draws that the private run kept, and those that it wrongly kept."""
    decisions = result.tables["decisions"]
    return int(decisions.private.sum()), int((decisions.private & ~decisions.non_private).sum())


def error(result: Result) -> float:
    """Return the root mean squared error of the private run; NaN if the truth is unknown."""
    return math.sqrt(result.tables["errors"].set_index("release").mse["private"])


def _moved(result: Result) -> str:
    """Say in a line what noise does to the estimate."""
    kept, false = counts(result)
    if kept == 0:
        return "With noise, no draw was kept, so the estimate is the prior mean"
    if math.isnan(error(result)):
        return f"Noise picked {false:,} of {counted(kept, 'kept draw')}"
    plain = math.sqrt(result.tables["errors"].set_index("release").mse["non-private"])
    return f"The error is {against_no_noise(error(result), plain)}"


REJECTED_SHOWN = 1500  # Most draws shown that are rejected either way; an even share of them

AXIS, BELOW = 3.0, 0.25
"""End of both axes in usual thresholds of the scenario, and share of the upright one below 0."""

KINDS = (
    ("rejected either way", False, False, fig.REJECTED, 1.0),
    ("wrongly rejected", False, True, fig.NON_PRIVATE, 0.85),
    ("wrongly kept", True, False, fig.PRIVATE, 0.15),
    ("kept either way", True, True, fig.BOTH, 0.0),
)
"""Name, decisions with noise and without, style, and height of the name beside the plot."""


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the kept draws of every parameter, and every decision with and without noise."""
    params, decisions = cast(Params, result.params), result.tables["decisions"]
    source, settings = params.source, one_release.settings(params)
    main, words = result.tables["main"], axis_words(source)
    kept = fig.mirrored(source.axes, source.truth, main, _moved(result), settings, **words)
    flipped, (_, false) = int(decisions.flipped.sum()), counts(result)
    title = f"Noise wrongly kept {counted(false, 'draw')} and wrongly rejected {flipped - false:,}"
    layout = fig.layout(title, "distance without noise", "distance with noise", 440, settings)
    changed = f"{flipped:,}" if flipped else "none"
    sentence = f"Noise changed {changed} of the {counted(len(decisions), 'decision')} in this run."
    return {
        "posterior": fig.CaptionedFigure(kept, result.summary),
        "decisions": fig.CaptionedFigure(_decided(params, decisions, layout), sentence),
    }


def _decided(params: Params, decisions: pd.DataFrame, layout: dict[str, Any]) -> go.Figure:
    """Draw every decision by its distance; plain dictionaries that Plotly checks only once."""
    plain, end = params.epsilon_abc, AXIS * float(params.source.epsilon_abc_default)
    # No knob moves the axes until the threshold comes near.
    while end < 1.5 * plain:
        end *= 2.0
    low, threshold = -BELOW * end, float(decisions.noisy_threshold.iloc[-1])
    # A threshold beyond an edge is not drawn: its name at the edge says where it is.
    level = float(np.clip(threshold, low, end))
    beyond = "" if level == threshold else " ↑" if level < threshold else " ↓"
    usual = fig.NON_PRIVATE.called(f"threshold {plain:g}", dash="dash")
    last = "last noisy threshold" if params.resample else "noisy threshold"
    noisy = fig.PRIVATE.called(f"{last} {amount(threshold)}{beyond}", dash="dash")
    # Names are beside the plot, so that none lies on a mark at any setting.
    names = [(threshold, f"<b>{noisy.name}</b>", noisy.color)]
    kinds = []
    for name, private, non_private, style, height in KINDS:
        draws = decisions[(decisions.private == private) & (decisions.non_private == non_private)]
        text = f"<b>{len(draws):,}</b> {name}"
        # A ring marks what noise changed.
        size, ring = 9, 0 if private == non_private else 2
        if style is fig.REJECTED:
            every, draws, size = len(draws), _thinned(draws, low, end), 4
            text += ", off the axes" if every and draws.empty else ""
        names.append((low + height * (end - low), text, style.color))
        kinds.append(draws.assign(symbol=style.marker, color=style.color, size=size, ring=ring))
    across, upright = np.array([0.0, end]), np.array([low, end])
    traces = [
        _corner((plain, end), (low, level), fig.PRIVATE),
        _corner((0.0, plain), (level, end), fig.NON_PRIVATE),
        _straight(across, across, fig.GUIDE),
        _straight(np.full(2, plain), upright, usual),
        _straight(across, np.full(2, np.nan if beyond else level), noisy),
        _marks(pd.concat(kinds), low, end),
    ]
    layout["xaxis"] |= {"range": [0.0, end]}
    layout["yaxis"] |= {"range": [low, end]}
    above = fig.words(plain, end, usual.name, usual.color, "bottom center")
    layout |= {"annotations": [above], "showlegend": False}
    drawn = go.Figure({"data": traces, "layout": layout})
    fig.end_labels(drawn, names, (low, end), gap=0.1)
    return drawn


def _thinned(draws: pd.DataFrame, low: float, end: float) -> pd.DataFrame:
    """Return draws within the edges; of many every 2nd, 4th, ..., whatever the noise."""
    within = draws[(draws.rho <= end) & draws.noisy_distance.between(low, end)]
    every = 1
    while int((within.t % every == 0).sum()) > REJECTED_SHOWN:
        every *= 2
    return within[within.t % every == 0]


def _corner(x: tuple[float, float], y: tuple[float, float], style: fig.Style) -> dict[str, Any]:
    """Return a corner in which noise decides, as a series, so that it follows the threshold."""
    return {
        **{"x": np.repeat(x, 2), "y": np.array([*y, *y[::-1]]), "mode": "lines"},
        **{"name": "noise decides", "line": {"width": 0}, "hoverinfo": "skip"},
        **{"fill": "toself", "fillcolor": fig.translucent(style.color, 0.1)},
    }


def _straight(x: Array, y: Array, style: fig.Style) -> dict[str, Any]:
    line = {"color": style.color, "dash": style.dash, "width": 1.5}
    return {"x": x, "y": y, "mode": "lines", "name": style.name, "line": line, "hoverinfo": "skip"}


def _marks(draws: pd.DataFrame, low: float, end: float) -> dict[str, Any]:
    """Return a series of draws that a browser can move; those beyond the edge are diamonds."""
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
