"""Numeric goals of the project, and long studies that measure them.

A goal is a function in a module of this folder, found by scanning, that measures one number::

    @goal("my-mechanism-error-ratio-1", at_most=1.15, epsilon_total=1.0)
    def my_mechanism_error_ratio(epsilon_total: float) -> Measured:
        \"\"\"Metric, Δ, mechanism it is compared with, size of the pool, number of runs.\"\"\"
        main = study("compare-mechanisms", preset="selection").tables["main"]
        return ratio(ours, theirs)

``make studies`` measures all goals, ``make studies ARGS=my-mechanism`` those whose names begin like
that, and writes them to ``benchmarks/goals.csv``; other rows stay the same. A test checks that
every goal has a row there and is met.
"""

from __future__ import annotations

import csv
import functools
import importlib
import inspect
import math
import multiprocessing
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core import studies
from abcdp_core.base import parameters, summaries
from abcdp_core.run import runner, workers
from abcdp_core.run.results import Result

FILE = Path(__file__).resolve().parents[1] / "goals.csv"
"""The committed table."""

COLUMNS = ("goal", "measured", "low", "high", "runs", "date")
"""``low`` and ``high`` are the 95 % interval of the measured number."""

SEED = 1
"""Root seed of every study."""


@dataclass(frozen=True)
class Measured:
    """A number, its 95 % interval (NaN if there is none) and its number of runs."""

    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Goal:
    """A number to measure, what it is in words, and bounds of itself, not of its interval."""

    name: str
    what: str
    measure: Callable[[], Measured]
    at_least: float
    at_most: float

    def is_kept(self, value: float) -> bool:
        """Return whether a measured number is within the bounds; NaN is not."""
        return self.at_least <= value <= self.at_most

    def bounds(self) -> str:
        """Return the bounds in words."""
        if math.isinf(self.at_most):
            return f"at least {self.at_least:g}"
        if math.isinf(self.at_least):
            return f"at most {self.at_most:g}"
        return f"{self.at_least:g} to {self.at_most:g}"


_goals: dict[str, Goal] = {}

Measure = TypeVar("Measure", bound=Callable[..., Measured])


def goal(
    name: str, *, at_least: float = -math.inf, at_most: float = math.inf, **arguments: Any
) -> Callable[[Measure], Measure]:
    """Declare a goal: the number that the decorated function returns for these arguments."""
    assert math.isfinite(at_least) or math.isfinite(at_most), f"goal {name} has no bound"

    def declare(measure: Measure) -> Measure:
        assert name not in _goals, f"two goals are called {name}"
        what = inspect.getdoc(measure) or ""
        _goals[name] = Goal(name, what, functools.partial(measure, **arguments), at_least, at_most)
        return measure

    return declare


def goals() -> dict[str, Goal]:
    """Return name -> goal for all modules in this folder, sorted by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "__main__":
            importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_goals.items()))


@functools.cache
def study(experiment: str, preset: str | None = None, seed: int = SEED, **settings: Any) -> Result:
    """Return the complete result of a study, computed once for all goals.

    It starts from a preset or the defaults; ``settings`` differ, with lists as tuples.
    """
    module = studies.load(experiment)
    base = None if preset is None else studies.preset(module, preset)
    texts = {key: parameters.text_of(value) for key, value in settings.items()}
    params = module.Params.from_text(texts, base)
    with workers.executor_for(workers.processor_count()) as executor:
        *_, result = runner.run(module, params, seed, executor)
    return result


def on_all_processors(work: Callable[[Any], Any], asked: Iterable[Any]) -> list[Any]:
    """Return what a function gives for each, computed in copies of this process."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(mp_context=context) as processes:
        return list(processes.map(work, asked))


def alone(value: float, runs: int = 1) -> Measured:
    """Return a number without an interval."""
    return Measured(float(value), math.nan, math.nan, runs)


def mean(values: ArrayLike) -> Measured:
    """Return the mean of one number per run ``(runs,)`` with its bootstrap interval."""
    each = np.asarray(values, dtype=float)
    low, high = summaries.mean_interval(each, np.random.default_rng(SEED))
    return Measured(float(each.mean()), float(low), float(high), len(each))


def ratio(above: ArrayLike, below: ArrayLike) -> Measured:
    """Return the ratio of two means over the same runs ``(runs,)``; the bootstrap draws runs."""
    pairs = np.column_stack([np.asarray(above, dtype=float), np.asarray(below, dtype=float)])
    runs = len(pairs)
    rng = np.random.default_rng(SEED)
    means = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=2000) @ pairs
    low, high = np.quantile(means[:, 0] / means[:, 1], [0.025, 0.975])
    return Measured(float(np.divide(*pairs.mean(axis=0))), float(low), float(high), runs)


def share(successes: int, runs: int) -> Measured:
    """Return the share of successful independent runs with its Clopper-Pearson interval."""
    low, high = summaries.binomial_interval(successes, runs)
    return Measured(successes / runs, float(low), float(high), runs)


def read(file: Path) -> dict[str, dict[str, str]]:
    """Return name of a goal -> its row."""
    with file.open(encoding="utf-8", newline="") as stream:
        return {row["goal"]: row for row in csv.DictReader(stream)}


def write(rows: Mapping[str, Mapping[str, str]], names: Iterable[str], file: Path) -> None:
    """Write the rows of these goals in this order; goals without a row are left out."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in names if name in rows)


def row(name: str, measured: Measured, date: str) -> dict[str, str]:
    """Return a row of the table with numbers to four significant digits."""
    numbers = [f"{each:.4g}" for each in (measured.value, measured.low, measured.high)]
    return dict(zip(COLUMNS, (name, *numbers, str(measured.runs), date), strict=True))
