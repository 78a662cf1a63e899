"""Errors over runs of people asked one by one, and the few draws that represent many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from abcdp_core.results import Result
from abcdp_core.studies import online_gradient
from abcdp_core.study import samples
from abcdp_core.study.estimates import Errors, least_error

SOME, MANY = [0.10, 0.11, 0.12], [0.50, 0.55, 0.60]
WAYS = {"x": "t", "ways": ("way", "sampler"), "at": lambda _: (9.0, "At the end")}
ERRORS = Errors("off", "μ", theory=lambda *_: [], **WAYS)


@pytest.mark.parametrize(
    ("errors", "title"),
    [
        ({"a": SOME, "b": MANY}, "At the end, the error of μ with b is 5 times the error with a"),
        ({"a": SOME, "b": SOME}, "At the end, the errors of μ do not differ clearly"),
        ({"a": [0.1], "b": [0.9]}, "Error of μ"),
    ],
)
def test_the_title_says_what_is_found(errors: dict[str, list[float]], title: str) -> None:
    rows = [(way, "s", 9, run, off) for way, each in errors.items() for run, off in enumerate(each)]
    main = pd.DataFrame(rows, columns=["way", "sampler", "t", "run", "off"])
    result = Result("x", online_gradient.Params(), {"main": main}, "", "")
    assert ERRORS.says(result)[0] == title


def test_a_least_error_is_that_of_a_normal() -> None:
    draws = np.random.default_rng(1).normal(0.0, 3.0, 200_000)
    assert least_error(9.0) == pytest.approx(np.abs(draws).mean(), rel=0.01)


def test_a_thinned_sample_has_the_histogram_of_all() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(10_000)
    weights = np.exp(-2.0 * values)
    weights /= weights.sum()
    chosen, shares = samples.thinned(weights)
    assert len(chosen) <= samples.SHOWN
    assert shares.sum() == pytest.approx(1.0)
    edges = np.linspace(0.0, 1.0, 11)
    whole, _ = np.histogram(values, edges, weights=weights)
    shown, _ = np.histogram(values[chosen], edges, weights=shares)
    assert shown == pytest.approx(whole, abs=0.02)
    # The largest weights are all on one side.
    largest = np.argsort(-weights)[: samples.SHOWN]
    cut, _ = np.histogram(values[largest], edges, weights=weights[largest])
    assert np.abs(cut / cut.sum() - whole).max() > 0.2
    one = np.zeros(3000)
    one[17] = 1.0
    chosen, shares = samples.thinned(one)
    assert (chosen.tolist(), shares.tolist()) == ([17], [1.0])
