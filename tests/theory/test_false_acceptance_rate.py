"""The expected share of false draws over data sets, and the largest c that keeps it low."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core import pool
from abcdp_core.mechanisms.sparse_vector import calibrate
from abcdp_core.theory import false_acceptance_rate
from abcdp_core.theory import sparse_vector_run as theory
from abcdp_core.theory.false_acceptance_rate import Share


@pytest.mark.slow
def test_shares_of_the_toy_data_are_those_of_the_prototype() -> None:
    # MATH F3's check values within their Monte Carlo error.
    key = pool.key_for("uniform-mixture", 5000, 10_000, 1)
    comparison = pool.observed_comparison(key, 5000)
    close = int((comparison.rho <= 0.1).sum())
    for c, share in {10: 0.14, 50: 0.61, 100: 0.86, 275: 0.97}.items():
        event = calibrate(1.0, comparison.sensitivity(), c, resample=False)
        run = theory.Run.of(event, 0.1)
        found = false_acceptance_rate.share_of([comparison.rho] * 2, run)
        assert found.share == pytest.approx(share, abs=0.06)
        assert found.unfillable == pytest.approx(max(0.0, 1.0 - close / c))
        assert found.low == pytest.approx(found.high, abs=1e-12)


def test_the_average_is_over_the_kept_draws_of_all_data_sets() -> None:
    run = theory.Run.of(calibrate(1.0, 0.002, 3, resample=False), 0.1)
    rng = np.random.default_rng(1)
    rho = [rng.uniform(0.0, 1.0, 100), rng.uniform(0.3, 1.0, 100), np.full(100, 0.5)]
    each = [theory.false_share(one, run, 512) for one in rho]
    some = [float(one.accepted[1:].sum()) for one in each]
    share = sum(one.share * part for one, part in zip(each, some, strict=True)) / sum(some)
    found = false_acceptance_rate.share_of(rho, run)
    assert found.share == pytest.approx(share, abs=1e-3)
    assert found.some == pytest.approx(np.mean(some), abs=1e-3)
    assert found.low < found.share <= found.high


@pytest.mark.parametrize("most", [7, 137, 1000])
@pytest.mark.parametrize("to", [1.5, 40.0, 1e5, 1e9])
def test_the_search_finds_the_largest_c(to: float, most: int) -> None:
    def rising(c: int) -> Share:
        """Rises in log c from 0 at 1 to 1 at ``to``."""
        share = min(1.0, math.log(c) / math.log(to))
        return Share(share, share, share, 0.0, 1.0, 1.0)

    shares, largest = false_acceptance_rate.search(rising, 0.5, most, {3, most})
    assert largest == max(c for c in range(1, most + 1) if rising(c).share <= 0.5)
    assert list(shares) == sorted(shares)
    assert {1, 2, 3, 5, most} <= set(shares)
    assert len(shares) < 25


def test_a_share_that_falls_again_does_not_raise_the_guideline() -> None:
    def share_at(c: int) -> Share:
        share = 0.9 if 20 <= c < 100 else 0.1
        return Share(share, share, share, 0.0, 1.0, 1.0)

    assert false_acceptance_rate.search(share_at, 0.2, 1000, set())[1] == 19
