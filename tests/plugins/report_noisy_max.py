"""A mechanism in one file: report noisy max in c rounds that share the budget equally.

Each round adds Laplace noise of scale 2Δ/ε₀ to every remaining distance and releases the index of
the smallest. It is ε₀-differentially private (Dwork & Roth, 2014, Claim 3.9), so c rounds use c ε₀.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import Params
from abcdp_core.mechanisms import Mechanism, Part, Release
from abcdp_core.privacy import Cost, Event, cost


@dataclass(frozen=True)
class NoisyMinima(Event):
    sensitivity: float
    scale: float
    c: int


@cost.register
def _(event: NoisyMinima, delta: float = 0.0) -> Cost:
    return Cost(event.c * 2.0 * event.sensitivity / event.scale * (1.0 + 1e-12))


@dataclass(frozen=True)
class Options(Params):
    c: int = par.C.field(5)


def calibrate(public, options, fitted, budget, accountant):
    change = public.distance.sensitivity(public.n)
    scale = 2.0 * options.c * change / budget.epsilon_total * (1.0 + 1e-11)
    return NoisyMinima(change, scale, options.c)


def release(prepared, comparison, rng):
    left = np.array(comparison.rho)
    scale = getattr(prepared.event, "scale", 0.0)
    chosen = []
    for _ in range(min(prepared.options.c, len(left))):
        chosen.append(int(np.argmin(left + scale * rng.laplace(size=len(left)))))
        left[chosen[-1]] = np.inf
    weights = np.full(len(chosen), 1.0 / len(chosen))
    return Release(np.array(chosen), weights, len(left), prepared.event)


def parts(prepared):
    event = prepared.event
    each = 2.0 * event.sensitivity / event.scale
    return (Part("selected draw", event.c, event.scale, each, "ε"),)


MECHANISMS = (
    Mechanism(
        name="report-noisy-max",
        title="Report noisy max",
        description="The indices of c draws, with fresh Laplace noise on all distances for each.",
        source="[DR14] Claim 3.9",
        options=Options(),
        takes=("c",),
        accountants={"linear": "pure"},
        calibrate=calibrate,
        release=release,
        parts=parts,
    ),
)
