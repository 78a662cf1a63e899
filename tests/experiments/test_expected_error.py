"""The error against the budget: exact where that can be checked, said as it is drawn."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import error_curve, error_gaps, runner
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


# -------------------------------------------------------------------------------------- computing


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


def test_few_nodes_are_enough(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_curve, "NODES", 128)
    coarse = result.tables["main"].query("run == 0")
    fine = [
        error_curve.mse(expected_error._setting(SMALL, c, 0, 1), epsilon_total)
        for c, epsilon_total in zip(coarse.c, coarse.epsilon_total, strict=True)
    ]
    np.testing.assert_allclose(np.sqrt(coarse.mse), np.sqrt(fine), rtol=0.01)


def test_parts_of_a_data_set_give_what_all_of_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    params = dataclasses.replace(SMALL, epsilon_total=0.3, noises=20)
    whole = runner.run_to_end(expected_error, params, seed=1)
    monkeypatch.setattr(expected_error, "PART", 1000 * params.pool_size)
    monkeypatch.setattr(runner, "YIELD_EVERY", 0.0)
    monkeypatch.setattr(runner, "YIELD_SHARE", 1e9)
    first, *_, last = runner.run(expected_error, params, seed=1)
    assert last.total > 2 * params.runs == 2 * whole.total
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(last.tables[name], table, check_exact=True)
    assert last.summary == whole.summary
    # Before any data set is finished.
    assert first.tables["main"].empty
    title = expected_error.figures(first)["error"].figure.layout.title.text
    assert first.summary == f"{title}." == f"{expected_error.NOT_YET}."
    assert expected_error.typical_in_words(first) == ""


def test_a_part_of_the_largest_setting_is_a_small_one() -> None:
    largest = expected_error.Params(pool_size=100_000, c=1000, n=1000)
    (task, *_) = expected_error.tasks(largest, 1)
    assert task.links == len(expected_error.USUAL)
    assert {each.links for each in expected_error.tasks(expected_error.Params(), 1)} == {1}


def test_the_curve_is_kept_when_the_own_budget_is_moved(
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


# ----------------------------------------------------------------------------- in words and figures

EXTREMES: tuple[dict[str, Any], ...] = (
    *(
        {},
        {"c": 5},
        {"epsilon_total": 1.0},
        {"epsilon_total": 0.001},
        {"epsilon_total": 1000.0, "n": 10},
    ),
    *({"epsilon_abc": 0.001, "c": 1}, {"epsilon_abc": 1.4142135623730951}, {"pool_size": 50}),
)


@pytest.mark.parametrize("changes", EXTREMES)
def test_words_and_marks_say_what_the_tables_have(changes: dict[str, Any]) -> None:
    params = dataclasses.replace(SMALL, **changes)
    found = runner.run_to_end(expected_error, params, seed=1)
    drawn, prior = expected_error.figures(found)["error"], expected_error.PRIOR_ERROR
    here, plain = expected_error.own_errors(params, found.tables["main"])
    title = drawn.figure.layout.title.text
    assert ("better than the prior" in title) == (max(here, plain) >= 0.95 * prior)
    assert ("times the error" in title) <= (here > plain)
    assert ("smaller than" in title) <= (here < plain)

    releases, words = found.tables["releases"], expected_error.typical_in_words(found)
    assert words.startswith(f"**Over {len(releases)} runs:** typically ")
    assert ("nothing is kept" in words) == (releases.accepted.median() < 1.0)

    marked = expected_error.mark(drawn, params.epsilon_total, 0.9, (0.03, 0.05))
    said = expected_error.marks_in_words(found, 0.9, (0.03, 0.05))
    assert marked.sentence == f"{drawn.sentence} This run: 0.9. Earlier noise: 0.03 to 0.05."
    names = {trace.name: trace for trace in marked.figure.data}
    assert ("your setting" in names) == ("this run" in names) == (params.epsilon_total == 1.0)
    if params.epsilon_total == 1.0:
        assert names["this run"].y.tolist() == [0.03, 0.05, expected_error.TOP]
    assert ("is beyond the axis" in said) == (params.epsilon_total != 1.0)

    axis = drawn.figure.to_dict()["layout"].get("xaxis2")
    if axis:
        ends = 10.0 ** np.array([axis["range"], drawn.figure.layout.xaxis.range])
        np.testing.assert_allclose(ends[0], [expected_error.people(params, x) for x in ends[1]])
    card = fig.in_card(drawn.figure, fig.SCREEN, 268)
    assert "xaxis2" not in card["layout"]


def test_what_is_typical_is_that_of_most_releases(result: Result) -> None:
    releases = (
        result.tables["releases"]
        .head(11)
        .assign(accepted=10, false=range(11), private_mse=4.0, non_private_mse=1.0)
    )
    typical = dataclasses.replace(result, tables={**result.tables, "releases": releases})
    assert expected_error.typical_in_words(typical) == (
        "**Over 11 runs:** typically noise picks 5 of the 10 draws kept (80 % of runs: 1 to 9), "
        "and the error is 2 times the error without noise (2)."
    )


# ---------------------------------------------------------------------- simulated beside computed


@pytest.fixture(scope="module")
def checked() -> Result:
    return runner.run_to_end(expected_error, dataclasses.replace(SMALL, noises=25), seed=1)


def test_every_finite_budget_of_every_line_is_simulated_and_drawn(checked: Result) -> None:
    table, figure = checked.tables["gaps"], expected_error.figures(checked)["error"].figure
    crosses = [trace for trace in figure.data if trace.name == "simulated"]
    for c, cross in zip(expected_error.lines(SMALL), crosses, strict=True):
        part = table[table.c == c]
        assert part.epsilon_total.tolist() == [*expected_error.BUDGETS, 20.0]
        shown = part[part.epsilon_total <= expected_error.ENDS[1]]
        np.testing.assert_allclose(cross.y, np.sqrt(shown.mse))
    assert (table.releases == 25 * SMALL.runs).all()


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
