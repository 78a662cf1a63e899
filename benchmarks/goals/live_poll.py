"""What a class of a certain size learns by a live poll, and how often its interval is right.

About five minutes on two quiet processors. True values are normal(7.2, 1.3) between 0 and 24.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from abcdp_core.adaptive.poll import Design, Poll, answered
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from benchmarks.goals import SEED, Measured, goal, share

RUNS = 200
MEAN, SPREAD, LOW, HIGH = 7.2, 1.3, 0.0, 24.0

CLASSES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "bell": lambda rng, n: rng.normal(MEAN, SPREAD, n),
    "lognormal": lambda rng, n: MEAN * rng.lognormal(-0.125, 0.5, n),
    "two-ends": lambda rng, n: rng.choice([HIGH, LOW], n, p=[0.2, 0.8]),
}
"""Values of so many people."""


@functools.cache
def _intervals(epsilon: float, n: int, outstanding: int = 0) -> Array:
    """Return the last 95 % intervals of the mean ``(RUNS, 2)``."""
    return np.array([_held(epsilon, n, outstanding, run)[0].interval() for run in range(RUNS)])


def _held(
    epsilon: float, n: int, outstanding: int, run: int, kind: str = "bell"
) -> tuple[Poll, Array]:
    """Return a poll after its last answer, each given when so many later people were asked.

    And the values of those who answered.
    """
    rng = generator(SEED, "live-poll", run)
    poll, waiting = Poll(Design(LOW, HIGH, epsilon)), deque[tuple[float, int]]()
    questions, values = {}, np.clip(CLASSES[kind](rng, n), LOW, HIGH)
    for number, value in enumerate(values):
        questions[number] = poll.ask(rng, number, len(waiting))
        waiting.append((float(value), number))
        if len(waiting) > outstanding:
            told, asked = waiting.popleft()
            poll = poll.take(questions[asked], answered(questions[asked], told, epsilon, rng))
    for told, asked in waiting:
        poll = poll.take(questions[asked], answered(questions[asked], told, epsilon, rng))
    return poll, values


def _median(each: Array) -> Measured:
    drawn = np.random.default_rng(SEED).choice(each, (2000, len(each)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return Measured(float(np.median(each)), float(low), float(high), len(each))


def width(epsilon: float, n: int, outstanding: int = 0) -> Measured:
    """Median width of the 95 % interval of the mean; 200 runs.

    With *outstanding*, each answer comes after ten more people were asked.
    """
    return _median(np.diff(_intervals(epsilon, n, outstanding)).ravel())


def coverage(epsilon: float, n: int) -> Measured:
    """Share of these 95 % intervals that contain the true mean; 200 runs."""
    low, high = _intervals(epsilon, n).T
    return share(int(((low <= MEAN) & (high >= MEAN)).sum()), RUNS)


WIDEST = {2.0: {20: 4.0, 40: 2.3, 80: 1.3, 200: 0.8}, 1.0: {80: 3.5, 200: 1.7}}
"""ε_total -> people -> largest median width."""

for _epsilon, _sizes in WIDEST.items():
    for _n, _most in _sizes.items():
        _name, _asked = f"{_epsilon:g}-{_n}", {"epsilon": _epsilon, "n": _n}
        goal(f"live-poll-width-{_name}", at_most=_most, **_asked)(width)
        goal(f"live-poll-coverage-{_name}", at_least=0.90, **_asked)(coverage)
goal("live-poll-width-2-40-outstanding", at_most=3.0, epsilon=2.0, n=40, outstanding=10)(width)


@goal("live-poll-robust-coverage-bell-30", at_least=0.94, kind="bell", n=30)
@goal("live-poll-robust-coverage-bell-80", at_least=0.94, kind="bell", n=80)
@goal("live-poll-robust-coverage-lognormal-30", at_least=0.90, kind="lognormal", n=30)
@goal("live-poll-robust-coverage-lognormal-80", at_least=0.90, kind="lognormal", n=80)
@goal("live-poll-robust-coverage-two-ends-30", at_least=0.85, kind="two-ends", n=30)
@goal("live-poll-robust-coverage-two-ends-80", at_least=0.85, kind="two-ends", n=80)
def robust_coverage(kind: str, n: int) -> Measured:
    """Share of 95 % intervals without a shape that contain the class's mean; ε = 2, 200 runs.

    Values are bell-shaped; skewed; or at the two ends, 80 to 20.
    """
    inside = 0
    for run in range(RUNS):
        poll, values = _held(2.0, n, 0, run, kind)
        low, high = poll.robust.class_interval()
        inside += low <= values.mean() <= high
    return share(inside, RUNS)


@goal("live-poll-milliseconds", at_most=5.0)
def milliseconds() -> Measured:
    """Median time to take one answer and choose the next question, over 200 answers."""
    rng, poll, each = generator(SEED, "live-poll", 0), Poll(Design(LOW, HIGH, 2.0)), []
    question = poll.ask(rng, 0)
    for number in range(1, RUNS + 1):
        word = answered(question, MEAN, 2.0, rng)
        began = time.perf_counter()
        poll = poll.take(question, word)
        question = poll.ask(rng, number)
        each.append(1000.0 * (time.perf_counter() - began))
    return _median(np.array(each))
