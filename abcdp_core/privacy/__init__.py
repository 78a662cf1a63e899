"""The privacy cost of a release: events record what was done, :func:`cost` returns its ε and δ.

Calibration solves for the noise, rounds it up and computes the cost again. Events that several
mechanisms share are here; the event of a single mechanism is in its file, with its cost.
"""

from abcdp_core.privacy.accounting import (
    ADDS_UP,
    UNPROTECTED,
    Cost,
    belief,
    cost,
    guarantee,
    in_digits,
    noise_in_words,
    statement,
    statement_of_largest,
)
from abcdp_core.privacy.events import (
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    NormNoise,
    ThresholdRun,
)
