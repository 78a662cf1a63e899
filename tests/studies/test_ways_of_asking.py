"""Ways of asking one person: known values, where information is lost, words at the extremes."""

import functools
import math
from typing import Any

import numpy as np
import pytest

from abcdp_core.adaptive import best_channel, channels, information_bound
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.results import Result
from abcdp_core.studies import ways_of_asking as study
from tools import information_bounds

STALE = "assets/ceiling is out of date: run python -m tools.information_"


@functools.cache
def result(**changes: Any) -> Result:
    params = study.Params(**changes)
    return study.collect(params, study.told(params))


def row(found: Result, way: str, epsilon_total: float) -> dict[str, Any]:
    main = found.tables["main"]
    return main[(main.way == way) & (main.epsilon_total == epsilon_total)].iloc[0].to_dict()


def test_what_is_known_of_normal_values() -> None:
    """MATH A14."""
    for budget, scores in {
        1.0: {"truncation": 0.1089, "sign": 0.1360, "optimal": 0.1360},
        2.0: {"truncation": 0.2860, "sign": 0.3693, "optimal": 0.3693},
        5.0: {"truncation": 0.6122, "sign": 0.6197, "optimal": 0.8551},
    }.items():
        found = {way: row(result(), way, budget)["score"] for way in scores}
        assert found == pytest.approx(scores, abs=5e-5)


def test_a_value_without_privacy_carries_what_is_known() -> None:
    for family, information in {
        "normal": [1.0, 2.0],
        "laplace": [1.0, 1.0],
        "logistic": [1 / 3, (math.pi**2 + 3) / 9],
        "student-t": [0.75, 1.25],
    }.items():
        np.testing.assert_allclose(study.value_itself(family), np.diag(information), atol=2e-6)


def test_what_is_wrong_is_that_of_a_sign_and_of_the_noise() -> None:
    assert row(result(), "sign", 1.0)["wrong"] == pytest.approx(1 / (1 + math.e))
    assert row(result(), "truncation", 1.0)["wrong"] == pytest.approx(0.5 * math.exp(-0.5))
    five = result(epsilon_total=5.0)
    symbols = five.tables["symbols"]
    p = channels.mass(FAMILIES["normal"], symbols.low.to_numpy(), symbols.high.to_numpy())
    right = float(symbols.chance_inside.to_numpy() @ p)
    assert row(five, "optimal", 5.0)["wrong"] == pytest.approx(1.0 - right)
    ratio = symbols.chance_inside / symbols.chance_outside
    np.testing.assert_allclose(ratio, math.exp(5.0), rtol=1e-9)


@pytest.mark.parametrize(("epsilon_total", "family"), [(0.001, "normal"), (20.0, "student-t")])
def test_no_way_has_more_than_all_information(epsilon_total: float, family: str) -> None:
    main = result(epsilon_total=epsilon_total, score="sigma", family=family).tables["main"]
    assert (main.share <= main.share_before_chance + 1e-9).all()
    assert (main.share_before_chance <= 1.0 + 1e-5).all()


# ----------------------------------------------------------------------------------- the ceiling


@pytest.mark.parametrize(("epsilon_total", "family"), [(0.1, "normal"), (20.0, "student-t")])
def test_the_ceiling_that_is_shipped_is_what_is_computed(epsilon_total: float, family: str) -> None:
    """Among several optimal duals computers may choose differently: true bounds, equally close."""
    _, bound = information_bounds.found(epsilon_total, family, "mu")
    known = information_bound.bound(epsilon_total, family, "mu")
    assert known == pytest.approx(bound, rel=best_channel.CLOSE), f"{STALE}bounds"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ceiling_is_met_about_the_location(family: str) -> None:
    found = row(result(epsilon_total=5.0, family=family), "optimal", 5.0)
    assert -1e-6 <= found["bound"] / found["score"] - 1.0 < 1e-3


@pytest.mark.parametrize(("family", "edge"), [("normal", 1.042), ("laplace", 1.048)])
def test_the_ceiling_holds_on_its_cells_only(family: str, edge: float) -> None:
    """About σ: with an end on the cells' edges below the ceiling, with another one above it."""
    kind, top = FAMILIES[family], information_bound.bound(1.0, family, "sigma")

    def information(end: float) -> float:
        sets = [(-end, end), (end, -end)]
        return float(channels.table(sets, [1.0, 1.0], 1.0).information(kind)[1, 1])

    inner = best_channel.cells(kind, information_bound.cells(1.0, family, "sigma")).edges
    assert max(information(end) for end in inner if 0.0 < end < math.inf) <= top
    assert 1.002 < information(edge) / top < 1.003


@pytest.mark.parametrize(
    ("epsilon_total", "family", "score"), [(2.0, "normal", "mu"), (0.3, "student-t", "sigma")]
)
def test_the_curves_that_are_shipped_are_what_is_computed(
    epsilon_total: float, family: str, score: str
) -> None:
    computed = study.told(study.Params(epsilon_total, family, score))["main"]
    known = study.shipped().query("family == @family and best_for == @score")
    known = known[known.epsilon_total == epsilon_total]
    for column in study.COLUMNS["main"][2:]:
        np.testing.assert_allclose(
            known[column], computed[column], rtol=1e-5, atol=1e-9, err_msg=f"{STALE}curves"
        )
