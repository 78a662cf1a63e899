"""Where to truncate: corrected numbers, and the information of intervals and symbols."""

import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core.adaptive import intervals
from abcdp_core.studies import truncation_interval as study
from abcdp_core.study import At, Run
from tests import results

usual = functools.partial(results.changed, study, study.Params())


def test_the_preset_finds_the_corrected_widths() -> None:
    main = usual().tables["main"]
    np.testing.assert_allclose(main.b, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)
    np.testing.assert_allclose(main.a, -main.b)
    np.testing.assert_allclose(main.paper_b, [0.06, 0.12, 0.54, 0.96])
    assert (main.paper_information < main.information).all()
    # The paper is compared with only where it reports.
    other = usual(epsilon_total=(1.0, 3.0)).tables["main"]
    assert other.paper_b.isna().tolist() == [False, True]


def test_no_interval_shown_beats_the_best() -> None:
    tables = usual().tables
    best = tables["main"].information.to_numpy()
    for name in ("surface", "plane", "width"):
        largest = tables[name].groupby("epsilon_total").information.max().to_numpy()
        assert (largest <= best).all()
    plane, width = (tables[name].query("epsilon_total == 1") for name in ("plane", "width"))
    at_mu = plane[plane.centre == 0]
    known = np.interp(at_mu.half_width, width.half_width, width.information)
    np.testing.assert_allclose(at_mu.information, known, rtol=0.01)


def test_the_papers_search_walks_in_its_steps() -> None:
    main = usual(epsilon_total=(5.0,), integration="monte-carlo", draws=50).tables["main"]
    steps = main.b.iloc[0] / intervals.PAPER_STEP
    assert steps == pytest.approx(round(steps))
    assert 1 <= round(steps) <= intervals.PAPER_COUNT


def test_sigma_is_hardly_learned_at_a_small_budget() -> None:
    """MATH A4: at ε_total = 1 even less than from a wide fixed interval; at 5 far more."""
    ways = usual().tables["ways"].pivot_table("information_sigma", "epsilon_total", "way")
    np.testing.assert_allclose(ways["best for mu"][[1.0, 5.0]], [5.2e-5, 0.175], rtol=0.01)
    np.testing.assert_allclose(ways[study.FIXED][[1.0, 5.0]], [6.8e-5, 0.0072], rtol=0.01)
    assert (ways["best for sigma"] >= ways["best for trace"]).all()
    assert (ways["best for trace"] > ways["best for mu"]).all()


def test_information_by_half_width_begins_at_its_limit() -> None:
    """MATH A4: at ε_total = 1 within 1 % of the best down to width 0; at 10 far from it."""
    width = usual().tables["width"].set_index(["epsilon_total", "half_width"])
    share = width.information / width.best_information
    for budget, low, high in ((1.0, 0.99, 1.0), (10.0, 0.5, 0.9)):
        assert low < share[budget, 0.0] < high
        assert share[budget, 0.0] == pytest.approx(share[budget, 0.01], rel=0.01)


@pytest.mark.slow
def test_symbols_carry_more_information_than_truncation() -> None:
    """MATH A14: 25 % more, which no channel exceeds."""
    best = study.best_interval(Run(study.Params(epsilon_total=(1.0,)), 0, 1))
    ways = ("truncation", "sign", "optimal")
    places = {way: At(**vars(best) | {"channel": way}) for way in ways}
    main = pd.DataFrame({way: study.best_of(best, at) for way, at in places.items()}).T
    more = main.information / main.information["truncation"] - 1.0
    assert more["optimal"] == pytest.approx(0.25, abs=0.005)
    assert main.symbols["optimal"] == 2
    assert main.bound.isna().tolist() == [True, False, False]
    assert -1e-9 <= main.bound["optimal"] / main.information["optimal"] - 1.0 <= 1e-4


@pytest.mark.slow
def test_symbols_for_both_parameters_do_not_starve_sigma() -> None:
    found = usual(epsilon_total=(1.0,), channel=("sign", "optimal"))
    ways = found.tables["ways"].set_index("way")
    assert ways.information_sigma["optimal for mu"] == 0.0
    both = ways.loc["optimal for determinant"]
    assert both.information_mu > 0.07
    assert both.information_sigma > 2.0 * ways.information_sigma["best for sigma"]
