r"""What does one person change?

Differential privacy compares two data sets that differ in one point. Here one point of $Y^*$ is
replaced by the worst one that a search finds, the pair (point, new value) that moves the
distances near the threshold most. Every distance $\rho_t$ moves by at most the sensitivity
$\Delta$ (MATH M2); under the *same* noise, few decisions change. And over many noises, no outcome
becomes more than $e^{\epsilon_{total}}$ times as likely or as unlikely:

$$e^{-\epsilon_{total}} \le \frac{P(\text{outcome} \mid Y^*)}{P(\text{outcome} \mid Y^{*\prime})}
\le e^{\epsilon_{total}} \qquad \text{(MATH S2)}$$

The outcome shown is how many draws the run looked at, in ten classes. The bound holds for every
outcome; one person rarely comes near it, because it is made for the worst of all data sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import posterior
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import SparseVector
from abcdp_core.results import Result, Tables
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "change-one-person"
TITLE = "What one person changes"
COLUMNS = {
    "main": (
        "release_side", "outcome", "low", "high", "count",
        "frequency", "frequency_low", "frequency_high",
    ),
    "ratio": ("outcome", "log_ratio", "log_ratio_low", "log_ratio_high", "epsilon_total"),
    "movement": ("t", "rho", "rho_neighbour", "movement", "sensitivity"),
    "decisions": ("t", "original", "neighbour"),
}  # fmt: skip

CLASSES = 10
POINTS_TRIED = 40
VALUES_TRIED = 41
DRAWS_TRIED = 400

Z_95 = 1.959964
"""Quantile of the normal distribution that a two-sided 95 % interval reaches to."""

NOISES = Parameter(
    kind="integer",
    label="Noises",
    help="Releases simulated from each of the two data sets.",
    low=100,
    high=10_000,
    steps=(100, 200, 500, 1000, 2000, 5000, 10_000),
)


@dataclass(frozen=True)
class Params(posterior.Params):
    """A release's parameters, and how many noises are tried."""

    noises: int = NOISES.field(1000)

    def check_together(self) -> None:
        """Refuse also a scenario whose pool is not kept: nothing can be compared with it."""
        super().check_together()
        if hasattr(simulators.load(self.scenario), "shipped"):
            raise par.ParameterError(
                f"scenario = {self.scenario}: only the distances of its pool are kept, so no "
                f"point can be replaced; choose another scenario."
            )


PRESETS: dict[str, BaseParams] = {}

prepare = posterior.prepare


tasks = experiments.whole


def work(task: experiments.Whole[Params]) -> Tables:
    """Compare the data with their neighbour: distances, decisions, outcomes."""
    params = task.params
    key = posterior.pool_key(params, task.seed)
    public = pool.open_pool(key)
    data = pool.observed_data(key, params.n)
    original = pool.compare(public, data, synthetic=True)
    changed = worst_neighbour(original, public.statistics[params.n], data, params)
    neighbour = pool.compare(public, changed, synthetic=True)
    setting = params.setting(original)
    stops = [
        _stops(
            comparison,
            setting,
            params.noises,
            generator(task.seed, "outcomes", params.noise_draw, side),
        )
        for side, comparison in enumerate((original, neighbour))
    ]
    main = _outcomes(*stops)
    return {
        "main": main,
        "ratio": _ratios(main, params),
        "movement": _movement(original, neighbour, setting.sensitivity),
        "decisions": _decisions(original, neighbour, setting, task),
    }


def worst_neighbour(
    comparison: pool.Comparison, statistics: Array, data: Array, params: Params
) -> Array:
    """The data ``(n, p)`` with one value replaced so that distances near ε_abc move most.

    Tried are :data:`POINTS_TRIED` points spread over the data against :data:`VALUES_TRIED` new
    values spread over the domain, on the :data:`DRAWS_TRIED` draws nearest the threshold.
    """
    source = simulators.load(params.scenario)
    near = np.argsort(np.abs(comparison.rho - params.epsilon_abc))[:DRAWS_TRIED]
    order = np.argsort(data[:, -1])
    tried = order[np.linspace(0, len(order) - 1, min(POINTS_TRIED, len(order))).astype(int)]
    values = np.linspace(*source.DOMAIN, VALUES_TRIED)
    distance, size = comparison.distance, len(data)
    moved = []
    for point in tried:
        others = distance.statistic(np.delete(data, point, axis=0))
        replaced = np.repeat(data[point][None], VALUES_TRIED, axis=0)
        replaced[:, -1] = values
        for one in distance.statistic(replaced[:, None]):
            statistic = distance.combine(others, size - 1, one, 1)
            rho = distance.compare(statistics[near], statistic)
            moved.append(np.abs(rho - comparison.rho[near]).mean())
    point, value = divmod(int(np.argmax(moved)), VALUES_TRIED)
    changed = data.copy()
    changed[tried[point], -1] = values[value]
    return changed


def _stops(
    comparison: pool.Comparison,
    setting: sparse_vector.Setting,
    noises: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Number of draws looked at, for each of ``noises`` releases; T + 1 if c were not reached."""
    event = cast(SparseVector, setting.event())
    steps = len(comparison.rho)
    stops = []
    for _ in range(noises):
        query, threshold = sparse_vector.draw_noise(rng, steps, setting.c)
        indices, stop = sparse_vector.scan(
            comparison.rho + event.query_scale * query,
            setting.epsilon_abc + event.threshold_scale * threshold,
            setting.c,
            setting.resample,
        )
        stops.append(stop if len(indices) == setting.c else steps + 1)
    return np.array(stops)


def _outcomes(original: NDArray[np.int64], neighbour: NDArray[np.int64]) -> pd.DataFrame:
    """Counts of both sides in classes that hold about equally many of the two together."""
    both = np.concatenate([original, neighbour])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, CLASSES + 1)).astype(int))
    if len(edges) == 1:
        edges = np.array([edges[0], edges[0]])
    lows = np.concatenate([[edges[0]], edges[1:-1] + 1])
    tables = []
    for side, stops in (("original", original), ("neighbour", neighbour)):
        classes = np.searchsorted(edges[1:-1], stops)
        count = np.bincount(classes, minlength=len(lows))
        low, high = summaries.binomial_interval(count, len(stops))
        tables.append(
            pd.DataFrame(
                {
                    "release_side": side,
                    "outcome": np.arange(len(lows)),
                    "low": lows,
                    "high": edges[1:],
                    "count": count,
                    "frequency": count / len(stops),
                    "frequency_low": low,
                    "frequency_high": high,
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _ratios(main: pd.DataFrame, params: Params) -> pd.DataFrame:
    """Logarithm of the ratio of the two frequencies, with its 95 % interval (Katz)."""
    counts = main.pivot_table(index="outcome", columns="release_side", values="count")
    original, neighbour = (counts[side].to_numpy(float) for side in ("original", "neighbour"))
    seen = (original > 0) & (neighbour > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(original) - np.log(neighbour)
        half = Z_95 * np.sqrt(1.0 / original + 1.0 / neighbour - 2.0 / params.noises)
        # An outcome that one side never had says nothing about its ratio.
        low = np.where(seen, log_ratio - half, -np.inf)
        high = np.where(seen, log_ratio + half, np.inf)
    values = (counts.index.to_numpy(), log_ratio, low, high)
    table = pd.DataFrame(dict(zip(COLUMNS["ratio"], values, strict=False)))
    return table.assign(epsilon_total=params.epsilon_total)


def _movement(
    original: pool.Comparison, neighbour: pool.Comparison, sensitivity: float
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "t": np.arange(len(original.rho)),
            "rho": original.rho,
            "rho_neighbour": neighbour.rho,
            "movement": neighbour.rho - original.rho,
            "sensitivity": sensitivity,
        }
    )


def _decisions(
    original: pool.Comparison,
    neighbour: pool.Comparison,
    setting: sparse_vector.Setting,
    task: experiments.Whole[Params],
) -> pd.DataFrame:
    """Draws accepted from either side under the same noise, the one the posterior page shows."""
    accepted = []
    for comparison in (original, neighbour):
        rng = generator(task.seed, "noise", 0, task.params.noise_draw)
        release, _ = sparse_vector.release(comparison, setting, rng)
        accepted.append(release.indices)
    either = np.union1d(*accepted)
    return pd.DataFrame(
        {
            "t": either,
            "original": np.isin(either, accepted[0]),
            "neighbour": np.isin(either, accepted[1]),
        }
    )


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    movement, decisions, ratio = rows["movement"], rows["decisions"], rows["ratio"]
    largest = movement.movement.abs().max()
    differing = int((decisions.original != decisions.neighbour).sum())
    seen = np.exp(ratio.log_ratio[np.isfinite(ratio.log_ratio)].abs().max())
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"Replacing one of {params.n:,} points moves no distance by more than "
        f"{largest:.3g} (Δ = {movement.sensitivity.iloc[0]:.3g}) and changes {differing} of "
        f"{len(decisions)} acceptances under the same noise. Over {params.noises:,} noises the "
        f"most unequal class of outcomes differs by the factor {seen:.3g} as simulated; "
        f"ε_total = {params.epsilon_total:g} allows {_factor(params.epsilon_total)}.",
        privacy=posterior.privacy_of(params),
        event=posterior.event_of(params),
    )


def _factor(epsilon_total: float) -> str:
    return f"{np.exp(epsilon_total):.3g}" if epsilon_total <= 20 else f"e^{epsilon_total:g}"


def figures(result: Result) -> dict[str, go.Figure]:
    """Outcome distributions, their ratio, and how the distances moved."""
    params = cast(Params, result.params)
    return {
        "outcomes": _outcome_figure(params, result.tables["main"]),
        "ratio": _ratio_figure(params, result.tables),
        "movement": _movement_figure(params, result.tables["movement"]),
    }


def _class_names(main: pd.DataFrame) -> list[str]:
    side = main[main.release_side == "original"]
    return [f"{low:,}-{high:,}" for low, high in zip(side.low, side.high, strict=True)]


def _outcome_figure(params: Params, main: pd.DataFrame) -> go.Figure:
    figure = fig.figure(
        f"Draws looked at, over {params.noises:,} noises (ε_total = {params.epsilon_total:g}, "
        f"c = {params.c})",
        "draws looked at until the run stopped",
        "share of releases",
        height=360,
    )
    looks = (("original", fig.BLUE, ""), ("neighbour", fig.VERMILLION, "/"))
    for side, color, pattern in looks:
        part = main[main.release_side == side]
        name = "your data" if side == "original" else "one person replaced"
        spread = {
            "type": "data",
            "array": (part.frequency_high - part.frequency).to_numpy(),
            "arrayminus": (part.frequency - part.frequency_low).to_numpy(),
            "color": fig.GREY,
        }
        figure.add_trace(
            go.Bar(
                x=_class_names(main),
                y=part.frequency.to_numpy(),
                name=name,
                error_y=spread,
                marker={"color": color, "pattern": {"shape": pattern}},
            )
        )
    return figure.update_yaxes(rangemode="tozero")


def _ratio_figure(params: Params, tables: Tables) -> go.Figure:
    ratio = tables["ratio"]
    figure = fig.figure(
        f"Log ratio of the two frequencies, bounded by ±ε_total = ±{params.epsilon_total:g}",
        "draws looked at until the run stopped",
        "log ratio",
        height=340,
    )
    names = np.array(_class_names(tables["main"]))
    style = fig.Style("simulated, 95 % interval", fig.BLUE)
    values = [ratio[column].to_numpy() for column in COLUMNS["ratio"][1:4]]
    figure.add_trace(fig.points(names, values[0], style, values[1], values[2]))
    for sign in (-1, 1):
        bound = fig.Style("bound ±ε_total", fig.GREEN, "dash")
        line = fig.line(names, np.full(len(names), sign * params.epsilon_total), bound)
        figure.add_trace(line.update(showlegend=sign > 0))
    return figure.update_xaxes(type="category")


def _movement_figure(params: Params, movement: pd.DataFrame) -> go.Figure:
    sensitivity = float(movement.sensitivity.iloc[0])
    figure = fig.figure(
        f"How far one person moves each distance (N = {params.n:,}, Δ = {sensitivity:.3g})",
        "distance ρ before",
        "change of the distance",
        height=340,
    )
    shown = movement.iloc[np.linspace(0, len(movement) - 1, min(len(movement), 2000)).astype(int)]
    style = fig.Style("draws of the pool", fig.BLUE)
    figure.add_trace(fig.points(shown.rho.to_numpy(), shown.movement.to_numpy(), style))
    figure.update_traces(marker={"size": 4})
    for sign in (-1, 1):
        line = fig.line(
            np.array([0.0, 1.4]), np.full(2, sign * sensitivity), fig.Style("±Δ", fig.GREEN, "dash")
        )
        figure.add_trace(line.update(showlegend=sign > 0))
    return figure.update_xaxes(range=[0, 1.0])
