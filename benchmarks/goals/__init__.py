"""What the project promises in numbers, and studies longer than a test that measure it.

A goal is a function in a module of this folder, found by scanning, that measures one number::

    @goal("my-mechanism-error-ratio-1", at_most=1.15, epsilon_total=1.0)
    @goal("my-mechanism-error-ratio-0.1", at_most=1.3, epsilon_total=0.1)
    def my_mechanism_error_ratio(epsilon_total: float) -> Measured:
        \"\"\"Metric, Δ, mechanism it is compared with, size of the pool, number of runs.\"\"\"
        main = study("compare-mechanisms", preset="selection").tables["main"]
        ...
        return ratio(ours, theirs)

``make studies`` measures all of them, ``make studies ARGS=my-mechanism`` those whose name begins
so, and writes them to ``benchmarks/goals.csv``; other rows stay as they are. A test reads that
file: every goal has its row there and keeps its bounds.
"""

from __future__ import annotations

import csv
import functools
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core import parameters, runner, studies, summaries, workers
from abcdp_core.results import Result

FILE = Path(__file__).resolve().parents[1] / "goals.csv"
"""The committed table."""

COLUMNS = ("goal", "measured", "low", "high", "runs", "date")
"""``low`` and ``high`` are the ends of a 95 % interval of what was measured."""

SEED = 1
"""Root seed of every study."""


@dataclass(frozen=True)
class Measured:
    """A number, its 95 % interval (NaN where there is none) and how many runs it is made of."""

    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Goal:
    """A number to be measured and the bounds it must keep.

    Attributes:
        name: unique; begins with the name of what is measured.
        what: metric, Δ, runs and the like, in words: the docstring of what measures it.
        measure: measures it.
        at_least, at_most: bounds of the measured number itself, not of its interval.
    """

    name: str
    what: str
    measure: Callable[[], Measured]
    at_least: float
    at_most: float

    def is_kept(self, value: float) -> bool:
        """Whether a measured number is within the bounds; NaN never is."""
        return self.at_least <= value <= self.at_most

    def bounds(self) -> str:
        """The bounds in words."""
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
    """Declare what the decorated function measures, called with these arguments, to be a goal.

    Raises:
        ValueError: there is no bound or no docstring, or there is a goal of that name.
    """
    if math.isinf(at_least) and math.isinf(at_most):
        raise ValueError(f"goal {name!r} has no bound.")

    def declare(measure: Measure) -> Measure:
        if name in _goals:
            raise ValueError(f"two goals are called {name!r}.")
        what = inspect.getdoc(measure)
        if what is None:
            raise ValueError(f"goal {name!r} does not say what it measures.")
        _goals[name] = Goal(name, what, functools.partial(measure, **arguments), at_least, at_most)
        return measure

    return declare


def goals() -> dict[str, Goal]:
    """Name -> goal, of all modules of this folder, in the order of names."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_goals.items()))


# ------------------------------------------------------------------------------------- measuring


@functools.cache
def study(experiment: str, preset: str | None = None, seed: int = SEED, **settings: Any) -> Result:
    """The complete result of a study, computed once for all goals that rest on it.

    Args:
        experiment: its name.
        preset: where its parameters start; at the defaults if ``None``.
        seed: root seed.
        settings: parameters that differ, as on the command line; lists as tuples.
    """
    module = studies.load(experiment)
    base = None if preset is None else studies.preset(module, preset)
    texts = {key: parameters.text_of(value) for key, value in settings.items()}
    params = module.Params.from_text(texts, base)
    with workers.executor_for(workers.processor_count()) as executor:
        *_, result = runner.run(module, params, seed, executor)
    return result


def mean(values: ArrayLike) -> Measured:
    """Mean of one number per run ``(runs,)`` with its bootstrap interval."""
    each = np.asarray(values, dtype=float)
    low, high = summaries.mean_interval(each, np.random.default_rng(SEED))
    return Measured(float(each.mean()), float(low), float(high), len(each))


def ratio(above: ArrayLike, below: ArrayLike) -> Measured:
    """Ratio of two means over the same runs ``(runs,)``, bootstrapped by drawing whole runs."""
    pairs = np.column_stack([np.asarray(above, dtype=float), np.asarray(below, dtype=float)])
    runs = len(pairs)
    rng = np.random.default_rng(SEED)
    means = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=2000) @ pairs
    low, high = np.quantile(means[:, 0] / means[:, 1], [0.025, 0.975])
    return Measured(float(np.divide(*pairs.mean(axis=0))), float(low), float(high), runs)


def share(successes: int, runs: int) -> Measured:
    """Share of independent runs, with its Clopper-Pearson interval."""
    low, high = summaries.binomial_interval(successes, runs)
    return Measured(successes / runs, float(low), float(high), runs)


# ----------------------------------------------------------------------------------------- table


def read(file: Path) -> dict[str, dict[str, str]]:
    """Name of a goal -> its row; empty if there is no file."""
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        return {row["goal"]: row for row in csv.DictReader(stream)}


def write(rows: Mapping[str, Mapping[str, str]], names: Iterable[str], file: Path) -> None:
    """Write the rows of these goals, as far as there are any, in this order."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in names if name in rows)


def row(name: str, measured: Measured, date: str) -> dict[str, str]:
    """A row of the table, numbers to four significant digits."""
    numbers = [f"{each:.4g}" for each in (measured.value, measured.low, measured.high)]
    return dict(zip(COLUMNS, (name, *numbers, str(measured.runs), date), strict=True))
