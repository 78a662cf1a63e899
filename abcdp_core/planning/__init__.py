r"""Plans: what every mechanism is expected to err, before any private data are looked at.

What flows, all of it public::

    scenario, n, pool size, seed, index ──case──► a data set at a truth from the prior, and its pool
    mechanism, n ──settings──► every public setting worth trying
    Setting, case, noises ──outcomes──► errors and intervals of a few releases, exact where known
    outcomes over many cases ──average, quantile──► an estimate with its 95 % interval

- A *case* (:mod:`.cases`) is a data set simulated at a draw from the prior, in the place of private
  data, and a public pool to go with it. Where a scenario can draw data sets already reduced
  (``reduced``), every case has a pool of its own, at any n, in some 20 ms; elsewhere all cases
  share the scenario's one pool, and what that pool has of chance is in every prediction.
- A *setting* is a mechanism with its options, at a budget and a size. The sparse vector's mean
  squared error is averaged over all noise exactly (MATH E6); everything else, of every mechanism,
  is by releases with simulated noise.
- Settings are chosen on some cases and predicted on others, so that a choice among many does not
  flatter what was chosen.
- Part of what differs between cases is how far their truth is from the prior mean, and, where a
  scenario has a likelihood, how far the exact posterior mean is from the truth. The means of both
  are known, and averages of squared errors are corrected by them (control variates).

Nothing here is given private data, and nothing here takes any.
"""

from __future__ import annotations

from abcdp_core.planning.estimates import Estimate, average, quantile, share
from abcdp_core.planning.goal import HONEST, METRICS, Goal, other_half, per_case
from abcdp_core.planning.sample_size import NAMES, Enough, enough, least
from abcdp_core.planning.simulated_releases import Outcome, Setting, outcomes, settings
from abcdp_core.planning.test_cases import Case, Ideal, Prior, case, has_own_pools, ideal, prior
from abcdp_core.planning.tuning import (
    NOISES,
    TRIED,
    Asked,
    acceptances,
    best,
    chosen,
    kept,
    predicted,
    table,
    threshold,
    tried,
)

__all__ = [
    "HONEST",
    "METRICS",
    "NAMES",
    "NOISES",
    "TRIED",
    "Asked",
    "Case",
    "Enough",
    "Estimate",
    "Goal",
    "Ideal",
    "Outcome",
    "Prior",
    "Setting",
    "acceptances",
    "average",
    "best",
    "case",
    "chosen",
    "enough",
    "has_own_pools",
    "ideal",
    "kept",
    "least",
    "other_half",
    "outcomes",
    "per_case",
    "predicted",
    "prior",
    "quantile",
    "settings",
    "share",
    "table",
    "threshold",
    "tried",
]
