"""Sentences and figures of a posterior from a published query."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core.base.places import EXAMPLES
from abcdp_core.posterior.fit import Edge, Fit, Number
from abcdp_core.posterior.outcome import Moments, Posterior, Summary, moments
from abcdp_core.posterior.published import problems, report

PRIOR = Moments(*(np.array(each) for each in ([0.0] * 3, [1.0] * 3, [-1.6] * 3, [1.6] * 3)))
THETA = np.array([[0.0, 10.0, -1.0], [1.0, 30.0, -1.0], [2.0, 20.0, -1.0]])
WEIGHTS = np.array([0.5, 0.25, 0.25])
FITS = Fit(0.4, (), 0.4, 1.0, (), np.array([[-1.0] * 9, [0.0] * 9, [1.0] * 9]))
MISFIT = dataclasses.replace(FITS, p_value=0.002, numbers=(Number("x1", "high", 1e-4),))
FOUND = Summary(("β0", "β1", "β2"), moments(THETA, WEIGHTS), PRIOR, "weights", 2500.0, 30_000)
PROBLEM = problems.read(EXAMPLES / "linear_regression.toml")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # Means to two digits of their spread.
        ({}, "deviation: β0 0.75 ± 0.83, β1 17.5 ± 8.3, β2 \u22121. Computed by importance samp"),
        ({"failed": 1}, "30,000 draws). 1 draw failed. This"),
        ({"effective": 7.0, "way": "nearest"}, "Computed from nearest draws, which is"),
        ({"way": "regression", "differ": True}, "Two regressions differ; the wider result is sh"),
        ({"fit": FITS}, f"30,000 draws). {FITS.statement}"),
    ],
)
def test_the_sentence_says_how_the_posterior_was_computed(changes: Any, words: str) -> None:
    assert words in report.sentence(PROBLEM, dataclasses.replace(FOUND, **changes))


def test_a_misfit_comes_first_and_a_remark_last() -> None:
    fit = dataclasses.replace(MISFIT, edges=(Edge("β1", "upper", 0.4),))
    found = dataclasses.replace(FOUND, fit=fit)
    said = report.finding(PROBLEM, found)
    assert said.startswith(fit.statement)
    assert said.endswith(fit.remarks[-1])
    drawn = report.fit_figure(PROBLEM, found)
    assert fig.one_line(drawn.figure) == "The model hardly ever makes such numbers"
    assert drawn.sentence.startswith(fit.statement)


@pytest.mark.parametrize(
    ("way", "effective"), [("regression", 300.0), ("nearest", 1.0), ("weights", 49.0)]
)
def test_an_estimate_is_not_given_where_the_model_is_refused_and_few_draws_carry_it(
    way: Any, effective: float
) -> None:
    fit = dataclasses.replace(MISFIT, p_value=0.0005)
    found = dataclasses.replace(FOUND, fit=fit, way=way, effective=effective)
    said = report.sentence(PROBLEM, found)
    assert "Posterior mean" not in said
    assert "No estimate is shown" in said
    table = report.table(found)
    assert table[["mean", "sd", "low", "high"]].isna().all(axis=None)
    assert table[["prior_mean", "prior_low"]].notna().all(axis=None)
    assert len(report.draws(Posterior(found, THETA, WEIGHTS, THETA, ()))) == 0
    names = {trace.name for trace in report.figure(PROBLEM, found).figure.data}
    assert "posterior" not in names
    assert "posterior" in {trace.name for trace in report.figure(PROBLEM, FOUND).figure.data}
