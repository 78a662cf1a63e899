"""A page uses only what its line in the page table grants, and fails at once otherwise."""

from __future__ import annotations

import dataclasses

import pytest

from tests.pages.app import opened
from ui.view import controls_spec, page_table


@pytest.mark.parametrize(
    ("file", "changed", "view", "refused"),
    [
        ("flip_probability", {"own": ("flip-probability.draws",)}, {}, "flip-probability."),
        (
            "posterior",
            {"experiments": ("posterior",)},
            {"posterior.view": "change one person"},
            "change-one-person",
        ),
    ],
)
def test_a_page_without_its_line_fails_at_once(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    file: str,
    changed: dict[str, tuple[str, ...]],
    view: dict[str, str],
    refused: str,
) -> None:
    line = page_table.by_file(file)
    less = dataclasses.replace(line, **changed)  # type: ignore[arg-type]
    table = [less if page is line else page for page in page_table.TABLE]
    monkeypatch.setattr(page_table, "TABLE", tuple(table))
    assert opened(file, **view).exception
    assert f"The page {line.title} asks for {refused}" in caplog.text


def test_the_table_grants_only_knobs_that_exist() -> None:
    for page in page_table.TABLE:
        for key in (*page.own, *page.uses):
            controls_spec.find(key, page.every)
        assert page.view in ("", *page.own)
        shown = {name for names in page.views.values() for name in names}
        assert not page.views or shown >= {*page.every}
