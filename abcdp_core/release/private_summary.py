r"""Release a few numbers of a person's data, and compute the posterior (MATH E5, M9, E8).

A scenario of people states a summary of its data that one person who is added or removed changes by
at most $\Delta_1$ in sum. The summary is released once, in whole numbers
(:mod:`~abcdp_core.release.exact_noise` has the noise and the proof), and that record is written
before anything else is done. The posterior is computed from the record and from public simulations
(:mod:`abcdp_core.posterior`). Its intervals include the privacy noise, and it can be computed again
without spending more. It covers the parameters and further quantities of each draw, such as the
share of recent transmission, each beside its prior.

The number of people is in no output, except as a number with noise if the scenario has it.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.mechanisms.private_summary import law
from abcdp_core.models import pool
from abcdp_core.posterior import outcome
from abcdp_core.posterior.rounds import Effort, InferenceProblem, TaskMap
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release.document import whole_numbers
from abcdp_core.release.exact_noise import with_noise
from abcdp_core.release.releasable import ReleaseMechanism
from abcdp_core.release.simulated import model_of, names_of, size_of, statistic_of
from abcdp_core.release.summary_document import PrivateSummaryRecord
from abcdp_core.release.summary_posterior import TAILS, Inferred
from abcdp_core.release.summary_request import (
    PrivateSummaryRequest,
    expected,
    pool_of,
    pool_with_noise,
)


def measure(
    request: PrivateSummaryRequest, values: Array, progress: pool.Progress | None
) -> list[int]:
    """Make the public pool, then return the whole numbers of the data; these are private."""
    pool_of(request, len(values), progress)
    if progress is not None:
        progress(1.0)
    return statistic_of(request.source).whole_of(request.data_points(values))


def draw(
    request: PrivateSummaryRequest, n: int, numbers: list[int], randbelow: RandBelow
) -> PrivateSummaryRecord:
    """Release the numbers; :func:`infer` computes the posterior."""
    released = with_noise(numbers, request.event(n).steps().tolist(), randbelow)
    return PrivateSummaryRecord(request, n, tuple(released))


def rehearsed(request: PrivateSummaryRequest, n: int) -> tuple[Array, PrivateSummaryRecord]:
    """Return a truth ``(p,)`` from the prior, and the record of data simulated at it.

    Nobody's data are read. With a user's pool, truth and data are one of its draws.

    Raises:
        ParameterError: the simulation failed.
    """
    model, rng = model_of(request.source, n), np.random.default_rng()
    if model is None:
        public = pool_of(request, n)
        row = rng.integers(len(public.theta))
        theta, numbers = public.theta[row], public.numbers[row]
    else:
        theta = model.prior.theta(model.prior.draw(rng, 1))
        numbers = model.simulate(rng, theta)[0]
        theta = theta[0]
    if not np.isfinite(numbers).all():
        raise ParameterError("rehearse: the simulation failed at the drawn truth; try again.")
    whole = np.rint(numbers * np.array(request.event(n).whole)).astype(int)
    return theta, draw(request, n, whole.tolist(), secrets.randbelow)


def infer(document: PrivateSummaryRecord, each: TaskMap, seconds: float) -> PrivateSummaryRecord:
    """Add the posterior; if the record states rounds of simulations, repeat them.

    No round begins after so many seconds.
    """
    request, n, z = document.request, document.n, document.z
    model, public = model_of(request.source, n), pool_of(request, n)
    former, exact = document.is_of_0_3_0, None
    size = None if former else request.draws
    if model is None:
        names = tuple(own.name for own in document.parameters)
        posterior = outcome.of_pool(
            pool_with_noise(request, n), z, names, names_of(request.source, n), size
        )
    else:
        effort = Effort(
            request.effective_sample_size, request.simulations, seconds, document.rounds
        )
        question = InferenceProblem(model, law(document.event, len(z)), z, request.pool_seed)
        posterior = outcome.of_model(question, effort, each, public.draws, size)
        if model.prior.is_product and public.draws.done.all() and not former:
            exact = model.prior.quantiles(TAILS)
    values = public.values_at(posterior.theta, posterior.numbers)
    inferred = Inferred.of(posterior, values, public.values, request, exact, as_in_0_3_0=former)
    return dataclasses.replace(document, inferred=inferred, rounds=inferred.rounds)


def read(
    request: PrivateSummaryRequest, n: int, content: Mapping[str, Any]
) -> PrivateSummaryRecord:
    """Return the record of the released numbers in a record's content, without its posterior.

    Raises:
        ParameterError: the numbers have another length or type.
        KeyError, TypeError, ValueError: the content has another form.
    """
    stated, size = content["release"]["whole_numbers"], size_of(request.source, n)
    numbers = whole_numbers(stated, size, "numbers of the scenario's data")
    posterior = content["posterior"] or {}
    rounds = posterior.get("rounds", ())
    is_possible = all(type(each) is int and each > 0 for each in rounds)
    if not is_possible or sum(rounds[1:]) > request.simulations:
        raise ValueError("rounds: must be whole numbers above 0, with at most the allowed sum.")
    former = "fit" in posterior and "checked" not in posterior["fit"]
    return PrivateSummaryRecord(
        request, n, tuple(numbers), rounds=tuple(rounds), is_of_0_3_0=former
    )


RELEASABLE = ReleaseMechanism(
    request=PrivateSummaryRequest,
    title="Private summary",
    reason="A few numbers about the data are released once, with noise in whole numbers. "
    "Simulations that include the noise give the posterior.",
    rank=0,
    measure=measure,
    draw=draw,
    read=read,
    infer=infer,
    expected=expected,
)
