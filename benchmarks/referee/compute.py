"""Compute the posterior of a cell by weights and by chains, and what ``infer`` answers.

The reference takes as long as it needs; ``infer`` answers as it answers anybody.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.summaries import autocorrelation_time, effective_sample_size, weighted_quantile
from abcdp_core.posterior import augmentation, rounds
from abcdp_core.posterior.augmentation import Chain
from abcdp_core.posterior.noise import Laplace
from abcdp_core.posterior.published import inference, problems
from abcdp_core.posterior.published import reference as exact
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.rounds import Effort, InferenceProblem
from benchmarks.referee.models import FAMILIES

Array = NDArray[np.float64]

REFERENCE, ANSWER = 11, 1
"""Seeds of the reference and of the answer that is scored."""

SHIPPED = ("linear-regression", "log-linear", "sir-epidemic")
"""Families that are one problem in the folder of examples."""

WANTED, SIMULATED, RECORDS = 20_000, 1_000_000, 500_000_000
"""Effective sample size of the reference's weights, and most data sets and records for it."""

CHAINS, SWEEPS, LONGER = 2, 12_000, 192_000
"""Chains of the reference, their sweeps, and those where both ways did not agree."""

SECONDS = 25.0
"""After which ``infer`` begins no round."""

PROBABILITIES = {"low": 0.05, "high": 0.95, "median": 0.5}
"""Below each estimate; the last one gives the effective sample size that is shown."""


@dataclass(frozen=True)
class Cell:
    """A released vector ``z (k,)`` of n records with noise of ε, and a family of models."""

    family: str
    epsilon: float
    n: int
    z: tuple[float, ...]

    @property
    def problem(self) -> Problem:
        """Return it as ``infer`` would read it from a file."""
        if self.family in SHIPPED:
            file = EXAMPLES / f"{self.family.replace('-', '_')}.toml"
            return dataclasses.replace(problems.read(file), seed=ANSWER)
        family, z = FAMILIES[self.family], np.array(self.z)
        noise = Laplace((family.scale(self.n, self.epsilon),) * len(z))
        model, name = family.model(self.n), self.family
        return Problem(name, model, name, z, noise, 2000, 2_000_000, ANSWER, spent=None)


def weights(cell: Cell) -> list[dict[str, Any]]:
    """Return a row of estimates for each output, by weights; none if these do not suffice."""
    return _rows(cell, _weights(cell))


def chains(cell: Cell) -> list[dict[str, Any]]:
    """Return the same by chains; of shipped problems, what was computed without adaptation."""
    return _rows(cell, (_fixed if cell.family in SHIPPED else _chains)(cell))


def longer(cell: Cell) -> list[dict[str, Any]]:
    """Return the same by longer chains."""
    return _rows(cell, _chains(cell, LONGER))


def answer(cell: Cell) -> list[dict[str, Any]]:
    """Return the same of what ``infer`` answers."""
    return _rows(cell, _answer(cell))


def _rows(cell: Cell, found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    key = {"family": cell.family, "epsilon": cell.epsilon, "n": cell.n}
    family = FAMILIES.get(cell.family)
    return [key | row for row in found if family is None or row["parameter"] in family.outputs]


def _weights(cell: Cell) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    question = _question(cell.problem)
    found = rounds.infer(question, Effort(WANTED, min(SIMULATED, RECORDS // cell.n)))
    if found.way == "weights":
        theta, size = question.model.scale.theta(found.x), effective_sample_size(found.weights)
        yield from _of("weights", question.model, theta, found.weights, lambda _: size, started)


def _chains(cell: Cell, sweeps: int = SWEEPS) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    question = _question(cell.problem)
    runs = [augmentation.run(Chain(question, number, sweeps)) for number in range(CHAINS)]
    theta = np.concatenate([question.model.scale.theta(each.x) for each in runs])
    even = np.full(len(theta), 1.0 / len(theta))
    yield from _of("chains", question.model, theta, even, _size_of_chains, started)


def _fixed(cell: Cell) -> Iterator[dict[str, Any]]:
    """Give the means of a long run without adaptation (``tools/exact_answers.py``)."""
    table = exact.read()
    for row in table[table.problem == cell.family.replace("-", "_")].itertuples():
        error = row.sd / math.sqrt(row.effective_sample_size)
        yield {
            "parameter": row.parameter,
            **{"way": "fixed", "by": "fixed", "effective": row.effective_sample_size},
            **{"mean": row.mean, "mean_error": error},
        }


def _size_of_chains(values: Array) -> float:
    """Return the effective sample size of values ``(m,)``, one chain after another."""
    chains = np.split(values, CHAINS)
    return float(sum(len(each) / autocorrelation_time(each) for each in chains))


def _answer(cell: Cell) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    posterior = inference.infer(cell.problem, seconds=SECONDS)
    model, found = _question(cell.problem).model, posterior.summary
    made = _of(
        "infer", model, posterior.theta, posterior.weights, lambda _: found.effective, started
    )
    for row in made:
        yield row | {"by": found.way}


def _question(problem: Problem) -> InferenceProblem:
    assert isinstance(problem.source, Model)
    return InferenceProblem(problem.source, problem.noise, problem.query, REFERENCE)


def _of(
    way: str,
    model: Model,
    theta: Array,
    weights: Array,
    size: Callable[[Array], float],
    started: float,
) -> Iterator[dict[str, Any]]:
    """Summarize outputs ``(m, q)`` of weights ``(m,)``; values ``(m,)`` have an effective size."""
    seconds = time.monotonic() - started
    for j, output in enumerate(model.outputs):
        values = theta[:, j]
        mean = float(weights @ values)
        sd = math.sqrt(weights @ (values - mean) ** 2)
        row = {"parameter": output, "way": way, "by": way, "seconds": seconds}
        row |= {"mean": mean, "mean_error": sd / math.sqrt(size(values))}
        for name, p in PROBABILITIES.items():
            value = _quantiles(values, weights, [p])[0]
            row["effective"] = size((values <= value).astype(float))
            # Values one standard error of the probability below and above.
            reach = math.sqrt(p * (1.0 - p) / row["effective"])
            below, above = _quantiles(values, weights, np.clip([p - reach, p + reach], 0.0, 1.0))
            row |= {name: value, f"{name}_error": (above - below) / 2.0}
        low, high = _quantiles(values, weights, [0.25, 0.75])
        yield row | {"quartiles_apart": high - low}


def _quantiles(values: Array, weights: Array, probabilities: ArrayLike) -> list[float]:
    found: list[float] = weighted_quantile(values[:, None], weights, probabilities)[:, 0].tolist()
    return found
