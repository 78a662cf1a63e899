"""All that is known about a result beside its tables, and the command that makes it again."""

from __future__ import annotations

import math
import shlex
import typing
from collections.abc import Callable, Mapping
from typing import Any

from abcdp_core import registry
from abcdp_core.output import citation
from abcdp_core.output.tables import column_kinds
from abcdp_core.parameters import Params, text_of
from abcdp_core.privacy import Event
from abcdp_core.results import Result, versions


def command(result: Result, folder: str = "") -> str:
    """The line that computes the result again, into a folder of this name in ``results``."""
    return command_of(result.experiment, result.params, result.seed, folder)


def command_of(experiment: str, params: Params, seed: int, folder: str = "") -> str:
    """The line that runs an experiment with these parameters.

    It names files that added the experiment and its scenario, without their folders. Its own folder
    is named like the experiment, or as several results of one experiment need it.
    """
    used = {"EXPERIMENT": experiment, "SCENARIO": getattr(params, "scenario", None)}
    added = (registry.file_that_added(marker, name) for marker, name in used.items() if name)
    plugins = "".join(f"--plugin {shlex.quote(file)} " for file in added if file)
    settings = (f"--set {shlex.quote(f'{k}={v}')}" for k, v in params.to_text().items())
    return (
        f"abcdp run {shlex.quote(experiment)} {plugins}{' '.join(settings)} "
        f"--seed {seed} --out {shlex.quote(f'results/{folder or experiment}')}"
    )


def settings_of(result: Result, folder: str = "") -> dict[str, Any]:
    """All that is known about a result beside its tables, ready for JSON: numbers are numbers.

    Its command is that of :func:`command`.
    """
    return {
        "experiment": result.experiment,
        "parameters": {name: in_json(value) for name, value in vars(result.params).items()},
        "seed": result.seed,
        "command": command(result, folder),
        "summary": result.summary,
        "privacy": result.privacy,
        "event": event_in_json(result.event),
        "done": result.done,
        "total": result.total,
        "partial": result.is_partial,
        "run_time_seconds": None if result.run_time is None else round(result.run_time, 3),
        "versions": versions(),
        "citation": citation.TEXT,
        "columns": {name: column_kinds(table) for name, table in result.tables.items()},
    }


def in_json(value: Any) -> Any:
    """A value of a parameter, or a list of them; what JSON has no number for is a word."""
    if isinstance(value, tuple):
        return [in_json(item) for item in value]
    infinite = isinstance(value, float) and not math.isfinite(value)
    return text_of(value) if infinite else value


def params_from_json(params: type[Params], saved: Mapping[str, Any]) -> Params:
    """Parameters as :func:`settings_of` saves them, or in words as files of version 0.1.0 do.

    Raises:
        ParameterError: one is unknown or not allowed.
    """
    return params.from_text(
        {name: text_of(tuple(v) if isinstance(v, list) else v) for name, v in saved.items()}
    )


def event_in_json(event: Event | None) -> dict[str, Any] | None:
    """An event as JSON has it; a number loses nothing."""
    if event is None:
        return None
    types = typing.get_type_hints(type(event))
    fields = {name: in_json(_as(kind, getattr(event, name))) for name, kind in types.items()}
    return {"kind": type(event).__name__} | fields


def _as(kind: Any, value: Any) -> Any:
    """A number in its own type; what may be several things or none stays as it is."""
    return kind(value) if isinstance(kind, type) else value


def _kinds(kind: type[Event]) -> list[type[Event]]:
    """All kinds of event below one, those of plug-ins too."""
    return [each for below in kind.__subclasses__() for each in (below, *_kinds(below))]


def event_from_json(saved: Mapping[str, Any] | None) -> Event | None:
    """The inverse of :func:`event_in_json`; files of version 0.1.0 have words for numbers."""
    if saved is None:
        return None
    kinds: dict[str, Any] = {kind.__name__: kind for kind in _kinds(Event)}
    types = typing.get_type_hints(kinds[saved["kind"]])
    parse: dict[type, Callable[[Any], Any]] = {
        bool: (True, "True").__contains__,
        int: int,
        float: float,
    }
    values = {name: parse[types[name]](text) for name, text in saved.items() if name != "kind"}
    event: Event = kinds[saved["kind"]](**values)
    return event
