"""A release by the sparse vector: its record, its settings, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import random
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core import pool, simulators
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.output.settings import event_from_json
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release import procedure
from abcdp_core.release.document import figure, in_scale, synthetic
from abcdp_core.release.request import SERIES, columns_of, own_sizes, question, scenarios, to_domain
from abcdp_core.release.sparse_vector import (
    SparseVectorRecord,
    SparseVectorRequest,
    noise_of,
    pool_key,
)
from abcdp_core.simulators import covid

Array = NDArray[np.float64]

LOW, HIGH = -20.0, 480.0
OF_SERIES = [each for each in scenarios() if columns_of(each) == (SERIES,)]
VALUES = np.linspace(-10.0, 400.0, 25) ** 2 % 450.0


def make(request: SparseVectorRequest, *given: Any, **more: Any) -> SparseVectorRecord:
    made = procedure.make(request, *given, **more)
    assert isinstance(made, SparseVectorRecord)
    return made


def request_of(scenario: str = "covid", **given: Any) -> SparseVectorRequest:
    """A request for a small pool, otherwise with the scenario's defaults."""
    usual = {"low": LOW, "high": HIGH, "epsilon_total": 1.0}
    return SparseVectorRequest(
        scenario=scenario,
        **(usual | SparseVectorRequest.defaults(scenario) | {"pool_size": 300} | given),
    )


def seeded(seed: int) -> RandBelow:
    return random.Random(seed).randrange


def test_a_record_has_everything_that_may_be_published_and_nothing_else() -> None:
    request = request_of(c=4, epsilon_total=2.0, resample=True, pool_seed=7)
    document = make(request, VALUES)
    content = json.loads(document.to_json())
    assert set(content) == {
        *("mode", "statement", "remains", "protected", "n", "public", "release", "event", "cost"),
        *("versions", "own_units", "mechanism", "format"),
    }
    assert content["n"] == 25
    assert content["public"] == {
        "scenario": "covid", "low": LOW, "high": HIGH, "epsilon_total": 2.0, "epsilon_abc": 0.1,
        "c": 4, "pool_size": 300, "distance": "values", "bandwidth": 1000.0, "resample": True,
        "pool_seed": 7, "scenario_domain": [0.0, 5000.0],
    }  # fmt: skip
    event = noise_of(request, 25).event
    assert event_from_json(content["event"]) == document.release.event == event
    assert content["cost"] == {"epsilon": cost(event).epsilon, "delta": 0.0}
    assert content["cost"]["epsilon"] <= 2.0


def test_kept_parameters_are_those_of_the_public_pool_by_the_chosen_distance() -> None:
    request, told = request_of(c=20, distance="pairs"), list[float]()
    document = make(request, VALUES, progress=told.append)
    indices = document.release.indices
    public = pool.build(pool_key(request, len(VALUES)))
    assert pool_key(request, 25).distance == "pairs"
    assert len(indices) > 0
    assert np.array_equal(document.theta, public.theta[indices])
    content = document.content()["release"]
    assert np.array_equal(content["values"], public.theta[indices])
    assert content["indices"] == indices.tolist()
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert not procedure.prepare(request, VALUES).measured.synthetic, "the data count as private"


@pytest.mark.parametrize(
    ("low", "high", "names"),
    [
        (-1.0, 1.0, ["−1 to −0.6", "−0.6 to −0.2", "−0.2 to 0.2", "0.2 to 0.6", "0.6 to 1"]),
        (0.0, 1e5, ["0 to 20000", "20000 to 40000"]),
        (0.0, 10.0 / 3.0, ["0 to 0.6666667"]),
        (-1e20, 1e20, ["−1e+20 to −6e+19"]),
        (1e6, 1e6 + 1, ["1000000 to 1000000.2", "1000000.2 to 1000000.4"]),
    ],
)
def test_shares_are_named_by_their_intervals(low: float, high: float, names: list[str]) -> None:
    request = request_of("uniform-mixture", low=low, high=high, c=5)
    assert [each.name for each in request.own_parameters(30)][: len(names)] == names
    document = make(request, np.linspace(low, high, 30))
    assert np.allclose(document.values, 100.0 * document.theta)
    assert names[0] in str(figure(document).layout.to_plotly_json())
    assert document.table().iloc[0, 0] == names[0]


def test_a_curve_is_that_of_the_scenario_in_the_scale_of_the_series() -> None:
    request, n = request_of(low=-10.0, high=90.0), 25
    theta = np.array([0.3, -1.2, 0.5, 2.0])
    cubic, square, slope, start = in_scale(request.own_parameters(n), theta)
    row, scenario = np.arange(n), covid.curves(theta, covid.days(n))
    assert cubic * row**3 + square * row**2 + slope * row + start == pytest.approx(
        -10.0 + scenario / 50.0
    )


@pytest.mark.parametrize("scenario", OF_SERIES)
def test_figure_and_words_fit_the_kept_draws(scenario: str) -> None:
    smallest, _ = own_sizes(scenario)
    for distance in simulators.load(scenario).DISTANCES:
        request = request_of(
            scenario, c=5, epsilon_total=1000.0, epsilon_abc=1.0, distance=distance
        )
        made = make(request, VALUES[: max(smallest, 17)])
        assert made.theta.shape[1] == len(simulators.load(scenario).AXES)
        for kept, draws in ((0, "0 draws"), (1, "1 draw"), (3, "3 draws")):
            document = dataclasses.replace(made, theta=made.theta[:kept])
            title, words = figure(document).layout.title.text, document.remarks
            assert ("No draw was kept" in title) == (kept == 0) == ("is the prior mean" in words)
            assert f"Kept {draws} (c = 5) after" in document.summary
            if scenario == "uniform-mixture" and kept:
                means = 100.0 * document.theta.mean(axis=0)
                most = document.parameters[means.argmax()].name
                assert f"{most}, about {means.max():.0f} %" in title


def test_synthetic_series_are_simulated_at_the_kept_parameters_in_the_domain() -> None:
    document = make(request_of(c=4, epsilon_abc=1.4), VALUES, seeded(1))
    k = len(document.theta)
    assert k > 0
    frame = synthetic(document, k + 2, np.random.default_rng(3))
    source = simulators.load("covid")
    turns = document.theta[np.arange(k + 2) % k]
    values = source.simulate(np.random.default_rng(3), turns, 25)[..., 1].ravel()
    expected = LOW + (HIGH - LOW) * np.clip(values, 0.0, 5000.0) / 5000.0
    np.testing.assert_allclose(frame["value"], expected, rtol=1e-12)
    assert frame["data_set"].tolist() == [each for each in range(k + 2) for _ in range(25)]
    assert frame["point"].tolist() == [*range(25)] * (k + 2)


def test_the_sensitivity_is_the_sharp_one_of_the_distance_and_holds() -> None:
    request = request_of("uniform-mixture", low=0.0, high=5.0)
    values = np.random.default_rng(1).uniform(0.0, 5.0, 37)
    event = make(request, values).release.event
    assert isinstance(event, SparseVector)
    sharp = simulators.load("uniform-mixture").distance().sensitivity(37)
    assert sharp < event.sensitivity <= sharp * (1.0 + 2.0**-18)
    public = pool.build(pool_key(request, 37))
    rho = pool.compare(public, values[:, None], synthetic=False).rho
    for place in (0.0, 2.5, 5.0):
        moved = np.append(values[:-1], place)
        other = pool.compare(public, moved[:, None], synthetic=False).rho
        assert np.abs(rho - other).max() <= event.sensitivity


def test_noise_is_the_operating_system_s_and_all_else_follows_from_the_decisions() -> None:
    assert procedure.make.__defaults__ == (secrets.randbelow, None)
    request = request_of(c=20, epsilon_abc=0.5)
    assert len({tuple(make(request, VALUES).release.indices.tolist()) for _ in range(4)}) == 4
    request = request_of(c=5, epsilon_abc=0.4)
    first = make(request, VALUES, seeded(1)).to_json()
    assert make(request, VALUES, seeded(2)).to_json() != first
    # Hardly any distance is the same for these data, but the decisions are.
    assert make(request, VALUES + 1e-6, seeded(1)).to_json() == first


CANARIES = (123.4567890123, 48.15162342108, 271.8281828459, 7777.7777777777)


def traces_of(values: tuple[float, ...]) -> list[str]:
    """Ways to write values, in full and shortened."""
    whole = [f"{value:.{digits}f}" for value in values for digits in (3, 5, 9)]
    found = [*whole, *(repr(value) for value in values), *(value.hex() for value in values)]
    # A few digits may agree with a parameter by chance; ten do not.
    return [text for text in found if len(text) >= 10]


def test_nothing_of_the_series_is_in_file_log_output_or_cache(
    empty_folder: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    values = np.concatenate([VALUES, CANARIES])
    with caplog.at_level(logging.DEBUG):
        document = make(request_of(epsilon_abc=0.3), values)
    public = pool.build(pool_key(document.request, len(values)))
    data = simulators.load("covid").from_series(  # type: ignore[attr-defined]
        to_domain(values, (LOW, HIGH), (0.0, 5000.0))
    )
    comparison = pool.compare(public, data, synthetic=False)
    private = (*CANARIES, *data[-4:, 1].tolist(), *comparison.rho.tolist())
    printed = "".join(capfd.readouterr())
    shown = [document.to_json(), repr(document), document.summary, caplog.text, printed]
    assert not [text for text in traces_of(private) if any(text in output for output in shown)]
    assert list(empty_folder.rglob("*")) == []
    text = json.dumps({"statistic": [CANARIES[0]], "mean": round(CANARIES[1], 9)})
    assert sum(trace in text for trace in traces_of(CANARIES)) >= 2, "a leak would be seen"


def test_values_outside_the_domain_count_as_its_ends_and_nobody_learns_of_it() -> None:
    request = request_of(c=10)
    beyond, at = VALUES.copy(), VALUES.copy()
    beyond[:3], at[:3] = (-1e9, 1e9, math.nextafter(HIGH, math.inf)), (LOW, HIGH, HIGH)
    documents = [make(request, values, seeded(3)).to_json() for values in (beyond, at)]
    assert documents[0] == documents[1]
    assert "clip" not in documents[0]


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(0, 6))
def test_ends_of_intervals_are_whole_numbers_whatever_their_decimals(
    low: int, fifth: int, decimals: int
) -> None:
    written = np.array([float(f"{low + i * fifth}e-{decimals}") for i in range(6)])
    domain = written[0], written[-1]
    assert to_domain(written, domain, (0.0, 5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    # A little below an end lies the interval below.
    below = to_domain(written[1:] - 1e-3 * (domain[1] - domain[0]), domain, (0.0, 5.0))
    assert np.floor(below).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"low": 5.0, "high": 5.0}, "high = 5: must be above low = 5."),
        (
            {"low": -1e15, "high": 1.0 - 1e15},
            "high = -999999999999999: must be above low = -1e+15 by 1000000 or more.",
        ),
        ({"low": 0.0, "high": 5e-324}, "high = 4.94066e-324: must be above low = 0 by 1e-290 or"),
        ({"low": math.nan}, "low = nan: must be a number from -1e+300 to 1e+300."),
        ({"epsilon_abc": 2.0}, "epsilon_abc = 2: must be a number from 0.001 to 1.41421."),
        ({"c": 301}, "c = 301: must be a whole number from 1 to pool_size = 300."),
        ({"bandwidth": 0.0}, "bandwidth = 0: must be a number from 100 to 10000."),
        ({"distance": "l2"}, "distance = l2: must be one of values, pairs."),
        ({"scenario": "tuberculosis"}, "scenario = tuberculosis: takes no data of your own; covid"),
        ({"scenario": "covid-people"}, "mechanism = sparse-vector: does not serve covid-people."),
    ],
)
def test_an_invalid_request_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    usual = dataclasses.asdict(request_of())
    with pytest.raises(ParameterError) as caught:
        SparseVectorRequest(**(usual | given))
    assert str(caught.value).startswith(sentence)


def test_a_request_from_text_takes_the_scenario_s_defaults() -> None:
    texts = {"scenario": "uniform-mixture", "low": "-1", "high": "2.5", "epsilon_total": "0.5"}
    request = SparseVectorRequest.from_text(texts | {"c": "3"})
    given = {"low": -1.0, "high": 2.5, "epsilon_total": 0.5, "c": 3, "pool_size": 10_000}
    assert request == request_of("uniform-mixture", **given)
    assert SparseVectorRequest.from_text(request.to_text()) == request


def test_data_of_the_wrong_size_or_kind_are_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(pool, "build")
    for values, pool_size, sentence in (
        (np.ones(9), 300, "number of values = 9: must be a whole number from 10 to 20000."),
        (np.ones(20_000), 20_000, "n * pool_size = 400,000,000: must be at most 200,000,000"),
        (np.append(VALUES, math.nan), 300, "values: each must be a finite number."),
        (np.append(VALUES, -math.inf), 300, "values: each must be a finite number."),
    ):
        with pytest.raises(ValueError, match=r".") as caught:
            make(request_of("uniform-mixture", pool_size=pool_size), values)
        assert str(caught.value).startswith(sentence)


def test_a_person_reads_what_will_be_spent_and_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of(epsilon_total=0.5)
    said, scale = question(request, 25), noise_of(request, 25).event.threshold_scale
    for words in ("ε_total = 0.5", "25 values", "between -20 and 480", "cannot be undone"):
        assert words in said
    assert f"b = {scale:.3g}." in said
    assert request_of().fitted(25).startswith("the cubic term, the quadratic term, the slope")
    # Without words of its own, a scenario keeps its names and numbers.
    monkeypatch.delattr(covid, "own_parameters")
    assert request_of().fitted(25) == "a0, a1, a2 and a3"
    theta = np.array([0.5, -1.0, 2.0, 3.0])
    assert in_scale(request_of().own_parameters(25), theta).tolist() == theta.tolist()
