"""Intervals of a rate over decades, by the rate itself and by its prior's scores: seconds.

``python -m benchmarks.prior_scale`` prints the table in the docstring of the scale: of a rate that
is uniform in its logarithm, and a mean of logarithms whose standard error is known. The exact 90 %
interval is that of the mean.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
from scipy.special import ndtri

from abcdp_core.mechanisms import prior_scale, private_summary
from abcdp_core.privacy import NonPrivate
from abcdp_core.summaries import weighted_quantile
from abcdp_core.supports import box

PRIORS = ((-1, 2), (-3, 4), (-7, 5))
"""Ends of the rate's decimal logarithm."""

DRAWS, DATA_SETS = 10_000, 400
ERROR = np.log10(np.e) * np.pi / np.sqrt(6.0 * 1000.0)
"""Of the mean of 1000 decimal logarithms of exponential times."""


def main() -> None:
    """Print a row of the table for each prior."""
    for low, high in PRIORS:
        with mock.patch.object(prior_scale, "WIDE", np.inf):
            itself, width = _measured(low, high)
        scored, narrower = _measured(low, high)
        prior = f"1e{low} to 1e{high}"
        print(f"| {prior} | {itself:.2f} | {scored:.2f} | {width:.3g} | {narrower:.3g} |")


def _measured(low: float, high: float) -> tuple[float, float]:
    """Coverage of 90 % intervals, and the median of their widths in those of the exact ones."""
    rng = np.random.default_rng(1)
    support = box(np.array([10.0**low]), np.array([10.0**high]))
    theta, truths = (10.0 ** rng.uniform(low, high, (size, 1)) for size in (DRAWS, DATA_SETS))
    pool, released = (
        np.log10(each) + ERROR * rng.normal(size=each.shape) for each in (theta, truths)
    )
    regression = private_summary.Regression.fit(pool, theta, support)
    inside, widths = [], []
    for z, truth in zip(released, truths, strict=True):
        found = private_summary.posterior(z, regression, NonPrivate(), support, theta)
        ends = weighted_quantile(found.parameters(theta), found.weights, [0.05, 0.95])[:, 0]
        inside.append(ends[0] <= truth[0] <= ends[1])
        widths.append(np.ptp(ends) / np.ptp(10.0 ** (z + ERROR * ndtri([0.05, 0.95]))))
    return float(np.mean(inside)), float(np.median(widths))


if __name__ == "__main__":
    main()
