"""Where to truncate: the reported numbers, the paper's, and what the figures show."""

import re

import numpy as np
import pytest

from abcdp_core import experiments, runner
from abcdp_core import figures as fig
from abcdp_core.experiments import truncation_interval as study
from abcdp_core.online import intervals
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result

EXPERIMENT = experiments.load(study.EXPERIMENT)


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(EXPERIMENT, study.PRESETS["y23-intervals"], seed=1)


def test_the_preset_finds_the_corrected_widths(result: Result) -> None:
    main = result.tables["main"]
    np.testing.assert_allclose(main.b, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)
    np.testing.assert_allclose(main.a, -main.b)
    np.testing.assert_allclose(main.paper_b, [0.06, 0.12, 0.54, 0.96])
    assert (main.paper_information < main.information).all()
    assert "1.1 %" in result.summary


def test_the_paper_is_said_to_lose_at_its_budgets(result: Result) -> None:
    assert result.summary.endswith("of the information at ε_total = 1, 2, 5, 10.")
    one = runner.run_to_end(EXPERIMENT, study.Params(epsilon_total=(2.0, 3.0)), seed=1)
    assert "The paper's interval loses 0.3 % of the information at ε_total = 2." in one.summary


def test_the_narrowest_interval_is_not_called_simply_the_best() -> None:
    params = study.Params(epsilon_total=(0.001,), score="sigma", symmetric=False)
    summary = runner.run_to_end(EXPERIMENT, params, seed=1).summary
    assert "(none narrower is looked at) at ε_total = 0.001" in summary
    assert "[1, 1]" not in summary


def test_no_interval_of_the_surface_beats_the_best(result: Result) -> None:
    largest = result.tables["surface"].groupby("epsilon_total").information.max().to_numpy()
    assert (largest <= result.tables["main"].information.to_numpy()).all()
    assert (result.tables["surface"].a < result.tables["surface"].b).all()


def test_the_paper_is_compared_with_only_where_it_reports() -> None:
    params = study.Params(epsilon_total=(1.0, 3.0))
    main = runner.run_to_end(EXPERIMENT, params, seed=1).tables["main"]
    assert main.paper_b.isna().tolist() == [False, True]
    other = study.Params(epsilon_total=(1.0,), family="logistic")
    assert runner.run_to_end(EXPERIMENT, other, seed=1).tables["main"].paper_b.isna().all()


def test_the_papers_search_walks_in_its_steps() -> None:
    params = study.Params(epsilon_total=(5.0,), integration="monte-carlo", draws=50)
    main = runner.run_to_end(EXPERIMENT, params, seed=1).tables["main"]
    steps = main.b.iloc[0] / study.PAPER_STEP
    assert steps == pytest.approx(round(steps))
    assert 1 <= round(steps) <= study.PAPER_COUNT


@pytest.mark.parametrize("score", intervals.SCORES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_every_score_can_be_drawn(score: str, symmetric: bool) -> None:
    params = study.Params(epsilon_total=(2.0,), score=score, symmetric=symmetric)
    result = runner.run_to_end(EXPERIMENT, params, seed=1)
    assert set(study.figures(result)) == {"surface", "width", "ways"}
    surface = result.tables["surface"]
    assert surface.b.max() >= result.tables["main"].b.iloc[0]


def test_sigma_is_hardly_learnt_at_a_small_budget(result: Result) -> None:
    """MATH A4: at ε_total = 1 even less than a wide fixed interval tells; at 5 far more."""
    ways = result.tables["ways"].set_index(["epsilon_total", "way"]).information_sigma
    assert ways[1.0, "best for mu"] == pytest.approx(5.2e-5, rel=0.01)
    assert ways[1.0, "fixed, μ ± 10σ"] == pytest.approx(6.8e-5, rel=0.01)
    assert ways[5.0, "best for mu"] == pytest.approx(0.175, rel=0.01)
    assert ways[5.0, "fixed, μ ± 10σ"] == pytest.approx(0.0072, rel=0.01)
    for budget in (1.0, 2.0, 5.0, 10.0):
        assert ways[budget, "best for sigma"] >= ways[budget, "best for trace"]
        assert ways[budget, "best for trace"] > ways[budget, "best for mu"]


def test_information_by_half_width_begins_at_its_limit(result: Result) -> None:
    width = result.tables["width"].set_index(["epsilon_total", "half_width"]).information
    for budget in (1.0, 10.0):
        assert width[budget, 0.0] == pytest.approx(width[budget, 0.01], rel=0.01)
    share = result.tables["width"].information / result.tables["width"].best_information
    assert share.max() <= 1.0
    # MATH A4: at ε_total = 1 within 1 % of the best down to width 0; at 10 far from it.
    zero = result.tables["width"].half_width == 0
    assert share[zero].iloc[0] > 0.99
    assert share[zero].iloc[-1] < 0.9
    assert {2.0, 3.0, 5.0, 10.0} <= set(result.tables["width"].half_width)


def test_figures_show_a_share_and_where_it_is_largest(result: Result) -> None:
    figures = study.figures(result)
    contours = [trace for trace in figures["surface"].figure.data if trace.type == "contour"]
    assert len(contours) == 4 * len(study.LEVELS)
    assert all(0.97 < np.nanmax(trace.z) <= 1.0 for trace in contours)
    best = next(t for t in figures["width"].figure.data if t.name == "best, ε_total = 5")
    curve = next(t for t in figures["width"].figure.data if t.name == "ε_total = 5")
    assert best.y[0] >= curve.y.max()


def test_ours_and_the_papers_point_are_marked_with_their_half_widths(result: Result) -> None:
    figure = study.figures(result)["surface"].figure
    marks = [trace for trace in figure.data if trace.type == "scatter"]
    assert [trace.y[0] for trace in marks[::2]] == pytest.approx(result.tables["main"].b.tolist())
    words = [note for note in figure.layout.annotations if note.xref.startswith("x")]
    assert [note.text.strip() for note in words[:2]] == ["best 0.071", "the paper's 0.06"]
    # One above its mark, the other below.
    assert {note.yanchor for note in words[::2]} == {"bottom"}
    assert {note.yanchor for note in words[1::2]} == {"top"}


def test_contours_of_a_single_budget_are_named_where_they_end() -> None:
    found = runner.run_to_end(EXPERIMENT, study.Params(epsilon_total=(1.0,)), seed=1)
    figure = study.figures(found)["surface"].figure
    shares = {note.text.strip(): note for note in figure.layout.annotations if "%" in note.text}
    assert list(shares) == ["50 %", "90 %", "99 %"]
    plane = found.tables["plane"]
    row = plane[plane.half_width == plane.half_width.min()]
    for share, name in ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %")):
        known = np.interp(shares[name].x, row.centre, row.information)
        assert known == pytest.approx(share * found.tables["main"].information.iloc[0], rel=0.02)
    assert not any(t.showlegend for t in figure.data)


def test_the_plane_holds_no_better_interval_and_agrees_with_the_widths(result: Result) -> None:
    plane = result.tables["plane"]
    largest = plane.groupby("epsilon_total").information.max().to_numpy()
    assert (largest <= result.tables["main"].information.to_numpy()).all()
    at_mu = plane[(plane.centre == 0) & (plane.epsilon_total == 1)]
    curve = result.tables["width"][result.tables["width"].epsilon_total == 1]
    known = np.interp(at_mu.half_width, curve.half_width, curve.information)
    np.testing.assert_allclose(at_mu.information, known, rtol=0.01)


def test_titles_say_what_is_found(result: Result) -> None:
    titles = {name: fig.one_line(d.figure) for name, d in study.figures(result).items()}
    assert titles["surface"] == (
        "A larger budget, a wider best interval: μ ± 0.071 σ at ε_total = 1, "
        "μ ± 1.2 σ at ε_total = 10"
    )
    words = re.fullmatch(
        r"At ε_total = 1 half-widths from (.*) to (.*) σ lose at most 1 %", titles["width"]
    )
    assert words is not None
    curve = result.tables["width"].query("epsilon_total == 1")
    share = curve.information / curve.best_information
    low, high = (float(part) for part in words.groups())
    assert low == 0.0
    assert (share[curve.half_width < 0.98 * high] >= 0.99).all()
    assert (share[curve.half_width > 1.05 * high] < 0.99).all()
    assert titles["ways"] == (
        "At ε_total = 1 the best interval for μ against the fixed one: information 46 times about "
        "μ and 0.76 times about σ"
    )


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (study.Params(epsilon_total=(2.0,)), "Best interval: μ ± 0.22 σ at ε_total = 2"),
        (
            study.Params(epsilon_total=(1.0,), score="sigma", symmetric=False),
            "Best interval: μ + ",
        ),
        (
            study.Params(epsilon_total=(2.0,), integration="monte-carlo", draws=10),
            "Best of a noisy search: μ ± ",
        ),
    ],
)
def test_the_title_at_other_settings(params: study.Params, words: str) -> None:
    found = runner.run_to_end(EXPERIMENT, params, seed=1)
    assert fig.one_line(study.figures(found)["surface"].figure).startswith(words)


def test_a_symmetric_interval_may_be_far_from_the_best() -> None:
    params = study.Params(epsilon_total=(1.0,), score="sigma", symmetric=False)
    found = runner.run_to_end(EXPERIMENT, params, seed=1)
    assert "every symmetric interval loses more than 1 %" in study.flat(found)


# ------------------------------------------------------------------------- other ways of asking


@pytest.fixture(scope="module")
def channels() -> Result:
    params = study.Params(epsilon_total=(1.0, 5.0), channel=("truncation", "sign", "optimal"))
    return runner.run_to_end(EXPERIMENT, params, seed=1)


def test_symbols_tell_more_than_truncation(channels: Result) -> None:
    """MATH A14: 25 % more at 1, 40 % more at 5; a sign 1 % more there."""
    main = channels.tables["main"].set_index(["epsilon_total", "channel"])
    more = main.information / main.information.xs("truncation", level="channel") - 1.0
    assert more[1.0, "optimal"] == pytest.approx(0.25, abs=0.005)
    assert more[5.0, "optimal"] == pytest.approx(0.40, abs=0.005)
    assert more[5.0, "sign"] == pytest.approx(0.012, abs=0.001)
    assert main.symbols[1.0, "optimal"] == 2
    assert main.a.isna().tolist() == main.b.isna().tolist() == [False, True, True] * 2
    assert main.bound.isna().tolist() == [True, False, False] * 2
    gap = main.bound / main.information - 1.0
    assert -1e-9 <= gap[1.0, "optimal"] <= 1e-4
    assert -1e-9 <= gap[5.0, "optimal"] <= 1e-4
    assert gap[5.0, "sign"] > 0.3


def test_truncation_has_the_same_numbers_beside_symbols(channels: Result) -> None:
    alone = runner.run_to_end(EXPERIMENT, study.Params(epsilon_total=(1.0, 5.0)), seed=1)
    assert study.truncated(channels.tables["main"]).to_numpy()[:, 4:6].tolist() == (
        alone.tables["main"].to_numpy()[:, 4:6].tolist()
    )
    for name in ("surface", "plane", "width"):
        assert channels.tables[name].equals(alone.tables[name])


def test_symbols_for_both_parameters_do_not_starve_sigma(channels: Result) -> None:
    ways = channels.tables["ways"].set_index(["epsilon_total", "way"])
    assert ways.information_sigma[1.0, "optimal for mu"] == 0.0
    both = ways.loc[1.0, "optimal for determinant"]
    assert both.information_mu > 0.07
    assert both.information_sigma > 2.0 * ways.information_sigma[1.0, "best for sigma"]
    assert ways.information_sigma[5.0, "optimal for mu"] > 1.2


def test_what_symbols_tell_is_said_in_a_sentence(channels: Result) -> None:
    assert "A sign scores 0.136, 25 % more than truncation, at ε_total = 1" in channels.summary
    assert "0.8551, 40 % more than truncation, at ε_total = 5 (7 symbols)" in channels.summary
    figures = study.figures(channels)
    lines = [t for t in figures["width"].figure.data if t.name in ("ε_total = 1", "ε_total = 5")]
    assert len(lines) == 2
    assert len(figures["surface"].figure.layout.annotations) > 0


@pytest.mark.parametrize("channel", ["sign", "optimal"])
@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
def test_symbols_alone_at_the_extremes(channel: str, epsilon_total: float) -> None:
    params = study.Params(epsilon_total=(epsilon_total,), channel=(channel,))
    result = runner.run_to_end(EXPERIMENT, params, seed=1)
    assert result.summary.startswith(("A sign scores", "The optimal table of symbols scores"))
    assert "nan" not in result.summary
    assert "truncation" not in result.summary
    for drawn in study.figures(result).values():
        assert "nan" not in drawn.figure.to_json().lower().split('"layout"')[1]


def test_gaussian_noise_of_symbols_is_refused() -> None:
    with pytest.raises(ParameterError, match="channel = sign: needs noise = laplace"):
        study.Params(channel=("truncation", "sign"), noise="gaussian")
