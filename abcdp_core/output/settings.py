"""All that is known about a result beside its tables, and the command that makes it again."""

from __future__ import annotations

import shlex
import typing
from collections.abc import Callable, Mapping
from typing import Any

from abcdp_core.output.tables import column_kinds
from abcdp_core.parameters import Params
from abcdp_core.privacy import Event
from abcdp_core.results import Result, versions


def command(result: Result) -> str:
    """The line that computes the result again."""
    return command_of(result.experiment, result.params, result.seed)


def command_of(experiment: str, params: Params, seed: int) -> str:
    """The line that runs an experiment with these parameters."""
    settings = (f"--set {shlex.quote(f'{k}={v}')}" for k, v in params.to_text().items())
    return (
        f"python -m abcdp_core run {shlex.quote(experiment)} {' '.join(settings)} "
        f"--seed {seed} --out {shlex.quote(f'results/{experiment}')}"
    )


def settings_of(result: Result, run_time: float | None = None) -> dict[str, Any]:
    """All that is known about a result beside its tables, ready for JSON.

    Args:
        result: complete or partial.
        run_time: seconds that it took.
    """
    return {
        "experiment": result.experiment,
        "parameters": result.params.to_text(),
        "seed": result.seed,
        "command": command(result),
        "summary": result.summary,
        "privacy": result.privacy,
        "event": event_as_text(result.event),
        "done": result.done,
        "total": result.total,
        "partial": result.is_partial,
        "run_time_seconds": None if run_time is None else round(run_time, 3),
        "versions": versions(),
        "columns": {name: column_kinds(table) for name, table in result.tables.items()},
    }


def event_as_text(event: Event | None) -> dict[str, str] | None:
    """Text, because JSON has no infinity; ``repr`` of a float loses nothing."""
    if event is None:
        return None
    types = typing.get_type_hints(type(event))
    fields = {name: repr(kind(getattr(event, name))) for name, kind in types.items()}
    return {"kind": type(event).__name__} | fields


def _kinds(kind: type[Event]) -> list[type[Event]]:
    """All kinds of event below one, those of plug-ins too."""
    return [each for below in kind.__subclasses__() for each in (below, *_kinds(below))]


def event_from_text(saved: Mapping[str, str] | None) -> Event | None:
    """The inverse of :func:`event_as_text`."""
    if saved is None:
        return None
    kinds: dict[str, Any] = {kind.__name__: kind for kind in _kinds(Event)}
    types = typing.get_type_hints(kinds[saved["kind"]])
    parse: dict[type, Callable[[str], Any]] = {bool: "True".__eq__, int: int, float: float}
    values = {name: parse[types[name]](text) for name, text in saved.items() if name != "kind"}
    event: Event = kinds[saved["kind"]](**values)
    return event
