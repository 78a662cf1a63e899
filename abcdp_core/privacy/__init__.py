"""What a release cost: events say what was done, :func:`cost` says what it cost.

An event is data; only :func:`cost` turns it into numbers, so a label, a file and a test all read
the same ones. Calibration solves for the noise, rounds up and recomputes the cost. Here is what
several mechanisms share; the event of one alone is in its file, with its cost.
"""

from abcdp_core.privacy.accounting import (
    ADDS_UP,
    UNPROTECTED,
    Cost,
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    NormNoise,
    ThresholdRun,
    belief,
    cost,
    guarantee,
    in_digits,
    noise_in_words,
    statement,
    statement_of_largest,
)
