r"""ABCDP by the sparse vector technique with Gaussian noise (MATH S6).

The run of :mod:`.sparse_vector` with m ~ N(0, σ₁²) and ν_t ~ N(0, σ₂²), σ₂ = 2 σ₁. Its guarantee is
(ε, δ) and grows with the logarithm of the number of ways to keep c of T draws. [P21] suggests it
for small N; Gaussian tails are lighter, but for the c and T of that paper its noise is larger than
Laplace noise with the same ε and δ = 0.

Noise is drawn at scale 1 and then scaled, so that another budget, threshold or c reuses it.

**What it costs.** A run over $T$ draws keeps at most $c$ of them. With noise of standard deviation
$\sigma_1$ on the threshold, drawn $s$ times ($s = c$ if it is redrawn after each kept draw, else
1), and $\sigma_2$ on each distance,

$$\delta(\epsilon) \le \binom{T}{c}\, \delta_\mu(\epsilon), \qquad
\mu^2 = \frac{s\Delta^2}{\sigma_1^2} + \frac{c\,(2\Delta)^2}{\sigma_2^2},$$

where $\delta_\mu$ is that of a Gaussian mechanism (MATH W3).

**Proof.** Lower the threshold noise by $\Delta$ in the neighboring data set: a density moved by
$\Delta$. Then every rejection is at least as likely there, and keeping a draw is the event of
noise moved by at most $2\Delta$. Let $D_j(p, q)$ be the hockey-stick divergence
$\int (p - e^\epsilon q)_+$ after $j$ more Gaussian pairs moved like this, and $G(n, j; p, q)$ the
divergence of all outcomes of $n$ draws with $j$ left to keep, weighted $p$ and $q$ so far. $D$ is
convex, grows with $p$ and falls with $q$, so a rejection costs nothing, and by data processing a
kept draw costs no more than its pair. Hence $G(n, j) \le G(n-1, j) + G(n-1, j-1)$ with
$G(n, 0) = D_0$ and $G(n, n) \le D_n$, so $G(n, j) \le \binom{n}{j} D_j$ as in Pascal's triangle;
a redrawn threshold adds its pair to the kept draw before it. Rényi divergences in the same way give

$$R(\alpha) \le \frac{\alpha\mu^2}{2} + \frac{\ln\binom{T}{c}}{\alpha - 1}.$$

This is the theorem of Zhu and Wang (2020) with a count that is proved. autodp 0.2.3.1 has
$c \ln(T/c)$ in place of $\ln\binom{T}{c}$ (``RDP_gaussian_svt_cgreater1``), which is smaller, and
*negative* for $T < c$. For $c = 1$ autodp also uses a bound for non-negative queries with a margin;
distances below a threshold are neither. T is public; the number of draws that a run looked at
depends on the data.

With few draws, releasing all noisy distances costs less, $\mu = \sqrt{T}\Delta/\sigma_2$ (MATH W3),
and the decisions follow from them. The cost is the smaller of the two.

- ``direct``: $\delta$ as above;
- ``rdp``: $R(\alpha)$ and the conversion of :mod:`abcdp_core.privacy.composition`;
- ``rdp-classic``: $R(\alpha)$ and the conversion of Mironov (2017), whose best order gives
  $\epsilon = \mu^2/2 + \mu \sqrt{2 (\ln\binom{T}{c} + \ln(1/\delta))}$.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.sparse_vector import (
    RunOptions,
    Trace,
    parts_of_run,
    released,
    with_noise,
)
from abcdp_core.mechanisms.thresholds import thresholds
from abcdp_core.privacy import Cost, Event, ThresholdRun, cost, tradeoff
from abcdp_core.privacy.calibration import (
    check_between_0_and_1,
    check_counts,
    check_one_of,
    check_positive,
    smallest_satisfying,
)
from abcdp_core.privacy.composition import from_renyi
from abcdp_core.privacy.gaussian_series import gaussian_delta

ACCOUNTANTS = ("rdp-classic", "rdp", "direct")

ROUNDING = 1e-12
"""Relative error allowed for in a conversion."""

EPSILONS = (0.0, *np.geomspace(1e-3, 100.0, 300).tolist())
"""Values of ε whose lines bound the trade-off curve."""


# ----------------------------------------------------------------------------------- what it costs


@dataclass(frozen=True)
class GaussianSparseVector(ThresholdRun):
    """One run with Gaussian noise; its scales are standard deviations (MATH S6).

    Attributes:
        steps: T, the most queries that a run can ask.
    """

    steps: int


@cost.register
def _(event: GaussianSparseVector, delta: float = 0.0) -> Cost:
    return Cost(epsilon(event, delta), delta)


@tradeoff.curve.register
def _(event: GaussianSparseVector, false_alarm: Array) -> tradeoff.Curve:
    miss = np.zeros_like(false_alarm)
    for each in EPSILONS:
        delta = math.exp(log_delta(event, each))
        miss = np.maximum(miss, tradeoff.approximate(each, delta, false_alarm))
    return tradeoff.Curve(false_alarm, miss, "bound")


def epsilon(event: GaussianSparseVector, delta: float, accountant: str = "direct") -> float:
    """Return ε of a run at a given δ, rounded up; ``inf`` without noise or without δ.

    Args:
        event: what was done.
        delta: δ.
        accountant: one of :data:`ACCOUNTANTS`; ``direct`` needs the least noise.

    Raises:
        ValueError: the accountant is none of these.
    """
    check_one_of(ACCOUNTANTS, accountant=accountant)
    if min(event.threshold_scale, event.query_scale) == 0 or not delta > 0:
        return math.inf
    if delta >= 1:
        return 0.0
    ways = (_converted(count, mu, delta, accountant) for count, mu in _ways(event))
    return min(ways) * (1.0 + ROUNDING)


def log_delta(event: GaussianSparseVector, epsilon: float) -> float:
    """Return the logarithm of δ at a given ε, by the ``direct`` accountant; rounded up."""
    return min(0.0, *(count + _log_gaussian_delta(mu, epsilon) for count, mu in _ways(event)))


def _ways(event: GaussianSparseVector) -> tuple[tuple[float, float], ...]:
    """Return two bounds on the cost, each a logarithm of a count and a μ, rounded up."""
    accepted = min(event.c, event.steps)
    b1, b2 = (
        (Fraction(event.sensitivity) / Fraction(scale)) ** 2
        for scale in (event.threshold_scale, event.query_scale)
    )
    redrawn = accepted if event.resample else 1
    log_count = math.log(math.comb(event.steps, accepted)) * (1.0 + ROUNDING)
    return (
        (log_count, _root(redrawn * b1 + 4 * accepted * b2)),
        (0.0, _root(event.steps * b2)),
    )


def _root(squared: Fraction) -> float:
    return math.sqrt(squared) * (1.0 + 1e-15)


def _converted(log_count: float, mu: float, delta: float, accountant: str) -> float:
    if accountant == "rdp-classic":
        return mu * mu / 2.0 + mu * math.sqrt(2.0 * (log_count - math.log(delta)))
    if accountant == "rdp":
        return from_renyi(lambda alpha: alpha * mu**2 / 2.0 + log_count / (alpha - 1.0), delta)
    allowed = math.log(delta) - log_count
    if _log_gaussian_delta(mu, 0.0) <= allowed:
        return 0.0
    return smallest_satisfying(
        lambda epsilon: _log_gaussian_delta(mu, epsilon) <= allowed, start=1.0
    )


def _log_gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the logarithm of δ of W3, rounded up, also where δ itself underflows."""
    # Imported here, so that starting needs no SciPy.
    from scipy import special

    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    if near <= 0.0:
        return math.log(gaussian_delta(mu, epsilon))
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
    """Return the least noise with σ₂ = 2 σ₁ whose cost is at most the budget, rounded safely.

    Args:
        epsilon_total, sensitivity, c, resample: as in :func:`.sparse_vector.calibrate`.
        delta: δ, between 0 and 1.
        steps: T, draws of the pool, at least 1.
        accountant: one of :data:`ACCOUNTANTS`.

    Raises:
        ValueError: an argument is out of range, or no noise is enough for this accountant.
    """
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    check_between_0_and_1(delta=delta)
    check_counts(c=c, steps=steps)

    def event(scale: float) -> GaussianSparseVector:
        return GaussianSparseVector(sensitivity, scale, 2.0 * scale, c, resample, steps)

    def private(scale: float) -> bool:
        return epsilon(event(scale), delta, accountant) <= epsilon_total

    try:
        return event(smallest_satisfying(private, start=sensitivity))
    except ValueError as error:
        raise ValueError(
            f"epsilon_total = {epsilon_total}, delta = {delta}: the accountant {accountant} finds "
            f"no such noise for c = {c} of {steps} draws; {error}"
        ) from error


# --------------------------------------------------------------------------------------- the run


def run(
    rho: Array, epsilon_abc: float, event: Event, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once with the noise of an event; arguments as of the Laplace form.

    Raises:
        TypeError: the event is of another kind.
    """
    if not isinstance(event, GaussianSparseVector):
        raise TypeError(f"{type(event).__name__} is not an event of a run with Gaussian noise.")
    query, threshold = rng.standard_normal(len(rho)), rng.standard_normal(event.c)
    return with_noise(rho, epsilon_abc, event, query, threshold)


# ---------------------------------------------------------------------------------- the contract


def calibrated(
    public: PublicSide, options: RunOptions, fitted: None, budget: Budget, accountant: str
) -> GaussianSparseVector:
    """Return the noise of a run over the pool."""
    return calibrate(
        budget.epsilon_total,
        budget.delta,
        public.distance.sensitivity(public.n, options.sensitivity),
        options.c,
        public.pool_size,
        resample=options.resample,
        accountant=accountant,
    )


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return what is paid for; rejected draws add only a logarithm (MATH S6)."""
    event = cast(GaussianSparseVector, prepared.event)
    return parts_of_run(event, prepared.public.pool_size, "μ")


MECHANISMS = (
    Mechanism(
        name="gaussian-sparse-vector",
        title="Sparse vector technique with Gaussian noise",
        description="Keeps draws until it has c, with Gaussian noise on the threshold and on "
        "every distance; each kept draw is paid for.",
        source="ours",
        options=RunOptions(),
        takes=("epsilon_abc", "c", "sensitivity"),
        accountants=Mechanism.with_delta(*dict.fromkeys(("direct", *ACCOUNTANTS))),
        calibrate=calibrated,
        release=functools.partial(released, run),
        parts=parts,
        grid=thresholds,
        shown_in=("accounting",),
    ),
)
