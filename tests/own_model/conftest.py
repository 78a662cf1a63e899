"""A registry that forgets files added by a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from abcdp_core import registry


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove files that a test registers."""
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "texts", dict(registry.texts))
    before = set(sys.modules)
    yield
    monkeypatch.undo()
    for name in set(sys.modules) - before:
        if name.startswith("abcdp_plugin_"):
            del sys.modules[name]
    registry.forget()
