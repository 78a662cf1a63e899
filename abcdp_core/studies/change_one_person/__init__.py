r"""How much can one person change?

Differential privacy compares two data sets that differ in one person's record. Here a search finds
the worst case: the record in $Y^*$ and the new value that move the distances near the threshold
most. Every distance $\rho_t$ moves by at most the sensitivity $\Delta$ (MATH M2), so under the
*same* noise few decisions change. Over all possible noise, no outcome becomes more than
$e^{\epsilon_{total}}$ times as likely or as unlikely:

$$e^{-\epsilon_{total}} \le \frac{P(\text{outcome} \mid Y^*)}{P(\text{outcome} \mid Y^{*\prime})}
\le e^{\epsilon_{total}} \qquad \text{(MATH S2)}$$

The outcome shown is the number of draws that the run looks at before it has kept c, or that the
pool ends first. Its probabilities are exact, without simulated noise (MATH E6), so any difference
is due to the person alone. The bound holds for every outcome and every pair of neighboring data
sets. One person rarely comes near it, because it covers the worst of all data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

from abcdp_core.base.parameters import ParameterError
from abcdp_core.evaluation import one_release
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import simulators
from abcdp_core.studies.change_one_person import computing, views
from abcdp_core.studies.engine import RunTable, Study, scale

EXPERIMENT = "change-one-person"
TITLE = "What one person changes"

WORST = "worst"  # The change that the search found

MOVED_TO = scale(
    "Move the person's value to",
    "Position in the range of possible values: 0 is the lowest, 1 the highest. worst: the "
    "position, of those tried, that moves the distances most.",
    tuple(i / 20 for i in range(21)),
    special=(WORST,),
)


@dataclass(frozen=True)
class Params(one_release.ReleaseParams):
    """The parameters of a release, and the person's new value as a share of the range."""

    moved_to: float | str = MOVED_TO.field(WORST)

    def check_together(self) -> None:
        """Refuse also a scenario in which no record can be replaced."""
        super().check_together()
        if not serves(self.scenario):
            why = "no record in its data can be replaced; choose another."
            raise ParameterError(f"scenario = {self.scenario}: {why}")


def serves(scenario: str) -> bool:
    """Return whether a record can be replaced; for some scenarios only distances are stored."""
    source = simulators.load(scenario)
    if source.precomputed is not None:
        return False
    return sparse_vector.LINEAR.protects(source)[1] == "replace"


missing_pools = one_release.missing_pools

STUDY = Study(
    EXPERIMENT,
    Params,
    world=computing.Pair.of,
    tables={
        "main": RunTable(
            "looked_at stopped stopped_neighbour allowed_low allowed_high", computing.curves
        ),
        "ratio": RunTable(
            "outcome low high probability probability_neighbour log_ratio epsilon_total",
            computing.ratios,
        ),
        "largest": RunTable(
            "outcome probability probability_neighbour log_ratio at_least epsilon_total",
            computing.largest,
        ),
        "movement": RunTable("t rho rho_neighbour movement sensitivity", computing.movement),
        "decisions": RunTable("t original neighbour", computing.decisions),
        "data": RunTable("place amount", computing.data),
        "person": RunTable("place_before amount_before place_after amount_after", computing.person),
    },
    says=views.summary,
    privacy=one_release.privacy_of,
    release=one_release.event_of,
    views={"outcomes": views.outcomes, "movement": views.movement, "person": views.person},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
