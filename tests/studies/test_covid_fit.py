"""The COVID study: its curves are those of the kept draws, and it warns where it must."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from abcdp_core import pool
from abcdp_core.simulators import covid
from abcdp_core.studies import covid_fit, posterior
from tests import results

SMALL = covid_fit.Params(pool_size=2000, runs=4)

result_of = functools.partial(results.changed, covid_fit, SMALL)


def curves_of(run: int, epsilon_total: float) -> np.ndarray:
    main = result_of().tables["main"].query("run == @run and epsilon_total == @epsilon_total")
    kept = main[main.kind == "sample"]
    return kept.pivot_table(index="sample", columns="day", values="value").to_numpy()


def test_the_first_run_is_the_release_that_the_posterior_page_shows() -> None:
    one = posterior.Params(
        scenario="covid", epsilon_total=22.0, c=5, n=18, pool_size=2000, epsilon_abc=0.1
    )
    main = results.changed(posterior, one).tables["main"]
    theta = main[main.release == "private"].pivot_table(
        index="sample", columns="parameter", values="value"
    )
    expected = covid.curves(theta.to_numpy(), covid.days(18))[:, -1]
    found = curves_of(run=0, epsilon_total=22.0)[:, -1]
    assert np.sort(found) == pytest.approx(np.sort(expected), rel=1e-12)


def test_only_the_scripts_bandwidth_reads_the_series_and_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bandwidths() -> list[object]:
        pool.forget()
        choices = [covid.BANDWIDTH, "median", 300.0, "script"]
        settings = [dataclasses.replace(SMALL, bandwidth=each) for each in choices]
        return [covid_fit.pool_key(params, 1).bandwidth for params in settings]

    assert "Not private" in result_of(bandwidth="script").privacy
    *before, script = bandwidths()
    monkeypatch.setattr(covid, "CASES", 7.0 * covid.CASES)
    assert bandwidths() == [*before, 7 * script]
