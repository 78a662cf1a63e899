"""The posterior study: what it reports is what the mechanism did."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import pool, releases, runner
from abcdp_core.experiments import posterior
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.sentences import amount
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import flip

SMALL = posterior.Params(n=300, pool_size=1000, epsilon_total=50.0, c=20, epsilon_abc=0.2)


def run(**changes: object) -> Result:
    params = dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
    return runner.run_to_end(posterior, params, seed=1)


def test_errors_are_those_of_the_weighted_means_of_the_samples() -> None:
    result = run()
    main, errors = result.tables["main"], result.tables["errors"].set_index("release")
    for release in ("private", "non-private"):
        part = main[main.release == release]
        products = (part.value * part.weight).groupby(part.parameter).sum()
        difference = products.loc[list(uniform_mixture.AXES)].to_numpy() - uniform_mixture.TRUTH
        assert errors.mse[release] == pytest.approx(np.mean(difference**2), rel=1e-12)
        assert errors.mae[release] == pytest.approx(np.mean(np.abs(difference)), rel=1e-12)


def test_where_no_truth_is_known_no_error_is_said() -> None:
    params = posterior.Params.from_text({"scenario": "covid", "pool_size": "2000"})
    result = runner.run_to_end(posterior, params, seed=1)
    assert result.tables["errors"].mae.isna().all()
    assert result.summary.startswith("The true parameters are unknown, so there is no error to ")
    kept, false = posterior.counts(result)
    figure = posterior.figures(result)["posterior"].figure
    assert figure.layout.title.text == f"Noise picked {false} of {kept} kept draws"
    assert "truth" not in {trace.name for trace in figure.data}
    assert "nan" not in " ".join(posterior.headline(result))


@pytest.mark.parametrize("c", [1, 500])
def test_a_pool_that_ends_first_is_said(c: int) -> None:
    result = run(epsilon_abc=0.1 if c > 1 else 0.001, epsilon_total=1000.0, n=5000, c=c)
    errors = result.tables["errors"].set_index("release")
    kept = errors.accepted["private"]
    title = posterior.figures(result)["posterior"].figure.layout.title.text
    assert ("no draw was kept, so the estimate is the prior mean" in title) == (kept == 0)
    if c == 1:
        assert errors.mae["private"] == errors.mae["prior"]
        assert "With noise the run kept 0 of 1 draw, without noise 0." in result.summary
        assert posterior.headline(result)[:2] == (
            "0", "of the 1 asked for: none of 1,000 draws passed **with the noise**.",
        )  # fmt: skip
    else:
        assert 0 < kept < 500
        assert f"With noise the run kept {kept} of 500 draws, without" in result.summary


def test_decisions_end_at_the_stop_and_flips_are_disagreements() -> None:
    result = run()
    decisions = result.tables["decisions"]
    assert decisions.private.iloc[-1]
    assert int(decisions.private.sum()) == 20
    assert ((decisions.non_private != decisions.private) == decisions.flipped).all()
    assert (decisions.non_private == (decisions.rho <= 0.2)).all()
    scale = releases.event_of(SMALL).threshold_scale
    expected = flip.flip_probability(decisions.rho, 0.2, scale)
    np.testing.assert_allclose(decisions.flip_probability, expected, rtol=1e-15)


def test_a_scenario_brings_its_own_values_unless_others_are_asked_for() -> None:
    covid = posterior.Params.from_text({"scenario": "covid", "c": "7"})
    assert (covid.n, covid.pool_size, covid.epsilon_abc, covid.c) == (18, 50_000, 0.1, 7)
    again = posterior.Params.from_text({"epsilon_total": "9"}, covid)
    assert (again.scenario, again.n, again.c) == ("covid", 18, 7)
    back = posterior.Params.from_text({"scenario": "uniform-mixture"}, again)
    assert (back.n, back.pool_size, back.c) == (5000, 10_000, 10)
    with pytest.raises(ParameterError, match="n = 5000: must be one of 18"):
        posterior.Params.from_text({"scenario": "covid", "n": "5000"})


def test_new_noise_leaves_everything_public_unchanged() -> None:
    first, second = (
        dict(list(run(noise_draw=noise, epsilon_total=5.0).tables["main"].groupby("release")))
        for noise in (0, 1)
    )
    for release in ("prior", "non-private"):
        pd.testing.assert_frame_equal(
            *(part[release].reset_index(drop=True) for part in (first, second))
        )
    assert first["private"]["sample"].tolist() != second["private"]["sample"].tolist()


def test_the_event_depends_on_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("private data were touched")

    monkeypatch.setattr(pool, "observed_data", forbidden)
    monkeypatch.setattr(pool, "observed_comparison", forbidden)
    assert releases.event_of(SMALL).c == 20
    assert "ε_total = 50" in releases.privacy_of(SMALL)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("uniform-mixture", "one of the N points: .* is replaced by any other"),
        ("covid", "not a person: .* is replaced by any other"),
        ("tuberculosis-patients", "one patient: .* is left out or added"),
        ("covid-people", "one person: .* is left out or added"),
    ],
)
def test_the_label_says_how_neighbouring_data_differ(scenario: str, words: str) -> None:
    params = posterior.Params.from_text({"scenario": scenario})
    assert re.search(words, releases.privacy_of(params))


def test_every_decision_that_noise_changed_is_drawn() -> None:
    result = run(c=1000, epsilon_total=1.0, pool_size=5000)
    decisions = result.tables["decisions"].set_index("t")
    drawn = posterior.figures(result)["decisions"]
    (marks,) = (trace for trace in drawn.figure.data if trace.mode == "markers")
    shown = decisions.loc[marks.ids]
    assert shown.index.is_unique
    end = drawn.figure.layout.xaxis.range[1]
    np.testing.assert_array_equal(marks.x, shown.rho.clip(upper=end))
    kept, close = shown.private.to_numpy(), shown.non_private.to_numpy()
    colors = np.select(
        [kept & close, kept, close],
        [fig.BOTH.color, fig.PRIVATE.color, fig.NON_PRIVATE.color],
        fig.REJECTED.color,
    )
    assert list(marks.marker.color) == colors.tolist()
    assert (np.asarray(marks.marker.line.width) > 0).tolist() == (kept != close).tolist()
    assert decisions[decisions.private | decisions.non_private].index.isin(marks.ids).all()
    assert (~kept & ~close).sum() <= posterior.REJECTED_SHOWN
    false, lost = int((kept & ~close).sum()), int((close & ~kept).sum())
    changed = f"Noise kept {false:,} and rejected {lost:,} draws wrongly"
    assert changed in drawn.figure.layout.title.text
    alike = f"the run kept {(decisions.private & decisions.non_private).sum():,} and rejected"
    assert alike in drawn.sentence
    low, high = drawn.figure.layout.yaxis.range
    for trace in drawn.figure.data:
        assert np.all((np.asarray(trace.y) >= low) & (np.asarray(trace.y) <= high))


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 1000.0])
def test_the_headline_says_what_the_table_says(epsilon_total: float) -> None:
    result = run(epsilon_total=epsilon_total)
    number, words, rest = posterior.headline(result)
    decisions, errors = result.tables["decisions"], result.tables["errors"].set_index("release")
    false = int((decisions.private & ~decisions.non_private).sum())
    assert number == f"{false} of {int(decisions.private.sum())}"
    private, plain = np.sqrt(errors.mse["private"]), np.sqrt(errors.mse["non-private"])
    assert (f"is {amount(private / plain, 2)} times the error" in words) == (private > 1.1 * plain)
    assert ("smaller than without noise" in words) == (private < plain / 1.1)
    assert f"is {amount(private)} with noise" in rest


@pytest.mark.parametrize("resample", [False, True])
def test_a_threshold_beyond_the_edge_stands_on_it_and_is_called_what_it_is(resample: bool) -> None:
    result = run(epsilon_total=0.001, resample=resample)
    threshold = result.tables["decisions"].noisy_threshold.iloc[-1]
    layout = posterior.figures(result)["decisions"].figure.layout
    low, high = layout.yaxis.range
    assert not low <= threshold <= high
    said = [note for note in layout.annotations if note.text.startswith("noisy threshold")]
    assert [note.text for note in said] == [
        f"noisy threshold {amount(threshold)}{', the last one' if resample else ''} "
    ]
    assert said[0].y in (low, high)
