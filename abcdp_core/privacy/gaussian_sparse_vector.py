r"""Sparse vector technique with Gaussian noise: what it costs (MATH S6).

A run over $T$ draws accepts at most $c$ of them. With noise of standard deviation $\sigma_1$ on the
threshold, drawn $s$ times ($s = c$ if it is redrawn after each acceptance, else 1), and $\sigma_2$
on each distance,

$$\delta(\epsilon) \le \binom{T}{c}\, \delta_\mu(\epsilon), \qquad
\mu^2 = \frac{s\Delta^2}{\sigma_1^2} + \frac{c\,(2\Delta)^2}{\sigma_2^2},$$

where $\delta_\mu$ is that of a Gaussian mechanism (MATH W3).

**Proof.** Lower the threshold noise by $\Delta$ in the neighbouring data set: a density moved by
$\Delta$. Then every rejection gets at least as likely there, and every acceptance is one of noise
moved by at most $2\Delta$. Let $D_j(p, q)$ be the hockey-stick divergence
$\int (p - e^\epsilon q)_+$ after $j$ more Gaussian pairs moved like this, and $G(n, j; p, q)$ that
of all outcomes of $n$ draws with $j$ acceptances left, weighed $p$ and $q$ so far. $D$ is convex,
grows with $p$ and falls with $q$, so a rejection costs nothing, and by data processing an
acceptance costs no more than its pair. Hence $G(n, j) \le G(n-1, j) + G(n-1, j-1)$ with
$G(n, 0) = D_0$ and $G(n, n) \le D_n$, so $G(n, j) \le \binom{n}{j} D_j$ as in Pascal's triangle;
a redrawn threshold adds its pair to the acceptance before it. The same with Rényi divergences gives

$$R(\alpha) \le \frac{\alpha\mu^2}{2} + \frac{\ln\binom{T}{c}}{\alpha - 1}.$$

This is the theorem of Zhu and Wang (2020) with a count that is proved. autodp 0.2.3.1 has
$c \ln(T/c)$ in place of $\ln\binom{T}{c}$ (``RDP_gaussian_svt_cgreater1``). That is smaller, 0
where $c = T$, and for $T < c$ *negative*, which no divergence is. Exact divergences of small runs
stay under half of either, so no violation was found for $T \ge c$; but only one of them is a
theorem. For $c = 1$ autodp takes, where it is smaller, a bound that supposes non-negative queries
and a margin; distances below a threshold keep neither. The number of draws is T, which is public;
the number that a run happened to look at depends on the data.

Where there are few draws, releasing all noisy distances costs less: $\mu = \sqrt{T}\Delta/\sigma_2$
(MATH W3), and decisions follow from them. The cost is the smaller of the two.

- ``direct``: $\delta$ as above;
- ``rdp``: $R(\alpha)$ and the conversion of :mod:`.composition`;
- ``rdp-classic``: $R(\alpha)$ and that of Mironov (2017), whose best order is known:
  $\epsilon = \mu^2/2 + \mu \sqrt{2 (\ln\binom{T}{c} + \ln(1/\delta))}$.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from abcdp_core.privacy import local
from abcdp_core.privacy.calibration import smallest_satisfying
from abcdp_core.privacy.composition import from_renyi
from abcdp_core.privacy.events import GaussianSparseVector

ACCOUNTANTS = ("rdp-classic", "rdp", "direct")

ROUNDING = 1e-12
"""Relative error allowed for in a conversion."""


def epsilon(event: GaussianSparseVector, delta: float, accountant: str = "direct") -> float:
    """ε of a run at a given δ, rounded up; ``inf`` without noise or without δ.

    Args:
        event: what was done.
        delta: δ.
        accountant: one of :data:`ACCOUNTANTS`; ``direct`` needs the least noise.

    Raises:
        ValueError: the accountant is none of these.
    """
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant = {accountant}: must be one of {', '.join(ACCOUNTANTS)}.")
    if min(event.threshold_scale, event.query_scale) == 0 or not delta > 0:
        return math.inf
    if delta >= 1:
        return 0.0
    convert = {"rdp-classic": _classic, "rdp": _renyi, "direct": _direct}[accountant]
    return min(convert(log_count, mu, delta) for log_count, mu in _ways(event)) * (1.0 + ROUNDING)


def log_delta(event: GaussianSparseVector, epsilon: float) -> float:
    """Logarithm of δ at a given ε, at most 0, by the ``direct`` accountant; rounded up."""
    return min(0.0, *(count + _log_gaussian_delta(mu, epsilon) for count, mu in _ways(event)))


def _ways(event: GaussianSparseVector) -> tuple[tuple[float, float], ...]:
    """Ways to bound the cost: logarithm of a count, and μ; both rounded up."""
    accepted = min(event.c, event.steps)
    b1, b2 = (
        (Fraction(event.sensitivity) / Fraction(scale)) ** 2
        for scale in (event.threshold_scale, event.query_scale)
    )
    thresholds = accepted if event.resample else 1
    log_count = math.log(math.comb(event.steps, accepted)) * (1.0 + ROUNDING)
    return (
        (log_count, _root(thresholds * b1 + 4 * accepted * b2)),
        (0.0, _root(event.steps * b2)),
    )


def _root(squared: Fraction) -> float:
    return math.sqrt(squared) * (1.0 + 1e-15)


def _classic(log_count: float, mu: float, delta: float) -> float:
    return mu * mu / 2.0 + mu * math.sqrt(2.0 * (log_count - math.log(delta)))


def _renyi(log_count: float, mu: float, delta: float) -> float:
    return from_renyi(lambda alpha: alpha * mu**2 / 2.0 + log_count / (alpha - 1.0), delta)


def _direct(log_count: float, mu: float, delta: float) -> float:
    allowed = math.log(delta) - log_count
    if _log_gaussian_delta(mu, 0.0) <= allowed:
        return 0.0
    return smallest_satisfying(lambda epsilon: _log_gaussian_delta(mu, epsilon) <= allowed, 1.0)


def _log_gaussian_delta(mu: float, epsilon: float) -> float:
    """Logarithm of δ of W3, rounded up, also where δ is far below the smallest number."""
    # Inside the function: what needs none of these functions starts without SciPy.
    from scipy import special

    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    if near <= 0.0:
        return math.log(local.gaussian_delta(mu, epsilon))
    # e^ε φ(far) = φ(near), so δ = φ(near) (M(near) − M(far)) with Mills' ratio M.
    gap = special.erfcx(near / math.sqrt(2.0)) * (1.0 + 1e-14)
    gap -= special.erfcx(far / math.sqrt(2.0)) * (1.0 - 1e-14)
    return -near * near / 2.0 * (1.0 - 1e-14) + math.log(gap / 2.0)


@functools.lru_cache(maxsize=1024)
def calibrate(
    epsilon_total: float,
    delta: float,
    sensitivity: float,
    c: int,
    steps: int,
    *,
    resample: bool,
    accountant: str = "direct",
) -> GaussianSparseVector:
    """The least noise with σ₂ = 2 σ₁ whose cost is at most the budget, rounded to the safe side.

    Args:
        epsilon_total: privacy budget, above 0.
        delta: δ, between 0 and 1.
        sensitivity: Δ of every query, above 0.
        c: acceptances, at least 1.
        steps: T, draws of the pool, at least 1.
        resample: whether the threshold's noise is redrawn after each acceptance.
        accountant: one of :data:`ACCOUNTANTS`.

    Raises:
        ValueError: an argument is out of range, or no noise is enough for this accountant.
    """
    for name, value in {"epsilon_total": epsilon_total, "sensitivity": sensitivity}.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} = {value}: must be positive and finite.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta = {delta}: must lie between 0 and 1.")
    if min(c, steps) < 1:
        raise ValueError(f"c = {c}, steps = {steps}: both must be at least 1.")

    def event(scale: float) -> GaussianSparseVector:
        return GaussianSparseVector(sensitivity, scale, 2.0 * scale, c, resample, steps)

    def private(scale: float) -> bool:
        return epsilon(event(scale), delta, accountant) <= epsilon_total

    try:
        return event(smallest_satisfying(private, sensitivity))
    except ValueError as error:
        raise ValueError(
            f"epsilon_total = {epsilon_total}, delta = {delta}: out of reach of the accountant "
            f"{accountant} for c = {c} of {steps} draws; {error}"
        ) from error
