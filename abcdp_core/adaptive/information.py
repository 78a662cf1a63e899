r"""Fisher information of a truncated, private response about location and scale (MATH A3, A12).

A person's value has the base density $f$ at $(\mu, \sigma) = (0, 1)$ and distribution function $F$;
the response is $Y = \mathrm{clip}(X, a, b) + $ noise of scale $s = (b - a)\,u$, where $u$ is the
scale per unit of width. Only values in $[a, b]$ contribute to derivatives. With the noise density
$L_s$, $j = 0$ for $\mu$ and $j = 1$ for $\sigma$,

$$\partial_j p(y) = \int_a^b z^j f(z)\,\partial_z L_s(y - z)\,dz, \qquad
F_{jk} = \int \frac{\partial_j p(y)\,\partial_k p(y)}{p(y)}\,dy. \tag{A3}$$

For Laplace noise let $A_j(y) = \int_a^y z^j f(z) e^{-(y-z)/s} dz$,
$B_j(y) = \int_y^b z^j f(z) e^{-(z-y)/s} dz$ and
$g = F(a) e^{-(y-a)/s} + (1 - F(b)) e^{-(b-y)/s} + A_0 + B_0$. Then $p = g / 2s$ and the score is
$(A_j - B_j) / (s g)$. It is constant outside $[a, b]$, where the mass on either side is $g/2$ at
the end. $A_j$ and $B_j$ follow from panel to panel, so the whole takes one pass. Panels are short
beside the base density and beside the noise, and meet at 0, where a density may have a kink. The
relative error is below 1e-12.

[Y23] estimates the same by nested Monte Carlo (its eq. 8): draws of $Y$, and for each of them draws
of $X$ weighted by the noise density (Fisher's identity).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.adaptive.families import Family
from abcdp_core.adaptive.noise import NoiseFamily, draw
from abcdp_core.base.arrays import Array

ORDER = 16
"""Gauss-Legendre nodes per panel."""

PANEL = 2.0
"""Length of the longest panel, in scales of the base density."""

NOISE_PANEL = 4.0
"""Length of the longest panel, in scales of the noise."""

REACH = 9.0
"""Range of Gaussian noise beyond the interval, in standard deviations; the rest has mass 1e-19."""

STEP = 0.125
"""Step of the trapezoid rule for Gaussian noise, in standard deviations."""

NOTHING = 1e-250
"""Densities below this are ignored."""

CHUNK = 200_000
"""Numbers per array at a time; larger arrays do not fit the processor's cache."""

NEARLY_NONE = 0.01
"""Below this z a series replaces z − arctan z, which would cancel."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


def _cumulative() -> Array:
    """Return the matrix from values at the nodes to integrals from -1 to each node."""
    legendre = np.polynomial.legendre.legvander(NODES, ORDER)
    degree = np.arange(1, ORDER)
    upper, lower = legendre[:, 2:], legendre[:, :-2]
    integrals = np.column_stack([NODES + 1.0, (upper - lower) / (2 * degree + 1)])
    projection = (np.arange(ORDER)[:, None] + 0.5) * (legendre[:, :-1].T * WEIGHTS)
    return integrals @ projection


UP_TO = _cumulative()
FROM = WEIGHTS - UP_TO


def laplace(family: Family, a: ArrayLike, b: ArrayLike, unit_scale: float) -> Array:
    """Return the information ``(..., 2, 2)`` about (μ, σ) at (0, 1) under Laplace noise (MATH A3).

    Args:
        family: base distribution.
        a, b: ends of the intervals in units of σ, ``a < b``, broadcast to shape ``(...)``.
        unit_scale: Laplace scale per unit of width, 1/ε_total.

    Raises:
        ValueError: an interval is empty or the scale is not positive.
    """
    count = 2 * ORDER * _panel_count(a, b, unit_scale)
    return _in_chunks(lambda a, b: _laplace(family, a, b, unit_scale), a, b, count)


def gaussian(family: Family, a: ArrayLike, b: ArrayLike, unit_scale: float) -> Array:
    """Return the same under Gaussian noise of standard deviation ``unit_scale`` (MATH A12)."""
    count = 2 * ORDER * _panel_count(a, b, unit_scale) * len(_places(unit_scale))
    return _in_chunks(lambda a, b: _gaussian(family, a, b, (b - a) * unit_scale), a, b, count)


def _in_chunks(
    several: Callable[[Array, Array], Array], a: ArrayLike, b: ArrayLike, count: int
) -> Array:
    """Apply ``several`` to chunks of intervals that fit the cache, with ``count`` numbers each."""
    low, high = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    chunks = min(low.size, -(-low.size * count // CHUNK))
    parts = np.array_split(np.column_stack([low.ravel(), high.ravel()]), chunks)
    joined = np.concatenate([several(part[:, 0], part[:, 1]) for part in parts])
    return joined.reshape(*low.shape, 2, 2)


def _middle(a: Array, b: Array) -> Array:
    """Return where panels meet: at the kink in 0 if the interval holds it."""
    return np.where((a < 0.0) & (b > 0.0), 0.0, 0.5 * (a + b))


def _panel_count(a: ArrayLike, b: ArrayLike, unit_scale: float) -> int:
    """Return the panels on each side of the middle that the most demanding interval needs."""
    low, high = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if not (np.all(low < high) and 0.0 < unit_scale < math.inf):
        raise ValueError("an interval needs a < b, and noise a positive finite scale.")
    middle = _middle(low, high)
    longest = np.minimum(PANEL, NOISE_PANEL * unit_scale * (high - low))
    return math.ceil(np.max(np.maximum(middle - low, high - middle) / longest))


def _panels(a: Array, b: Array, unit_scale: float) -> tuple[Array, Array]:
    """Return nodes ``(n, P, ORDER)``, measured from a, and half-lengths ``(n, P)`` of the panels.

    Measured from 0, nodes of a narrow interval far away would suffer from rounding.
    """
    count, middle = _panel_count(a, b, unit_scale), _middle(a, b)
    half = np.repeat(np.column_stack([middle - a, b - middle]), count, axis=1) / (2.0 * count)
    center = np.cumsum(2.0 * half, axis=1) - half
    return center[..., None] + half[..., None] * NODES, half


def _laplace(family: Family, a: Array, b: Array, unit_scale: float) -> Array:
    """Return the information ``(n, 2, 2)`` of n intervals."""
    offset, half = _panels(a, b, unit_scale)
    s = (b - a) * unit_scale
    z = a[:, None, None] + offset
    below, above = family.cdf(a), family.survival(b)
    in_scales = half / s[:, None]
    up = np.exp(in_scales[..., None] * NODES)
    to_edge = np.exp(-in_scales)
    density = family.density(z)
    moments = half[..., None] * np.stack([density, z * density])
    rising, falling = moments * up, moments / up
    # Contributions to each panel's left end from earlier panels, to its right end from later ones.
    before = _carry(to_edge**2, to_edge * (rising @ WEIGHTS))
    after = _carry(to_edge[:, ::-1] ** 2, (to_edge * (falling @ WEIGHTS))[..., ::-1])[..., ::-1]
    A = (rising @ UP_TO.T + (to_edge * before[..., :-1])[..., None]) / up
    B = (falling @ FROM.T + (to_edge * after[..., 1:])[..., None]) * up
    scale, width = s[:, None, None], (b - a)[:, None, None]
    outside = below[:, None, None] * np.exp(-offset / scale)
    outside += above[:, None, None] * np.exp((offset - width) / scale)
    inside = _outer(A - B, A[0] + B[0] + outside, half[..., None] * WEIGHTS / (2.0 * scale))
    across = np.exp((a - b) / s)
    left = _outer(after[..., :1], after[0][:, :1] + (below + above * across)[:, None], 0.5)
    right = _outer(before[..., -1:], before[0][:, -1:] + (above + below * across)[:, None], 0.5)
    return (inside + left + right) / s[:, None, None] ** 2


def _carry(decay: Array, added: Array) -> Array:
    """Return edge values ``(2, n, P + 1)``: the previous one times ``decay``, plus ``added``."""
    values = np.zeros((*added.shape[:-1], added.shape[-1] + 1))
    for panel in range(added.shape[-1]):
        values[..., panel + 1] = decay[..., panel] * values[..., panel] + added[..., panel]
    return values


def _outer(slopes: Array, density: Array, weights: Array | float) -> Array:
    """Sum slope_j slope_k / density for each interval ``(n, 2, 2)``."""
    # A vanishing density has a vanishing slope, and its inverse may overflow.
    ratio = weights / np.maximum(density, NOTHING)
    flat = slopes.reshape(*slopes.shape[:2], -1)
    weighted = flat * ratio.reshape(len(ratio), -1)
    return np.einsum("jnm,knm->njk", weighted, flat, optimize=False)


def _places(unit_scale: float) -> Array:
    """Return responses ``(K,)`` under Gaussian noise, in standard deviations above a."""
    span = 1.0 / unit_scale + 2.0 * REACH
    return np.linspace(-REACH, span - REACH, math.ceil(span / STEP) + 1)


def _gaussian(family: Family, a: Array, b: Array, s: Array) -> Array:
    """Return the information ``(n, 2, 2)`` of n intervals; s ``(n,)`` are standard deviations."""
    unit_scale = float(np.max(s / (b - a)))
    offset, half = _panels(a, b, unit_scale)
    z = a[:, None, None] + offset
    places = _places(unit_scale)
    density = family.density(z)
    moments = (half[..., None] * WEIGHTS * np.stack([density, z * density])).reshape(2, len(a), -1)
    # In standard deviations above a, so that nothing cancels far from 0.
    apart = places[:, None] - offset.reshape(len(a), 1, -1) / s[:, None, None]
    kernel = _bell(apart)
    ends = family.cdf(a)[:, None] * _bell(places)
    ends = ends + family.survival(b)[:, None] * _bell(places - ((b - a) / s)[:, None])
    p = ends + _apply(kernel, moments[0])
    slopes = np.stack([_apply(kernel * apart, moment) for moment in moments])
    return _outer(slopes, p, places[1] - places[0]) / s[:, None, None] ** 2


def _bell(z: Array) -> Array:
    return np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def _apply(kernels: Array, vectors: Array) -> Array:
    return (kernels @ vectors[..., None])[..., 0]


def laplace_limit(family: Family, point: ArrayLike, unit_scale: float) -> Array:
    r"""Return the information ``(..., 2, 2)`` as an interval closes on a point, with Laplace noise.

    The response becomes a noisy sign. With F = F(point), S = 1 − F, q = e^(−1/u) and
    z = √(FS/q) (1 − q) its information is f² [[1, x], [x, x²]] times

        (1 − q)² (1 + q) / (2 (F + Sq)(S + Fq)) + √q (z − arctan z) / (2 (FS)^(3/2)).

    Args:
        family: base distribution.
        point: where the interval closes, in units of σ.
        unit_scale: Laplace scale per unit of width.
    """
    below, above, outer = _sign(family, point)
    q, lost = math.exp(-1.0 / unit_scale), -math.expm1(-1.0 / unit_scale)
    both = below * above
    tails = lost**2 * (1.0 + q) / (2.0 * (below + above * q) * (above + below * q))
    root = math.exp(-0.5 / unit_scale)
    z = np.sqrt(both) * lost / max(root, np.finfo(float).tiny)
    # √q z avoids the unbounded z; a series avoids cancellation in z − arctan z.
    large = np.sqrt(both) * lost - root * np.arctan(z)
    t = np.minimum(z, NEARLY_NONE) ** 2
    inside = np.where(z < NEARLY_NONE, root * z * t * _series(t), large) / (2.0 * both**1.5)
    return (tails + inside)[..., None, None] * outer


def _series(t: Array) -> Array:
    """Return (z − arctan z) / z³ for t = z² below 1e-4."""
    return 1 / 3 - t * (1 / 5 - t * (1 / 7 - t / 9))


def gaussian_limit(family: Family, point: ArrayLike, unit_scale: float) -> Array:
    """Return the same under Gaussian noise of standard deviation ``unit_scale``."""
    below, above, outer = _sign(family, point)
    places = _places(unit_scale)
    near, far = _bell(places), _bell(places - 1.0 / unit_scale)
    p = below[..., None] * near + above[..., None] * far
    total = np.sum((far - near) ** 2 / np.maximum(p, NOTHING), axis=-1) * (places[1] - places[0])
    return np.asarray(total)[..., None, None] * outer


def _sign(family: Family, point: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the probabilities of either side of a point, and f² [[1, x], [x, x²]]."""
    x = np.asarray(point, dtype=float)
    slope = family.density(x)[..., None] * np.stack([np.ones_like(x), x], axis=-1)
    return family.cdf(x), family.survival(x), _squares(slope)


@dataclass(frozen=True)
class Noise:
    """A family of noise.

    Attributes:
        name: as in :data:`NOISES`.
        information: of intervals, like :func:`laplace`.
        limit: of an interval that closes on a point, like :func:`laplace_limit`.
        log_density: of noise of scale 1, up to a constant.
    """

    name: NoiseFamily
    information: Callable[[Family, ArrayLike, ArrayLike, float], Array]
    limit: Callable[[Family, ArrayLike, float], Array]
    log_density: Callable[[Array], Array]


LAPLACE = Noise("laplace", laplace, laplace_limit, lambda z: -np.abs(z))
GAUSSIAN = Noise("gaussian", gaussian, gaussian_limit, lambda z: -0.5 * z**2)

NOISES: dict[str, Noise] = {noise.name: noise for noise in (LAPLACE, GAUSSIAN)}
"""Name -> family of noise."""


@dataclass(frozen=True)
class Estimate:
    """Monte Carlo estimate of an information, its standard error and its bias, all ``(2, 2)``."""

    information: Array
    standard_error: Array
    bias: Array

    @property
    def error(self) -> Array:
        """Standard error plus absolute bias ``(2, 2)``."""
        return self.standard_error + np.abs(self.bias)


def monte_carlo(
    rng: np.random.Generator,
    noise: Noise,
    family: Family,
    interval: tuple[float, float],
    unit_scale: float,
    outer: int,
    inner: int,
) -> Estimate:
    """Estimate the information by nested Monte Carlo ([Y23] eq. 8; MATH A3).

    The inner sample's noise enters the squared score, so the estimate has a bias of c/inner. Each
    half of the inner sample alone has a bias of 2c/inner, so the difference estimates c/inner.

    Args:
        rng: source of randomness.
        noise, family: of the noise and of the values.
        interval: (a, b) in units of σ, ``a < b``.
        unit_scale: scale of the noise per unit of width.
        outer: number of responses, at least 2.
        inner: even number of values weighted for each response.
    """
    a, b = interval
    s = (b - a) * unit_scale
    y = np.clip(family.draw(rng, outer), a, b) + s * draw(rng, noise.name, outer)
    z = family.draw(rng, (outer, 2, inner // 2))
    logarithm = noise.log_density((y[:, None, None] - np.clip(z, a, b)) / s)
    weights = np.exp(logarithm - logarithm.max(axis=(1, 2), keepdims=True))
    slope = -family.score(z)
    sums = np.stack(
        [np.sum(weights * slope, axis=-1), np.sum(weights * (z * slope - 1.0), axis=-1)], axis=-1
    )
    totals = weights.sum(axis=-1)[..., None]
    whole = _squares(sums.sum(axis=1) / totals.sum(axis=1))
    halves = _squares(sums / np.maximum(totals, np.finfo(float).tiny))
    information = whole.mean(axis=0)
    return Estimate(
        information=information,
        standard_error=whole.std(axis=0, ddof=1) / math.sqrt(outer),
        bias=halves.mean(axis=(0, 1)) - information,
    )


def _squares(scores: Array) -> Array:
    """Return the outer products ``(..., 2, 2)`` of vectors ``(..., 2)`` with themselves."""
    return scores[..., :, None] * scores[..., None, :]
