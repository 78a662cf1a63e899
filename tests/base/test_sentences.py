"""Numbers, shares and comparisons in words, rounded so that none claims too much."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from abcdp_core.base import sentences as s

WORDS: dict[Callable[..., str], dict[tuple[object, ...], str]] = {
    s.counted: {(0, "run"): "0 runs", (1, "person", "people"): "1 person"},
    s.listed: {("a",): "a", ("ab",): "a and b", ("abc",): "a, b and c"},
    s.duration: {(7300.0,): "2 h", (60.0,): "1 min", (59.0,): "59 s", (0.0123,): "12 ms"},
    s.budget_name: {(math.inf,): "no noise", (0.5,): "ε_total = 0.5"},
    # Never rounded to 1.
    s.factor: {(0.0,): "1", (0.001,): "1.00100", (10.0,): "22,026", (1000.0,): "e^1000"},
    # Rounded up.
    s.at_most: {(0.0,): "0", (0.9881,): "0.989", (1e-9,): "0.000001", (1234.5,): "1235"},
    s.plain: {(6.6e-8,): "below 0.000001", (6.63e-05,): "0.0000663", (99.7, 2): "100"},
    # Rates of your own model, and their errors, may be as small as 1e-9.
    s.amount: {(2.8867e-7,): "0.000000289", (-912345.6,): "\u2212912,346", (-0.0,): "0"},
    # Above the bound as it is written.
    s.above: {(0.031, 0.02): "0.031", (0.02 + 1e-12, 0.02): "0.020000000001"},
    s.one_in: {(0.0,): "below one in a million", (6.63e-05,): "one in 15,000", (0.001,): "0.001"},
    # Never rounded to nothing, to all, or across a level.
    s.percent: {
        **{(0.0,): "0 %", (1e-7,): "less than 0.001 %", (0.05,): "5 %", (0.1449,): "14 %"},
        **{(0.9912,): "99.1 %", (0.99999999,): "more than 99.999 %", (1,): "100 %"},
        **{(0.103, 0.1): "10.3 %", (0.29, 0.29): "29 %", (0.0952, 0.0955): "9.5 %"},
    },
    s.interval: {
        (49.291, 49.518): "[49.29, 49.52]",
        (39.15, 39.1503): "[39.15000, 39.15030]",
        (-3.352e6, 3.352e6): "[\u22123.352e+06, 3.352e+06]",
    },
    # Also where noise helps.
    s.noise_cost: {
        (15.0, 9.5, 10.0): "the estimate is hardly better than the prior, even without noise",
        (9.5, 15.0, 10.0): "the estimate is no better than the prior, even without noise",
        (9.5, 5.0, 10.0): "noise leaves the estimate hardly better than the prior",
        (2.5, 10.0, 10.0): "only with noise is the estimate clearly better than the prior",
        (3.3, 8.9, 10.0): "the error is smaller than without noise",
        (3.3, 3.2, 10.0): "the error is about the same as without noise",
        (6.4, 3.2, 10.0): "the error is 2 times the error without noise",
    },
    s.against_no_noise: {
        (0.0, 0.0): "about the same as without noise",
        (1.0, 0.0, "distance"): "larger than the distance without noise",
    },
}


@pytest.mark.parametrize("function", WORDS, ids=lambda function: function.__name__)
def test_words_of_a_number(function: Callable[..., str]) -> None:
    assert {given: function(*given) for given in WORDS[function]} == WORDS[function]
