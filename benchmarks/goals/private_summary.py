"""Private summary: error for the privacy of one person, and coverage of intervals."""

from __future__ import annotations

from benchmarks.goals import Measured, goal, ratio, share, study

NO_NOISE = 1000.0
"""At this ε_total, whole-numbered noise is 0 except with a probability below 1e-90."""


@goal("private-summary-error-ratio-patients", at_most=1.12, scenario="tuberculosis-patients")
@goal("private-summary-error-ratio-people", at_most=1.10, scenario="covid-people")
def error_ratio(scenario: str) -> Measured:
    """Mean absolute error at ε_total = 1 relative to the same posterior without noise.

    In prior standard deviations, over all parameters; 1000 truths from the prior, beyond the pool
    of 20 000 draws; one person is added or removed.
    """
    result = study(
        "compare-mechanisms",
        scenario=scenario,
        mechanism="private-summary",
        epsilon_total=(1.0, NO_NOISE),
        truths="prior",
        runs=1000,
    )
    errors = result.tables["main"].set_index(["epsilon_total", "run"]).mae_scaled
    return ratio(errors[1.0], errors[NO_NOISE])


@goal("private-summary-coverage-patients-R1", at_least=0.87, at_most=0.93, parameter="R1")
@goal("private-summary-coverage-patients-t1", at_least=0.87, at_most=0.93, parameter="t1")
@goal("private-summary-coverage-patients-R2", at_least=0.87, at_most=0.93, parameter="R2")
@goal("private-summary-coverage-patients-beta", at_least=0.87, at_most=0.93, parameter="β")
def coverage(parameter: str) -> Measured:
    """Share of 90 % intervals of one parameter that hold the truth, at ε_total = 1.

    Tuberculosis, one patient is added or removed; 2000 truths from the prior, 20 000 draws in the
    pool.
    """
    result = study(
        "coverage",
        scenario="tuberculosis-patients",
        mechanism="private-summary",
        epsilon_total=1.0,
        runs=2000,
    )
    main = result.tables["main"]
    chosen = main[(main.mechanism == "private-summary") & (main.parameter == parameter)]
    inside = (chosen.low <= chosen.truth) & (chosen.truth <= chosen.high)
    return share(int(inside.sum()), len(inside))
