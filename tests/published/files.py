"""Parts of the two files of a problem: a noisy query, and a pool."""

from __future__ import annotations

NINE = "query = [0, 0, 0, 0, 0, 0, 0, 0, 0]"
REGRESSION = 'simulator = "linear-regression"'
LAPLACE = '[noise]\nlaw = "laplace"\nscale = 0.13'
POOL = "theta.a,summary.s,summary.t\n" + "".join(
    f"{row / 7:.3f},{row},{row % 5}\n" for row in range(150)
)
