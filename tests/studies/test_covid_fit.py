"""The COVID study: curves are those of what was accepted, and its warnings are there."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

from abcdp_core import pool
from abcdp_core.simulators import covid
from abcdp_core.studies import covid_fit, posterior
from tests import results

SMALL = covid_fit.Params(pool_size=2000, runs=4)

result_of = functools.partial(results.changed, covid_fit, SMALL)


def test_the_first_run_is_the_release_that_the_posterior_page_shows() -> None:
    one = posterior.Params(
        scenario="covid", epsilon_total=22.0, c=5, n=18, pool_size=2000, epsilon_abc=0.1
    )
    main = results.changed(posterior, one).tables["main"]
    theta = main[main.release == "private"].pivot_table(
        index="sample", columns="parameter", values="value"
    )
    curves = covid.curves(theta.to_numpy(), covid.days(18))
    here = result_of().tables["main"]
    here = here[(here.epsilon_total == 22.0) & (here.run == 0) & (here.kind == "sample")]
    found = here.pivot_table(index="sample", columns="day", values="value").to_numpy()
    assert np.sort(found[:, -1]) == pytest.approx(np.sort(curves[:, -1]), rel=1e-12)


def test_only_the_scripts_bandwidth_reads_the_series_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bandwidths() -> list[object]:
        pool.forget()
        choices = [covid.BANDWIDTH, "median", 300.0, "script"]
        settings = [dataclasses.replace(SMALL, bandwidth=each) for each in choices]
        return [covid_fit.pool_key(params, 1).bandwidth for params in settings]

    assert "Not private" in result_of(bandwidth="script").privacy
    assert "Not private" not in result_of().privacy
    *before, script = bandwidths()
    monkeypatch.setattr(covid, "CASES", 7.0 * covid.CASES)
    assert bandwidths() == [*before, 7 * script]


def test_mean_spread_and_misfit_are_those_of_the_curves() -> None:
    tables = result_of().tables
    row = tables["spread"].query("epsilon_total == 13 and run == 1").iloc[0]
    main = tables["main"].query("epsilon_total == 13 and run == 1 and kind == 'sample'")
    curves = main.pivot_table(index="sample", columns="day", values="value").to_numpy()
    assert row.spread == pytest.approx(curves.std(axis=0, ddof=1).mean())
    mean = tables["main"].query("epsilon_total == 13 and run == 1 and kind == 'mean'").value
    assert curves.mean(axis=0) == pytest.approx(mean.to_numpy(), rel=1e-9, abs=1e-9)
    misfit = np.sqrt(np.mean((curves.mean(axis=0) - covid.CASES) ** 2))
    assert row.misfit == pytest.approx(misfit)


@pytest.mark.parametrize(
    ("changes", "titles"),
    [
        (
            {"pool_size": 100, "epsilon_abc": 0.001, "epsilon_total": (1000.0,)},
            ("Noise picked 0 of 0 curves kept with", "Two curves were never kept"),
        ),
        (
            {"c": (1,), "epsilon_total": (22.0,), "runs": 1},
            ("Noise picked 0 of 1 curve kept with ε_total", "Two curves were never kept"),
        ),
        (
            {"epsilon_total": (math.inf,)},
            ("Noise picked 0 of 20 curves kept without noise", "Kept curves spread by"),
        ),
    ],
)
def test_titles_are_true_where_little_is_kept(
    changes: dict[str, object], titles: tuple[str, str]
) -> None:
    drawn = covid_fit.figures(result_of(**changes)).values()
    for title, each in zip(titles, drawn, strict=True):
        assert each.figure.layout.title.text.startswith(title)
