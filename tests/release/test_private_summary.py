"""Private summaries of reports and of daily cases: what comes out, and what must not.

Neighbors are compared in test_neighbouring_files.py.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.__main__ import main
from abcdp_core.mechanisms.private_summary import SummaryNoise, law, noisy
from abcdp_core.parameters import ParameterError
from abcdp_core.posterior import fit
from abcdp_core.posterior import pool as fixed_pool
from abcdp_core.release import private_summary, procedure, simulated, summary_request
from abcdp_core.release.document import figure
from abcdp_core.release.request import question
from abcdp_core.release.simulated import public_pool
from abcdp_core.release.summary_document import PrivateSummaryRecord
from abcdp_core.release.summary_posterior import TAILS, Inverse
from abcdp_core.release.summary_request import PrivateSummaryRequest, expected, is_ready
from abcdp_core.simulators import covid_people, tuberculosis_patients
from abcdp_core.streams import generator
from abcdp_core.summaries import weighted_quantile
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]
pytestmark = pytest.mark.usefixtures("few_simulations")

ROOT = Path(__file__).resolve().parents[2]
PATIENTS, PEOPLE = "tuberculosis-patients", "covid-people"
ROWS = 20_000
DAILY = covid_people.OBSERVED[:, 1].astype(int).tolist()
SIZES = sorted(
    (int(size) for size in tuberculosis_patients.OBSERVED[:, 0] if size > 0), reverse=True
)


def request_of(scenario: str = PATIENTS, **given: Any) -> PrivateSummaryRequest:
    usual = {"scenario": scenario, "epsilon_total": 1.0, "simulations": 1000}
    return PrivateSummaryRequest(**(usual | given))


def rows_of(scenario: str) -> int:
    return ROWS if scenario == PATIENTS else 18


@functools.cache
def document_of(scenario: str, epsilon_total: float = 1.0) -> PrivateSummaryRecord:
    """As if the published numbers had been released."""
    request, n = request_of(scenario, epsilon_total=epsilon_total), rows_of(scenario)
    source: Any = tuberculosis_patients if scenario == PATIENTS else covid_people
    released = tuple(next(iter(source.STATISTICS.values())).whole_of(source.OBSERVED))
    return completed(request, n, released)


def completed(
    request: PrivateSummaryRequest, n: int, released: tuple[int, ...]
) -> PrivateSummaryRecord:
    made = procedure.complete(PrivateSummaryRecord(request, n, released))
    assert isinstance(made, PrivateSummaryRecord)
    return made


EACH = pytest.mark.parametrize("scenario", [PATIENTS, PEOPLE])


# ------------------------------------------------------------------------- by the command


def written(folder: Path, scenario: str, text: str, *more: str) -> Any:
    """The document that the command writes of a file."""
    (folder / "data.csv").write_text(text, encoding="utf-8")
    out = folder / "out.json"
    out.unlink(missing_ok=True)
    asked = ["release", scenario, "--data", str(folder / "data.csv"), "--yes", "--out", str(out)]
    asked += ["--simulations", "1000", "--workers", "1"]
    assert main([*asked, "--epsilon-total", "1", *more]) == 0
    return json.loads(out.read_text(encoding="utf-8"))


def test_all_that_comes_out_depends_on_the_released_numbers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(private_summary, "with_noise", lambda *_: DAILY)
    told = []
    for counts in (DAILY, [0] * 18):
        document = written(tmp_path, PEOPLE, "\n".join(map(str, counts)))
        printed, errors = capsys.readouterr()
        told.append((document, re.sub(r"takes about .* here|in \d+ s", "", printed), errors))
    assert told[0] == told[1]
    assert "n" not in document_of(PATIENTS).content()


def test_no_label_is_said_written_or_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(procedure, "complete", lambda document, _: document)
    labels = [f"SIT-48151623-{patient % 30}" for patient in range(100)]
    with caplog.at_level(logging.DEBUG):
        text = "\n".join(["48151623 strain", *labels])
        document = written(tmp_path, PATIENTS, text, "--column", "labels")
        (tmp_path / "bad.csv").write_text(f"strain\n{labels[0]}\n{labels[1]},x", encoding="utf-8")
        asked = ["release", PATIENTS, "--data", str(tmp_path / "bad.csv"), "--column", "labels"]
        assert main([*asked, "--epsilon-total", "1", "--yes", "--out", str(tmp_path / "o")]) == 2
    printed, said = capsys.readouterr()
    assert said.count("\n") == 1
    assert "48151623" not in json.dumps(document) + printed + said + caplog.text


@pytest.mark.parametrize(
    ("scenario", "given", "sentence"),
    [
        (PATIENTS, [], "kind = none was named"),
        (PEOPLE, ["--domain", "0,9"], "domain = 0,9: is for a series of values; covid-people"),
        (PEOPLE, ["--kind", "sizes"], "kind = sizes: for covid-people it must be daily-counts"),
        (PEOPLE, ["--mechanism", "sparse-vector"], "mechanism = sparse-vector: for covid-people"),
        (PEOPLE, [], "number of days = 13: must be a whole number from 14 to 60."),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(
    scenario: str,
    given: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data.csv").write_text("7\n" * 13, encoding="utf-8")
    asked = ["release", scenario, "--data", str(tmp_path / "data.csv"), "--epsilon-total", "1"]
    assert main([*asked, "--yes", "--out", str(tmp_path / "out.json"), *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


def test_the_examples_are_the_published_data() -> None:
    sizes = (ROOT / "examples" / "san_francisco_clusters.csv").read_text().split()
    assert sizes == ["size", *map(str, SIZES)]
    assert sum(SIZES) == 473
    counts = (ROOT / "examples" / "netherlands_daily_cases.csv").read_text().split()
    assert counts == ["cases", *map(str, DAILY)]


# ------------------------------------------------------------------------- what comes out


def test_a_document_says_all_that_may_be_said_and_nothing_else() -> None:
    content = document_of(PATIENTS).content()
    assert set(content) == {
        *("mode", "mechanism", "statement", "remains", "protected", "public", "release"),
        *("posterior", "event", "cost", "versions", "format"),
    }
    assert content["public"] == {
        "scenario": PATIENTS, "epsilon_total": 1.0, "draws": 1000, "pool_seed": 1,
        "simulations": 1000, "effective_sample_size": 1000,
    }  # fmt: skip
    assert content["release"]["whole_numbers"] == [473, 326, 282, 20, 30, 20]
    assert content["release"]["divided_by"] == [1, 1, 1, 1, 1, 3]
    assert content["protected"] == "one patient"
    assert "when it is left out or added" in content["statement"]
    assert content["cost"]["epsilon"] <= 1.0
    assert document_of(PEOPLE).content()["n"] == 18
    assert "for 18 days" in question(request_of(PEOPLE), 18)
    words = " ".join(content["remains"])
    for word in ("patients", "k times ε_total", "household", "refused", "approximate"):
        assert word in words
    assert "value" not in words
    asked = question(request_of(), ROWS)
    assert "one patient, added or removed" in asked
    assert "Δ₁ = 13/3" in asked
    assert "20,000" not in asked


@EACH
def test_means_intervals_and_draws_are_of_one_posterior(scenario: str) -> None:
    document = document_of(scenario)
    told, prior = document.found.told, document.found.prior
    assert document.sample.shape == (1000, 5)
    spread = document.sample.std(axis=0)
    assert (np.abs(document.sample.mean(axis=0) - told.mean) < 0.05 * spread).all()
    assert pytest.approx((0.05, 0.5, 0.95)) == TAILS
    found = np.quantile(document.sample, TAILS, axis=0)
    assert (np.abs(found - told.quantiles) < 0.15 * spread).all()
    assert (told.quantiles[0] < told.mean).all()
    assert (told.mean < told.quantiles[2]).all()
    pool = summary_request.pool_of(document.request, document.n)
    assert prior.mean == pytest.approx(pool.values.mean(axis=0))
    prior_of = simulated.ScenarioModel(scenario, "", document.n).prior
    assert np.isfinite(prior_of.log_density(prior_of.to_x(document.sample[:, :4]))).all()


def test_what_the_prior_forces_is_said_beside_what_the_data_answer() -> None:
    told = document_of(PATIENTS)
    first, second = told.answers()
    assert first == (
        "P(R₂ < 1) is 1; without the data 1. The prior allows no other value, whatever the data: "
        "this is no finding."
    )
    probability = told.found.told.probabilities[1]
    assert 0.1 < probability < 0.9
    assert second == f"P(R₂ < 0.1) is {probability:.2f}; without the data 0.38."


def test_a_misfit_is_said_first_and_what_is_usual_is_not_proved_to_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of 20 tests the smallest p-value of 5000 replicates is 40 / 5001.
    monkeypatch.setattr(fit.fit, "__defaults__", (fit.one_by_one, 5000))
    document = completed(request_of(PEOPLE), 18, (5000, *DAILY[1:]))
    record = document.content()["posterior"]["fit"]
    assert ("day 1", "high") in {(each["name"], each["direction"]) for each in record["numbers"]}
    assert record["p_value"] < fit.MISFIT
    assert document.misfit[0] in record["statement"]
    assert document.in_own_words.startswith("The model hardly ever makes such numbers")
    assert document.finding == "The model hardly ever makes such numbers"
    usual = document_of(PATIENTS)
    assert usual.misfit == ()
    assert "which does not prove that it fits." in usual.in_own_words
    assert usual.content()["posterior"]["fit"]["numbers"] == []


def test_what_was_released_and_told_is_one_table_and_one_sentence() -> None:
    document = document_of(PATIENTS)
    assert document.summary == (
        "Released, with noise: patients: 473; clusters: 326; clusters of 1: 282; clusters of 2: "
        "20; largest cluster: 30; g: 6.67."
    )
    assert document_of(PEOPLE).summary.startswith("Released, with noise: day 1: 1; day 2: 6; ")
    names = document.table().quantity.tolist()
    assert names[-2:] == ["P(R₂ < 1), by the prior alone", "P(R₂ < 0.1)"]
    assert names[:4] == [*tuberculosis_patients.OWN_NAMES.values()]


def test_the_share_of_recent_transmission_is_that_of_the_report() -> None:
    document = document_of(PATIENTS, 10.0)
    low, middle, high = document.found.told.quantiles[:, 4]
    truth = 100.0 * (1.0 - 326 / 473)
    assert low - 0.1 < truth < high + 0.1
    assert high - low < 1.0
    said = r"Of the report's cases 3\d\.\d+ to 31\.\d+ % come from recent transmission"
    assert re.fullmatch(said, document.finding)
    assert middle == pytest.approx(truth, abs=0.2)


# Cluster sizes that were read as labels, and a report in which everybody is alone: draws are moved
# to the prior's edge, and intervals have a width of 1e-140 or none.
@pytest.mark.parametrize("wrong", [(318, 5, 8, -1, 286, 286), (20_000, 20_000, 20_000, 0, 1, 0)])
def test_where_the_model_does_not_fit_numbers_stay_readable(
    wrong: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # There simulations take long.
    monkeypatch.setattr(fit.fit, "__defaults__", (fit.one_by_one, 50))
    rows = completed(request_of(), ROWS, wrong).rows()
    assert max(len(part) for row in rows for part in (row.mean, row.low, row.high)) <= 8


def test_doubling_time_follows_from_the_growth_rate_and_may_be_none() -> None:
    def inverse(ends: list[float]) -> tuple[str, str]:
        return Inverse.of(np.array(ends), math.log(2.0)).in_words("days")

    assert inverse([0.1, 0.2, 0.4]) == ("3.5 days", "1.7 to 6.9 days")
    assert inverse([-0.1, 0.2, 0.4]) == ("3.5 days", "from 1.7 days to none")
    assert inverse([-0.2, -0.1, 0.4]) == ("none", "from 1.7 days to none")
    assert inverse([-0.3, -0.2, 0.0]) == ("none", "none")
    document = document_of(PEOPLE)
    first = document.rows()[0]
    assert document.finding == f"One case infects {first.low} to {first.high} others"
    low, middle, high = document.found.told.quantiles[:, 4]
    (further,) = document.content()["posterior"]["further"]
    assert further["interval"] == [math.log(2.0) / high, math.log(2.0) / low]
    assert (further["unit"], further["prior_interval"][1]) == ("days", None)
    (row,) = document.table()[lambda table: table.quantity == "doubling time (median)"].to_numpy()
    assert row[1] == f"{math.log(2.0) / middle:.2g} days"
    assert row[2] == f"{math.log(2.0) / high:.2g} to {math.log(2.0) / low:.2g} days"


@EACH
@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
def test_what_is_said_is_sound_at_every_budget(
    scenario: str, epsilon_total: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_of(scenario, epsilon_total)
    for row in document.rows():
        low, mean, high = (
            float(text.replace("\u2212", "-")) for text in (row.low, row.mean, row.high)
        )
        assert low <= mean <= high
        # With hardly any noise the share of recent transmission is the report's own.
        assert low < high or epsilon_total == 1000.0
    assert "nan" not in document.in_own_words
    assert f"ε_total = {epsilon_total:g}" in document.settings
    # An epidemic may have so many cases that the noise of 0.001 leaves something of it.
    if epsilon_total == 0.001:
        # Of 10 draws the error may be small by chance.
        monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 60)
        summary_request._error.cache_clear()
    little = document.request.drowned(document.n)
    assert bool(little) == (epsilon_total == 0.001 and scenario == PATIENTS)


@EACH
def test_the_figure_has_a_row_for_each_quantity_with_its_prior(scenario: str) -> None:
    document = document_of(scenario)
    drawn = figure(document)
    names = [trace.name for trace in drawn.data]
    assert names == ["90 % interval of the prior", "mean of the prior", "90 % interval", "mean"] * 5
    for row, (low, high) in enumerate(document.axes()):
        for trace in drawn.data[4 * row : 4 * row + 4]:
            assert low <= min(trace.x) <= max(trace.x) <= high
    told = document.found.told
    assert list(drawn.data[2].x) == pytest.approx(told.quantiles[[0, 2], 0].tolist())
    assert list(drawn.data[7].x) == pytest.approx(told.mean[1:2].tolist())
    assert "20000" not in str(drawn.to_plotly_json())


@EACH
def test_errors_to_expect_lie_between_none_and_the_prior_s(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A pool of 1000 is looked through fast, and 10 draws of it tell too little.
    monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 200 if scenario == PEOPLE else 10)
    summary_request._error.cache_clear()
    found = expected(request_of(scenario), rows_of(scenario))
    for plain, error, prior in zip(found.plain, found.error, found.prior, strict=True):
        assert 0.0 < plain <= error * 1.01
        assert error < prior * 1.01
    words = found.in_words(rows_of(scenario))
    assert all(name in words for name in found.names)
    little = expected(request_of(scenario, epsilon_total=0.001), rows_of(scenario))
    assert all(a > b for a, b in zip(little.error, found.error, strict=True))


@pytest.mark.slow
def test_intervals_hold_with_the_noise_inside_and_not_without() -> None:
    request, count = request_of(epsilon_total=0.5), 150
    event, public = request.event(ROWS), public_pool(PATIENTS, ROWS, 1)
    theta, numbers = tuberculosis_patients.held_out()
    truths = public.told(theta[:count], numbers[:count])[:, 4]
    released = noisy(numbers[:count], event, generator(4, "held-out"))

    def holding(event: SummaryNoise) -> NDArray[np.int64]:
        """Of how many reports the share of recent transmission is in its interval, and is not."""
        pool, inside = public.with_noise(law(event, 6), 1), 0
        for truth, z in zip(truths, released, strict=True):
            found = pool.given(z)
            values = public.told(pool.scale.theta(found.x), found.numbers)
            low, high = weighted_quantile(values[:, 4:], found.weights, (0.05, 0.95))[:, 0]
            inside += low <= truth <= high
        return np.array([inside, count - inside])

    # A false alarm in a million; it sees intervals that hold three quarters or less.
    hold = np.array([0.9, 0.1])
    assert_frequencies(holding(event), hold)
    silent = request_of(epsilon_total=1000.0).event(ROWS)
    assert rejects(assert_frequencies, holding(silent), hold)


# ------------------------------------------------------------------------- requests


def test_numbers_of_another_size_are_refused() -> None:
    for numbers in ([1, 2, 3], [1, 2, 3, 4, 5, 2**53], [1, 2, 3, 4, 5, True]):
        content = {"release": {"whole_numbers": numbers}}
        with pytest.raises(ParameterError, match="these are no numbers of the scenario's data"):
            private_summary.read(request_of(), ROWS, content)


def test_who_would_have_to_wait_for_a_pool_is_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "_pools", {})
    request = request_of(PEOPLE)
    assert not is_ready(request, 7)
    made = summary_request.pool_of(request, 7)
    assert is_ready(request, 7)
    assert summary_request.pool_of(request, 7) is made
    assert not is_ready(request, 8)
    assert is_ready(request_of(), 473)
