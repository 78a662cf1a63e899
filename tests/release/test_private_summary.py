"""Private summaries of reports and of daily cases: the posterior, its words, errors to expect."""

from __future__ import annotations

import functools
import json
import logging
import math
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from abcdp_core.__main__ import main
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import weighted_quantile
from abcdp_core.mechanisms.private_summary import SummaryNoise, law, noisy
from abcdp_core.models import simulators
from abcdp_core.models.simulators import covid_people, tuberculosis_patients
from abcdp_core.posterior import fit, outcome
from abcdp_core.posterior import pool as fixed_pool
from abcdp_core.release import private_summary, procedure, simulated, summary_request
from abcdp_core.release.simulated import public_pool
from abcdp_core.release.summary_document import PrivateSummaryRecord
from abcdp_core.release.summary_posterior import TAILS, Inverse
from abcdp_core.release.summary_request import PrivateSummaryRequest, expected
from tests.release import small
from tests.release.small import PATIENTS, PEOPLE
from tests.statistics import assert_frequencies, rejects

ROWS, DAYS = 20_000, 18
DAILY = covid_people.SCENARIO.observed[:, 1].astype(int).tolist()


@functools.cache
def document_of(scenario: str, epsilon_total: float) -> PrivateSummaryRecord:
    """A release of the published numbers, with noise that happens to be 0."""
    source = simulators.load(scenario)
    released = tuple(next(iter(source.statistics.values())).whole_of(cast(Any, source.observed)))
    request = small.numbers(scenario, epsilon_total=epsilon_total, draws=1000)
    return completed(request, released)


def completed(request: PrivateSummaryRequest, released: tuple[int, ...]) -> PrivateSummaryRecord:
    n = ROWS if request.scenario == PATIENTS else DAYS
    made = procedure.complete(PrivateSummaryRecord(request, n, released))
    assert isinstance(made, PrivateSummaryRecord)
    return made


def release(folder: Path, scenario: str, text: str, *more: str) -> int:
    """Release from a text to ``out.json``, by the command."""
    (folder / "data.csv").write_text(text, encoding="utf-8")
    out = folder / "out.json"
    out.unlink(missing_ok=True)
    asked = ["release", scenario, "--data", str(folder / "data.csv"), "--yes", "--out", str(out)]
    asked += ["--simulations", "1000", "--workers", "1", "--epsilon-total", "1"]
    return main([*asked, *more])


def test_all_that_is_written_and_printed_depends_on_the_released_numbers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(private_summary, "with_noise", lambda *_: DAILY)
    told = []
    for counts in (DAILY, [0] * DAYS):
        assert release(tmp_path, PEOPLE, "\n".join(map(str, counts))) == 0
        printed, errors = capsys.readouterr()
        words = re.sub(r"about .*? here|in \d+ s", "", " ".join(printed.split()))
        told.append(((tmp_path / "out.json").read_text(encoding="utf-8"), words, errors))
    assert told[0] == told[1]


def test_no_label_is_printed_written_or_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(procedure, "complete", lambda document, _: document)
    labels = [f"SIT-48151623-{patient % 30}" for patient in range(100)]
    with caplog.at_level(logging.DEBUG):
        text = "\n".join(["48151623 strain", *labels])
        assert release(tmp_path, PATIENTS, text, "--column", "labels") == 0
        document = (tmp_path / "out.json").read_text(encoding="utf-8")
        text = f"strain\n{labels[0]}\n{labels[1]},x"
        assert release(tmp_path, PATIENTS, text, "--column", "labels") == 2
    printed, said = capsys.readouterr()
    assert said.count("\n") == 1
    assert "48151623" not in document + printed + said + caplog.text


@pytest.mark.parametrize(
    ("scenario", "epsilon_total"),
    [(PATIENTS, 1.0), (PEOPLE, 1.0), (PEOPLE, 0.001), (PEOPLE, 1000.0),
     pytest.param(PATIENTS, 0.001, marks=pytest.mark.slow)],
)  # fmt: skip
def test_means_intervals_and_draws_are_of_one_posterior(
    scenario: str, epsilon_total: float
) -> None:
    document = document_of(scenario, epsilon_total)
    told, prior = document.found.posterior, document.found.prior
    assert document.sample.shape == (1000, 5)
    assert_allclose(told.mean, document.sample.mean(axis=0))
    assert pytest.approx((0.05, 0.5, 0.95)) == TAILS
    # The file, its draws and all that is shown have the same ends.
    assert_allclose(told.quantiles, np.quantile(document.sample, TAILS, axis=0))
    assert (told.quantiles[0] < told.mean).all()
    assert (told.mean < told.quantiles[2]).all()
    pool = summary_request.pool_of(document.request, document.n)
    model = simulated.model_of(document.request.source, document.n)
    assert model is not None
    prior_of = model.prior
    known = 4 * (scenario == PEOPLE)
    assert prior.mean[known:] == pytest.approx(pool.values.mean(axis=0)[known:])
    if known:
        low, high = np.array(covid_people.LOW), np.array(covid_people.HIGH)
        assert_allclose(prior.mean[:4], 0.5 * (low + high))
        assert_allclose(prior.quantiles[:, :4], low + np.outer(TAILS, high - low))
    assert np.isfinite(prior_of.log_density(prior_of.to_x(document.sample[:, :4]))).all()
    for row in document.rows():
        low, mean, high = (
            float(text.replace("\u2212", "-")) for text in (row.low, row.mean, row.high)
        )
        assert low <= mean <= high
    assert "nan" not in document.table().to_string()


def test_numbers_are_told_with_their_steps_and_probabilities_with_what_forces_them() -> None:
    document = document_of(PATIENTS, 1.0)
    content = json.loads(document.to_json())["release"]
    assert content["whole_numbers"] == [473, 326, 282, 20, 30, 20]
    assert content["divided_by"] == [1, 1, 1, 1, 1, 3]
    assert document.summary.endswith("largest cluster: 30; g: 6.67.")
    names = document.table().quantity.tolist()
    assert names[-2:] == ["P(R₂ < 1), forced by the prior", "P(R₂ < 0.1)"]
    probability = document.found.posterior.probabilities[1]
    assert 0.1 < probability < 0.9
    answers = document.table()[["mean", "prior mean"]].to_numpy()[-2:].tolist()
    assert answers == [["1", "1"], [f"{probability:.2f}", "0.38"]]


def test_a_misfit_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 20 tests the smallest p-value of 5000 replicates is 40 / 5001.
    monkeypatch.setattr(outcome.of_found, "__defaults__", (None, 5000))
    document = completed(small.numbers(PEOPLE), (5000, *DAILY[1:]))
    record = document.content()["posterior"]["fit"]
    assert ("day 1", "high") in {(each["name"], each["direction"]) for each in record["numbers"]}
    assert record["p_value"] < fit.MISFIT
    assert document.misfit[0] in record["statement"]
    assert document.finding == "The model hardly ever makes such numbers"
    usual = document_of(PATIENTS, 1.0)
    assert usual.misfit == ()
    assert usual.content()["posterior"]["fit"]["numbers"] == []


def test_the_share_of_recent_transmission_is_that_of_the_report() -> None:
    document = document_of(PATIENTS, 10.0)
    low, middle, high = document.found.posterior.quantiles[:, 4]
    truth = 100.0 * (1.0 - 326 / 473)
    assert low - 0.1 < truth < high + 0.1
    assert high - low < 1.0
    assert re.search(r"\b3\d\.\d+ to 31\.\d+ %", document.finding)
    assert middle == pytest.approx(truth, abs=0.2)


def test_numbers_stay_readable_if_the_model_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cluster sizes that were read as labels. Simulations take long there.
    monkeypatch.setattr(outcome.of_found, "__defaults__", (None, 50))
    rows = completed(small.numbers(), (318, 5, 8, -1, 286, 286)).rows()
    assert max(len(part) for row in rows for part in (row.mean, row.low, row.high)) <= 8


def test_the_doubling_time_follows_from_the_growth_rate_and_may_be_none() -> None:
    def inverse(ends: list[float]) -> tuple[str, str]:
        return Inverse.of(np.array(ends), math.log(2.0)).in_words("days")

    assert inverse([0.1, 0.2, 0.4]) == ("3.5 days", "1.7 to 6.9 days")
    assert inverse([-0.2, -0.1, 0.4]) == ("none", "from 1.7 days to none")
    assert inverse([-0.3, -0.2, 0.0]) == ("none", "none")
    document = document_of(PEOPLE, 1.0)
    low, _, high = document.found.posterior.quantiles[:, 4]
    (further,) = document.content()["posterior"]["further"]
    assert further["interval"] == [math.log(2.0) / high, math.log(2.0) / low]
    assert (further["unit"], further["prior_interval"][1]) == ("days", None)


def test_errors_to_expect_lie_between_the_noiseless_and_the_prior_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of 10 draws, the error may be small by chance.
    monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 60)
    summary_request._error.cache_clear()
    usual, little = small.numbers(), small.numbers(epsilon_total=0.001)
    found, noisier = expected(usual, ROWS), expected(little, ROWS)
    for plain, error, prior in zip(found.plain, found.error, found.prior, strict=True):
        assert 0.0 < plain <= error * 1.01
        assert error < prior * 1.01
    assert all(a > b for a, b in zip(noisier.error, found.error, strict=True))
    assert usual.noise_warning(ROWS) == ""
    assert "say little more than the prior" in little.noise_warning(ROWS)


@pytest.mark.slow
def test_intervals_hold_only_if_they_include_the_noise() -> None:
    request, count = small.numbers(epsilon_total=0.5), 150
    event, public = request.event(ROWS), public_pool(request.source, ROWS, 1)
    theta, numbers = tuberculosis_patients.held_out()
    truths = public.values_at(theta[:count], numbers[:count])[:, 4]
    released = noisy(numbers[:count], event, generator(4, "held-out"))

    def holding(event: SummaryNoise) -> NDArray[np.int64]:
        """Numbers of reports whose share of recent transmission is in its interval, or not."""
        pool, inside = public.with_noise(law(event, 6), 1), 0
        for truth, z in zip(truths, released, strict=True):
            found = pool.given(z)
            values = public.values_at(pool.scale.theta(found.x), found.numbers)
            low, high = weighted_quantile(values[:, 4:], found.weights, (0.05, 0.95))[:, 0]
            inside += low <= truth <= high
        return np.array([inside, count - inside])

    # At a false alarm of 1e-6 this detects a coverage of three quarters or less.
    hold = np.array([0.9, 0.1])
    assert_frequencies(holding(event), hold)
    silent = small.numbers(epsilon_total=1000.0).event(ROWS)
    assert rejects(assert_frequencies, holding(silent), hold)
