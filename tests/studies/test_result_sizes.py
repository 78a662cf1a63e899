"""No settings that a link may ask for make a result that does not fit into memory."""

from __future__ import annotations

import pytest

from abcdp_core import parameters, runner, studies
from abcdp_core.parameters import ParameterError


@pytest.mark.parametrize("name", ["covid-fit", "tuberculosis-posterior"])
def test_what_would_fill_the_memory_is_refused_and_the_bound_is_the_rows_there_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At c = 1000 and 1000 runs these had 70 million rows and took 15 GB."""
    experiment = studies.load(name)
    usual = {"c": "1000", "pool_size": "1000"}
    experiment.Params.from_text(usual)
    with pytest.raises(ParameterError, match=r"^runs = 1000: must be at most"):
        experiment.Params.from_text(usual | {"runs": "1000"})
    told: list[int] = []
    monkeypatch.setattr(
        parameters, "check_rows", lambda runs, of_a_run: told.append(runs * of_a_run)
    )
    params = experiment.Params.from_text({"runs": "2", "c": "3", "pool_size": "200"})
    main = runner.run_to_end(experiment, params, 1).tables["main"]
    # Besides those of the runs there are the data, or what is accepted without noise.
    kind = next(name for name in ("kind", "release") if name in main)
    assert (~main[kind].isin(["observed", "non-private"])).sum() <= told[0]
