"""Make the tasks, tables, results and figures of a study from its definition."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from abcdp_core.base.parameters import Params
from abcdp_core.models.simulators import Scenario, ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import Event, NonPrivate, statement_of_largest
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Chain, Chunk, Continuation, Run, per_run, per_value
from abcdp_core.studies.engine.tables import (
    CellTable,
    DerivedTable,
    RunTable,
    Settings,
    columns,
    of_link,
    table_of,
)

if TYPE_CHECKING:
    # Plotly loads slowly, so only drawing imports it.
    from abcdp_core.figures import CaptionedFigure

P = TypeVar("P", bound=Params)
W = TypeVar("W")


def nothing(run: Run[Any]) -> None:
    """Return the world of a study that needs only formulas."""


@dataclass(frozen=True, eq=False)
class Study(Generic[P, W]):
    """The definition of a study.

    Attributes:
        name: name of the study.
        params: its parameters; a field ``runs`` is the number of repeats.
        tables: name -> how to make the table, or only its columns, separated by spaces, if ``link``
            or the world supplies the rows under this name. The first is ``main``.
        says: sums up a result in one short paragraph.
        privacy: the privacy statement, if it does not follow from one event.
        event: the privacy event of a release with noise. The statement is about the largest budget.
        views: name -> draws a view of a result; returns ``None`` if there is nothing to draw.
        world: computes what all cells of a run share.
        totals: name -> table made from the rows of all runs.
        guarantee: the privacy statement, if it follows from the tables.
        release: the event of the one release that was made from private data.
        scenario: the scenario, if it is not a parameter.
        each: parameters for which each combination of values is a task, if there are no runs.
        links: number of links of the only task, if it is a chain.
        chains: makes the tasks, if several are chains.
        link: does the next link of a chain: table -> rows, and the state after it.
    """

    name: str
    params: type[P]
    tables: Mapping[str, CellTable[W] | RunTable[W] | str]
    says: Callable[[Result], str]
    views: Mapping[str, Callable[[Result], CaptionedFigure | None]]
    privacy: str | Callable[[P], str] = ""
    event: Callable[[Settings], Event] | None = None
    world: Callable[[Run[P]], W] = nothing  # type: ignore[assignment]
    totals: Mapping[str, DerivedTable] = field(default_factory=dict)
    guarantee: Callable[[Result], str] | None = None
    release: Callable[[P], Event | None] | None = None
    scenario: Scenario = MIXTURE
    each: tuple[str, ...] = ()
    links: Callable[[P], int] | None = None
    chains: Callable[[P, int], list[Any]] | None = None
    link: Callable[[Continuation[Any]], tuple[Mapping[str, Any], Any]] | None = None

    def contract(self) -> tuple[dict[str, tuple[str, ...]], Any, Any, Any, Any]:
        """Return ``COLUMNS, tasks, work, collect, figures`` for the study's module."""
        every = {**self.tables, **self.totals}
        listed: Any = {name: getattr(table, "columns", table) for name, table in every.items()}
        return columns(**listed), self.tasks, self.work, self.collect, self.figures

    @property
    def code(self) -> list[Callable[..., object]]:
        """Return the functions of the study's module that compute rows; shown with its theory."""
        tables = [table for table in self.tables.values() if not isinstance(table, str)]
        made = [table.cell if isinstance(table, CellTable) else table.make for table in tables]
        every = [self.world, *made, *([self.link] if self.link else [])]
        own = [each for each in every if each.__module__.startswith(self.params.__module__)]
        return [each for each in own if getattr(each, "__name__", "<lambda>") != "<lambda>"]

    def tasks(self, params: P, seed: int) -> list[Run[P]]:
        """Return a task for each run. They do not depend on the number of runs, for the store."""
        if self.chains is not None:
            return self.chains(params, seed)
        if self.links is not None:
            return [Chain(params, 0, seed, self.links(params))]
        if "runs" not in vars(params):
            return [Run(part.params, 0, seed) for part in per_value(params, seed, *self.each)]
        return per_run(params, seed)

    def work(self, run: Run[P] | Continuation[Any]) -> Tables | Chunk:
        """Compute the tables of a run, or of the next link of a chain."""
        tables = self.tables
        if self.link is not None:
            chain: Continuation[Any] = Continuation.of(run)
            (rows, state), at = self.link(chain), Settings.first(chain.task)
            made = {name: of_link(str(each), rows.get(name), at) for name, each in tables.items()}
            return chain.link(made, state)
        whole = cast("Run[P]", run)
        world: Any = self.world(whole)
        return {
            name: table_of(table, world[name]) if isinstance(table, str) else table.of(world, whole)
            for name, table in tables.items()
        }

    def collect(self, params: P, rows: Tables) -> Result:
        """Combine the rows of the runs so far, and sum up the result."""
        tables = dict(rows)
        for name, total in self.totals.items():
            tables[name] = table_of(total.columns, total.make(params, rows))
        done = None if self.release is None else self.release(params)
        result = Result(self.name, params, tables, "", "", done)
        if self.guarantee is not None:
            privacy = self.guarantee(result)
        else:
            privacy = self.privacy if isinstance(self.privacy, str) else self.privacy(params)
            privacy = privacy or self._guarantee(params)
        return replace(result, privacy=privacy, summary=self.says(result))

    def done(self, at: Settings) -> Event:
        """Return the privacy event of a release; an infinite budget means no noise."""
        assert self.event is not None
        return NonPrivate() if math.isinf(at.epsilon_total) else self.event(at)

    def _guarantee(self, params: P) -> str:
        """State the guarantee of one release with the largest budget, at the first settings."""
        first = vars(Settings.first(Run(params, 0, 0)))
        scenario = params.source if isinstance(params, ScenarioParams) else self.scenario
        return statement_of_largest(
            vars(params)["epsilon_total"],
            lambda budget: self.done(Settings(**first | {"epsilon_total": budget})),
            scenario.protected,
            first.get("delta", 0.0),
            first.get("accountant", "exact"),
        )

    def figures(self, result: Result) -> dict[str, CaptionedFigure]:
        """Draw every view that has something to draw."""
        drawn = {name: view(result) for name, view in self.views.items()}
        return {name: each for name, each in drawn.items() if each is not None}

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        # Pickled by the module's name, since views and cells may be lambdas.
        return _study_of, (self.params.__module__,)


def _study_of(module: str) -> Any:
    return importlib.import_module(module).STUDY
