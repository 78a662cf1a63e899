"""Predict a release's error from a formula, against the number of values."""

from __future__ import annotations

import numpy as np

from abcdp_core import figures as fig
from abcdp_core.base import sentences
from abcdp_core.release import releasable
from abcdp_core.release.releasable import Expected
from abcdp_core.release.request import ReleaseRequest
from abcdp_core.release.sparse_vector import SparseVectorRequest

POINTS = 60
"""Sizes at which the curves are computed."""

TICKS = (10, 30, 100, 300, 1000, 3000, 10_000)
"""Sizes with a tick."""

HEIGHT = 380
"""Pixels: the figure and its headline fit on one screen."""

LITTLE = 1.1
"""Largest ratio to the error without noise at which privacy costs little."""


def answer(expected: Expected, n: int) -> str:
    """Return whether so many values are enough, in a line."""
    values = f"With {n:,} values"
    if verdict := sentences.little(expected.error, expected.prior, "no data"):
        return f"{n:,} values are too few: the estimate is {verdict}"
    if expected.error <= LITTLE * expected.plain:
        return f"{values}, privacy adds at most 10 % to the error"
    ratio = expected.error / expected.plain
    return f"{values}, the error is at most {ratio:.1f} times the error without noise"


def enough(request: ReleaseRequest, n: int, planned: int, expected: str) -> str:
    """Return the error for ``n`` values by a formula, else ``expected`` for ``planned`` values."""
    if (known := releasable.of(request).expected(request, n)) is not None:
        headline = f"**{answer(known, n)}.** " if isinstance(known, Expected) else ""
        return f"{headline}{known.in_words(n)}"
    other = "" if n == planned else f" This is for {planned:,} values; your file has {n:,}."
    if isinstance(request, SparseVectorRequest):
        usual = SparseVectorRequest.defaults(request.scenario)
        if request.bandwidth != usual["bandwidth"]:
            other += " It is for the default bandwidth, not for yours."
        if request.distance != usual["distance"]:
            other += f" It is for the distance *values*, not for *{request.distance}*."
    return f"{expected}{other}"


def drawn(request: ReleaseRequest, planned: int) -> fig.CaptionedFigure | None:
    """Return the error of shares against the number of values; ``None`` without a formula."""
    planned_for = _formula(request, planned)
    if planned_for is None:
        return None
    low, high = request.source.own_sizes
    sizes = np.unique(np.rint(np.geomspace(low, high, POINTS)).astype(int))
    every = [_formula(request, n) for n in sizes.tolist()]
    private, plain = (
        100.0 * np.array([getattr(each, name) for each in every]) for name in ("error", "plain")
    )
    top = 120.0 * planned_for.prior
    figure = fig.figure(
        answer(planned_for, planned),
        "number of values N",
        "error, percentage points",
        height=HEIGHT,
        settings=f"{request.spends}, {releasable.of(request).title.lower()}",
    )
    figure.update_xaxes(
        type="log",
        range=np.log10([low, high]).tolist(),
        tickvals=TICKS,
        ticktext=[f"{size:,}" for size in TICKS],
        showgrid=False,
    )
    figure.update_yaxes(range=[0.0, top])
    fig.no_better(figure, 100.0 * planned_for.prior)
    fig.note(figure, low, top, " no better than no data", fig.PRIOR.color, "top left")
    for y, style, words in (
        (private, fig.PRIVATE, "with noise, at most"),
        (plain, fig.NON_PRIVATE, "without noise"),
    ):
        figure.add_trace(fig.line(sizes.astype(float), y, style).update(name=words))
    name, error = f"your {planned:,} values", 100.0 * planned_for.error
    figure.add_trace(fig.own_mark(planned, error, name).update(showlegend=False))
    side = "right" if planned > high / 10 else "left"
    fig.note(figure, planned, error, f" {name} ", fig.TRUTH.color, f"bottom {side}")
    figure.update_layout(showlegend=True)
    return fig.CaptionedFigure(
        figure, f"{answer(planned_for, planned)}. {planned_for.in_words(planned)}"
    )


def _formula(request: ReleaseRequest, n: int) -> Expected | None:
    errors = releasable.of(request).expected(request, n)
    return errors if isinstance(errors, Expected) else None
