"""A release by noisy counts: its exact posterior, its words, and the error to expect."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import special

from abcdp_core.mechanisms.noisy_counts import posterior
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.release import expectation, procedure
from abcdp_core.release.document import figure, synthetic
from abcdp_core.release.noisy_counts import NoisyCountsRecord, expected, inferred
from tests.release import small


def compositions(n: int) -> Iterator[tuple[int, ...]]:
    """All ways in which five whole numbers add up to n."""
    for bars in itertools.combinations(range(n + 4), 4):
        edges = (-1, *bars, n + 4)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("counts", [(-3, 14, 2, -1, 5), (90, 0, 0, 0, 0)])
def test_shares_of_the_series_have_their_exact_distribution(counts: tuple[int, ...]) -> None:
    n, request = 12, small.counts(epsilon_total=0.7)
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
    counts, request = (20, 10, 5, 15, 12), small.counts(draws=5000)
    told = inferred(request, 60, counts)
    event = SummaryNoise("one value", "replace", 2.0, request.event(60).scale, (1,) * 5)
    rng = np.random.default_rng(3)
    other = posterior(np.array(counts, float), event, 60, np.ones(5), 5000, rng)
    assert told.population.mean == pytest.approx(other.exact_mean)
    assert other.samples is not None
    for quantile in (0.05, 0.5, 0.95):
        ours, theirs = (np.quantile(each, quantile, axis=0) for each in (told.draws, other.samples))
        assert ours == pytest.approx(theirs, abs=0.012)


def test_record_figure_and_words_are_those_of_the_counts_in_percent() -> None:
    made = small.made("counts")
    assert isinstance(made, NoisyCountsRecord)
    content = made.content()
    told, names = content["posterior"], content["posterior"]["parameters"]
    assert names == ["0 to 20", "20 to 40", "40 to 60", "60 to 80", "80 to 100"]
    assert np.sum(told["draws"], axis=1) == pytest.approx(np.full(100, 100.0))
    for part in (told, content["series"]):
        low, high = np.transpose(part["intervals"])
        assert sum(part["means"]) == pytest.approx(100.0)
        assert (low < part["means"]).all()
        assert (part["means"] < high).all()
    assert synthetic(made, 3, np.random.default_rng(1)).value.between(0.0, 100.0).all()
    drawn = figure(made)
    assert list(drawn.data[0].x) == pytest.approx(told["intervals"][0])
    assert names[int(np.argmax(content["series"]["means"]))] in drawn.layout.title.text
    exact = small.counts(epsilon_total=1000.0, high=0.001)
    record = procedure.make(exact, np.full(20_000, 1e-4))
    assert record.table()["these values"].tolist() == ["100.000 %", *["0.000 %"] * 4]
    assert "\u22121, 2, 3, 4, 50" in dataclasses.replace(made, counts=(-1, 2, 3, 4, 50)).summary


@pytest.mark.parametrize(
    ("epsilon", "counts", "clear"),
    [(1.0, (60, 20, 10, 5, 5), True), (0.01, (60, 20, 10, 5, 5), False),
     (1000.0, (40, 40, 10, 5, 5), False), (1000.0, (41, 39, 10, 5, 5), True)],
)  # fmt: skip
def test_the_largest_share_is_named_only_if_it_is_clear(
    epsilon: float, counts: tuple[int, ...], clear: bool
) -> None:
    request = small.counts(epsilon_total=epsilon)
    made = NoisyCountsRecord(request, 100, counts, inferred(request, 100, counts))
    assert made.finding.startswith("The largest share lies in 0 to 20: about") == clear
    # Two ends that look alike are one number.
    interval = made.table()["these values, 90 % interval"][0].replace("40.0 to 40.0", "40.0")
    said = f"The largest share is unclear; 0 to 20 holds {interval} of these values"
    assert (made.finding == said) == (not clear)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_error_to_expect_is_a_close_bound(epsilon: float) -> None:
    n, request = 40, small.counts(epsilon_total=epsilon)
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
    request = small.counts(epsilon_total=epsilon)
    drawn, found = expectation.drawn(request, n), expected(request, n)
    assert drawn is not None
    private, plain, here = drawn.figure.data[:3]
    assert (np.array(private.y) >= np.array(plain.y)).all()
    assert here.y[0] == pytest.approx(100.0 * found.error)
    assert ("too few" in drawn.sentence) == (found.error >= 0.9 * found.prior)
    assert f"{n:,} values" in drawn.sentence
    assert expectation.drawn(small.kept(), 20) is None
