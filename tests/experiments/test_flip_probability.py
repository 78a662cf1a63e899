"""Flip probability: formula, simulation, and the guideline."""

import dataclasses
from typing import Any, cast

import numpy as np
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
    for which in ("public", "uniform"):
        assert len(flip_probability.distances(which, 100, 20, 1)) == 20
    with pytest.raises(AssertionError):
        flip_probability.distances("observed", 100, 20, 1)


def test_distances_that_use_the_data_are_labelled() -> None:
    result = run(dataclasses.replace(ONE, distances="observed", draws=20))
    assert "uses the data" in result.privacy


def test_boxes_for_several_settings_and_points_for_one() -> None:
    several = run(dataclasses.replace(ONE, c=(10, 100), n=(10, 100)))
    boxes = flip_probability.figures(several)["flip-probability"].figure
    assert {trace.type for trace in boxes.data} == {"box"}
    assert len(boxes.data) == 4
    one = flip_probability.figures(run())["flip-probability"].figure
    assert {trace.name for trace in one.data} >= {"formula G_b"}


@pytest.mark.parametrize("changes", [{}, {"epsilon_total": (0.001,)}, {"epsilon_total": (1000.0,)},
                                     {"epsilon_abc": 1.4}, {"epsilon_abc": 0.001}])  # fmt: skip
def test_every_draw_is_in_the_histogram_or_counted_beyond_its_edge(changes: dict[str, Any]) -> None:
    found = run(dataclasses.replace(ONE, **changes))
    figure = flip_probability.figures(found)["flip-probability"].figure
    bars = {trace.name: int(trace.y.sum()) for trace in figure.data if trace.type == "bar"}
    main = found.tables["main"]
    close, let_in = flip_probability.close_and_let_in(main)
    away = (main.rho - main.epsilon_abc) / main.noise_scale
    assert bars["close enough"] + int((away < -flip_probability.WINDOW).sum()) == close
    assert bars["too far"] + int((away > flip_probability.WINDOW).sum()) == len(main) - close
    are = {0: "none is", 1: "1 is"}.get(close, f"{close} are")
    assert f" {are} close enough" in figure.layout.title.text
    assert ("practically none" in figure.layout.title.text) == (let_in < 0.01 and close < len(main))
    assert figure.layout.xaxis.range == (-flip_probability.WINDOW, flip_probability.WINDOW)
