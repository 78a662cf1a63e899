r"""Intervals that hold a parameter with a guaranteed probability, by test inversion (MATH E12).

A posterior's interval holds the truth as often as it says on average over the prior. Whoever needs
that at *every* value of the parameters inverts a test. The statistic $T(z)$ is a regression of the
parameter on noisy numbers of draws from the prior, fixed before $z$ is looked at. For each
$\theta$, m noisy data sets $z^*$ are simulated, with one seed for all $\theta$, and

$$p(\theta) = \min\Big\{1,\; \frac{2}{m + 1}
\min(\#\{T(z^*) \le T(z)\} + 1,\; \#\{T(z^*) \ge T(z)\} + 1)\Big\}.$$

At the true $\theta$, $T(z)$ and the m others are exchangeable, whatever noise, model and n are. So
values with $p(\theta) > \alpha$ hold the true one with probability at least $1 - \alpha$. Of up to
two other parameters, the largest p counts. A grid and halvings search for the ends of these values,
and the ends that are reported are values that were dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, differential_evolution

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.sentences import amount, percent
from abcdp_core.base.streams import generator
from abcdp_core.posterior import rounds
from abcdp_core.posterior.proposals import Proposal
from abcdp_core.posterior.regression import Predictor
from abcdp_core.posterior.rounds import InferenceProblem, TaskMap, one_by_one

Array = NDArray[np.float64]

SIMULATED = (999, 499, 499)
"""Data sets for a p-value, by the number of other parameters."""

GENERATIONS, POPULATION = 7, 6
"""Of the search over other parameters; the population is of each."""

GRID, EDGE, HALVINGS = 33, 4.0, 7
"""Points of the grid, its ends on the scale on which the prior is standard normal, halvings."""

MOST = 3
"""Parameters of a model."""


@dataclass(frozen=True)
class Guaranteed:
    """Intervals of all parameters.

    Attributes:
        level: probability with which each holds its parameter.
        ends: parameter -> low and high; infinite where the last value of the grid is kept, NaN
            where no value is kept.
    """

    level: float
    ends: Mapping[str, tuple[float, float]]

    @property
    def sentence(self) -> str:
        """State the intervals and what they guarantee."""
        said = "; ".join(f"{name} {_in_words(*ends)}" for name, ends in self.ends.items())
        return (
            f"Intervals by test inversion: {said}. Each holds its parameter with probability at "
            f"least {percent(self.level)}, whatever the true values are, if the model is right."
        )

    def record(self) -> dict[str, Any]:
        """Return the same, ready for JSON; an end that is no number is null."""
        ends = {
            name: [end if math.isfinite(end) else None for end in both]
            for name, both in self.ends.items()
        }
        return {"level": self.level, "intervals": ends, "sentence": self.sentence}


def _in_words(low: float, high: float) -> str:
    if math.isnan(low):
        return "has no value that fits the numbers"
    if math.isinf(low) and math.isinf(high):
        return "is unbounded"
    if math.isinf(low):
        return f"at most {amount(high)}"
    return f"at least {amount(low)}" if math.isinf(high) else f"{amount(low)} to {amount(high)}"


@dataclass(frozen=True)
class Inversion:
    """What a test needs.

    Attributes:
        question: release and model.
        predictor: gives the statistic of each parameter.
        level: guaranteed probability, 1 - α.
    """

    question: InferenceProblem
    predictor: Predictor
    level: float

    @property
    def others(self) -> int:
        """Number of parameters beside the one of interest."""
        return len(self.question.model.parameters) - 1

    def p_value(self, place: int, x: Array) -> float:
        """Return p at ``x (d,)`` for the parameter at ``place``."""
        question, size = self.question, SIMULATED[self.others]
        model = question.model
        rng = generator(question.seed, "guarantee-test")
        theta, parts = np.repeat(model.prior.theta(x[None]), size, axis=0), []
        for start in range(0, size, model.chunk):
            numbers = model.simulate(rng, theta[start : start + model.chunk])
            parts.append(question.noise.noisy(rng, numbers))
        found = self.predictor.of(np.concatenate(parts))[:, place]
        # A failed simulation is larger than all: any fixed statistic will do.
        found = np.where(np.isfinite(found), found, np.inf)
        released = self.predictor.of(question.z[None])[0, place]
        low, high = (found <= released).sum() + 1, (found >= released).sum() + 1
        return min(1.0, 2.0 * float(min(low, high)) / (size + 1))

    def theta(self, place: int, x: float) -> float:
        """Return the parameter at a place at x, which may be infinite."""
        if math.isinf(x):
            return x
        point = np.zeros((1, self.others + 1))
        point[0, place] = x
        return float(self.question.model.prior.theta(point)[0, place])

    def largest(self, place: int, value: float) -> float:
        """Return the largest p over other parameters; a search ends above α."""
        alpha, x = 1.0 - self.level, self.predictor.of(self.question.z[None])[0].clip(-EDGE, EDGE)
        x[place] = value
        best = self.p_value(place, x)
        if self.others == 0 or best > alpha:
            return best
        rest = np.delete(np.arange(len(x)), place)

        def below(others: Array) -> float:
            tried = x.copy()
            tried[rest] = others
            return -self.p_value(place, tried)

        found = differential_evolution(
            below,
            Bounds([-EDGE] * self.others, [EDGE] * self.others),
            x0=x[rest],
            maxiter=GENERATIONS,
            popsize=POPULATION,
            polish=False,
            rng=1,
            callback=lambda intermediate_result: -intermediate_result.fun > alpha,
        )
        return max(best, -float(found.fun))


@dataclass(frozen=True)
class Guarantee:
    """Intervals to compute.

    Attributes:
        question: release and model, of at most three parameters with a product prior.
        level: guaranteed probability, 0.5 to 0.99.

    Raises:
        ParameterError: the model has more parameters or another prior.
    """

    question: InferenceProblem
    level: float

    def __post_init__(self) -> None:
        model = self.question.model
        if (size := len(model.parameters)) > MOST:
            raise ParameterError(
                f"--guarantee: serves at most {MOST} parameters; this model has {size}."
            )
        if not model.prior.is_product or len(model.prior.laws) < size:
            raise ParameterError("--guarantee: the parameters must be independent in the prior.")

    @property
    def most_simulated(self) -> int:
        """Largest number of data sets that are simulated."""
        size = len(self.question.model.parameters)
        tries = 1 + (GENERATIONS + 1) * POPULATION * (size - 1)
        return rounds.FIRST + size * (2 * GRID + 2 * HALVINGS) * tries * SIMULATED[size - 1]

    def intervals(self, each: TaskMap = one_by_one) -> Guaranteed:
        """Return an interval for each parameter; ``each`` runs tasks."""
        inversion = _prepared(self.question, self.level, each)
        names, alpha = self.question.model.parameters, 1.0 - self.level
        grids = np.tile(np.linspace(-EDGE, EDGE, GRID), (len(names), 1))
        p = np.array([
            _p_values(inversion, place, grid, each) for place, grid in enumerate(grids)
        ])  # fmt: skip
        for place in np.flatnonzero(p.max(axis=1) <= alpha).tolist():
            # Perhaps narrower than the grid: look beside the best value.
            grid, best = grids[place], int(np.clip(p[place].argmax(), 1, GRID - 2))
            grid[:] = np.linspace(float(grid[best - 1]), float(grid[best + 1]), GRID)
            p[place] = _p_values(inversion, place, grid, each)
        missed = [bool(row.max() <= alpha) for row in p]
        ends = [
            (inversion, place, *pair)
            for place in range(len(names))
            if not missed[place]
            for pair in _pairs(grids[place], p[place] > alpha)
        ]
        found = iter(list(each("Ends", _end, ends)))
        return Guaranteed(
            self.level,
            {
                name: (math.nan, math.nan)
                if missed[place]
                else (inversion.theta(place, next(found)), inversion.theta(place, next(found)))
                for place, name in enumerate(names)
            },
        )


def _prepared(question: InferenceProblem, level: float, each: TaskMap) -> Inversion:
    """Fit the statistic to noisy numbers of draws from the prior."""
    first = rounds.many(rounds.tasks_of(question, Proposal(), 0, rounds.FIRST), each)
    done = first.some(first.done)
    noisy = question.noise.noisy(generator(question.seed, "guarantee-pool"), done.numbers)
    return Inversion(question, Predictor.fit(noisy, done.x), level)


def _p_values(inversion: Inversion, place: int, values: Array, each: TaskMap) -> list[float]:
    """Return the largest p of values ``(g,)`` of a parameter."""
    tasks = [(inversion, place, float(x)) for x in values]
    return list(each(inversion.question.model.parameters[place], _largest, tasks))


def _largest(task: tuple[Inversion, int, float]) -> float:
    """Return p of one value."""
    inversion, place, value = task
    return inversion.largest(place, value)


def _pairs(grid: Array, kept: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return, for each end, the last value dropped and the first kept; none dropped is infinite."""
    first, last = np.flatnonzero(kept)[[0, -1]]
    wide = [-math.inf, *grid.tolist(), math.inf]
    # The place of a value in ``wide`` is one more.
    return [(wide[first], wide[first + 1]), (wide[last + 2], wide[last + 1])]


def _end(task: tuple[Inversion, int, float, float]) -> float:
    """Return a dropped value close to a kept one."""
    inversion, place, dropped, kept = task
    if math.isinf(dropped):
        return dropped
    for _ in range(HALVINGS):
        middle = (dropped + kept) / 2.0
        if inversion.largest(place, middle) > 1.0 - inversion.level:
            kept = middle
        else:
            dropped = middle
    return dropped
