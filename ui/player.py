"""A player: two runs of the online study beside each other, person after person.

The browser draws (``assets/player.js``); here the tables of a run become a small message for it.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.components.v2.types import ComponentRenderer

from abcdp_core.results import Result

Array = NDArray[np.float64]
Runs = Mapping[str, Result | None]

FRAMES = 100
"""Frames that are sent at most."""

PARTICLES = 160
"""Particles of a frame that are sent, all of equal weight."""

POINTS = 1000
"""Points of a line that are sent at most."""

SERIES = (
    *("t", "left", "right", "response", "mean_mu", "sd_mu", "mean_sigma", "sd_sigma"),
    "sigma_width",
)

ASSETS = Path(__file__).parents[1] / "assets"

HTML = """
<div class="player">
  <div class="controls" role="group" aria-label="Player">
    <button type="button" data-do="play"><svg viewBox="0 0 16 16" aria-hidden="true"><path
      class="to-play" d="M3 1v14l11-7z"/><path class="to-pause" d="M2 1h4v14H2zM10 1h4v14h-4z"
      /></svg><span>Play</span></button>
    <button type="button" data-do="back"><svg viewBox="0 0 16 16" aria-hidden="true"><path
      d="M2 1h3v14H2zM14 1v14L6 8z"/></svg><span>Step back</span></button>
    <button type="button" data-do="forward"><svg viewBox="0 0 16 16" aria-hidden="true"><path
      d="M11 1h3v14h-3zM2 1v14l8-7z"/></svg><span>Step forward</span></button>
    <button type="button" data-do="reset"><svg viewBox="0 0 16 16" aria-hidden="true"><path
      d="M1 1h2v14H1zM9 1v14L3 8zM15 1v14L9 8z"/></svg><span>Reset</span></button>
    <label>Speed <select><option value="0.5">0.5×</option><option value="1" selected>1×</option>
      <option value="2">2×</option><option value="5">5×</option></select></label>
    <span class="state"></span>
  </div>
  <input type="range" min="0" value="0" aria-label="Person">
  <p class="now"></p>
  <div class="panels" role="img"><canvas class="asked"></canvas><canvas class="spread"></canvas
    ><canvas class="cloud"></canvas></div>
  <ul class="legend">
    <li><svg viewBox="0 0 30 16" aria-hidden="true"><path class="box" d="M1 3h28v10H1z"/></svg>
      interval a person is asked in</li>
    <li><svg viewBox="0 0 30 16" aria-hidden="true"><path class="band" d="M0 2h30v12H0z"/><path
      class="mean" d="M0 8h30"/></svg> posterior mean, 95 % interval</li>
    <li><svg viewBox="0 0 14 16" aria-hidden="true"><circle cx="7" cy="8" r="3"/></svg> answer</li>
    <li><svg viewBox="0 0 30 16" aria-hidden="true"><path class="truth" d="M0 8h30"/></svg>
      true value</li>
    <li>▲ share of particles beyond the axes</li>
    <li><svg viewBox="0 0 30 16" aria-hidden="true"><path class="unlearnt" d="M0 8h30"/></svg>
      σ not clearly learnt</li>
    <li>after ±: one posterior standard deviation; narrower: that of log σ</li>
  </ul>
  <p class="said" role="status"></p>
</div>
"""


def show(key: str, runs: Runs, running: bool, summary: str) -> None:
    """The player, which keeps its place while the runs grow.

    Args:
        key: names the player on the page.
        runs: name -> what there is of it so far; ``adaptive`` and ``fixed``.
        running: whether more is to come.
        summary: what is seen, for those who cannot see it.
    """
    message = frames(runs)
    if message:
        _component()(key=key, data=message | {"running": running, "summary": summary})
    else:
        st.skeleton(height=600)


@functools.cache
def _component() -> ComponentRenderer:
    css, js = ((ASSETS / f"player.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component("player", html=HTML, css=css, js=js)


def frames(runs: Runs) -> dict[str, Any]:
    """The message to the browser; empty as long as no run has a person.

    Numbers travel as base64 of little-endian float32: a third of the size of their digits.

    Returns:
        ``ids`` (run -> its settings), ``n``, ``truth``, ``times`` (frame -> person), ``axes``
        (name -> range), ``learnt`` (what ``narrower`` has to be for a σ that counts as learnt),
        ``known`` (whether σ is) and ``runs`` (name -> ``series``, among them by which share the
        posterior of log σ is ``narrower`` than the prior, ``times`` of its clouds and the
        ``clouds``, `PARTICLES` numbers a frame for each of ``mu`` and ``sigma``).
    """
    there = {name: run for name, run in runs.items() if run and len(run.tables["main"])}
    if not there:
        return {}
    clouds = {name: _clouds(run.tables["particles"]) for name, run in there.items()}
    series = {name: _thinned(run.tables["main"], clouds[name]["t"]) for name, run in there.items()}
    params: Any = next(iter(there.values())).params
    for columns in series.values():
        columns["narrower"] = params.narrower(params.sampler, columns.pop("sigma_width"))
    ends = [table["t"][[0, -1]] for table in series.values()]
    times = _some(np.unique(np.concatenate([*ends, *(cloud["t"] for cloud in clouds.values())])))
    return {
        "ids": {name: f"{run.params!r} {run.seed}" for name, run in there.items()},
        "n": int(params.n),
        "truth": {"mu": float(params.mu), "sigma": float(params.sigma)},
        "learnt": params.LEARNT,
        "known": bool(params.known_sigma),
        "times": [int(t) for t in times],
        "axes": _axes(params.mu, params.sigma, series, clouds),
        "runs": {
            name: {
                "series": {column: _packed(values) for column, values in series[name].items()},
                "times": [int(t) for t in clouds[name]["t"]],
                "clouds": {axis: _packed(clouds[name][axis]) for axis in ("mu", "sigma")},
            }
            for name in there
        },
    }


def _thinned(main: pd.DataFrame, times: Array) -> dict[str, Array]:
    """The columns at `POINTS` people at most: evenly spread ones and those of the frames."""
    rows = np.arange(len(main))
    if len(main) > POINTS:
        at_frames = np.searchsorted(main["t"].to_numpy(), times).clip(0, len(main) - 1)
        rows = np.union1d(np.linspace(0, len(main) - 1, POINTS - FRAMES).astype(int), at_frames)
    # What is missing stays as it was.
    kept = main[list(SERIES)].iloc[rows].astype(float).ffill().bfill().fillna(0.0)
    return {column: kept[column].to_numpy() for column in SERIES}


def _clouds(particles: pd.DataFrame) -> dict[str, Array]:
    """Frames of equally weighted particles, by systematic resampling without randomness.

    Returns:
        ``t`` of each frame; ``mu`` and ``sigma`` with a row per frame.
    """
    t, weight, mu, sigma = (
        particles[column].to_numpy(float) for column in ("t", "weight", "mu", "sigma")
    )
    if (t[1:] < t[:-1]).any():
        order = np.argsort(t, kind="stable")
        t, weight, mu, sigma = t[order], weight[order], mu[order], sigma[order]
    weight = np.where((weight > 0) & np.isfinite(mu + sigma), weight, 0.0)
    starts = np.flatnonzero(np.diff(t, prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(t))
    sums = np.add.reduceat(weight, starts) if len(starts) else np.zeros(0)
    shares = weight / np.repeat(np.where(sums > 0, sums, 1.0), sizes)
    kept = _some(np.flatnonzero(sums > 0)).astype(int)
    # Frame k takes the stretch from k to k + 1 of one long ladder of summed weights.
    before = np.cumsum(sums > 0)[kept] - 1
    rungs = (np.arange(PARTICLES) + 0.5) / PARTICLES
    rows = np.searchsorted(np.cumsum(shares), before[:, None] + rungs)
    return {"t": t[starts[kept]], "mu": mu[rows], "sigma": sigma[rows]}


def _some(values: NDArray[Any]) -> NDArray[Any]:
    """At most `FRAMES` of the values, evenly spread, with the first and the last."""
    count = min(len(values), FRAMES)
    return values[np.linspace(0, len(values) - 1, count).round().astype(int)]


def _axes(
    mu: float, sigma: float, series: Mapping[str, Any], clouds: Mapping[str, Any]
) -> dict[str, list[float]]:
    """Ranges that show the truth and the later half of the runs; the wild start is cut off."""
    late = [{name: _half(column) for name, column in run.items()} for run in series.values()]
    asked = series.get("adaptive", next(iter(series.values())))
    means = [run["mean_mu"] + k * run["sd_mu"] for run in late for k in (-1.96, 1.96)]
    answers = _range(
        [_half(asked["left"]), _half(asked["right"]), *means], mu, 5 * sigma, 20 * sigma
    )
    tops = [run["mean_sigma"] + 1.96 * run["sd_sigma"] for run in late]
    spread = _range(tops, sigma, sigma, 7 * sigma)
    across = _range([_half(cloud["mu"]) for cloud in clouds.values()], mu, 0.1 * sigma, 10 * sigma)
    up = _range([_half(cloud["sigma"]) for cloud in clouds.values()], sigma, 0.1 * sigma, 9 * sigma)
    return {
        "answer": answers,
        "spread": [0.0, spread[1]],
        "mu": across,
        "sigma": [max(0.0, up[0]), up[1]],
    }


def _half(values: Array) -> Array:
    """The later half of what is ordered in time."""
    return values[len(values) // 2 :]


def _range(parts: list[Array], truth: float, least: float, most: float) -> list[float]:
    """From the lowest to the highest of the parts without outliers, and around the truth.

    The ends are round, so that they seldom move while a run grows.
    """
    ends = [truth - least, truth + least]
    for part in parts:
        if (known := part[np.isfinite(part)]).size:
            ends.extend(np.quantile(known, [0.01, 0.99]).clip(truth - most, truth + most))
    step = 10.0 ** np.floor(np.log10(max(ends) - min(ends))) / 2
    return [float(np.floor(min(ends) / step) * step), float(np.ceil(max(ends) / step) * step)]


def _packed(values: Array) -> str:
    largest = float(np.finfo(np.float32).max)
    return base64.b64encode(values.clip(-largest, largest).astype("<f4").tobytes()).decode()
