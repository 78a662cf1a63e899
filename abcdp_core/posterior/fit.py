r"""Posterior predictive check: compare released numbers with replicates (MATH E9).

A replicate is simulated at a draw from the posterior and gets fresh noise of the same distribution.
Tests compare z with the replicates: each number by the share of replicates that are as extreme, all
numbers jointly by the rank of their Mahalanobis distance, and a series also by the spread of its
second differences, which measures jaggedness. The p-value is the smallest of these times the number
of tests (Bonferroni), at most 1. It uses only z and public information, so it costs no privacy.
Parameters can absorb a misfit, so a large p-value proves little.

A posterior that piles up in the outermost :data:`EDGE` of a prior's probability is reported as a
remark, not as a misfit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import counted, listed
from abcdp_core.base.streams import generator
from abcdp_core.models.priors import Edges
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Noise
from abcdp_core.posterior.rounds import (
    Draws,
    InferenceProblem,
    TaskMap,
    WeightedDraws,
    one_by_one,
    simulated_at,
)

REPLICATES = 20_000

MISFIT = 0.01
"""A p-value below this is a misfit."""

REFUSED = 0.001
"""Below this p-value an estimate that rests on few draws is not shown."""

EDGE = 0.02
"""Share of a prior's probability at either end that counts as its edge."""

PILED = 0.2
"""Share of the posterior at an edge from which there is a remark."""

ONLY_IF_RIGHT = " The results hold only if the model is right."
"""End of a statement that results follow."""

NAMED = 4
"""Most numbers named in a sentence."""


@dataclass(frozen=True)
class Number:
    """A released number that few replicates reach: its name, side and two-sided probability."""

    name: str
    direction: Literal["high", "low"]
    probability: float


@dataclass(frozen=True)
class Edge:
    """An end of a prior with a large share of the posterior in its outermost :data:`EDGE`."""

    parameter: str
    end: Literal["upper", "lower"]
    mass: float


@dataclass(frozen=True)
class Fit:
    """How well a model fits the released numbers.

    Attributes:
        p_value: corrected for the number of tests.
        numbers: those that are unusual by themselves.
        together: probability that replicates are as far from their mean as the released numbers.
        curve: for a series, the p-value of its second differences, negative if it is smoother than
            replicates; else 1.
        edges: where the posterior piles up.
        band: quantiles 0.05, 0.5 and 0.95 of each number over replicates ``(3, k)``.
        is_blind: whether the replicates vary so much more than they should that a number which is
            far off would hardly be noticed.
    """

    p_value: float
    numbers: tuple[Number, ...]
    together: float
    curve: float
    edges: tuple[Edge, ...]
    band: Array = field(repr=False)
    is_blind: bool = False

    @property
    def is_checked(self) -> bool:
        """Whether the check says anything: a misfit is one even among such replicates."""
        return self.is_misfit or not self.is_blind

    @property
    def is_misfit(self) -> bool:
        """Whether the model hardly ever makes such numbers."""
        return self.p_value < MISFIT

    @property
    def is_jagged(self) -> bool:
        """Whether the model does not fit because the series jumps more than its replicates."""
        return self.is_misfit and 0.0 < self.curve < MISFIT

    @property
    def title(self) -> str:
        """State the fit in a line."""
        if not self.is_checked:
            return "The fit was not checked: too few draws are near"
        if self.is_misfit:
            return "The model hardly ever makes such numbers"
        return "The numbers are consistent with the model"

    @property
    def statement(self) -> str:
        """State the fit in words."""
        if not self.is_checked:
            return (
                "Whether the model fits was not checked: too few draws of the pool are near. A "
                "larger pool, or a simulator, helps."
            )
        if not self.is_misfit:
            return (
                "The released numbers are consistent with the model's predictions (predictive "
                f"p-value {self.p_value:.2f}); this does not prove that the model is right."
            )
        p = "p below 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"The model hardly ever makes such numbers ({p}): {self._reason()}.{ONLY_IF_RIGHT}"

    def _reason(self) -> str:
        if self.numbers:
            sides = {"high": "higher", "low": "lower"}
            each = [
                f"{_names([one.name for one in self.numbers if one.direction == side])} "
                f"{words} than it makes them"
                for side, words in sides.items()
                if any(one.direction == side for one in self.numbers)
            ]
            return " and ".join(each)
        if abs(self.curve) < self.together:
            how = "jumps more" if self.curve > 0.0 else "is smoother"
            return f"from one number to the next the series {how} than the model's"
        return "each number is plausible on its own, but not all of them together"

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each edge."""
        return tuple(
            f"The posterior of {each.parameter} piles up at the {each.end} end of the prior; the "
            f"data may favor {'larger' if each.end == 'upper' else 'smaller'} values."
            for each in self.edges
        )

    def renamed(self, new: Callable[[str], str]) -> Fit:
        """Return the fit with parameters and numbers renamed."""
        numbers = (dataclasses.replace(each, name=new(each.name)) for each in self.numbers)
        ends = (dataclasses.replace(each, parameter=new(each.parameter)) for each in self.edges)
        return dataclasses.replace(self, numbers=tuple(numbers), edges=tuple(ends))

    def record(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return {
            "checked": self.is_checked,
            "p_value": self.p_value if self.is_checked else None,
            "numbers": [dataclasses.asdict(each) for each in self.numbers],
            "edges": [dataclasses.asdict(each) for each in self.edges],
            "statement": " ".join([self.statement, *self.remarks]),
        }


def _names(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{counted(len(names), 'number')} are"
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'}"


@dataclass(frozen=True)
class Replicates:
    """Replicates to simulate at ``x (m, d)`` in one task, with the address of its randomness."""

    model: Model
    x: Array = field(repr=False)
    seed: int
    chunk: int


def replicate(task: Replicates) -> Draws:
    """Simulate the replicates of a task."""
    rng = generator(task.seed, "posterior-replicates", task.chunk)
    return simulated_at(task.model, task.x, rng)


def fit(
    question: InferenceProblem,
    found: WeightedDraws,
    each: TaskMap = one_by_one,
    size: int = REPLICATES,
) -> Fit:
    """Compare the released numbers with replicates from the posterior."""
    model, step = question.model, question.model.chunk
    x = found.x[evenly(found.weights, size)]
    tasks = [
        Replicates(model, x[start : start + step], question.seed, chunk)
        for chunk, start in enumerate(range(0, size, step))
    ]
    draws = Draws.joined(list(each("Fit", replicate, tasks)))
    numbers = draws.numbers[draws.done]
    ends = edges(found, model.prior.edges, model.parameters)
    of_release = question.z, numbers, question.noise, question.seed
    return compared(*of_release, model.numbers, ends, is_series=model.is_series)


def in_proportion(weights: Array, size: int) -> NDArray[np.int64]:
    """Return ``size`` indices in proportion to weights ``(m,)``, in order."""
    reached = np.cumsum(weights)
    points = reached[-1] * (np.arange(size) + 0.5) / size
    return np.minimum(np.searchsorted(reached, points), len(weights) - 1).astype(np.int64)


def evenly(weights: Array, size: int) -> NDArray[np.int64]:
    """Return the same, shuffled in a fixed order."""
    return generator(0, "posterior-order").permutation(in_proportion(weights, size))


def edges(
    draws: WeightedDraws, ends: Sequence[Edges], parameters: Sequence[str]
) -> tuple[Edge, ...]:
    """Find the ends at which the posterior piles up."""
    low, high = np.quantile(draws.prior.x, [EDGE, 1.0 - EDGE], axis=0)
    piled: list[Edge] = []
    for each in ends:
        x, name = draws.x[:, each.x], parameters[each.parameter]
        below = float(draws.weights @ (x < low[each.x]))
        above = float(draws.weights @ (x > high[each.x]))
        if below > PILED and not each.low_is_natural:
            piled.append(Edge(name, "lower", below))
        if above > PILED and not each.high_is_natural:
            piled.append(Edge(name, "upper", above))
    return tuple(piled)


def compared(
    z: Array,
    numbers: Array,
    noise: Noise,
    seed: int,
    names: Sequence[str],
    ends: tuple[Edge, ...],
    *,
    is_series: bool = False,
) -> Fit:
    """Compare released numbers ``z (k,)`` with replicates.

    Args:
        z: released numbers ``(k,)``.
        numbers: of the replicates, before noise ``(m, k)``.
        noise: its distribution.
        seed: root of all random numbers.
        names: of the numbers.
        ends: where the posterior piles up.
        is_series: whether the numbers are a time series.
    """
    made = noise.noisy(generator(seed, "posterior-replicates-noise"), numbers)
    higher, lower = _share(made >= z), _share(made <= z)
    tails = np.minimum(1.0, 2.0 * np.minimum(higher, lower))
    unit = np.median(np.abs(made), axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    bent, bent_z = np.arcsinh(made / unit), np.arcsinh(z / unit)
    together = _rank(bent, bent_z)
    tests = [*tails.tolist(), together]
    curve = 1.0
    if is_series and len(z) > 3:
        curve = _curve(bent, bent_z)
        tests.append(abs(curve))
    p_value = min(1.0, len(tests) * min(tests))
    unusual = tuple(
        Number(name, "high" if above < below else "low", tail)
        for name, tail, above, below in zip(
            names, tails.tolist(), higher.tolist(), lower.tolist(), strict=True
        )
        if tail * len(tests) < MISFIT
    )
    band = np.quantile(made, [0.05, 0.5, 0.95], axis=0)
    return Fit(p_value, unusual, together, curve, ends, band)


def _share(is_so: NDArray[np.bool_]) -> Array:
    """Return the share of true values among replicates ``(m, k)``, plus one for the release."""
    return (is_so.sum(axis=0) + 1.0) / (len(is_so) + 1.0)


def _rank(made: Array, z: Array) -> float:
    """Return the share of replicates as far from their mean as the release, in their covariance."""
    mean = made.mean(axis=0)
    covariance = np.atleast_2d(np.cov(made, rowvar=False))
    covariance += 1e-10 * np.diag(np.maximum(np.diag(covariance), 1e-12))
    root = np.linalg.cholesky(covariance)
    away = np.linalg.solve(root, np.column_stack([z - mean, (made - mean).T]))
    distance = (away**2).sum(axis=0)
    return float(_share((distance[1:] >= distance[0])[:, None])[0])


def _curve(made: Array, z: Array) -> float:
    """Return the two-sided p-value of the second differences' spread; negative if it is smaller."""
    of_made, of_z = (np.diff(each, n=2, axis=-1).std(axis=-1) for each in (made, z))
    higher, lower = (
        float(_share(is_so[:, None])[0]) for is_so in (of_made >= of_z, of_made <= of_z)
    )
    probability = min(1.0, 2.0 * min(higher, lower))
    return probability if higher < lower else -probability
