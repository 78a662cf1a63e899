"""The gradient beside a posterior: what each title and sentence says, and the bound."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import runner
from abcdp_core.experiments import online_gradient as study
from abcdp_core.results import Result

TINY = study.Params(n=20, particles=20, runs=2, method=("smc", "gradient", "grid"))


@pytest.fixture(scope="module")
def tiny() -> Result:
    return runner.run_to_end(study, TINY, 1)


def with_errors(params: study.Params, errors: dict[str, list[float]]) -> Result:
    rows = [
        (method, run, params.n, params.mu, params.sigma, error, 2.0 * error)
        for method, each in errors.items()
        for run, error in enumerate(each)
    ]
    cost = [(method, run, 0.02) for method, each in errors.items() for run, _ in enumerate(each)]
    tables = {
        "main": pd.DataFrame(rows, columns=list(study.COLUMNS["main"])),
        "cost": pd.DataFrame(cost, columns=list(study.COLUMNS["cost"])),
    }
    return study.collect(params, tables)


SOME, MANY = [0.10, 0.11, 0.12], [0.50, 0.55, 0.60]


@pytest.mark.parametrize(
    ("errors", "title"),
    [
        ({"smc": SOME, "gradient": MANY},
         "After 20 people the error of μ with gradient is 5 times that with smc"),
        ({"smc": MANY, "gradient": SOME},
         "After 20 people the error of μ with smc is 5 times that with gradient"),
        ({"smc": SOME, "gradient": SOME},
         "After 20 people no clear difference between the errors of μ"),
        ({"smc": [0.1], "gradient": [0.9]},
         "After 20 people no clear difference between the errors of μ"),
        ({"gradient": SOME}, "Error of μ"),
    ],
)  # fmt: skip
def test_the_title_says_what_is_found(errors: dict[str, list[float]], title: str) -> None:
    params = dataclasses.replace(TINY, method=("smc", "gradient"))
    assert study.finding(with_errors(params, errors), "mu") == title


def test_a_study_without_one_of_the_two_has_no_finding() -> None:
    for method in (("gradient",), ("smc", "grid")):
        params = dataclasses.replace(TINY, method=method)
        result = with_errors(params, dict.fromkeys(method, SOME))
        assert study.finding(result, "mu") == "Error of μ"


def test_the_sentences_have_the_mean_errors_and_times(tiny: Result) -> None:
    main = tiny.tables["main"]
    last = main[main.t == 20]
    for method, part in last.groupby("method"):
        assert f"{method} {part.error_mu.mean():.3g} (" in tiny.summary
    least = study.bound(TINY, "mu", np.array([20]))[0]
    assert tiny.summary.endswith(f"from so many answers alone is about {least:.3g} off.")
    sentence = study.figures(with_errors(TINY, {"smc": SOME}))["error-mu"].sentence
    assert sentence.startswith("Mean absolute error of μ (95 % interval) after 20 people: smc 0.11")
    assert sentence.endswith("A person takes 1 ms with smc of this computer's time.")


def test_errors_are_distances_of_the_estimates(tiny: Result) -> None:
    main = tiny.tables["main"]
    np.testing.assert_allclose(main.error_mu, (main.mean_mu - TINY.mu).abs())
    np.testing.assert_allclose(main.mean_sigma, TINY.sigma)
    assert sorted(set(main.t)) == TINY.times().tolist()
    assert TINY.times()[[0, -1]].tolist() == [10, 20]


def test_sigma_has_a_figure_where_it_is_learnt(tiny: Result) -> None:
    assert set(study.figures(tiny)) == {"error-mu"}
    unknown = dataclasses.replace(TINY, known_sigma=False, channel="sign", method=("gradient",))
    drawn = study.figures(with_errors(unknown, {"gradient": SOME}))
    assert set(drawn) == {"error-mu", "error-sigma"}
    assert "gradient 0.22 (0.2 to 0.24); the answers tell nothing about it." in (
        drawn["error-sigma"].sentence
    )
    lines = [[t.name for t in drawn[f"error-{name}"].figure.data] for name in ("mu", "sigma")]
    assert ["all information used" in names for names in lines] == [True, False]
    assert fig.one_line(drawn["error-sigma"].figure) == "Error of σ"


def test_the_bound_of_a_sign() -> None:
    params = dataclasses.replace(TINY, channel="sign", epsilon_total=2.0)
    told = 2.0 / math.pi * math.tanh(1.0) ** 2
    expected = params.sigma * math.sqrt(2.0 / math.pi / (told * 50))
    assert study.bound(params, "mu", np.array([50]))[0] == pytest.approx(expected)
