"""Random streams with addresses, so that numbers do not depend on the order of computations.

Every generator follows from a root seed, a role ("pool", "observed", "noise", ...) and numbers such
as run and chunk. So results do not depend on the number of workers, on order, or on other streams:
raising ``runs`` from 3 to 60 does not change the first three.
"""

from __future__ import annotations

import zlib

import numpy as np

SEED_LIMIT = 2**63
"""Seeds are whole numbers from 0 and below this."""


def generator(seed: int, role: str, *address: int) -> np.random.Generator:
    """Return the generator of a role and address.

    Args:
        seed: root seed, in ``[0, 2**63)``.
        role: use of the numbers; other roles have independent streams.
        address: whole numbers of at least 0, such as run and chunk.
    """
    key = (zlib.crc32(role.encode()), *address)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))
