"""A player: people answer one after the other, each way of asking beside the others.

The browser draws (``assets/player.js``); here the tables of the runs become a small message for it.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.components.v2.types import ComponentRenderer

from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation as study
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from ui import state

Array = NDArray[np.float64]
Runs = Mapping[str, Result | None]

SINGLE = 40
"""People that are shown one by one before steps grow."""

STEP = 1.05
"""Factor from one person shown to the next after those."""

POINTS = 1000
"""People of a run that are sent at most."""

SERIES = (
    *("t", "left", "right", "response", "mean_mu", "sd_mu", "mean_sigma", "sd_sigma"),
    *("sigma_width", "missed", "value"),
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
    <input type="range" min="0" value="0" aria-label="Person">
    <span class="state"></span>
    <select class="speed" aria-label="Speed"><option value="0.5">0.5×</option>
      <option value="1" selected>1×</option><option value="2">2×</option>
      <option value="5">5×</option></select>
  </div>
  <div class="panels">
    <figure><figcaption>Where each person is asked</figcaption>
      <canvas class="whole" role="img"></canvas></figure>
    <figure><figcaption>Close to the true mean <select class="moving"
      aria-label="Way of asking that is shown close to the true mean"></select></figcaption>
      <canvas class="zoom" role="img" aria-label="Where people are asked close to the true mean,
        with the posterior mean ± 1.96 standard deviations"></canvas></figure>
    <figure><figcaption>How well <select class="which" aria-label="What is known">
      <option value="mu">the mean μ</option><option value="sigma">the spread σ</option></select>
      is known, ± 1.96 sd</figcaption>
      <canvas class="known" role="img" aria-label="1.96 standard deviations, by person"></canvas>
    </figure>
  </div>
  <figure class="below"><figcaption class="who"></figcaption>
    <canvas class="person" role="img" aria-label="Value of this person, and by each way of asking
      where it is asked about and what is answered"></canvas></figure>
  <div class="scroll" tabindex="0" role="region" aria-label="Numbers of this person"><table>
    <thead><tr><th scope="col">way of asking</th><th scope="col">knows beforehand</th>
      <th scope="col">asked in</th><th scope="col">noise</th><th scope="col">μ ± 1.96 sd</th>
      <th scope="col">σ ± 1.96 sd</th><th scope="col">μ ± 1.96 sd missed the truth after</th></tr>
    </thead>
    <tbody></tbody></table></div>
  <p class="said" role="status"></p>
</div>
"""


def ways(params: Params) -> dict[str, Params]:
    """The settings of each way of asking that is played."""
    return dict(study.ways(cast(study.Params, params)))


def no_symbols(params: Params) -> str:
    """Why nobody answers by symbols; empty if people do."""
    return study.no_symbols(cast(study.Params, params))


def headline(found: Mapping[str, Result]) -> None:
    """The number that says most, and the sentence that it begins."""
    number, words, rest = study.headline(found)
    typical = study.typical_in_words(cast(study.Params, next(iter(found.values())).params))
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            st.markdown(words)
            st.markdown(typical)
            st.caption(rest)


def others(params: Params) -> dict[str, Any]:
    """What the study of many runs takes from the settings of the one that is played."""
    return study.others(cast(study.Params, params))


def judge(found: Result) -> None:
    """What is typical of many runs as far as they are done, the one that is played among them."""
    st.markdown(study.typical_of(found))


def show(key: str, runs: Runs, running: bool, summary: str) -> None:
    """The player, which keeps its place while the runs grow.

    Args:
        key: names the player on the page.
        runs: name -> what there is of it so far; names are those of :data:`study.WAYS`.
        running: whether more is to come.
        summary: what is seen, for those who cannot see it.
    """
    message = frames(runs)
    if message:
        screen = {"projector": bool(state.held("projector"))}
        _component()(key=key, data=message | screen | {"running": running, "summary": summary})
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
        (name -> range), ``plain`` (1.96 standard deviations of what one person's value would tell
        if it were not private, which fall with the root of their number), ``unit_scale`` (of the
        noise per unit of width), ``learnt`` (what ``narrower`` has to be for a σ that counts as
        learnt), ``known`` (whether σ is), ``colors`` (name -> theme -> colour), ``looks``,
        ``lanes`` (names of the runs whose answer is shown person by person) and ``runs`` (name ->
        series, among them by which share the posterior of log σ is ``narrower`` than the prior, and
        after how many people so far mean ± 1.96 standard deviations ``missed`` μ).
    """
    there = {
        name: run
        for name in study.WAYS
        if (run := runs.get(name)) is not None and len(run.tables["main"])
    }
    if not there:
        return {}
    series = {name: _series(run) for name, run in there.items()}
    first = next(iter(there.values()))
    params: Any = first.params
    return {
        "ids": {name: f"{run.params!r} {run.seed}" for name, run in there.items()},
        "n": int(params.n),
        "truth": {"mu": float(params.mu), "sigma": float(params.sigma)},
        "learnt": params.LEARNT,
        "known": bool(params.known_sigma),
        "unit_scale": float(params.unit_scale(params.epsilon_total)),
        "times": shown(int(max(columns["t"][-1] for columns in series.values()))),
        "axes": _axes(params, there),
        "plain": {"mu": 1.96 * params.sigma, "sigma": 1.96 * params.sigma / 2**0.5},
        "colors": _colors(),
        "looks": _looks(there),
        "lanes": [name for name in there if name != study.PLACED],
        "runs": {
            name: {column: _packed(values) for column, values in columns.items()}
            for name, columns in series.items()
        },
    }


def shown(last: int) -> list[int]:
    """The people at whom the player stops: the first one by one, then in growing steps."""
    people = [1]
    while people[-1] < last:
        here = people[-1]
        people.append(min(last, here + 1 if here < SINGLE else int(np.ceil(here * STEP))))
    return people


def _series(run: Result) -> dict[str, Array]:
    """The columns at `POINTS` people at most, dense at first, with those that are stopped at."""
    params: Any = run.params
    main = run.tables["main"]
    count = len(main)
    missed = (main.mean_mu - params.mu).abs() > 1.96 * main.sd_mu
    values = params.people(run.seed, 0)[0][main.t.to_numpy(int) - 1]
    table = main.assign(missed=missed.cumsum(), value=values)
    rows = np.arange(count)
    if count > POINTS:
        stops = np.array(shown(count)) - 1
        spread = np.geomspace(1, count, POINTS - len(stops)).astype(int) - 1
        rows = np.union1d(spread, stops)
    # What is missing stays as it was.
    kept = table[list(SERIES)].iloc[rows].astype(float).ffill().bfill().fillna(0.0)
    columns = {column: kept[column].to_numpy() for column in SERIES}
    columns["narrower"] = params.narrower(params.sampler, columns.pop("sigma_width"))
    return columns


def _colors() -> dict[str, dict[str, str]]:
    """Name -> its colour in either theme; there are words in each, so it is one that words have."""
    by_name = {name: style.color for name, style in study.STYLES.items()} | {
        "answer": fig.PRIVATE.color,
        "plain": fig.NON_PRIVATE.color,
        "unlearnt": fig.UNLEARNT.color,
    }
    return {
        name: {"light": fig.WORDS.get(color, color), "dark": fig.ON_DARK[color]}
        for name, color in by_name.items()
    }


def _looks(there: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """How each run is drawn: whether its place changes, it is the wide one, or it has symbols."""
    dashes = {"adaptive": [], "fixed": [7, 4], study.SYMBOLS: [12, 3], study.PLACED: [2, 3]}
    return {
        name: {
            "dash": dashes[name],
            "knows": study.WAYS[name],
            "place": name in ("adaptive", study.SYMBOLS),
            "wide": name == "fixed",
        }
        | _symbols(run)
        for name, run in there.items()
    }


def _symbols(run: Result) -> dict[str, Any]:
    """What can be answered, where answers are symbols.

    Returns:
        ``sets``: of each symbol the two ends of the values that it is likelier from, as parts of
        the way from the first to the last place asked at, all others where the first end is the
        larger; ``None`` for an end that is infinite. ``answers``: how many, in words.
    """
    params: Any = run.params
    if params.channel == "truncation":
        return {}
    table = params.table_of(params.channel, params.epsilon_total)
    edges = table.edges()
    reach = float(edges[-1] - edges[0]) or 1.0
    return {
        "sets": [
            [float(end - edges[0]) / reach if np.isfinite(end) else None for end in ends]
            for ends in table.ends
        ],
        "answers": study.answers(table),
    }


def _axes(params: Any, there: Mapping[str, Result]) -> dict[str, list[float]]:
    """Ranges that follow from the settings, so that they seldom move.

    All intervals lie within, and the middles of the places that symbols are asked at.
    """
    mu, sigma, prior = params.mu, params.sigma, params.prior()
    reach = 3.0 * prior.variance**0.5
    ends = [prior.mean - reach, prior.mean + reach, mu - 4 * sigma, mu + 4 * sigma]
    for name, run in there.items():
        main = run.tables["main"]
        if name == study.SYMBOLS:
            # How far it is from the first to the last place says little: all values get an answer.
            middle = 0.5 * (main.left + main.right)
            main = main.assign(left=middle, right=middle)
        for column in ("left", "right"):
            known = main[column].to_numpy(float)
            known = known[np.isfinite(known)].clip(mu - 1e9, mu + 1e9)
            ends += [known.min(), known.max()] if known.size else []
    least = {"mu": 1.96 * sigma / params.n**0.5, "sigma": 1.96 * sigma / (2 * params.n) ** 0.5}
    return {
        "whole": _round(min(ends), max(ends)),
        "zoom": [mu - 3 * sigma, mu + 3 * sigma],
        "person": [mu - 4 * sigma, mu + 4 * sigma],
        "mu": [0.6 * least["mu"], max(reach, 20 * least["mu"])],
        "sigma": [0.6 * least["sigma"], 30.0 * sigma],
    }


def _round(low: float, high: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10(high - low)) / 2
    return [float(np.floor(low / step) * step), float(np.ceil(high / step) * step)]


def _packed(values: Array) -> str:
    largest = float(np.finfo(np.float32).max)
    return base64.b64encode(values.clip(-largest, largest).astype("<f4").tobytes()).decode()
