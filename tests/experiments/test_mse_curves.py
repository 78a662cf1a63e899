"""Error curves: runs are addressed, errors are named for what they are."""

import dataclasses
import math
from typing import cast

import numpy as np
import pytest

from abcdp_core import pool, runner
from abcdp_core.experiments import mse_curves, posterior
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result

SMALL = mse_curves.Params(
    epsilon_total=(1.0, 100.0, math.inf), c=(5, 20), n=(100, 300), pool_size=500, runs=3,
    epsilon_abc=(0.2,),
)  # fmt: skip


def run(**changes: object) -> Result:
    return runner.run_to_end(
        mse_curves,
        dataclasses.replace(SMALL, **changes),  # type: ignore[arg-type]
        seed=1,
    )


def test_the_first_runs_of_many_are_the_runs_of_few() -> None:
    few, many = (run(runs=runs).tables["main"] for runs in (2, 4))
    assert few.equals(many[many.run < 2].reset_index(drop=True))


def test_runs_have_data_and_pools_of_their_own() -> None:
    main = run().tables["main"]
    infinite = main[np.isinf(main.epsilon_total) & (main.c == 20) & (main.n == 300)]
    assert infinite.mae.nunique() == 3


def test_run_0_is_what_the_posterior_page_shows() -> None:
    main = run(sensitivity="published").tables["main"]
    params = posterior.Params(
        n=300, pool_size=500, c=20, epsilon_total=100.0, epsilon_abc=0.2, sensitivity="published"
    )
    errors = runner.run_to_end(posterior, params, seed=1).tables["errors"].set_index("release")
    row = main.query("run == 0 and c == 20 and n == 300 and epsilon_total == 100").iloc[0]
    assert row.mae == pytest.approx(errors.mae["private"], rel=1e-12)
    assert row.accepted == errors.accepted["private"]


def test_without_noise_the_threshold_redraw_changes_nothing() -> None:
    main = run(resample=(True, False), epsilon_total=(math.inf,)).tables["main"]
    kept, redrawn = (main[main["resample"] == value].mae.to_numpy() for value in (False, True))
    np.testing.assert_array_equal(kept, redrawn)


def test_a_run_that_accepts_nothing_has_the_error_of_the_prior() -> None:
    result = run(epsilon_abc=(0.001,), epsilon_total=(math.inf,))
    main = result.tables["main"]
    assert (main.accepted == 0).all()
    assert (main.mae == main.prior_mae).all()
    runs = len(main)
    assert f" {runs} runs of {runs} accepted nothing; their estimates are the prior mean." in (
        result.summary
    )


def test_a_tie_is_said_once() -> None:
    empty = run(epsilon_abc=(0.001,), epsilon_total=(math.inf,)).summary
    assert empty.startswith("Over 3 runs at each of 4 settings the mean absolute error")
    assert "mean is 0.128 at all of them; the prior mean alone has 0.128." in empty
    one = run(c=(5,), n=(300,), epsilon_total=(1.0,), runs=1).summary
    assert one.startswith("Over 1 run the mean absolute error of the posterior mean is 0.")
    assert "(ε_total = 1, ε_abc = 0.2, c = 5, N = 300)" in one
    both = run(resample=(True, False)).summary
    assert "threshold kept)" in both or "threshold redrawn)" in both


def test_marks_are_open_where_runs_accepted_nothing() -> None:
    result = run(epsilon_abc=(0.05,), c=(5,), n=(300,))
    statistics = mse_curves.error_statistics(result.tables["main"], "mae")
    empty = (result.tables["main"].accepted == 0).groupby(result.tables["main"].epsilon_total)
    assert statistics.sort_values("epsilon_total").empty_share.tolist() == empty.mean().tolist()
    assert statistics.empty_share.max() > 0
    assert statistics.empty_share.min() == 0
    (line,) = [t for t in mse_curves.figures(result)["mae"].figure.data if t.name == "c = 5"]
    shown = dict(zip(line.x, line.marker.symbol, strict=True))
    for row in statistics.itertuples():
        assert shown[row.position].endswith("-open") == (row.empty_share > 0)


def test_the_noise_scale_is_the_theorems() -> None:
    main = run(resample=(True, False), sensitivity="published").tables["main"]
    finite = main[np.isfinite(main.epsilon_total)]
    pieces = np.where(finite["resample"], 2 * finite.c, finite.c + 1)
    assert finite.noise_scale.to_numpy() == pytest.approx(
        pieces * 2 / finite.n / finite.epsilon_total, rel=1e-9
    )
    assert (main.noise_scale[np.isinf(main.epsilon_total)] == 0).all()


def test_the_preset_is_the_papers_figure() -> None:
    params = cast(mse_curves.Params, mse_curves.PRESETS["p21-figure-3"])
    assert params.runs == 60
    assert params.epsilon_abc == (0.01, 0.05, 0.1, 0.2, 0.5)
    assert params.c == (10, 100, 1000)
    assert params.epsilon_total[-1] == math.inf
    assert params.sensitivity == "published"
    assert params.pool_size == 10_000


def test_bandwidth_by_the_median_heuristic_changes_the_distances() -> None:
    number, median = (run(bandwidth=value).tables["main"] for value in (0.6, "median"))
    assert not np.allclose(number.mae, median.mae)


def test_statistics_are_means_over_runs_with_intervals_around_them() -> None:
    main = run().tables["main"]
    statistics = mse_curves.error_statistics(main, "mae")
    chosen = statistics.query("c == 5 and n == 100 and epsilon_total == 1").iloc[0]
    values = main.query("c == 5 and n == 100 and epsilon_total == 1").mae
    assert chosen["mean"] == pytest.approx(values.mean())
    assert chosen.low <= chosen["mean"] <= chosen.high
    assert (statistics.position[np.isinf(statistics.epsilon_total)] == 400.0).all()


def test_lines_and_panels_follow_what_varies() -> None:
    result = run(n=(100,))
    figures = mse_curves.figures(result)
    assert set(figures) == {"mae", "mse"}
    names = {trace.name for trace in figures["mae"].figure.data}
    assert {"c = 5", "c = 20", "prior mean"} <= names
    marked = mse_curves.mark(figures["mae"].figure, result, "mae", n=100, c=5, epsilon_total=1.0)
    assert marked.data[-1].name == "your setting"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"c": (600,)}, "c = 600"),
        ({"c": ()}, "c = empty list"),
        ({"epsilon_total": (1.0, math.nan)}, "epsilon_total = nan"),
        ({"bandwidth": "mean"}, "bandwidth = mean"),
        ({"n": (20_000,), "pool_size": 100_000}, "n . pool_size"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(**changes)


def test_the_rival_that_needs_no_simulation_is_drawn_and_far_below() -> None:
    result = run(n=(300,))
    rival, main = result.tables["rival"], result.tables["main"]
    assert set(rival.epsilon_total) == set(main.epsilon_total)
    assert set(rival.run) == set(main.run)
    large = rival[rival.epsilon_total >= 1.0].mse.mean()
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    assert 0.2 * 0.709 / 1500 < large < 5.0 * 0.709 / 1500
    names = {trace.name for trace in mse_curves.figures(result)["mae"].figure.data}
    assert "counts with noise, no ABC" in names


def test_a_pool_of_a_further_run_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    build = pool.build

    def counted(key: pool.PoolKey, progress: pool.Progress | None = None) -> pool.Pool:
        made.append(key.run)
        return build(key, progress)

    monkeypatch.setattr(pool, "build", counted)
    params = dataclasses.replace(SMALL, n=(100,), pool_size=37, runs=3)
    runner.run_to_end(mse_curves, params, seed=71)
    assert sorted(made) == [0, 1, 2]
