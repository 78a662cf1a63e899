"""Pieces of sentences: singular and plural, budgets and sizes."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from abcdp_core import sentences


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1000, "1,000 runs")],
)
def test_a_number_of_things(count: int, words: str) -> None:
    assert sentences.counted(count, "run") == words
    assert sentences.runs_in_words(pd.DataFrame({"run": range(count)})) == words


def test_irregular_plurals_are_given() -> None:
    assert sentences.counted(1, "person", "people") == "1 person"
    assert sentences.counted(2, "person", "people") == "2 people"


def test_names_one_after_another_and_times_in_their_units() -> None:
    assert [sentences.listed("abc"[:k]) for k in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    said = [sentences.duration(each) for each in (7300.0, 60.0, 59.0, 1.26, 0.0123)]
    assert said == ["2 h", "1 min", "59 s", "1.3 s", "12 ms"]


def test_budgets_and_accountants() -> None:
    assert sentences.budget_name(math.inf) == "no noise"
    assert sentences.budget_name(0.5) == "ε_total = 0.5"
    assert sentences.overpaid(1.0, "exact") == ""
    assert "by the accountant rdp," in sentences.overpaid(1.0, "rdp")


@pytest.mark.parametrize(
    ("log_ratio", "text"),
    [(0.0, "1"), (0.001, "1.00100"), (0.00042, "1.000420"), (1.0, "2.72"), (5.0, "148"),
     (10.0, "22,026"), (1000.0, "e^1000")],
)  # fmt: skip
def test_factors_are_never_rounded_to_none(log_ratio: float, text: str) -> None:
    assert sentences.factor(log_ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.9881, "0.989"), (0.5, "0.500"), (2e-5, "0.000020"), (1e-9, "0.000001"),
     (97.91, "98.0"), (1234.5, "1235")],
)  # fmt: skip
def test_what_is_not_exceeded_is_rounded_up(value: float, text: str) -> None:
    assert sentences.at_most(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.0, 3, "0"), (6.6e-8, 3, "below 0.000001"), (6.63e-05, 3, "0.0000663"),
     (0.00012, 3, "0.00012"), (0.0123, 3, "0.0123"), (2.0, 3, "2"), (999.4, 3, "999"),
     (999.7, 3, "1,000"), (2030.4, 3, "2,030"), (99.7, 2, "100"), (123.4, 2, "123")],
)  # fmt: skip
def test_a_number_has_no_exponent(value: float, digits: int, text: str) -> None:
    assert sentences.plain(value, digits) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(2.8867e-7, 3, "0.000000289"), (2e-12, 2, "0.000000000002"), (0.0, 3, "0"),
     (6.63e-05, 3, "0.0000663"), (2030.4, 3, "2,030"), (-912345.6, 3, "\u2212912,346"),
     (-0.0, 3, "0"), (math.nan, 3, "nan")],
)  # fmt: skip
def test_what_has_a_unit_is_never_too_small_to_say(value: float, digits: int, text: str) -> None:
    """Rates of a model of one's own may lie between 1e-9 and 1e-6, and so do their errors."""
    assert sentences.amount(value, digits) == text


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [(0.031, 0.02, "0.031"), (0.0204, 0.02, "0.0204"), (0.02 + 1e-12, 0.02, "0.020000000001"),
     (1200.4, 1200.0, "1200.4"), (1e-7, 0.0, "0.0000001")],
)  # fmt: skip
def test_a_number_that_is_larger_is_so_as_it_is_written(
    value: float, bound: float, text: str
) -> None:
    assert sentences.above(value, bound).startswith(text)


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.0, "below one in a million"), (1e-6, "one in 1,000,000"), (6.63e-05, "one in 15,000"),
     (0.000999, "one in 1,000"), (0.001, "0.001"), (0.0123456, "0.0123"), (1.0, "1")],
)  # fmt: skip
def test_a_small_probability_is_one_in_so_many(probability: float, text: str) -> None:
    assert sentences.one_in(probability) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1e-7, "less than 0.001 %"),
        (0.00123, "0.12 %"),
        (0.05, "5 %"),
        (0.1449, "14 %"),
        (0.96, "96 %"),
        (0.9912, "99.1 %"),
        (0.99999999, "more than 99.999 %"),
        (1, "100 %"),
        (1.624, "162 %"),
    ],
)
def test_shares_are_never_rounded_to_nothing_or_all(share: float, text: str) -> None:
    assert sentences.percent(share) == text


@pytest.mark.parametrize(
    ("share", "level", "text"),
    [
        (0.103, 0.1, "10.3 %"),
        (0.1, 0.1, "10 %"),
        (0.29, 0.29, "29 %"),
        (0.0996, 0.1, "10 %"),
        (0.0949, 0.0945, "9.5 %"),
        (0.0952, 0.0955, "9.5 %"),
        (0.998, 0.99, "99.8 %"),
    ],
)
def test_a_share_beyond_what_is_allowed_is_not_rounded_to_it(
    share: float, level: float, text: str
) -> None:
    assert sentences.percent(share, level) == text


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (49.291, 49.518, "[49.29, 49.52]"),
        (39.15, 39.1503, "[39.15000, 39.15030]"),
        (-1416.3, 1234.6, "[\u22121416, 1235]"),
        (-3.352e6, 3.352e6, "[\u22123.352e+06, 3.352e+06]"),
    ],
)
def test_the_ends_of_an_interval_can_be_told_apart(left: float, right: float, words: str) -> None:
    assert sentences.interval(left, right) == words


@pytest.mark.parametrize(
    ("error", "plain", "said"),
    [
        (15.0, 9.5, "the estimate is hardly better than no data, even without noise"),
        (9.5, 15.0, "the estimate is no better than no data, even without noise"),
        (9.5, 5.0, "noise leaves the estimate hardly better than no data"),
        (2.5, 10.0, "only with noise is the estimate clearly better than no data"),
        (3.3, 8.9, "the error is smaller than without noise"),
        (3.3, 3.2, "the error is about the same as without noise"),
        (6.4, 3.2, "the error is 2 times the error without noise"),
    ],
)
def test_what_noise_does_to_an_error_is_said_also_where_it_does_good(
    error: float, plain: float, said: str
) -> None:
    assert sentences.noise_cost(error, plain, 10.0, "no data") == said


@pytest.mark.parametrize(
    ("private", "plain", "said"),
    [
        (3.0, 1.5, "2 times the distance without noise"),
        (1.05, 1.0, "about the same as without noise"),
        (0.5, 1.0, "smaller than without noise"),
        (0.0, 0.0, "about the same as without noise"),
        (1.0, 0.0, "larger than the distance without noise"),
    ],
)
def test_a_size_is_compared_with_that_without_noise(
    private: float, plain: float, said: str
) -> None:
    assert sentences.against_no_noise(private, plain, "distance") == said
