"""The settings of a result, and the command that reproduces it."""

from __future__ import annotations

import math
import shlex
import typing
from collections.abc import Mapping
from typing import Any

from abcdp_core.base import registry
from abcdp_core.base.parameters import Params, text_of
from abcdp_core.privacy import Event
from abcdp_core.publish.output import citation
from abcdp_core.publish.output.tables import column_kinds
from abcdp_core.run.results import Result, versions


def command(result: Result, folder: str = "") -> str:
    """Return the command that reproduces a result in a folder of ``results``."""
    return command_of(result.experiment, result.params, result.seed, folder)


def command_of(experiment: str, params: Params, seed: int, folder: str = "") -> str:
    """Return the command that runs an experiment with these parameters.

    It names the plug-ins of the experiment and its scenario, without their folders. The folder of
    the results is by default named like the experiment.
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
    """Return all about a result but its tables, ready for JSON, with its :func:`command`."""
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
    """Return the value of a parameter, or a list, for JSON; infinity is a text."""
    if isinstance(value, tuple):
        return [in_json(item) for item in value]
    infinite = isinstance(value, float) and not math.isfinite(value)
    return text_of(value) if infinite else value


def params_from_json(params: type[Params], saved: Mapping[str, Any]) -> Params:
    """Read parameters that :func:`settings_of` saved, or version 0.1.0, as texts.

    Raises:
        ParameterError: a parameter is unknown or not allowed.
    """
    return params.from_text(
        {name: text_of(tuple(v) if isinstance(v, list) else v) for name, v in saved.items()}
    )


def event_in_json(event: Event | None) -> dict[str, Any] | None:
    """Return an event for JSON, without loss of precision."""
    if event is None:
        return None
    types = typing.get_type_hints(type(event))
    fields = {name: in_json(_as(kind, getattr(event, name))) for name, kind in types.items()}
    return {"kind": type(event).__name__} | fields


def _as(kind: Any, value: Any) -> Any:
    """Convert a number to its type; leave optional values alone."""
    return kind(value) if isinstance(kind, type) else value


def _kinds(kind: type[Event]) -> list[type[Event]]:
    """Return all subclasses of an event, including those of plug-ins."""
    return [each for below in kind.__subclasses__() for each in (below, *_kinds(below))]


def event_from_json(saved: Mapping[str, Any] | None) -> Event | None:
    """Read an event that :func:`event_in_json` saved."""
    if saved is None:
        return None
    kinds: dict[str, Any] = {kind.__name__: kind for kind in _kinds(Event)}
    kind = kinds[saved["kind"]]
    return kind(**{name: _as(typing.get_type_hints(kind)[name], value)
                           for name, value in saved.items() if name != "kind"})  # fmt: skip
