"""What a published query says: in parts as in one go, and against its reference."""

import dataclasses
import re

import numpy as np
from pandas.testing import assert_frame_equal

from abcdp_core.base.places import EXAMPLES
from abcdp_core.posterior.published import inference, problems, report
from abcdp_core.studies import published_query as study
from tests import results


def test_every_part_is_what_the_command_gives_for_as_many_simulations() -> None:
    """Several rounds, of which one ends in the middle of a part."""
    here = study.tasks(study.Params("linear-regression", 12_001), 1)[0]
    shown, ways = {}, {}
    while here is not None:
        link = study.work(here)
        shown |= dict(list(link.tables["main"].groupby("simulated")))
        ways |= {way.simulated: way for way in link.tables["way"].itertuples()}
        here = link.successor
    assert [*shown] == [*ways] == [4000, 8000, 10_000, 12_001]
    problem = problems.read(EXAMPLES / "linear_regression.toml")
    for simulations in (4000, 12_001):
        whole = dataclasses.replace(problem, draws=simulations, wanted=100_000)
        said, way = inference.infer(whole).summary, ways[simulations]
        main = shown[simulations].drop(columns="simulated")
        assert_frame_equal(main, report.table(said), check_exact=True)
        assert (way.way, way.effective_sample_size) == (said.way, said.effective)


def test_means_are_those_of_the_reference() -> None:
    result = results.changed(study, study.Params("log-linear", 20_000))
    found = result.tables
    (way,) = found["way"].itertuples()
    assert way.way == "weights"
    far = np.abs(found["main"]["mean"] - found["reference"]["mean"]) / found["reference"]["sd"]
    assert float(far.max()) < 6.0 / np.sqrt(way.effective_sample_size)
    (bound,) = re.findall(r"within ([\d.]+) standard", study.from_reference(result))
    assert far.max() <= float(bound) < far.max() + 0.01
