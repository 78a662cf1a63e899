"""The comparison of mechanisms: equal privacy, equal data, public choices."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import mechanisms, pool, runner, trials
from abcdp_core.experiments import compare_mechanisms as study
from abcdp_core.experiments import mechanism_posterior
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.privacy import NonPrivate, cost
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture

SMALL = study.Params(
    mechanism=tuple(mechanisms.for_scenario(uniform_mixture)),
    epsilon_total=(1.0, 10.0),
    n=300,
    pool_size=1000,
    runs=4,
)

EVERY = pytest.mark.parametrize("name", SMALL.mechanism)


@functools.cache
def result_of(params: study.Params = SMALL, seed: int = 1) -> Result:
    return runner.run_to_end(study, params, seed)


def task_of(name: str, **changes: object) -> study.Task:
    asked = {"mechanism": name, "epsilon_total": 1.0} | changes
    return study.tasks(dataclasses.replace(SMALL, **asked), 1)[0]  # type: ignore[arg-type]


def released(task: study.Task, run: int = 0) -> Release:
    return study.release(task, study.prepared(task, study.common_options(task)), run)


@EVERY
@pytest.mark.parametrize("sensitivity", ["sharp", "published"])
@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_every_release_costs_the_budget_that_all_are_given(
    name: str, budget: float, sensitivity: str
) -> None:
    task = task_of(name, epsilon_total=budget, sensitivity=sensitivity)
    event = released(task).event
    assert not isinstance(event, NonPrivate)
    promised = mechanisms.load(name).spends(Budget(budget, task.params.delta))
    spent = cost(event, promised.delta)
    assert spent.delta == promised.delta
    assert 0.99 * budget < spent.epsilon <= budget * (1 + 1e-12)


@EVERY
def test_the_published_sensitivity_is_for_mechanisms_with_that_choice(name: str) -> None:
    sharp, published = (
        released(task_of(name, sensitivity=which)).event for which in ("sharp", "published")
    )
    if "sensitivity" not in mechanisms.load(name).takes:
        assert sharp == published
    else:
        ratio = published.sensitivity / sharp.sensitivity  # type: ignore[union-attr]
        assert ratio == pytest.approx(np.sqrt(2.0), rel=1e-6)


def test_thresholds_are_chosen_without_the_data_that_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choices() -> list[object]:
        trials.tried.cache_clear()
        return [study.best_options(task_of(name)) for name in SMALL.mechanism]

    before = choices()
    monkeypatch.setattr(pool, "observed_data", lambda *_: 1 / 0)
    assert choices() == before


def test_the_best_threshold_has_the_lowest_error_of_the_grid_and_is_the_one_scored() -> None:
    tables = result_of().tables
    for (name, budget), part in tables["grid"].groupby(["mechanism", "epsilon_total"]):
        assert part.mse.notna().all() == (len(part) > 1)
        best = part.epsilon_abc[part.mse.fillna(0.0).idxmin()]
        main = tables["main"]
        scored = main[(main.mechanism == name) & (main.epsilon_total == budget)]
        assert np.array_equal(scored.epsilon_abc.unique(), [best], equal_nan=True)
    thresholds = tables["common"].epsilon_abc
    assert thresholds.dropna().unique().tolist() == [SMALL.epsilon_abc]
    without = set(tables["common"].mechanism[thresholds.isna()])
    assert without == {n for n in SMALL.mechanism if "epsilon_abc" not in mechanisms.load(n).takes}


def test_where_there_is_nothing_to_choose_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.PublicSide, "simulated", lambda *_: 1 / 0)
    trials.tried.cache_clear()
    without = [name for name in SMALL.mechanism if name in set(single_settings())]
    assert {"noisy-counts", "private-embedding", "nearest-selection"} <= set(without)
    for name in without:
        assert study.best_options(task_of(name)) == study.common_options(task_of(name))
    with pytest.raises(ZeroDivisionError):
        study.best_options(task_of("sparse-vector"))


def single_settings() -> list[str]:
    """Mechanisms with nothing to choose."""
    grid = result_of().tables["grid"]
    rows = grid.groupby(["mechanism", "epsilon_total"]).size()
    return list(rows[rows == 1].index.get_level_values("mechanism"))


def test_more_runs_leave_the_first_ones_as_they_were() -> None:
    more = result_of(dataclasses.replace(SMALL, runs=6)).tables["main"]
    first = more[more.run < 4].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, result_of().tables["main"])


@pytest.mark.parametrize("params", [SMALL, dataclasses.replace(study.PRESETS["units"], runs=4)])
def test_no_task_has_many_runs_and_in_which_ones_they_are_done_changes_nothing(
    params: study.Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers finish what they have begun, be its visitor long gone."""
    assert max(task.count for task in study.tasks(dataclasses.replace(params, runs=1000), 1)) == 20
    params = dataclasses.replace(params, epsilon_total=(1.0,), pool_size=1000)
    whole = result_of(params)
    monkeypatch.setattr(study, "CHUNK", 3)
    parts = runner.run_to_end(study, params, 1)
    assert parts.total == 2 * whole.total
    for name, table in whole.tables.items():
        keys = [key for key in ("mechanism", "run", "epsilon_abc", "parameter") if key in table]
        ordered = (
            each.sort_values(keys, kind="stable", ignore_index=True)
            for each in (parts.tables[name], table)
        )
        pd.testing.assert_frame_equal(*ordered)


def test_errors_are_those_of_the_means() -> None:
    task = task_of("sparse-vector")
    release = released(task, run=2)
    theta = study.trial(task, 2).public.theta
    mean = theta[release.indices].mean(axis=0)
    row = (
        result_of()
        .tables["common"]
        .query("mechanism == 'sparse-vector' and epsilon_total == 1.0 and run == 2")
    )
    assert row.mae.iloc[0] == pytest.approx(np.abs(mean - uniform_mixture.TRUTH).mean())


def test_the_mean_of_what_is_no_sample() -> None:
    theta, prior = np.arange(10.0).reshape(2, 5), uniform_mixture.PRIOR_MEAN
    event = NonPrivate()
    none = np.empty(0, dtype=np.int64)
    estimate = np.full(5, 0.3)
    assert Release(none, np.empty(0), 2, event, estimate).mean(theta, prior) is estimate
    empty = Release(none, np.empty(0), 2, event).mean(theta, prior)
    assert np.array_equal(empty, uniform_mixture.PRIOR_MEAN)
    moved = Release(np.array([0, 1]), np.array([0.25, 0.75]), 2, event, samples=theta + 1.0)
    assert moved.mean(theta, prior) == pytest.approx(0.25 * theta[0] + 0.75 * theta[1] + 1.0)


def test_at_a_large_pool_what_pays_once_is_ahead() -> None:
    params = study.Params(epsilon_total=(1.0,), runs=10, mechanism=study.PUBLISHED_OR_EMBEDDED)
    means = result_of(params).tables["main"].groupby("mechanism").mse.mean()
    assert means["embedding-estimate"] < 0.2 * means["sparse-vector"]
    assert means["sparse-vector"] < 0.5 * means["soft-weights"]
    assert means["soft-weights"] < means["gaussian-rejection"]


@EVERY
def test_the_posterior_is_the_release_that_the_comparison_scores(name: str) -> None:
    params = mechanism_posterior.Params(mechanism=name, n=300, pool_size=1000, epsilon_total=1.0)
    errors = runner.run_to_end(mechanism_posterior, params, seed=1).tables["errors"]
    row = (
        result_of()
        .tables["main"]
        .query(f"mechanism == '{name}' and epsilon_total == 1.0 and run == 0")
    )
    private = errors[errors.release == "private"]
    assert private.mse.iloc[0] == pytest.approx(row.mse.iloc[0], rel=1e-12)
    assert private.epsilon_abc.iloc[0] == pytest.approx(row.epsilon_abc.iloc[0], nan_ok=True)


@EVERY
def test_shares_of_the_samples_add_up(name: str) -> None:
    params = mechanism_posterior.Params(mechanism=name, n=300, pool_size=1000, epsilon_total=10.0)
    main = runner.run_to_end(mechanism_posterior, params, seed=1).tables["main"]
    for (_, _), part in main.groupby(["release", "parameter"]):
        assert part.weight.sum() == pytest.approx(1.0)


EMPTY = study.Params(
    mechanism=("sparse-vector", "gaussian-rejection", "embedding-estimate"),
    epsilon_total=(1000.0,), epsilon_abc=0.001, n=300, pool_size=20, c=1, runs=3,
)  # fmt: skip


def test_runs_that_accepted_nothing_are_counted_and_their_marks_are_open() -> None:
    result = result_of(EMPTY)
    common = result.tables["common"]
    empty = common.groupby("mechanism").accepted.apply(lambda accepted: (accepted == 0).mean())
    assert empty["sparse-vector"] == empty["gaussian-rejection"] == 1.0
    drawn = {trace.name: trace for trace in study.figures(result)["common"].figure.data}
    assert drawn["sparse vector"].marker.symbol[0].endswith("-open")
    assert not drawn["embedding estimate"].marker.symbol[0].endswith("-open")
    main = result.tables["main"].assign(accepted=lambda rows: rows.accepted * 0)
    counted = study.summary(
        dataclasses.replace(result, tables={**result.tables, "main": main}), "mse"
    )
    assert "6 runs of 6 accepted nothing" in counted
    shares = (
        study.summary_table(main, {"mse": "mse", "mae": "mae"}).set_index("mechanism").empty_share
    )
    assert shares.to_dict() == {
        "sparse-vector": 1.0,
        "gaussian-rejection": 1.0,
        "embedding-estimate": 0.0,
    }


def test_a_released_estimate_has_no_number_of_accepted_draws() -> None:
    main = result_of().tables["main"]
    missing = main.accepted.isna()
    values = {name for name in SMALL.mechanism if not mechanisms.load(name).sample}
    assert "embedding-estimate" in values
    assert set(main.mechanism[missing]) == values
    assert not missing[~main.mechanism.isin(values)].any()


def test_the_summary_table_is_what_the_figure_shows() -> None:
    result = result_of()
    table = result.tables["summary"].query("mechanism == 'sparse-vector'")
    (line,) = [t for t in study.figures(result)["mse"].figure.data if t.name == "sparse vector"]
    assert line.y.tolist() == table.sort_values("epsilon_total").mse.tolist()
    main = result.tables["main"].query("mechanism == 'sparse-vector'")
    assert table.mae.tolist() == pytest.approx(main.groupby("epsilon_total").mae.mean().tolist())


def test_one_run_is_said_in_the_singular() -> None:
    result = result_of(dataclasses.replace(SMALL, mechanism=("sparse-vector",), runs=1))
    assert "over 1 run of each:" in result.summary
    assert ", 1 run of each" in study.figures(result)["mse"].figure.layout.title.subtitle.text


# ---------------------------------------------------------------------------------------- figures


def one_budget() -> Result:
    return result_of(dataclasses.replace(SMALL, epsilon_total=(1.0,)))


def with_errors(prior: float, **errors: float) -> Result:
    """One run of each, with errors that are given; names with _ for a hyphen."""
    rows = [
        {"mechanism": name.replace("_", "-"), "epsilon_total": 1.0, "c": 10, "run": 0, "mae": mae}
        for name, mae in errors.items()
    ]
    before = pd.DataFrame({"run": [0], "mae": [prior]})
    tables = {"main": pd.DataFrame(rows), "prior": before}
    return Result(study.EXPERIMENT, SMALL, tables, "", "")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (
            {"noisy_counts": 0.01, "sparse_vector": 0.05, "soft_weights": 0.12},
            "Noisy counts is nearest; sparse vector: 5 times its error",
        ),
        (
            {"sparse_vector": 0.02, "soft_weights": 0.05, "noisy_counts": 0.04},
            "Sparse vector is nearest; soft weights: 2.5 times its error",
        ),
        (
            {"noisy_counts": 0.05, "sparse_vector": 0.052},
            "Noisy counts and sparse vector have about the same error",
        ),
        ({"sparse_vector": 0.025}, "Sparse vector: 25 % of the prior's error"),
        (
            {"sparse_vector": 0.1, "soft_weights": 0.11},
            "No mechanism is clearly better than the prior",
        ),
        ({"sparse_vector": np.nan}, "Nobody knows the true parameters, so there is no error"),
    ],
)
def test_the_title_is_what_the_errors_say(errors: dict[str, float], words: str) -> None:
    assert study.finding(with_errors(0.1, **errors), "mae") == words


def test_at_one_budget_mechanisms_stand_in_rows_the_best_on_top() -> None:
    result = one_budget()
    figure = study.figures(result)["mae"].figure
    means = result.tables["main"].groupby("mechanism").mae.mean().sort_values()
    names = [text.replace("<br>", " ") for text in figure.layout.yaxis.ticktext]
    assert names == [f"{fig.called(name)} {value:.2g}" for name, value in means.items()]
    marks = {trace.name: (float(trace.x[0]), float(trace.y[0])) for trace in figure.data}
    for row, (name, value) in enumerate(means.items()):
        assert marks[fig.called(str(name))] == (pytest.approx(value), row)
    fixed = study.figures(one_budget())["mae"].figure.layout.xaxis
    assert list(fixed.tickvals) == [0.002, 0.02, 0.2]


def test_rows_wait_for_mechanisms_that_have_no_result_yet() -> None:
    result = one_budget()
    first = SMALL.mechanism[0]
    part = {
        name: table[table.mechanism == first] if "mechanism" in table else table
        for name, table in result.tables.items()
    }
    figure = study.figures(dataclasses.replace(result, tables=part))["mae"].figure
    assert len(figure.layout.yaxis.ticktext) == len(SMALL.mechanism)
    assert [trace.name for trace in figure.data] == [fig.called(first)]
    assert figure.layout.yaxis.ticktext[-1].endswith("…")
    # One of those may be the nearest.
    assert figure.layout.title.text.startswith("So far: ")
    whole = study.figures(result)["mae"].figure.layout.title.text
    assert not whole.startswith("So far")


def test_the_chosen_mechanism_stands_out_and_the_figure_stays_as_it_was() -> None:
    drawn = study.figures(one_budget())["mae"]
    chosen = study.choose(drawn, "private-embedding")
    sizes = {trace.name: trace.marker.size for trace in chosen.figure.data}
    assert sizes.pop("private embedding") > max(sizes.values())
    assert len({trace.marker.size for trace in drawn.figure.data}) == 1


def test_against_the_budget_lines_have_their_names_at_their_ends() -> None:
    figure = study.figures(result_of())["mae"].figure
    ends = " ".join(figure.layout.yaxis2.ticktext).replace("<br>", " ")
    assert all(fig.called(name) in ends for name in SMALL.mechanism)
    assert not figure.layout.showlegend
    places = np.array(figure.layout.yaxis2.tickvals)
    assert (np.diff(places) > 0.0).all()


# ---------------------------------------------------------------------------------------- units


UNITS = dataclasses.replace(
    study.PRESETS["units"],  # type: ignore[type-var]
    epsilon_total=(1.0, 1000.0),
    pool_size=2000,
    runs=12,
)


def test_the_same_data_cost_little_or_everything_as_the_unit_decides() -> None:
    result = result_of(UNITS)
    assert result.summary.startswith("The unit decides: at ε_total = 1 the error is ")
    assert "with one patient protected" in result.summary
    assert "with one outbreak; the prior mean's is" in result.summary
    for unit in ("Protects one patient", "Protects one outbreak"):
        assert unit in result.privacy
    assert "is left out or added" in result.privacy
    assert "is replaced by any other" in result.privacy
    for figure in study.figures(result).values():
        assert figure.figure.layout.title.text.startswith("The unit decides")


@pytest.mark.parametrize(
    ("large", "words"),
    [
        (0.9, "The unit decides: at ε_total = 1 the error is 0.5 with one patient protected, 0.9"),
        (0.6, "The unit matters little"),
        (0.501, "No difference between the units is seen"),
    ],
)
def test_how_much_the_unit_decides_is_measured(large: float, words: str) -> None:
    result = result_of(UNITS)
    main = result.tables["main"].assign(mae_scaled=0.5)
    noise = 0.01 * (-1.0) ** main.run
    main.loc[main.mechanism == study.UNITS[1], "mae_scaled"] = large + noise
    prior = result.tables["prior"].assign(mae_scaled=1.0)
    changed = dataclasses.replace(result, tables={**result.tables, "main": main, "prior": prior})
    assert study.unit_finding(changed, "mae_scaled").startswith(words)
    # Half a result says nothing of units, and neither do other mechanisms.
    half = {**result.tables, "main": main[main.mechanism == study.UNITS[0]]}
    assert study.unit_finding(dataclasses.replace(changed, tables=half), "mae_scaled") == ""
    assert study.unit_finding(result_of(), "mae") == ""


def test_published_data_are_marked_with_the_error_that_their_posterior_expects() -> None:
    result = result_of(UNITS)
    table = result.tables["published"]
    assert len(table) == 2 * 2 * 4
    assert (table.low < table["mean"]).all()
    assert (table["mean"] < table.high).all()
    # Half of a 90 % interval is more than a mean distance, and a mean distance than no distance.
    assert (table.mae < table.high - table.low).all()
    expected = table.groupby(["mechanism", "epsilon_total"]).mae_scaled.mean()
    assert expected[study.UNITS[0], 1.0] < 0.8 * expected[study.UNITS[1], 1.0]
    drawn = {trace.name: trace for trace in study.figures(result)["mae"].figure.data}
    mark = drawn["San Francisco, one patient protected: what its posterior expects"]
    assert list(mark.y) == expected[study.UNITS[0]].tolist()
    # Data that are drawn at a known truth are no published ones.
    assert result_of().tables["published"].empty


def test_the_summary_table_has_the_errors_that_are_shown_where_units_differ() -> None:
    tables = result_of(UNITS).tables
    of = tables["main"].groupby(["mechanism", "epsilon_total"]).mae_scaled.mean()
    for row in tables["summary"].itertuples():
        assert row.mae == pytest.approx(of[row.mechanism, row.epsilon_total])
