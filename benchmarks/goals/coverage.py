"""Coverage of intervals that model the noise."""

from __future__ import annotations

from benchmarks.goals import Measured, goal, study


@goal("coverage-noise-aware-0.01", at_least=0.87, at_most=0.93, epsilon_total=0.01)
@goal("coverage-noise-aware-0.1", at_least=0.87, at_most=0.93, epsilon_total=0.1)
@goal("coverage-noise-aware-1", at_least=0.87, at_most=0.93, epsilon_total=1.0)
def noise_aware(epsilon_total: float) -> Measured:
    """Share of 90 % intervals of the private embedding that hold the truth.

    Uniform mixture, truths from the prior, N = 5000, 10 000 draws in the pool, sharp Δ; mean over
    five weights and 1000 data sets. The interval treats the weights of a data set as one.
    """
    result = study("coverage", preset="full-size", runs=1000, mechanism="embedding-noise-aware")
    table = result.tables["summary"]
    chosen = (table.mechanism == "embedding-noise-aware") & (table.epsilon_total == epsilon_total)
    found = table[chosen].iloc[0]
    return Measured(found.coverage, found.coverage_low, found.coverage_high, 1000)
