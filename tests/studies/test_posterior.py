"""One release and several: what is reported is what the mechanism did."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core.base.sentences import amount
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.theory import flip
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import covid
from abcdp_core.studies import posterior, synthetic_data
from abcdp_core.studies.engine import samples
from tests import results
from tests.statistics import assert_frequencies, rejects

SMALL = posterior.Params(n=300, pool_size=1000, epsilon_total=50.0, c=20, epsilon_abc=0.2)

run = functools.partial(results.changed, posterior, SMALL)


def test_decisions_end_at_the_stop_and_flips_are_disagreements() -> None:
    decisions = run().tables["decisions"]
    assert decisions.private.iloc[-1]
    assert int(decisions.private.sum()) == 20
    assert ((decisions.non_private != decisions.private) == decisions.flipped).all()
    assert (decisions.non_private == (decisions.rho <= 0.2)).all()
    scale = one_release.event_of(SMALL).threshold_scale
    expected = flip.flip_probability(decisions.rho, 0.2, scale)
    np.testing.assert_allclose(decisions.flip_probability, expected, rtol=1e-15)


def test_new_noise_leaves_everything_public_unchanged() -> None:
    first, second = (
        run(noise_draw=noise, epsilon_total=5.0).tables["main"].set_index(["release", "parameter"])
        for noise in (0, 1)
    )
    for release in ("prior", "non-private"):
        pd.testing.assert_frame_equal(first.loc[release], second.loc[release])
    assert first.loc["private", "sample"].tolist() != second.loc["private", "sample"].tolist()


def test_the_event_depends_on_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    results.without_private_data(monkeypatch)
    pool.forget()
    assert one_release.event_of(SMALL).c == 20
    assert "ε_total = 50" in one_release.privacy_of(SMALL)


@pytest.mark.parametrize(
    ("epsilon_abc", "why"), [(0.1, "only 8 are close enough."), (0.02, "none is close enough.")]
)
def test_a_run_that_cannot_keep_c_draws_says_why(epsilon_abc: float, why: str) -> None:
    said = run(epsilon_abc=epsilon_abc, c=275).summary
    assert f"the maximum is 275. Of 1,000 draws, {why}" in said


@pytest.mark.parametrize("c", [2, 5])
def test_two_errors_that_look_the_same_are_one_number(c: int) -> None:
    result = run(n=1000, epsilon_total=1000.0, c=c)
    error = amount(posterior.error(result))
    assert f"The root mean squared error is {error} with and without noise;" in result.summary


@pytest.mark.parametrize(("noise_draw", "arrow", "edge"), [(0, "↑", -1), (4, "↓", 0)])
def test_what_is_beyond_the_axes_is_said_and_not_drawn(
    noise_draw: int, arrow: str, edge: int
) -> None:
    result = run(n=100, epsilon_total=0.05, noise_draw=noise_draw)
    drawn = posterior.figures(result)["decisions"].figure
    threshold = result.tables["decisions"].noisy_threshold.iloc[-1]
    names = " ".join(drawn.layout.yaxis2.ticktext)
    assert f"noisy threshold {amount(threshold)} {arrow}" in drawn.layout.yaxis2.ticktext[edge]
    line = next(trace for trace in drawn.data if trace.name.startswith("noisy threshold"))
    assert np.isnan(line.y).all()
    shown = sum(size == 4 for trace in drawn.data for size in np.atleast_1d(trace.marker.size))
    assert ("rejected either way, off the axes" in names) == (shown == 0)


def test_a_thinned_sample_has_the_histogram_of_all() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(10_000)
    weights = np.exp(-2.0 * values)
    weights /= weights.sum()
    chosen, shares = samples.thinned(weights)
    assert len(chosen) <= samples.SHOWN
    assert shares.sum() == pytest.approx(1.0)
    edges = np.linspace(0.0, 1.0, 11)
    whole, _ = np.histogram(values, edges, weights=weights)
    shown, _ = np.histogram(values[chosen], edges, weights=shares)
    assert shown == pytest.approx(whole, abs=0.02)
    # The largest weights are all on one side.
    largest = np.argsort(-weights)[: samples.SHOWN]
    cut, _ = np.histogram(values[largest], edges, weights=weights[largest])
    assert np.abs(cut / cut.sum() - whole).max() > 0.2
    one = np.zeros(3000)
    one[17] = 1.0
    chosen, shares = samples.thinned(one)
    assert (chosen.tolist(), shares.tolist()) == ([17], [1.0])


# ----------------------------------------------------------------------------------- synthetic data

SYNTHETIC = synthetic_data.Params(n=1000, pool_size=500, epsilon_total=100.0, c=4, data_sets=6)


def test_data_sets_take_the_kept_draws_in_turn() -> None:
    theta = np.arange(12.0).reshape(3, 4)
    chosen, data = simulators.simulate_round_robin(
        covid.SCENARIO, theta, 18, 7, np.random.default_rng(1)
    )
    assert chosen.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert data[3] == pytest.approx(covid.with_days(covid.curves(theta[:1], covid.days(18)))[0])


def test_a_private_data_set_follows_the_mixture_of_a_kept_draw() -> None:
    main = results.changed(synthetic_data, SYNTHETIC).tables["main"]
    theta = one_release.comparison_of(SYNTHETIC, 1).theta
    # The draw is one that the page of the posterior shows.
    fields = {name: getattr(SYNTHETIC, name) for name in posterior.Params.__dataclass_fields__}
    shown = results.changed(posterior, posterior.Params(**fields)).tables["main"]
    one = main[(main.source == "private") & (main.data_set == 0)]
    assert one["sample"].iloc[0] in set(shown["sample"][shown.release == "private"])
    counts = np.bincount(one.value.astype(int), minlength=5)
    weights = theta[one["sample"].iloc[0]]
    assert_frequencies(counts, weights)
    assert rejects(assert_frequencies, counts, np.roll(weights, 1))
