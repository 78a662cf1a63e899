"""Several values of each person: what each title and sentence says, and what it counts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import runner
from abcdp_core.experiments import vector_truncation as study
from abcdp_core.results import Result

TINY = study.Params(n=12, dimension=(1, 3), particles=20, runs=2, correlation=0.5)


@pytest.fixture(scope="module")
def tiny() -> Result:
    return runner.run_to_end(study, TINY, 1)


def with_errors(params: study.Params, errors: dict[tuple[int, int], list[float]]) -> Result:
    """Results of both followed coordinates, with these errors in σ by dimension and asked."""
    rows = [
        (d, k, run, coordinate, 9, params.mu, params.sigma * error)
        for (d, k), each in errors.items()
        for run, error in enumerate(each)
        for coordinate in range(min(d, study.FOLLOWED))
    ]
    tables = {"main": pd.DataFrame(rows, columns=list(study.COLUMNS["main"]))}
    return study.collect(params, tables)


SOME, MANY = [0.10, 0.11, 0.12], [0.50, 0.55, 0.60]


@pytest.mark.parametrize(
    ("errors", "title"),
    [
        ({(2, 1): SOME, (2, 2): MANY},
         "For 2 values asking for one makes the error 5 times smaller"),
        ({(2, 1): MANY, (2, 2): SOME}, "For 2 values splitting makes the error 5 times smaller"),
        ({(2, 1): SOME, (2, 2): SOME}, "For 2 values no clear difference between splitting and"),
        ({(2, 1): [0.1], (2, 2): [0.9]}, "For 2 values no clear difference"),
        ({(1, 1): SOME}, "Error of the means of a person's values"),
        ({(2, 1): SOME}, "Error of the means of a person's values"),
    ],
)  # fmt: skip
def test_the_title_says_what_is_found(
    errors: dict[tuple[int, int], list[float]], title: str
) -> None:
    params = dataclasses.replace(TINY, dimension=(1, 2))
    assert study.finding(with_errors(params, errors)).startswith(title)


def test_intervals_are_announced_only_where_the_sentence_has_them() -> None:
    small, large = {(1, 1): SOME}, {(2, 1): [0.1], (2, 2): [0.9]}
    params = dataclasses.replace(TINY, dimension=(1, 2))
    assert "(95 % interval)" not in with_errors(params, small | large).summary
    assert "(95 % interval)" in with_errors(params, small | {(2, 1): SOME}).summary


def test_the_best_number_is_named_by_the_formula() -> None:
    params = dataclasses.replace(TINY, dimension=(1, 2, 5), epsilon_total=5.0)
    result = with_errors(params, {(5, 1): SOME, (5, 2): SOME, (5, 5): MANY})
    told = study.figures(result)["told"]
    title = "With 5 values of each person most is told by asking for 2"
    assert fig.one_line(told.figure) == title
    share = 100.0 * params.told(2)[0] / params.told(2)[1]
    each = f"of 2 values 2 (one tells {share:.3g} % of that, all of them 100 %)"
    assert told.sentence.startswith(f"Most is told about each mean by asking for: {each}; of 5")
    names = [trace.name for trace in study.figures(result)["error"].figure.data]
    assert "the best number, by formula" in names
    alone = with_errors(dataclasses.replace(TINY, dimension=(1,)), {(1, 1): SOME})
    drawn = study.figures(alone)["told"]
    assert fig.one_line(drawn.figure) == drawn.sentence[:-1]
    # With little budget one value is the best number, which is then not drawn twice.
    small = dataclasses.replace(params, epsilon_total=1.0)
    assert [small.asked(d) for d in (1, 2, 5)] == [[1], [1, 2], [1, 5]]
    names = [t.name for t in study.figures(with_errors(small, {(5, 1): SOME}))["error"].figure.data]
    assert not any("best" in name for name in names)


def test_errors_are_in_sigma_and_wait_for_all_that_are_followed(tiny: Result) -> None:
    main = tiny.tables["main"]
    found = study.errors(TINY, main).set_index(["dimension", "asked"])["mean"]
    part = main[(main.dimension == 3) & (main.asked == 3)]
    assert set(part.coordinate) == {0, 1}
    assert found[3, 3] == pytest.approx(part.error_mu.mean() / TINY.sigma)
    short = main.drop(part.index[-1])
    runs = study.errors(TINY, short).set_index(["dimension", "asked"])["mean"]
    assert runs[3, 3] == pytest.approx(part[part.run == 0].error_mu.mean() / TINY.sigma)
    assert set(main[main.asked == main.dimension].answers) == {12}
    one = main[(main.dimension == 3) & (main.asked == 1)].groupby("run").answers.sum()
    assert (one <= 12).all()


def test_nobody_asked_leaves_the_prior(tiny: Result) -> None:
    params = dataclasses.replace(TINY, n=1, dimension=(10,))
    tasks = [study.Task(params, 0, 1, 1, coordinate) for coordinate in range(10)]
    main = pd.concat([study.work(task).tables["main"] for task in tasks])
    assert (main.answers.sum(), (main[main.answers == 0].mean_mu == 0.0).all()) == (1, True)
    assert "asked for 1 of 3 values" in tiny.summary
    assert "asked for the only value" in study._summary(
        TINY, main.assign(dimension=1, run=range(10))
    )


def test_a_task_in_parts_is_the_one_in_one_go(
    tiny: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "LINK", 5)
    assert {task.links for task in study.tasks(TINY, 1)} == {3}
    first = study.work(study.tasks(TINY, 1)[0])
    assert first.tables["main"].empty
    assert study.collect(TINY, first.tables).summary.startswith("No way of asking")
    in_parts = runner.run_to_end(study, TINY, 1)
    pd.testing.assert_frame_equal(in_parts.tables["main"], tiny.tables["main"])


def test_values_of_a_person_are_correlated_as_asked_for() -> None:
    params = dataclasses.replace(TINY, n=5000, dimension=(3,), correlation=0.6)
    found = np.corrcoef(study.people(study.Task(params, 0, 1, 1, 0)).T)
    np.testing.assert_allclose(found, 0.4 * np.eye(3) + 0.6, atol=0.04)
    apart = study.people(study.Task(dataclasses.replace(params, correlation=0.0), 0, 1, 1, 0))
    assert abs(np.corrcoef(apart.T)[0, 1]) < 0.06
    assert apart.std() == pytest.approx(1.0, abs=0.04)


def test_the_bound_and_the_promise() -> None:
    least = study.bound(TINY, np.array([0.5]))
    assert least[0] == pytest.approx(math.sqrt(2.0 / math.pi / 6.0))
    large = study.Params(epsilon_total=1000.0, channel="sign", dimension=(1, 5), n=2, runs=1)
    assert (
        "ε_total = 150 " in study.collect(large, with_errors(large, {(1, 1): SOME}).tables).privacy
    )
    assert with_errors(TINY, {(1, 1): SOME}).privacy.startswith("Protects all values of a person")


def test_before_a_way_of_asking_is_finished_there_is_the_formula() -> None:
    task = study.tasks(TINY, 1)[1]
    assert (task.params.dimension, task.asked, task.coordinate) == ((3,), 1, 0)
    partial = study.collect(TINY, study.work(task).tables)
    assert partial.summary == "No way of asking 12 people is finished yet."
    figures = study.figures(partial)
    assert fig.one_line(figures["error"].figure) == "Error of the means of a person's values"
    curve = figures["told"].figure.data[0]
    np.testing.assert_allclose(curve.y, TINY.told(3) / TINY.told(3).max())


def test_the_figure_has_the_means_beside_the_formula(tiny: Result) -> None:
    data = {trace.name: trace for trace in study.figures(tiny)["error"].figure.data}
    table = study.errors(TINY, tiny.tables["main"]).set_index(["dimension", "asked"])
    means = data["all values"]
    np.testing.assert_allclose(means.y, [table["mean"][1, 1], table["mean"][3, 3]])
    np.testing.assert_allclose(means.x, np.array([1.0, 3.0]) * math.sqrt(study.APART))
    formula = study.bound(TINY, np.array([TINY.told(1)[0], TINY.told(3)[2]]))
    np.testing.assert_allclose(data["all values, by formula"].y, formula)
    least = study.bound(TINY, TINY.told(3))[[0, 2]]
    assert study.figures(tiny)["error"].sentence == (
        f"{tiny.summary} By formula, with the place to ask at known: 1 of 3 values {least[0]:.3g}; "
        f"all 3 values {least[1]:.3g}."
    )
