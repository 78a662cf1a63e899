r"""How far are simulated outbreaks from the observed ones?

The public step of the tuberculosis study ([P21] Section 6.3), the part that takes long: for each
draw $t$ from the prior, $n$ outbreaks are simulated and compared, in pairs, with $n$ observed ones,

$$\rho_t = \frac1n \sum_{j=1}^{n} \min\left(d(Y^*_j, Y_{t,j}),\, C\right), \qquad C = 200
\qquad \text{(MATH M7, M8)}$$

where $d$ is a weighted distance of eight summaries. One outbreak changes $\rho_t$ by at most $C/n$.
The observed outbreaks are simulated at the truth, several sets of them, so that a study of the
private step can show what chance in the data does. A draw is accepted if $\rho_t$ is at most
$\epsilon_{abc}$, 150 in the paper.

Everything has a generator of its own: each draw, its outbreaks, each observed set. So a larger pool
begins with a smaller one, and the first 100 of 1000 outbreaks are those of $n = 100$.

With its own settings and seed 1 this is the pool that comes with the program. To make it again
takes some minutes, and goes on where it was stopped: ``python -m abcdp_core run
tuberculosis-distances --store parts --out assets/tuberculosis/variance-30 --formats csv,json``, and
the same with ``--set 'burden=standard deviation 30'`` and that name for the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import experiments, sentences
from abcdp_core import figures as fig
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "tuberculosis-distances"
TITLE = "How far simulated outbreaks are from the observed ones"
COLUMNS = {
    "main": ("n", "observed_set", "t", "rho"),
    "theta": ("t", "parameter", "value"),
    "outbreaks": ("t", "summary", "value"),
    "counts": ("what", "count"),
}

DRAWS_PER_TASK = 5
"""Some seconds of work at n = 1000."""

N = Parameter(
    kind="integer",
    label="N · outbreaks per data set",
    help="The smaller set is the beginning of the larger one.",
    low=100,
    high=1000,
    options=(100, 1000),
)
OBSERVED_SETS = Parameter(
    kind="integer",
    label="Observed sets",
    help="Data sets simulated at the truth; each is compared with every draw.",
    low=1,
    high=10,
    steps=(1, 2, 5, 10),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every draw is compared with every observed set at every n."""

    n: tuple[int, ...] = N.field((100, 1000), many=True)
    pool_size: int = tuberculosis.POOL_SIZE.field(tuberculosis.POOL_SIZE_DEFAULT)
    observed_sets: int = OBSERVED_SETS.field(10)
    burden: str = tuberculosis.BURDEN.field("variance 30")


PRESETS: dict[str, BaseParams] = {}


Task = experiments.Part[Params]
"""Some draws, whatever the size of the pool."""


def tasks(params: Params, seed: int) -> list[Task]:
    """A few draws each."""
    smallest = experiments.with_values(params, pool_size=int(tuberculosis.POOL_SIZE.low))
    return [
        experiments.Part(smallest, first, min(DRAWS_PER_TASK, params.pool_size - first), seed)
        for first in range(0, params.pool_size, DRAWS_PER_TASK)
    ]


def work(task: Task) -> Tables:
    """Simulate some draws and compare them with all observed sets."""
    params, draws = task.params, task.pieces
    largest = max(params.n)
    sets = [
        tuberculosis.observed_set(index, largest, task.seed)
        for index in range(params.observed_sets)
    ]
    theta, refused = _theta(draws, task)
    outbreaks = np.stack([_outbreaks(theta[[i]], t, largest, task) for i, t in enumerate(draws)])
    rows = [
        (n, index, t, rho)
        for n in params.n
        for index, (data, _) in enumerate(sets)
        for t, rho in zip(draws, _distances(outbreaks[:, :n], data[:n]), strict=True)
    ]
    counts = {
        **{f"prior: {reason}": number for reason, number in refused.items()},
        OBSERVED_AGAIN: sum(again for _, again in sets),
        "outbreaks without any observation": int((outbreaks[..., 0] == 0.0).sum()),
    }
    return {
        "main": pd.DataFrame(rows, columns=list(COLUMNS["main"])),
        "theta": _long(draws, "parameter", tuple(tuberculosis.AXES), theta),
        "outbreaks": _long(draws, "summary", tuberculosis.COORDINATES, outbreaks[:, 0]),
        "counts": pd.DataFrame(list(counts.items()), columns=list(COLUMNS["counts"])),
    }


OBSERVED_AGAIN = "observed outbreaks drawn again"


def _theta(draws: range, task: Task) -> tuple[Array, dict[str, int]]:
    """Parameters ``(k, 4)`` of some draws, and how many tries were refused for which reason."""
    drawn = [
        tuberculosis.draw_prior(
            generator(task.seed, "tuberculosis-prior", t),
            1,
            tuberculosis.PRIORS[task.params.burden].deviation[3],
        )
        for t in draws
    ]
    refused = np.sum([counts for _, counts in drawn], axis=0)
    theta = np.concatenate([theta for theta, _ in drawn])
    return theta, dict(zip(tuberculosis.REFUSALS, refused.tolist(), strict=True))


def _outbreaks(theta: Array, t: int, n: int, task: Task) -> Array:
    """Outbreaks ``(n, 8)`` of draw ``t`` with parameters ``(1, 4)``."""
    return tuberculosis.simulate(generator(task.seed, "tuberculosis-outbreaks", t), theta, n)[0]


def _distances(outbreaks: Array, data: Array) -> list[float]:
    """Distances of sets of outbreaks ``(k, n, 8)`` to a data set ``(n, 8)``."""
    distance = tuberculosis.distance()
    compared = distance.compare(distance.statistic(outbreaks), distance.statistic(data))
    return [float(rho) for rho in compared]


def _long(draws: range, column: str, names: tuple[str, ...], values: Array) -> pd.DataFrame:
    """One row per draw and name of ``values (k, p)``."""
    rows = {"t": np.repeat(list(draws), len(names)), column: list(names) * len(draws)}
    return pd.DataFrame(rows | {"value": values.ravel()})


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    tables = dict(rows) | {"counts": _total(rows["counts"])}
    privacy = (
        "Nothing private is used: the observed outbreaks are simulated too, at parameters that "
        "everyone knows."
    )
    return Result(EXPERIMENT, params, tables, _summary(tables), privacy)


def _total(counts: pd.DataFrame) -> pd.DataFrame:
    """Counts over all tasks; each of them tells the same about the observed sets."""
    groups = counts.groupby("what", sort=False)["count"]
    total = groups.sum()
    total[OBSERVED_AGAIN] = groups.max()[OBSERVED_AGAIN]
    return total.reset_index()


def _summary(tables: Tables) -> str:
    main = tables["main"]
    near = main.rho <= tuberculosis.EPSILON_ABC_DEFAULT
    shares = "; ".join(
        f"{100 * near[part.index].mean():.1f} % at N = {n:,}, where the nearest has "
        f"{part.rho.min():.3g}"
        for n, part in main.groupby("n")
    )
    sets, draws = main.observed_set.nunique(), main.t.nunique()
    counts = tables["counts"].set_index("what")["count"]
    tries = int(counts[counts.index.str.startswith("prior: ")].sum())
    again = int(counts[OBSERVED_AGAIN])
    return (
        f"Of {draws:,} draws compared with {sentences.counted(sets, 'observed set')}, these are "
        f"within ε_abc = {tuberculosis.EPSILON_ABC_DEFAULT:g}: {shares}. The prior refused "
        f"{sentences.counted(tries, 'try', 'tries')}; "
        f"{sentences.counted(again, 'observed outbreak was', 'observed outbreaks were')} "
        f"drawn again."
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Share of draws within each distance, mean and range over the observed sets."""
    main, params = result.tables["main"], cast(Params, result.params)
    clip, threshold = tuberculosis.distance().bound, tuberculosis.EPSILON_ABC_DEFAULT
    figure = fig.figure(
        finding(main),
        "distance ρ",
        "share of draws within it",
        settings=f"β: {params.burden}; {sentences.counted(main.t.nunique(), 'draw')} of the prior, "
        f"mean and range over {sentences.counted(main.observed_set.nunique(), 'observed set')}",
    )
    grid = np.linspace(0.0, clip, 401)
    labels = []
    for style, n in zip(fig.styles([f"N = {n:,}" for n in params.n]), params.n, strict=True):
        shares = _shares(main[main.n == n], grid)
        name = f"{style.name}, range over sets"
        band = fig.band(grid, shares.min(axis=0), shares.max(axis=0), style)
        mean = shares.mean(axis=0)
        figure.add_traces([band.update(name=name), fig.line(grid, mean, style)])
        half = int(np.searchsorted(mean, 0.5))
        labels.append((half, style))
    # Where each is half way up, beside the others: the left one to the left.
    for place, (half, style) in enumerate(sorted(labels, key=lambda label: label[0])):
        at = float(grid[min(half, len(grid) - 1)])
        side = "middle right" if place == 0 and len(labels) > 1 else "middle left"
        fig.note(figure, at, 0.5 if place == 0 else 0.3, f" {style.name} ", style.color, side)
    for distance, height, name in ((threshold, 0.85, "paper's ε_abc "), (clip, 1.0, "largest ")):
        figure.add_trace(fig.line(np.full(2, distance), np.array([0.0, 1.0]), fig.GUIDE))
        fig.note(figure, distance, height, f"{name}{distance:g} ", fig.GUIDE.color, "top right")
    figure.update_xaxes(range=[0, 1.02 * clip], tickvals=np.linspace(0.0, clip, 5))
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%", tickvals=[0.0, 0.25, 0.5, 0.75, 1.0])
    figure.update_layout(showlegend=False)
    return {"distances": fig.Drawn(figure, result.summary)}


def finding(main: pd.DataFrame) -> str:
    """How many draws are within the paper's threshold, at the smallest and the largest size."""
    near = (main.rho <= tuberculosis.EPSILON_ABC_DEFAULT).groupby(main.n).mean()
    shares = [f"{100.0 * share:.0f} % at N = {n:,}" for n, share in near.items()]
    return f"Within the paper's threshold: {', '.join(dict.fromkeys([shares[0], shares[-1]]))}"


def _shares(part: pd.DataFrame, grid: Array) -> Array:
    """Shares ``(sets, points)`` of draws that are within each distance of the grid."""
    return np.array(
        [
            np.searchsorted(np.sort(rho.to_numpy()), grid, side="right") / len(rho)
            for _, rho in part.groupby("observed_set").rho
        ]
    )
