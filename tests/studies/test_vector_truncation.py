"""Several values per person: what is counted, how many are asked for, and the bound."""

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core.studies import vector_truncation as study
from tests import results

TINY = study.Params(n=12, dimension=(1, 3), particles=20, runs=2, correlation=0.5)

run = functools.partial(results.changed, study, TINY)


def test_the_best_number_is_asked_for() -> None:
    params = dataclasses.replace(TINY, dimension=(1, 2, 5), epsilon_total=5.0, runs=1)
    assert params.ways()[study.BEST] == {1: 1, 2: 2, 5: 2}
    assert [params.asked(d) for d in (1, 2, 5)] == [[1], [1, 2], [1, 2, 5]]
    # With a small budget, asking for one value is best.
    small = dataclasses.replace(params, epsilon_total=1.0)
    assert [small.asked(d) for d in (1, 2, 5)] == [[1], [1, 2], [1, 5]]
    assert study.BEST not in small.ways()


def test_nobody_asked_leaves_the_prior() -> None:
    params = dataclasses.replace(TINY, n=1, dimension=(10,))
    tasks = [study.Task(params, 0, 1, 1, 1, coordinate) for coordinate in range(10)]
    main = pd.concat([study.work(task).tables["main"] for task in tasks])
    assert (main.answers.sum(), (main[main.answers == 0].mean_mu == 0.0).all()) == (1, True)


@pytest.mark.parametrize("correlation", [0.6, 0.0])
def test_values_of_a_person_are_correlated_as_asked_for(correlation: float) -> None:
    params = dataclasses.replace(TINY, n=5000, dimension=(3,), correlation=correlation)
    values = study.people(study.Task(params, 0, 1, 1, 1, 0))
    expected = (1.0 - correlation) * np.eye(3) + correlation
    np.testing.assert_allclose(np.corrcoef(values.T), expected, atol=0.06)
    assert values.std() == pytest.approx(1.0, abs=0.04)


def test_the_bound_and_the_guarantee() -> None:
    least = study.bound(TINY, np.array([0.5]))
    assert least[0] == pytest.approx(TINY.sigma * math.sqrt(2.0 / math.pi / 6.0))
    large = study.Params(epsilon_total=1000.0, channel="sign", dimension=(1, 5), n=2, runs=1)
    assert "ε_total = 150 " in study.collect(large, run().tables).privacy
