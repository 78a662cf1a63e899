r"""The most informative table of symbols on some cells, by linear programming (MATH A14).

Divide the line into m cells of probabilities $p_j$. A symbol's set $S$ is a run of cells or the
complement of one. With $\rho = e^{-\epsilon}$, $b_S = \rho + (1 - \rho) P_S$ and the symbol's
probability $v_S = w_S\, e^\epsilon b_S$, all of moderate size at any budget,

$$F = \sum_S v_S\, r_S r_S^T, \quad r_S = \frac{(1 - \rho)\nabla P_S}{b_S}; \qquad
\sum_S v_S = 1, \quad
\sum_S v_S\, \frac{1_S(j) - P_S}{b_S} = 0 \text{ for every cell } j. \tag{A14}$$

A score linear in F is a linear program. The log determinant is concave, so Frank-Wolfe finds its
maximum: each step solves the program of the gradient and mixes all vertices found so far.

Families are symmetric, so a table and its mirror image are equally informative, and so is using
each for half of the people. Hence the best symmetric table is as good as any, and half the rows
suffice.

**Upper bound.** Let the $\eta_j$ be duals of the rows that sum to 0. A number $\lambda$ bounds the
score of tables with any of the $2^m$ patterns if each pattern satisfies
$(1 - \rho)^2 (\partial P_S)^2 / b_S - \eta(S) \le \lambda\, b_S$. Since
$a^2/b = \max_u (2ua - u^2 b)$, the worst pattern for fixed u holds the cells with
$2u\,\partial p_j - u^2 p_j > \eta_j/(1 - \rho) + \lambda p_j$. Only the patterns between the 2m
roots need checking, and Dinkelbach's iteration finds the smallest $\lambda$. This works for one
parameter, the scores ``mu`` and ``sigma``. For ``mu`` the bound is met. For σ alone, two bands on
either side of μ are up to 6 % more informative at budgets around 3 than runs of cells.

**Scope.** The bound holds for every ε-differentially private answer that depends only on the
value's cell, with any number of symbols: a symbol's information is a convex and homogeneous
function of its probabilities, whose extreme directions have two levels of ratio $e^\epsilon$
(Kairouz, Oh & Viswanath 2016). Answers that distinguish values within a cell are not bounded;
doubling the cells shows how much more they could gain. For the mean of normal values the sign is
the best of all answers up to $\epsilon = 1.04$ (Kalinin & Steinberger 2025).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive import channels
from abcdp_core.adaptive.channels import DiscreteChannel
from abcdp_core.adaptive.families import FAMILIES, Family
from abcdp_core.adaptive.intervals import SCORES
from abcdp_core.base.arrays import Array

FEWEST, MOST = 32, 128
"""Number of cells of the coarsest and of the finest program."""

ENOUGH = 0.02
"""Relative gain in the score from doubling the cells below which the search ends.

The loss falls with the square of the cells' width, so the next doubling gains less than 0.5 %.
"""

FARTHEST, POINTS = 60.0, 60_001
"""Range from μ in which the cells' edges are sought, and the number of points there."""

CONCAVE_GAP = 1e-3
"""Frank-Wolfe ends when the log determinant can gain no more than this."""

STEPS = 100
"""Most steps of Frank-Wolfe; a few suffice."""

NOTHING, POLISH = 1e-13, 3
"""Probability below which a symbol is rounding error, and corrections of the others."""

MIXINGS = 2000
"""Most updates of the mixture's shares after a step."""

CLOSE, ROUNDS = 1e-4, 100
"""Relative gap at which the search for an upper bound ends, and the most programs it solves."""

STAY = 0.8
"""Weight of the best duals so far in the next ones tried."""


class Cells(NamedTuple):
    """Edges ``(m + 1,)`` from −∞ to ∞, probabilities ``(m,)``, their derivatives ``(m, 2)``."""

    edges: Array
    p: Array
    dp: Array


@dataclass(frozen=True, eq=False)
class Best:
    """The best table, its information ``(2, 2)`` about (μ, σ) at (0, 1), score and cells."""

    channel: DiscreteChannel
    information: Array
    score: float
    cells: int


@functools.lru_cache(maxsize=256)
def best(
    epsilon_total: float,
    family: str = "normal",
    score: str = "mu",
    symmetric: bool = True,
    weight: float = 0.5,
) -> Best:
    """Find the table with the largest score, refining the cells until it settles (MATH A14).

    Args:
        epsilon_total: budget of each answer, above 0.
        family, score, weight: as for :func:`abcdp_core.adaptive.intervals.best`.
        symmetric: whether every symbol has a mirror image; nothing is lost by it.
    """
    count, before = FEWEST, 0.0
    while True:
        grid = cells(FAMILIES[family], count)
        channel = on_cells(grid, epsilon_total, family, score, symmetric, weight)
        if count == MOST or channel.score < (1.0 + ENOUGH) * before:
            return channel
        count, before = 2 * count, channel.score


def cells(family: Family, count: int) -> Cells:
    """Return an even number of cells that are best for rounding values: density ∝ f^(1/3).

    Rounding loses the least information with this density, which puts more cells in the tails
    than cells of equal probability.
    """
    z = np.linspace(0.0, FARTHEST, POINTS)
    height = np.cbrt(family.density(z))
    area = np.concatenate([[0.0], np.cumsum(0.5 * (height[1:] + height[:-1]))])
    half = np.interp(area[-1] * np.arange(count // 2) / (count // 2), area, z)
    return partition(family, np.concatenate([-half[:0:-1], half]))


def partition(family: Family, inner: Array) -> Cells:
    """Return the cells between increasing edges ``(m - 1,)``."""
    edges = np.concatenate([[-math.inf], inner, [math.inf]])
    low, high = edges[:-1], edges[1:]
    return Cells(edges, channels.mass(family, low, high), channels.slopes(family, low, high))


class Patterns(NamedTuple):
    """Sets for symbols: cells ``(S, m)``, and ends ``(S, 2)`` as in :class:`DiscreteChannel`."""

    inside: NDArray[np.bool_]
    ends: Array


def arcs(edges: Array, symmetric: bool) -> Patterns:
    """List all runs of cells with edges ``(m + 1,)`` and their complements: m (m − 1) sets.

    With ``symmetric``, take only one of a set and its mirror image.
    """
    m = len(edges) - 1
    first, length = (axis.ravel() for axis in np.meshgrid(np.arange(m), np.arange(1, m)))
    if symmetric:
        one = first <= (m - first - length) % m
        first, length = first[one], length[one]
    inside = (np.arange(m) - first[:, None]) % m < length[:, None]
    last = first + length
    high = np.where(last <= m, edges[np.minimum(last, m)], edges[last % m])
    # A complement has the end of its second part, which begins at −∞.
    return Patterns(inside, np.column_stack([edges[first], high]))


class Vertex(NamedTuple):
    """Solution: symbol probabilities ``(S,)``, information, duals ``(m,)`` of sum 0, objective."""

    v: Array
    F: Array
    eta: Array
    value: float


class Program:
    """Linear program for some cells, patterns and a budget, with any linear score.

    Args:
        grid: the cells; each has its mirror image if ``symmetric``.
        inside: which cells each symbol's set holds, ``(S, m)``.
        level: ε of the table.
        symmetric: whether a symbol and its mirror image are equally likely.
    """

    def __init__(
        self, grid: Cells, inside: NDArray[np.bool_], level: float, symmetric: bool
    ) -> None:
        self.grid, self.symmetric = grid, symmetric
        rho, gained = math.exp(-level), -math.expm1(-level)
        P = inside @ grid.p
        b = rho + gained * P
        self.b = b
        self.r = gained * (inside @ grid.dp) / b[:, None]
        self.each = ((rho + gained * inside) / b[:, None]).T
        rows = (inside - P[:, None]) / b[:, None] * grid.p
        if symmetric:
            half = len(grid.p) // 2
            rows = rows[:, :half] + rows[:, : half - 1 : -1]
            self.each = 0.5 * (self.each[:half] + self.each[: half - 1 : -1])
        # The rows sum to 0, so one of them follows from the others.
        self.rows = np.vstack([rows.T[:-1], np.ones(len(P))])
        self.right = np.append(np.zeros(len(self.rows) - 1), 1.0)

    def solve(self, gradient: Array) -> Vertex:
        """Maximize tr(gradient F) over tables; the gradient is diagonal for symmetric tables."""
        # Imported here, as most commands need no table and start faster without it.
        from scipy import optimize

        gain = np.einsum("si,ij,sj->s", self.r, gradient, self.r)
        size = float(np.abs(gain).max())
        solution = optimize.linprog(
            -gain / size, A_eq=self.rows, b_eq=self.right, bounds=(0.0, None), method="highs-ds"
        )
        if solution.status != 0:
            raise ArithmeticError(f"the linear program has no solution: {solution.message}")
        duals = np.append(-size * solution.eqlin.marginals[:-1], 0.0)
        eta = (np.concatenate([duals, duals[::-1]]) if self.symmetric else duals) * self.grid.p
        eta -= eta.sum() * self.grid.p
        v = self.exact(np.asarray(solution.x) > 0.0)
        F = np.einsum("s,si,sj->ij", v, self.r, self.r)
        if self.symmetric:
            # The entries of mirror images cancel.
            F[0, 1] = F[1, 0] = 0.0
        return Vertex(v, F, eta, float(gain @ v))

    def exact(self, support: NDArray[np.bool_]) -> Array:
        """Solve the rows to rounding by probabilities ``(S,)`` of the patterns in the support."""
        from scipy import optimize

        v = np.zeros(len(support))
        v[support] = optimize.nnls(self.rows[:, support], self.right)[0]
        return self.polished(v)

    def polished(self, v: Array) -> Array:
        """Correct probabilities ``(S,)`` to the last digit in each cell, rare ones too."""
        for _ in range(POLISH):
            kept = v > NOTHING
            each = self.each[:, kept]
            missing = 1.0 - each @ v[kept]
            v = np.where(kept, v, 0.0)
            v[kept] += np.linalg.lstsq(each, missing)[0]
        return np.where(v > NOTHING, v, 0.0)


def on_cells(
    grid: Cells,
    epsilon_total: float,
    family: str = "normal",
    score: str = "mu",
    symmetric: bool = True,
    weight: float = 0.5,
) -> Best:
    """Find the best table whose sets consist of these cells; arguments as for :func:`best`."""
    level = channels.level(epsilon_total)
    patterns = arcs(grid.edges, symmetric)
    program = Program(grid, patterns.inside, level, symmetric)
    if score == "determinant":
        v = _largest_determinant(program)
    else:
        v = program.solve(gradient_of(score, weight)).v
    channel = _table(patterns, v / program.b, epsilon_total, symmetric)
    F = channel.information(FAMILIES[family])
    F.flags.writeable = False
    return Best(channel, F, float(SCORES[score](F, weight)), len(grid.p))


PARAMETER = {"mu": 0, "sigma": 1}
"""Score of one parameter -> its index in the information."""


def gradient_of(score: str, weight: float) -> Array:
    """Differentiate a linear score by the information: ``(2, 2)``."""
    unit = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    return np.diag([float(SCORES[score](each, weight)) for each in unit])


def _largest_determinant(program: Program) -> Array:
    """Maximize det F over probabilities ``(S,)``: Frank-Wolfe, remixing all vertices."""
    vertices = [program.solve(gradient_of(score, 0.5)) for score in PARAMETER]
    mixed = _mixture(vertices)
    for _ in range(STEPS):
        F = sum(a * each.F for a, each in zip(mixed, vertices, strict=True))
        vertex = program.solve(np.linalg.inv(F))
        if vertex.value - 2.0 < CONCAVE_GAP:
            break
        vertices.append(vertex)
        mixed = _mixture(vertices)
    return program.polished(mixed @ np.array([each.v for each in vertices]))


def _mixture(vertices: list[Vertex]) -> Array:
    """Return the shares ``(n,)`` of vertices with the largest determinant of mixed information.

    Multiplying each share by its part of the gradient never lowers the determinant.
    """
    informations = np.array([each.F for each in vertices])
    shares = np.full(len(vertices), 1.0 / len(vertices))
    for _ in range(MIXINGS):
        inverse = np.linalg.inv(np.einsum("n,nij->ij", shares, informations))
        factor = 0.5 * np.einsum("ij,nji->n", inverse, informations)
        shares *= factor
        if factor.max() < 1.0 + 0.05 * CONCAVE_GAP:
            break
    return shares / shares.sum()


def _table(patterns: Patterns, w: Array, epsilon_total: float, symmetric: bool) -> DiscreteChannel:
    """Build the table with weights in proportion to w ``(S,)``, with mirror images if symmetric."""
    chosen = np.flatnonzero(w > 0.0)
    shares: dict[tuple[float, float], float] = {}
    for (low, high), each in zip(patterns.ends[chosen].tolist(), w[chosen].tolist(), strict=True):
        for ends in [(low, high), (-high, -low)] if symmetric else [(low, high)]:
            shares[ends] = shares.get(ends, 0.0) + each
    order = sorted(shares)
    return channels.table(order, [shares[ends] for ends in order], epsilon_total)


def upper_bound(grid: Cells, epsilon_total: float, score: str) -> float:
    """Bound the score of any table on these cells, with symbols of any pattern (MATH A14).

    Where few symbols are best, many duals are optimal and not all give a good bound. So patterns
    that violate the bound are added to the program until the gap is below :data:`CLOSE`.

    Args:
        grid: symmetric cells.
        epsilon_total: budget of each answer.
        score: ``mu`` or ``sigma``.
    """
    level, parameter = channels.level(epsilon_total), PARAMETER[score]
    inside = arcs(grid.edges, symmetric=True).inside
    smallest, center = math.inf, np.zeros(len(grid.p))
    for _ in range(ROUNDS):
        program = Program(grid, inside, level, symmetric=True)
        vertex = program.solve(gradient_of(score, 0.5))
        # Duals swing from one program to the next; near the best so far they bound better.
        for eta in (vertex.eta, STAY * center + (1.0 - STAY) * vertex.eta):
            bound, breaking = priced(grid, level, parameter, eta, vertex.value)
            inside = np.concatenate([inside, breaking])
            if bound < smallest:
                smallest, center = bound, eta
        if smallest <= (1.0 + CLOSE) * vertex.value:
            break
    return smallest


def priced(
    grid: Cells, level: float, parameter: int, eta: Array, value: float
) -> tuple[float, NDArray[np.bool_]]:
    """Return a bound for all patterns from a program's duals, and patterns that violate it.

    Args:
        grid: the cells.
        level: ε of the tables.
        parameter: 0 for μ, 1 for σ.
        eta: duals of the cells ``(m,)`` that sum to 0; any give a bound, the best the sharpest.
        value: a score that a table attains.
    """
    rho, gained = math.exp(-level), -math.expm1(-level)
    p, slope = grid.p, grid.dp[:, parameter]
    bound, breaking = value, []
    while True:
        cost = eta / gained + bound * p
        # 2u dp − u² p − cost > 0 between the roots.
        root = np.sqrt(np.maximum(slope**2 - p * cost, 0.0))
        roots = np.unique(np.concatenate([(slope - root) / p, (slope + root) / p]))
        u = np.concatenate([[roots[0] - 1.0], 0.5 * (roots[:-1] + roots[1:]), [roots[-1] + 1.0]])
        inside = 2.0 * u[:, None] * slope - u[:, None] ** 2 * p > cost
        b = rho + gained * (inside @ p)
        rate = ((gained * (inside @ slope)) ** 2 / b - inside @ eta) / b
        breaking.append(inside[rate > value * (1.0 + CLOSE)])
        highest = float(rate.max())
        if not highest > bound * (1.0 + 1e-13):
            return bound, np.unique(np.concatenate(breaking), axis=0)
        bound = highest
