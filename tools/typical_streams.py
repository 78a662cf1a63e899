"""Streams with default settings, each with its own people and noise, for ``assets/typical``.

``python -m tools.typical_streams`` adds the missing streams; all take a quarter of an hour of one
core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.adaptive.typical import BUDGETS, COLUMNS, FILE, PEOPLE, RUNS, SAMPLER, SEED, WAYS


def stream(
    epsilon_total: float, interval: str, run: int, people: Sequence[int] = PEOPLE
) -> Iterator[tuple[float, int, int, str, float, float]]:
    """Yield rows of the table: the posterior in one stream after so many people."""
    params = StreamParams(n=max(people))
    asked = params.stream(epsilon_total, SAMPLER, interval, SEED, run)
    for _, row in asked.ask(None, 0, *params.people(SEED, run)):
        if row.t in people:
            error = abs(row.mean_mu - params.mu)
            yield epsilon_total, run, row.t, interval, float(row.sd_mu), float(error)


def make(file: Path, budgets: Sequence[float] = BUDGETS, runs: int = RUNS) -> None:
    """Add the streams that a file lacks; run 0 is the one on the page."""
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=list(COLUMNS))
    for budget in budgets:
        done = set(known[known.epsilon_total == budget].run)
        for run in sorted(set(range(1, runs + 1)) - done):
            rows = [row for way in WAYS for row in stream(budget, way, run)]
            added = pd.DataFrame(rows, columns=list(COLUMNS))
            added.to_csv(file, mode="a", header=not file.exists(), index=False, float_format="%.6g")


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    make(FILE)
