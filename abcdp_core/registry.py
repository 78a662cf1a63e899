"""Plug-ins found by scanning: one scenario, mechanism or experiment is one module in its folder.

A module joins by having the folder's marker: ``SCENARIO`` in ``simulators``, ``EXPERIMENT`` in
``experiments``, each the name it goes by, and ``MECHANISMS`` in ``mechanisms``, what it offers.
Installed packages add modules through entry points of the group ``abcdp_explorer``; a file is added
by :func:`add_file`. An import error or a second module of the same name is an error, never a silent
gap.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

ENTRY_POINT_GROUP = "abcdp_explorer"

_added: list[ModuleType] = []

texts: dict[str, bytes] = {}
"""Name of an added file's module -> its source text then; the file may change or go."""


def add_file(path: str | Path) -> ModuleType:
    """Load a plug-in from a file, for this process.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a Python module, or has no marker of any folder.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"plug-in {path}: no such file.")
    name = f"abcdp_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"plug-in {path}: not a Python file.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up here.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    if not any(hasattr(module, marker) for marker in ("SCENARIO", "MECHANISMS", "EXPERIMENT")):
        raise ValueError(f"plug-in {path}: has none of SCENARIO, MECHANISMS, EXPERIMENT.")
    _added.append(module)
    texts[name] = path.read_bytes()
    forget()
    return module


def forget() -> None:
    """Scan anew when next asked."""
    scan.cache_clear()
    modules.cache_clear()


def plugged_in() -> list[str]:
    """Names of all plug-in modules that are in no folder here; imports none of them."""
    installed = [point.module for point in entry_points(group=ENTRY_POINT_GROUP)]
    return [*installed, *(module.__name__ for module in _added)]


@functools.cache
def modules(package: str, marker: str) -> tuple[Any, ...]:
    """Modules of one folder, of installed packages and of added files that have a marker."""
    folder = importlib.import_module(package)
    found = [
        importlib.import_module(f"{package}.{info.name}")
        for info in pkgutil.iter_modules(folder.__path__)
    ]
    found += [point.load() for point in entry_points(group=ENTRY_POINT_GROUP)]
    return tuple(module for module in [*found, *_added] if hasattr(module, marker))


@functools.cache
def scan(package: str, marker: str) -> dict[str, Any]:
    """Name -> module of every plug-in of one folder, in the order of their names.

    Raises:
        ValueError: two modules go by the same name.
    """
    found: dict[str, Any] = {}
    for module in modules(package, marker):
        name = getattr(module, marker)
        if name in found and found[name] is not module:
            raise ValueError(f"two plug-ins are called {name!r}: {found[name]} and {module}.")
        found[name] = module
    return dict(sorted(found.items()))
