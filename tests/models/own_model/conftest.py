"""A registry that forgets files added by a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from abcdp_core.__main__ import main
from abcdp_core.base import registry


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove files that a test registers."""
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "_given", {})
    monkeypatch.setattr(registry, "texts", dict(registry.texts))
    before = set(sys.modules)
    yield
    monkeypatch.undo()
    for name in set(sys.modules) - before:
        if name.startswith("abcdp_plugin_"):
            del sys.modules[name]
    registry.forget()


Command = Callable[[list[str]], tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command and return its code and output."""

    def done(line: list[str]) -> tuple[int, str]:
        capsys.readouterr()
        code = main(line)
        return code, " ".join("".join(capsys.readouterr()).split())

    return done
