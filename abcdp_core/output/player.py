"""Runs of people who answer one after the other, as a small message for the browser's player.

Numbers travel as base64 of little-endian float32: a third of the size of their digits.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.adaptive.channels import Table
from abcdp_core.results import Result
from abcdp_core.sentences import percent
from abcdp_core.studies import adaptive_truncation as study

Array = NDArray[np.float64]
Runs = Mapping[str, Result | None]

SINGLE, STEP = 40, 1.05
"""People that are shown one by one, and the factor from one shown to the next after those."""

POINTS = 1000
"""People of a run that are sent at most."""

SERIES = (
    *("t", "left", "right", "response", "mean_mu", "sd_mu", "mean_sigma", "sd_sigma"),
    *("sigma_width", "missed", "value"),
)


def frames(runs: Runs) -> dict[str, Any]:
    """Return the message to the browser; empty as long as no run has a person.

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
        "answers": _answers(table),
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


def _answers(table: Table) -> str:
    """How many symbols a table has, in words; of two the chance of the wrong one."""
    symbols = len(table.weights)
    wrong = percent(1.0 / (1.0 + math.exp(table.level)))
    return f"{symbols} symbols, {wrong} wrong" if symbols == 2 else f"{symbols} symbols"
