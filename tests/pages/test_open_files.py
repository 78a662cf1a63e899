"""Where few files may be open, more are asked for, and else fewer visitors are let in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from ui import callers, gate, lost, open_files, served


@pytest.mark.parametrize(
    ("now", "most", "then"),
    [
        *((256, -1, open_files.WANTED), (1024, 512_000, open_files.WANTED), (256, 1000, 1000)),
        *((-1, -1, None), (20_000, 20_000, None), (256, 256, None)),
    ],
)
def test_a_large_class_can_be_let_in_where_few_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, now: int, most: int, then: int | None
) -> None:
    resource = pytest.importorskip("resource")
    asked: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, most))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    open_files.allow()
    assert asked == ([] if then is None else [(then, most)])


@pytest.mark.parametrize(
    ("now", "visitors", "left"),
    [(-1, 250, 128), (4096, 250, 128), (1024, 120, 120), (256, 24, 24), (64, 1, 1)],
)
def test_no_more_are_let_in_and_kept_than_there_are_open_files_for(
    monkeypatch: pytest.MonkeyPatch, now: int, visitors: int, left: int
) -> None:
    """Those who had left had all of 256: for ten minutes no page was drawn."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, now))
    door = gate.Gate(Mock(), served.Served())
    taken = [door._places.take("many") for _ in range(300)]
    assert sum(place is not None for place in taken) == visitors
    kept = lost.Lost(60)
    for each in map(str, range(200)):
        kept.save(SimpleNamespace(session=SimpleNamespace(id=each), script_run_count=1))  # type: ignore[arg-type]
    assert len(kept.list()) == left


@pytest.mark.parametrize(("now", "quarter"), [(-1, 1024), (20_000, 1024), (1024, 256), (256, 64)])
def test_who_waits_has_a_quarter_of_the_open_files_and_who_reads_two(
    monkeypatch: pytest.MonkeyPatch, now: int, quarter: int
) -> None:
    """Who reads a file has it open, too: with half of them nobody else was answered."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, now))
    assert open_files.quarter() == quarter
    # A browser has six connections while it opens a page; 160 of a class do at once.
    assert callers.MOST_WAITING >= 6 * 160
