"""Distances between simulated data sets, computed and cached."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.evaluation import predictive
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from tests.conftest import forget

KEY = pool.key_for(MIXTURE, 10, 30, 1)


@pytest.mark.usefixtures("empty_cache")
def test_cached_distances_are_those_computed_and_need_no_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert predictive.missing_pools([(KEY, 10)], 2) == [KEY]
    computed = [predictive.pool_distances(KEY, 10, index) for index in range(2)]
    paired = predictive.paired_distances(KEY, 10)
    data = pool.predictive_data(KEY, 10, 1)
    direct = pool.compare(pool.open_pool(KEY), data, synthetic=True).rho
    assert np.array_equal(computed[1], direct)
    forget()
    for name in ("build", "open_pool"):
        monkeypatch.setattr(pool, name, lambda *_: pytest.fail("the distances are cached"))
    monkeypatch.setattr(pool, "is_kept", lambda _: False)
    assert predictive.missing_pools([(KEY, 10)], 2) == []
    assert np.array_equal(computed, [predictive.pool_distances(KEY, 10, i) for i in range(2)])
    assert np.array_equal(paired, predictive.paired_distances(KEY, 10))
