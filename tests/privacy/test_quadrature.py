from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.privacy.quadrature import legendre


def test_polynomials_are_integrated_exactly_over_all_panels() -> None:
    nodes, weights = legendre(np.array([-1.0, 0.5, 1.0, 3.0]))
    assert (weights > 0.0).all()
    assert (np.diff(nodes) > 0.0).all()
    for degree in range(12):
        exact = (3.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
        assert weights @ nodes**degree == pytest.approx(exact, rel=1e-13)
