"""Draws in single precision: exact words, functions, and distributions with broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from abcdp_core.adaptive import simd_rng
from abcdp_core.adaptive.simd_rng import LANES
from abcdp_core.base.streams import generator
from tests.statistics import assert_distribution, assert_frequencies, assert_mean, rejects

Single = NDArray[np.float32]
Fill = Callable[[NDArray[np.uint32], Single], None]


def draw(fill: Fill, rows: int, run: int = 0) -> NDArray[np.float64]:
    """Draws ``(rows, LANES)`` of a new stream."""
    out = np.empty(rows * LANES, dtype=np.float32)
    fill(simd_rng.streams(generator(1, "single", run), 1)[0], out)
    return out.astype(float).reshape(rows, LANES)


REFERENCE = (
    *(641, 1573767, 3222811527, 3517856514, 836907274),
    *(4247214768, 3867114732, 1355841295, 495546011, 621204420),
)
"""First words of the authors' program from the state 1, 2, 3, 4."""


def test_words_are_those_of_xoshiro() -> None:
    """In every other lane, so that mixed lanes are seen too."""
    state = simd_rng.streams(generator(0, "words"), 1)[0]
    state.reshape(4, LANES)[:, ::2] = [[1], [2], [3], [4]]
    out = np.empty(10 * LANES, dtype=np.float32)
    simd_rng.uniforms(state, out)
    expected = np.array(REFERENCE)[:, None] >> 8
    assert (out.reshape(10, LANES)[:, ::2] * 2.0**24 == expected).all()


def test_draws_are_the_same_on_every_machine() -> None:
    # Fused or reordered operations would change the last bits of some of them.
    stream, found = np.arange(4 * LANES, dtype=np.uint32), []
    for fill in (simd_rng.normals, simd_rng.exponentials):
        out = np.empty(64 * LANES, dtype=np.float32)
        fill(stream, out)
        found.append(int(np.bitwise_xor.reduce(out.view(np.uint32))))
    assert found == [2039253979, 2066375624]


def test_the_exponential_is_the_exponential() -> None:
    exp = numba.vectorize(lambda x: simd_rng.exp(x))
    x = np.linspace(-87.0, 0.0, 200_001).astype(np.float32)
    error = np.abs(exp(x) / np.exp(x.astype(float)) - 1.0)
    assert error[x > -1.0].max() < 3e-7
    assert error.max() < 5e-6
    assert exp(np.float32(0.0)) == 1.0
    far = exp(np.float32([-88.0, -1e30, -np.inf]))
    assert (far == exp(np.float32(-87.0))).all()
    assert far[0] == pytest.approx(math.exp(-87.0), rel=1e-5)


@pytest.mark.parametrize("gaussian", [False, True])
def test_densities_are_those_of_the_noise(gaussian: bool) -> None:
    rng = generator(0, "densities")
    y = np.concatenate([50.0 + 30.0 * rng.standard_normal(97), [1e4, -1e4, 49.0, 51.0]])
    half, scale = rng.uniform(0.01, 60.0, len(y)), rng.uniform(0.3, 20.0, len(y))
    rows = np.column_stack([y, 50.0 - half, 50.0 + half, scale])
    table = simd_rng.relative(rows)
    people = table.swapaxes(0, 1).reshape(5, -1)
    assert not people[:, len(y) :].any(), "nobody is there"
    nearest, rate, low, high, beyond = people[:, : len(y)]
    made = numba.vectorize(lambda d, o: simd_rng.log_noise(d, o, gaussian))
    for x in (-1e6, 20.0, 48.0, 50.0, 53.0, 1e6):
        away = np.clip((x - nearest) * rate, low, high).astype(np.float32)
        found = made(away, beyond.astype(np.float32))
        kept = (y - np.clip(x, rows[:, 1], rows[:, 2])) / scale
        least = (y - np.clip(y, rows[:, 1], rows[:, 2])) / scale
        exact = (least**2 - kept**2) / 2.0 if gaussian else np.abs(least) - np.abs(kept)
        np.testing.assert_allclose(found, exact, rtol=2e-6, atol=1e-6)
        assert (found <= 0.0).all()


ROWS = 1024


@pytest.mark.parametrize(
    ("fill", "law"),
    [(simd_rng.normals, stats.norm.cdf), (simd_rng.exponentials, stats.expon.cdf),
     (simd_rng.uniforms, stats.uniform.cdf)],
)  # fmt: skip
def test_draws_have_their_distribution(fill: Fill, law: Callable[..., NDArray[np.float64]]) -> None:
    """65 536 draws see a gap of 0.02 between the distribution functions."""
    found = draw(fill, ROWS)
    assert_distribution(found.ravel(), law)
    # One lane alone, through time.
    for lane in (0, LANES - 1):
        assert_distribution(found[:, lane], law)
    assert rejects(assert_distribution, 1.06 * found.ravel(), law)


def are_independent(pairs: NDArray[np.float64]) -> None:
    """Pairs ``(n, 2)`` are independent normals, by the sum of squares and the product's sign."""
    assert_distribution((pairs**2).sum(axis=1) / 2.0, stats.expon.cdf)
    assert_mean(np.sign(pairs.prod(axis=1)), 0.0, -1.0, 1.0)


def test_normals_are_independent_of_their_neighbors() -> None:
    """Of the other in their pair, of the next pair, and of the next lane."""
    found = draw(simd_rng.normals, ROWS).reshape(-1, 2, LANES)
    for first, second in (
        (found[:, 0], found[:, 1]),
        (found[::2, 1], found[1::2, 0]),
        (found[:, 0, ::2], found[:, 0, 1::2]),
    ):
        pairs = np.column_stack([first.ravel(), second.ravel()])
        are_independent(pairs)
        pairs[::4, 1] = pairs[::4, 0]
        assert rejects(are_independent, pairs)


def tails(values: NDArray[np.float64]) -> None:
    """Numbers of normals beyond 2, 3, 3.5, 4 on either side."""
    edges = np.array([-np.inf, -4.0, -3.5, -3.0, -2.0, 2.0, 3.0, 3.5, 4.0, np.inf])
    counts = np.array([(values > low).sum() for low in edges])
    assert_frequencies(counts[:-1] - counts[1:], np.diff(special.ndtr(edges)))


def test_tails_of_normals_have_their_probabilities() -> None:
    """A million draws, of which 63 are expected beyond ± 4; a scale off by 1 % is seen."""
    values = draw(simd_rng.normals, 16 * ROWS).ravel()
    tails(values)
    assert rejects(tails, 1.01 * values)
    assert rejects(tails, np.clip(values, -3.9, 3.9))
