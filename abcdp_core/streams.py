"""Addressed random streams: a generator is found by what it is for, not by when it is asked for.

Every generator comes from a root seed, a role ("pool", "observed", "noise", ...) and numbers such
as run and chunk. So results do not depend on the number of workers, on order, or on how many other
streams exist: raising ``runs`` from 3 to 60 leaves the first three as they were.
"""

from __future__ import annotations

import zlib

import numpy as np

SEED_LIMIT = 2**63
"""Seeds are whole numbers from 0 up to, not including, this."""


def generator(seed: int, role: str, *address: int) -> np.random.Generator:
    """The generator for ``role`` at ``address`` under the root ``seed``.

    Args:
        seed: root seed, in ``[0, 2**63)``.
        role: what the numbers are for; another role is an independent stream.
        address: whole numbers from 0 up, e.g. run and chunk.
    """
    key = (zlib.crc32(role.encode()), *address)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))
