"""A registry that forgets what a test adds."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from abcdp_core import registry


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files that a test adds are gone after it."""
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "texts", dict(registry.texts))
    before = set(sys.modules)
    yield
    monkeypatch.undo()
    for name in set(sys.modules) - before:
        if name.startswith("abcdp_plugin_"):
            del sys.modules[name]
    registry.forget()
