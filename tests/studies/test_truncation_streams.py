"""Streams at several budgets: each is the stream of the player's study, drawn in its own panel."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import figures as fig
from abcdp_core.studies import adaptive_truncation
from abcdp_core.studies import truncation_streams as study
from tests import results

SMALL = study.Params(n=50, particles=300, epsilon_total=(2.0, 10.0))
SEED = 3

small = functools.partial(results.changed, study, SMALL, SEED)


def test_each_stream_is_that_of_the_single_study() -> None:
    for (budget, interval), rows in small().tables["main"].groupby(["epsilon_total", "interval"]):
        params = adaptive_truncation.Params(
            n=50, particles=300, epsilon_total=budget, interval=interval
        )
        alone = results.changed(adaptive_truncation, params, SEED).tables["main"]
        mine = rows.drop(columns=["epsilon_total", "interval"]).reset_index(drop=True)
        assert_frame_equal(mine, alone, check_exact=True)


@pytest.mark.parametrize(
    ("n", "times"), [(50, [20, 40, 50]), (40, [20, 40]), (1, [1]), (10_050, None)]
)
def test_pictures_come_at_multiples_and_at_the_end(n: int, times: list[int] | None) -> None:
    found = dataclasses.replace(SMALL, n=n).pictures()
    assert found == (times or found)
    assert len(found) <= study.PICTURES
    assert found[-1] == n
    assert all(t % 20 == 0 for t in found[:-1])
    assert np.all(np.diff(found) > 0)


def test_particles_kept_have_equal_weight_and_the_cloud_s_mean() -> None:
    at_end = "t == 50 and interval == 'adaptive' and epsilon_total == 10"
    cloud, main = (small().tables[name].query(at_end) for name in ("particles", "main"))
    last = main.iloc[0]
    assert len(cloud) == study.KEPT
    assert cloud.mu.mean() == pytest.approx(last.mean_mu, abs=0.3 * last.sd_mu)


def test_sigma_is_grey_where_it_is_not_learnt_and_mu_never_is() -> None:
    traces = study.figures(small())["streams"].figure.data
    # Rows: μ adaptive, μ fixed, σ adaptive, σ fixed; columns: ε_total = 2, 10.
    assert {trace.yaxis for trace in traces} == {"y", *(f"y{number}" for number in range(2, 9))}
    grey = {trace.yaxis for trace in traces if trace.name == fig.UNLEARNT.name}
    assert grey == {"y5", "y6", "y7", "y8"}
