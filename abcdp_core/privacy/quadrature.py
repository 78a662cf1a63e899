"""Gauss-Legendre quadrature on panels, for integrals whose kinks are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ORDER = 16
"""Nodes of a panel."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


def legendre(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights ``(16 k,)`` on the panels between edges ``(k + 1,)``."""
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()
