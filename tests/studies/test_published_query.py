"""What a published query says, part after part, and what is said of it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core.places import EXAMPLES
from abcdp_core.published import inference, problems, report
from abcdp_core.results import Result
from abcdp_core.studies import published_query as study
from tests import results


def run(problem: str = "log-linear", simulations: int = 20_000) -> Result:
    return results.changed(study, study.Params(problem, simulations))


@pytest.mark.parametrize(
    ("problem", "simulations"),
    # One round; several rounds, with a short part in the middle and at the end.
    [("linear-regression", 2000), ("linear-regression", 20_001)],
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
        shown |= dict(list(link.tables["main"].groupby("simulated")))
        here = link.successor
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
