"""The accountant of an independent library agrees on what a run costs."""

import numpy as np
import pytest
from autodp import rdp_bank

from abcdp_core import privacy
from abcdp_core.mechanisms.sparse_vector import calibrate


@pytest.mark.parametrize("c", [1, 10, 1000])
@pytest.mark.parametrize("epsilon_total", [0.01, 1.0, 100.0])
def test_pure_cost_is_the_renyi_divergence_of_infinite_order(c: int, epsilon_total: float) -> None:
    event = calibrate(epsilon_total, sensitivity=0.0004, c=c, resample=False)
    relative = {"b": event.threshold_scale / event.sensitivity, "k": 10_000, "c": c}
    # MATH S2 without redrawing is all that autodp knows: it has no threshold redraw.
    assert rdp_bank.RDP_svt_laplace(relative, np.inf) == pytest.approx(
        privacy.cost(event).epsilon, rel=1e-12
    )
