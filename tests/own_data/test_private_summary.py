"""Private summaries of reports and of daily cases: what comes out, and what must not.

Releases go through the command, with a seeded source of noise where two are compared.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.__main__ import main
from abcdp_core.mechanisms.private_summary import SummaryNoise, law, noisy
from abcdp_core.own_data import (
    budget_ledger,
    private_summary,
    release,
    simulated,
    strips,
    summary_document,
    summary_request,
)
from abcdp_core.own_data.document import figure
from abcdp_core.own_data.private_summary import largest_file
from abcdp_core.own_data.releasable import Simulated
from abcdp_core.own_data.request import claim, question
from abcdp_core.own_data.simulated import public_pool
from abcdp_core.own_data.summary_document import Inverse, PrivateSummaryDocument, Told
from abcdp_core.own_data.summary_request import PrivateSummaryRequest, expected, is_ready
from abcdp_core.parameters import ParameterError
from abcdp_core.posterior import fit
from abcdp_core.posterior import pool as fixed_pool
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
def document_of(scenario: str, epsilon_total: float = 1.0) -> PrivateSummaryDocument:
    """As if the published numbers had been released."""
    request, n = request_of(scenario, epsilon_total=epsilon_total), rows_of(scenario)
    source: Any = tuberculosis_patients if scenario == PATIENTS else covid_people
    released = tuple(next(iter(source.STATISTICS.values())).whole_of(source.OBSERVED))
    return completed(request, n, released)


def completed(
    request: PrivateSummaryRequest, n: int, released: tuple[int, ...]
) -> PrivateSummaryDocument:
    made = release.complete(PrivateSummaryDocument(request, n, released))
    assert isinstance(made, PrivateSummaryDocument)
    return made


EACH = pytest.mark.parametrize("scenario", [PATIENTS, PEOPLE])


# ------------------------------------------------------------------------- by the command


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of every release from one seed instead of the operating system; numbers alone."""
    spend = release.spend
    monkeypatch.setattr(release, "complete", lambda document, _: document)
    monkeypatch.setattr(
        release,
        "spend",
        lambda prepared, paid=None: spend(prepared, random.Random(11).randrange, paid),
    )


def written(folder: Path, scenario: str, text: str, *more: str) -> Any:
    """The document that the command writes of a file."""
    (folder / "data.csv").write_text(text, encoding="utf-8")
    out = folder / "out.json"
    out.unlink(missing_ok=True)
    asked = ["release", scenario, "--data", str(folder / "data.csv"), "--yes", "--out", str(out)]
    asked += ["--simulations", "1000", "--workers", "1"]
    assert main([*asked, "--epsilon-total", "1", *more]) == 0
    return json.loads(out.read_text(encoding="utf-8"))


def labels_of(sizes: list[int]) -> str:
    rows = [f"strain-{number}" for number, size in enumerate(sizes) for _ in range(size)]
    return "\n".join(["strain", *rows])


@pytest.mark.usefixtures("seeded")
def test_a_patient_more_or_less_moves_what_is_released_by_its_sensitivity_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = written(tmp_path, PATIENTS, labels_of(SIZES), "--column", "labels")
    largest = 0.0
    neighbours = {
        "largest": [SIZES[0] + 1, *SIZES[1:]],
        "of two": [3 if i == SIZES.index(2) else size for i, size in enumerate(SIZES)],
        "of one": [2 if i == SIZES.index(1) else size for i, size in enumerate(SIZES)],
        "a new one": [*SIZES, 1],
        "one fewer": [SIZES[0] - 1, *SIZES[1:]],
        "alone": SIZES[:-1],
    }
    for sizes in neighbours.values():
        other = written(tmp_path, PATIENTS, labels_of(sizes), "--column", "labels")
        moved = [
            Fraction(abs(after - before), step)
            for before, after, step in zip(
                base["release"]["whole_numbers"],
                other["release"]["whole_numbers"],
                base["release"]["divided_by"],
                strict=True,
            )
        ]
        assert 0 < sum(moved) <= Fraction(13, 3)
        largest = max(largest, float(sum(moved)))
        same = base.keys() - {"release", "posterior"}
        assert {key: base[key] for key in same} == {key: other[key] for key in same}
    assert largest == 3.0, "a second patient in a cluster of one"
    capsys.readouterr()


@pytest.mark.usefixtures("seeded")
def test_a_person_more_or_less_moves_one_count_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = written(tmp_path, PEOPLE, "\n".join(map(str, DAILY)))["release"]["whole_numbers"]
    for day, step in ((0, 1), (9, -1), (17, 1)):
        counts = [count + step * (each == day) for each, count in enumerate(DAILY)]
        other = written(tmp_path, PEOPLE, "cases\n" + "\n".join(map(str, counts)))
        moved = [b - a for a, b in zip(base, other["release"]["whole_numbers"], strict=True)]
        assert moved == [step * (each == day) for each in range(18)]
    capsys.readouterr()


def test_all_that_comes_out_depends_on_the_released_numbers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        private_summary, "with_noise", lambda *_: [470, 320, 280, 20, 30, 20]
    )  # fmt: skip
    told = []
    for sizes in (SIZES, [1, 1, 1], [9] * 400):
        document = written(tmp_path, PATIENTS, labels_of(sizes), "--column", "labels")
        printed, errors = capsys.readouterr()
        told.append((document, re.sub(r"takes about .* here|in \d+ s", "", printed), errors))
    assert told[0] == told[1] == told[2]
    assert "n" not in told[0][0]


def test_no_label_is_said_written_or_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
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
        (PATIENTS, [], "column = none was named"),
        (PATIENTS, ["--column", "sizes", "--domain", "0,9"], "domain = 0,9: is for a series of"),
        (PEOPLE, ["--domain", "0,9"], "domain = 0,9: is for a series of values; covid-people"),
        (PEOPLE, ["--column", "sizes"], "column = sizes: for covid-people it must be daily-counts"),
        (PEOPLE, ["--mechanism", "sparse-vector"], "mechanism = sparse-vector: for covid-people"),
        (PEOPLE, ["--c", "5"], "c = 5: is an option of sparse-vector"),
        (PEOPLE, ["--pool-seed", "-1"], "pool_seed = -1: must be a whole number from 0 to"),
        (PEOPLE, ["--epsilon-total", "0"], "epsilon_total = 0: must be a number from 0.001 to"),
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


def test_a_budget_is_for_a_patient_who_is_added_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(budget_ledger.PLACE, str(tmp_path / "budgets.db"))
    for name, neighbours in (("right", "add-remove"), ("wrong", "replace")):
        create = ["budget", "create", name, "--epsilon", "1", "--unit", "patient"]
        assert main([*create, "--neighbours", neighbours]) == 0
    made = written(tmp_path, PATIENTS, "3\n1\n1", "--column", "sizes", "--budget", "right")
    assert made["ledger"]["budget"] == "right"
    (tmp_path / "out.json").unlink()
    asked = ["release", PATIENTS, "--data", str(tmp_path / "data.csv"), "--column", "sizes"]
    more = ["--budget", "wrong", "--yes", "--out", str(tmp_path / "out.json")]
    capsys.readouterr()
    assert main([*asked, "--epsilon-total", "1", *more]) == 2
    assert "this release protects a patient (add-remove)" in capsys.readouterr().err
    assert main([*asked, "--epsilon-total", "1", *more[2:], "--budget", "right"]) == 2
    assert "does not fit" in capsys.readouterr().err
    what = claim(request_of()).what
    assert what == "release tuberculosis-patients, private-summary"


def test_the_simulated_example_is_what_its_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").mkdir()
    monkeypatch.chdir(tmp_path)
    words = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    exec(words.split("```python\n")[1].split("```")[0], {})
    made = (tmp_path / "examples" / "incomes.csv").read_text()
    assert made == (ROOT / "examples" / "incomes.csv").read_text()
    for file in (ROOT / "examples").glob("*.csv"):
        assert f"--data examples/{file.name}" in words


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
    assert pytest.approx((0.05, 0.5, 0.95)) == summary_document.TAILS
    found = np.quantile(document.sample, summary_document.TAILS, axis=0)
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
    # A simulation of some draws never says that something is certain.
    assert summary_document._probability(0.0, forced=False) == "below 0.01"


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
    theta, numbers = tuberculosis_patients.precomputed_pool(50)
    share = tuberculosis_patients.recent_transmission(theta, numbers)
    assert share == pytest.approx(100.0 * (1.0 - numbers[:, 1] / numbers[:, 0]))
    nobody = tuberculosis_patients.recent_transmission(theta[:1], np.zeros((1, 6)))
    assert nobody.tolist() == [100.0], "no report of the pool has nobody"
    assert middle == pytest.approx(truth, abs=0.2)


def test_strips_keep_a_long_name_apart_from_what_is_said_of_it() -> None:
    document = document_of(PATIENTS)
    found = strips.strips_of(figure(document))
    assert [row.name for row in found] == [each.name for each in document.parameters]
    assert [row.said for row in found] == [document.said(place) for place in range(5)]


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


def test_the_finding_is_a_sentence_on_what_is_asked_for_most() -> None:
    row = document_of(PEOPLE).rows()[0]
    assert document_of(PEOPLE).finding == f"One case infects {row.low} to {row.high} others"


def test_doubling_time_follows_from_the_growth_rate_and_may_be_none() -> None:
    def inverse(ends: list[float]) -> tuple[str, str]:
        return Inverse.of(np.array(ends), math.log(2.0)).in_words("days")

    assert inverse([0.1, 0.2, 0.4]) == ("3.5 days", "1.7 to 6.9 days")
    assert inverse([-0.1, 0.2, 0.4]) == ("3.5 days", "from 1.7 days to none")
    assert inverse([-0.2, -0.1, 0.4]) == ("none", "from 1.7 days to none")
    assert inverse([-0.3, -0.2, -0.1]) == ("none", "none")
    assert inverse([-0.3, -0.2, 0.0]) == ("none", "none")
    document = document_of(PEOPLE)
    low, middle, high = document.found.told.quantiles[:, 4]
    (further,) = document.content()["posterior"]["further"]
    assert further["interval"] == [math.log(2.0) / high, math.log(2.0) / low]
    assert (further["unit"], further["prior_interval"][1]) == ("days", None)
    (row,) = document.table()[lambda table: table.quantity == "doubling time (median)"].to_numpy()
    assert row[1] == f"{math.log(2.0) / middle:.2g} days"
    assert row[2] == f"{math.log(2.0) / high:.2g} to {math.log(2.0) / low:.2g} days"


def test_the_growth_rate_is_that_of_the_expected_epidemic() -> None:
    theta = np.array([[2.5, 6.5, 2.0, 0.2], [0.6, 4.0, 2.0, 0.2]])
    infectious = np.ones(2)
    for _ in range(4):
        step = 1.0 / (4 * theta[:, 1])
        infectious = infectious * (1.0 + theta[:, 0] * step - (1.0 - np.exp(-step)))
    growth = covid_people.daily_growth(theta)
    assert growth == pytest.approx(np.log(infectious))
    assert growth == pytest.approx(covid_people.growth_rate(theta), rel=0.15)


@EACH
@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 1000.0])
def test_what_is_said_is_sound_at_every_budget(
    scenario: str, epsilon_total: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_of(scenario, epsilon_total)
    table = document.table()
    for row in document.rows():
        low, mean, high = (
            float(text.replace("\u2212", "-")) for text in (row.low, row.mean, row.high)
        )
        assert low <= mean <= high
        # With hardly any noise the share of recent transmission is the report's own.
        assert low < high or epsilon_total == 1000.0
    assert table.shape[1] == 5
    assert "nan" not in document.in_own_words
    assert "\n" not in document.in_own_words
    assert f"ε_total = {epsilon_total:g}" in document.settings
    assert len(document.to_json().encode()) < largest_file(document.request)
    # An epidemic may have so many cases that the noise of 0.001 leaves something of it.
    if epsilon_total == 0.001:
        # Of 10 draws the error may be small by chance.
        monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 200)
        summary_request._error.cache_clear()
    little = document.request.drowned(document.n)
    assert bool(little) == (epsilon_total == 0.001 and scenario == PATIENTS)


@pytest.mark.parametrize(
    ("plain", "said"), [(0.95, "a larger ε_total does not help"), (0.5, "A larger ε_total helps")]
)
def test_what_no_budget_mends_is_not_put_down_to_the_noise(
    plain: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Simulated(("rate",), ("",), error=(0.99,), plain=(plain,), prior=(1.0,))
    monkeypatch.setattr(summary_request, "expected", lambda *_: found)
    assert said in request_of().drowned(rows_of(PATIENTS))


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


def test_a_request_from_text_is_the_request() -> None:
    request = PrivateSummaryRequest.from_text({"scenario": PEOPLE, "epsilon_total": "0.5"})
    assert request == request_of(PEOPLE, epsilon_total=0.5, simulations=100_000)
    assert (request.unit, request.neighbours) == ("person", "add-remove")
    assert request.protected == "one person"
    for scenario in ("covid", "uniform-mixture"):
        with pytest.raises(ParameterError, match="private-summary: does not serve"):
            request_of(scenario)


def test_probabilities_are_those_of_the_samples() -> None:
    samples = np.zeros((4, 5))
    samples[:, 2] = [0.05, 0.2, 0.3, 0.09]
    told = Told.of(samples, np.array([0.4, 0.3, 0.2, 0.1]), request_of())
    assert told.probabilities == (1.0, 0.5)


def test_numbers_of_another_size_are_refused() -> None:
    content = {"release": {"whole_numbers": [1, 2, 3]}}
    with pytest.raises(ParameterError, match="these are no numbers of the scenario's data"):
        private_summary.read(request_of(), ROWS, content, None)
    for spoilt in (2**53, True, 1.5):
        content = {"release": {"whole_numbers": [1, 2, 3, 4, 5, spoilt]}}
        with pytest.raises(ParameterError, match="these are no numbers"):
            private_summary.read(request_of(), ROWS, content, None)


def test_who_would_have_to_wait_for_a_pool_is_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "_pools", {})
    request = request_of(PEOPLE)
    assert not is_ready(request, 7)
    made = summary_request.pool_of(request, 7)
    assert is_ready(request, 7)
    assert summary_request.pool_of(request, 7) is made
    assert not is_ready(request, 8)
    assert is_ready(request_of(), 473)


@pytest.mark.parametrize(
    ("width", "prior", "high", "decimals"),
    [
        (0.2, [0.0, 0.5, 1.0], 0.7, 2),
        (1e-5, [0.0, 0.5, 1.0], 0.7, 4),
        (2e-4, [1e-3, 3.0, 5e3], 0.003, 4),
        (0.0, [1e-5, 5e-5, 2e-4], 5e-5, 6),
        (0.0, [0.02, 5.0, 200.0], 0.02, 3),
        (0.0, [0.02, 5.0, 200.0], 200.0, 1),
        (0.0, [1e-9, 5.0, 200.0], 1e-9, 4),
        (0.0, [0.0, 0.0, 0.03], 0.0, 3),
        (0.0, [0.0, 0.0, 0.0], 0.0, 3),
        (2e-5, [0.0, 0.0, 0.0], 1e-4, 6),
    ],
)
def test_an_interval_has_the_decimals_that_it_can_be_read_by(
    width: float, prior: list[float], high: float, decimals: int
) -> None:
    assert summary_document._decimals(width, np.array(prior), high) == decimals
