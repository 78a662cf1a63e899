from __future__ import annotations

import pandas as pd
import pytest

from abcdp_core.experiments import many_releases


@pytest.mark.parametrize(
    ("accepted", "c", "words"),
    [
        ([10, 10], 10, "Each accepted c = 10 draws."),
        ([1, 1], 1, "Each accepted c = 1 draw."),
        ([1], 1, "It accepted c = 1 draw."),
        ([0, 0], 5, "None accepted a draw, so the estimate is the prior mean."),
        ([3], 5, "It accepted 3 of c = 5 draws."),
        ([0, 7], 9, "They accepted 0 to 7 of the c = 9 draws asked for."),
    ],
)
def test_what_was_accepted_in_words(accepted: list[int], c: int, words: str) -> None:
    assert many_releases._accepted(pd.Series(accepted), c) == words


def errors(*mae: float) -> pd.DataFrame:
    return pd.DataFrame({"mae": mae})


def test_one_release_has_no_spread() -> None:
    words = many_releases._spread(errors(0.115))
    assert words.endswith("1 release of the same data the mean absolute error of the posterior "
                          "mean is 0.115.")  # fmt: skip
    assert many_releases._spread(errors(float("nan"))).startswith("1 release of the same data, of")


def test_few_releases_have_ends_and_many_have_quantiles() -> None:
    assert "all lie between 0.1 and 0.3" in many_releases._spread(errors(0.1, 0.2, 0.3))
    many = errors(*(i / 100.0 for i in range(101)))
    assert "90 % lie between 0.05 and 0.95" in many_releases._spread(many)
    same = many_releases._spread(errors(0.128, 0.128, 0.128))
    assert same.endswith("of the posterior mean is 0.128 in all of them.")


def test_the_cost_of_all_is_a_number_a_person_can_read() -> None:
    assert many_releases._together(1, 0.5) == ""
    assert many_releases._together(30, 1000.0) == " All 30 together would cost ε_total = 30,000."
    assert many_releases._together(200, 0.001).endswith("ε_total = 0.2.")
