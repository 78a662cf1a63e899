"""Ways of asking one person: known values, where information is lost, words at the extremes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core.adaptive import best_channel, channels, information_bound
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.intervals import SCORES
from abcdp_core.results import Result
from abcdp_core.studies import ways_of_asking as study
from tools import information_bounds


@functools.cache
def result(**changes: Any) -> Result:
    params = study.Params(**changes)
    return study.collect(params, study.told(params))


def row(found: Result, way: str, epsilon_total: float) -> dict[str, Any]:
    main = found.tables["main"]
    return main[(main.way == way) & (main.epsilon_total == epsilon_total)].iloc[0].to_dict()


@pytest.mark.parametrize(
    ("budget", "ways"),
    [
        (1.0, {"truncation": 0.1089, "sign": 0.1360, "optimal": 0.1360}),
        (2.0, {"truncation": 0.2860, "sign": 0.3693, "optimal": 0.3693}),
        (5.0, {"truncation": 0.6122, "sign": 0.6197, "optimal": 0.8551}),
    ],
)
def test_what_is_known_of_normal_values(budget: float, ways: dict[str, float]) -> None:
    """MATH A14."""
    for way, score in ways.items():
        assert row(result(), way, budget)["score"] == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(
    ("family", "mu", "sigma"),
    [
        ("normal", 1.0, 2.0),
        ("laplace", 1.0, 1.0),
        ("logistic", 1 / 3, (math.pi**2 + 3) / 9),
        ("student-t", 0.75, 1.25),
    ],
)
def test_a_value_that_is_said_as_it_is_tells_what_is_known(
    family: str, mu: float, sigma: float
) -> None:
    np.testing.assert_allclose(study.value_itself(family), np.diag([mu, sigma]), atol=2e-6)


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


def test_answers_between_the_ends_are_counted() -> None:
    """Against draws; 100 000 of them see a difference of 1 % (8 standard deviations)."""
    found = row(result(epsilon_total=5.0), "truncation", 5.0)
    rng = np.random.default_rng(1)
    x = np.clip(rng.standard_normal(100_000), found["a"], found["b"])
    y = x + rng.laplace(scale=(found["b"] - found["a"]) / 5.0, size=len(x))
    share = np.mean((found["a"] < y) & (y < found["b"]))
    assert found["between"] == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("epsilon_total", "family", "score"),
    [
        *((0.001, "normal", score) for score in SCORES),
        (1000.0, "normal", "mu"),
        (20.0, "student-t", "sigma"),
    ],
)
def test_words_are_true_at_the_extremes(epsilon_total: float, family: str, score: str) -> None:
    found = result(epsilon_total=epsilon_total, score=score, family=family)
    title = fig.one_line(next(iter(study.figures(found).values())).figure)
    ratio = row(found, "optimal", epsilon_total)["score"]
    ratio /= row(found, "truncation", epsilon_total)["score"]
    assert ("more than" in title or "times as much" in title) == (ratio >= 1.01)
    assert ("Why symbols win" in study.why(found)) == (ratio >= 1.01)
    shares = found.tables["main"][["share", "share_before_chance"]].to_numpy()
    assert (shares[:, 0] <= shares[:, 1] + 1e-9).all()
    assert (shares <= 1.0 + 1e-5).all()


# ----------------------------------------------------------------------------------- the ceiling

STALE = "assets/ceiling is of other numbers: run python -m tools.information_"


@pytest.mark.parametrize(
    ("epsilon_total", "family"), [(0.1, "normal"), (20.0, "student-t"), (15.0, "logistic")]
)
def test_the_ceiling_that_is_shipped_is_what_is_computed(epsilon_total: float, family: str) -> None:
    """Of several optimal duals machines take different ones: true bounds, and as close as that."""
    _, bound = information_bounds.found(epsilon_total, family, "mu")
    known = information_bound.bound(epsilon_total, family, "mu")
    assert known == pytest.approx(bound, rel=best_channel.CLOSE), f"{STALE}bounds"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ceiling_is_met_about_the_location(family: str) -> None:
    for epsilon_total in (0.1, 5.0):
        found = row(result(epsilon_total=epsilon_total, family=family), "optimal", epsilon_total)
        assert -1e-6 <= found["bound"] / found["score"] - 1.0 < 1e-3


@pytest.mark.parametrize(("family", "edge"), [("normal", 1.042), ("laplace", 1.048)])
def test_the_ceiling_holds_on_its_cells_only(family: str, edge: float) -> None:
    """Near μ or far from it, about σ: on the cells' edges below the ceiling, on others above it."""
    kind, top = FAMILIES[family], information_bound.bound(1.0, family, "sigma")

    def told(end: float) -> float:
        sets = [(-end, end), (end, -end)]
        return float(channels.table(sets, [1.0, 1.0], 1.0).information(kind)[1, 1])

    inner = best_channel.cells(kind, information_bound.cells(1.0, family, "sigma")).edges
    assert max(told(end) for end in inner if 0.0 < end < math.inf) <= top
    assert 1.002 < told(edge) / top < 1.003


@pytest.mark.parametrize(
    ("epsilon_total", "family", "score"),
    [(2.0, "normal", "mu"), (5.0, "logistic", "trace"), (0.3, "student-t", "sigma")],
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
