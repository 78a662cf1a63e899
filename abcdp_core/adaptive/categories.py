r"""What words drawn by K-ary randomized response tell about a class and about a wider population.

Each of K words is sent by a device that draws the true one with chance H / 2³² and each other one
with L / 2³² (:func:`abcdp_core.adaptive.poll.chances`, MATH A16). Read as a coin, a person is
honest with probability $b = (H - L) / 2^{32}$ and otherwise sends any word. Of the $c_y$ people who
sent word y, $j_y$ were honest, $J = \sum j_y$:

$$P(j) \propto \frac{1}{(Ka)_J} \prod_y \binom{c_y}{j_y} b^{j_y} u^{c_y - j_y} (a)_{j_y},
\qquad u = (1 - b) / K \tag{A16}$$

under a Dirichlet(a, …, a) prior of the shares with a = 1 / K, which covers classes that agree.
Given j, the class of N, of whom n answered, has $j_k$ + beta-binomial($N - J$; $a + j_k$,
$(K - 1) a + J - j_k$) people of category k, and the share in the population that the class was
drawn from is Beta of the same. Both are computed exactly: leave-one-out convolutions give $j_k$ and
J, and one matrix product sums over them.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln

from abcdp_core.adaptive.poll import CHANCES, EPSILON, Answer, chances
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator

BINS = 400
"""Equal parts of [0, 1] in which a share of the population is told."""

DRAWS = 10_000
"""Classes drawn from the posterior to tell which category leads."""


def standard_deviation(epsilon: float, words: int, people: int, share: float) -> float:
    """Return the standard deviation of the unbiased estimate of a class's share (MATH A16).

    Args:
        epsilon: of one word, above 0.
        words: K, at least 2.
        people: n, at least 1.
        share: true share of the class, in [0, 1].
    """
    factor = math.exp(epsilon)
    variance = (words - 1) * factor * share + (factor + words - 2) * (1.0 - share)
    return math.sqrt(variance / people) / math.expm1(epsilon)


LONGEST = 30
"""Letters of a category: it has to be read on a wall."""


@dataclass(frozen=True)
class Choice:
    """What is public of a poll with categories before anyone answers.

    Attributes:
        words: the categories, 2 to 8 different ones.
        epsilon: what one answer costs the person.

    Raises:
        ParameterError: there are too few or too many words, or ε is out of its range.
    """

    words: tuple[str, ...]
    epsilon: float

    def __post_init__(self) -> None:
        """Check the words and the budget."""
        EPSILON.check("epsilon", self.epsilon)
        if not (2 <= len({*self.words}) == len(self.words) <= 8 and all(self.words)):
            raise ParameterError("words: must be 2 to 8 different words, one in each line.")
        if long := [word for word in self.words if len(word) > LONGEST]:
            raise ParameterError(f"words = {long[0]!r}: must have at most {LONGEST} letters.")

    @property
    def event(self) -> Answer:
        """What one answer does with the person's category."""
        return Answer(self.epsilon)

    @property
    def many(self) -> int:
        """Words that the question may be answered by."""
        return len(self.words)


@dataclass(frozen=True)
class ChoicePoll:
    """A poll with categories as it is now; everybody is asked the same.

    Attributes:
        design: what is public of it.
        answers: the question, and the place of each word in the order of their coming.
        absent: people of the class who answered another question instead.
    """

    design: Choice
    answers: tuple[tuple[Choice, int], ...] = ()
    absent: int = 0

    def ask(self, _rng: np.random.Generator, _number: int, _waiting: int = 0) -> Choice:
        """Return the question, which is the same for all."""
        return self.design

    def take(self, question: Choice, word: int) -> ChoicePoll:
        """Return the poll with one answer more.

        Raises:
            ValueError: there is no such word.
        """
        if word not in range(self.design.many):
            raise ValueError(f"word = {word}: must be below {self.design.many}.")
        return ChoicePoll(self.design, (*self.answers, (question, word)), self.absent)

    @functools.cached_property
    def told(self) -> Words:
        """What the words tell."""
        counts = np.bincount([word for _, word in self.answers], minlength=self.design.many)
        return Words(tuple(map(int, counts)), self.design.epsilon, self.absent)

    def leader(self) -> str:
        """Return in words how large the category is that most of the class have, by its mean."""
        first = int(self.told.class_share().argmax())
        low, high = 100.0 * self.told.class_interval()[first]
        return f"“{self.design.words[first]}”: {low:.0f} to {high:.0f} % of the class"


def movers(words: Words, half_width: float) -> int:
    """Return how many people who always send the same word move a share by a half-width.

    Each counts as (e^ε + K − 2) / (e^ε − 1) people in the unbiased estimate (MATH A16).
    """
    each = (math.exp(words.epsilon) + len(words.counts) - 2) / math.expm1(words.epsilon)
    return max(1, math.ceil(half_width * words.people / each))


@dataclass(frozen=True)
class Words:
    """The words that a class has sent, and what follows from them.

    Attributes:
        counts: people who sent each word ``(K,)``.
        epsilon: what one word costs.
        absent: people of the class who answered another question instead.
    """

    counts: tuple[int, ...]
    epsilon: float
    absent: int = 0

    @property
    def people(self) -> int:
        """People who answered, n."""
        return sum(self.counts)

    @property
    def size(self) -> int:
        """People of the class, N: those who answered and those who are absent."""
        return self.people + self.absent

    @functools.cached_property
    def of_class(self) -> Array:
        """Probability of each number of people of a category in the class ``(K, N + 1)``."""
        n, a = self.size, 1.0 / len(self.counts)
        number = np.arange(n + 1)
        # Factorials in powers of n / 2, so that none overflows below a thousand people.
        half = math.log(max(1.0, n / 2.0))
        powers = np.exp(number * half - gammaln(number + 1.0))
        probabilities = np.empty((len(self.counts), n + 1))
        for k, weights in enumerate(self._honest()):
            mine, others = (np.arange(size) for size in weights.shape)
            rest = n - mine[:, None] - others
            weights = weights * np.exp(gammaln(rest + 1.0) - rest * half)
            left, right = number - mine[:, None], n - number - others[:, None]
            ways = ((weights @ _at(powers, right)) * _at(powers, left)).sum(axis=0)
            probabilities[k] = ways * np.exp(
                betaln(number + a, n - number + 1.0 - a) - betaln(a, 1.0 - a)
            )
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    @functools.cached_property
    def of_population(self) -> Array:
        """Probability of each of :data:`BINS` parts of [0, 1] for each share ``(K, BINS)``."""
        a, edges = 1.0 / len(self.counts), np.linspace(0.0, 1.0, BINS + 1)
        prior, share = np.diff(betainc(a, 1.0 - a, edges)), (edges[1:] + edges[:-1]) / 2.0
        probabilities = np.empty((len(self.counts), BINS))
        for k, weights in enumerate(self._honest()):
            mine, others = (np.arange(size) for size in weights.shape)
            likely = ((share[:, None] ** mine) @ weights) * (1.0 - share)[:, None] ** others
            probabilities[k] = prior * likely.sum(axis=1)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def class_interval(self, level: float = 0.95) -> Array:
        """Return the central interval of each share of the class ``(K, 2)``."""
        if not self.people:
            return np.tile([0.0, 1.0], (len(self.counts), 1))
        reached = np.cumsum(self.of_class, axis=1)[:, :-1]
        ends = [(reached < end).sum(axis=1) for end in ((1.0 - level) / 2.0, (1.0 + level) / 2.0)]
        return np.column_stack(ends) / self.size

    def class_share(self) -> Array:
        """Return the posterior mean of each share of the class ``(K,)``; equal before any word."""
        if not self.people:
            return np.full(len(self.counts), 1.0 / len(self.counts))
        return np.asarray(self.of_class @ np.arange(self.size + 1.0)) / self.size

    def population_interval(self, level: float = 0.95) -> Array:
        """Return the central interval of each share of the population ``(K, 2)``."""
        edges = np.linspace(0.0, 1.0, BINS + 1)
        reached = np.pad(np.cumsum(self.of_population, axis=1), ((0, 0), (1, 0)))
        ends = (1.0 - level) / 2.0, (1.0 + level) / 2.0
        return np.array([np.interp(ends, each, edges) for each in reached])

    @functools.cached_property
    def leading(self) -> Array:
        """Probability of each category to be the largest of the class ``(K,)``; ties share it.

        It is the part of :data:`DRAWS` classes drawn from the exact posterior by a fixed seed, so
        its standard error is at most 0.005.
        """
        rng, (factors, scale) = generator(0, "leading"), self._factors()
        sums = [*itertools.accumulate(factors, np.convolve)]
        j = np.arange(self.people + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(sums[-1]) + j * scale - gammaln(1.0 + j)
            weights = np.exp(log - log.max())
            left = rng.choice(len(j), DRAWS, p=weights / weights.sum())
            alpha = np.full((DRAWS, len(factors)), 1.0 / len(factors))
            unknown = self.size - left
            # From the last category to the second; the first has what is left of the honest ones.
            for k in range(len(factors) - 1, 0, -1):
                rest = np.arange(len(sums[k]))[:, None] - np.arange(len(factors[k]))
                ways = factors[k] * _at(np.pad(sums[k - 1], (0, self.counts[k])), rest)
                reached = np.cumsum(ways, axis=1) / ways.sum(axis=1, keepdims=True)
                won = (reached[left] < rng.uniform(size=(DRAWS, 1))).sum(axis=1)
                alpha[:, k] += won
                left = left - won
        alpha[:, 0] += left
        shares = rng.standard_gamma(alpha)
        number = rng.multinomial(unknown, shares / shares.sum(axis=1, keepdims=True)) + alpha
        first = number > number.max(axis=1, keepdims=True) - 0.5
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def _factors(self) -> tuple[list[Array], float]:
        """Return for each category the weights of j honest people times e^(−j scale), and scale."""
        words, n = len(self.counts), self.people
        wrong, right = (chance / CHANCES for chance in chances(self.epsilon, words))
        a, honest = 1.0 / words, right - wrong
        # In powers of what J is at most, so that no factor overflows.
        scale = math.log(1.0 + honest * n)
        factors = []
        for count in self.counts:
            j = np.arange(count + 1.0)
            log = gammaln(count + 1.0) - gammaln(j + 1.0) - gammaln(count - j + 1.0)
            log += j * math.log(honest) + (count - j) * math.log(wrong) + gammaln(a + j) - j * scale
            factors.append(np.exp(log - log.max()))
        return factors, scale

    def _honest(self) -> Iterator[Array]:
        """Yield for each category the weights of j honest people of it and m of the others.

        They are :math:`P(j_k = j, J = j + m) / B(a + j, (K - 1) a + m)` up to a constant, of shape
        ``(c_k + 1, n - c_k + 1)``.
        """
        (factors, scale), a = self._factors(), 1.0 / len(self.counts)
        for k, own in enumerate(factors):
            rest = functools.reduce(np.convolve, [*factors[:k], *factors[k + 1 :]], np.ones(1))
            j, m = np.arange(len(own))[:, None], np.arange(len(rest))
            with np.errstate(divide="ignore"):
                log = np.log(own)[:, None] + np.log(rest) + (j + m) * scale
            log = log - gammaln(1.0 + j + m) - betaln(a + j, 1.0 - a + m)
            yield np.exp(log - log.max())


def _at(values: Array, index: NDArray[np.int64]) -> Array:
    """Return values at indices, and 0 at those below 0."""
    return np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
