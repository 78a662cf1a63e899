"""Rehearse a release with simulated data (`release ... --rehearse`).

A truth is drawn from the prior, data are simulated from it, and their numbers get noise as in a
release. Nothing is read and nothing is spent. It also says how long a posterior may take.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.atomic import replace
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.base.sentences import duration, plain
from abcdp_core.base.streams import generator
from abcdp_core.cli import arguments, layout, progress
from abcdp_core.cli.ending import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.posterior.fit import REPLICATES
from abcdp_core.posterior.model import Model
from abcdp_core.publish.output.page import figure_page, part_of_page
from abcdp_core.release import private_summary
from abcdp_core.release.document import unit_of
from abcdp_core.release.exact_noise import with_noise
from abcdp_core.release.request import ReleaseRequest
from abcdp_core.release.simulated import has_pool, model_of, public_pool
from abcdp_core.release.summary_document import PrivateSummaryRecord, fit_figure
from abcdp_core.release.summary_request import PrivateSummaryRequest, pool_of

Array = NDArray[np.float64]

ROWS = Parameter("integer", "Rows of the data", low=1, high=10_000_000)

TIMED, ENOUGH, LONG = 50, 0.5, 10.0
"""Most simulations that are timed, the seconds that they take, and those that are announced."""


def estimate(request: ReleaseRequest, n: int, workers: str | None) -> str:
    """Say how long the posterior takes here; empty if nothing is simulated."""
    if not isinstance(request, PrivateSummaryRequest):
        return ""
    model = model_of(request.source, n)
    if model is None:
        return ""
    each = _seconds(model, request.pool_seed) / arguments.workers(workers, 1024)
    least = each * min(request.simulations, 2 * request.first) + each * REPLICATES
    most = each * (request.simulations + REPLICATES)
    density = ""
    if not model.prior.has_density:
        density = " Without log_prior, all data sets are simulated at draws from the prior."
    return (
        f"The posterior takes up to {request.simulations:,} simulated data sets, and the check of "
        f"the fit {REPLICATES:,}: about {duration(least)} to {duration(most)} here.{density}"
    )


def _seconds(model: Model, seed: int) -> float:
    """Return the seconds that one simulation takes, from some that take half a second together."""
    rng, done = generator(seed, "timed"), 0
    theta = model.prior.theta(model.prior.draw(rng, TIMED))
    model.simulate(rng, theta[:1])  # the first call may compile
    began = time.perf_counter()
    while done < TIMED and (done == 0 or time.perf_counter() - began < ENOUGH):
        more = theta[done : 2 * done + 1]
        model.simulate(rng, more)
        done += len(more)
    return (time.perf_counter() - began) / done


def make_pool(request: ReleaseRequest, n: int) -> None:
    """Make the public pool of a request; if that takes long, say so before.

    Args:
        request: of a release; others than of a private summary need none here.
        n: rows of the data.
    """
    if not isinstance(request, PrivateSummaryRequest):
        return
    where = request.source, n, request.pool_seed, request.first
    if (model := model_of(request.source, n)) is not None and not has_pool(*where):
        needed = _seconds(model, request.pool_seed) * request.first
        if needed > LONG:
            layout.tell(
                f"First, {request.first:,} data sets of {n:,} rows are simulated for the public "
                f"pool: about {duration(needed)} here. They are kept for the next time. A pool of "
                "your own (--plugin POOL.toml) needs none."
            )
    with progress.of_fraction("Public pool") as told:
        public_pool(*where, told)


def run(request: ReleaseRequest, options: argparse.Namespace) -> None:
    """Simulate data, add noise, infer, and write the result.

    Raises:
        ParameterError: the mechanism has no rehearsal, or the file cannot be written.
    """
    if not isinstance(request, PrivateSummaryRequest):
        raise ParameterError("rehearse: only private-summary can be rehearsed.")
    if options.out.suffix.lower() != ".html":
        raise ParameterError(f"out = {options.out}: must end in .html; a rehearsal writes a page.")
    n = request.source.own_sizes[1]
    if options.rows is not None:
        n = int(ROWS.parse("rows", options.rows))
    request.check_size(n)
    make_pool(request, n)
    layout.tell(estimate(request, n, options.workers))
    theta, numbers = _simulated(request, n)
    event = request.event(n)
    released = with_noise(numbers, event.steps().tolist())
    began = time.monotonic()
    with done_by(options.workers, options.plugin) as each:
        made = private_summary.infer(
            PrivateSummaryRecord(request, n, tuple(released)), each, math.inf
        )
    axes = zip(made.parameters, theta.tolist(), strict=False)
    truth = "; ".join(f"{axis.name}: {plain(value)}{unit_of(axis)}" for axis, value in axes)
    layout.tell(
        "This was a rehearsal with simulated data: nothing was read, spent or released.",
        f"Truth, drawn from the prior: {truth}.",
        made.summary,
    )
    say(*layout.estimates(made), f"Computed in {duration(time.monotonic() - began)}.")
    drawn = fit_figure(made)
    title = f"Rehearsal: {drawn.figure.layout.title.text}"
    figure = part_of_page(drawn.figure, "fit", plotlyjs=True)
    replace(options.out, figure_page(title, figure, [drawn.sentence]))
    say(f"Written to {options.out}")


def _simulated(request: PrivateSummaryRequest, n: int) -> tuple[Array, list[int]]:
    """Return a truth ``(p,)`` and the whole numbers of its data; from a pool, one of its draws.

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
    whole = np.array(request.event(n).whole)
    return theta, [round(number) for number in (numbers * whole).tolist()]
