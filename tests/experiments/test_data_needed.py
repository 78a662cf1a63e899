from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import data_needed
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import flip


def main_of(params: data_needed.Params) -> dict[str, np.ndarray]:
    table = runner.run_to_end(data_needed, params, 1).tables["main"]
    return {name: table[name].to_numpy() for name in table}


@pytest.mark.parametrize(("resample", "factor"), [(False, 11), (True, 20)])
def test_the_noise_is_that_of_the_theorem(resample: bool, factor: int) -> None:
    main = main_of(data_needed.Params(epsilon_total=2.0, c=10, resample=resample))
    for n, scale in zip(main["n"], main["noise_scale"], strict=True):
        sharp = uniform_mixture.distance().sensitivity(int(n))
        assert scale == pytest.approx(factor * sharp / 2.0, rel=1e-9)
        assert flip.tail(0.1, scale) == pytest.approx(
            main["flip_probability"][main["n"] == n][0], rel=1e-12
        )


def test_more_data_and_more_budget_help() -> None:
    usual = main_of(data_needed.Params())
    assert (np.diff(usual["flip_probability"]) < 0).all()
    richer = main_of(data_needed.Params(epsilon_total=2.0))
    assert (richer["flip_probability"] < usual["flip_probability"]).all()


def test_the_summary_says_from_where_on_it_is_enough() -> None:
    result = runner.run_to_end(data_needed, data_needed.Params(), 1)
    table = result.tables["main"]
    first = table[table.flip_probability <= data_needed.ENOUGH].n.iloc[0]
    assert f"at most 5 times in 100 from about N = {first:,} values on" in result.summary
    hopeless = dataclasses.replace(data_needed.Params(), epsilon_total=0.001, c=1000)
    words = runner.run_to_end(data_needed, hopeless, 1).summary
    assert "more than 5 times in 100 even at N = 100,000 values" in words
    rich = data_needed.Params(epsilon_total=1000.0, c=1)
    assert "already from N = 2 values on" in runner.run_to_end(data_needed, rich, 1).summary


@pytest.mark.parametrize(
    ("epsilon_abc", "cases"), [(0.1, "0 or 0.2"), (0.7, "0 or 1.4"), (1.0, "0")]
)
def test_no_case_lies_beyond_the_largest_distance(epsilon_abc: float, cases: str) -> None:
    result = runner.run_to_end(data_needed, data_needed.Params(epsilon_abc=epsilon_abc), 1)
    assert f"(a distance of {cases})" in result.summary
