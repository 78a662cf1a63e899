"""The same numbers released for a person and for a larger unit."""

import pytest

from abcdp_core.results import Result
from abcdp_core.studies import unit_of_privacy as study
from tests import results


def run(scenario: str = "tuberculosis-patients", **changes: object) -> Result:
    params = study.Params.for_scenario(scenario, pool_size=2000, runs=3, epsilon_total=1.0)
    return results.changed(study, params, **changes)


def shares(result: Result) -> dict[str, float]:
    widths = result.tables["widths"]
    return {row.unit or row.release: row.width_share for row in widths.itertuples()}


def test_protecting_the_outbreak_leaves_the_prior_and_protecting_a_patient_does_not() -> None:
    found = shares(run(pool_size=20_000))
    assert found["prior"] == 1.0
    assert found["non-private"] < found["one patient"] < 0.75
    assert 0.95 < found["one outbreak"] < 1.05
    found = shares(run(epsilon_total=1000.0))
    assert found["one patient"] == pytest.approx(found["non-private"], rel=0.05)


def test_the_label_states_both_guarantees_in_its_first_sentence() -> None:
    first = run("covid-people").privacy.partition(". ")[0]
    assert first.startswith("Protects one person: pure differential privacy with ε_total = 1 ")
    assert "; or protects one day: pure differential privacy with ε_total = 1 " in first
