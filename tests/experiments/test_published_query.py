"""What a published query says, part after part, and what is said of it."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import runner
from abcdp_core.experiments import published_query as study
from abcdp_core.parameters import ParameterError
from abcdp_core.published import inference, problems, reference, report
from abcdp_core.results import Result


@functools.cache
def run(problem: str = "log-linear", simulations: int = 50_000) -> Result:
    return runner.run_to_end(study, study.Params(problem, simulations), seed=1)


@pytest.mark.parametrize(
    ("problem", "simulations"),
    # One round; a short part in the middle and at the end; several rounds.
    [("linear-regression", 2000), ("log-linear", 20_001), ("log-linear", 33_333)],
)
def test_parts_give_what_the_command_gives_in_one_go(problem: str, simulations: int) -> None:
    whole = problems.read(reference.EXAMPLES / f"{problem.replace('-', '_')}.toml")
    whole = dataclasses.replace(whole, draws=simulations, wanted=100_000)
    posterior = inference.infer(whole)
    found = run(problem, simulations).tables
    assert_frame_equal(
        found["main"].drop(columns="simulated"), report.table(posterior.summary), check_exact=True
    )
    (way,) = found["way"].itertuples()
    said = posterior.summary
    assert (way.way, way.effective_sample_size) == (said.way, said.effective)
    assert way.simulated == said.simulated == simulations


def test_what_is_shown_on_the_way_is_the_posterior_by_fewer_simulations() -> None:
    here, shown = study.tasks(study.Params("linear-regression", 25_000), 1)[0], {}
    while here is not None:
        link = study.work(here)
        for simulations, table in link.tables["main"].groupby("simulated"):
            assert simulations not in shown
            shown[simulations] = table
        here = link.successor  # type: ignore[assignment]
    assert [*shown] == [4000, 8000, 10_000, 20_000, 25_000]
    for simulations in (4000, 20_000):
        exact = run("linear-regression", simulations).tables["main"]
        assert_frame_equal(shown[simulations], exact, check_exact=True)


def test_an_epidemic_is_simulated_in_many_parts() -> None:
    (task,) = study.tasks(study.Params("sir-epidemic"), 1)
    assert task.links == 100
    assert task.problem.wanted > task.problem.draws, "no effective sample size ends it early"
    first = study.work(task)
    assert first.successor.done == 1
    assert first.tables["way"].simulated.tolist() == [500]
    result = study.collect(task.params, first.tables)
    assert result.summary
    assert study.figures(result)
    second = study.work(first.successor)
    assert second.tables["way"].simulated.tolist() == [1000]
    assert not len(study.work(second.successor).tables["way"]), "not twice as many draws"


def test_means_are_those_of_the_reference() -> None:
    found = run().tables
    (way,) = found["way"].itertuples()
    assert way.way == "weights"
    far = np.abs(found["main"]["mean"] - found["reference"]["mean"]) / found["reference"]["sd"]
    assert float(far.max()) < 6.0 / np.sqrt(way.effective_sample_size)
    (bound,) = re.findall(r"No mean is further than ([\d.]+) standard", study.from_reference(run()))
    assert far.max() <= float(bound) < far.max() + 0.01


def test_the_title_says_how_wide_and_by_which_way() -> None:
    share = 100.0 * study.width_share(run().tables["main"])
    assert study.headline(run()) == (
        f"5 parameters from 8 noisy numbers: 90 % intervals {share:.0f} % as wide as the prior's"
    )
    assert study.headline(run("log-linear", 2000)).startswith("Weights do not carry; an approx")
    assert "an approximation" in run("log-linear", 2000).summary


def test_whether_the_model_fits_is_told_and_a_misfit_first() -> None:
    (way,) = run().tables["way"].itertuples()
    assert way.p_value > 0.01
    assert run().summary.endswith(way.fit)
    assert way.fit.startswith("The model makes such numbers (p = ")
    misfit = run().tables["way"].assign(p_value=0.001, fit="It does not fit.")
    said = study._said(study._said_of(run().params), run().tables | {"way": misfit})
    assert said.startswith("It does not fit. Posterior mean")


def test_nothing_is_said_of_what_nobody_asked_for() -> None:
    for simulations in (2000, 50_000):
        result = run("log-linear", simulations)
        (drawn,) = study.figures(result).values()
        assert "wanted" not in result.summary + drawn.sentence


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("log-linear", "Eight counts of two binary features in two classes of 100 people. Noise: "),
        ("linear-regression", "Noise: Laplace noise of scale 0.13. Released by Xiong"),
        ("sir-epidemic", "Noise: a random sample of 1,000 people, 10,000 added to either side."),
    ],
)
def test_it_says_what_was_released_and_that_nothing_is_spent(problem: str, words: str) -> None:
    # What was released is known without simulations.
    result = dataclasses.replace(run("log-linear", 2000), params=study.Params(problem))
    assert words in study.released_in_words(result)
    assert result.privacy.startswith("Costs no privacy budget: nothing private was read.")
    assert "ε_total = 1 for one person replaced by another, as stated" in result.privacy


def test_too_few_simulations_are_refused() -> None:
    with pytest.raises(ParameterError, match="simulations = 1999"):
        study.Params("log-linear", 1999)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("log-linear", ""),
        (
            "linear-regression",
            "With it they publish a reference sample, of which 250 draws were compared with the "
            "reference here, and it differs by more than 4 standard errors: its mean of β2 is "
            "0.925, not 1.25.",
        ),
        (
            "sir-epidemic",
            "With it they publish a reference sample, of which 250 draws were compared with the "
            "reference here, and it differs by more than 4 standard errors: its mean of log β is "
            "-0.555, not -0.517; its standard deviation of log γ is 0.104, not 0.0349.",
        ),
    ],
)
def test_it_says_where_the_publishers_own_reference_differs(problem: str, words: str) -> None:
    result = run("log-linear", 2000)
    tables = study._published(study._said_of(study.Params(problem)))
    result = dataclasses.replace(result, tables=result.tables | tables)
    assert study.sample_in_words(result) == words
    same = tables["sample"].assign(mean_standard_errors=-4.0, sd_standard_errors=4.0)
    result = dataclasses.replace(result, tables=result.tables | {"sample": same})
    nothing = ": no mean and no standard deviation differs by more than 4 standard errors."
    assert study.sample_in_words(result) == words.partition(", and it")[0] + nothing * bool(words)
