"""The error against the budget: exact where that can be checked, said as it is drawn."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from abcdp_core import error_curve, error_gaps, runner, sentences
from abcdp_core import figures as fig
from abcdp_core.experiments import expected_error
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture
from tests.statistics import assert_mean_of_repeats

SMALL = expected_error.Params(n=100, pool_size=400, epsilon_abc=0.3, epsilon_total=20.0, runs=2)


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(expected_error, SMALL, seed=1)


def test_without_noise_the_error_is_that_of_the_plain_run(result: Result) -> None:
    main, releases = result.tables["main"], result.tables["releases"]
    plain = main[(main.c == SMALL.c) & np.isinf(main.epsilon_total)].set_index("run").mse
    found = releases.groupby("run").non_private_mse.first()
    np.testing.assert_allclose(plain, found, rtol=1e-9)


def test_simulated_releases_have_the_exact_error_and_not_twice_the_budgets(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expected_error, "NOISES", 2000)
    task = expected_error.tasks(SMALL, 1)[0]
    simulated = expected_error.work(task).tables["releases"].private_mse.to_numpy()
    main = result.tables["main"]
    own = main[(main.c == SMALL.c) & (main.run == 0)].set_index("epsilon_total").mse
    repeats, nothing = simulated[:, None], np.zeros(1)
    assert_mean_of_repeats(repeats, np.array([own[SMALL.epsilon_total]]), nothing)
    with pytest.raises(AssertionError):
        assert_mean_of_repeats(repeats, np.array([own[10.0]]), nothing)


def test_parts_of_a_data_set_tell_what_all_of_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    params = dataclasses.replace(SMALL, epsilon_total=0.3, noises=20)
    whole = runner.run_to_end(expected_error, params, seed=1)
    assert whole.total == params.runs
    monkeypatch.setattr(expected_error, "PART", 1000 * params.pool_size)
    monkeypatch.setattr(runner, "YIELD_EVERY", 0.0)
    monkeypatch.setattr(runner, "YIELD_SHARE", 1e9)
    first, *_, last = runner.run(expected_error, params, seed=1)
    assert last.total > 2 * params.runs
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(last.tables[name], table, check_exact=True)
    assert last.summary == whole.summary
    assert first.tables["main"].empty
    title = expected_error.figures(first)["error"].figure.layout.title.text
    assert title == "No data set is finished yet"
    assert expected_error.typical_in_words(first) == ""
    assert expected_error.averaged_in_words(first) == "No data set is finished yet."
    assert expected_error.marks_in_words(first, 0.04) == "Hollow: this run."
    beyond = dataclasses.replace(first, params=dataclasses.replace(params, epsilon_total=0.001))
    words = expected_error.marks_in_words(beyond, 0.04)
    assert words == "Your budget is beyond the left edge: this run 0.04."


def test_a_part_of_the_largest_setting_is_a_small_one() -> None:
    largest = expected_error.Params(pool_size=100_000, c=1000, n=1000)
    (task, *_) = expected_error.tasks(largest, 1)
    assert task.links == len(expected_error.USUAL)
    assert {each.links for each in expected_error.tasks(expected_error.Params(), 1)} == {1}


def test_few_nodes_are_enough(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_curve, "NODES", 128)
    coarse = result.tables["main"].query("run == 0")
    fine = [
        error_curve.mse(expected_error._setting(SMALL, c, 0, 1), epsilon_total)
        for c, epsilon_total in zip(coarse.c, coarse.epsilon_total, strict=True)
    ]
    np.testing.assert_allclose(np.sqrt(coarse.mse), np.sqrt(fine), rtol=0.01)


def test_the_curve_is_kept_for_whoever_moves_the_own_budget(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def seen(setting: error_curve.Setting, epsilon_total: float) -> float:
        asked.append(epsilon_total)
        return 0.5

    monkeypatch.setattr(error_curve, "mse", seen)
    for epsilon_total in (0.3, 0.5):
        moved = dataclasses.replace(SMALL, epsilon_total=epsilon_total)
        main = expected_error.work(expected_error.tasks(moved, 1)[0]).tables["main"]
        for c, line in main.groupby("c"):
            budgets = [*sorted({*expected_error.BUDGETS, epsilon_total}), math.inf]
            assert line.epsilon_total.tolist() == budgets, c
    assert asked == [0.3, 0.3]


def test_the_title_says_so_where_noise_does_better() -> None:
    def title(here: float, plain: float) -> str:
        errors = {1.0: here, math.inf: plain}
        rows = [(SMALL.c, budget, 0, error**2) for budget, error in errors.items()]
        main = pd.DataFrame(rows, columns=list(expected_error.COLUMNS["main"]))
        return expected_error.finding(dataclasses.replace(SMALL, epsilon_total=1.0), main)

    prior = expected_error.PRIOR_ERROR
    assert title(0.5 * prior, prior) == (
        "Without noise no better than the prior, with it 50 % of its error"
    )
    assert title(0.94 * prior, 0.96 * prior).startswith("Without noise hardly better")
    assert title(0.96 * prior, 1.2 * prior) == "Even without noise: no better than the prior"
    assert title(1.2 * prior, 0.96 * prior) == "Even without noise: hardly better than the prior"
    assert title(1.2 * prior, 1.1 * prior) == "Even without noise: no better than the prior"
    assert title(prior, 0.3 * prior) == "With this budget: no better than the prior"
    assert title(0.6 * prior, 0.8 * prior) == (
        "With this budget's noise the error is 75 % of that without"
    )
    assert title(0.8 * prior, 0.8 * prior) == "This budget adds at most 10 % to the error"
    assert title(0.8 * prior, 0.4 * prior) == "This budget makes the error 2.0 times as large"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_total": 0.001}, "With this budget: no better than the prior"),
        ({"epsilon_total": 1000.0}, "adds at most 10 %"),
        ({}, r"the error \d+\.\d times as large"),
        ({"epsilon_abc": 1.4142135623730951}, "Even without noise"),
    ],
)
def test_the_title_says_what_the_curve_shows(changes: dict[str, float], words: str) -> None:
    params = dataclasses.replace(SMALL, c=5, **changes)  # type: ignore[arg-type]
    found = runner.run_to_end(expected_error, params, seed=1)
    title = expected_error.figures(found)["error"].figure.layout.title.text
    here = expected_error.at(found.tables["main"], 5, params.epsilon_total)
    plain = expected_error.at(found.tables["main"], 5, math.inf)
    if "times" in title:
        assert f"{here / plain:.1f} times" in title
    elif "adds" in title:
        assert here <= 1.1 * plain
    else:
        assert here >= sentences.NEARLY * expected_error.PRIOR_ERROR
        shown = plain if "Even" in title else here
        assert ("no better" in title) == (shown >= expected_error.PRIOR_ERROR)
    assert words.split("(")[0] in title or "times" in words


@pytest.mark.parametrize(
    "changes",
    [{}, {"epsilon_total": 0.001}, {"epsilon_total": 1000.0}, {"epsilon_abc": 0.001, "c": 1}],
)
def test_what_is_typical_is_that_of_the_releases(changes: dict[str, float]) -> None:
    params = dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
    found = runner.run_to_end(expected_error, params, seed=1)
    releases = found.tables["releases"]
    words = expected_error.typical_in_words(found)
    assert words.startswith(f"**Typical of {len(releases)} runs:** ")
    kept, (middle, low, high) = expected_error.typical_counts(found)
    assert low <= middle <= high
    assert (releases.accepted >= kept).mean() >= 0.5
    assert (releases.accepted <= kept).mean() >= 0.5
    within = releases.false.between(low, high)
    assert within.mean() >= 0.8
    if kept == 0:
        assert "nothing is kept" in words
        return
    assert f" {middle} of {kept} (four in five: {low} to {high}), and " in words
    ratio = np.sqrt(releases.private_mse / releases.non_private_mse)
    assert f"and {ratio.median():.1f} times as far from the truth" in words


def test_a_median_of_nothing_kept_is_said(result: Result) -> None:
    nothing = result.tables["releases"].assign(accepted=0, false=0)
    tables = {**result.tables, "releases": nothing}
    words = expected_error.typical_in_words(dataclasses.replace(result, tables=tables))
    assert words == f"**Typical of {len(nothing)} runs:** nothing is kept."


def test_the_name_of_a_line_stands_where_nothing_else_is_drawn() -> None:
    falling = np.array([0.10, 0.08, 0.05, 0.03, 0.03])
    floor, top = np.full(5, 0.03), np.full(5, 0.13)
    x = np.array([0.1, 0.5, 1.0, 2.0, 5.0])
    assert expected_error._place(x, falling, [floor, top]) == (1, "bottom left")
    # Below the upper one of two lines that end together, where the lower one is far away.
    upper = np.array([0.12, 0.12, 0.11, 0.09, 0.03])
    index, side = expected_error._place(x, upper, [falling, top])
    assert (index, side) == (3, "top right")
    # Most room is where the lines end: right of that there is none.
    late = np.array([0.12, 0.12, 0.12, 0.11, 0.02, 0.02])
    with_end = np.array([*x, 10.0])
    found = expected_error._place(with_end, late, [np.full(6, 0.015), np.full(6, 0.13)])
    assert found == (1, "top right")


@pytest.mark.parametrize(
    ("earlier", "said"),
    [
        ((), ""),
        ((0.05,), " Earlier noise: 0.05 to 0.05."),
        ((0.05, 0.03), " Earlier noise: 0.03 to 0.05."),
    ],
)
def test_runs_stand_at_their_budget_the_one_shown_larger(
    result: Result, earlier: tuple[float, ...], said: str
) -> None:
    usual = expected_error.figures(result)["error"]
    marked = expected_error.mark(usual, 0.2, 0.04, earlier)
    runs = marked.figure.data[len(usual.figure.data) :]
    assert [value for trace in runs for value in trace.y] == [*earlier, 0.04]
    assert {value for trace in runs for value in trace.x} == {0.2}
    assert runs[-1].marker.size > max((trace.marker.size for trace in runs[:-1]), default=0)
    assert marked.sentence == f"{usual.sentence} This run: 0.04.{said}"


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("sensitivity", ["sharp", "published"])
@pytest.mark.parametrize(("own", "n"), [(0.001, 20_000), (0.2, 5000), (0.7, 100), (1000.0, 10)])
def test_so_many_people_have_the_noise_of_the_other_budget(
    own: float, n: int, sensitivity: str, resample: bool
) -> None:
    def noise(epsilon_total: float, n: float) -> float:
        distance = uniform_mixture.distance()
        # Lemma 1 and its sharp form hold for whole people; between them Δ is as 1/N.
        whole = math.ceil(n)
        delta = distance.sensitivity(whole, sensitivity) * whole / n
        event = sparse_vector.calibrate(epsilon_total, delta, 7, resample=resample)
        return event.threshold_scale

    params = expected_error.Params(epsilon_total=own, n=n, sensitivity=sensitivity, c=7)
    for epsilon_total in expected_error.BUDGETS:
        people = expected_error.people(params, epsilon_total)
        wanted = noise(epsilon_total, n)
        # With more, what sums over so many points round is part of the calibrated noise.
        if 1.0 <= people <= 1e5:
            assert noise(own, people) == pytest.approx(wanted, rel=1e-6)
            assert noise(own, math.ceil(people)) <= wanted * (1.0 + 1e-6)


def moved(result: Result, **changes: float) -> Result:
    """The same numbers as those of other settings."""
    params = dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
    main, own = result.tables["main"], params.epsilon_total
    here = main.epsilon_total == SMALL.epsilon_total
    main = (
        main[~here] if own in expected_error.BUDGETS else main.replace({SMALL.epsilon_total: own})
    )
    return dataclasses.replace(result, params=params, tables={**result.tables, "main": main})


@pytest.mark.parametrize(
    ("own", "n", "shown"),
    [
        (0.2, 5000, ["3,000", "10,000", "30,000", "100,000"]),
        (1000.0, 100, ["1"]),
        (1000.0, 10, []),
        (0.001, 20_000, ["1 million", "3 million", "10 million", "30 million", "100 million"]),
    ],
)
def test_the_axis_of_people_stands_where_their_budgets_do(
    result: Result, own: float, n: int, shown: list[str]
) -> None:
    params = expected_error.Params(epsilon_total=own, n=n)
    drawn = expected_error.figures(moved(result, epsilon_total=own, n=n))["error"].figure
    axis = drawn.layout["xaxis2"] if shown else go.layout.XAxis()
    assert list(axis.ticktext or ()) == shown
    assert bool(expected_error.people_in_words(params)) == bool(shown)
    for place, tick in zip(axis.tickvals or (), axis.ticktext or (), strict=True):
        assert place == int(tick.replace(",", "").replace(" million", "000000"))
    if shown:
        ends = 10.0 ** np.array([axis.range, drawn.layout.xaxis.range])
        np.testing.assert_allclose(ends[0], [expected_error.people(params, x) for x in ends[1]])
    card = fig.in_card(drawn, fig.SCREEN, 268)
    assert "xaxis2" not in card["layout"]
    assert len(card["data"]) == len(drawn.data) - bool(shown)


@pytest.mark.parametrize(
    ("own", "error", "said"),
    [
        (0.2, 0.05, "Filled: your setting. Hollow: this run."),
        (0.2, 0.9, "Filled: your setting. Hollow: this run. Triangle: above the axis."),
        (0.001, 0.05, "Your budget is beyond the left edge: average "),
        (1000.0, 0.05, "Your budget is beyond the right edge: average "),
    ],
)
def test_marks_are_said_as_they_are_drawn(
    result: Result, own: float, error: float, said: str
) -> None:
    other = moved(result, epsilon_total=own)
    marked = expected_error.mark(expected_error.figures(other)["error"], own, error).figure
    words = expected_error.marks_in_words(other, error)
    assert words.startswith(said)
    names = {trace.name: trace for trace in marked.data}
    assert ("your setting" in names) == ("this run" in names) == ("Filled" in words)
    if "this run" in names:
        (symbol,) = names["this run"].marker.symbol
        assert (symbol == "triangle-up-open") == ("Triangle" in words)
        assert names["this run"].y[0] <= marked.layout.yaxis.range[1]


def test_between_computed_budgets_the_line_never_leaves_their_errors(result: Result) -> None:
    drawn = expected_error.figures(result)["error"].figure
    for c in expected_error.lines(SMALL):
        line, dots = (
            next(trace for trace in drawn.data if (trace.name, trace.mode) == (f"keep {c}", mode))
            for mode in ("lines", "markers")
        )
        for at, value in zip(line.x, line.y, strict=True):
            right = min(max(int(np.searchsorted(dots.x, at)), 1), len(dots.x) - 1)
            low, high = sorted(dots.y[right - 1 : right + 1])
            assert low - 1e-12 <= value <= high + 1e-12


def test_the_name_of_a_line_stands_on_the_axis_where_the_line_is_above_it(result: Result) -> None:
    main = result.tables["main"].copy()
    main.loc[(main.c == SMALL.c) & (main.epsilon_total < 1.0), "mse"] = 1.0
    high = dataclasses.replace(result, tables={**result.tables, "main": main})
    drawn = expected_error.figures(high)["error"].figure
    (note,) = [each for each in drawn.layout.annotations if each.text == f"keep {SMALL.c}"]
    assert note.y <= drawn.layout.yaxis.range[1]
    assert 10.0**note.x >= 1.0


# ---------------------------------------------------------------------- simulated beside computed


@pytest.fixture(scope="module")
def checked() -> Result:
    return runner.run_to_end(expected_error, dataclasses.replace(SMALL, noises=25), seed=1)


def test_every_finite_budget_of_every_line_is_simulated(checked: Result) -> None:
    table = checked.tables["gaps"]
    for c in expected_error.lines(SMALL):
        assert table[table.c == c].epsilon_total.tolist() == [*expected_error.BUDGETS, 20.0]
    assert (table.releases == 25 * SMALL.runs).all()
    np.testing.assert_allclose(table.mse, np.mean([table.low, table.high], axis=0))


def test_gaps_are_in_standard_errors_beyond_what_is_computed_to(checked: Result) -> None:
    main = checked.tables["simulated"]
    part = main[(main.c == 10) & (main.epsilon_total == 0.5)]
    off = part.mse - part.expected_mse + 0.002
    gap = error_gaps.of(part.assign(mse=part.mse + 0.002)).gap.iloc[0]
    beyond = abs(off.mean()) - 0.01 * part.expected_mse.mean()
    assert gap == pytest.approx(beyond / (off.std() / math.sqrt(len(off))))


def test_half_the_noise_is_found_and_said(checked: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "they agree (joint test" in expected_error.figures(checked)["error"].sentence
    usual = sparse_vector.run

    def halved(rho, epsilon_abc, event, rng):  # type: ignore[no-untyped-def]
        threshold, query = event.threshold_scale / 2, event.query_scale / 2
        less = dataclasses.replace(event, threshold_scale=threshold, query_scale=query)
        return usual(rho, epsilon_abc, less, rng)

    monkeypatch.setattr(sparse_vector, "run", halved)
    much = dataclasses.replace(SMALL, noises=200)
    rows = expected_error.work(expected_error.tasks(much, 1)[0]).tables
    wrong = expected_error.collect(much, rows)
    assert not error_gaps.agrees(wrong.tables["gaps"])
    assert "do not agree" in expected_error.figures(wrong)["error"].sentence


@pytest.mark.parametrize(("others", "tested"), [(0, 0), (19, 0), (20, 1)])
def test_releases_that_are_nearly_all_the_same_are_not_tested(others: int, tested: int) -> None:
    # With few of a rarer kind, or none by chance, their spread is no measure of the gap.
    errors = np.full(100, 0.02)
    errors[:others] = 0.05
    simulated = pd.DataFrame(
        {
            **{"c": 1, "epsilon_total": 0.1, "run": np.arange(100) % 2, "mse": errors},
            "expected_mse": np.where(np.arange(100) % 2, 0.0261, 0.0259),
        }
    )
    table = error_gaps.of(simulated)
    assert table.gap.count() == table.low.count() == table.high.count() == tested
    assert error_gaps.agrees(table)
    words = "they agree (joint test at 1 %)." if tested else "they are too alike to test."
    assert error_gaps.in_words(table).endswith(words)


def test_crosses_stand_at_the_simulated_errors(checked: Result) -> None:
    figure, table = expected_error.figures(checked)["error"].figure, checked.tables["gaps"]
    crosses = [trace for trace in figure.data if trace.name == "simulated"]
    for c, cross in zip(expected_error.lines(SMALL), crosses, strict=True):
        shown = table[(table.c == c) & (table.epsilon_total <= expected_error.ENDS[1])]
        np.testing.assert_allclose(cross.y, np.sqrt(shown.mse))
