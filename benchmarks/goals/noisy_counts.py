"""Error of noisy counts, the rival that needs no simulation."""

from __future__ import annotations

from benchmarks.goals import Measured, goal, mean, study


@goal("noisy-counts-mse-1", at_least=0.0286e-3 * 0.9, at_most=0.0286e-3 * 1.1, epsilon_total=1.0)
@goal("noisy-counts-mse-0.1", at_least=0.0545e-3 * 0.9, at_most=0.0545e-3 * 1.1, epsilon_total=0.1)
def error(epsilon_total: float) -> Measured:
    """Mean squared error of the exact posterior mean given five counts with noise.

    Uniform mixture at its true weights, N = 5000, sensitivity 2; mean over five weights and 400
    data sets. Without noise, (1 − Σθ²)/(5N) = 0.0284e-3 is expected.
    """
    result = study(
        "compare-mechanisms",
        mechanism="noisy-counts",
        epsilon_total=(0.1, 1.0),
        runs=400,
        pool_size=100,
    )
    main = result.tables["main"]
    return mean(main.mse[main.epsilon_total == epsilon_total])
