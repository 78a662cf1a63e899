"""The poll: exact chances, a posterior that another grid confirms, and replay."""

from __future__ import annotations

import dataclasses
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy import stats

from abcdp_core.adaptive import poll
from abcdp_core.adaptive.poll import CHANCES, Design, Poll, Question
from abcdp_core.base.parameters import ParameterError
from abcdp_core.privacy import cost
from tests.statistics import assert_frequencies, rejects

DESIGN = Design(0.0, 24.0, 2.0)


def test_no_word_is_more_than_e_to_the_epsilon_times_as_likely() -> None:
    """In whole numbers against 80 digits; one more for the true word would be too many."""
    getcontext().prec = 80
    for epsilon in np.linspace(0.25, 4.0, 26).tolist():
        wrong, right = poll.chances(epsilon)
        allowed = Decimal(epsilon).exp()
        assert 2 * wrong + right == CHANCES
        assert Decimal(right) / wrong <= allowed
        assert Decimal(right + 2) / (wrong - 1) > allowed
        assert cost(Design(0, 1, epsilon).event).epsilon == epsilon


def live(
    people: int, epsilon: float = 2.0, late: int = 0, told: bool = False, run: int = 0
) -> Poll:
    """A poll of simulated people, whose answers come some questions late, which it may be told."""
    rng = np.random.default_rng([people, late, run])
    now, waiting = Poll(Design(0.0, 24.0, epsilon)), []
    for number, value in enumerate(rng.normal(7.2, 1.3, people)):
        question = now.ask(rng, number, len(waiting) * told)
        waiting.append((question, poll.answered(question, value, epsilon, rng)))
        if len(waiting) > late:
            now = now.take(*waiting.pop(0))
    for each in waiting:
        now = now.take(*each)
    return now


@pytest.mark.parametrize(("people", "late"), [(10, 0), (80, 0), (80, 20)])
def test_the_posterior_is_that_of_a_finer_grid(people: int, late: int) -> None:
    now = live(people, late=late)
    means = np.linspace(0.0, 24.0, 1202)[1:-1, None]
    spreads = np.geomspace(0.24, 4.0, 61)
    log = np.zeros((1200, 61))
    for question, word in now.answers:
        normal = stats.norm(means, spreads)
        below, above = normal.cdf(question.lower), normal.sf(question.upper)
        inside = (below, 1.0 - below - above, above)[word]
        keep = np.exp(2.0) / (np.exp(2.0) + 2.0)
        log += np.log(keep * inside + (1.0 - keep) / 2.0 * (1.0 - inside))
    weights = np.exp(log - log.max()).sum(axis=1)
    reached = np.cumsum(weights) / weights.sum()
    expected = np.interp([0.025, 0.975], reached, means[:, 0])
    assert now.interval() == pytest.approx(expected.tolist(), abs=0.15 * np.ptp(expected))
    assert now.mean() == pytest.approx(np.average(means[:, 0], weights=weights), abs=0.1)


def test_replayed_answers_lead_to_the_same_poll() -> None:
    now = live(30, late=5)
    again = Poll.replayed(DESIGN, now.answers)
    assert again == now
    assert np.array_equal(again.log_posterior, now.log_posterior)
    # In another order too, but for rounding.
    assert Poll.replayed(DESIGN, now.answers[::-1]).interval() == pytest.approx(now.interval())


def test_before_anyone_answers_the_interval_is_that_of_the_bounds() -> None:
    assert Poll(DESIGN).interval() == pytest.approx((0.6, 23.4))
    assert Poll(DESIGN).is_vague
    assert not live(80).is_vague


@pytest.mark.parametrize(("value", "true"), [(5.0, 0), (6.0, 1), (7.2, 1), (8.0, 2)])
@pytest.mark.parametrize("drawn_for", [2.0, 1.0])
def test_a_word_is_as_likely_as_stated(value: float, true: int, drawn_for: float) -> None:
    """Drawn for another budget than stated, which is half the noise missing, it is seen."""
    question, rng = Question(0, 6.0, 8.0), np.random.default_rng(int(10 * value))
    drawn = [poll.answered(question, value, drawn_for, rng) for _ in range(20_000)]
    wrong, right = poll.chances(1.0)
    expected = np.full(3, wrong / CHANCES)
    expected[true] = right / CHANCES
    counts = np.bincount(drawn, minlength=3)
    assert rejects(assert_frequencies, counts, expected) == (drawn_for == 2.0)


def test_questions_have_edges_that_a_person_can_read_within_the_bounds() -> None:
    rng = np.random.default_rng(1)
    asked = [Poll(DESIGN).ask(rng, number) for number in range(200)]
    assert all(0.0 < each.lower <= each.upper < 24.0 for each in asked)
    assert all(round(each.lower, 2) == each.lower for each in asked)
    assert Question(0, 6.0, 7.43).words()[2] == "7.43 or more"
    true = [Question(0, 6.0, 7.43).true_word(each) for each in (5.9, 6.0, 7.42, 7.43)]
    assert true == [0, 1, 1, 2]


@pytest.mark.parametrize("answered", [0, 30])
def test_questions_of_a_batch_are_spread_over_what_the_mean_may_be(answered: int) -> None:
    then, rng = live(answered), np.random.default_rng(1)
    reached = np.cumsum(then.of_mean())
    for told in (True, False):
        asked = [then.ask(rng, number, waiting=told * (number + 1)) for number in range(24)]
        middles = [(each.lower + each.upper) / 2.0 for each in asked]
        eighths = 8.0 * np.interp(middles, then.design.means(), reached)
        assert (len({*eighths.astype(int)}) == 8) == told


@pytest.mark.parametrize(("people", "late"), [(24, 24), (48, 12)])
def test_of_those_asked_at_once_more_is_known_where_the_questions_are_chosen_for_that(
    people: int, late: int
) -> None:
    widths = {
        told: [
            np.diff(live(people, late=late, told=told, run=run).class_interval())
            for run in range(20)
        ]
        for told in (True, False)
    }
    assert np.median(widths[True]) < 0.9 * np.median(widths[False])


@pytest.mark.parametrize(("low", "high", "epsilon"), [(1, 1, 2), (2, 1, 2), (0, 1, 5), (0, 1, 0.1)])
def test_a_poll_without_a_range_or_with_too_large_a_budget_is_refused(
    low: float, high: float, epsilon: float
) -> None:
    with pytest.raises(ParameterError):
        Design(low, high, epsilon)


@pytest.mark.parametrize("word", range(3))
def test_what_a_word_tells_of_a_value_is_what_quadrature_finds(word: int) -> None:
    first, question = Poll(Design(0.0, 10.0, 1.5)), Question(0, 4.0, 5.5)
    wrong, right = (each / CHANCES for each in poll.chances(1.5))
    chance, (middle, variance) = first.told(question, word)
    for place in ((0, 0), (120, 10), (100, 19), (239, 5)):
        mean, spread = first.design.means()[place[0]], first.design.spreads()[place[1]]
        values = mean + spread * np.linspace(-9.0, 9.0, 200_001)
        density = np.exp(-0.5 * ((values - mean) / spread) ** 2)
        cells = (values >= question.lower).astype(int) + (values >= question.upper)
        told = np.where(cells == word, right, wrong)
        weights = density * told / (density * told).sum()
        assert chance[place] == pytest.approx((density * told).sum() / density.sum(), rel=1e-4)
        exact = weights @ values
        assert middle[place] == pytest.approx(exact, abs=1e-4 * spread)
        assert variance[place] == pytest.approx(weights @ (values - exact) ** 2, rel=1e-3)


def test_the_class_is_known_better_than_the_population_and_as_often_as_it_says() -> None:
    rng, design, inside, width = np.random.default_rng(3), Design(0.0, 24.0, 3.0), 0, []
    for _ in range(40):
        values, found = 7.0 + 1.5 * rng.standard_normal(40), Poll(design)
        for number, value in enumerate(np.clip(values, 0.0, 24.0)):
            question = found.ask(rng, number)
            found = found.take(question, poll.answered(question, float(value), 3.0, rng))
        low, high = found.class_interval()
        inside += low <= values.mean() <= high
        width.append((high - low) / (found.interval()[1] - found.interval()[0]))
    assert 0.6 < np.mean(width) < 0.95
    # Of 40 intervals of 95 %, fewer than 30 contain the mean once in 10⁸ times.
    assert inside >= 30
    assert Poll(design).class_interval() == Poll(design).interval()


@pytest.mark.parametrize(("absent", "taken_for"), [(90, 90), (10, 10), (90, 0), (0, 30)])
def test_the_mean_of_a_class_in_part_absent_is_what_simulated_classes_have(
    absent: int, taken_for: int
) -> None:
    """With another number of people absent the interval is too wide or narrow, and it is seen."""
    rng, found = np.random.default_rng(5), live(20, epsilon=4.0)
    weights = np.exp(found.log_posterior - found.log_posterior.max()).ravel()
    at = divmod(rng.choice(weights.size, 4000, p=weights / weights.sum()), poll.SPREADS)
    means, spreads = found.design.means()[at[0]], found.design.spreads()[at[1]]
    wrong, right = poll.chances(4.0)
    total = (means[:, None] + spreads[:, None] * rng.standard_normal((4000, absent))).sum(axis=1)
    for question, word in found.answers:
        value, left = np.empty(4000), np.arange(4000)
        while len(left):
            value[left] = means[left] + spreads[left] * rng.standard_normal(len(left))
            cell = (value[left] >= question.lower).astype(int) + (value[left] >= question.upper)
            left = left[rng.uniform(size=len(left)) > np.where(cell == word, 1.0, wrong / right)]
        total += value
    ends = dataclasses.replace(found, absent=taken_for).class_interval(0.5)
    counts = np.bincount(np.searchsorted(ends, total / (20 + absent)), minlength=3)
    seen = rejects(assert_frequencies, counts, np.array([0.25, 0.5, 0.25]))
    assert seen == (absent != taken_for)
