"""What two pages show when nothing was moved: a difference of about two times, or why not.

Of Posterior and Flip probability, every view. The settings are those of the pages; the distances
come with the program, so that no large pool is made.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from abcdp_core import experiments, flips, runner
from abcdp_core.experiments import flip_probability
from abcdp_core.experiments.change_one_person import views
from abcdp_core.results import Result
from tools import first_view

LARGE = 1.5


def found(name: str, **changes: Any) -> Result:
    study = experiments.load(name)
    params = experiments.with_values(study.Params(), epsilon_total=first_view.BUDGET, **changes)
    return runner.run_to_end(study, params, first_view.SEED)


@pytest.mark.parametrize("name", ["posterior", "many-releases", "synthetic-data"])
def test_the_title_has_a_factor(name: str) -> None:
    drawn = next(iter(experiments.load(name).figures(found(name)).values()))
    factor = re.search(r"([\d.]+) times the \w+ without noise", drawn.figure.layout.title.text)
    assert factor is not None, drawn.figure.layout.title.text
    says_why = "sets differ even without noise" in drawn.sentence
    assert float(factor[1]) >= LARGE or says_why


def test_one_person_makes_no_difference_and_the_page_says_why() -> None:
    result = found("change-one-person", pool_size=300)
    why = views.bound_in_words(result)
    used = re.search(r"this one uses ([\d.]+) % of ε_total", why)
    assert used is not None
    assert float(used[1]) <= 100.0
    assert why.startswith("The bound holds for every data set and every such change")


def test_noise_lets_in_more_than_are_close() -> None:
    # A smaller pool has the same base rates.
    result = found("flip-probability", pool_size=500, draws=10)
    counts = flips.counts_of(result.tables["base_rates"])
    assert counts.let_in > LARGE * (counts.close - counts.lost)
    title = flip_probability.figures(result)["flip-probability"].figure.layout.title.text
    assert title.startswith("Noise would wrongly keep")
