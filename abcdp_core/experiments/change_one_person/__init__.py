r"""What does one person change?

Differential privacy compares two data sets that differ in one point. Here one point of $Y^*$ is
replaced by the worst one that a search finds, the pair (point, new value) that moves the
distances near the threshold most. Every distance $\rho_t$ moves by at most the sensitivity
$\Delta$ (MATH M2); under the *same* noise, few decisions change. And over all noises, no outcome
becomes more than $e^{\epsilon_{total}}$ times as likely or as unlikely:

$$e^{-\epsilon_{total}} \le \frac{P(\text{outcome} \mid Y^*)}{P(\text{outcome} \mid Y^{*\prime})}
\le e^{\epsilon_{total}} \qquad \text{(MATH S2)}$$

The outcome shown is how many draws the run looks at until the c-th acceptance, or that the pool
ends before. Its probabilities are exact from either data set, without any simulated noise: given
the threshold's noise the decisions are independent, and what is left is an integral (MATH E6). So
whatever difference is seen here is the person's. The bound holds for every outcome and every pair
of data sets; one person rarely comes near it, because it is made for the worst of all data sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from abcdp_core import figures as fig
from abcdp_core import pool, releases, simulators
from abcdp_core.experiments.change_one_person import computing, drawing, words
from abcdp_core.experiments.change_one_person.computing import COLUMNS, POOL_ENDED, worst_change
from abcdp_core.experiments.change_one_person.words import (
    bound_in_words,
    largest_in_words,
    move_in_words,
)
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.streams import generator
from abcdp_core.tasks import SingleTask, single_task
from abcdp_core.theory import sparse_vector_run as theory

__all__ = [
    "COLUMNS", "EXPERIMENT", "POOL_ENDED", "PRESETS", "TITLE", "Params", "bound_in_words",
    "collect", "figures", "largest_in_words", "move_in_words", "prepare", "serves", "tasks", "work",
    "worst_change",
]  # fmt: skip

EXPERIMENT = "change-one-person"
TITLE = "What one person changes"

WORST = "worst"
"""The move that the search found."""

MOVED_TO = Parameter(
    kind="real",
    label="Move the point to",
    help="Place in the range of possible values: 0 is the lowest, 1 the highest. worst: the place "
    "that moves the distances most, of those tried.",
    low=0.0,
    high=1.0,
    steps=tuple(i / 20 for i in range(21)),
    special=(WORST,),
)


@dataclass(frozen=True)
class Params(releases.ReleaseParams):
    """A release's parameters, and where the person's point goes, as a part of the domain."""

    moved_to: float | str = MOVED_TO.field(WORST)

    def check_together(self) -> None:
        """Refuse also a scenario in which no point can be replaced."""
        super().check_together()
        if reason := _refusal(self.scenario):
            raise ParameterError(f"scenario = {self.scenario}: {reason}; choose another scenario.")


def serves(scenario: str) -> bool:
    """Whether a point of a scenario's data can be replaced."""
    return not _refusal(scenario)


def _refusal(scenario: str) -> str:
    """Why no point of a scenario's data can be replaced; empty if one can."""
    source = simulators.load(scenario)
    if hasattr(source, "precomputed"):
        return "only the distances of its pool are kept, so no point can be replaced"
    unit, neighbours = sparse_vector.LINEAR.protects(source)
    if neighbours != "replace":
        return f"{unit} is added or removed there, and no point is replaced"
    return ""


PRESETS: dict[str, BaseParams] = {}

prepare, tasks = releases.prepare, single_task


def work(task: SingleTask[Params]) -> Tables:
    """Compare the data with their neighbour: distances, decisions, outcomes."""
    params = task.params
    budget, key = params.epsilon_total, releases.pool_key(params, task.seed)
    low, high = domain = simulators.load(params.scenario).DOMAIN
    before = computing.before(key, params.n, params.epsilon_abc)
    moved = params.moved_to
    changed = before.data.copy()
    changed[before.point, -1] = (
        before.value if isinstance(moved, str) else low + moved * (high - low)
    )
    both = before.comparison, pool.compare(pool.open_pool(key), changed, synthetic=True)
    event = releases.event_of(params)
    run = theory.Run.of(event, params.epsilon_abc)
    stops = computing.stops_before(key, params.n, run), theory.stopping_time(both[1].rho, run)
    # The same noise for both, the one that the posterior page shows.
    noise = (generator(task.seed, "noise", 0, params.noise_draw) for _ in both)
    released = [releases.release(params, *each)[0] for each in zip(both, noise, strict=True)]
    return {
        "main": computing.curves(*stops, budget),
        "ratio": computing.ratios(*stops, budget),
        "largest": computing.largest(*stops, budget),
        "movement": computing.movement(*both, event.sensitivity),
        "decisions": computing.decisions(*(release.indices for release in released)),
        **computing.person(before.data, changed, before.point, domain),
    }


def collect(params: Params, rows: Tables) -> Result:
    """Return the result of the one task."""
    privacy, event = releases.privacy_of(params), releases.event_of(params)
    result = Result(EXPERIMENT, params, rows, "", privacy, event)
    return replace(result, summary=words.summary(result))


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw outcome distributions above their ratio, how distances moved, the point that moved."""
    return {
        "outcomes": drawing.outcomes(result),
        "movement": drawing.movement(result),
        "person": drawing.person(result),
    }
