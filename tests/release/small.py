"""Small releases by every mechanism, which tests of releases share."""

from __future__ import annotations

import functools
import json
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.simulators import covid_people, tuberculosis_patients
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release import procedure
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.noisy_counts import NoisyCountsRequest
from abcdp_core.release.request import ReleaseRequest
from abcdp_core.release.sparse_vector import SparseVectorRequest
from abcdp_core.release.summary_request import PrivateSummaryRequest

VALUES = np.random.default_rng(1).uniform(0.0, 100.0, 60)
BOUNDS = {"low": 0.0, "high": 100.0, "epsilon_total": 1.0}
PATIENTS, PEOPLE = "tuberculosis-patients", "covid-people"


@dataclass(frozen=True)
class Case:
    """A request and data ``(n,)``."""

    request: ReleaseRequest
    values: Array


def counts(**given: Any) -> NoisyCountsRequest:
    """Return a request for the counts of values from 0 to 100."""
    return NoisyCountsRequest(**({"scenario": "uniform-mixture", "draws": 100} | BOUNDS | given))


def kept(scenario: str = "covid", **given: Any) -> SparseVectorRequest:
    """Return a request for four draws of a pool of 100; other settings are the scenario's."""
    few = {"pool_size": 100, "c": 4, "epsilon_abc": 0.4}
    return SparseVectorRequest.for_scenario(scenario, **(BOUNDS | few | given))


def numbers(scenario: str = PATIENTS, **given: Any) -> PrivateSummaryRequest:
    """Return a request for the numbers of patients or of days."""
    few = {"epsilon_total": 1.0, "draws": 100, "simulations": 1000}
    return PrivateSummaryRequest(scenario, **(few | given))


CASES = {
    "counts": Case(counts(), VALUES),
    "shares": Case(kept("uniform-mixture"), VALUES),
    "curve": Case(kept(), VALUES),
    "days": Case(numbers(PEOPLE), covid_people.SCENARIO.observed[:, 1]),
    "patients": Case(
        numbers(), np.append(tuberculosis_patients.SCENARIO.observed[:, 0], np.zeros(19_000))
    ),
}
"""All mechanisms, and all kinds of data that they take."""

SERIES = ("counts", "shares", "curve")
"""Cases with a series of values between bounds."""

QUICK = (*SERIES, "days")
"""Cases whose posterior takes no seconds."""


def seeded(seed: int) -> RandBelow:
    """Return a source of noise that can be drawn again."""
    return random.Random(seed).randrange


@functools.cache
def made(name: str) -> ReleaseRecord:
    """Return the record of a case, with noise from a seed."""
    return procedure.make(CASES[name].request, CASES[name].values, seeded(1))


def content_of(name: str) -> Any:
    """Return a copy of the content of a case's file, which a test may change."""
    return json.loads(made(name).to_json())
