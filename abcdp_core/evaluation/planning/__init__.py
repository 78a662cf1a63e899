r"""Predict the error of every mechanism before any private data are read.

The flow, all of it public::

    scenario, n, pool size, seed, index ──case──► a data set at a draw from the prior, and its pool
    mechanism, n ──settings──► every public setting worth trying
    Setting, case, noises ──outcomes──► errors and intervals of a few runs, exact if possible
    outcomes over many cases ──average, quantile──► an estimate with its 95 % interval

- A *case* (:mod:`.cases`) has a data set simulated at a draw from the prior, which takes the
  place of private data, and a public pool. If a scenario can draw reduced data sets (``reduced``),
  every case has its own pool, at any n, in about 20 ms. Otherwise all cases share the scenario's
  pool, and its chance is in every prediction.
- A *setting* is a mechanism with its options, at a budget and a size. The sparse vector's mean
  squared error is averaged over all noise exactly (MATH E6); everything else comes from runs with
  simulated noise.
- Settings are chosen on some cases and predicted on others, so that a choice among many does not
  make its own prediction too good.
- Cases differ in the distance of their truth from the prior mean and, if a scenario has a
  likelihood, in the error of the exact posterior mean. The expected values of both are known and
  correct the averages of squared errors (control variates).
"""

from abcdp_core.evaluation.cases import Case
from abcdp_core.evaluation.planning.cases import case, ideal, prior
from abcdp_core.evaluation.planning.estimates import Estimate, average, quantile, share
from abcdp_core.evaluation.planning.goal import HONEST, METRICS, Goal, other_half, per_case
from abcdp_core.evaluation.planning.sample_size import NAMES, enough, least
from abcdp_core.evaluation.planning.simulated_releases import Setting, outcomes
from abcdp_core.evaluation.planning.tuning import (
    NOISES,
    TRIED,
    Asked,
    best,
    chosen,
    kept,
    predicted,
    table,
    tried,
)
