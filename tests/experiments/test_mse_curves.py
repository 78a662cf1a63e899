"""Error curves: runs are addressed, errors are named for what they are."""

import dataclasses
import math
from typing import cast

import numpy as np
import pytest

from abcdp_core import pool, runner
from abcdp_core.experiments import mse_curves, posterior
from abcdp_core.results import Result
from abcdp_core.sentences import amount

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


def test_a_setting_is_marked_where_its_errors_are() -> None:
    result = run(n=(100,))
    here = {"n": 100.0, "c": 5.0, "epsilon_abc": 0.2, "epsilon_total": 1.0}
    main = result.tables["main"].query("c == 5 and epsilon_total == 1")
    figure = mse_curves.figures(result)["mae"].figure
    marked, said = mse_curves.mark(figure, result, "mae", **here)
    assert marked.data[-1].name == "your setting"
    assert marked.data[-1].y.tolist() == pytest.approx([main.mae.mean()])
    assert f"the mean absolute error is {amount(main.mae.mean())} (95 % interval" in said
    figure = mse_curves.figures(result)["mae"].figure
    assert mse_curves.mark(figure, result, "mae", **here | {"c": 6.0}) == (figure, "")
