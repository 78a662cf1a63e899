r"""Single-precision random draws and noise densities, many at a time, for the samplers.

The samplers that carry people's values draw billions of numbers, and drawing in double precision
would take most of their time. Here numbers come in rows of :data:`LANES`, all treated alike without
branches, so the compiler uses vector instructions of any width. Operations are neither fused nor
reordered, so the width does not change a result.

**Random numbers.** A stream is :data:`LANES` generators xoshiro128++ (Blackman & Vigna, 2021) with
random initial states and period $2^{128} - 1$. Uniform numbers are the upper 24 bits of a word.
Exponential ones are $-\log u$ with $u = (k + 1/2)/2^{31}$, $k$ the upper 31 bits. Normal ones take
two words (Box & Muller, 1958). No exponential exceeds 22.2 and no normal $\pm 6.67$, where exact
ones lie with probability 2.3e-10 and 2.7e-11. Rounding moves a draw by at most 2e-6, or 4e-4 if
both normals of a pair are below 0.02.

**Densities.** Let $c$ be the response $y$ clipped to the interval, $d = (\mathrm{clip}(x) - c)/s$
and $o = (c - y)/s$. Relative to its maximum, the noise density is $e^{-|d|}$ for Laplace and
$e^{-d(d/2 + o)}$ for Gaussian noise. As $d$ is $(x - c)/s$ clipped between $(l - c)/s$ and
$(r - c)/s$, no large numbers are subtracted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.response import compiled
from abcdp_core.base.arrays import Array

Single = NDArray[np.float32]
Words = NDArray[np.uint32]

LANES = 64
"""Numbers in a row; results depend on it."""


def _single(*coefficients: float) -> Single:
    return np.array(coefficients, dtype=np.float32)


_LOG = _single(
    *(0.99999994, -0.50000346, 0.33335608, -0.2497156),
    *(0.19884235, -0.17212427, 0.16338152, -0.1037872),
)
"""log(1 + f) / f for 1 + f from √½ to √2, relative error 2e-7."""
_SINE = _single(1.5707964, -0.64596379, 0.079689927, -0.0046741576, 1.516785e-4)
"""sin(πa/2) / a by a², for a from −1 to 1, error 7e-9."""
_COSINE = _single(0.99999994, -1.2336983, 0.25365075, -0.020810628, 8.5819064e-4)
"""cos(πa/2) by a², error 5e-8."""
_POWER = _single(1.0, 0.693147, 0.24022242, 0.055507336, 0.009671513, 0.0013264727)
"""2 to the power of numbers from −½ to ½, relative error 1e-7."""

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
_LN_2, _PER_LN_2 = np.float32(math.log(2.0)), np.float32(1.0 / math.log(2.0))
_BITS = np.float32(31.0)
_PER_2_31, _PER_2_24 = np.float32(2.0**-31), np.float32(2.0**-24)
_ROUND = np.float32(1.5 * 2.0**23)
"""Adding this to a number rounds it to an integer."""
_LOWEST = np.float32(-87.0)
_ROOT_HALF = np.int32(0x3F3504F3)
"""The bits of √½."""


def streams(rng: np.random.Generator, count: int) -> Words:
    """Start independent random streams ``(count, 4 * LANES)``.

    A row is one stream's state: the first words of all lanes, then the second words and so on.
    """
    return rng.integers(2**32, size=(count, 4 * LANES), dtype=np.uint32)


@compiled
def _next(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> tuple[np.uint32, ...]:
    """Return a word and the next state: a step of xoshiro128++."""
    total = np.uint32(a + d)
    word = np.uint32(np.uint32(total << np.uint32(7)) | np.uint32(total >> np.uint32(25)))
    word = np.uint32(word + a)
    shifted = np.uint32(b << np.uint32(9))
    c = np.uint32(c ^ a)
    d = np.uint32(d ^ b)
    b = np.uint32(b ^ c)
    a = np.uint32(a ^ d)
    c = np.uint32(c ^ shifted)
    d = np.uint32(np.uint32(d << np.uint32(11)) | np.uint32(d >> np.uint32(21)))
    return word, a, b, c, d


@compiled
def _exponential(word: np.uint32) -> np.float32:
    """Turn a word into an exponential draw."""
    k = np.float32(np.float32(np.int32(word >> np.uint32(1))) + _HALF)
    bits = np.float32(k).view(np.int32)
    power = np.int32(np.int32(bits - _ROOT_HALF) >> np.int32(23))
    f = np.int32(bits - np.int32(power << np.int32(23))).view(np.float32) - _ONE
    value = _LOG[7]
    for degree in range(6, -1, -1):
        value = value * f + _LOG[degree]
    return (_BITS - np.float32(power)) * _LN_2 - value * f


@compiled
def normals(stream: Words, out: Single) -> None:
    """Fill ``(2k * LANES,)`` with normal draws and advance the stream."""
    for row in range(0, len(out), 2 * LANES):
        pair = out[row : row + 2 * LANES]
        for j in range(LANES):
            a, b, c, d = _state(stream, j)
            first, a, b, c, d = _next(a, b, c, d)
            second, a, b, c, d = _next(a, b, c, d)
            _keep(stream, j, a, b, c, d)
            radius = np.sqrt(_TWO * _exponential(first))
            turn = np.float32(np.int32(second)) * _PER_2_31
            square = turn * turn
            sine, cosine = _SINE[4], _COSINE[4]
            for degree in range(3, -1, -1):
                sine = sine * square + _SINE[degree]
                cosine = cosine * square + _COSINE[degree]
            # The angle covers half a circle; a bit unused by the radius chooses the half.
            side = np.int32(np.uint32(first << np.uint32(31)))
            cosine = np.int32(np.float32(cosine).view(np.int32) ^ side).view(np.float32)
            pair[j] = radius * (sine * turn)
            pair[LANES + j] = radius * cosine


@compiled
def exponentials(stream: Words, out: Single) -> None:
    """Fill ``(k * LANES,)`` with exponential draws of mean 1 and advance the stream."""
    for row in range(0, len(out), LANES):
        part = out[row : row + LANES]
        for j in range(LANES):
            part[j] = _exponential(_word(stream, j))


@compiled
def uniforms(stream: Words, out: Single) -> None:
    """Fill ``(k * LANES,)`` with multiples of 2⁻²⁴ in [0, 1) and advance the stream."""
    for row in range(0, len(out), LANES):
        part = out[row : row + LANES]
        for j in range(LANES):
            part[j] = np.float32(np.int32(_word(stream, j) >> np.uint32(8))) * _PER_2_24


@compiled
def _word(stream: Words, j: int) -> np.uint32:
    """Return the next word of a lane and advance the lane."""
    a, b, c, d = _state(stream, j)
    word, a, b, c, d = _next(a, b, c, d)
    _keep(stream, j, a, b, c, d)
    return word


@compiled
def _state(stream: Words, j: int) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    return stream[j], stream[LANES + j], stream[2 * LANES + j], stream[3 * LANES + j]


@compiled
def _keep(stream: Words, j: int, a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> None:
    stream[j] = a
    stream[LANES + j] = b
    stream[2 * LANES + j] = c
    stream[3 * LANES + j] = d


@compiled
def exp(x: np.float32) -> np.float32:
    """Return e to the power x <= 0, at least e⁻⁸⁷; relative error 3e-7 above −1, 5e-6 at −87."""
    scaled = max(x, _LOWEST) * _PER_LN_2
    shifted = scaled + _ROUND
    f = scaled - (shifted - _ROUND)
    value = _POWER[5]
    for degree in range(4, -1, -1):
        value = value * f + _POWER[degree]
    # The integer is in the lowest bits of the sum; the shift removes the others.
    power = np.int32(np.float32(shifted).view(np.int32) << np.int32(23))
    return np.int32(np.float32(value).view(np.int32) + power).view(np.float32)


def relative(responses: Array) -> Array:
    """Turn responses ``(t, 4)`` into blocks ``(T, 5, LANES)`` for their densities.

    The numbers are c, 1/s, (l − c)/s, (r − c)/s and o, as in this module's docstring. Zeros fill
    the last block; there all values are equally likely.
    """
    y, left, right, scale = responses.T
    nearest = np.clip(y, left, right)
    table = np.zeros((5, -(-len(y) // LANES) * LANES))
    parts = nearest, 1.0 / scale, (left - nearest) / scale, (right - nearest) / scale
    table[:, : len(y)] = *parts, (nearest - y) / scale
    return np.ascontiguousarray(table.reshape(5, -1, LANES).swapaxes(0, 1))


@compiled
def log_noise(away: np.float32, beyond: np.float32, gaussian: bool) -> np.float32:
    """Return the log noise density relative to its maximum, from d and o."""
    if gaussian:
        return -away * (_HALF * away + beyond)
    return -abs(away)
