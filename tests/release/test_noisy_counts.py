"""A release by noisy counts: its record, its posterior, and nothing else."""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from abcdp_core import pool
from abcdp_core.mechanisms.noisy_counts import posterior
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release import expectation, procedure, releasable
from abcdp_core.release.document import figure, synthetic
from abcdp_core.release.noisy_counts import (
    NoisyCountsRecord,
    NoisyCountsRequest,
    expected,
    inferred,
)
from abcdp_core.release.request import claim, question
from abcdp_core.release.sparse_vector import SparseVectorRequest

Array = NDArray[np.float64]

VALUES = np.random.default_rng(1).uniform(0.0, 100.0, 60)
SHARES = ("these values", "population")
CANARY = 61.80339887498949


def request_of(**given: Any) -> NoisyCountsRequest:
    usual = {"scenario": "uniform-mixture", "low": 0.0, "high": 100.0, "epsilon_total": 1.0}
    return NoisyCountsRequest(**(usual | {"draws": 200} | given))


def make(
    request: NoisyCountsRequest, values: Array = VALUES, randbelow: RandBelow | None = None
) -> NoisyCountsRecord:
    made = procedure.make(request, values, *([randbelow] if randbelow else []))
    assert isinstance(made, NoisyCountsRecord)
    return made


def seeded(seed: int) -> RandBelow:
    return random.Random(seed).randrange


def test_a_record_has_the_counts_and_what_follows() -> None:
    made = make(request_of(epsilon_total=2.0))
    content = json.loads(made.to_json())
    assert set(content) == {
        *("mode", "mechanism", "statement", "remains", "protected", "n", "public", "release"),
        *("series", "posterior", "event", "cost", "versions", "format"),
    }
    assert content["public"] == {
        "scenario": "uniform-mixture", "low": 0.0, "high": 100.0, "epsilon_total": 2.0,
        "draws": 200, "draws_seed": 1, "scenario_domain": [0.0, 5.0],
    }  # fmt: skip
    assert content["release"] == {"counts": list(made.counts)}
    assert content["cost"] == {"epsilon": 2.0, "delta": 0.0}
    told = content["posterior"]
    assert told["parameters"] == ["0 to 20", "20 to 40", "40 to 60", "60 to 80", "80 to 100"]
    assert np.sum(told["draws"], axis=1) == pytest.approx(np.full(200, 100.0))
    for part in (told, content["series"]):
        low, high = np.transpose(part["intervals"])
        assert sum(part["means"]) == pytest.approx(100.0)
        assert (low < part["means"]).all()
        assert (part["means"] < high).all()


def compositions(n: int) -> Iterator[tuple[int, ...]]:
    """All ways in which five whole numbers add up to n."""
    for bars in itertools.combinations(range(n + 4), 4):
        edges = (-1, *bars, n + 4)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("counts", [(-3, 14, 2, -1, 5), (90, 0, 0, 0, 0)])
def test_shares_of_the_series_have_their_exact_distribution(counts: tuple[int, ...]) -> None:
    n, request = 12, request_of(epsilon_total=0.7)
    every = np.array(list(compositions(n)))
    scale = request.event(n).scale
    weights = special.softmax(-np.abs(every - np.array(counts)).sum(axis=1) / scale)
    told = inferred(request, n, counts)
    assert told.own.mean == pytest.approx(weights @ every / n)
    assert told.population.mean == pytest.approx((1.0 + weights @ every) / (5.0 + n))
    for cell in range(5):
        below = np.cumsum(np.bincount(every[:, cell], weights, minlength=n + 1))
        low, high = (int(np.searchsorted(below, p)) for p in (0.05, 0.95))
        assert (told.own.low[cell], told.own.high[cell]) == (low / n, high / n)


def test_the_posterior_is_that_of_the_mechanism_under_study() -> None:
    counts = (20, 10, 5, 15, 12)
    told = inferred(request_of(draws=5000), 60, counts)
    event = SummaryNoise("one value", "replace", 2.0, request_of().event(60).scale, (1,) * 5)
    rng = np.random.default_rng(3)
    other = posterior(np.array(counts, float), event, 60, np.ones(5), 5000, rng)
    assert told.population.mean == pytest.approx(other.exact_mean)
    assert other.samples is not None
    for quantile in (0.05, 0.5, 0.95):
        ours, theirs = (np.quantile(each, quantile, axis=0) for each in (told.draws, other.samples))
        assert ours == pytest.approx(theirs, abs=0.012)


def test_series_figure_and_words_describe_the_release() -> None:
    made = make(request_of())
    frame = synthetic(made, 3, np.random.default_rng(1))
    assert len(frame) == 180
    assert frame.value.between(0.0, 100.0).all()
    drawn, told = figure(made), made.told
    assert {trace.name for trace in drawn.data} == {"90 % interval", "mean", "prior mean"}
    ends = [100.0 * told.population.low[0], 100.0 * told.population.high[0]]
    assert list(drawn.data[0].x) == pytest.approx(ends)
    assert made.parameters[int(told.own.mean.argmax())].name in drawn.layout.title.text
    assert [made.table()[each].str.fullmatch(r"\d+\.\d %").all() for each in SHARES] == [True] * 2
    exact = make(request_of(epsilon_total=1000.0, high=0.001), np.full(20_000, 1e-4))
    assert exact.table()["these values"].tolist() == ["100.000 %", *["0.000 %"] * 4]
    negative = dataclasses.replace(made, counts=(-1, 2, 3, 4, 50))
    assert "\u22121, 2, 3, 4, 50" in negative.summary


@pytest.mark.parametrize(
    ("epsilon", "counts", "clear"),
    [(1.0, (60, 20, 10, 5, 5), True), (0.01, (60, 20, 10, 5, 5), False),
     (1000.0, (40, 40, 10, 5, 5), False), (1000.0, (41, 39, 10, 5, 5), True)],
)  # fmt: skip
def test_the_largest_share_is_named_only_if_it_is_clear(
    epsilon: float, counts: tuple[int, ...], clear: bool
) -> None:
    request = request_of(epsilon_total=epsilon)
    made = NoisyCountsRecord(request, 100, counts, inferred(request, 100, counts))
    assert made.finding.startswith("The largest share lies in 0 to 20: about") == clear
    # Two ends that look alike are one number.
    interval = made.table()["these values, 90 % interval"][0].replace("40.0 to 40.0", "40.0")
    said = f"The largest share is unclear; 0 to 20 holds {interval} of these values"
    assert (made.finding == said) == (not clear)


def test_noise_is_new_every_time_and_all_else_follows_from_the_counts() -> None:
    request = request_of(epsilon_total=0.05)
    assert len({make(request).counts for _ in range(4)}) == 4
    first = make(request, randbelow=seeded(1)).to_json()
    # Other values in the same intervals.
    moved = np.clip(np.floor(VALUES / 20.0) * 20.0 + 7.0, 0.0, 100.0)
    assert make(request, moved, seeded(1)).to_json() == first


def test_nothing_of_the_series_is_in_file_log_output_or_cache(
    empty_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delattr(pool, "build")
    with caplog.at_level(logging.DEBUG):
        made = make(request_of(), np.append(VALUES, CANARY))
    shown = "".join((made.to_json(), repr(made), caplog.text, *capfd.readouterr()))
    assert "61.80339" not in shown
    assert list(empty_folder.rglob("*")) == []
    prepared = procedure.prepare(request_of(), np.full(10, CANARY))
    assert "10, 0" not in repr(prepared)


def test_a_claim_is_the_whole_budget_and_the_event_costs_no_more() -> None:
    for epsilon in (0.001, 0.3, 1000.0):
        request = request_of(epsilon_total=epsilon)
        assert cost(request.event(60)).epsilon <= epsilon == float(claim(request).epsilon)
    assert claim(request_of()).what == "release uniform-mixture, noisy-counts, from 0 to 100"
    said = question(request_of(), 60)
    for words in ("ε_total = 1 ", "60 values", "between 0 and 100", "scale t = 2,", "2.8 values."):
        assert words in said
    for epsilon, deviation in ((1000.0, "below 0.000001 values."), (2.6, "1 value.")):
        assert question(request_of(epsilon_total=epsilon), 60).endswith(f"of {deviation}")


def test_counts_are_recommended_if_they_serve_a_scenario() -> None:
    assert list(releasable.every()) == ["noisy-counts", "private-summary", "sparse-vector"]
    assert releasable.chosen("uniform-mixture").name == "noisy-counts"
    assert releasable.chosen("covid").name == "sparse-vector"
    assert releasable.chosen("uniform-mixture", "sparse-vector").request is SparseVectorRequest


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [
        (lambda: request_of(scenario="covid"), "mechanism = noisy-counts: does not serve covid."),
        (lambda: request_of(draws=99), "draws = 99: must be a whole number from 100 to 10000."),
        (lambda: releasable.chosen("covid", "moon"), "mechanism = moon: for covid it must be spar"),
        (lambda: releasable.chosen("moon"), "scenario = moon: must be one of covid, covid-people,"),
    ],
)
def test_an_invalid_request_is_refused_in_a_sentence(refused: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        refused()
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_error_to_expect_is_a_close_bound(epsilon: float) -> None:
    n, request = 40, request_of(epsilon_total=epsilon)
    scale, reach = request.event(n).scale, int(40 * request.event(n).scale) + n
    # One of five counts under a flat prior is beta-binomial (1, 4).
    counts = np.arange(n + 1)
    logs = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(n - counts + 1)
    prior = np.exp(logs + special.betaln(counts + 1, n - counts + 4) - special.betaln(1, 4))
    seen = np.arange(-reach, reach + n + 1)
    ratio = math.exp(-1.0 / scale)
    joint = prior * (1 - ratio) / (1 + ratio) * ratio ** np.abs(seen[:, None] - counts)
    mass = joint.sum(axis=1)
    mean = joint @ counts / mass
    # Given this count alone; the other counts add information.
    hidden = float(mass @ (joint @ counts**2 / mass - mean**2))
    found = expected(request, n)
    assert 0.8 * found.own**2 < hidden / n**2 <= found.own**2
    total = float(prior @ (counts - prior @ counts) ** 2)
    assert found.plain**2 == pytest.approx(found.prior**2 - total / (5 + n) ** 2)
    assert found.error**2 >= found.plain**2 + hidden / (5 + n) ** 2
    assert found.error <= found.prior


@pytest.mark.parametrize(("n", "epsilon"), [(10, 0.001), (20_000, 1.0), (10, 1000.0)])
def test_the_error_to_expect_is_drawn_and_described(n: int, epsilon: float) -> None:
    drawn = expectation.drawn(request_of(epsilon_total=epsilon), n)
    assert drawn is not None
    private, plain = drawn.figure.data[:2]
    assert (np.array(private.y) >= np.array(plain.y)).all()
    assert (private.x[0], private.x[-1]) == (10.0, 20_000.0)
    found = expected(request_of(epsilon_total=epsilon), n)
    assert drawn.figure.data[2].y[0] == pytest.approx(100.0 * found.error)
    assert ("too few" in drawn.sentence) == (found.error >= 0.9 * found.prior)
    assert f"{n:,} values" in drawn.sentence
    assert "e-" not in drawn.sentence
    other = SparseVectorRequest.for_scenario("covid", low=0.0, high=1.0, epsilon_total=1.0)
    assert expectation.drawn(other, 20) is None
