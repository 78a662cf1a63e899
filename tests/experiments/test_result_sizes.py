"""No settings that a link may ask for make a result that does not fit into memory."""

from __future__ import annotations

import pytest

from abcdp_core import experiments, parameters, runner
from abcdp_core.parameters import ParameterError

MANY_ROWS = ("covid-fit", "tuberculosis-posterior")


@pytest.mark.parametrize("name", MANY_ROWS)
def test_what_would_fill_the_memory_is_refused_with_what_is_allowed(name: str) -> None:
    """At c = 1000 and 1000 runs these had 70 million rows and took 15 GB."""
    params = experiments.load(name).Params
    usual = {"c": "1000", "pool_size": "1000"}
    params.from_text(usual)
    with pytest.raises(ParameterError, match=r"^runs = 1000: must be at most") as refused:
        params.from_text(usual | {"runs": "1000"})
    most = str(refused.value).split("at most ")[1].split(",")[0]
    params.from_text(usual | {"runs": most})
    with pytest.raises(ParameterError, match=f"at most {most},"):
        params.from_text(usual | {"runs": str(int(most) + 1)})
    params.from_text({"c": "20", "runs": "1000", "pool_size": "1000"})


@pytest.mark.parametrize("name", MANY_ROWS)
def test_the_bound_is_not_below_the_rows_there_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(
        parameters, "check_rows", lambda runs, of_a_run: told.append(runs * of_a_run)
    )
    experiment = experiments.load(name)
    params = experiment.Params.from_text({"runs": "2", "c": "3", "pool_size": "200"})
    bound = max(told)
    main = runner.run_to_end(experiment, params, 1).tables["main"]
    # Besides those of the runs there are the data, or what is accepted without noise.
    kind = next(name for name in ("kind", "release") if name in main)
    of_runs = main[~main[kind].isin(["observed", "non-private"])]
    assert len(of_runs) <= bound


def test_a_run_that_is_too_large_alone_is_refused_for_its_lists() -> None:
    with pytest.raises(ParameterError, match=r"^runs = 1: shorten the lists"):
        parameters.check_rows(1, parameters.MOST_ROWS + 1)
    parameters.check_rows(1, parameters.MOST_ROWS)
