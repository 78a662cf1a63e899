r"""The table of symbols that tells most on some cells, by linear programming (MATH A14).

Between the edges of m cells of probabilities $p_j$ a symbol's set $S$ is a run of cells or the
complement of one. With $\rho = e^{-\epsilon}$, $b_S = \rho + (1 - \rho) P_S$ and the probability
$v_S = w_S\, e^\epsilon b_S$ of the symbol, all of moderate size at any budget,

$$F = \sum_S v_S\, r_S r_S^T, \quad r_S = \frac{(1 - \rho)\nabla P_S}{b_S}; \qquad
\sum_S v_S = 1, \quad
\sum_S v_S\, \frac{1_S(j) - P_S}{b_S} = 0 \text{ for every cell } j. \tag{A14}$$

A score that is linear in F is a linear program. The determinant is concave as its logarithm:
Frank-Wolfe with all vertices found so far, each step the program of the gradient.

Families are symmetric, so a table and its mirror image tell the same, and so does each of them for
half of the people; hence the best symmetric table is as good as any, and half the rows suffice.

**How far from the best.** From the duals $\eta_j$ (summing to 0) of the rows a number $\lambda$
bounds the score of tables with any of the $2^m$ patterns if for each of them
$(1 - \rho)^2 (\partial P_S)^2 / b_S - \eta(S) \le \lambda\, b_S$. As
$a^2/b = \max_u (2ua - u^2 b)$, for fixed u the pattern that violates it most holds the cells with
$2u\,\partial p_j - u^2 p_j > \eta_j/(1 - \rho) + \lambda p_j$. So the patterns between the 2m roots
are all there are, and the smallest $\lambda$ follows by Dinkelbach's iteration. That is for one
parameter, the scores ``mu`` and ``sigma``. For ``mu`` the bound is met. About σ alone a set of two
bands, one on either side of μ, tells up to 6 % more at budgets around 3 than runs of cells do.

**What that shows.** Every table found is private, so its score is reached: the best answer of any
kind tells at least that. The bound holds for every ε-differentially private answer that depends on
the value's cell only, however many symbols it has, since the information of a symbol is a convex
and homogeneous function of its probabilities, whose extreme directions have two levels of ratio
$e^\epsilon$ (Kairouz, Oh & Viswanath 2016). It says nothing about answers that tell values within a
cell apart: what more cells would add is judged by doubling them, not bounded. About σ at
$\epsilon = 1$ two symbols with edges of their own tell up to 0.28 % more than the bound of 64
cells. For the mean of normal values the sign is known to be the best of all answers up to
$\epsilon = 1.04$ (Kalinin & Steinberger 2025). For ``trace``, ``weights`` and ``determinant`` there
is no bound here; tests compare the first two with all patterns of a few cells.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive import channels
from abcdp_core.adaptive.channels import Table
from abcdp_core.adaptive.families import FAMILIES, Family
from abcdp_core.adaptive.intervals import SCORES

Array = NDArray[np.float64]

FEWEST, MOST = 32, 128
"""Cells of the coarsest and of the finest program."""

ENOUGH = 0.02
"""Relative gain of the score by twice as many cells, below which no more are tried.

What cells lose falls with the square of their width, so the next twice as many gain a quarter of
it: less than 0.5 %.
"""

FARTHEST, POINTS = 60.0, 60_001
"""How far from μ, and at how many points, the cells' edges are looked for."""

CONCAVE_GAP = 1e-3
"""Frank-Wolfe ends when the logarithm of the determinant can gain no more than this."""

STEPS = 100
"""Steps of Frank-Wolfe at most; a few do."""

NOTHING, POLISH = 1e-13, 3
"""Probability of a symbol that is rounding only, and how often the others are corrected."""

MIXINGS = 2000
"""Times at most that the shares of the tables found are changed after a step."""

CLOSE, ROUNDS = 1e-4, 100
"""Relative gap at which the search for an upper bound ends, and after how many programs at most."""

STAY = 0.8
"""Share of the best duals so far in those that are tried."""


class Cells(NamedTuple):
    """A partition of the line.

    Attributes:
        edges: ``(m + 1,)``, from −∞ to ∞.
        p: probability of each cell ``(m,)``.
        dp: its derivatives by μ and by σ, ``(m, 2)``.
    """

    edges: Array
    p: Array
    dp: Array


@dataclass(frozen=True, eq=False)
class Best:
    """The best table and what it tells.

    Attributes:
        channel: the table.
        information: Fisher information ``(2, 2)`` about (μ, σ) at (0, 1), per person.
        score: what was maximised.
        cells: how many.
    """

    channel: Table
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
    """The table with the largest score, on cells as fine as they need to be (MATH A14).

    Args:
        epsilon_total: of each answer, above 0.
        family, score, weight: as of :func:`abcdp_core.adaptive.intervals.best`.
        symmetric: every symbol has a mirror image; costs nothing.
    """
    count = FEWEST
    found = on_cells(
        cells(FAMILIES[family], count), epsilon_total, family, score, symmetric, weight
    )
    while count < MOST:
        count *= 2
        finer = cells(FAMILIES[family], count)
        other = on_cells(finer, epsilon_total, family, score, symmetric, weight)
        is_enough = other.score < (1.0 + ENOUGH) * found.score
        found = other
        if is_enough:
            break
    return found


def cells(family: Family, count: int) -> Cells:
    """So many cells, an even number, as values are best rounded to: density ∝ f^(1/3).

    A rounded value loses least information with that density of cells, which has more of them in
    the tails than cells of equal probability.
    """
    z = np.linspace(0.0, FARTHEST, POINTS)
    height = np.cbrt(family.density(z))
    area = np.concatenate([[0.0], np.cumsum(0.5 * (height[1:] + height[:-1]))])
    half = np.interp(area[-1] * np.arange(count // 2) / (count // 2), area, z)
    return partition(family, np.concatenate([-half[:0:-1], half]))


def partition(family: Family, inner: Array) -> Cells:
    """The cells between these edges ``(m - 1,)``, rising."""
    edges = np.concatenate([[-math.inf], inner, [math.inf]])
    low, high = edges[:-1], edges[1:]
    return Cells(edges, channels.mass(family, low, high), channels.slopes(family, low, high))


class Patterns(NamedTuple):
    """Sets of cells that a symbol may favour.

    Attributes:
        inside: which cells each holds, ``(S, m)``.
        ends: of each as in :class:`abcdp_core.adaptive.channels.Table`, ``(S, 2)``.
    """

    inside: NDArray[np.bool_]
    ends: Array


def arcs(edges: Array, symmetric: bool) -> Patterns:
    """All runs of cells and complements of them: m (m − 1) arcs of the closed line.

    Args:
        edges: of the cells, ``(m + 1,)``.
        symmetric: of a set and its mirror image take one.
    """
    m = len(edges) - 1
    first, length = (axis.ravel() for axis in np.meshgrid(np.arange(m), np.arange(1, m)))
    if symmetric:
        one = first <= (m - first - length) % m
        first, length = first[one], length[one]
    inside = (np.arange(m) - first[:, None]) % m < length[:, None]
    last = first + length
    high = np.where(last <= m, edges[np.minimum(last, m)], edges[last % m])
    # One that begins again at −∞ has the end of its second part.
    return Patterns(inside, np.column_stack([edges[first], high]))


class Vertex(NamedTuple):
    """What a program finds.

    Attributes:
        v: probability of each pattern's symbol ``(S,)``.
        F: information ``(2, 2)``.
        eta: duals of the cells ``(m,)``, summing to 0.
        value: of the objective.
    """

    v: Array
    F: Array
    eta: Array
    value: float


class Program:
    """The linear program of some cells, patterns and a budget, for any linear score."""

    def __init__(
        self, grid: Cells, inside: NDArray[np.bool_], level: float, symmetric: bool
    ) -> None:
        """Columns and rows.

        Args:
            grid: the cells; each has its mirror image if ``symmetric``.
            inside: which cells each symbol's set holds, ``(S, m)``.
            level: ε of the table.
            symmetric: a symbol and its mirror image are equally likely.
        """
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
        # The rows sum to 0: one of them follows from the others.
        self.rows = np.vstack([rows.T[:-1], np.ones(len(P))])

    def solve(self, gradient: Array) -> Vertex:
        """Maximise tr(gradient F) over tables.

        Args:
            gradient: ``(2, 2)``; diagonal for symmetric tables.
        """
        # Inside the function: what needs no table starts without it.
        from scipy import optimize

        gain = np.einsum("si,ij,sj->s", self.r, gradient, self.r)
        size = float(np.abs(gain).max())
        right = np.zeros(len(self.rows))
        right[-1] = 1.0
        found = optimize.linprog(
            -gain / size, A_eq=self.rows, b_eq=right, bounds=(0.0, None), method="highs-ds"
        )
        if found.status != 0:
            raise ArithmeticError(f"the linear program has no solution: {found.message}")
        duals = -size * found.eqlin.marginals[:-1]
        eta = self._spread(duals) * self.grid.p
        eta -= eta.sum() * self.grid.p
        v = self.exact(np.asarray(found.x) > 0.0)
        F = np.einsum("s,si,sj->ij", v, self.r, self.r)
        if self.symmetric:
            # Mirror images have the opposite sign there.
            F[0, 1] = F[1, 0] = 0.0
        return Vertex(v, F, eta, float(gain @ v))

    def exact(self, support: NDArray[np.bool_]) -> Array:
        """Probabilities ``(S,)`` of the patterns in the support that solve the rows to rounding."""
        from scipy import optimize

        right = np.zeros(len(self.rows))
        right[-1] = 1.0
        v = np.zeros(len(support))
        v[support] = optimize.nnls(self.rows[:, support], right)[0]
        return self.polished(v)

    def polished(self, v: Array) -> Array:
        """Probabilities ``(S,)``, right to the last digit in each cell, a rare one too."""
        for _ in range(POLISH):
            kept = v > NOTHING
            each = self.each[:, kept]
            missing = 1.0 - each @ v[kept]
            v = np.where(kept, v, 0.0)
            v[kept] += np.linalg.lstsq(each, missing)[0]
        return np.where(v > NOTHING, v, 0.0)

    def _spread(self, duals: Array) -> Array:
        """Duals of all cells ``(m,)``."""
        whole = np.append(duals, 0.0)
        return np.concatenate([whole, whole[::-1]]) if self.symmetric else whole


def on_cells(
    grid: Cells,
    epsilon_total: float,
    family: str = "normal",
    score: str = "mu",
    symmetric: bool = True,
    weight: float = 0.5,
) -> Best:
    """The best table whose sets are made of these cells; arguments as of :func:`best`."""
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
"""Scores of one parameter -> its place in the information."""


def gradient_of(score: str, weight: float) -> Array:
    """Derivative ``(2, 2)`` of a linear score by the information."""
    unit = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    return np.diag([float(SCORES[score](each, weight)) for each in unit])


def _largest_determinant(program: Program) -> Array:
    """Probabilities ``(S,)`` with the largest det F: Frank-Wolfe, all vertices mixed anew."""
    found = [program.solve(gradient_of(score, 0.5)) for score in PARAMETER]
    mixed = _mixture(found)
    for _ in range(STEPS):
        F = sum(a * each.F for a, each in zip(mixed, found, strict=True))
        vertex = program.solve(np.linalg.inv(F))
        if vertex.value - 2.0 < CONCAVE_GAP:
            break
        found.append(vertex)
        mixed = _mixture(found)
    return program.polished(mixed @ np.array([each.v for each in found]))


def _mixture(found: list[Vertex]) -> Array:
    """Shares ``(n,)`` of vertices whose mixed information has the largest determinant.

    Each share is multiplied by its part of the gradient, which never lowers the determinant.
    """
    informations = np.array([each.F for each in found])
    shares = np.full(len(found), 1.0 / len(found))
    for _ in range(MIXINGS):
        inverse = np.linalg.inv(np.einsum("n,nij->ij", shares, informations))
        factor = 0.5 * np.einsum("ij,nji->n", inverse, informations)
        shares *= factor
        if factor.max() < 1.0 + 0.05 * CONCAVE_GAP:
            break
    return shares / shares.sum()


def _table(patterns: Patterns, w: Array, epsilon_total: float, symmetric: bool) -> Table:
    """The table with weights in proportion to w ``(S,)``, and mirror images if symmetric."""
    chosen = np.flatnonzero(w > 0.0)
    shares: dict[tuple[float, float], float] = {}
    for (low, high), each in zip(patterns.ends[chosen].tolist(), w[chosen].tolist(), strict=True):
        for ends in [(low, high), (-high, -low)] if symmetric else [(low, high)]:
            shares[ends] = shares.get(ends, 0.0) + each
    order = sorted(shares)
    return channels.table(order, [shares[ends] for ends in order], epsilon_total)


def upper_bound(grid: Cells, epsilon_total: float, score: str) -> float:
    """What no table on these cells exceeds, of symbols with any pattern (MATH A14).

    Where few symbols are best many duals are optimal, and not all of them bound well. So patterns
    that break the bound are added to the program until it is closer than :data:`CLOSE`.

    Args:
        grid: the cells, mirror images of themselves.
        epsilon_total: of each answer.
        score: ``mu`` or ``sigma``.
    """
    level, parameter = channels.level(epsilon_total), PARAMETER[score]
    inside = arcs(grid.edges, symmetric=True).inside
    smallest, center = math.inf, np.zeros(len(grid.p))
    for _ in range(ROUNDS):
        program = Program(grid, inside, level, symmetric=True)
        vertex = program.solve(gradient_of(score, 0.5))
        # Duals of one program after the other swing; those near the best so far bound better.
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
    """A bound for all patterns from a program's duals, and patterns that they leave out.

    Args:
        grid: the cells.
        level: ε of the tables.
        parameter: 0 for μ, 1 for σ.
        eta: duals of the cells ``(m,)``, summing to 0; any give a bound, the best the sharpest.
        value: that is known to be reached.
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
