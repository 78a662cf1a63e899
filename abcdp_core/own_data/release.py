"""Release mode: one private release from a person's own series, with noise that nobody can redraw.

The noise comes from the operating system and no seed is kept; there is no trace, no non-private
result and nothing to compare with. What comes out is a :class:`Document`. What goes in stays in
memory: no cache, no log, no error holds anything that was computed from the series.

Public are the settings and the number of values. The settings have to be chosen without looking at
the data; above all the domain, to which values are clipped without saying how many.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool, simulators
from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.discrete_sparse_vector import FINENESS, event_of, release_exactly
from abcdp_core.mechanisms.sparse_vector import Setting
from abcdp_core.output import export
from abcdp_core.parameters import Parameter, ParameterError, Params
from abcdp_core.privacy import cost, statement
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.results import versions

Array = NDArray[np.float64]

PROTECTED = "one value of the series"

NO_KERNEL = "none"
"""Bandwidth where a scenario's distances have no kernel."""


class OwnScenario(simulators.Scenario, Protocol):
    """A scenario that also takes a person's own series."""

    OWN_SIZES: tuple[int, int]
    OWN_MODEL: str

    def from_series(self, values: Array) -> Array:
        """Numbers ``(n,)`` in the domain as data points ``(n, p)``."""
        ...


def scenarios() -> list[str]:
    """Names of the scenarios that take a person's own series."""
    return [name for name in simulators.names() if hasattr(simulators.load(name), "from_series")]


SCENARIO = Parameter("choice", "Scenario", "The model that the series is compared with.")
BOUND = Parameter(
    kind="real",
    label="Bound of the domain",
    help="Values beyond it are moved to it. Known beforehand, never read off the data.",
    low=-1e300,
    high=1e300,
)
DISTANCE = Parameter("choice", "Distance", "How the series is compared with simulated ones.")
BANDWIDTH = Parameter("real", "Bandwidth of the kernel", "In the unit of the scenario's values.")
POOL_SEED = Parameter(
    kind="integer",
    label="Seed of the public pool",
    help="It has nothing to do with the noise: the same number draws the same simulations.",
    low=0,
    high=2**53 - 1,
)


@dataclass(frozen=True)
class ReleaseRequest(Params):
    """What is asked for; public. :meth:`defaults` has what a scenario starts from.

    Attributes:
        scenario: one of :func:`scenarios`.
        low, high: domain of the values, known beforehand.
        epsilon_total: privacy budget.
        epsilon_abc: similarity threshold.
        c: acceptances after which the run stops.
        pool_size: public prior draws.
        distance: name of one of the scenario's.
        bandwidth: of its kernel, in the unit of the scenario's domain.
        resample: whether the threshold's noise is redrawn after each acceptance.
        pool_seed: of the public pool.
    """

    scenario: str = SCENARIO.field(dataclasses.MISSING)
    low: float = BOUND.field(dataclasses.MISSING)
    high: float = BOUND.field(dataclasses.MISSING)
    epsilon_total: float = par.EPSILON_TOTAL.field(dataclasses.MISSING)
    epsilon_abc: float = par.EPSILON_ABC_MMD.field(dataclasses.MISSING)
    c: int = par.C.field(dataclasses.MISSING)
    pool_size: int = par.POOL_SIZE.field(dataclasses.MISSING)
    distance: str = DISTANCE.field(dataclasses.MISSING)
    bandwidth: float | str = BANDWIDTH.field(dataclasses.MISSING)
    resample: bool = par.RESAMPLE.field(False)
    pool_seed: int = POOL_SEED.field(1)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own bounds.

        Raises:
            ParameterError: the scenario takes no series.
        """
        known = scenarios()
        if scenario not in known and scenario in simulators.names():
            raise ParameterError(
                f"scenario = {scenario}: takes no series of your own; {' and '.join(known)} do."
            )
        choice = dataclasses.replace(SCENARIO, options=tuple(known))
        general = super().specification() | {"scenario": choice}
        if scenario is None or scenario not in known:
            return general
        source = simulators.load(scenario)
        return general | {
            "epsilon_abc": source.EPSILON_ABC,
            "pool_size": source.POOL_SIZE,
            "distance": dataclasses.replace(DISTANCE, options=source.DISTANCES),
            "bandwidth": _bandwidths(source.BANDWIDTH),
        }

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """All but domain and budget, which a person has to choose."""
        source = simulators.load(scenario)
        return {
            "epsilon_abc": source.EPSILON_ABC_DEFAULT,
            "c": source.C_DEFAULT,
            "pool_size": source.POOL_SIZE_DEFAULT,
            "distance": source.DISTANCES[0],
            "bandwidth": source.BANDWIDTH or NO_KERNEL,
        }

    def check_together(self) -> None:
        """Refuse a domain without inside, or more acceptances than draws."""
        if not self.low < self.high:
            raise ParameterError(f"high = {self.high:.6g}: must be above low = {self.low:.6g}.")
        par.check_accepted(self.c, self.pool_size)


def _bandwidths(default: float | None) -> Parameter:
    """A tenth to ten times the default; only a word where there is no kernel."""
    if default is None:
        return dataclasses.replace(BANDWIDTH, kind="choice", options=(NO_KERNEL,))
    return dataclasses.replace(BANDWIDTH, low=default / 10.0, high=default * 10.0)


# ----------------------------------------------------------------- the release


def make(
    request: ReleaseRequest,
    values: Array,
    randbelow: RandBelow = secrets.randbelow,
    progress: pool.Progress | None = None,
) -> Document:
    """Spend the budget: compare the series with a public pool, privately, once.

    Args:
        request: the settings.
        values: the series ``(n,)``.
        randbelow: where the noise comes from: the operating system, but for tests.
        progress: called with the fraction done of the public pool, which takes nearly all the time.

    Raises:
        ParameterError: the series is not of a size that can be compared.
        ValueError: a value is not finite.
    """
    n = len(values)
    check_size(request, n)
    if not np.isfinite(values).all():
        raise ValueError("values: each must be a finite number.")
    source = _source(request)
    public = pool.build(pool_key(request, n), progress)
    data = source.from_series(to_domain(values, (request.low, request.high), source.DOMAIN))
    comparison = pool.compare(public, data, synthetic=False)
    release = release_exactly(comparison, setting_of(request, n), randbelow)
    return Document(request, n, release, public.theta[release.indices])


def _source(request: ReleaseRequest) -> OwnScenario:
    return cast(OwnScenario, simulators.load(request.scenario))


def own_sizes(scenario: str) -> tuple[int, int]:
    """Smallest and largest number of values that a scenario takes."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_SIZES


def check_size(request: ReleaseRequest, n: int) -> None:
    """Refuse a series that is too short or too long for its scenario or for the pool.

    Raises:
        ParameterError: it is.
    """
    low, high = own_sizes(request.scenario)
    Parameter("integer", "Values", low=low, high=high).check("number of values", n)
    par.check_work(n, request.pool_size)


def pool_key(request: ReleaseRequest, n: int) -> pool.PoolKey:
    """The public pool for a series of ``n`` values; made for this release and kept nowhere."""
    default = _source(request).DISTANCES[0]
    return pool.PoolKey(
        scenario=request.scenario,
        bandwidth=None if isinstance(request.bandwidth, str) else request.bandwidth,
        pool_size=request.pool_size,
        largest_n=n,
        seed=request.pool_seed,
        distance=None if request.distance == default else request.distance,
    )


def setting_of(request: ReleaseRequest, n: int) -> Setting:
    """What is asked of the mechanism, for the sharp sensitivity; public."""
    return Setting(
        request.epsilon_total,
        request.epsilon_abc,
        request.c,
        request.resample,
        pool_key(request, n).metric().sensitivity(n),
    )


def to_domain(values: Array, domain: tuple[float, float], target: tuple[float, float]) -> Array:
    """Values ``(n,)`` clipped to a domain and carried over to another along a straight line."""
    low, high = domain
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.clip(target[0] + share * (target[1] - target[0]), *target)


# ---------------------------------------------------------------- what is said


@dataclass(frozen=True)
class Document:
    """All that comes out, and all of it may be published.

    Attributes:
        request: the settings.
        n: number of values in the series.
        release: the decisions and their event.
        theta: accepted parameters ``(k, d)``.
    """

    request: ReleaseRequest
    n: int
    release: Release
    theta: Array = field(repr=False)

    @property
    def statement(self) -> str:
        """What is protected, and how much."""
        return statement(self.release.event, PROTECTED)

    @property
    def summary(self) -> str:
        """What came out, in one sentence."""
        return (
            f"{len(self.theta)} of {self.request.c} samples were accepted after looking at "
            f"{self.release.stopped_at:,} of {self.request.pool_size:,} draws."
        )

    def content(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        source = _source(self.request)
        spent = cost(self.release.event)
        return {
            "mode": "release",
            "statement": self.statement,
            "remains": remains(self.n),
            "protected": PROTECTED,
            "n": self.n,
            "public": dataclasses.asdict(self.request) | {"scenario_domain": list(source.DOMAIN)},
            "release": {
                "indices": self.release.indices.tolist(),
                "stopped_at": self.release.stopped_at,
                "parameters": list(source.AXES),
                "values": self.theta.tolist(),
            },
            "event": export.event_as_text(self.release.event),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
        }

    def to_json(self) -> str:
        """The file that a person takes away."""
        return json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def model(scenario: str) -> str:
    """What a scenario takes a series for, in a sentence or two."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_MODEL


def synthetic(document: Document, sets: int, rng: np.random.Generator) -> pd.DataFrame:
    """Series simulated at accepted parameters, taken in turn: post-processing, costs nothing.

    Args:
        document: what was released.
        sets: how many series of the size of the data.
        rng: source of all chance.

    Returns:
        Columns ``data_set``, ``point`` and ``value``, in the unit of the data and within their
        domain; no row if nothing was accepted.
    """
    request, source = document.request, _source(document.request)
    chosen, data = simulators.simulate_round_robin(source, document.theta, document.n, sets, rng)
    series = to_domain(data[..., -1], source.DOMAIN, (request.low, request.high))
    return pd.DataFrame(
        {
            "data_set": np.repeat(np.arange(len(chosen)), document.n),
            "point": np.tile(np.arange(document.n), len(chosen)),
            "value": series.ravel(),
        }
    )


def figure(document: Document) -> go.Figure:
    """The accepted values of every parameter, each a mark, and their means."""
    axes = _source(document.request).AXES
    drawn = fig.stack(
        list(axes),
        f"What was released: accepted parameters (c = {document.request.c}, "
        f"N = {document.n:,}, ε_total = {document.request.epsilon_total:g})",
        "value of the parameter",
        list(axes.values()),
        row_height=80,
    )
    marks = fig.Style("accepted", fig.VERMILLION, marker="line-ns-open")
    mean = fig.Style("their mean", fig.BLUE, marker="diamond")
    for row, values in enumerate(document.theta.T if len(document.theta) else ()):
        for style, x in ((marks, values), (mean, values.mean(keepdims=True))):
            trace = fig.points(x, np.full(len(x), 0.5), style)
            trace.update(marker={"size": 22 if style is marks else 12, "line": {"width": 2}})
            drawn.add_trace(trace.update(showlegend=row == 0, **fig.panel(row)))
    return drawn.update_yaxes(tickvals=[])


def question(request: ReleaseRequest, n: int) -> str:
    """What a person confirms before anything is spent."""
    noise = noise_scale(request, n)
    return (
        f"This spends ε_total = {request.epsilon_total:.4g} (pure differential privacy) on a "
        f"series of {n:,} values, each taken to lie between {request.low:.6g} and "
        f"{request.high:.6g}. It protects {PROTECTED}, it cannot be undone, and every further "
        f"release from the same data adds to it. The noise of the threshold ε_abc = "
        f"{request.epsilon_abc:.4g} will have the scale b = {noise:.3g}."
    )


def noise_scale(request: ReleaseRequest, n: int) -> float:
    """Laplace scale of the threshold's noise for a series of ``n`` values."""
    return event_of(setting_of(request, n)).threshold_scale


def remains(n: int) -> list[str]:
    """What the guarantee leaves unprotected."""
    return [
        f"The number of values, {n}, is public, and so is every setting. A setting that was chosen "
        "by looking at the data, the domain above all, tells something that is not accounted for.",
        "Whoever has several values in the series is protected less: k values together are "
        "protected with k times ε_total.",
        "Every further release from the same data adds its ε_total to this one.",
        "How long the run took is not protected, nor are the file with the data and the memory of "
        "the computer.",
        "Distances are computed in floating point; the noise has a margin for rounding of "
        f"2^-{FINENESS} of the sensitivity. Noise and comparison are exact, in whole numbers.",
    ]
