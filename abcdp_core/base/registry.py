"""Plug-ins found by scanning: each scenario, mechanism or study is one module in its folder.

A module joins by the folder's marker: ``SCENARIO`` in ``simulators`` holds a value with a name or,
as before, the name; ``EXPERIMENT`` in ``studies`` holds the name, ``MECHANISMS`` in ``mechanisms``
what it offers. An added file may define ``MODEL`` instead, from which its scenario is made, and a
scenario may be added without a module. Installed packages add modules through
entry points of the group ``abcdp_explorer``. Files are added by :func:`add_file`, or by the
operator in the environment variable :data:`PLUGINS`: names separated by colons (semicolons on
Windows). So pages can show your own models although nobody can upload one.

Names and titles must be plain strings, as constants or keywords: they are read from the files of
scenarios and studies without importing them, which would load their libraries. A syntax error or a
duplicate name is raised when the folder is scanned, an import error when the module is used. No
plug-in is left out silently.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from abcdp_core.base import syntax

ENTRY_POINT_GROUP = "abcdp_explorer"

PLUGINS = "ABCDP_PLUGINS"
"""Environment variable that names files to add."""

_added: list[ModuleType] = []
_given: dict[str, Entry] = {}

texts: dict[str, bytes] = {}
"""Module of an added file -> its source text when it was added."""

_handed: dict[str, bytes] = {}
"""File named in the environment -> its text in the process that this one works for."""

_emptied: list[Callable[[], object]] = []
"""Functions that empty other caches than those of ``functools``."""


MARKERS = "SCENARIO", "MECHANISMS", "EXPERIMENT", "PUBLISHED_MODEL"
"""What a plug-in states one of; a model of one's own is made a scenario."""


def add_file(path: str | Path) -> ModuleType:
    """Load a plug-in file in this process; it replaces an earlier one of the same file name.

    Returns:
        The module; for a file with ``MODEL``, its ``SCENARIO`` is the one made from it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a Python module, or has no marker.
    """
    path = Path(path)
    text = _handed.get(str(path))
    if text is None and not path.is_file():
        raise FileNotFoundError(f"plug-in {path}: no such file.")
    name = _module_name(path)
    if path.suffix != ".py":
        raise ValueError(f"plug-in {path}: not a Python file.")
    loader = _FromText(name, str(path), text)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module here.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    is_other = texts.get(name, loader.text) != loader.text
    texts[name] = loader.text
    if hasattr(module, "MODEL") and not hasattr(module, "PUBLISHED_MODEL"):
        vars(module)["SCENARIO"] = _scenario_of(module.MODEL, name, path)
    if not any(hasattr(module, marker) for marker in MARKERS):
        raise ValueError(f"plug-in {path}: has none of {', '.join(MARKERS)}, MODEL.")
    add_module(module)
    if is_other:
        empty_caches()
    return module


def add_module(module: ModuleType) -> None:
    """Add a plug-in module in this process; it replaces an earlier one of the same name."""
    _take_out(module)
    _added.append(module)
    forget()


def add_value(marker: str, value: Any) -> None:
    """Add a plug-in without a module in this process; it replaces an earlier one.

    Args:
        marker: of the folder that it joins.
        value: has a ``name``, and a ``module`` that no other plug-in has.
    """
    _given[value.module] = Entry(value.module, *_told(marker, vars(value)), lambda: value)
    forget()


def remove(module: ModuleType) -> None:
    """Remove a plug-in that :func:`add_file` added."""
    _take_out(module)
    texts.pop(module.__name__, None)
    sys.modules.pop(module.__name__, None)
    forget()
    empty_caches()


def _take_out(module: ModuleType) -> None:
    _added[:] = [each for each in _added if each.__name__ != module.__name__]


def has(file: str, text: bytes) -> bool:
    """Return whether a file of that name was added with that text."""
    name = _module_name(Path(file))
    return texts.get(name) == text and any(each.__name__ == name for each in _added)


def empty_caches() -> None:
    """Empty all caches in memory: their keys are names, whose source may have changed."""
    package = f"{__package__.partition('.')[0]}."
    for module in [module for name, module in sys.modules.items() if name.startswith(package)]:
        for value in list(vars(module).values()):
            if isinstance(value, CACHED):
                value.cache_clear()
    for empty in _emptied:
        empty()


CACHED = type(functools.cache(len))
"""Type of a function with a cache."""


def emptied_by(empty: Callable[[], object]) -> None:
    """Register a function that empties another cache than those of ``functools``."""
    _emptied.append(empty)


def _scenario_of(model: Any, name: str, path: Path) -> Any:
    """Return the scenario of your own model, made by the module that the model names."""
    if not hasattr(model, "SCENARIO_MADE_BY"):
        raise ValueError(f"plug-in {path}: MODEL must be an abcdp_core.models.own_model.Model.")
    return part(model.SCENARIO_MADE_BY).scenario(model, name, path.name)


def text_of(path: Path) -> bytes:
    """Return the text of a file when it was added, or its text now if it was not."""
    return texts.get(_module_name(path)) or path.read_bytes()


def module_that_added(marker: str, name: str) -> ModuleType | None:
    """Return the module of the added file that defines a name, or ``None``."""
    named = (each for each in _added if _loaded(each, marker).strings.get(marker) == name)
    return next((each for each in named if each.__name__ in texts), None)


def file_that_added(marker: str, name: str) -> str | None:
    """Return the name of that file, without folders."""
    module = module_that_added(marker, name)
    if module is None:
        return None
    return f"{module.__name__.removeprefix(_module_name(Path()))}.py"


def _module_name(path: Path) -> str:
    return f"abcdp_plugin_{path.stem}"


class _FromText(SourceFileLoader):
    """Load a text, or the current text of a file.

    Cached bytecode would count as current if a changed file has the same length and second.
    """

    def __init__(self, name: str, path: str, text: bytes | None) -> None:
        super().__init__(name, path)
        self.text = self.get_data(path) if text is None else text

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        return self.source_to_code(self.text, self.path)


def forget() -> None:
    """Scan again at the next look-up."""
    scan.cache_clear()
    modules.cache_clear()


def plugged_in() -> list[str]:
    """Return the names of plug-in modules from elsewhere, without importing them."""
    installed = [point.module for point in entry_points(group=ENTRY_POINT_GROUP)]
    return [*installed, *(module.__name__ for module in _added), *_given]


@dataclass(frozen=True)
class Entry:
    """What is known about a plug-in without importing it.

    Attributes:
        module: full name of the module.
        strings: name -> plain string that the module assigns to it. If the marker holds a value,
            its fields count as such names too, in upper case, and its ``name`` as the marker.
        defined: all names that the module defines.
        load: import it.
    """

    module: str
    strings: Mapping[str, str]
    defined: frozenset[str]
    load: Callable[[], Any]


class PlugIns(Mapping[str, Any]):
    """Name -> module of every plug-in of one folder, imported on access."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Any:
        return self._entries[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a plug-in of that name; import nothing."""
        return name in self._entries

    def title(self, name: str) -> str:
        """Return its title if that is a plain string, else its name; import nothing."""
        return self._entries[name].strings.get("TITLE", name)

    def defines(self, name: str, what: str) -> bool:
        """Return whether a plug-in defines a name, such as a function; import nothing."""
        return what in self._entries[name].defined


@functools.cache
def modules(package: str, marker: str) -> tuple[Any, ...]:
    """Return the modules with a marker: of a folder, of installed packages, and added files."""
    return tuple(entry.load() for entry in _entries(package, marker))


@functools.cache
def scan(package: str, marker: str) -> PlugIns:
    """Return all plug-ins that have a marker, sorted by name; import none of them.

    Raises:
        SyntaxError: a file in the folder is not Python.
        ValueError: two modules have the same name, or a marker is not a plain string.
    """
    entries: dict[str, Entry] = {}
    for entry in _entries(package, marker):
        name = entry.strings.get(marker)
        if name is None:
            raise ValueError(f"{entry.module}: {marker} must be a plain string.")
        if name in entries and entries[name].module != entry.module:
            raise ValueError(
                f"two plug-ins are called {name!r}: {entries[name].module} and {entry.module}."
            )
        entries[name] = entry
    return PlugIns(dict(sorted(entries.items())))


_asked: set[str] = set()
_asking = threading.RLock()


def _add_from_environment(names: str) -> None:
    """Add the files named in the environment, once; other threads wait for it.

    Raises:
        LoadError: a file cannot be loaded.
    """
    with _asking:
        if names in _asked:
            return
        # First, because their imports may scan.
        _asked.add(names)
        for path in filter(None, names.split(os.pathsep)):
            try:
                _add_once(Path(path))
            except (Exception, SystemExit) as error:
                _asked.discard(names)
                passed = traceback.extract_tb(error.__traceback__)
                lines = [frame.lineno for frame in passed if frame.filename == path]
                at = f"line {lines[-1]}: " if lines else ""
                reason = f"{at}{type(error).__name__}: {error}"
                raise LoadError(f"{PLUGINS} = {path}: cannot be loaded ({reason}).") from error


def from_environment() -> dict[str, bytes]:
    """Return files named in the environment -> their texts when they were added.

    Raises:
        LoadError: a file cannot be loaded.
    """
    names = os.environ.get(PLUGINS, "")
    _add_from_environment(names)
    return {path: text_of(Path(path)) for path in names.split(os.pathsep) if path}


def take(handed: Mapping[str, bytes]) -> None:
    """Use these texts of files, because this process works for another that has read them."""
    _handed.update(handed)


def _add_once(path: Path) -> None:
    """Add a file unless it was added before.

    Raises:
        ValueError: another file has its name, or it is not a plug-in.
    """
    name = _module_name(path)
    text = _handed.get(str(path)) or (path.read_bytes() if path.is_file() else None)
    there = texts.get(name) if name in sys.modules and text is not None else None
    if there is None:
        add_file(path)
    elif there != text:
        raise ValueError("another plug-in has this file name; rename one")


def _entries(package: str, marker: str) -> list[Entry]:
    """List plug-ins with a marker: of a folder, of installed packages, and added files."""
    _add_from_environment(os.environ.get(PLUGINS, ""))
    entries = [_read(package, marker, file, file.read_bytes()) for file in _files(package)]
    entries += [_loaded(point.load(), marker) for point in entry_points(group=ENTRY_POINT_GROUP)]
    entries += [_loaded(module, marker) for module in _added]
    return [entry for entry in (*entries, *_given.values()) if marker in entry.defined]


class LoadError(ImportError):
    """A part of the program cannot be loaded; one sentence says why."""


def part(module: str) -> ModuleType:
    """Import a module of the program.

    Raises:
        LoadError: it is missing, its libraries lack memory, or one of them cannot read its
            environment variable, such as ``NUMBA_NUM_THREADS``.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, ValueError) as error:
        raise LoadError(f"a part of the program cannot be loaded ({error}).") from error


def _files(package: str) -> list[Path]:
    """List modules and packages right below a package, importing only the package."""
    folders = [Path(folder) for folder in importlib.import_module(package).__path__]
    files = [file for folder in folders for file in folder.glob("*.py") if file.stem != "__init__"]
    return sorted([*files, *(file for folder in folders for file in folder.glob("*/__init__.py"))])


@functools.cache
def _read(package: str, marker: str, file: Path, text: bytes) -> Entry:
    """Describe a file by its top-level definitions; each of its texts is parsed once."""
    strings: dict[str, str] = {}
    defined: set[str] = set()
    for statement in syntax.parse(text, str(file)).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                defined |= {alias.asname or alias.name for alias in names}
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                defined.add(name)
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    strings[name] = value.value
                elif name == marker and isinstance(value, ast.Call):
                    parts = {str(each.arg): each.value for each in value.keywords}
                    more, fields = _told(
                        marker, {key: getattr(part, "value", part) for key, part in parts.items()}
                    )
                    strings, defined = strings | more, defined | fields
    module = f"{package}.{file.parent.name if file.stem == '__init__' else file.stem}"
    return Entry(module, strings, frozenset(defined), lambda: part(module))


def _loaded(module: ModuleType, marker: str) -> Entry:
    """Describe a module that is imported already."""
    strings = {name: value for name, value in vars(module).items() if isinstance(value, str)}
    more, fields = _told(marker, getattr(vars(module).get(marker), "__dict__", {}))
    return Entry(module.__name__, strings | more, fields.union(vars(module)), lambda: module)


def _told(marker: str, fields: Mapping[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the strings and names of an entry that the value of a marker adds."""
    stated = {key: value for key, value in fields.items() if value is not None}
    former = {marker if key == "name" else key.upper(): value for key, value in stated.items()}
    strings = {key: value for key, value in former.items() if isinstance(value, str)}
    return strings, frozenset({*stated, *former})
