"""Errors over runs of people asked one by one: titles and sentences about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from abcdp_core.figures.looks import THEORY
from abcdp_core.results import Result
from abcdp_core.studies import online_gradient
from abcdp_core.study.estimates import Errors, least_error

SOME, MANY = [0.10, 0.11, 0.12], [0.50, 0.55, 0.60]


def result_of(**errors: list[float]) -> Result:
    rows = [(way, "s", 9, run, off) for way, each in errors.items() for run, off in enumerate(each)]
    main = pd.DataFrame(rows, columns=["way", "sampler", "t", "run", "off"])
    return Result("x", online_gradient.Params(), {"main": main}, "", "")


ERRORS = Errors(
    "off",
    "μ",
    x="t",
    ways=("way", "sampler"),
    at=lambda _: (9.0, "At the end"),
    theory=lambda *_: [(THEORY, np.array([1.0, 9.0]), np.array([2.0, 1.0]))],
)


@pytest.mark.parametrize(
    ("errors", "title"),
    [
        ({"a": SOME, "b": MANY}, "At the end, the error of μ with b is 5 times the error with a"),
        ({"a": MANY, "b": SOME}, "At the end, the error of μ with a is 5 times the error with b"),
        ({"a": SOME, "b": SOME}, "At the end, the errors of μ do not differ clearly"),
        ({"a": [0.1], "b": [0.9]}, "Error of μ"),
        ({}, "Error of μ"),
    ],
)
def test_the_title_says_what_is_found(errors: dict[str, list[float]], title: str) -> None:
    assert ERRORS.says(result_of(**errors))[0] == title


def test_the_sentence_has_three_numbers_at_most() -> None:
    two, three = (ERRORS.says(result_of(a=SOME, b=MANY, **more))[1] for more in ({}, {"c": [0.3]}))
    theory = (
        ". The large-sample lower bound without a prior is a mean absolute error of 1; the prior "
        "can bring the error below it."
    )
    start = "At the end, the mean absolute error of μ over 3 runs is "
    assert two == f"{start}0.11 with a and 0.55 with b{theory}"
    assert three == f"{start}between 0.11 with a and 0.55 with b{theory}"


def test_a_least_error_is_that_of_a_normal() -> None:
    draws = np.random.default_rng(1).normal(0.0, 3.0, 200_000)
    assert least_error(9.0) == pytest.approx(np.abs(draws).mean(), rel=0.01)
