"""Rehearse a release with simulated data (`release ... --rehearse`).

A truth is drawn from the prior, data are simulated from it, and their numbers get noise as in a
release. Nothing is read and nothing is spent.
"""

from __future__ import annotations

import argparse
import math
import time

from abcdp_core.base.atomic import replace
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.base.sentences import duration, plain
from abcdp_core.cli import layout, progress
from abcdp_core.cli.console import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.publish.output.page import figure_page, part_of_page
from abcdp_core.release import private_summary
from abcdp_core.release.document import unit_of
from abcdp_core.release.request import ReleaseRequest
from abcdp_core.release.summary_document import fit_figure
from abcdp_core.release.summary_request import PrivateSummaryRequest, pool_of, pool_seconds

ROWS = Parameter("integer", "Rows of the data", low=1, high=10_000_000)

LONG = 10.0
"""Seconds of simulations that are announced."""


def make_pool(request: ReleaseRequest, n: int) -> None:
    """Make the public pool of a request; if that takes long, say so before.

    Args:
        request: of a release; others than of a private summary need none here.
        n: rows of the data.
    """
    if not isinstance(request, PrivateSummaryRequest):
        return
    if (needed := pool_seconds(request, n)) > LONG:
        layout.tell(
            f"First, {request.first:,} data sets of {n:,} rows are simulated for the public "
            f"pool: about {duration(needed)} here. They are kept for the next time. A pool of "
            "your own (--plugin POOL.toml) needs none."
        )
    with progress.of_fraction("Public pool") as bar:
        pool_of(request, n, bar)


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
    layout.tell(request.time_in_words(n, options.workers))
    theta, record = private_summary.rehearsed(request, n)
    began = time.monotonic()
    with done_by(options.workers, options.plugin) as each:
        made = private_summary.infer(record, each, math.inf)
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
