"""Mechanisms by their studies: errors, and coverage of intervals that model the noise."""

from __future__ import annotations

from benchmarks.goals import Measured, goal, mean, ratio, share, study

NO_NOISE = 1000.0
"""At this ε_total, whole-numbered noise is 0 except with a probability below 1e-90."""


@goal("noisy-counts-mse-1", at_least=0.0286e-3 * 0.9, at_most=0.0286e-3 * 1.1, epsilon_total=1.0)
@goal("noisy-counts-mse-0.1", at_least=0.0545e-3 * 0.9, at_most=0.0545e-3 * 1.1, epsilon_total=0.1)
def noisy_counts(epsilon_total: float) -> Measured:
    """Mean squared error of the exact posterior mean given five counts with noise.

    Uniform mixture at its true weights, N = 5000, sensitivity 2; mean over five weights and 400
    data sets. Without noise, (1 − Σθ²)/(5N) = 0.0284e-3 is expected.
    """
    asked = {"mechanism": "noisy-counts", "epsilon_total": (0.1, 1.0)}
    main = study("compare-mechanisms", runs=400, pool_size=100, **asked).tables["main"]
    return mean(main.mse[main.epsilon_total == epsilon_total])


@goal("coverage-noise-aware-0.01", at_least=0.87, at_most=0.93, epsilon_total=0.01)
@goal("coverage-noise-aware-0.1", at_least=0.87, at_most=0.93, epsilon_total=0.1)
@goal("coverage-noise-aware-1", at_least=0.87, at_most=0.93, epsilon_total=1.0)
def noise_aware(epsilon_total: float) -> Measured:
    """Share of 90 % intervals of the private embedding that hold the truth.

    Uniform mixture, truths from the prior, N = 5000, 10 000 draws in the pool, sharp Δ; mean over
    five weights and 1000 data sets. The interval treats the weights of a data set as one.
    """
    mechanism = "embedding-noise-aware"
    result = study("coverage", preset="full-size", runs=1000, mechanism=mechanism)
    table = result.tables["summary"]
    found = table[(table.mechanism == mechanism) & (table.epsilon_total == epsilon_total)].iloc[0]
    return Measured(found.coverage, found.coverage_low, found.coverage_high, 1000)


@goal("private-summary-error-ratio-patients", at_most=1.12, scenario="tuberculosis-patients")
@goal("private-summary-error-ratio-people", at_most=1.10, scenario="covid-people")
def summary_error(scenario: str) -> Measured:
    """Mean absolute error of a private summary at ε_total = 1 relative to none of the noise.

    In prior standard deviations, over all parameters; 1000 truths from the prior, beyond the pool
    of 20 000 draws; one person is added or removed.
    """
    asked = {"scenario": scenario, "mechanism": "private-summary", "truths": "prior"}
    result = study("compare-mechanisms", epsilon_total=(1.0, NO_NOISE), runs=1000, **asked)
    errors = result.tables["main"].set_index(["epsilon_total", "run"]).mae_scaled
    return ratio(errors[1.0], errors[NO_NOISE])


@goal("private-summary-coverage-patients-R1", at_least=0.87, at_most=0.93, parameter="R1")
@goal("private-summary-coverage-patients-t1", at_least=0.87, at_most=0.93, parameter="t1")
@goal("private-summary-coverage-patients-R2", at_least=0.87, at_most=0.93, parameter="R2")
@goal("private-summary-coverage-patients-beta", at_least=0.87, at_most=0.93, parameter="β")
def summary_coverage(parameter: str) -> Measured:
    """Share of 90 % intervals of one parameter that hold the truth, at ε_total = 1.

    Tuberculosis, one patient is added or removed; 2000 truths from the prior, 20 000 draws in the
    pool.
    """
    asked = {"scenario": "tuberculosis-patients", "mechanism": "private-summary"}
    main = study("coverage", epsilon_total=1.0, runs=2000, **asked).tables["main"]
    chosen = main[(main.mechanism == "private-summary") & (main.parameter == parameter)]
    inside = (chosen.low <= chosen.truth) & (chosen.truth <= chosen.high)
    return share(int(inside.sum()), len(inside))
