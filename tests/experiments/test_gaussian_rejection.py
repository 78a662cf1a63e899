"""Clipped distances: the bound is public, its noise follows, and errors are those of the paper."""

from __future__ import annotations

import dataclasses
import math
from typing import cast

import numpy as np
import pytest

from abcdp_core import pool, runner
from abcdp_core.experiments import gaussian_rejection as study
from abcdp_core.mechanisms.gaussian_rejection import calibrate
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture

SMALL = study.Params(
    bound_quantile=(0.05, 1.0), epsilon_abc=(0.05, 0.2), epsilon_total=(1.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip

KEY = pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1)


def run(**changes: object) -> Result:
    return runner.run_to_end(
        study,
        dataclasses.replace(SMALL, **changes),  # type: ignore[arg-type]
        seed=1,
    )


def test_the_bound_is_a_quantile_of_simulated_distances() -> None:
    small, large = (study.bound(KEY, 300, quantile) for quantile in (0.05, 0.2))
    assert 0.05 < small < large < 0.5
    distances = study.public_distances(KEY, 300, 300)
    assert distances.shape == (study.DATA_SETS, 300)
    assert np.mean(distances <= small) == pytest.approx(0.05, abs=0.001)
    # As far from each other as any two data sets drawn from the prior.
    metric = KEY.metric()
    first = metric.statistic(pool.predictive_data(KEY, 300, 3))
    assert np.array_equal(distances[3], metric.compare(pool.open_pool(KEY).statistics[300], first))


def test_other_private_data_change_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [study.bound(KEY, 300, quantile) for quantile in (0.05, 0.2, 1.0)]
    pool._simulated.cache_clear()

    def forbidden(*_: object) -> None:
        raise AssertionError("the private data were read")

    for name in ("observed_data", "observed_comparison"):
        monkeypatch.setattr(pool, name, forbidden)
    monkeypatch.setattr(uniform_mixture, "TRUTH", np.full(5, 0.2))
    assert [study.bound(KEY, 300, quantile) for quantile in (0.05, 0.2, 1.0)] == before


def test_without_clipping_the_bound_is_the_largest_distance() -> None:
    assert study.bound(KEY, 300, 1.0) == pytest.approx(math.sqrt(2.0))
    assert study.bound(KEY, 300, 1.0, "published") == pytest.approx(2.0)


def test_noise_is_that_of_both_accounts() -> None:
    noise = run().tables["noise"]
    assert len(noise) == 2 * 2 * 2
    chosen = "bound_quantile == 0.05 and epsilon_abc == 0.05 and epsilon_total == 1"
    row = noise.query(chosen).iloc[0]
    sensitivity = uniform_mixture.distance().sensitivity(300)
    for accountant in ("published", "exact"):
        event = calibrate(1.0, sensitivity, float(row.bound), 0.05, 300, accountant)
        assert row[accountant] == event.scale
    assert (noise.exact[np.isfinite(noise.epsilon_total)] > 0).all()
    assert (noise.exact[np.isinf(noise.epsilon_total)] == 0).all()
    assert (noise.exact <= noise.published).all()


def test_without_noise_the_bound_changes_nothing() -> None:
    main = run().tables["main"]
    plain = main[np.isinf(main.epsilon_total)]
    clipped, kept = (plain[plain.bound_quantile == each].mae.to_numpy() for each in (0.05, 1.0))
    assert np.array_equal(clipped, kept)
    comparison = pool.observed_comparison(KEY, 300)
    accepted = plain.query("run == 0 and epsilon_abc == 0.2").accepted
    assert (accepted == (comparison.rho <= 0.2).sum()).all()


def test_a_run_that_accepts_nothing_has_the_error_of_the_prior() -> None:
    main = run(epsilon_abc=(0.001,), epsilon_total=(math.inf,)).tables["main"]
    assert (main.accepted == 0).all()
    prior = np.abs(uniform_mixture.PRIOR_MEAN - uniform_mixture.TRUTH).mean()
    assert main.mae.to_numpy() == pytest.approx(prior)


def test_the_first_runs_of_many_are_the_runs_of_few() -> None:
    few, many = (run(runs=runs).tables for runs in (2, 4))
    main = many["main"]
    assert few["main"].equals(main[main.run < 2].reset_index(drop=True))
    assert few["noise"].equals(many["noise"])


def test_the_preset_is_the_papers_figure() -> None:
    params = cast(study.Params, study.PRESETS["p22-figure-3"])
    assert params.bound_quantile == (0.05, 0.2)
    assert (params.n, params.pseudo_n, params.runs) == (5000, 1000, 10)
    assert (params.sensitivity, params.accountant) == ("published", "published")


def test_noise_follows_the_data_and_not_the_size_of_the_simulated_sets() -> None:
    same, smaller = run(runs=1), run(runs=1, pseudo_n=100)
    noise = smaller.tables["noise"]
    chosen = "bound_quantile == 0.05 and epsilon_abc == 0.2 and epsilon_total == 1"
    row = noise.query(chosen).iloc[0]
    sensitivity = uniform_mixture.distance().sensitivity(300)
    assert row.exact == calibrate(1.0, sensitivity, float(row.bound), 0.2, 300).scale
    # With fewer points chance alone keeps data sets apart, so distances and their quantile grow.
    assert row.bound > same.tables["noise"].bound.min()
    assert same.privacy == smaller.privacy
    explicit = run(runs=1, pseudo_n=300)
    assert explicit.tables["main"].equals(same.tables["main"])


def test_the_quantile_is_of_distances_between_the_two_sizes() -> None:
    metric = KEY.metric()
    first = metric.statistic(pool.predictive_data(KEY, 300, 3))
    expected = metric.compare(pool.open_pool(KEY).statistics[100], first)
    assert np.array_equal(study.public_distances(KEY, 300, 100)[3], expected)


def test_figures_have_budgets_on_the_axis_and_a_panel_for_each_bound() -> None:
    result = run(epsilon_total=(1.0, 100.0, math.inf))
    drawn = study.figures(result)
    assert set(drawn) == {"mae", "mse", "noise"}
    titles = [note.text for note in drawn["mae"].figure.layout.annotations]
    assert titles[0] == "no noise"
    assert titles[1].startswith("B_ρ = ")
    assert titles[2].startswith("B_ρ = 1.4")
    layout = drawn["mae"].figure.to_dict()["layout"]
    ends = [layout[f"xaxis{number}"]["domain"] for number in ("", "2", "3")]
    # Wide enough for a telephone, and numbers only where no panel is below.
    shown = [layout[f"xaxis{number}"].get("showticklabels", True) for number in ("", "2", "3")]
    assert shown == [False, True, True]
    assert all(right - left > 0.45 for left, right in ends)
    lines = [trace for trace in drawn["mae"].figure.data if trace.name == "ε_abc = 0.2"]
    assert [line.xaxis for line in lines] == ["x", "x2", "x3"]
    assert all(line.x.tolist() == [1.0, 100.0] for line in lines)
    main = result.tables["main"].query("epsilon_abc == 0.2 and bound_quantile == 1")
    means = main.groupby("epsilon_total").mae.mean()
    assert lines[0].y == pytest.approx(np.full(2, means[math.inf]))
    assert lines[2].y == pytest.approx(means.to_numpy()[:2])


def test_the_noise_has_a_panel_for_each_bound_against_the_threshold() -> None:
    figure = study.figures(run())["noise"].figure
    assert len(figure.layout.annotations) == 2
    lines = [trace for trace in figure.data if trace.name == "exact"]
    assert [line.x.tolist() for line in lines] == [[0.05, 0.2], [0.05, 0.2]]


@pytest.mark.parametrize(("budgets", "panels"), [((math.inf,), 1), ((1.0,), 2)])
def test_few_budgets_have_an_axis_too(budgets: tuple[float, ...], panels: int) -> None:
    result = run(epsilon_total=budgets, runs=1)
    figure = study.figures(result)["mse"].figure
    low, high = figure.layout.xaxis.range
    assert low < high
    assert len(figure.layout.annotations) == panels
    assert "nan" not in result.summary


def test_runs_that_accept_nothing_are_counted_and_their_marks_are_open() -> None:
    result = run(epsilon_abc=(0.001, 0.2), epsilon_total=(1000.0, math.inf), bound_quantile=(0.05,))
    main = result.tables["main"]
    empty = int((main.accepted == 0).sum())
    assert empty >= 3
    assert f"{empty} runs of {len(main)} accepted nothing" in result.summary
    drawn = study.figures(result)["mse"].figure.data
    small, large = ([t for t in drawn if t.name == f"ε_abc = {each}"] for each in ("0.001", "0.2"))
    assert all(symbol.endswith("-open") for symbol in small[0].marker.symbol)
    assert not any(symbol.endswith("-open") for symbol in large[0].marker.symbol)


def test_without_any_noise_bounds_are_not_named() -> None:
    result = run(epsilon_total=(math.inf,), runs=1)
    assert "thresholds shown is without noise 0." in result.summary
    assert "quantile" not in result.summary
    assert study.figures(result)["noise"].figure.layout.title.text == "No noise on any distance"


def test_runs_without_noise_count_once_however_many_bounds() -> None:
    result = run(epsilon_abc=(0.001,), epsilon_total=(math.inf,))
    assert "3 runs of 3 accepted nothing" in result.summary


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bound_quantile": (0.0,)}, "bound_quantile = 0"),
        ({"bound_quantile": (1.5,)}, "bound_quantile = 1.5"),
        ({"accountant": "rdp"}, "accountant = rdp"),
        ({"n": 20_000, "pool_size": 100_000}, "n . pool_size"),
        ({"pseudo_n": 20_000, "pool_size": 100_000}, "n . pool_size"),
        ({"pseudo_n": 17}, "pseudo_n = 17"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(**changes)


def test_the_rival_that_needs_no_simulation_is_drawn_in_every_panel() -> None:
    result = run()
    rival = result.tables["rival"]
    assert set(rival.epsilon_total) == {1.0, math.inf}
    assert set(rival.run) == {0, 1, 2}
    drawn = study.figures(result)["mse"]
    lines = [each for each in drawn.figure.data if each.name == "counts with noise, no ABC"]
    marks = [each for each in lines if each.mode == "lines+markers"]
    # Without noise, and at either bound.
    assert len({each.xaxis for each in marks}) == len(marks) == 3
    plain, *noisy = (each.y.tolist() for each in marks)
    bare = rival[np.isinf(rival.epsilon_total)].mse.mean()
    assert plain == pytest.approx([bare, bare])
    at_one = rival[rival.epsilon_total == 1.0].mse.mean()
    assert noisy == [pytest.approx([at_one])] * 2
    assert "likelihood" in drawn.sentence
    bare_only = study.figures(run(epsilon_total=(math.inf,)))["mse"].figure
    assert "counts without noise, no ABC" in {each.name for each in bare_only.data}
