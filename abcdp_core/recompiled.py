"""When compiled functions that numba keeps are made anew: once what they are made of has changed.

numba looks at the text of a function's own file. Machine code holds that of every function that is
called, too, so where an update changed another file it would go on with numbers of the version
before. For functions of this package the text of all that their module imports counts.

numba finds the classes by a variable of the environment (:data:`abcdp_core.compiled.LOCATORS`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core import caching

from abcdp_core import fingerprint


class _Stamped:
    """What a locator of numba's is told to look at."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)  # type: ignore[call-arg]
        self._module = function.__module__

    def get_source_stamp(self) -> tuple[Any, str]:
        """By what kept functions are known to be of this code."""
        own: Any = super().get_source_stamp()  # type: ignore[misc]
        return own, _code_of(self._module)


class InNamedFolder(_Stamped, caching.UserProvidedCacheLocator):
    """Keeps them in the folder that numba was told."""


class BesideCode(_Stamped, caching.InTreeCacheLocator):
    """Keeps them beside the code."""


@functools.cache
def _code_of(module: str) -> str:
    """Fingerprint of a module with what it imports; empty for one of others."""
    ours = module.partition(".")[0] == __package__
    return fingerprint.of(module) if ours else ""
