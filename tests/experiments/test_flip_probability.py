"""Flip probability: formula, simulation, and the guideline."""

import dataclasses
import functools
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool, predictive, runner
from abcdp_core.experiments import flip_probability
from abcdp_core.results import Result
from abcdp_core.theory import flip

FIGURE_1 = cast(flip_probability.Params, flip_probability.PRESETS["p21-figure-1"])
ONE = flip_probability.Params(
    n=(100,), c=(10,), epsilon_total=(10.0,), epsilon_abc=0.2, distances="uniform", resample=True,
    sensitivity="published",
)  # fmt: skip


def run(params: flip_probability.Params = ONE) -> Result:
    return runner.run_to_end(flip_probability, params, seed=1)


def test_noise_scale_of_the_paper() -> None:
    # MATH F2's check value: N = 100, c = 10, ε_total = 10, Δ = 2/N, resample.
    assert run().tables["main"].noise_scale.iloc[0] == pytest.approx(0.04, rel=1e-12)


def test_the_figure_has_every_combination_of_the_paper() -> None:
    assert len(flip_probability.tasks(FIGURE_1, 1)) == 8 * 3 * 3
    assert FIGURE_1.draws == 100
    assert FIGURE_1.sensitivity == "published"


def test_the_script_uses_half_of_lemma_1_and_is_labelled_not_private() -> None:
    script = run(dataclasses.replace(ONE, sensitivity="script"))
    assert script.tables["main"].noise_scale.iloc[0] == pytest.approx(0.02, rel=1e-12)
    assert script.privacy.startswith("Not private")


def test_simulation_with_a_fresh_threshold_agrees_with_the_formula() -> None:
    found = flip_probability.agreement(run().tables["main"])
    assert not found.rejects
    assert 0.0 < found.least <= found.most <= 1.0
    assert "agrees with the formula (joint test at 1 %, p from" in run().summary


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 2.0])
def test_the_joint_test_rejects_another_noise_scale(factor: float) -> None:
    main = run().tables["main"]
    wrong = flip.flip_probability(main.rho, 0.2, factor * main.noise_scale.iloc[0])
    found = flip_probability.agreement(main.assign(flip_probability=wrong))
    assert found.most < 1e-6
    assert "does not agree with the formula" in found.sentence()


def test_the_budget_needed_makes_flips_rare_for_half_of_the_draws() -> None:
    several = run(dataclasses.replace(ONE, c=(10, 100), n=(10, 100), draws=25))
    table = several.tables["needed"].set_index(["n", "c"]).epsilon_needed
    rho = flip_probability.distances("uniform", 10, 25, 1)
    for n, c in table.index:
        for factor, rare in ((1.0001, 13), (0.9999, 12)):
            scale = 2 * c * (2 / n) / (factor * table[n, c])
            probabilities = flip.flip_probability(rho, 0.2, scale)
            assert (probabilities <= flip_probability.RARE).sum() == rare


def test_inside_a_run_the_formula_does_not_hold() -> None:
    # The gap that the page explains: low thresholds last longer.
    main = run(dataclasses.replace(ONE, epsilon_total=(1.0,))).tables["main"]
    seen = main[main.reached >= 200]
    above, below = seen[seen.rho > 0.25], seen[seen.rho < 0.2]
    assert (above.in_run_high < above.flip_probability).mean() > 0.9
    assert (below.in_run_low > below.flip_probability).mean() > 0.9


def test_reached_counts_fall_and_nothing_is_claimed_after_the_stop() -> None:
    main = run().tables["main"]
    assert main.reached.iloc[0] == flip_probability.SIMULATIONS
    assert (np.diff(main.reached) <= 0).all()
    unreached = main[main.reached == 0]
    assert unreached.in_run.isna().all()


def test_public_distances_never_read_private_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("private data were touched")

    monkeypatch.setattr(pool, "observed_data", forbidden)
    flip_probability.distances.cache_clear()
    predictive.paired_distances.cache_clear()
    predictive.pool_distances.cache_clear()
    pool.observed_comparison.cache_clear()
    for which in ("public", "uniform"):
        assert len(flip_probability.distances(which, 100, 20, 1)) == 20
        assert len(flip_probability.pool_distances(which, 100, 30, 7)[0]) == 30
    with pytest.raises(AssertionError):
        flip_probability.distances("observed", 100, 20, 1)
    with pytest.raises(AssertionError):
        flip_probability.pool_distances("observed", 100, 30, 7)


def test_distances_that_use_the_data_are_labelled() -> None:
    result = run(dataclasses.replace(ONE, distances="observed", draws=20, pool_size=50))
    assert "uses the data" in result.privacy


def test_boxes_for_several_settings_and_points_for_one() -> None:
    several = run(dataclasses.replace(ONE, c=(10, 100), n=(10, 100)))
    boxes = flip_probability.figures(several)["flip-probability"].figure
    assert {trace.type for trace in boxes.data} == {"box"}
    assert len(boxes.data) == 4
    one = flip_probability.figures(run())["flip-probability"].figure
    assert {trace.name for trace in one.data} >= {"formula G_b"}


SETTINGS = pytest.mark.parametrize(
    "changes",
    [{}, {"epsilon_total": (0.001,)}, {"epsilon_total": (1000.0,)}, {"epsilon_abc": 1.4},
     {"epsilon_abc": 0.001}, {"distances": "public"}, {"distances": "observed"}],
)  # fmt: skip
SMALL = dataclasses.replace(ONE, pool_size=200, draws=20)


@functools.cache
def small(**changes: Any) -> Result:
    return run(dataclasses.replace(SMALL, **changes))


@SETTINGS
def test_every_draw_of_the_pool_is_counted_once_with_its_flip_probability(
    changes: dict[str, Any],
) -> None:
    found = small(**changes)
    which = changes.get("distances", "uniform")
    rho = np.stack(flip_probability.pool_distances(which, 100, 200, 1))
    assert len(rho) == (predictive.SETS if which == "public" else 1)
    params, rates = cast(flip_probability.Params, found.params), found.tables["base_rates"]
    flips = flip.flip_probability(rho, params.epsilon_abc, found.tables["main"].noise_scale.iloc[0])
    close = rho <= params.epsilon_abc
    counts = flip_probability.counts_of(rates)
    assert counts.close + counts.far == pytest.approx(200)
    assert counts.close == pytest.approx(close.sum(axis=1).mean())
    assert counts.lost == pytest.approx((flips * close).sum(axis=1).mean())
    assert counts.let_in == pytest.approx((flips * ~close).sum(axis=1).mean())


def test_a_draw_at_the_threshold_is_close_and_those_beyond_the_edge_are_counted() -> None:
    rho = np.array([0.0, 0.2 - 15.5, 0.2, 0.2 + 1e-12, 1.2, 1.3, 100.0])
    rates = flip_probability.base_rates([rho, rho], 0.2, 1.0).set_index("high").draws
    assert rates[-15.0] == 1
    assert rates[0.0] == 2
    assert rates[1.0] == 2
    assert rates[2.0] == 1
    assert rates[np.inf] == 1
    assert rates.sum() == len(rho)


@SETTINGS
def test_the_figure_and_its_title_show_the_base_rates(changes: dict[str, Any]) -> None:
    found = small(**changes)
    rates = found.tables["base_rates"]
    figure = flip_probability.figures(found)["flip-probability"].figure
    bars = {trace.name: float(trace.y.sum()) for trace in figure.data if trace.type == "bar"}
    counts = flip_probability.counts_of(rates)
    beyond = [note.text for note in figure.layout.annotations if " beyond" in note.text]
    shown = bars["close enough"] + bars["too far"]
    assert shown == pytest.approx(rates.draws[1:-1].sum())
    assert len(beyond) == int((rates.draws.iloc[[0, -1]] > 0).sum())
    assert bars["too far, let in by noise"] <= counts.let_in + 1e-9
    assert bars["close enough, lost by noise"] <= counts.lost + 1e-9
    title = figure.layout.title.text
    assert ("practically none of 200" in title) == (counts.let_in + counts.lost < 0.01)
    assert ("all too far" in title) == (counts.close == 0 and "decides" not in title)
    assert ("all close enough" in title) == (counts.far == 0 and "decides" not in title)
    assert figure.layout.xaxis.range == (-flip_probability.WINDOW, flip_probability.WINDOW)


@pytest.mark.parametrize(
    ("draws", "flips", "said"),
    [
        ((100, 9900), (20, 160),
         "Noise would let in 160 of 9,900 draws that are too far, and lose 20 of 100 close ones"),
        ((100, 9900), (0, 0.004),
         "Noise decides about practically none of 10,000 draws, 100 of them close"),
        ((0, 10), (0, 0.5), "Noise would let in 0.5 of 10 draws, all too far"),
        ((10, 0), (0.25, 0), "Noise would lose 0.25 of 10 draws, all close enough"),
        ((1.5, 8.5), (0.75, 0),
         "Noise would let in practically none of 8.5 draws that are too far, and lose 0.75 of 1.5 "
         "close ones"),
    ],
)  # fmt: skip
def test_the_finding_says_how_many_noise_decides_about(
    draws: tuple[float, ...], flips: tuple[float, ...], said: str
) -> None:
    rates = pd.DataFrame({"low": [-1, 0], "high": [0, 1], "draws": draws, "flips": flips})
    assert flip_probability.finding(rates) == said


def test_the_sentence_is_plain_and_the_statistics_stand_in_the_summary() -> None:
    found = small(distances="public")
    sentence = flip_probability.figures(found)["flip-probability"].sentence
    assert "they agree with the formula" in sentence
    assert "Bonferroni" not in sentence
    assert "Bonferroni" in found.summary
    assert (
        "more are let in than lost"
        not in flip_probability.figures(small(epsilon_total=(0.001,)))["flip-probability"].sentence
    )
