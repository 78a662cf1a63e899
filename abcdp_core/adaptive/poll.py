r"""A poll in which each answer is randomized on the person's own device (MATH A15).

    Design (bounds, ε) -> Poll --ask--> Question -> [a device draws a word] --take--> Poll

A question has two edges; the answer is one of three words: the value is below both, between them,
or above. A device draws the word by whole numbers of $2^{-32}$: the true one has

$$H = 2^{32} - 2L, \qquad L = \left\lceil \frac{2^{32}}{E + 2} \right\rceil, \qquad
E = \lfloor e^\epsilon (1 - 2 \cdot 10^{-12}) 2^{40} \rfloor / 2^{40} \tag{A15}$$

chances of $2^{32}$, each other one $L$. Since $H / L = 2^{32} / L - 2 \le E \le e^\epsilon$
exactly, no two values make any word more than $e^\epsilon$ times as likely as one another:
$\epsilon$-differential privacy without any floating-point noise. The device computes its own bound
on $e^\epsilon$ and allows half of that slack, so it refuses no honest question. The value
itself never leaves the device.

Values are taken to be normal with mean $\mu$ and standard deviation $\sigma$. Their posterior is
computed on a grid: $\mu$ uniform between the bounds, $\sigma$ log-uniform. The next question has
its edges at $\mu \pm 0.8\,\sigma$ of a draw from the posterior (Thompson sampling), where three
words tell nearly the most about both. While others wait for their answers, questions are spread
over the posterior instead, and are wider. Questions depend on earlier answers only, so each
person's guarantee holds by itself; answers may come late and in any order, each with its own
question.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

import numpy as np
from scipy.special import ndtr

from abcdp_core.adaptive.robust import Robust, sampled
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.privacy import Event, cost
from abcdp_core.privacy.accounting import Cost

WORDS = 3
"""Words that a question may be answered by."""

CHANCES = 2**32
"""Outcomes of the one random number that a device draws."""

UNIT = 2**40
"""The device compares with e^ε in whole numbers of 1 over this."""

SLACK = Decimal("2e-12")
"""How far below e^ε the factor of a table is, relative to it; twice what the device allows."""

EDGE = 0.8
"""Standard deviations from the mean at which a question has its edges."""

GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
"""Parts of 1 by which quantiles of one question and the next differ, so that all are spread."""

MEANS, SPREADS = 240, 20
"""Values of the mean and of the standard deviation on the grid."""

NARROWEST, WIDEST = 1 / 100, 1 / 6
"""Parts of the range between which the standard deviation is taken to be."""

NEGLIGIBLE = 1e-5
"""Part of the largest probability on the grid that changes no interval."""

STEPS = 2000
"""Parts of the range of which an edge is a whole number, or nearly: a person has to read it."""

EPSILON = Parameter("real", "ε per person", low=0.25, high=4.0)
"""What one answer may cost; above 4 the interval covers too rarely where values are not normal."""


@dataclass(frozen=True)
class Answer(Event):
    """One person's answer by one of some words (MATH A15, A16).

    Attributes:
        epsilon: what it costs the person.
    """

    epsilon: float


@cost.register
def _(event: Answer, delta: float = 0.0) -> Cost:  # noqa: ARG001 - pure, so delta is 0
    return Cost(event.epsilon)


@functools.cache
def chances(epsilon: float, words: int = WORDS) -> tuple[int, int]:
    """Return in how many of :data:`CHANCES` cases a device says each wrong word, and the true one.

    The ratio of the second to the first is at most e^ε, exactly.

    Args:
        epsilon: of one answer, above 0.
        words: how many there are, at least 2 (MATH A16).
    """
    with localcontext() as context:
        context.prec = 50
        below = int(Decimal(epsilon).exp() * (1 - SLACK) * UNIT)
    wrong = -(-CHANCES * UNIT // (below + (words - 1) * UNIT))
    return wrong, CHANCES - (words - 1) * wrong


@dataclass(frozen=True)
class Design:
    """What is public of a poll before anyone answers.

    Attributes:
        low, high: bounds of the values; others are moved to them.
        epsilon: what one answer costs the person.
        seed: of what is computed by random numbers (:mod:`abcdp_core.adaptive.robust`), at least 0.

    Raises:
        ParameterError: ``high`` is not above ``low``, or ε is out of its range.
    """

    low: float
    high: float
    epsilon: float
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the bounds and the budget."""
        EPSILON.check("epsilon", self.epsilon)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError(f"bounds = {self.low:g}, {self.high:g}: must be low, then high.")

    @property
    def event(self) -> Answer:
        """What one answer does with the person's value."""
        return Answer(self.epsilon)

    @property
    def many(self) -> int:
        """Words that a question may be answered by."""
        return WORDS

    @property
    def decimals(self) -> int:
        """Digits after the point of an edge."""
        return max(0, math.ceil(-math.log10((self.high - self.low) / STEPS)))

    def means(self) -> Array:
        """The means on the grid ``(MEANS,)``: the middles of equal parts of the range."""
        return self.low + (self.high - self.low) * (np.arange(MEANS) + 0.5) / MEANS

    def spreads(self) -> Array:
        """The standard deviations on the grid ``(SPREADS,)``."""
        return (self.high - self.low) * np.geomspace(NARROWEST, WIDEST, SPREADS)


@dataclass(frozen=True)
class Question:
    """What one person is asked: on which side of two edges their value is.

    Attributes:
        number: of the question, from 0 on.
        lower, upper: the edges.
    """

    number: int
    lower: float
    upper: float

    def words(self) -> tuple[str, str, str]:
        """The answers that there may be, the lowest first."""
        lower, upper = f"{self.lower:g}", f"{self.upper:g}"
        return f"less than {lower}", f"{lower} or more, less than {upper}", f"{upper} or more"

    def true_word(self, value: float) -> int:
        """Return the place of the word that is true of a value."""
        return int(value >= self.lower) + int(value >= self.upper)


@dataclass(frozen=True)
class Poll:
    """A poll as it is now.

    Attributes:
        design: what is public of it.
        answers: each question that was answered, with the place of its word.
        absent: people of the class who answered another question instead.
        log_posterior: of mean and standard deviation ``(MEANS, SPREADS)``, up to a constant.
        sums: of the values of those who answered, given mean and standard deviation: mean and
            variance ``(2, MEANS, SPREADS)`` (MATH A17).
    """

    design: Design
    answers: tuple[tuple[Question, int], ...] = ()
    absent: int = 0
    log_posterior: Array = field(
        default_factory=lambda: np.zeros((MEANS, SPREADS)), repr=False, compare=False
    )
    sums: Array = field(
        default_factory=lambda: np.zeros((2, MEANS, SPREADS)), repr=False, compare=False
    )

    @classmethod
    def replayed(cls, design: Design, answers: tuple[tuple[Question, int], ...]) -> Poll:
        """Return the poll that these answers lead to."""
        return functools.reduce(lambda poll, each: poll.take(*each), answers, cls(design))

    def ask(self, rng: np.random.Generator, number: int, waiting: int = 0) -> Question:
        """Return the next question, with its edges around a draw from the posterior.

        While others wait for their answers, its middle is a quantile of the mean's posterior, those
        of one number and the next far apart, and its half-width half the standard deviation of what
        the next person may have.

        Args:
            rng: of the draw.
            number: of the question.
            waiting: questions that were asked and are not answered yet.
        """
        means, spreads, weights = self.design.means(), self.design.spreads(), self._probabilities()
        if waiting:
            of_mean = weights.sum(axis=1)
            mean = np.interp(number * GOLDEN_RATIO % 1.0, np.cumsum(of_mean), means)
            variance = of_mean @ (means - of_mean @ means) ** 2 + weights.sum(axis=0) @ spreads**2
            half = math.sqrt(variance) / 2.0
        else:
            chosen = divmod(int(rng.choice(weights.size, p=weights.ravel())), SPREADS)
            mean, half = means[chosen[0]], EDGE * spreads[chosen[1]]
        digits = self.design.decimals
        step = 10.0**-digits
        # Within the bounds, where every edge parts values that people may have.
        low, high = self.design.low + step, self.design.high - step
        lower, upper = np.clip([mean - half, mean + half], low, high)
        return Question(number, round(float(lower), digits), round(float(upper), digits))

    def take(self, question: Question, word: int) -> Poll:
        """Return the poll with one answer more.

        Args:
            question: that the person was asked, however long ago.
            word: place of the one that the device drew.

        Raises:
            ValueError: there is no such word.
        """
        if word not in range(WORDS):
            raise ValueError(f"word = {word}: must be 0, 1 or 2.")
        chance, value = self.told(question, word)
        answers, posterior = (*self.answers, (question, word)), self.log_posterior + np.log(chance)
        return Poll(self.design, answers, self.absent, posterior, self.sums + value)

    def told(self, question: Question, word: int) -> tuple[Array, Array]:
        """Return what a word tells at every mean and standard deviation (MATH A15, A17).

        Returns:
            Its probability ``(MEANS, SPREADS)``, and given it the mean and the variance of the
            person's value ``(2, MEANS, SPREADS)``.
        """
        wrong, right = chances(self.design.epsilon)
        means, spreads = self.design.means()[:, None], self.design.spreads()
        edges = -math.inf, question.lower, question.upper, math.inf
        low, high = ((edge - means) / spreads for edge in edges[word : word + 2])
        honest = (right - wrong) / CHANCES
        chance = wrong / CHANCES + honest * (ndtr(high) - ndtr(low))
        shift = honest * (_density(low) - _density(high)) / chance
        # An edge at infinity has no density.
        ends = [np.where(np.isfinite(z), z, 0.0) * _density(z) for z in (low, high)]
        narrowed = 1.0 + honest * (ends[0] - ends[1]) / chance - shift**2
        return chance, np.stack([means + spreads * shift, spreads**2 * narrowed])

    def _probabilities(self) -> Array:
        weights = np.exp(self.log_posterior - self.log_posterior.max())
        return np.asarray(weights / weights.sum())

    def of_mean(self) -> Array:
        """Return the posterior probability of each mean on the grid ``(MEANS,)``."""
        return np.asarray(self._probabilities().sum(axis=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of the mean that has a posterior probability."""
        edges = np.linspace(self.design.low, self.design.high, MEANS + 1)
        reached = np.concatenate([[0.0], np.cumsum(self.of_mean())])
        ends = np.interp([(1.0 - level) / 2.0, (1.0 + level) / 2.0], reached, edges)
        return float(ends[0]), float(ends[1])

    def class_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of the mean of the class (MATH A17).

        They are those who answered and those who are absent. It is narrower than that of the mean
        of the population they come from. Before any answer it is that of the population.
        """
        if not self.answers:
            return self.interval(level)
        count, weights = len(self.answers) + self.absent, self._probabilities()
        kept = weights > NEGLIGIBLE * weights.max()
        means, spreads = np.meshgrid(self.design.means(), self.design.spreads(), indexing="ij")
        middle = (self.sums[0] + self.absent * means)[kept] / count
        spread = np.sqrt(self.sums[1] + self.absent * spreads**2)[kept] / count

        def end(part: float) -> float:
            low, high = self.design.low, self.design.high
            # Between two of some places, and again between two of some within.
            for _ in range(3):
                places = np.linspace(low, high, 13)
                reached = ndtr((places[:, None] - middle) / spread) @ weights[kept]
                at = int(np.searchsorted(reached[1:-1], part * weights[kept].sum()))
                low, high = float(places[at]), float(places[at + 1])
            return (low + high) / 2.0

        return end((1.0 - level) / 2.0), end((1.0 + level) / 2.0)

    @functools.cached_property
    def robust(self) -> Robust:
        """What the answers tell where values are not taken to be normal."""
        bounds = self.design.low, self.design.high
        cells = [
            (bounds[0], asked.lower, asked.upper, bounds[1])[word : word + 2]
            for asked, word in self.answers
        ]
        wrong = chances(self.design.epsilon)[0] / CHANCES
        ends = np.array(cells).reshape(-1, 2)
        return sampled(bounds, ends, wrong, self.absent, self.design.seed)

    def mean(self) -> float:
        """Return the posterior mean of the mean."""
        return float(self.of_mean() @ self.design.means())

    def spread(self) -> float:
        """Return the posterior mean of the standard deviation."""
        return float(self._probabilities().sum(axis=0) @ self.design.spreads())

    @property
    def is_vague(self) -> bool:
        """Whether the interval is wider than half the range: the answers do not tell yet."""
        low, high = self.interval()
        return high - low > (self.design.high - self.design.low) / 2.0


def _density(z: Array) -> Array:
    """Return the standard normal density; 0 at infinity."""
    return np.asarray(np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi))


def answered(question: Question, value: float, epsilon: float, rng: np.random.Generator) -> int:
    """Return the word that a device draws for a value; for rehearsals with simulated people."""
    return sent(question.true_word(value), WORDS, epsilon, rng)


def sent(true: int, many: int, epsilon: float, rng: np.random.Generator) -> int:
    """Return the word that a device draws for a true one of so many; for simulated people."""
    wrong, _ = chances(epsilon, many)
    drawn = int(rng.integers(CHANCES))
    others = [word for word in range(many) if word != true]
    return others[drawn // wrong] if drawn < (many - 1) * wrong else true
