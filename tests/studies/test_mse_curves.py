"""Error curves: runs are addressed, errors are named for what they are."""

import functools
import math

import numpy as np
import pytest

from abcdp_core.sentences import amount
from abcdp_core.studies import mse_curves, posterior
from tests import results

SMALL = mse_curves.Params(
    epsilon_total=(1.0, 100.0, math.inf), c=(5, 20), n=(100, 300), pool_size=500, runs=3,
    epsilon_abc=(0.2,),
)  # fmt: skip

run = functools.partial(results.changed, mse_curves, SMALL)


def test_run_0_is_what_the_posterior_page_shows() -> None:
    main = run(sensitivity="published").tables["main"]
    params = posterior.Params(
        n=300, pool_size=500, c=20, epsilon_total=100.0, epsilon_abc=0.2, sensitivity="published"
    )
    errors = results.changed(posterior, params).tables["errors"].set_index("release")
    row = main.query("run == 0 and c == 20 and n == 300 and epsilon_total == 100").iloc[0]
    assert row.mae == pytest.approx(errors.mae["private"], rel=1e-12)
    assert row.accepted == errors.accepted["private"]


def test_the_noise_scale_is_the_theorems_and_without_noise_a_redraw_changes_nothing() -> None:
    main = run(resample=(True, False), sensitivity="published").tables["main"]
    finite, plain = (main[np.isfinite(main.epsilon_total) == kind] for kind in (True, False))
    pieces = np.where(finite["resample"], 2 * finite.c, finite.c + 1)
    np.testing.assert_allclose(
        finite.noise_scale, pieces * 2 / finite.n / finite.epsilon_total, rtol=1e-9
    )
    assert (plain.noise_scale == 0).all()
    kept, redrawn = (plain[plain["resample"] == value].mae.to_numpy() for value in (False, True))
    np.testing.assert_array_equal(kept, redrawn)


def test_a_setting_is_marked_where_its_errors_are() -> None:
    result = run(n=(100,))
    here = {"n": 100.0, "c": 5.0, "epsilon_abc": 0.2, "epsilon_total": 1.0}
    main = result.tables["main"].query("c == 5 and epsilon_total == 1")
    figure = mse_curves.figures(result)["mae"].figure
    marked, said = mse_curves.mark(figure, result, "mae", **here)
    assert marked.data[-1].y.tolist() == pytest.approx([main.mae.mean()])
    assert f"the mean absolute error is {amount(main.mae.mean())} (95 % interval" in said
    figure = mse_curves.figures(result)["mae"].figure
    assert mse_curves.mark(figure, result, "mae", **here | {"c": 6.0}) == (figure, "")
