"""Files of numbers that come with the program: read only if they are those it was released with.

The digests below are code, so what is kept on disk of anything that reads such a file is of other
code, and made anew, once a file was replaced. Whoever makes one again puts its digest here.
"""

from __future__ import annotations

import hashlib

from abcdp_core.parameters import ParameterError
from abcdp_core.places import ASSETS

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
"""File below ``assets`` -> the first 16 digits of its SHA-256, line ends being line feeds."""


def read(name: str) -> bytes:
    """What is in a file of :data:`DIGESTS`.

    Raises:
        ParameterError: it is another one.
    """
    content = (ASSETS / name).read_bytes()
    if name.endswith(".csv"):
        content = content.replace(b"\r\n", b"\n")
    found = hashlib.sha256(content).hexdigest()[:16]
    if found != DIGESTS[name]:
        raise ParameterError(
            f"assets/{name}: is not the file that this version comes with (its digest is {found})."
        )
    return content
