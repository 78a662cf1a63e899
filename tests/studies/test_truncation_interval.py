"""Where to truncate and other ways of asking one person: corrected and known values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from abcdp_core.adaptive import best_channel, channels, information_bound
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.run.results import Result
from abcdp_core.studies import truncation_interval, ways_of_asking
from tests import results
from tools import information_bounds

usual = functools.partial(results.changed, truncation_interval, truncation_interval.Params())


def test_the_preset_finds_the_corrected_widths() -> None:
    main = usual().tables["main"]
    np.testing.assert_allclose(main.b, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)
    np.testing.assert_allclose(main.a, -main.b)
    np.testing.assert_allclose(main.paper_b, [0.06, 0.12, 0.54, 0.96])
    assert (main.paper_information < main.information).all()
    # The paper is compared with only where it reports.
    other = usual(epsilon_total=(1.0, 3.0)).tables["main"]
    assert other.paper_b.isna().tolist() == [False, True]


def test_no_interval_shown_beats_the_best() -> None:
    tables = usual().tables
    best = tables["main"].information.to_numpy()
    for name in ("surface", "plane", "width"):
        largest = tables[name].groupby("epsilon_total").information.max().to_numpy()
        assert (largest <= best).all()
    plane, width = (tables[name].query("epsilon_total == 1") for name in ("plane", "width"))
    at_mu = plane[plane.centre == 0]
    known = np.interp(at_mu.half_width, width.half_width, width.information)
    np.testing.assert_allclose(at_mu.information, known, rtol=0.01)


def test_sigma_is_hardly_learned_at_a_small_budget() -> None:
    """MATH A4: at ε_total = 1 even less than from a wide fixed interval; at 5 far more."""
    ways = usual().tables["ways"].pivot_table("information_sigma", "epsilon_total", "way")
    np.testing.assert_allclose(ways["best for mu"][[1.0, 5.0]], [5.2e-5, 0.175], rtol=0.01)
    np.testing.assert_allclose(
        ways[truncation_interval.FIXED][[1.0, 5.0]], [6.8e-5, 0.0072], rtol=0.01
    )
    assert (ways["best for sigma"] >= ways["best for trace"]).all()
    assert (ways["best for trace"] > ways["best for mu"]).all()


def test_information_by_half_width_begins_at_its_limit() -> None:
    """MATH A4: at ε_total = 1 within 1 % of the best down to width 0; at 10 far from it."""
    width = usual().tables["width"].set_index(["epsilon_total", "half_width"])
    share = width.information / width.best_information
    for budget, low, high in ((1.0, 0.99, 1.0), (10.0, 0.5, 0.9)):
        assert low < share[budget, 0.0] < high
        assert share[budget, 0.0] == pytest.approx(share[budget, 0.01], rel=0.01)


@pytest.mark.slow
def test_symbols_for_both_parameters_do_not_starve_sigma() -> None:
    found = usual(epsilon_total=(1.0,), channel=("sign", "optimal"))
    ways = found.tables["ways"].set_index("way")
    assert ways.information_sigma["optimal for mu"] == 0.0
    both = ways.loc["optimal for determinant"]
    assert both.information_mu > 0.07
    assert both.information_sigma > 2.0 * ways.information_sigma["best for sigma"]


# ---------------------------------------------------------------------------------- ways of asking

STALE = "assets/ceiling is out of date: run python -m tools.information_"


@functools.cache
def result(**changes: Any) -> Result:
    params = ways_of_asking.Params(**changes)
    return ways_of_asking.collect(params, ways_of_asking.told(params))


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
        np.testing.assert_allclose(
            ways_of_asking.value_itself(family), np.diag(information), atol=2e-6
        )


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
    computed = ways_of_asking.told(ways_of_asking.Params(epsilon_total, family, score))["main"]
    known = ways_of_asking.shipped().query("family == @family and best_for == @score")
    known = known[known.epsilon_total == epsilon_total]
    for column in ways_of_asking.COLUMNS["main"][2:]:
        np.testing.assert_allclose(
            known[column], computed[column], rtol=1e-5, atol=1e-9, err_msg=f"{STALE}curves"
        )
