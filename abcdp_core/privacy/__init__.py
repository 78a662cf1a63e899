"""The privacy cost of a release: events record what was done, :func:`cost` returns its ε and δ.

    Budget --calibration--> noise scales --> Event --cost--> Cost (ε, δ) --> a sentence

Calibration solves for the noise, rounds it up and computes the cost again. Events that several
mechanisms share are in :mod:`.events`; the event of a single mechanism is in its file, with its
cost. Begin with :mod:`.accounting`. How far one record moves a number is proved in
:mod:`abcdp_core.models.own_model.statistics`, how far it moves a distance in
:mod:`abcdp_core.models.distances`. A person's budget is in :mod:`abcdp_core.release.budget_file`.

| module | what it does |
|---|---|
| :mod:`.accounting` | the ε and δ of an event, and the statement of a guarantee |
| :mod:`.composition` | the ε of k answers together, by four accountants |
| :mod:`.gaussian_series` | the same for Gaussian noise, one answer or a sequence |
| :mod:`.calibration` | the least noise that fits, rounded to the safe side |
| :mod:`.discrete` | noise in whole numbers, drawn without floating point |
| :mod:`.tradeoff`, :mod:`.promise` | what an attacker can do, and what that means to a person |
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
