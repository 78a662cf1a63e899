"""What is said and drawn of a posterior."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior.fit import Edge, Fit, Number
from abcdp_core.posterior.outcome import Moments, Summary, moments
from abcdp_core.published import problems, report

PRIOR = Moments(*(np.array(each) for each in ([0.0] * 3, [1.0] * 3, [-1.6] * 3, [1.6] * 3)))
THETA = np.array([[0.0, 10.0, -1.0], [1.0, 30.0, -1.0], [2.0, 20.0, -1.0]])
WEIGHTS = np.array([0.5, 0.25, 0.25])
FITS = Fit(0.4, (), 0.4, 1.0, (), np.array([[-1.0] * 9, [0.0] * 9, [1.0] * 9]))
MISFIT = dataclasses.replace(FITS, p_value=0.002, numbers=(Number("x1", "high", 1e-4),))
FOUND = Summary(("β0", "β1", "β2"), moments(THETA, WEIGHTS), PRIOR, "weights", 2500.0, 30_000)
PROBLEM = problems.read(EXAMPLES / "linear_regression.toml")


def test_the_sentence_has_means_to_two_digits_of_their_spread() -> None:
    said = report.sentence(PROBLEM, FOUND)
    assert said == (
        "Posterior mean ± standard deviation: β0 0.75 ± 0.83, β1 17.5 ± 8.3, β2 \u22121. "
        "By importance weights (effective sample size 2,500 of 30,000 simulations). "
        "Costs no privacy budget: nothing private was read."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"effective": 700.0}, "sample size 700 of 30,000 simulations; 2,000 were wanted)."),
        ({"effective": 700.0, "simulated": 1}, "700 of 1 simulation; 2,000 were wanted)."),
        ({"failed": 1}, "30,000 simulations). 1 simulation failed. Costs"),
        ({"effective": 7.0, "way": "regression"}, "By a regression, an approximation: importance "
         "weights do not carry (effective sample size 7 of 30,000 simulations). Costs"),
        ({"effective": 7.0, "way": "nearest"}, "By the nearest draws, an approximation:"),
        ({"way": "regression", "differ": True}, "Two of them differ; the wider is shown. Costs"),
        ({"fit": FITS}, "30,000 simulations). The model makes such numbers (p = 0.40)"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_was_missed(changes: dict[str, object], words: str) -> None:
    assert words in report.sentence(PROBLEM, dataclasses.replace(FOUND, **changes))  # type: ignore[arg-type]


def test_a_misfit_is_said_first_and_a_remark_last() -> None:
    edges = (Edge("β1", "upper", 0.4),)
    found = dataclasses.replace(FOUND, fit=dataclasses.replace(MISFIT, edges=edges))
    said = report.finding(PROBLEM, found)
    assert said.startswith("The model hardly ever makes such numbers (p = 0.002): x1 is higher")
    assert said.endswith("upper end for β1: the data may ask for more than the prior allows.")
    drawn = report.fit_figure(PROBLEM, found)
    assert fig.one_line(drawn.figure) == "The model hardly ever makes such numbers"
    assert drawn.sentence.startswith("The model hardly ever makes such numbers (p = 0.002)")
    found = dataclasses.replace(FOUND, fit=FITS)
    assert fig.one_line(report.fit_figure(PROBLEM, found).figure) == "The model makes such numbers"
