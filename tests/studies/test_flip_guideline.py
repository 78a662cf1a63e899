"""The guideline: which share of the kept draws is false, and the paper's median beside it."""

import functools
from typing import Any

import numpy as np
import pytest

from abcdp_core import flips, pool, predictive
from abcdp_core.studies import flip_guideline
from abcdp_core.studies.flip_guideline import Params
from abcdp_core.study import At, Run
from abcdp_core.theory import flip
from tests import results

SMALL = Params(epsilon_total=1.0, n=1000, pool_size=500, c=5, data_sets=4, draws=100)
AT = At.first(Run(SMALL, 0, 1))

result_of = functools.partial(results.changed, flip_guideline, SMALL)


def test_the_guideline_is_the_crossing_of_the_table() -> None:
    tables = result_of().tables
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
    found = result_of(level=0.05)
    largest = int(found.tables["guideline"].largest_c.iloc[0])
    rho = predictive.paired_distances(pool.key_for("uniform-mixture", 1000, 100, 1), 1000)

    def median(c: int) -> float:
        scale = flips.event(AT, c).threshold_scale
        return float(np.median(flip.flip_probability(rho, 0.1, scale)))

    assert median(largest) <= 0.05 < median(largest + 1)
    main = found.tables["main"].set_index("c")
    assert main.median_flip_probability[largest] == pytest.approx(median(largest))
    # Why it does not guide: nearly all kept draws are false there.
    assert main.false_share[largest] > 0.9


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Up to c = "),
        ({"n": 10, "epsilon_total": 0.001, "level": 0.01}, "Even at c = 1, more than 20 % of"),
        ({"n": 3000, "epsilon_total": 1000.0, "level": 0.5}, "Up to c = 500, "),
        ({"epsilon_total": 1000.0, "epsilon_abc": 0.001}, "Hardly any draw is ever kept"),
        ({"epsilon_abc": 1.4, "false_level": 0.01}, "Up to c = 500, "),
    ],
)
def test_the_sentence_is_true_at_the_extremes(changes: dict[str, Any], said: str) -> None:
    assert said in result_of(**changes).summary
