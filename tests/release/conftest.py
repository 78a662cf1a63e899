from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick_posteriors(few_simulations: None) -> None:
    """How exact a posterior is, is for other tests; records that tests share need the same."""
