"""Fingerprints of code, to tell whether a cached result was made by the current code.

A fingerprint hashes the source of some modules and of everything in this package that they import,
directly or not and anywhere in the file. Imports are found by parsing; nothing is imported. Modules
that look up plug-ins in a folder depend on all of them. Known random draws count too, because a new
version of NumPy may change its streams; other libraries and data files do not. A plug-in from
elsewhere counts with its one file and its imports from here.

Source is read when this module is imported, so a file that changes later does not pass for the
running code. Code imported after such a change is at worst taken for older than it is.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from abcdp_core.base import former, registry, syntax

ROOT = Path(__file__).parents[1]


def _read(root: Path) -> dict[str, bytes]:
    """Return full name -> source text of every module of a package."""
    texts = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root.parent).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_bytes()
    return texts


_TEXTS = _read(ROOT)

_LIKE_NO_OTHER = os.urandom(16)
"""Stands for unreadable source: results of such code are valid in this process alone."""


def of(*modules: str, folders: Collection[str] = ()) -> str:
    """Return the fingerprint of modules, 32 hexadecimal digits.

    Args:
        modules: their full names.
        folders: packages whose importers may look up any of their plug-ins by name.
    """
    return _of_texts(_reached(modules, folders))


@functools.cache
def whole() -> str:
    """Return the fingerprint of this whole package, without plug-ins from elsewhere."""
    return _of_texts(_TEXTS)


def _of_texts(texts: Mapping[str, bytes]) -> str:
    lines = [_streams(), *(f"{name} {_digest(texts[name])}" for name in sorted(texts))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def _reached(modules: Collection[str], folders: Collection[str]) -> dict[str, bytes]:
    """Return name -> text of modules, of their imports, and of plug-ins these look up."""
    reached: dict[str, bytes] = {}
    waiting = [*modules]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        text = reached[name] = _text(name)
        waiting += [other for other in _imported(text) | _packages(name) if other in _TEXTS]
        if name in folders:
            waiting += [other for other in _TEXTS if other.startswith(f"{name}.")]
            waiting += registry.plugged_in()
    return reached


def _text(name: str) -> bytes:
    """Return the source text of a module."""
    for known in (_TEXTS, registry.texts):
        if name in known:
            return known[name]
    try:
        spec = importlib.util.find_spec(name)
        return Path(str(spec and spec.origin)).read_bytes()
    except (ImportError, ValueError, OSError):
        return _LIKE_NO_OTHER


@functools.cache
def _streams() -> str:
    """Return a digest of known random draws, which a new version of NumPy may change."""
    rng = np.random.default_rng(0)
    draws = (
        rng.random(3), rng.standard_normal(3), rng.standard_exponential(3), rng.gamma(0.7, size=3),
        rng.dirichlet(np.ones(3)), rng.laplace(size=3), rng.beta(0.5, 2.0, 3), rng.poisson(3.5, 3),
        rng.binomial(40, 0.3, 3), rng.multinomial(9, np.full(3, 1.0 / 3.0)), rng.permutation(9),
        rng.integers(1000, size=3), rng.choice(9, 3, replace=False), rng.geometric(0.3, 3),
    )  # fmt: skip
    return hashlib.sha256(b"".join(draw.tobytes() for draw in draws)).hexdigest()


@functools.cache
def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@functools.cache
def _imported(text: bytes) -> frozenset[str]:
    """Return possible module names among the absolute imports of a text, with their packages."""
    names: set[str] = set()
    if text is not _LIKE_NO_OTHER:
        for node in ast.walk(syntax.parse(text)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    names = {former.now(name) for name in names} | names
    return frozenset(names).union(*(_packages(name) for name in names))


def _packages(name: str) -> frozenset[str]:
    """Return the packages that contain a dotted name."""
    parts = name.split(".")
    return frozenset(".".join(parts[:end]) for end in range(1, len(parts)))
