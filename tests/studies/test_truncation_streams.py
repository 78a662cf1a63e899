"""Streams at several budgets: each is the stream of ``adaptive-truncation``, in its own panel."""

import dataclasses
import functools

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
    streams = small().tables["main"].set_index(["epsilon_total", "interval"])
    usual = adaptive_truncation.Params(n=50, particles=300)
    for (budget, interval), rows in streams.groupby(level=[0, 1]):
        at = {"epsilon_total": budget, "interval": interval}
        alone = results.changed(adaptive_truncation, usual, SEED, **at).tables["main"]
        assert_frame_equal(rows.reset_index(drop=True), alone, check_exact=True)


@pytest.mark.parametrize(
    ("n", "times"), [(50, [20, 40, 50]), (40, [20, 40]), (1, [1]), (10_050, None)]
)
def test_snapshots_come_at_multiples_and_at_the_end(n: int, times: list[int] | None) -> None:
    found = dataclasses.replace(SMALL, n=n).pictures()
    assert found == (times or found)
    assert len(found) <= study.PICTURES
    assert found[-1] == n
    assert {t % 20 for t in found[:-1]} <= {0}
    assert sorted(set(found)) == found


def test_particles_kept_have_equal_weight_and_the_cloud_s_mean() -> None:
    at_end = "t == 50 and interval == 'adaptive' and epsilon_total == 10"
    cloud, main = (small().tables[name].query(at_end) for name in ("particles", "main"))
    last = main.iloc[0]
    assert len(cloud) == study.KEPT
    assert cloud.mu.mean() == pytest.approx(last.mean_mu, abs=0.3 * last.sd_mu)


def test_sigma_is_gray_until_it_is_learned_and_mu_never_is() -> None:
    traces = study.figures(small())["streams"].figure.data
    # Rows: μ adaptive, μ fixed, σ adaptive, σ fixed; columns: ε_total = 2, 10.
    assert {trace.yaxis for trace in traces} == {"y", *(f"y{number}" for number in range(2, 9))}
    grey = {trace.yaxis for trace in traces if trace.name == fig.UNLEARNT.name}
    assert grey == {"y5", "y6", "y7", "y8"}
