"""ABCDP by the sparse vector technique with Gaussian noise (MATH S6).

The run of :mod:`.sparse_vector` with m ~ N(0, σ₁²) and ν_t ~ N(0, σ₂²), σ₂ = 2 σ₁. Its guarantee is
(ε, δ) and grows with the logarithm of the number of ways to accept c of T draws. [P21] names it as
a remedy for small N; Gaussian tails are lighter, but for the c and T of that paper its noise is
larger than Laplace noise with the same ε and δ = 0.

Noise is drawn at scale 1 and then scaled, so that a change of budget, threshold or c moves the same
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core.mechanisms import (
    Budget,
    Distances,
    Mechanism,
    Part,
    Prepared,
    PublicSide,
    Release,
    thresholds,
)
from abcdp_core.mechanisms.sparse_vector import Trace, decide, parts_of_run
from abcdp_core.parameters import Params
from abcdp_core.privacy import Event, GaussianSparseVector, NonPrivate
from abcdp_core.privacy.gaussian_sparse_vector import ACCOUNTANTS, calibrate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What is asked of a run; public.

    Attributes:
        epsilon_total: privacy budget; ``inf`` for no noise.
        delta: δ, between 0 and 1; of no effect without noise.
        epsilon_abc: similarity threshold, in the unit of the distance.
        c: acceptances after which the run stops.
        resample: whether the threshold's noise is redrawn after each acceptance.
        sensitivity: Δ of a distance.
        accountant: ``direct``, ``rdp`` or ``rdp-classic``; the latter need more noise.
    """

    epsilon_total: float
    delta: float
    epsilon_abc: float
    c: int
    resample: bool
    sensitivity: float
    accountant: str = "direct"

    def event(self, steps: int) -> Event:
        """The event of a run over a pool of ``steps`` draws, which holds its noise scales.

        Raises:
            ValueError: a setting is out of range.
        """
        if math.isinf(self.epsilon_total):
            return NonPrivate()
        return calibrate(
            self.epsilon_total,
            self.delta,
            self.sensitivity,
            self.c,
            steps,
            resample=self.resample,
            accountant=self.accountant,
        )


def draw_noise(rng: np.random.Generator, steps: int, c: int) -> tuple[Array, Array]:
    """Normal noise of scale 1: for the queries ``(steps,)``, then for the thresholds ``(c,)``."""
    return rng.standard_normal(steps), rng.standard_normal(c)


def release(
    comparison: Distances, setting: Setting, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once over all distances ``(T,)`` of a comparison, T at least 1."""
    rho = comparison.rho
    event = setting.event(len(rho))
    return run(rho, setting.epsilon_abc, setting.c, setting.resample, event, rng)


def run(
    rho: Array, epsilon_abc: float, c: int, resample: bool, event: Event, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once with the noise of an event; arguments as of the Laplace form."""
    query, threshold = np.zeros(len(rho)), np.zeros(c)
    if isinstance(event, GaussianSparseVector):
        query_noise, threshold_noise = draw_noise(rng, len(rho), c)
        query, threshold = event.query_scale * query_noise, event.threshold_scale * threshold_noise
    return decide(rho, rho + query, epsilon_abc + threshold, epsilon_abc, resample, event)


# ---------------------------------------------------------------------------------- the contract


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    epsilon_abc: float = thresholds.EPSILON_ABC.field(0.1)
    c: int = par.C.field(10)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def calibrated(
    public: PublicSide, options: Options, learnt: None, budget: Budget, accountant: str
) -> GaussianSparseVector:
    """The noise of a run over the pool."""
    return calibrate(
        budget.epsilon_total,
        budget.delta,
        public.distance.sensitivity(public.n, options.sensitivity),
        options.c,
        public.pool_size,
        resample=options.resample,
        accountant=accountant,
    )


def released(
    prepared: Prepared, comparison: Distances, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once over all distances of a comparison."""
    asked: Options = prepared.options
    rho = comparison.rho
    return run(rho, asked.epsilon_abc, asked.c, asked.resample, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """What the budget is spent on; rejected draws are free, but for a logarithm (MATH S6)."""
    event = cast(GaussianSparseVector, prepared.event)
    return parts_of_run(event, prepared.public.pool_size, "μ")


MECHANISMS = (
    Mechanism(
        name="gaussian-sparse-vector",
        title="Sparse vector technique with Gaussian noise",
        description="Which draws are accepted, until c are: Gaussian noise on the threshold and on "
        "every distance; each acceptance is paid for.",
        source="ours",
        options=Options(),
        takes=("epsilon_abc", "c", "sensitivity"),
        accountants=dict.fromkeys(
            ("direct", *(each for each in ACCOUNTANTS if each != "direct")), "approximate"
        ),
        calibrate=calibrated,
        release=released,
        parts=parts,
        grid=thresholds.thresholds,
        shown_in=("accounting",),
    ),
)
