"""The same numbers released for a person and for a larger unit."""

from __future__ import annotations

import functools

import pytest

from abcdp_core import runner
from abcdp_core.experiments import unit_of_privacy as study
from abcdp_core.mechanisms import private_summary
from abcdp_core.results import Result
from abcdp_core.simulators import tuberculosis_patients


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
    found = shares(run(epsilon_total=1000.0))
    assert found["private", "one patient"] == pytest.approx(found["non-private", ""], rel=0.05)


def test_the_units_differ_in_how_far_one_of_them_moves_the_numbers() -> None:
    small, large = (
        private_summary.noise_for(
            private_summary.statistic_of(tuberculosis_patients, unit),  # type: ignore[arg-type]
            1000,
            1.0,
        )
        for unit in ("default", "larger")
    )
    assert small.sensitivity == pytest.approx(13.0 / 3.0)
    assert large.sensitivity == 2760.0


def test_the_label_states_both_promises_in_its_first_sentence() -> None:
    first = run("covid-people").privacy.partition(". ")[0]
    assert first.startswith("Protects one person: pure differential privacy with ε_total = 1 ")
    assert "; or protects one day: pure differential privacy with ε_total = 1 " in first
