r"""What does one person change?

Differential privacy compares two data sets that differ in one point. Here one point of $Y^*$ is
replaced by the worst one that a search finds, the pair (point, new value) that moves the
distances near the threshold most. Every distance $\rho_t$ moves by at most the sensitivity
$\Delta$ (MATH M2); under the *same* noise, few decisions change. And over all noises, no outcome
becomes more than $e^{\epsilon_{total}}$ times as likely or as unlikely:

$$e^{-\epsilon_{total}} \le \frac{P(\text{outcome} \mid Y^*)}{P(\text{outcome} \mid Y^{*\prime})}
\le e^{\epsilon_{total}} \qquad \text{(MATH S2)}$$

The outcome shown is how many draws the run looks at until the c-th acceptance, or that the pool
ends before. Its probabilities are exact from either data set, without any simulated noise: given
the threshold's noise the decisions are independent, and what is left is an integral (MATH E6). So
whatever difference is seen here is the person's. The bound holds for every outcome and every pair
of data sets; one person rarely comes near it, because it is made for the worst of all data sets.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, releases, simulators
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import against_bound, amount, at_most, counted
from abcdp_core.streams import generator
from abcdp_core.theory import sparse_vector_run as theory

Array = NDArray[np.float64]

EXPERIMENT = "change-one-person"
TITLE = "What one person changes"
COLUMNS = {
    "main": ("looked_at", "stopped", "stopped_neighbour", "allowed_low", "allowed_high"),
    "ratio": (
        "outcome", "low", "high", "probability", "probability_neighbour", "log_ratio",
        "epsilon_total",
    ),
    "largest": (
        "outcome", "probability", "probability_neighbour", "log_ratio", "at_least", "epsilon_total",
    ),
    "movement": ("t", "rho", "rho_neighbour", "movement", "sensitivity"),
    "decisions": ("t", "original", "neighbour"),
    "data": ("place", "amount"),
    "person": ("place_before", "amount_before", "place_after", "amount_after"),
}  # fmt: skip

CLASSES = 10
POINTS_TRIED = 40
VALUES_TRIED = 41
DRAWS_TRIED = 400

CURVE = 400
"""Steps of probability between two points of a curve."""

BINS = 50
"""Bars of the histogram of the data."""

MOVEMENT_BINS = 40

RARE = 1e-6
"""An outcome that is less probable than this from both data sets is no outcome of its own."""

SMALLEST = 1e-12
"""Probabilities below this are left out in parts, so no ratio is made of them (MATH E6)."""

POOL_ENDED = "pool ended first"

WORST = "worst"
"""The move that the search found."""

MOVED_TO = par.Parameter(
    kind="real",
    label="Move the point to",
    help="Place in the range of possible values: 0 is the lowest, 1 the highest. worst: the place "
    "that moves the distances most, of those tried.",
    low=0.0,
    high=1.0,
    steps=tuple(i / 20 for i in range(21)),
    special=(WORST,),
)


@dataclass(frozen=True)
class Params(releases.ReleaseParams):
    """A release's parameters, and where the person's point goes, as a part of the domain."""

    moved_to: float | str = MOVED_TO.field(WORST)

    def check_together(self) -> None:
        """Refuse also a scenario in which no point can be replaced."""
        super().check_together()
        if reason := _refusal(self.scenario):
            raise par.ParameterError(
                f"scenario = {self.scenario}: {reason}; choose another scenario."
            )


def serves(scenario: str) -> bool:
    """Whether a point of a scenario's data can be replaced."""
    return not _refusal(scenario)


def _refusal(scenario: str) -> str:
    """Why no point of a scenario's data can be replaced; empty if one can."""
    source = simulators.load(scenario)
    if hasattr(source, "precomputed"):
        return "only the distances of its pool are kept, so no point can be replaced"
    unit, neighbours = sparse_vector.LINEAR.protects(source)
    if neighbours != "replace":
        return f"{unit} is added or removed there, and no point is replaced"
    return ""


PRESETS: dict[str, BaseParams] = {}

prepare = releases.prepare


tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Compare the data with their neighbour: distances, decisions, outcomes."""
    params = task.params
    key = releases.pool_key(params, task.seed)
    before = _before(key, params.n, params.epsilon_abc)
    value = _moved_to(params, before.value)
    changed = before.data.copy()
    changed[before.point, -1] = value
    neighbour = pool.compare(pool.open_pool(key), changed, synthetic=True)
    event = releases.event_of(params)
    run = theory.Run.of(event, params.epsilon_abc)
    stops = _stop_before(key, params.n, run), theory.stopping_time(neighbour.rho, run)
    return {
        "main": _curves(*stops, params.epsilon_total),
        "ratio": _ratios(*stops, params.epsilon_total),
        "largest": _largest(*stops, params.epsilon_total),
        "movement": _movement(before.comparison, neighbour, event.sensitivity),
        "decisions": _decisions(before.comparison, neighbour, task),
        **_person(before.data, changed, before.point, simulators.load(params.scenario).DOMAIN),
    }


@dataclass(frozen=True)
class _Before:
    """The data before anybody moves, and who moves most.

    Attributes:
        data: ``(n, p)``.
        comparison: of the data with the pool, without the pool's own numbers.
        point, value: what :func:`worst_change` finds.
    """

    data: Array
    comparison: pool.Comparison
    point: int
    value: float


SETTINGS_KEPT = 16
"""Settings of which what does not change with the move is kept, half a megabyte each."""


@functools.lru_cache(maxsize=SETTINGS_KEPT)
def _before(key: pool.PoolKey, n: int, epsilon_abc: float) -> _Before:
    public, data = pool.open_pool(key), pool.observed_data(key, n)
    comparison = pool.compare(public, data, synthetic=True)
    domain = simulators.load(key.scenario).DOMAIN
    point, value = worst_change(comparison, public.statistics[n], data, epsilon_abc, domain)
    return _Before(data, dataclasses.replace(comparison, statistics=None), point, value)


@functools.lru_cache(maxsize=SETTINGS_KEPT)
def _stop_before(key: pool.PoolKey, n: int, run: theory.Run) -> Array:
    """Distribution ``(T + 1,)`` of the stopping time before anybody moves."""
    return theory.stopping_time(_before(key, n, run.epsilon_abc).comparison.rho, run)


def _moved_to(params: Params, worst: float) -> float:
    """The point's new value: the worst one, or a place in the domain."""
    if isinstance(params.moved_to, str):
        return worst
    low, high = simulators.load(params.scenario).DOMAIN
    return float(low + params.moved_to * (high - low))


def worst_change(
    comparison: pool.Comparison,
    statistics: Array,
    data: Array,
    epsilon_abc: float,
    domain: tuple[float, float],
) -> tuple[int, float]:
    """The point of the data, and its new value, that move distances near ε_abc most.

    Tried are :data:`POINTS_TRIED` points spread over the data against :data:`VALUES_TRIED` new
    values spread over the domain, on the :data:`DRAWS_TRIED` draws nearest the threshold.

    Args:
        comparison: of the data with the pool.
        statistics: of the pool ``(T, D)``, at the size of the data.
        data: ``(n, p)``, of which the last of the p numbers is replaced.
        epsilon_abc: similarity threshold.
        domain: lowest and highest value of a data point.

    Returns:
        Index of the point, and the value.
    """
    near = np.argsort(np.abs(comparison.rho - epsilon_abc))[:DRAWS_TRIED]
    order = np.argsort(data[:, -1])
    tried = order[np.linspace(0, len(order) - 1, min(POINTS_TRIED, len(order))).astype(int)]
    values = np.linspace(*domain, VALUES_TRIED)
    distance, size = comparison.distance, len(data)
    moved = []
    for point in tried:
        rest = np.delete(data, point, axis=0)
        others = distance.statistic(rest) if len(rest) else np.zeros_like(statistics[0])
        replaced = np.repeat(data[point][None], VALUES_TRIED, axis=0)
        replaced[:, -1] = values
        for one in distance.statistic(replaced[:, None]):
            statistic = distance.combine(others, size - 1, one, 1)
            rho = distance.compare(statistics[near], statistic)
            moved.append(np.abs(rho - comparison.rho[near]).mean())
    point, value = divmod(int(np.argmax(moved)), VALUES_TRIED)
    return int(tried[point]), float(values[value])


def _curves(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """Probabilities that a run has stopped by then, and what ε_total allows the neighbour's.

    Args:
        original, neighbour: distributions of the stopping time ``(T + 1,)``.
        epsilon_total: privacy budget.
    """
    # Where either curve has risen by a step, and just before it, so that jumps stay upright.
    first, second = np.cumsum(original[:-1]), np.cumsum(neighbour[:-1])
    steps = [np.diff(np.floor(CURVE * curve), prepend=0.0) > 0 for curve in (first, second)]
    at = np.flatnonzero(steps[0] | steps[1])
    widest = int(np.argmax(np.abs(first - second)))
    shown = np.unique(np.concatenate([[0], at - 1, at, [widest, len(first) - 1]]))
    shown = shown[shown >= 0]
    first, second = np.minimum(first[shown], 1.0), np.minimum(second[shown], 1.0)
    factor = math.exp(min(epsilon_total, 700.0))
    return pd.DataFrame(
        {
            "looked_at": shown + 1,
            "stopped": first,
            "stopped_neighbour": second,
            "allowed_low": np.maximum(first / factor, 1.0 - np.minimum(factor * (1.0 - first), 1)),
            "allowed_high": np.minimum(np.minimum(factor * first, 1), 1.0 - (1.0 - first) / factor),
        }
    )


def _ratios(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """Probabilities of at most :data:`CLASSES` about equally likely ranges of the stopping time.

    A pool that ended is an outcome of its own, unless that is too rare; then it counts as a run
    that looked at all draws.
    """
    both = (original + neighbour) / 2.0
    steps = len(both) - 1
    edges = [-1, *_cuts(both[:-1]), steps - 1]
    rows = []
    for before, last in itertools.pairwise(edges):
        inside = slice(before + 1, last + 1)
        rows.append((before + 2, last + 1, original[inside].sum(), neighbour[inside].sum()))
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high, *_ in rows]
    ended = (steps, steps, float(original[-1]), float(neighbour[-1]))
    if both[:-1].sum() < RARE:
        rows, names = [ended], [POOL_ENDED]
    elif both[-1] >= RARE:
        rows, names = [*rows, ended], [*names, POOL_ENDED]
    table = pd.DataFrame(rows, columns=list(COLUMNS["ratio"][1:5]))
    log_ratio, known = _log_ratios(
        table.probability.to_numpy(), table.probability_neighbour.to_numpy()
    )
    table.insert(0, "outcome", names)
    return table.assign(log_ratio=np.where(known, log_ratio, np.nan), epsilon_total=epsilon_total)


def _cuts(stops: Array) -> list[int]:
    """Last draws, but the very last, of about equally likely ranges of draws.

    A draw that is as likely as a whole range is one by itself, and no range is rare.
    """
    stopped = np.cumsum(stops)
    wanted = stopped[-1] * np.arange(1, CLASSES) / CLASSES
    at = np.unique(np.minimum(np.searchsorted(stopped, wanted), len(stops) - 1))
    alone = at[(stops[at] >= stopped[-1] / CLASSES) & (at > 0)] - 1
    cuts: list[int] = []
    for cut in np.union1d(at, alone).tolist():
        before = stopped[cuts[-1]] if cuts else 0.0
        if min(stopped[cut] - before, stopped[-1] - stopped[cut]) >= RARE:
            cuts.append(cut)
    return cuts


def _log_ratios(original: Array, neighbour: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Logarithms of ratios of probabilities, which count as at least :data:`SMALLEST`.

    Returns:
        The logarithms, and whether both probabilities are that large, so that they are right; else
        they are too near 0.
    """
    known = np.minimum(original, neighbour) >= SMALLEST
    ratio = np.maximum(original, SMALLEST) / np.maximum(neighbour, SMALLEST)
    return np.log(ratio), known


def _largest(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """The outcome whose two probabilities differ by the largest factor, of those not too rare."""
    log_ratio, known = _log_ratios(original, neighbour)
    common = np.maximum(original, neighbour) >= RARE
    worst = int(np.argmax(np.where(common, np.abs(log_ratio), -1.0)))
    ended = worst == len(original) - 1
    row = (
        POOL_ENDED if ended else f"{worst + 1:,}",
        float(original[worst]),
        float(neighbour[worst]),
        float(log_ratio[worst]),
        not bool(known[worst]),
        epsilon_total,
    )
    return pd.DataFrame([row], columns=list(COLUMNS["largest"]))


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
    task: experiments.SingleTask[Params],
) -> pd.DataFrame:
    """Draws accepted from either side under the same noise, the one the posterior page shows."""
    accepted = []
    for comparison in (original, neighbour):
        rng = generator(task.seed, "noise", 0, task.params.noise_draw)
        release, _ = releases.release(task.params, comparison, rng)
        accepted.append(release.indices)
    either = np.union1d(*accepted)
    return pd.DataFrame(
        {
            "t": either,
            "original": np.isin(either, accepted[0]),
            "neighbour": np.isin(either, accepted[1]),
        }
    )


def _person(data: Array, changed: Array, point: int, domain: tuple[float, float]) -> Tables:
    """The data to be drawn, and where in them a point is before and after it is replaced.

    Single numbers are counted in bins, so that the point stands on top of its bar; a series has an
    amount at each place.
    """
    before, after = data[point], changed[point]
    if data.shape[1] > 1:
        place, amount = data[:, 0], data[:, -1]
        spots = (before[0], before[-1], after[0], after[-1])
    else:
        edges = np.linspace(*domain, BINS + 1)
        place = (edges[:-1] + edges[1:]) / 2.0
        amount = np.histogram(data[:, 0], edges)[0].astype(float)
        bins = np.clip(np.searchsorted(edges, [before[0], after[0]], "right") - 1, 0, BINS - 1)
        spots = (before[0], amount[bins[0]], after[0], amount[bins[1]])
    return {
        "data": pd.DataFrame({"place": place, "amount": amount}),
        "person": pd.DataFrame([[float(spot) for spot in spots]], columns=list(COLUMNS["person"])),
    }


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    movement, decisions = rows["movement"], rows["decisions"]
    differing = int((decisions.original != decisions.neighbour).sum())
    if decisions.empty:
        same_noise = "under this noise nothing is accepted before or after"
    elif differing == 0:
        same_noise = "changes no acceptance under the same noise"
    else:
        all_of_them = counted(len(decisions), "acceptance")
        same_noise = f"changes {differing} of {all_of_them} under the same noise"
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"Replacing one of {params.n:,} points moves no distance by more than "
        f"{at_most(movement.movement.abs().max())} (Δ = {movement.sensitivity.iloc[0]:.3g}) and "
        f"{same_noise}. {_largest_sentence(rows)}",
        privacy=releases.privacy_of(params),
        event=releases.event_of(params),
    )


def _largest_sentence(tables: Tables) -> str:
    row = tables["largest"].iloc[0]
    stop = f"a stop after {row.outcome} draw{'' if row.outcome == '1' else 's'}"
    outcome = "the end of the pool" if row.outcome == POOL_ENDED else stop
    if min(row.probability, row.probability_neighbour) >= 1.0 - RARE:
        return (
            f"Practically every run has the same outcome with either data set, {outcome}, with the "
            f"exact {against_bound(0.0, row.epsilon_total)}"
        )
    if row.at_least:
        return (
            f"One outcome, {outcome}, practically never happens with one of the two data sets: the "
            f"log-ratio is above {abs(row.log_ratio):.3g}. ε_total = {row.epsilon_total:g} allows "
            f"{row.epsilon_total:g}, so this is compatible with the bound."
        )
    return (
        f"Of the outcomes likelier than one in a million the most unequal, {outcome}, has the "
        f"exact {against_bound(row.log_ratio, row.epsilon_total)}"
    )


def move_in_words(result: Result) -> str:
    """Which value is replaced by which."""
    who, what = _who(result), _move(result)
    return f"{who} {what if what.startswith('stays') else f'moves {what}'}"


def _who(result: Result) -> str:
    params, person = cast(Params, result.params), result.tables["person"].iloc[0]
    coordinates = simulators.load(params.scenario).COORDINATES
    if len(coordinates) > 1:
        return f"The {coordinates[-1]} of {coordinates[0]} {person.place_before:g}"
    return f"One of {params.n:,} points"


def _move(result: Result) -> str:
    params, person = cast(Params, result.params), result.tables["person"].iloc[0]
    values = person.place_before, person.place_after
    if len(simulators.load(params.scenario).COORDINATES) > 1:
        values = person.amount_before, person.amount_after
    before, after = (amount(value, 4) for value in values)
    return f"stays at {after}" if before == after else f"from {before} to {after}"


def largest_in_words(result: Result) -> str:
    """The factor by which the chance of an outcome changes at most, beside what is allowed."""
    row = result.tables["largest"].iloc[0]
    allowed = factor_in_words(float(row.epsilon_total), up=False)
    if row.at_least:
        return (
            f"One outcome practically never happens with one of the two; {allowed} times as likely "
            f"is allowed"
        )
    return (
        f"No outcome above one in a million becomes over {factor_in_words(abs(row.log_ratio))} "
        f"times as likely; {allowed} is allowed"
    )


def bound_in_words(result: Result) -> str:
    """How much of the log-ratio that is allowed is used, and why that is not more."""
    row = result.tables["largest"].iloc[0]
    if row.at_least:
        return f"A bound of {factor_in_words(float(row.epsilon_total))} allows this, too."
    share = abs(row.log_ratio) / row.epsilon_total
    used = "less than 0.1" if share < 0.001 else f"{100.0 * share:.2g}"
    return (
        f"The bound holds for every data set and every such change; this one uses {used} % of "
        f"ε_total."
    )


LARGE = 10.0
"""Logarithm of a factor that is written as a power."""

MOST_DIGITS = 6
"""Decimals of a factor, and of percentage points."""


def factor_in_words(log_ratio: float, *, up: bool = True) -> str:
    """A factor with two digits of what it is above 1, four at least, on the safe side.

    Args:
        log_ratio: its logarithm, at least 0.
        up: rounded up, so that "no more than" stays true; else down, as what is allowed.
    """
    if log_ratio > LARGE:
        return f"e^{log_ratio:g}"
    above = math.expm1(log_ratio)
    least = 0 if above >= 100.0 else 1 if up else 3
    digits = 3 if above < SMALLEST else max(least, 1 - math.floor(math.log10(above)))
    digits = min(digits, MOST_DIGITS)
    towards, margin = (math.ceil, -1e-9) if up else (math.floor, 1e-9)
    return f"{1.0 + towards(above * 10**digits + margin) / 10**digits:,.{digits}f}"


def curve_gap(main: pd.DataFrame) -> float:
    """Largest difference between the two curves, in percentage points."""
    return 100.0 * float((main.stopped - main.stopped_neighbour).abs().max())


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Outcome distributions above their ratio, how the distances moved, the point that moved."""
    params, tables = cast(Params, result.params), result.tables
    outcomes = _outcome_figure(params, tables["main"], tables["ratio"])
    return {
        "outcomes": fig.Drawn(outcomes, f"{_outcomes_sentence(result)} {_ratio_sentence(result)}"),
        "movement": fig.Drawn(
            _movement_figure(params, tables["movement"]), _moved_sentence(result)
        ),
        "person": fig.Drawn(_person_figure(result), _person_sentence(result)),
    }


def _outcomes_sentence(result: Result) -> str:
    """How the two outcome distributions compare."""
    main = result.tables["main"]
    bound = float(result.tables["largest"].epsilon_total.iloc[0])
    gap, allowed = _points(curve_gap(main)), _points(_allowed(bound), up=False)
    ended = 1.0 - float(main.stopped.iloc[-1])
    share = f"{100 * ended:.2g} %" if ended < 0.99 else f"{100 * ended:.3g} %"
    rest = f" In {share} of the runs the pool ends first." if ended >= 0.005 else ""
    return (
        f"How likely a run has stopped by then, exactly, from the data and from the data with one "
        f"person replaced: the curves differ by {gap} at most, where ε_total = {bound:g} allows "
        f"{allowed}.{rest}"
    )


def _allowed(epsilon_total: float) -> float:
    """Percentage points that two curves may differ if no ratio is above e^ε_total."""
    return 100.0 * math.tanh(epsilon_total / 2.0)


def _points(value: float, *, up: bool = True) -> str:
    """Percentage points with two digits, rounded up, or down as what is allowed."""
    if value <= NO_GAP:
        return "0 percentage points"
    if value >= 10.0:
        return f"{(math.ceil if up else math.floor)(value)} percentage points"
    digits = min(1 - math.floor(math.log10(value)), MOST_DIGITS)
    towards, margin = (math.ceil, -1e-9) if up else (math.floor, 1e-9)
    text = f"{towards(value * 10**digits + margin) / 10**digits:.{digits}f}"
    return f"{text} percentage points"


NO_GAP = 1e-9
"""Percentage points that are rounding."""


def _ratio_sentence(result: Result) -> str:
    """How close the ratios of the classes come to the bound."""
    table = result.tables["ratio"]
    bound = float(table.epsilon_total.iloc[0])
    one_sided = int(table.log_ratio.isna().sum())
    if one_sided:
        rest = "practically never happens" if one_sided == 1 else "practically never happen"
        return (
            f"{one_sided} of {len(table)} classes {rest} with one of the two data sets; "
            f"ε_total = {bound:g} is so large that this is compatible with the bound."
        )
    found = against_bound(float(table.log_ratio.abs().max()), bound)
    if len(table) == 1:
        return f"There is one class of outcomes, with the exact {found}"
    return f"The most unequal of {len(table)} classes of outcomes has the exact {found}"


def _moved_sentence(result: Result) -> str:
    """How far one person moves the distances."""
    table = result.tables["movement"]
    sensitivity = float(table.sensitivity.iloc[0])
    size = table.movement.abs() / sensitivity
    return (
        f"Of {len(table):,} distances none moves by more than "
        f"{at_most(size.max())} Δ; the median movement is {size.median():.2g} Δ. "
        f"Δ = {sensitivity:.3g}."
    )


def _person_sentence(result: Result) -> str:
    """Which point is replaced, and why that one."""
    return f"{move_in_words(result)}{_why(cast(Params, result.params))}"


def _why(params: Params) -> str:
    if params.moved_to == WORST:
        return ": of the changes tried, the one that moves the distances near ε_abc most."
    return ", where you put it. The person is the one who could move the distances most."


_YOURS = dataclasses.replace(fig.PRIVATE, name="these data")
_OTHER = dataclasses.replace(fig.styles(["one person replaced"])[0], dash="dash")


def _settings(params: Params) -> str:
    return (
        f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, c = {params.c:,}, "
        f"N = {params.n:,}"
    )


def _outcome_figure(params: Params, main: pd.DataFrame, ratio: pd.DataFrame) -> go.Figure:
    """Both curves with what ε_total allows, and below them how many times as likely classes are."""
    figure = fig.figure(
        f"The curve moves by {_points(curve_gap(main))} at most; "
        f"{_points(_allowed(params.epsilon_total), up=False).split()[0]} are allowed",
        "draws looked at until the run stopped",
        "stopped by then",
        height=HIGH,
        settings=_settings(params),
    )
    x = main.looked_at.to_numpy(float)
    allowed = dataclasses.replace(
        fig.THEORY, name=f"what ε_total = {params.epsilon_total:g} allows"
    )
    # Steps up to the next draw; Plotly's own would be mirrored along the lower edge.
    low, high = (
        np.repeat(main[name].to_numpy(), 2)[:-1] for name in ("allowed_low", "allowed_high")
    )
    band = fig.band(np.repeat(x, 2)[1:], low, high, allowed)
    thin = {"width": 2, "shape": "hv"}
    figure.add_traces(
        [
            band.update(
                name=allowed.name,
                line={"width": 1, "color": allowed.color},
                fillcolor=fig.translucent(allowed.color, 0.35),
            ),
            fig.line(x, main.stopped.to_numpy(), _YOURS).update(line=thin),
            fig.line(x, main.stopped_neighbour.to_numpy(), _OTHER).update(line=thin),
            *_ratio_traces(params, ratio, end=EDGE * max(10.0, x[-1])),
        ]
    )
    decades = [10**k for k in range(6) if 10**k <= max(10.0, x[-1])]
    figure.update_xaxes(
        **fig.logarithmic(1, EDGE * max(10.0, x[-1])),
        tickvals=decades,
        ticktext=[f"{k:,}" for k in decades],
        anchor="y2",
        showgrid=False,
    )
    words = (_YOURS.name, _YOURS.color), (_OTHER.name, _OTHER.color), ("allowed", allowed.color)
    fig.key(figure, words)
    upper = {"domain": [0.44, 1.0], "range": [-0.02, 1.02]}
    lower = {"domain": [0.0, 0.32], "anchor": "x", "range": [-1.25, 1.25]}
    factor = factor_in_words(params.epsilon_total, up=False)
    return figure.update_layout(
        showlegend=False,
        yaxis=upper | {"tickformat": ".0%", "tickvals": [0.0, 0.5, 1.0]},
        # In units of ε_total: no knob moves the axis.
        yaxis2=lower
        | {"tickvals": [-1.0, 0.0, 1.0], "ticktext": [f"÷ {factor}", "same", f"× {factor}"]}
        | {"title": {"text": "as likely"}},
    )


def _ratio_traces(params: Params, ratio: pd.DataFrame, end: float) -> list[go.Scatter]:
    """Each class as a bar from its first to its last draw, and the bounds up to ``end``."""
    part = ratio[ratio.log_ratio.notna()]
    height = (part.log_ratio / params.epsilon_total).to_numpy()
    ended = (part.outcome == POOL_ENDED).to_numpy()
    low = np.where(ended, part.high * PAST, np.maximum(part.low - 0.5, 0.9))
    high = np.where(ended, end, part.high + 0.5)
    gaps = np.full(len(part), np.nan)
    bars = fig.line(
        np.column_stack([low, high, gaps]).ravel(),
        np.column_stack([height, height, gaps]).ravel(),
        dataclasses.replace(fig.BOTH, name="exact ratio", dash="solid"),
    )
    bars.update(line={"width": 4}, yaxis="y2", hoverinfo="skip")
    middle = dataclasses.replace(fig.BOTH, name="exact ratio of a class")
    marks = fig.points(np.sqrt(low * high), height, middle)
    marks.update(
        yaxis="y2",
        customdata=np.column_stack(
            [part.outcome, [factor_in_words(abs(each)) for each in part.log_ratio]]
        ),
        hovertemplate="%{customdata[0]}: less than %{customdata[1]} times as likely or as unlikely",
    )
    across = np.array([0.9, end])
    bounds = [
        fig.line(across, np.full(2, sign), fig.THEORY).update(name="bound ±ε_total", yaxis="y2")
        for sign in (-1.0, 1.0)
    ]
    return [*bounds, bars, marks]


PAST = 1.08
"""Times the last draw at which the bar of runs begins that the pool ended."""


def _movement_figure(params: Params, movement: pd.DataFrame) -> go.Figure:
    sensitivity = float(movement.sensitivity.iloc[0])
    moved = movement.movement.to_numpy() / sensitivity
    largest = at_most(np.abs(moved).max())
    figure = fig.figure(
        "No distance moves" if not moved.any() else f"Distances move by at most {largest} Δ",
        "movement of a distance, in units of Δ",
        "share of the draws",
        height=LOW,
        settings=f"Δ = {sensitivity:.3g}, N = {params.n:,}",
    )
    edges = np.linspace(-1.0, 1.0, MOVEMENT_BINS + 1)
    shares = np.histogram(np.clip(moved, -1.0, 1.0), edges)[0] / len(moved)
    figure.add_trace(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2.0,
            y=shares,
            width=np.diff(edges),
            name="draws of the pool",
            marker={"color": _OTHER.color},
        )
    )
    for sign in (-1, 1):
        ends = np.array([0.0, shares.max()])
        line = fig.line(np.full(2, float(sign)), ends, fig.THEORY)
        figure.add_trace(line.update(name="bound ±Δ"))
    fig.key(figure, [("draws of the pool", _OTHER.color), ("bound ±Δ", fig.THEORY.color)])
    figure.update_layout(bargap=0, showlegend=False)
    figure.update_yaxes(tickformat="~%")
    return figure.update_xaxes(range=[-1.1, 1.1], tickvals=[-1.0, -0.5, 0.0, 0.5, 1.0])


def _person_figure(result: Result) -> go.Figure:
    params, tables = cast(Params, result.params), result.tables
    data, person = tables["data"], tables["person"].iloc[0]
    source = simulators.load(params.scenario)
    series = len(source.COORDINATES) > 1
    # Short enough for a narrow column.
    figure = fig.figure(
        _move(result).capitalize(),
        source.COORDINATES[0],
        source.COORDINATES[-1] if series else "points",
        height=LOW,
        settings=_who(result),
    )
    x, y = data.place.to_numpy(float), data.amount.to_numpy(float)
    if series:
        figure.add_trace(fig.points(x, y, _DATA))
    else:
        bars = {"color": fig.translucent(_DATA.color, 0.45)}
        figure.add_trace(go.Bar(x=x, y=y, name=_DATA.name, marker=bars))
        figure.update_xaxes(range=list(source.DOMAIN))
    for style, where in ((_YOURS, "before"), (_OTHER, "after")):
        spot = np.array([person[f"place_{where}"]]), np.array([person[f"amount_{where}"]])
        look = dataclasses.replace(style, name=where, marker=MARKS[where])
        point = fig.points(*spot, look)
        figure.add_trace(point.update(marker={"size": 14}))
    figure.add_annotation(
        x=person.place_after,
        y=person.amount_after,
        ax=person.place_before,
        ay=person.amount_before,
        **dict.fromkeys(("xref", "axref"), "x"),
        **dict.fromkeys(("yref", "ayref"), "y"),
        showarrow=True,
        arrowhead=2,
        arrowwidth=2,
        arrowcolor=_OTHER.color,
        standoff=8,
        startstandoff=8,
        text="",
    )
    words = ("the data", _DATA.color), ("● before", _YOURS.color), ("◆ after", _OTHER.color)
    fig.key(figure, words)
    figure.update_layout(bargap=0.05, showlegend=False)
    return figure.update_yaxes(rangemode="tozero", tickformat=",")


_DATA = dataclasses.replace(fig.TRUTH, name="the data", marker="circle")

EDGE = 1.4
"""Times the last draw up to which the axis reaches, so that its number finds room."""

HIGH, LOW = 420, 265
"""Pixels of a figure: knob, point and curves fit on a telephone one above the other."""

MARKS = {"before": "circle", "after": "diamond"}
