"""The notebook on a model of one's own is up to date and has the page's model."""

from __future__ import annotations

from typing import Any

import pytest

from tests import notebooks
from tests.own_model.test_examples import PAGE

(FILE,) = (file for file in notebooks.FILES if file not in notebooks.OF_LESSONS)


@pytest.mark.usefixtures("own_registry")
def test_its_output_is_up_to_date() -> None:
    kept, namespace = notebooks.cells(FILE), dict[str, Any]()
    ran = [notebooks.run(cell, namespace) for cell in kept if cell.is_code]
    assert notebooks.text(kept, ran) == FILE.read_text(encoding="utf-8"), "run: make notebooks"
    assert f"```python\n{namespace['text'].strip()}\n```" in PAGE
