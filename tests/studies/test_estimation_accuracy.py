"""Accuracy of the methods: the same people for all of them, each as when run by itself."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import integrate

from abcdp_core.streams import generator
from abcdp_core.studies import adaptive_truncation, online_gradient
from abcdp_core.studies import estimation_accuracy as study
from abcdp_core.studies.estimation_accuracy import computing, drawing
from abcdp_core.tasks import Chain
from tests import results

ONLINE = ("smc", "smc-latent", "grid")
TINY = study.Params(n=20, particles=20, epsilon_total=(2.0,), sampler=ONLINE, runs=2)
SEED = 5

run = functools.partial(results.changed, study, TINY, seed=SEED)


def stream(**changes: object) -> pd.DataFrame:
    """Return what the study of one stream finds for the same people."""
    params = adaptive_truncation.Params(particles=20, **changes)
    return results.changed(adaptive_truncation, params, SEED).tables["main"]


def test_the_course_ends_where_the_run_does_and_the_first_run_is_the_stream_of_its_seed() -> None:
    """So both intervals meet the same people with the same noise, as the stream's tests show."""
    main, course = run().tables["main"], run().tables["course"]
    assert set(course.sampler) == set(ONLINE)
    assert list(course.t.unique()) == list(range(1, 21))
    key = ["sampler", "interval", "run"]
    ends = course[course.t == 20].merge(main, on=key, suffixes=("", "_main"))
    assert len(ends) == 12
    for column in ("error_mu", "error_sigma", "sigma_width"):
        np.testing.assert_array_equal(ends[column], ends[f"{column}_main"])
    assert (course[course.interval == "fixed"].centre_sd == 0).all()
    for row in main[main.run == 0].itertuples():
        same = {"sampler": row.sampler, "interval": row.interval}
        last = stream(n=20, epsilon_total=2.0, **same).iloc[-1]
        assert (row.mean_mu, row.mean_sigma) == (last.mean_mu, last.mean_sigma)


def test_reach_and_spread_are_those_of_the_stream() -> None:
    """People until the spread stays small, and the spread of the centers of intervals."""
    found = run(n=60, epsilon_total=(10.0,), sampler=("smc",), runs=1).tables
    path = stream(n=60, epsilon_total=10.0)
    (adaptive, fixed) = found["reach"].people
    close = path.sd_mu < TINY.sigma / 10**0.5
    assert close[path.t >= adaptive].all()
    assert not close[path.t == adaptive - 1].any()
    assert 1 <= adaptive < fixed <= 61
    course = found["course"].query("interval == 'adaptive'")
    centers = ((path.left + path.right) / 2).to_numpy().reshape(20, 3)
    np.testing.assert_allclose(course.centre_sd, centers.std(axis=1), atol=1e-12)


@pytest.mark.parametrize(("run_number", "noise_draw"), [(0, 0), (1, 3)])
def test_batch_samplers_have_the_answers_of_the_fixed_interval(
    run_number: int, noise_draw: int
) -> None:
    params = dataclasses.replace(TINY, sampler=("mh",), noise_draw=noise_draw)
    answers = computing.responses(Chain(params, run_number, SEED, 1))
    values = generator(SEED, "people", run_number).standard_normal(20) * TINY.sigma + TINY.mu
    noise = generator(SEED, "noise", run_number, noise_draw).laplace(size=20)
    scale = 20 * TINY.sigma / 2.0
    np.testing.assert_allclose(answers[:, 3], scale)
    left, right = TINY.mu - 10 * TINY.sigma, TINY.mu + 10 * TINY.sigma
    np.testing.assert_allclose(answers[:, 0], np.clip(values, left, right) + scale * noise)


@pytest.mark.parametrize("sampler", ["mh", "mhaar"])
def test_a_batch_sampler_agrees_with_the_grid(sampler: str) -> None:
    same = {"n": 100, "fixed_width": 2.0}
    fixed = {"interval": ("fixed",), "runs": 1, "iterations": 5000, "candidates": 10}
    tables = run(**same, **fixed, epsilon_total=(10.0,), sampler=(sampler,)).tables
    exact = stream(**same, epsilon_total=10.0, sampler="grid", interval="fixed").iloc[-1]
    row, chain = tables["main"].iloc[0], tables["chains"].iloc[0]
    kept = 5000 * (1 - TINY.burn_in)
    for name in ("mu", "sigma"):
        monte_carlo = exact[f"sd_{name}"] * np.sqrt(chain[f"autocorrelation_{name}"] / kept)
        assert abs(row[f"mean_{name}"] - exact[f"mean_{name}"]) < 5 * monte_carlo
        assert 5 * monte_carlo < exact[f"sd_{name}"]


SYMBOLS = dataclasses.replace(
    TINY,
    sampler=("smc", "grid", "mh", "smc-latent"),
    channel=("truncation", "optimal", "sign"),
    epsilon_total=(5.0,),
    runs=1,
)


def test_each_sampler_takes_the_ways_of_asking_that_it_can() -> None:
    assert SYMBOLS.methods() == [
        *itertools.product(("smc", "grid"), ("adaptive", "fixed", "optimal", "sign")),
        ("mh", "fixed"),
        ("smc-latent", "adaptive"),
        ("smc-latent", "fixed"),
    ]
    only = dataclasses.replace(SYMBOLS, channel=("sign",))
    assert only.methods() == [("smc", "sign"), ("grid", "sign")]


def test_symbols_leave_the_numbers_of_truncation_the_same() -> None:
    params = dataclasses.replace(SYMBOLS, sampler=("smc",))
    both = results.changed(study, params, SEED)
    alone = results.changed(study, params, SEED, channel=("truncation",))
    assert list(both.tables["main"].channel.unique()) == ["truncation", "optimal", "sign"]
    for name, table in both.tables.items():
        rest = table[table.channel == "truncation"].reset_index(drop=True)
        keys = [c for c in rest if c != "seconds"]
        assert_frame_equal(rest[keys], alone.tables[name][keys], check_dtype=False)


def test_theory_of_symbols_has_their_information() -> None:
    _, errors = drawing.efficient_errors(SYMBOLS, "mu", "sign")
    information = 2.0 / math.pi * math.tanh(2.5) ** 2
    expected = SYMBOLS.sigma * math.sqrt(2.0 / math.pi / (SYMBOLS.n * information))
    assert errors[0] == pytest.approx(expected, rel=1e-9)
    # The same bound beside the gradient.
    params = online_gradient.Params(channel="sign", epsilon_total=5.0)
    bound = online_gradient.bound(params, "mu", np.array([SYMBOLS.n]))
    assert bound[0] == pytest.approx(expected)


def test_a_trusted_collectors_error_by_quadrature() -> None:
    (_,), (found,) = drawing.trusted_errors(SYMBOLS)
    s = SYMBOLS.sigma / math.sqrt(SYMBOLS.n)
    b = 2.0 * SYMBOLS.fixed_width * SYMBOLS.sigma / (SYMBOLS.n * 5.0)

    def weighted(x: float) -> float:
        density = math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        return density * (abs(x) + b * math.exp(-abs(x) / b))

    expected = 2.0 * integrate.quad(weighted, 0.0, 12.0 * s)[0]
    assert found == pytest.approx(expected, rel=1e-8)


def test_errors_beside_the_gradient_are_distances_of_the_estimates() -> None:
    tiny = online_gradient.Params(n=20, particles=20, runs=2, method=("smc", "gradient"))
    main = results.changed(online_gradient, tiny).tables["main"]
    np.testing.assert_allclose(main.error_mu, (main.mean_mu - tiny.mu).abs())
    np.testing.assert_allclose(main.mean_sigma, tiny.sigma)
    assert sorted(set(main.t)) == tiny.times().tolist()
    assert tiny.times()[[0, -1]].tolist() == [10, 20]
