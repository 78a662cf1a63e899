"""What every mechanism keeps: its budget, its seed, one private input, noise scaled from 1."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abcdp_core import mechanisms
from abcdp_core.mechanisms import Budget, Prepared, Release, thresholds
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection, decision_epsilon
from abcdp_core.models import pool, simulators
from abcdp_core.models.pool import DistanceTable, PublicSide
from abcdp_core.privacy import Cost, GaussianSeries, NonPrivate, composition, cost
from tests import results
from tests.events import quieter, same

EACH = pytest.mark.parametrize("name", mechanisms.names())
DELTA = 1e-6
SIZES = {"uniform-mixture": 100, "covid-people": 18}
PRIVATE = ("rho", "statistic", "summaries")
"""Fields of a comparison that follow from the private data."""


@functools.cache
def public_of(name: str, seed: int = 1) -> PublicSide:
    """The public side of a scenario that a mechanism serves."""
    mechanism = mechanisms.load(name)
    scenario = next(each for each in SIZES if not mechanism.refuses(simulators.load(each)))
    return pool.public_side(simulators.load(scenario), SIZES[scenario], 400, seed)


def prepared(name: str, epsilon_total: float) -> Prepared:
    mechanism, public = mechanisms.load(name), public_of(name)
    # A threshold that keeps some draws and not others.
    asked = mechanism.chosen(epsilon_abc=float(np.median(public.simulated(0).rho)), c=20)
    return mechanism.prepare(public, asked, Budget(epsilon_total, DELTA))


def data_of(name: str) -> DistanceTable:
    return public_of(name).simulated(1)


class Recorder:
    """A generator that records which of its methods are called, and with what."""

    def __init__(self, seed: int) -> None:
        self.rng, self.calls = np.random.default_rng(seed), list[Any]()

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, given, named))
            return getattr(self.rng, name)(*given, **named)

        return call


def released(ready: Prepared, data: Any, seed: int = 1) -> tuple[Release, list[Any]]:
    rng: Any = Recorder(seed)
    return ready.release(data, rng), rng.calls


# ----------------------------------------------------------------------------------------- cost


def spent_on(event: Any, accountant: str, delta: float) -> Cost:
    """The cost of an event; with a δ, rejection is composed or accounted for as a series."""
    if isinstance(event, GaussianRejection) and delta:
        if accountant in ("advanced", "optimal"):
            each = decision_epsilon(event)
            found = composition.epsilon(each, event.steps, delta, accountant)
            # It is found from above, to 1e-13.
            return Cost(found * (1.0 - 1e-12), delta)
        event = GaussianSeries(event.sensitivity, event.scale, event.steps)
    return cost(event, delta)


@pytest.mark.parametrize(
    ("name", "accountant"),
    [(name, each) for name in mechanisms.names() for each in mechanisms.load(name).accountants],
)
@settings(max_examples=6)
@given(budget=st.floats(0.01, 100.0), delta=st.floats(1e-10, 1e-3), c=st.integers(1, 50))
def test_noise_costs_at_most_the_budget_and_half_of_it_much_more(
    name: str, accountant: str, budget: float, delta: float, c: int
) -> None:
    mechanism, public = mechanisms.load(name), public_of(name)
    asked, allowed = mechanism.chosen(c=c), Budget(budget, delta)
    fitted = mechanism.fit(public, asked)
    event: Any = mechanism.calibrate(public, asked, fitted, allowed, accountant)
    if mechanism.accountants[accountant] == "pure":
        delta = 0.0
    spent = spent_on(event, accountant, delta)
    assert (spent.delta, type(spent.epsilon)) == (delta, float)
    assert spent.epsilon <= budget
    assert spent_on(quieter(event), accountant, delta).epsilon > 1.4 * spent.epsilon
    assert cost(quieter(event, 0.0), delta).epsilon == math.inf
    if accountant == mechanism.accountant:
        assert spent.epsilon >= budget * (1.0 - 1e-5)
        assert mechanism.spends(allowed) == Cost(budget, delta)


@EACH
def test_the_parts_of_a_pure_release_add_up_to_its_budget(name: str) -> None:
    ready = prepared(name, 3.0)
    parts = ready.mechanism.parts(ready)
    assert all(part.count >= 1 and part.cost >= 0.0 for part in parts)
    if ready.mechanism.measure == "pure":
        assert {part.measure for part in parts} == {"ε"}
        assert sum(part.count * part.cost for part in parts) == pytest.approx(3.0, rel=1e-9)


CHANGES: dict[str, Any] = {"epsilon_abc": 1e-3, "c": 7, "sensitivity": "published"}


@EACH
def test_every_option_that_it_takes_counts(name: str) -> None:
    mechanism, budget, data = mechanisms.load(name), Budget(1.0, DELTA), data_of(name)
    usual, _ = released(mechanism.prepare(public_of(name), mechanism.options, budget), data)
    for option in mechanism.takes:
        asked = mechanism.chosen(**{option: CHANGES[option]})
        other, _ = released(mechanism.prepare(public_of(name), asked, budget), data)
        assert not same(usual, other), option


# -------------------------------------------------------------------------------- private data


@EACH
def test_all_before_the_release_is_public(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results.without_private_data(monkeypatch)
    public, mechanism = public_of(name, seed=2), mechanisms.load(name)
    for option, values in mechanism.grid(public).items():
        assert values
        assert option in mechanism.takes
    ready = mechanism.prepare(public, mechanism.options, Budget(1.0, DELTA))
    assert ready.mechanism.parts(ready)
    assert public.simulated(5).rho.any()
    with pytest.raises(ZeroDivisionError):
        pool.observed_comparison(public.key, public.n)


@EACH
def test_a_release_reads_one_private_field_and_follows_from_its_seed(name: str) -> None:
    ready, data = prepared(name, 1.0), data_of(name)
    found, _ = released(ready, data)
    for field in PRIVATE:
        only = SimpleNamespace(theta=data.theta, **{field: getattr(data, field)})
        try:
            again, _ = released(ready, only)
        except AttributeError:
            continue
        assert same(found, again)
        break
    else:
        pytest.fail("it reads more than one private field")
    assert not same(found, released(ready, data, seed=2)[0])
    assert found.event == ready.event
    assert len(found.weights) in (0, len(found.sample(data.theta).values))
    if ready.mechanism.sample:
        assert found.weights.sum() == pytest.approx(1.0)


# ---------------------------------------------------------------------------------------- noise


@EACH
def test_noise_is_drawn_at_scale_1_so_that_another_budget_reuses_it(name: str) -> None:
    (much, first), (little, second) = (
        released(prepared(name, budget), data_of(name)) for budget in (1.0, 1000.0)
    )
    shared = min(len(first), len(second))
    assert shared > 0
    assert first[:shared] == second[:shared]
    assert not same(much, little)


@EACH
def test_without_noise_nothing_is_promised_and_none_is_drawn(name: str) -> None:
    ready, data = prepared(name, math.inf), data_of(name)
    found, calls = released(ready, data)
    assert found.event == NonPrivate()
    assert cost(found.event).epsilon == math.inf
    # Only draws from a posterior.
    assert {call for call, _, _ in calls} <= {"random"}
    assert not same(found, released(ready, public_of(name).simulated(2))[0])


# ---------------------------------------------------------------------------------------- grids


def values_to_try(rho: Any, **own: tuple[float, ...]) -> tuple[Any, Any]:
    """Thresholds and temperatures of a scenario with its own, for simulated distances."""
    scenario = SimpleNamespace(**{"thresholds": (), "temperatures": ()} | own)
    distances = SimpleNamespace(rho=np.array(rho))
    public: Any = SimpleNamespace(scenario=scenario, simulated=lambda _: distances)
    found = thresholds.thresholds(public), thresholds.temperatures(public)
    return found[0]["epsilon_abc"], found[1]["epsilon_abc"]


def test_values_to_try_are_the_scenario_s_or_follow_from_simulated_distances() -> None:
    own = {"thresholds": (0.7, 0.1), "temperatures": (0.2,)}
    assert values_to_try(np.ones(3), **own) == ((0.7, 0.1), (0.2,))
    found = values_to_try(np.arange(1001.0))
    assert found == ((1, 3, 10, 30, 100, 300, 600), (2.5, 5, 10, 25, 50, 100, 250, 500))
    # Zeros and values that are equal in three digits are left out.
    assert values_to_try(np.zeros(3)) == ((), ())
    assert values_to_try([0.0, *[0.12345, 0.12346] * 2, 0.2, 0.2, 0.2])[0] == (0.123,)
