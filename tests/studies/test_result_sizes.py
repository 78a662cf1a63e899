"""Settings from a link cannot ask for a result that does not fit into memory."""

from __future__ import annotations

import pytest

from abcdp_core import parameters, runner, studies
from abcdp_core.parameters import ParameterError


@pytest.mark.parametrize("name", ["covid-fit", "tuberculosis-posterior"])
def test_too_many_rows_are_refused_and_the_bound_counts_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = studies.load(name)
    with pytest.raises(ParameterError, match=r"^runs = 1000: must be at most"):
        experiment.Params.from_text({"c": "1000", "pool_size": "1000", "runs": "1000"})
    bounds: list[int] = []
    monkeypatch.setattr(parameters, "check_rows", lambda runs, rows: bounds.append(runs * rows))
    params = experiment.Params.from_text({"runs": "2", "c": "3", "pool_size": "200"})
    main = runner.run_to_end(experiment, params, 1).tables["main"]
    # Besides the rows of runs there are the data, or the draws kept without noise.
    kind = next(name for name in ("kind", "release") if name in main)
    assert (~main[kind].isin(["observed", "non-private"])).sum() <= bounds[0]
