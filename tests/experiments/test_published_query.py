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
from abcdp_core.places import EXAMPLES
from abcdp_core.published import inference, problems, report
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
    whole = problems.read(EXAMPLES / f"{problem.replace('-', '_')}.toml")
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


def test_means_are_those_of_the_reference() -> None:
    found = run().tables
    (way,) = found["way"].itertuples()
    assert way.way == "weights"
    far = np.abs(found["main"]["mean"] - found["reference"]["mean"]) / found["reference"]["sd"]
    assert float(far.max()) < 6.0 / np.sqrt(way.effective_sample_size)
    (bound,) = re.findall(r"No mean is more than ([\d.]+) standard", study.from_reference(run()))
    assert far.max() <= float(bound) < far.max() + 0.01


def test_an_approximation_is_called_one() -> None:
    assert study.headline(run()).startswith("5 parameters from 8 noisy numbers: 90 % intervals ")
    assert "an approximation" in run("log-linear", 2000).summary


def test_a_misfit_is_told_first() -> None:
    (way,) = run().tables["way"].itertuples()
    assert way.p_value > 0.01
    assert run().summary.endswith(way.fit)
    misfit = run().tables["way"].assign(p_value=0.001, fit="It does not fit.")
    result = dataclasses.replace(run(), tables=run().tables | {"way": misfit})
    assert study.figures(result)[study.EXPERIMENT].sentence.startswith("It does not fit. By ")


@pytest.mark.parametrize(
    ("problem", "differ"), [("log-linear", ""), ("linear-regression", "1 of its 6"),
    ("sir-epidemic", "2 of its 4")],
)  # fmt: skip
def test_it_says_where_the_publishers_own_reference_differs(problem: str, differ: str) -> None:
    # What was released is known without simulations.
    rows = {name: run("log-linear", 2000).tables[name] for name in ("main", "way")}
    result = study.collect(study.Params(problem), rows)
    assert result.privacy.startswith("Costs no privacy budget: nothing private was read.")
    assert study.released_in_words(result)
    said = study.sample_in_words(result)
    assert said.removeprefix("They also publish a reference sample: ").startswith(differ)
    assert bool(said) == bool(differ)
