"""The same numbers released for a person and for a larger unit."""

from __future__ import annotations

import functools
import math

import pytest

from abcdp_core import runner
from abcdp_core.experiments import unit_of_privacy as study
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result


@functools.cache
def run(scenario: str = "tuberculosis-patients", **changes: object) -> Result:
    usual = study.Params.defaults(scenario) | {"scenario": scenario, "pool_size": 2000, "runs": 3}
    params = study.Params(**{"epsilon_total": 1.0} | usual | changes)
    return runner.run_to_end(study, params, seed=1)


def shares(result: Result) -> dict[tuple[str, str], float]:
    widths = result.tables["widths"]
    return {(row.release, row.unit): row.width_share for row in widths.itertuples()}


def test_protecting_the_outbreak_leaves_the_prior_and_protecting_a_patient_does_not() -> None:
    found = shares(run(pool_size=20_000))
    assert found["prior", ""] == 1.0
    assert found["non-private", ""] < found["private", "one patient"] < 0.75
    assert 0.95 < found["private", "one outbreak"] < 1.05


def test_without_limits_to_the_budget_noise_makes_no_difference_for_either_unit() -> None:
    found = shares(run(epsilon_total=1000.0))
    assert found["private", "one patient"] == pytest.approx(found["non-private", ""], rel=0.05)


def test_both_units_pay_the_same_and_differ_in_how_far_one_of_them_moves_the_numbers() -> None:
    source = study.simulators.load("tuberculosis-patients")
    small, large = (
        private_summary.noise_for(private_summary.statistic_of(source, unit), 1000, 1.0)  # type: ignore[arg-type]
        for unit in ("default", "larger")
    )
    assert small.sensitivity == pytest.approx(13.0 / 3.0)
    assert large.sensitivity == 2760.0
    assert large.scale / small.scale == pytest.approx(637.0, abs=0.1)
    assert study.MECHANISMS[0].spends(Budget(1.0)) == study.MECHANISMS[1].spends(Budget(1.0))


def test_more_releases_leave_the_first_as_they_were() -> None:
    few, more = (run(runs=runs).tables["main"] for runs in (2, 3))
    merged = few.merge(more, on=["release", "unit", "run", "parameter"], suffixes=("", "_more"))
    assert len(merged) == len(few)
    assert (merged["mean"] == merged["mean_more"]).all()


def test_the_label_names_both_units_in_its_first_sentence() -> None:
    result = run("covid-people")
    first = result.privacy.partition(". ")[0]
    assert first.startswith("Protects one person: pure differential privacy with ε_total = 1 ")
    assert "; or protects one day: pure differential privacy with ε_total = 1 " in first
    assert "Protect one person and intervals are " in study.finding(result)


def test_one_release_has_no_range() -> None:
    one = run(runs=1)
    assert "brackets" not in one.summary
    assert "1 release of the same data for each unit." in one.summary
    assert math.isfinite(one.tables["widths"].width_share.sum())


def test_a_pool_that_is_too_small_is_said_to_be() -> None:
    assert "too small to move" in run(pool_size=100).summary


def test_a_scenario_with_one_unit_is_refused() -> None:
    with pytest.raises(ParameterError, match="scenario = uniform-mixture"):
        study.Params(scenario="uniform-mixture")
