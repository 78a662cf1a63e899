"""The synthetic data: drawn with the weights of the papers' figure."""

import dataclasses

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import observed_data
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture
from tests.statistics import assert_frequencies


def run(n: int = 5000, seed: int = 1) -> Result:
    return runner.run_to_end(observed_data, observed_data.Params(n=n), seed)


def test_every_point_is_counted_once() -> None:
    main = run(100).tables["main"]
    assert main["count"].sum() == 100
    assert main.share.sum() == pytest.approx(1.0)
    assert main.weight.tolist() == uniform_mixture.TRUTH.tolist()


def test_points_are_drawn_with_the_weights_and_not_with_others() -> None:
    counts = run(20_000).tables["main"]["count"].to_numpy()
    assert_frequencies(counts, uniform_mixture.TRUTH)
    with pytest.raises(AssertionError):
        assert_frequencies(counts, uniform_mixture.TRUTH[::-1])


def test_distances_from_the_weights_are_in_standard_errors() -> None:
    result = run(10)
    row = result.tables["main"].iloc[0]
    expected = (row["count"] / 10 - 0.25) / np.sqrt(0.25 * 0.75 / 10)
    assert row.standard_errors == pytest.approx(expected)
    assert dataclasses.replace(result.params) == observed_data.Params(n=10)
