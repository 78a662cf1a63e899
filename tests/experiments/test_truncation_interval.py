"""Where to truncate: corrected numbers, what intervals and symbols tell, words at the extremes."""

import re

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core import runner
from abcdp_core.experiments import truncation_interval as study
from abcdp_core.online import intervals
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result


def run(**changes: object) -> Result:
    return runner.run_to_end(study, study.Params(**changes), seed=1)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def usual() -> Result:
    return run()


@pytest.fixture(scope="module")
def channels() -> Result:
    return run(epsilon_total=(1.0, 5.0), channel=("truncation", "sign", "optimal"))


def test_the_preset_finds_the_corrected_widths(usual: Result) -> None:
    main = usual.tables["main"]
    np.testing.assert_allclose(main.b, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)
    np.testing.assert_allclose(main.a, -main.b)
    np.testing.assert_allclose(main.paper_b, [0.06, 0.12, 0.54, 0.96])
    assert (main.paper_information < main.information).all()
    assert usual.summary.endswith("The intervals that the paper reports lose at most 1.1 %.")


def test_no_interval_shown_beats_the_best(usual: Result) -> None:
    best = usual.tables["main"].information.to_numpy()
    for name in ("surface", "plane", "width"):
        largest = usual.tables[name].groupby("epsilon_total").information.max().to_numpy()
        assert (largest <= best).all()
    plane, width = (usual.tables[name].query("epsilon_total == 1") for name in ("plane", "width"))
    at_mu = plane[plane.centre == 0]
    known = np.interp(at_mu.half_width, width.half_width, width.information)
    np.testing.assert_allclose(at_mu.information, known, rtol=0.01)


def test_the_paper_is_compared_with_only_where_it_reports() -> None:
    assert run(epsilon_total=(1.0, 3.0)).tables["main"].paper_b.isna().tolist() == [False, True]
    other = run(epsilon_total=(1.0,), family="logistic")
    assert other.tables["main"].paper_b.isna().all()
    assert "paper" not in other.summary


def test_the_papers_search_walks_in_its_steps() -> None:
    main = run(epsilon_total=(5.0,), integration="monte-carlo", draws=50).tables["main"]
    steps = main.b.iloc[0] / intervals.PAPER_STEP
    assert steps == pytest.approx(round(steps))
    assert 1 <= round(steps) <= intervals.PAPER_COUNT


def test_sigma_is_hardly_learnt_at_a_small_budget(usual: Result) -> None:
    """MATH A4: at ε_total = 1 even less than a wide fixed interval tells; at 5 far more."""
    ways = usual.tables["ways"].set_index(["epsilon_total", "way"]).information_sigma
    assert ways[1.0, "best for mu"] == pytest.approx(5.2e-5, rel=0.01)
    assert ways[1.0, study.FIXED] == pytest.approx(6.8e-5, rel=0.01)
    assert ways[5.0, "best for mu"] == pytest.approx(0.175, rel=0.01)
    assert ways[5.0, study.FIXED] == pytest.approx(0.0072, rel=0.01)
    for budget in (1.0, 2.0, 5.0, 10.0):
        assert ways[budget, "best for sigma"] >= ways[budget, "best for trace"]
        assert ways[budget, "best for trace"] > ways[budget, "best for mu"]


def test_information_by_half_width_begins_at_its_limit(usual: Result) -> None:
    """MATH A4: at ε_total = 1 within 1 % of the best down to width 0; at 10 far from it."""
    width = usual.tables["width"].set_index(["epsilon_total", "half_width"])
    share = width.information / width.best_information
    for budget, low, high in ((1.0, 0.99, 1.0), (10.0, 0.5, 0.9)):
        assert low < share[budget, 0.0] < high
        assert share[budget, 0.0] == pytest.approx(share[budget, 0.01], rel=0.01)


# ------------------------------------------------------------------------- other ways of asking


def test_symbols_tell_more_than_truncation(channels: Result) -> None:
    """MATH A14: 25 % more at 1, 40 % more at 5; a sign 1 % more there."""
    main = channels.tables["main"].set_index(["epsilon_total", "channel"])
    more = main.information / main.information.xs("truncation", level="channel") - 1.0
    assert more[1.0, "optimal"] == pytest.approx(0.25, abs=0.005)
    assert more[5.0, "optimal"] == pytest.approx(0.40, abs=0.005)
    assert more[5.0, "sign"] == pytest.approx(0.012, abs=0.001)
    assert main.symbols[1.0, "optimal"] == 2
    assert main.bound.isna().tolist() == [True, False, False] * 2
    gap = main.bound / main.information - 1.0
    assert -1e-9 <= gap[1.0, "optimal"] <= 1e-4
    assert -1e-9 <= gap[5.0, "optimal"] <= 1e-4
    assert gap[5.0, "sign"] > 0.3


def test_symbols_for_both_parameters_do_not_starve_sigma(channels: Result) -> None:
    ways = channels.tables["ways"].set_index(["epsilon_total", "way"])
    assert ways.information_sigma[1.0, "optimal for mu"] == 0.0
    both = ways.loc[1.0, "optimal for determinant"]
    assert both.information_mu > 0.07
    assert both.information_sigma > 2.0 * ways.information_sigma[1.0, "best for sigma"]
    assert ways.information_sigma[5.0, "optimal for mu"] > 1.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"epsilon_total": (2.0,)},
            "around μ is μ ± 0.22 σ at ε_total = 2",
        ),
        ({"score": "determinant", "symmetric": False}, "The best interval is μ"),
        ({"epsilon_total": (0.001,), "score": "sigma", "symmetric": False}, "the narrowest tried"),
        ({"integration": "monte-carlo", "draws": 10}, "by a noisy search, is μ ± "),
        ({"epsilon_total": (0.001,), "channel": ("sign",)}, "with sign"),
        ({"epsilon_total": (1000.0,), "channel": ("optimal",), "score": "trace"}, "with optimal"),
        ({"epsilon_total": (1.0,), "family": "laplace", "noise": "gaussian"}, "narrowest"),
    ],
)
def test_words_and_figures_at_the_extremes(changes: dict[str, object], words: str) -> None:
    found = run(**changes)
    drawn = study.figures(found)
    assert words in fig.one_line(drawn["surface"].figure)
    for each in drawn.values():
        said = f"{fig.one_line(each.figure)} {each.sentence}"
        assert not re.search(r"\bnan\b|\binf\b|e[+-]\d", said), said
        assert "nan" not in each.figure.to_json().lower().split('"layout"')[1]


def test_gaussian_noise_of_symbols_is_refused() -> None:
    with pytest.raises(ParameterError, match="channel = sign: needs noise = laplace"):
        study.Params(channel=("truncation", "sign"), noise="gaussian")
