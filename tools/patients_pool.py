"""The public pool of the scenario tuberculosis-patients, in ``assets``.

``python -m tools.patients_pool`` makes it again; the scenario's module says how long that takes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from abcdp_core.base.places import ASSETS
from abcdp_core.models.simulators.tuberculosis_patients import CHUNK, DRAWS, POOL, draw


def write_pool(path: Path = ASSETS / POOL) -> None:
    """Make the pool and write it."""
    theta, numbers = zip(*(draw(chunk) for chunk in range(DRAWS // CHUNK)), strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, theta=np.hstack(theta), numbers=np.hstack(numbers))


if __name__ == "__main__":
    write_pool()
