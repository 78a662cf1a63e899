r"""Data augmentation for numbers that are sums over records (MATH E11; Ju, Awan, Gong & Rao 2022).

Where the noise is far narrower than the spread of the data, hardly any simulated data set has
weight. A Markov chain over parameters *and* records needs no such luck. Its state is
$(\theta, r_1, \dots, r_n)$ with $S = \sum_i s(r_i)$; a sweep

- proposes parameters, by a step that the prior leaves as it is (Cotter et al. 2013), and all
  records anew together, and accepts with probability $\min\{1, \eta(z - S') / \eta(z - S)\}$,
  $\eta$ being the density of the noise. This goes far if the noise is wide; it is given up if no
  such proposal is accepted in the second half of the burn-in, which is a sixth of the sweeps;
- proposes each record anew from $f(\cdot \mid \theta)$ and accepts it with probability
  $\min\{1, \eta(z - S + s(r_i) - s(r_i')) / \eta(z - S)\}$;
- draws each parameter given the records by slice sampling on the scale x, on which the prior is
  standard normal (Neal 2003), which needs no tuning.

It is exact, and for noise of a pure budget ε each record is accepted with probability
$e^{-\epsilon}$ or more. Two chains start apart; their ranks are compared (Vehtari et al. 2021).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import autocorrelation_time
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Noise,
    laws_of,
)
from abcdp_core.posterior.rounds import Draws, InferenceProblem, TaskMap, WeightedDraws, one_by_one

Array = NDArray[np.float64]

CHAINS = 2

SWEEPS = 12_000
"""Sweeps of a chain; the last five sixths are kept."""

FEWEST = 60
"""Fewest sweeps of a chain, however little time it has."""

STARTS = 500
"""Draws from the prior, the likeliest of which a chain starts at."""

TRIES, NARROWEST = 4, 1.5
"""Steps of all parameters in a sweep, of lengths between 1 and 10 to the power of minus this."""

WIDTH = 1.0
"""First width of a slice; it is doubled until both ends lie outside."""

MIXED = 1.05
"""Ratio of the spread of all ranks to that within chains below which chains agree."""


def serves(question: InferenceProblem) -> bool:
    """Return whether a release's numbers are sums over records, with noise of a known kind."""
    model = question.model
    is_single = all(law.size == law.dimensions == 1 for law in model.prior.laws)
    return (
        model.records is not None
        and is_single
        and model.prior.is_product
        and bool(_laws(question.noise))
    )


def _laws(noise: Noise) -> tuple[Any, ...]:
    laws = laws_of(noise)
    return laws if all(isinstance(law, SINGLE | SQUARED) for law in laws) else ()


SINGLE, SQUARED = Laplace | DiscreteLaplace, Gaussian | DiscreteGaussian
"""Noise whose log density falls with the distance, and with its square."""


def _scales(noise: Noise, k: int) -> tuple[Array, NDArray[np.int64]]:
    """Return scale and power ``(k,)`` of each number's noise: log η = -|e / scale|^p / p."""
    scale, power = np.empty(k), np.empty(k, dtype=np.int64)
    for law in _laws(noise):
        of = list(law.of) or list(range(k))
        scale[of] = law.scale
        power[of] = 2 if isinstance(law, SQUARED) else 1
    return scale, power


def _log_noise(off: Array, scale: Array, power: NDArray[np.int64]) -> float:
    """Return log η up to a constant; -∞ where a number is not finite."""
    found = -float((np.abs(off / scale) ** power / power).sum())
    return found if math.isfinite(found) else -math.inf


@numba.njit(cache=True, nogil=True)
def _renewed(
    off: Array, parts: Array, new: Array, scale: Array, power: NDArray[np.int64], log_u: Array
) -> NDArray[np.bool_]:
    """Accept or refuse each record in turn; changes ``off (k,)``, the query minus the sum."""
    accepted = np.zeros(len(parts), dtype=np.bool_)
    for i in range(len(parts)):
        gain = 0.0
        for j in range(len(off)):
            before = abs(off[j]) / scale[j]
            after = abs(off[j] + parts[i, j] - new[i, j]) / scale[j]
            gain += before - after if power[j] == 1 else 0.5 * (before**2 - after**2)
        if log_u[i] < gain:
            accepted[i] = True
            for j in range(len(off)):
                off[j] += parts[i, j] - new[i, j]
    return accepted


@dataclass(frozen=True)
class Chain:
    """One chain to run, on any worker; it ends early once its seconds are over."""

    question: InferenceProblem
    number: int
    sweeps: int
    seconds: float = math.inf


def run(chain: Chain) -> Draws:
    """Run a chain; return its last states, with the sums over records ``(m, k)``."""
    question, began = chain.question, time.monotonic()
    model, of = question.model, question.model.records
    assert of is not None
    rng = generator(question.seed, "posterior-augmentation", chain.number)
    scale, power = _scales(question.noise, len(question.z))
    x = _start(question, rng)
    theta = model.prior.theta(x[None])[0]
    records = of.draw(rng, theta)
    parts = of.contributions(records)
    states, sums = np.empty((chain.sweeps, len(x))), np.empty((chain.sweeps, len(question.z)))
    done, tries, moved = 0, TRIES, False
    while done < chain.sweeps and (done < FEWEST or time.monotonic() - began < chain.seconds):
        off = question.z - parts.sum(axis=0)
        if done == chain.sweeps // 6 and not moved:
            tries = 0
        for _ in range(tries):
            step = 10.0 ** (-NARROWEST * rng.random())
            away = math.sqrt(1.0 - step**2) * x + step * rng.standard_normal(len(x))
            theta_away = model.prior.theta(away[None])[0]
            proposed = of.draw(rng, theta_away)
            new = of.contributions(proposed)
            off_away = question.z - new.sum(axis=0)
            gain = _log_noise(off_away, scale, power) - _log_noise(off, scale, power)
            if new.shape == parts.shape and math.log(rng.random()) < gain:
                x, theta, off, records, parts = away, theta_away, off_away, proposed, new
                moved |= done >= chain.sweeps // 12
        proposed = of.draw(rng, theta)
        if proposed.shape != records.shape:
            raise ParameterError(
                "records: chains need as many at all parameters; with an unknown number of them, "
                "leave records out of the model, so that weights are used."
            )
        new = of.contributions(proposed)
        if not np.isfinite(new).all():
            raise ParameterError("records: contributions must be finite numbers.")
        accepted = _renewed(off, parts, new, scale, power, np.log(rng.random(len(parts))))
        records[accepted], parts[accepted] = proposed[accepted], new[accepted]
        known = of.statistics(records)
        for j in range(len(x)):
            x[j] = _sliced(model, of.log_density, known, x, theta, j, rng)
        states[done], sums[done] = x, question.z - off
        done += 1
    kept = slice(done - done * 5 // 6, done)
    return Draws(states[kept], sums[kept], np.zeros(done * 5 // 6))


def _start(question: InferenceProblem, rng: np.random.Generator) -> Array:
    """Return a draw from the prior that fits the query better than most."""
    model = question.model
    x = model.prior.draw(rng, STARTS)
    numbers = model.simulate(rng, model.prior.theta(x))
    log = np.where(
        np.isfinite(numbers).all(axis=1), question.noise.log_density(question.z, numbers), -np.inf
    )
    return x[int(np.argmax(log))].copy()


def _sliced(
    model: Model,
    log_density: Callable[[Array, Any], float],
    known: Any,
    x: Array,
    theta: Array,
    j: int,
    rng: np.random.Generator,
) -> float:
    """Draw coordinate j given the records; changes ``theta`` to its parameter."""
    law, place = model.prior.laws[j], np.empty((1, 1))

    def log_of(value: float) -> float:
        place[0, 0] = value
        theta[j] = law.theta(place)[0, 0]
        found = log_density(theta, known) - 0.5 * value * value
        return -math.inf if math.isnan(found) else found

    level = log_of(float(x[j])) + math.log(rng.random())
    low = float(x[j]) - WIDTH * rng.random()
    high = low + WIDTH
    while log_of(low) > level:
        low -= WIDTH
    while log_of(high) > level:
        high += WIDTH
    while True:
        value = low + (high - low) * rng.random()
        if log_of(value) > level:
            return value
        if value < x[j]:
            low = value
        else:
            high = value


def infer(
    question: InferenceProblem,
    first: Draws,
    each: TaskMap = one_by_one,
    sweeps: int = SWEEPS,
    seconds: float = math.inf,
) -> WeightedDraws:
    """Compute the posterior by two chains.

    Args:
        question: release and model, which :func:`serves`.
        first: draws from the prior, kept with the result.
        each: runs tasks.
        sweeps: of each chain.
        seconds: after which a chain ends, whatever its sweeps.
    """
    tasks = [Chain(question, number, sweeps, seconds) for number in range(CHAINS)]
    chains = list(each("Chains", run, tasks))
    # If time ran out, one chain may be longer than the other.
    least = min(map(len, chains))
    chains = [
        Draws(each.x[-least:], each.numbers[-least:], each.log_prior[-least:]) for each in chains
    ]
    x = np.concatenate([each.x for each in chains])
    size = min(_effective(np.stack([each.x[:, j] for each in chains])) for j in range(x.shape[1]))
    apart = max(_spread(np.stack([each.x[:, j] for each in chains])) for j in range(x.shape[1]))
    return WeightedDraws(
        x,
        np.full(len(x), 1.0 / len(x)),
        np.concatenate([each.numbers for each in chains]),
        "augmentation",
        (size,),
        (len(x) * 6 // 5,),
        0,
        apart > MIXED,
        first,
    )


def _effective(chains: Array) -> float:
    """Return the effective sample size of chains ``(c, m)`` of one coordinate."""
    return float(sum(len(each) / autocorrelation_time(each) for each in chains))


def _spread(chains: Array) -> float:
    """Return R-hat of the normal scores of all ranks of chains ``(c, m)``."""
    ranks = np.empty(chains.size)
    ranks[np.argsort(chains, axis=None)] = np.arange(1.0, chains.size + 1.0)
    scores = ndtri((ranks.reshape(chains.shape) - 0.375) / (chains.size + 0.25))
    within = scores.var(axis=1, ddof=1).mean()
    between = scores.mean(axis=1).var(ddof=1)
    m = chains.shape[1]
    return math.sqrt(((m - 1) / m * within + between) / within)
