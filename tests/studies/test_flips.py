"""Flips: their formula, their share of the kept draws, and the guidelines drawn from them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from abcdp_core.evaluation import flips, predictive
from abcdp_core.evaluation.theory import flip
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies import flip_guideline, flip_probability
from abcdp_core.studies.engine import Run, Settings
from tests import results

SMALL = flip_guideline.Params(epsilon_total=1.0, n=1000, pool_size=500, c=5, data_sets=4, draws=100)
AT = Settings.first(Run(SMALL, 0, 1))

guideline = functools.partial(results.changed, flip_guideline, SMALL)


def test_the_guideline_is_the_crossing_of_the_table() -> None:
    tables = guideline().tables
    row, main = tables["guideline"].iloc[0], tables["main"].set_index("c")
    largest = int(row.largest_c_false)
    assert main.false_share[largest] <= 0.2 < main.false_share[largest + 1]
    assert row.largest_c_false_low <= largest <= row.largest_c_false_high
    assert (main.false_share_low <= main.false_share).all()
    assert (main.false_share <= main.false_share_high).all()
    rho = np.concatenate(flip_guideline.look(Run(SMALL, 0, 1)).rho)
    assert row.close == pytest.approx((rho <= 0.1).sum() / 4)
    flipped = flip.flip_probability(rho[rho > 0.1], 0.1, flips.event(AT).threshold_scale)
    assert row.let_in == pytest.approx(flipped.sum() / 4)


def test_the_median_guideline_is_the_largest_c_under_the_level() -> None:
    found = guideline(level=0.05)
    largest = int(found.tables["guideline"].largest_c.iloc[0])
    rho = predictive.paired_distances(pool.key_for(MIXTURE, 1000, 100, 1), 1000)

    def median(c: int) -> float:
        scale = flips.event(AT, c).threshold_scale
        return float(np.median(flip.flip_probability(rho, 0.1, scale)))

    assert median(largest) <= 0.05 < median(largest + 1)
    main = found.tables["main"].set_index("c")
    assert main.median_flip_probability[largest] == pytest.approx(median(largest))
    # Why it does not guide: nearly all kept draws are false there.
    assert main.false_share[largest] > 0.9


@pytest.mark.parametrize("total", [200, 10_000])
@pytest.mark.parametrize("close", [0.0, 0.4, 9.6, 110.5, 111.5, 199.9])
def test_close_and_far_draws_add_up_as_they_are_said(close: float, total: int) -> None:
    said = [float(text.replace(",", "")) for text in flips.close_and_far(close, total)]
    assert sum(said) == total
    assert said[0] == pytest.approx(close, abs=0.5)


def test_what_is_averaged_over_public_data_sets_says_so() -> None:
    said = "Averages over 4 data sets simulated from the prior; one data set can show other numbers"
    assert said in guideline().summary
    public = run(distances="public", n=(300,), pool_size=300, epsilon_total=(1.0,))
    sentences = {which: each.sentence for which, each in (
        ("public", flip_probability.figures(public)["flip-probability"]),
        ("uniform", flip_probability.figures(run())["flip-probability"]),
    )}  # fmt: skip
    assert said.replace("4", str(predictive.SETS)) in sentences["public"]
    assert "Averages over" not in sentences["uniform"]


# ------------------------------------------------------------------------------- flip probability

ONE = flip_probability.Params(
    n=(100,), c=(10,), epsilon_total=(10.0,), epsilon_abc=0.2, distances="uniform", resample=True,
    sensitivity="published",
)  # fmt: skip

run = functools.partial(results.changed, flip_probability, ONE)


def test_the_noise_is_that_of_the_paper_and_the_script_takes_half() -> None:
    # MATH F2's check value: N = 100, c = 10, ε_total = 10, Δ = 2/N, resample.
    assert run().tables["main"].noise_scale.iloc[0] == pytest.approx(0.04, rel=1e-12)
    script = run(sensitivity="script")
    assert script.tables["main"].noise_scale.iloc[0] == pytest.approx(0.02, rel=1e-12)
    assert script.privacy.startswith("Not private")


def test_fresh_thresholds_agree_with_the_formula_and_with_no_other_noise() -> None:
    main = run().tables["main"]
    found = flip_probability.agreement(main)
    assert not found.rejects
    assert 0.0 < found.least <= found.most <= 1.0
    for factor in (0.8, 1.25):
        wrong = flip.flip_probability(main.rho, 0.2, factor * main.noise_scale.iloc[0])
        assert flip_probability.agreement(main.assign(flip_probability=wrong)).most < 1e-6


def test_the_budget_needed_makes_flips_rare_for_half_of_the_draws() -> None:
    several = run(c=(10, 100), n=(10, 100), draws=25)
    table = several.tables["needed"].set_index(["n", "c"]).epsilon_needed
    rho = flips.distances("uniform", 10, 25, 1)
    for n, c in table.index:
        for factor, rare in ((1.0001, 13), (0.9999, 12)):
            scale = 2 * c * (2 / n) / (factor * table[n, c])
            probabilities = flip.flip_probability(rho, 0.2, scale)
            assert (probabilities <= flip_probability.RARE).sum() == rare


def test_inside_a_run_the_formula_does_not_hold() -> None:
    main = run(epsilon_total=(1.0,)).tables["main"]
    seen = main[main.reached >= 200]
    above, below = seen[seen.rho > 0.25], seen[seen.rho < 0.2]
    assert (above.in_run_high < above.flip_probability).mean() > 0.9
    assert (below.in_run_low > below.flip_probability).mean() > 0.9


@pytest.mark.parametrize(
    "changes",
    [{"epsilon_total": (0.001,)}, {"epsilon_abc": 1.4}, {"distances": "public"},
     {"distances": "observed"}],
)  # fmt: skip
def test_every_draw_of_the_pool_is_counted_once_with_its_flip_probability(
    changes: dict[str, Any],
) -> None:
    found = run(pool_size=200, draws=20, **changes)
    which = changes.get("distances", "uniform")
    rho = np.stack(flips.pool_distances(which, 100, 200, 1))
    assert len(rho) == (predictive.SETS if which == "public" else 1)
    epsilon_abc, scale = found.params.epsilon_abc, found.tables["main"].noise_scale.iloc[0]
    flipped = flip.flip_probability(rho, epsilon_abc, scale)
    close = rho <= epsilon_abc
    counts = flips.counts_of(found.tables["base_rates"])
    assert counts.close + counts.far == pytest.approx(200)
    assert counts.close == pytest.approx(close.sum(axis=1).mean())
    assert counts.lost == pytest.approx((flipped * close).sum(axis=1).mean())
    assert counts.let_in == pytest.approx((flipped * ~close).sum(axis=1).mean())
    assert ("uses the private data" in found.privacy) == (which == "observed")


def test_a_draw_at_the_threshold_is_close_and_those_beyond_the_edge_are_counted() -> None:
    rho = np.array([0.0, 0.2 - 15.5, 0.2, 0.2 + 1e-12, 1.2, 1.3, 100.0])
    rates = flips.base_rates([rho, rho], 0.2, 1.0).set_index("high").draws
    assert rates[[-15.0, 0.0, 1.0, 2.0, np.inf]].tolist() == [1, 2, 2, 1, 1]
    assert rates.sum() == len(rho)
