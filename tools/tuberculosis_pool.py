r"""The public pool of the tuberculosis studies: distances of simulated from observed outbreaks.

For each prior draw $t$, $n$ outbreaks are simulated and compared, in pairs, with $n$ observed ones
([P21] Section 6.3; MATH M7, M8). The observed outbreaks are simulated at the truth, in several
sets, so that studies can show the effect of chance in the data.

Each draw, its outbreaks and each observed set have their own generators. So a larger pool begins
with a smaller one, and the first 100 of 1000 outbreaks are those of $n = 100$.

``python -m tools.tuberculosis_pool`` makes ``assets/tuberculosis`` again, in some minutes for each
of the two priors. It resumes from finished parts in the folder ``parts``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, scale
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.base.places import ASSETS
from abcdp_core.base.streams import generator
from abcdp_core.models.simulators import tuberculosis
from abcdp_core.models.simulators.tuberculosis import SCENARIO as TUBERCULOSIS
from abcdp_core.publish.output import files
from abcdp_core.run import runner, workers
from abcdp_core.run import tasks as cut
from abcdp_core.run.results import Result, Tables

EXPERIMENT = "tuberculosis-distances"
COLUMNS = {
    "main": ("n", "observed_set", "t", "rho"),
    "theta": ("t", "parameter", "value"),
    "outbreaks": ("t", "summary", "value"),
    "counts": ("what", "count"),
}

DRAWS_PER_TASK = 5
"""A few seconds of work at n = 1000."""

N = Parameter(
    kind="integer",
    label="N · outbreaks per data set",
    help="The smaller set is the beginning of the larger one.",
    low=100,
    high=1000,
    options=(100, 1000),
)
OBSERVED_SETS = scale(
    "Observed sets",
    "Data sets simulated at the truth; each is compared with every draw.",
    (1, 2, 5, 10),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every draw is compared with every observed set at every n."""

    n: tuple[int, ...] = N.field((100, 1000))
    pool_size: int = TUBERCULOSIS.pool_size.field(TUBERCULOSIS.pool_size_default)
    observed_sets: int = OBSERVED_SETS.field(10)
    burden: str = tuberculosis.BURDEN.field("variance 30")


Task = cut.Part[Params]
"""Some draws, whatever the size of the pool."""


def tasks(params: Params, seed: int) -> list[Task]:
    """Return tasks of a few draws each."""
    smallest = cut.with_values(params, pool_size=int(TUBERCULOSIS.pool_size.low))
    return [
        cut.Part(smallest, first, min(DRAWS_PER_TASK, params.pool_size - first), seed)
        for first in range(0, params.pool_size, DRAWS_PER_TASK)
    ]


def work(task: Task) -> Tables:
    """Simulate outbreaks at some draws and compare them with all observed sets."""
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
        "theta": _long(draws, "parameter", tuple(TUBERCULOSIS.axes), theta),
        "outbreaks": _long(draws, "summary", TUBERCULOSIS.coordinates, outbreaks[:, 0]),
        "counts": pd.DataFrame(list(counts.items()), columns=list(COLUMNS["counts"])),
    }


OBSERVED_AGAIN = "observed outbreaks drawn again"


def _theta(draws: range, task: Task) -> tuple[Array, dict[str, int]]:
    """Return parameters ``(k, 4)`` of some draws, and reason -> number of refused tries."""
    deviation = tuberculosis.PRIORS[task.params.burden].deviation[3]
    rngs = (generator(task.seed, "tuberculosis-prior", t) for t in draws)
    drawn = [tuberculosis.draw_prior(rng, 1, deviation) for rng in rngs]
    refused = np.sum([counts for _, counts in drawn], axis=0)
    theta = np.concatenate([theta for theta, _ in drawn])
    return theta, dict(zip(tuberculosis.REFUSALS, refused.tolist(), strict=True))


def _outbreaks(theta: Array, t: int, n: int, task: Task) -> Array:
    """Simulate outbreaks ``(n, 8)`` of draw ``t`` with parameters ``(1, 4)``."""
    return TUBERCULOSIS.simulate(generator(task.seed, "tuberculosis-outbreaks", t), theta, n)[0]


def _distances(outbreaks: Array, data: Array) -> list[float]:
    """Return distances of sets of outbreaks ``(k, n, 8)`` from a data set ``(n, 8)``."""
    distance = TUBERCULOSIS.distance()
    compared = distance.compare(distance.statistic(outbreaks), distance.statistic(data))
    return [float(rho) for rho in compared]


def _long(draws: range, column: str, names: tuple[str, ...], values: Array) -> pd.DataFrame:
    """Return one row per draw and name of ``values (k, p)``."""
    rows = {"t": np.repeat(list(draws), len(names)), column: list(names) * len(draws)}
    return pd.DataFrame(rows | {"value": values.ravel()})


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far."""
    tables = dict(rows) | {"counts": _total(rows["counts"])}
    privacy = "Nothing private is used: the observed outbreaks are simulated, too."
    return Result(EXPERIMENT, params, tables, "", privacy)


def _total(counts: pd.DataFrame) -> pd.DataFrame:
    """Sum counts over all tasks, which all have the same observed sets."""
    groups = counts.groupby("what", sort=False)["count"]
    total = groups.sum()
    total[OBSERVED_AGAIN] = groups.max()[OBSERVED_AGAIN]
    return total.reset_index()


def main(folder: Path, store: Path) -> None:
    """Make the pools of both priors; stored tasks are not computed again."""
    with workers.executor_for(workers.processor_count()) as executor:
        for burden in tuberculosis.PRIORS:
            params = Params(burden=burden)
            module = sys.modules["tools.tuberculosis_pool"]
            *_, result = runner.run(module, params, 1, executor, runner.Store(store))
            files.write(result, {}, folder / burden.replace(" ", "-"), ("csv", "json"))


if __name__ == "__main__":
    from tools import tuberculosis_pool

    tuberculosis_pool.main(ASSETS / "tuberculosis", Path("parts"))
