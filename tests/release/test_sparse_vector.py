"""A release by the sparse vector: what is kept, in which units, and what it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import covid
from abcdp_core.release import procedure
from abcdp_core.release.document import figure, in_scale, synthetic
from abcdp_core.release.request import to_domain
from abcdp_core.release.sparse_vector import SparseVectorRecord, SparseVectorRequest, pool_key
from tests.release import small
from tests.release.small import VALUES, seeded


def make(request: SparseVectorRequest, values: small.Array = VALUES) -> SparseVectorRecord:
    made = procedure.make(request, values, seeded(1))
    assert isinstance(made, SparseVectorRecord)
    return made


def test_the_pool_is_compared_by_the_chosen_distance_and_the_data_count_as_private() -> None:
    request, told = small.kept(c=20, distance="pairs"), list[float]()
    prepared = procedure.prepare(request, VALUES, told.append)
    assert not prepared.measured.synthetic
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert pool_key(request, 60).distance == "pairs"
    other = procedure.prepare(small.kept(), VALUES)
    assert not np.allclose(prepared.measured.rho, other.measured.rho)
    document = make(request)
    public = pool.build(pool_key(request, 60))
    assert len(document.theta) > 0
    assert np.array_equal(document.theta, public.theta[document.release.indices])


def test_shares_are_named_by_their_intervals() -> None:
    for low, high, first, second in (
        (-1.0, 1.0, "−1 to −0.6", "−0.6 to −0.2"),
        (0.0, 1e5, "0 to 20000", "20000 to 40000"),
        (-1e20, 1e20, "−1e+20 to −6e+19", "−6e+19 to −2e+19"),
        (1e6, 1e6 + 1, "1000000 to 1000000.2", "1000000.2 to 1000000.4"),
    ):
        request = small.kept("uniform-mixture", low=low, high=high)
        assert [each.name for each in request.own_parameters(30)][:2] == [first, second]


def test_a_curve_is_that_of_the_scenario_in_the_scale_of_the_series(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request, n = small.kept(low=-10.0, high=90.0), 25
    theta = np.array([0.3, -1.2, 0.5, 2.0])
    cubic, square, slope, start = in_scale(request.own_parameters(n), theta)
    row, scenario = np.arange(n), covid.curves(theta, covid.days(n))
    assert cubic * row**3 + square * row**2 + slope * row + start == pytest.approx(
        -10.0 + scenario / 50.0
    )
    assert request.fitted(n).startswith("the cubic term, the quadratic term, the slope")
    # Without words of its own, a scenario keeps its names and numbers.
    plain = dataclasses.replace(covid.SCENARIO, own_parameters=None)
    monkeypatch.setattr(covid, "SCENARIO", plain)
    request = small.kept(low=-10.0, high=90.0)
    assert request.fitted(n) == "a0, a1, a2 and a3"
    assert in_scale(request.own_parameters(n), theta).tolist() == theta.tolist()


@pytest.mark.parametrize("scenario", ["covid", "uniform-mixture"])
def test_figure_and_words_fit_the_kept_draws(scenario: str) -> None:
    made = make(small.kept(scenario, epsilon_abc=1.2))
    assert np.allclose(made.values, in_scale(made.parameters, made.theta))
    for kept, draws in ((0, "0 draws"), (1, "1 draw"), (3, "3 draws")):
        document = dataclasses.replace(made, theta=made.theta[:kept])
        title, words = figure(document).layout.title.text, document.remarks
        assert ("No draw was kept" in title) == (kept == 0) == ("is the prior mean" in words)
        assert f"Kept {draws} (c = 4) after" in document.summary
        if scenario == "uniform-mixture" and kept:
            means = 100.0 * document.theta.mean(axis=0)
            most = document.parameters[means.argmax()].name
            assert f"{most}, about {means.max():.0f} %" in title


def test_synthetic_series_are_simulated_at_the_kept_parameters_in_the_domain() -> None:
    document = make(small.kept(low=-20.0, high=480.0, epsilon_abc=1.4))
    k, n = len(document.theta), len(VALUES)
    assert k > 0
    frame = synthetic(document, k + 2, np.random.default_rng(3))
    turns = document.theta[np.arange(k + 2) % k]
    values = covid.simulate(np.random.default_rng(3), turns, n)[..., 1].ravel()
    expected = -20.0 + 500.0 * np.clip(values, 0.0, 5000.0) / 5000.0
    np.testing.assert_allclose(frame["value"], expected, rtol=1e-12)
    assert frame["data_set"].tolist() == [each for each in range(k + 2) for _ in range(n)]
    assert frame["point"].tolist() == [*range(n)] * (k + 2)


def test_the_sensitivity_is_the_sharp_one_of_the_distance_and_holds() -> None:
    request = small.kept("uniform-mixture", high=5.0)
    values = np.random.default_rng(1).uniform(0.0, 5.0, 37)
    event = make(request, values).release.event
    assert isinstance(event, SparseVector)
    sharp = simulators.load("uniform-mixture").distance().sensitivity(37)
    assert sharp < event.sensitivity <= sharp * (1.0 + 2.0**-18)
    public = pool.build(pool_key(request, 37))
    rho = pool.compare(public, values[:, None], synthetic=False).rho
    for place in (0.0, 2.5, 5.0):
        moved = np.append(values[:-1], place)
        other = pool.compare(public, moved[:, None], synthetic=False).rho
        assert np.abs(rho - other).max() <= event.sensitivity


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(0, 6))
def test_ends_of_intervals_are_whole_numbers_whatever_their_decimals(
    low: int, fifth: int, decimals: int
) -> None:
    written = np.array([float(f"{low + i * fifth}e-{decimals}") for i in range(6)])
    domain = written[0], written[-1]
    assert to_domain(written, domain, (0.0, 5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    # A little below an end lies the interval below.
    below = to_domain(written[1:] - 1e-3 * (domain[1] - domain[0]), domain, (0.0, 5.0))
    assert np.floor(below).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
