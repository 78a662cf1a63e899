"""Clamped and suppressed numbers, against sums over all that may be under them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.parameters import ParameterError
from abcdp_core.posterior.censoring import Censored, Hidden, Summable
from abcdp_core.posterior.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from abcdp_core.posterior.published import inference, problems, report
from tests.statistics import assert_frequencies

COUNTS = np.tile(np.array([*itertools.product(range(5), repeat=5)], dtype=float), (6, 1))
"""All values of five counts from 0 to 4, six times, so that enough draws carry weight."""

NOISE = np.arange(-60.0, 61.0)
GEOMETRIC = math.tanh(0.5 / 1.5) * np.exp(-np.abs(NOISE) / 1.5)
"""Two-sided geometric noise of scale 1.5."""


def share(exact: np.ndarray, shown: object, rule: str) -> np.ndarray:
    """Probability that an exact count is shown so, by a sum over the noise."""
    noisy = np.maximum(exact[:, None] + NOISE, 0.0)
    decides = {"": np.full_like(noisy, 9.0), "after noise": noisy}.get(rule, exact[:, None])
    hidden = (decides >= 1.0) & (decides <= 2.0)
    is_so = hidden if shown == "*" else (noisy == shown) & ~hidden
    return np.asarray((is_so * GEOMETRIC).sum(axis=1) / GEOMETRIC.sum())


@pytest.mark.parametrize(
    ("rule", "query"),
    [
        ("", [0, 3, 0, 5, 1]),
        ("after noise", [0, "*", 3, "*", 6]),
        ("before noise", [0, "*", 2, "*", 1]),
    ],
)
def test_five_counts_have_the_posterior_of_a_sum_over_all(
    rule: str, query: list[object], tmp_path: Path
) -> None:
    names = [f"theta.{name},summary.{name}" for name in "abcde"]
    rows = [",".join(f"{value:g},{value:g}" for value in row) for row in COUNTS]
    (tmp_path / "pool.csv").write_text("\n".join([",".join(names), *rows]), encoding="utf-8")
    stated = f'suppressed = "{rule}"\nintervals = {{"*" = [1, 2]}}' if rule else ""
    file = tmp_path / "table.toml"
    file.write_text(
        f'pool = "pool.csv"\nquery = {query}\nepsilon_total = 1\n[noise]\nlaw = "geometric"\n'
        f"scale = 1.5\nclamped = 0\n{stated}".replace("'", '"'),
        encoding="utf-8",
    )
    problem = problems.read(file)
    assert problem.as_shown == query
    terms = [share(COUNTS[:, j], shown, rule) for j, shown in enumerate(query)]
    weights = np.prod(terms, axis=0)
    found = np.exp(problem.noise.log_density(problem.query, COUNTS))
    np.testing.assert_allclose(found, weights, rtol=1e-9)
    summary = inference.infer(problem).summary
    assert summary.way == "weights"
    # 10,000 draws of equal weight stand for the weighted ones.
    mean = weights @ COUNTS / weights.sum()
    np.testing.assert_allclose(summary.found.mean, mean, atol=0.02)
    said = report.sentence(problem, summary)
    assert ("2 of 5 numbers are suppressed; intervals are used instead." in said) == bool(rule)
    decided = {"before noise": "exact", "after noise": "noisy"}.get(rule, "")
    assert report.spent(problem).count(f"; {decided} numbers decided which") == bool(rule)


def exactly(law: Summable) -> stats.rv_frozen:
    return stats.laplace(0.0, 2.0) if isinstance(law, Laplace) else stats.norm(0.0, 2.0)


@pytest.mark.parametrize("law", [Laplace((2.0,)), Gaussian((2.0,))])
def test_continuous_noise_sums_over_an_interval_far_in_its_tails_too(law: Summable) -> None:
    censored = Censored(law, hidden=(Hidden("c", 1.0, 4.0),))
    exact, z = np.array([-40.0, 0.0, 2.5, 40.0])[:, None], censored.intervals[0][2]
    found = censored.log_density(np.array([z]), exact)
    # By symmetry about the middle of the interval, an upper tail has the digits of a lower one.
    assert found[0] == pytest.approx(censored.log_density(np.array([z]), 5.0 - exact[:1])[0])
    known, apart = exactly(law), np.array([0.0, 2.5])
    expected = known.cdf(4.0 - apart) - known.cdf(1.0 - apart)
    np.testing.assert_allclose(np.exp(found[1:3]), expected, rtol=1e-12)
    assert found[3] == pytest.approx(math.log(known.sf(36.0) - known.sf(39.0)), rel=1e-9)


@pytest.mark.parametrize("scale", [0.4, 3.0, 2000.0])
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_discrete_noise_sums_over_its_steps(kind: type[DiscreteLaplace], scale: float) -> None:
    law, step = kind((0.5 * scale,), (0.5,)), 0.5
    values = step * np.arange(-40 * max(3.0, scale), 40 * max(3.0, scale) + 1)
    mass = np.exp(law.log_density(np.zeros(1), values[:, None]))
    for apart in (-3.0, -0.5, 0.0, 1.5):
        below = np.exp(law.log_below(0, np.array([apart])))[0]
        assert below == pytest.approx(mass[values <= apart].sum(), rel=1e-6)


@pytest.mark.parametrize("by_exact", [False, True])
def test_draws_show_what_the_density_says(by_exact: bool) -> None:
    law = DiscreteLaplace((1.5, 1.5), of=(2, 0))
    noise = Censored(law, 0.0, (Hidden("*", 1.0, 2.0), Hidden("c", 8.0, math.inf)), by_exact)
    exact = np.tile([3.0, -7.0, 2.0], (20_000, 1))
    drawn = noise.noisy(np.random.default_rng(1), exact)
    assert drawn.shape == (20_000, 2)
    shown = np.unique(np.concatenate([drawn[:, 1], np.arange(0.0, 40.0)]))
    queries = np.column_stack([shown, shown, np.full(len(shown), 4.0)])
    # The other number has a fixed value, whose share is divided out.
    shares = np.array([np.exp(noise.log_density(z, exact[:1] * [1, 1, 2]))[0] for z in queries])
    assert_frequencies(np.array([(drawn[:, 1] == z).sum() for z in shown]), shares / shares.sum())


REFUSED = [
    ('[3, "*"]', 'suppressed = "after noise"', "noise.intervals: state what * hides."),
    ('[3, "<5"]', "", 'noise.suppressed: say "after noise" or "before noise".'),
    ("[3, 2]", 'suppressed = "after noise"', "noise.suppressed: no number has a mark; state in"),
    ('[3, "*"]', 'suppressed = "after noise"\nintervals = {"*" = [4, 1]}', "low at most high."),
    ('[3, "*"]', 'suppressed = "after noise"\nintervals = {"*" = [-inf, inf]}', "a finite end"),
    ('[3, "*"]', 'suppressed = "after noise"\nintervals = {"*" = [1.2, 1.8]}', "no multiple of 1"),
    ('["<5", "*"]', 'suppressed = "after noise"\nintervals = {"*" = [4, 6]}', "overlaps another."),
    ('[3, "<5"]', 'suppressed = "after noise"', "query, number 1 = 3: numbers below 5 are suppr"),
    ("[3, -1]", "clamped = 0", "query, number 2 = -1: is below clamped = 0."),
    ('[9, "c"]', 'suppressed = "after noise"\nclamped = 5\nintervals = {c = [1, 4]}', "below cl"),
]


@pytest.mark.parametrize(("query", "stated", "words"), REFUSED)
def test_an_impossible_table_is_refused(
    query: str, stated: str, words: str, tmp_path: Path
) -> None:
    rows = "".join(f"{row / 7:.3f},{row},{row % 5}\n" for row in range(150))
    (tmp_path / "pool.csv").write_text(f"theta.a,summary.s,summary.t\n{rows}", encoding="utf-8")
    file = tmp_path / "table.toml"
    text = f'pool = "pool.csv"\nquery = {query}\n[noise]\nlaw = "geometric"\nscale = 2\n{stated}'
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        problems.read(file)
    assert words in str(caught.value)
    sample = text.partition("[noise]")[0] + '[noise]\nlaw = "binomial-sample"\ntrials = 4\n'
    file.write_text(f"{sample}population = 9\n", encoding="utf-8")
    if '"' in query:
        with pytest.raises(ParameterError, match="needs laplace or gaussian, discrete or"):
            problems.read(file)
