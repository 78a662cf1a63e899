"""Plug-ins found by scanning: one scenario, mechanism or experiment is one module in its folder.

A module joins by having the folder's marker: ``SCENARIO`` in ``simulators``, ``EXPERIMENT`` in
``experiments``, each the name it goes by, and ``MECHANISMS`` in ``mechanisms``, what it offers.
A file that is added may have ``MODEL`` instead: what that says of itself is a scenario.
Installed packages add modules through entry points of the group ``abcdp_explorer``; a file is added
by :func:`add_file`, or by whoever runs the program in the variable of the environment
:data:`PLUGINS`: file names with colons between (semicolons on Windows). So pages have models of
one's own that nobody can upload.

Names and titles of scenarios and experiments are read from their files without importing them,
which would load all that they compute with. So these two are written as plain strings. A file that
is not Python, or a second module of the same name, is an error when the folder is scanned; an
import error is one when the module is asked for. Nothing is silently left out.
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

from abcdp_core import syntax

ENTRY_POINT_GROUP = "abcdp_explorer"

PLUGINS = "ABCDP_PLUGINS"
"""Variable of the environment that names files to add."""

_added: list[ModuleType] = []

texts: dict[str, bytes] = {}
"""Name of an added file's module -> its source text then; the file may change or go."""

_handed: dict[str, bytes] = {}
"""File that the environment names -> its text in the process that this one works for."""

_emptied: list[Callable[[], object]] = []
"""Empty caches that are none of ``functools``."""


def add_file(path: str | Path) -> ModuleType:
    """Load a plug-in from a file, for this process, in place of an earlier one of its file name.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a Python module, or has no marker of any folder.

    Returns:
        The module; of a file with ``MODEL`` the scenario that it stands for.
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
    # Dataclasses look their module up here.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    is_other = texts.get(name, loader.text) != loader.text
    texts[name] = loader.text
    if hasattr(module, "MODEL"):
        module = _scenario_of(module.MODEL, name, path)
    if not any(hasattr(module, marker) for marker in ("SCENARIO", "MECHANISMS", "EXPERIMENT")):
        raise ValueError(f"plug-in {path}: has none of SCENARIO, MECHANISMS, EXPERIMENT, MODEL.")
    add_module(module)
    if is_other:
        empty_caches()
    return module


def add_module(module: ModuleType) -> None:
    """Add what is a plug-in already, for this process, in place of an earlier one of its name."""
    _take_out(module)
    _added.append(module)
    forget()


def remove(module: ModuleType) -> None:
    """Undo what :func:`add_file` did."""
    _take_out(module)
    texts.pop(module.__name__, None)
    sys.modules.pop(module.__name__, None)
    forget()
    empty_caches()


def _take_out(module: ModuleType) -> None:
    _added[:] = [each for each in _added if each.__name__ != module.__name__]


def has(file: str, text: bytes) -> bool:
    """Whether a file of that name is there, with that text."""
    name = _module_name(Path(file))
    return texts.get(name) == text and any(each.__name__ == name for each in _added)


def empty_caches() -> None:
    """Forget all that was computed in this process.

    Caches in memory go by names of scenarios; so what is in them may be another text's.
    """
    package = f"{__package__}."
    for module in [module for name, module in sys.modules.items() if name.startswith(package)]:
        for value in list(vars(module).values()):
            if isinstance(value, CACHED):
                value.cache_clear()
    for empty in _emptied:
        empty()


CACHED = type(functools.cache(len))
"""A function whose results are kept."""


def emptied_by(empty: Callable[[], object]) -> None:
    """Have a cache emptied that is none of ``functools``."""
    _emptied.append(empty)


def _scenario_of(model: Any, name: str, path: Path) -> ModuleType:
    """A model of one's own as a scenario, made by the module that the model names."""
    if not hasattr(model, "SCENARIO_MADE_BY"):
        raise ValueError(f"plug-in {path}: MODEL must be an abcdp_core.own_model.Model.")
    scenario: ModuleType = part(model.SCENARIO_MADE_BY).scenario(model, name, path.name)
    return scenario


def text_of(path: Path) -> bytes:
    """Text of an added file when it was added; of one that was not, as it is now."""
    return texts.get(_module_name(path)) or path.read_bytes()


def module_that_added(marker: str, name: str) -> ModuleType | None:
    """The added file, as a module, of what goes by a name; ``None`` if none added it."""
    named = (each for each in _added if getattr(each, marker, None) == name)
    return next((each for each in named if each.__name__ in texts), None)


def file_that_added(marker: str, name: str) -> str | None:
    """Name of that file, without folders."""
    module = module_that_added(marker, name)
    if module is None:
        return None
    return f"{module.__name__.removeprefix(_module_name(Path()))}.py"


def _module_name(path: Path) -> str:
    return f"abcdp_plugin_{path.stem}"


class _FromText(SourceFileLoader):
    """Runs a text, or that which a file has now.

    Bytecode kept of it passes for current if the file was written within the same second and is as
    long as before.
    """

    def __init__(self, name: str, path: str, text: bytes | None) -> None:
        super().__init__(name, path)
        self.text = self.get_data(path) if text is None else text

    def get_code(self, fullname: str) -> CodeType:
        """The code of the text."""
        return self.source_to_code(self.text, self.path)


def forget() -> None:
    """Scan anew when next asked."""
    scan.cache_clear()
    modules.cache_clear()


def plugged_in() -> list[str]:
    """Names of all plug-in modules that are in no folder here; imports none of them."""
    installed = [point.module for point in entry_points(group=ENTRY_POINT_GROUP)]
    return [*installed, *(module.__name__ for module in _added)]


@dataclass(frozen=True)
class Entry:
    """One plug-in as far as it is known without its code.

    Attributes:
        module: the module's full name.
        strings: names that the module gives a plain string, and the string.
        defined: all names that it defines.
        load: imports it.
    """

    module: str
    strings: Mapping[str, str]
    defined: frozenset[str]
    load: Callable[[], ModuleType]


class PlugIns(Mapping[str, Any]):
    """Name -> module of every plug-in of one folder, imported when it is asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Any:
        return self._entries[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        """Whether there is one of that name; imports nothing."""
        return name in self._entries

    def title(self, name: str) -> str:
        """Its title, where that is a plain string; else its name. Imports nothing."""
        return self._entries[name].strings.get("TITLE", name)

    def defines(self, name: str, what: str) -> bool:
        """Whether a plug-in defines something, such as a function. Imports nothing."""
        return what in self._entries[name].defined


@functools.cache
def modules(package: str, marker: str) -> tuple[Any, ...]:
    """Modules of one folder, of installed packages and of added files that have a marker."""
    return tuple(entry.load() for entry in _entries(package, marker))


@functools.cache
def scan(package: str, marker: str) -> PlugIns:
    """Every plug-in that goes by its marker, in the order of their names; imports none of them.

    Raises:
        SyntaxError: a file of the folder is not Python.
        ValueError: two modules go by the same name, or a marker is not a plain string.
    """
    found: dict[str, Entry] = {}
    for entry in _entries(package, marker):
        name = entry.strings.get(marker)
        if name is None:
            raise ValueError(f"{entry.module}: {marker} must be a plain string.")
        if name in found and found[name].module != entry.module:
            raise ValueError(
                f"two plug-ins are called {name!r}: {found[name].module} and {entry.module}."
            )
        found[name] = entry
    return PlugIns(dict(sorted(found.items())))


_asked: set[str] = set()
_asking = threading.RLock()


def _add_from_environment(names: str) -> None:
    """Add the files that the environment names, once; other threads wait for it.

    Raises:
        LoadError: one cannot be loaded.
    """
    with _asking:
        if names in _asked:
            return
        # Before they are added: what they import may scan.
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
    """Files that the environment names -> their texts when they were added.

    Raises:
        LoadError: one cannot be loaded.
    """
    names = os.environ.get(PLUGINS, "")
    _add_from_environment(names)
    return {path: text_of(Path(path)) for path in names.split(os.pathsep) if path}


def take(handed: Mapping[str, bytes]) -> None:
    """In a process that works for another: take these texts, whatever the files hold by now."""
    _handed.update(handed)


def _add_once(path: Path) -> None:
    """Add a file that is not there yet; of two with one name only one would count.

    Raises:
        ValueError: another one has its name, or it is no plug-in.
    """
    name = _module_name(path)
    text = _handed.get(str(path)) or (path.read_bytes() if path.is_file() else None)
    there = texts.get(name) if name in sys.modules and text is not None else None
    if there is None:
        add_file(path)
    elif there != text:
        raise ValueError("another one has this file name; rename one")


def _entries(package: str, marker: str) -> list[Entry]:
    """All that have a marker: of one folder, of installed packages, and added files."""
    _add_from_environment(os.environ.get(PLUGINS, ""))
    entries = [_read(package, file, file.read_bytes()) for file in _files(package)]
    entries += [_loaded(point.load()) for point in entry_points(group=ENTRY_POINT_GROUP)]
    entries += [_loaded(module) for module in _added]
    return [entry for entry in entries if marker in entry.defined]


class LoadError(ImportError):
    """A part of the program cannot be loaded; a sentence says why."""


def part(module: str) -> ModuleType:
    """A module of the program, with all that it needs.

    Raises:
        LoadError: not there, or without memory for its libraries, or one of these cannot read its
            own variable of the environment, such as ``NUMBA_NUM_THREADS``.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, ValueError) as error:
        raise LoadError(f"a part of the program cannot be loaded ({error}).") from error


def _files(package: str) -> list[Path]:
    """Modules and packages right below a package, of which only the package itself is imported."""
    folders = [Path(folder) for folder in importlib.import_module(package).__path__]
    files = [file for folder in folders for file in folder.glob("*.py") if file.stem != "__init__"]
    return sorted([*files, *(file for folder in folders for file in folder.glob("*/__init__.py"))])


@functools.cache
def _read(package: str, file: Path, text: bytes) -> Entry:
    """What a file says of itself at its outermost level; parsed once for each text it has had."""
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
    module = f"{package}.{file.parent.name if file.stem == '__init__' else file.stem}"
    return Entry(module, strings, frozenset(defined), lambda: part(module))


def _loaded(module: ModuleType) -> Entry:
    """The same of a module that is imported already."""
    strings = {name: value for name, value in vars(module).items() if isinstance(value, str)}
    return Entry(module.__name__, strings, frozenset(vars(module)), lambda: module)
