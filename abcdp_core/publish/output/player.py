"""Pack runs of people who answer one after another as a small message for the browser's player.

Numbers travel as base64 of little-endian float32, a third of the size of their digits.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from abcdp_core import figures as fig
from abcdp_core.adaptive.channels import DiscreteChannel
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import percent
from abcdp_core.run.results import Result
from abcdp_core.studies import adaptive_truncation as study

Runs = Mapping[str, Result | None]

SINGLE, STEP = 40, 1.05
"""People shown one by one, and the factor between those shown afterwards."""

POINTS = 1000
"""Most people of a run to send."""

SERIES = (
    *("t", "left", "right", "response", "mean_mu", "sd_mu", "mean_sigma", "sd_sigma"),
    *("sigma_width", "missed", "value"),
)


def frames(runs: Runs) -> dict[str, Any]:
    """Return the message to the browser; empty until a run has a person.

    Returns:
        ``ids`` (run -> settings), ``n``, ``truth``, ``times`` (frame -> person), ``axes`` (name ->
        range), ``plain`` (1.96 standard deviations of one non-private value; they fall with the
        square root of the number of people), ``unit_scale`` (noise per unit of width), ``learnt``
        (value of ``narrower`` from which σ counts as learned), ``known`` (whether σ is known),
        ``colors`` (name -> theme -> color), ``looks``, ``lanes`` (runs whose answers are shown) and
        ``runs`` (name -> series; ``narrower`` is how much narrower the posterior of log σ is than
        its prior, ``missed`` how many intervals, mean ± 1.96 standard deviations, missed μ).
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
    """Return the people at whom the player stops: first one by one, then in growing steps."""
    people = [1]
    while people[-1] < last:
        latest = people[-1]
        people.append(min(last, latest + 1 if latest < SINGLE else int(np.ceil(latest * STEP))))
    return people


def _series(run: Result) -> dict[str, Array]:
    """Return the columns at `POINTS` people at most, dense at first, with all stops."""
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
    # Missing values repeat the last one.
    kept = table[list(SERIES)].iloc[rows].astype(float).ffill().bfill().fillna(0.0)
    columns = {column: kept[column].to_numpy() for column in SERIES}
    columns["narrower"] = params.narrower(params.sampler, columns.pop("sigma_width"))
    return columns


def _colors() -> dict[str, dict[str, str]]:
    """Return name -> color of text in either theme."""
    by_name = {name: style.color for name, style in study.STYLES.items()} | {
        "answer": fig.PRIVATE.color,
        "plain": fig.NON_PRIVATE.color,
        "unlearnt": fig.UNLEARNT.color,
    }
    return {name: fig.of_words(color) for name, color in by_name.items()}


def _looks(there: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """Return how each run is drawn."""
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
    """Return the possible answers, if answers are symbols.

    Returns:
        ``sets``: per symbol, the ends of the values that make it likelier, as shares of the way
        from the first to the last edge (outside them if the first end is larger; ``None`` is
        infinite). ``answers``: their number, in words.
    """
    params: Any = run.params
    if params.channel == "truncation":
        return {}
    table = params.table_of(params.channel, params.epsilon_total)
    edges = table.edges
    reach = float(edges[-1] - edges[0]) or 1.0
    return {
        "sets": [
            [float(end - edges[0]) / reach if np.isfinite(end) else None for end in ends]
            for ends in table.ends
        ],
        "answers": _answers(table),
    }


def _axes(params: Any, there: Mapping[str, Result]) -> dict[str, list[float]]:
    """Return ranges that contain all intervals; they follow from the settings and seldom move."""
    mu, sigma, prior = params.mu, params.sigma, params.prior()
    reach = 3.0 * prior.variance**0.5
    ends = [prior.mean - reach, prior.mean + reach, mu - 4 * sigma, mu + 4 * sigma]
    for name, run in there.items():
        main = run.tables["main"]
        if name == study.SYMBOLS:
            # Symbols have no interval; only the middle of their edges matters.
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


def _answers(table: DiscreteChannel) -> str:
    """Return the number of symbols in words; for two, also the probability of the wrong one."""
    symbols = len(table.weights)
    wrong = percent(1.0 / (1.0 + math.exp(table.level)))
    return f"{symbols} symbols, {wrong} wrong" if symbols == 2 else f"{symbols} symbols"
