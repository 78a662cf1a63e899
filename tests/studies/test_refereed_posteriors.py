"""How published posteriors are judged, and the models that they are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core.posterior.published import referee
from abcdp_core.studies import refereed_posteriors
from benchmarks.referee.__main__ import cells
from benchmarks.referee.models import FAMILIES
from tests import results

BASE = {"epsilon": 1.0, "n": 100, "parameter": "slope", "effective": 1000.0, "by": ""}
ERRORS = dict.fromkeys(("mean_error", "median_error", "low_error", "high_error"), 0.01)


def row(family: str, way: str, shift: float = 0.0, **more: Any) -> dict[str, Any]:
    numbers = {"mean": 1.0 + shift, "median": 1.0 + shift, "low": 0.0, "high": 2.0}
    found = BASE | ERRORS | numbers | {"quartiles_apart": 1.0, "seconds": 5.0}
    return found | {"family": family, "way": way} | more


def test_ways_must_agree_and_answers_be_close(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame([
        row("agree", "weights", effective=2000.0),
        row("agree", "chains", 0.03),
        row("agree", "infer", 0.06),
        row("apart", "weights"),
        row("apart", "chains", 0.05),
        row("apart", "infer"),
        row("one", "chains"),
        row("one", "infer"),
        row("far", "weights"),
        row("far", "chains"),
        row("far", "infer", low=0.12),
    ])  # fmt: skip
    # 0.042 is three standard errors of a difference; 2 % of the quartiles come on top.
    means = pd.DataFrame([
        {**BASE, "family": family, "method": "theirs", "mean": mean, "standard_error": 0.02}
        for family, mean in (("agree", 1.08), ("agree", 1.12), ("apart", 9.0), ("one", 9.0))
    ]).drop(columns=["effective", "by"])  # fmt: skip
    monkeypatch.setattr(referee, "published", lambda: means)

    known = referee.references(table).set_index("family")
    assert known.agrees.to_dict() == {"agree": True, "apart": False, "one": False, "far": True}
    assert known.way["agree"] == "weights"
    assert known.ways.to_dict() == {"agree": 2, "apart": 2, "one": 1, "far": 2}
    answers = referee.answers(table).set_index("family")
    assert answers.close.to_dict() == {"agree": True, "apart": False, "one": False, "far": False}
    # The nearer way is 0.05 and 0.09 off, with errors of 0.02 and 0.01.
    far = referee.compared(table).differs_by
    assert far[:2].tolist() == pytest.approx([0.05 / np.hypot(0.02, 0.01), 4.02], abs=0.01)
    assert far[2:].isna().all()
    counts = referee.counts(table).set_index("family")
    assert counts.references.to_dict() == {"agree": 1, "apart": 0, "one": 0, "far": 1}
    assert counts.close.to_dict() == {"agree": 1, "apart": 0, "one": 0, "far": 0}
    assert (counts.differ["agree"], counts.compared["agree"]) == (1, 1)


def test_a_deviation_without_a_mean_is_compared_by_its_median() -> None:
    table = referee.posteriors()
    without = table[table.parameter == "sigma"]
    assert without["mean"].isna().all()
    assert without["median"].notna().all()
    shown = referee.references(table)
    assert (shown["median"].notna() == shown.agrees).all()
    assert referee.compared(table).query("parameter == 'sigma'").differs_by.isna().all()


def test_the_shipped_cells_are_enough_and_their_answers_close() -> None:
    counts = referee.counts(referee.posteriors()).drop_duplicates("family")
    assert counts.cells.sum() == len(cells()) == 101
    assert counts.references.sum() >= 54
    assert counts.close.sum() >= 0.95 * counts.references.sum()


def test_a_family_without_references_says_so_and_nothing_of_lines_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = referee.posteriors()
    monkeypatch.setattr(referee, "posteriors", lambda: table[table.way != "weights"])
    params = refereed_posteriors.Params(family="time-use")
    result = results.of(refereed_posteriors.EXPERIMENT, params)
    assert refereed_posteriors.headline(result).startswith("No reference: in no cell")
    assert "Lines" not in refereed_posteriors.finding(result)


def regression(records: np.ndarray, theta: np.ndarray, unit: float) -> float:
    mu, phi, tau, a0, a1 = theta
    x, y = records.T
    of_x = stats.norm(mu, phi**-0.5).logpdf(x)
    fitted = unit * (a0 + a1 * x)
    return float((of_x + stats.norm(fitted, tau**-0.5).logpdf(y)).sum())


def two(records: np.ndarray, theta: np.ndarray) -> float:
    design = np.column_stack([np.ones(len(records)), records[:, :2]])
    deviation = theta[3] ** 0.5
    fitted = design @ (theta[:3] * deviation)
    return float(stats.norm(fitted, deviation).logpdf(records[:, 2]).sum())


DENSITIES = {
    "regression-conjugate": lambda r, t: regression(r, t, t[2] ** -0.5),
    "regression-non-conjugate": lambda r, t: regression(r, t, 1.0),
    "location-scale-deviation": lambda r, t: stats.norm(t[0], t[1]).logpdf(r).sum(),
    "location-scale-variance": lambda r, t: stats.norm(t[0], t[1] ** 0.5).logpdf(r).sum(),
    "two-covariates": two,
    "time-use": lambda r, t: sum(stats.dirichlet(t).logpdf(each) for each in r),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_records_have_the_density_that_is_stated_and_their_sums_are_simulated(family: str) -> None:
    model, rng = FAMILIES[family].model(40), np.random.default_rng(1)
    assert model.records is not None
    first, second = (np.linspace(low, 1.0, len(model.parameters)) for low in (0.4, 0.7))
    records = model.records.draw(np.random.default_rng(2), first)
    known = model.records.statistics(records)
    ours = [model.records.log_density(theta, known) for theta in (first, second)]
    theirs = [DENSITIES[family](records, theta) for theta in (first, second)]
    assert ours[0] - ours[1] == pytest.approx(theirs[0] - theirs[1], rel=1e-9)
    sums = model.simulate(rng, np.repeat(first[None], 4000, axis=0))
    again = [
        model.records.contributions(model.records.draw(rng, first)).sum(axis=0) for _ in range(400)
    ]
    error = sums.std(axis=0) * np.sqrt(1 / 4000 + 1 / 400)
    assert (np.abs(sums.mean(axis=0) - np.mean(again, axis=0)) < 6.0 * error).all()
