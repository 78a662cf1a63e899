"""Read shipped files of numbers and check their digests.

The digests are code, so cached results become stale when a file and its digest change. After
remaking a file, put its digest here.
"""

from __future__ import annotations

import hashlib

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.places import ASSETS

DIGESTS = {
    "tuberculosis/standard-deviation-30/tuberculosis-distances.counts.csv": "825912d3327d27a2",
    "tuberculosis/standard-deviation-30/tuberculosis-distances.csv": "e119aeb0e3f2aa7d",
    "tuberculosis/standard-deviation-30/tuberculosis-distances.outbreaks.csv": "11d7254358b76ede",
    "tuberculosis/standard-deviation-30/tuberculosis-distances.theta.csv": "ebca25f903812949",
    "tuberculosis/variance-30/tuberculosis-distances.counts.csv": "1f775cb83470d46f",
    "tuberculosis/variance-30/tuberculosis-distances.csv": "4684380ecbd14331",
    "tuberculosis/variance-30/tuberculosis-distances.outbreaks.csv": "c4c7cd14bdf6454f",
    "tuberculosis/variance-30/tuberculosis-distances.theta.csv": "6bf6d46e5751c5a8",
    "tuberculosis-patients/pool.npz": "609fe623c5986e89",
}
"""File below ``assets`` -> first 16 digits of its SHA-256, with line feeds as line ends."""


def read(name: str) -> bytes:
    """Read a file of :data:`DIGESTS`.

    Raises:
        ParameterError: the file has another digest.
    """
    content = (ASSETS / name).read_bytes()
    if name.endswith(".csv"):
        content = content.replace(b"\r\n", b"\n")
    digest = hashlib.sha256(content).hexdigest()[:16]
    if digest != DIGESTS[name]:
        raise ParameterError(
            f"assets/{name}: is not the file shipped with this version (its digest is {digest})."
        )
    return content
