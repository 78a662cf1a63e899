"""Coverage of noise-aware intervals against the size of the pool, a few minutes on one processor.

``python -m benchmarks.minimum_pool`` prints the table in the docstring of the private embedding:
draws moved along the regression at every size of the pool, and for small ones in brackets draws
left where they are, and importance weights however little they are worth.
"""

from __future__ import annotations

from unittest import mock

import numpy as np

from abcdp_core.experiments import coverage
from abcdp_core.mechanisms import private_embedding

SIZES = (10, 20, 50, 100, 200, 300, 500, 1000)
SMALL = (10, 20, 50, 100, 200)
"""Sizes at which other ways are shown too."""

BUDGETS = (0.01, 0.1, 1.0, 10.0)
SEEDS = range(1, 11)
"""Each has a pool of its own."""

DATA_SETS = 60
"""For each seed."""


def main() -> None:
    """Print a row of the table for each size."""
    for size in SIZES:
        # As many draws as there are, up to the usual number, are enough to be moved; then more.
        ways = [_coverage(size, FEWEST=min(size, private_embedding.FEWEST), PER_NUMBER=1)]
        if size in SMALL:
            ways += [_coverage(size, FEWEST=size + 1), _coverage(size, ENOUGH=0.0)]
        cells = [[f"{each:.2f}" for each in way] for way in zip(*ways, strict=True)]
        shown = [moved + (f" ({', '.join(rest)})" if rest else "") for moved, *rest in cells]
        print(f"| {size} | {' | '.join(shown)} |", flush=True)


def _coverage(size: int, **constants: float) -> list[float]:
    """Coverage of the noise-aware intervals at every budget, with the mechanism's constants so."""
    with mock.patch.dict(vars(private_embedding), constants):
        return _measured(size)


def _measured(size: int) -> list[float]:
    params = coverage.Params(
        mechanism=("embedding-noise-aware",),
        pool_size=size,
        c=1,
        epsilon_total=BUDGETS,
        runs=DATA_SETS,
    )
    found = []
    for seed in SEEDS:
        coverage.prepare(params, seed, lambda _: None)
        for task in coverage.tasks(params, seed):
            main = coverage.work(task)["main"]
            aware = main[main.mechanism != coverage.NON_PRIVATE]
            inside = (aware.low <= aware.truth) & (aware.truth <= aware.high)
            found.append(inside.groupby(aware.epsilon_total).mean().to_numpy())
    return [float(each) for each in np.mean(found, axis=0)]


if __name__ == "__main__":
    main()
