from __future__ import annotations

import functools

import pytest

from abcdp_core.release import document
from abcdp_core.run import results

VERSIONS = functools.cache(results.versions)


@pytest.fixture(autouse=True)
def quick(few_simulations: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """How exact a posterior is, is for other tests; records that tests share need the same.

    To read the versions of packages takes longer than all else in a record.
    """
    monkeypatch.setattr(document, "versions", VERSIONS)
