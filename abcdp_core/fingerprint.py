"""Fingerprints of code: was what is stored made by the code that would make it now?

A fingerprint is a hash of the source text of some modules and of all in this package that they
import, directly or not and wherever in the file. Imports are found by parsing; nothing is imported
for it. Plug-ins are not imported but found by scanning: who looks them up in a folder depends on
all of them. Known random draws count too, as a new version of NumPy may change its streams; other
libraries and files of data do not. Of a plug-in from elsewhere its one file counts, and what it
imports from here.

Texts are those of the moment in which this module was imported. So a file that is changed while
the program runs does not pass for the code that is running; code that was imported after such a
change is at worst taken for older than it is.
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

from abcdp_core import registry, syntax

ROOT = Path(__file__).parent


def _read(root: Path) -> dict[str, bytes]:
    """Full name of every module of a package -> its source text."""
    texts = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root.parent).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_bytes()
    return texts


_TEXTS = _read(ROOT)

_LIKE_NO_OTHER = os.urandom(16)
"""Stands for source text that cannot be read: what such code made serves this process alone."""


def of(*modules: str, folders: Collection[str] = ()) -> str:
    """The fingerprint of modules.

    Args:
        modules: their full names.
        folders: packages whose plug-ins may be looked up by name where they are imported.

    Returns:
        32 hexadecimal digits.
    """
    return _of_texts(_reached(modules, folders))


@functools.cache
def whole() -> str:
    """The fingerprint of all modules of this package; plug-ins from elsewhere do not count."""
    return _of_texts(_TEXTS)


def _of_texts(texts: Mapping[str, bytes]) -> str:
    lines = [_streams(), *(f"{name} {_digest(texts[name])}" for name in sorted(texts))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def _reached(modules: Collection[str], folders: Collection[str]) -> dict[str, bytes]:
    """Name -> text of modules, of what they import from here, and of what that looks up."""
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
    """The source text of a module."""
    for known in (_TEXTS, registry.texts):
        if name in known:
            return known[name]
    try:
        found = importlib.util.find_spec(name)
        return Path(str(found and found.origin)).read_bytes()
    except (ImportError, ValueError, OSError):
        return _LIKE_NO_OTHER


@functools.cache
def _streams() -> str:
    """A digest of known random draws: a new version of NumPy may change its streams, few do."""
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
    """Whatever may be a module among the absolute imports of a text, with the packages it is in."""
    names: set[str] = set()
    if text is not _LIKE_NO_OTHER:
        for node in ast.walk(syntax.parse(text)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names).union(*(_packages(name) for name in names))


def _packages(name: str) -> frozenset[str]:
    """The packages that a dotted name is in."""
    parts = name.split(".")
    return frozenset(".".join(parts[:end]) for end in range(1, len(parts)))
