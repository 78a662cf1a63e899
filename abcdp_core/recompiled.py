"""When compiled functions that numba keeps are made anew: once what they are made of has changed.

numba looks at the text of a function's own file. Machine code holds that of every function that is
called, too, so where an update changed another file it would go on with numbers of the version
before. For functions of this package the text of all that their module imports counts.

numba finds the classes by a variable of the environment (:data:`abcdp_core.compiled.LOCATORS`).

It takes for granted that what it keeps can be written and read. A full disk, or a file cut in half
when the power went, would end whatever needs a compiled function, each time. So what cannot be kept
is not kept, and what cannot be read is made anew.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from numba.core import caching

from abcdp_core import fingerprint

log = logging.getLogger(__name__)


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


def _read_or_none(read: Callable[..., Any], nothing: Callable[[], Any]) -> Callable[..., Any]:
    """Reads, and finds nothing in a damaged file."""

    @functools.wraps(read)
    def found(*given: Any) -> Any:
        try:
            return read(*given)
        except Exception:  # noqa: BLE001 - half a pickle raises whatever it happens to stand for
            return nothing()

    return found


def _kept_or_not(keep: Callable[..., None]) -> Callable[..., None]:
    """Keeps, and says once if it cannot."""

    @functools.wraps(keep)
    def kept(self: Any, *given: Any) -> None:
        try:
            keep(self, *given)
        except OSError as error:
            _say_once(self.cache_path, error.strerror or type(error).__name__)

    return kept


@functools.cache
def _say_once(folder: str, reason: str) -> None:
    log.warning("cannot keep compiled functions in %s (%s): compiled each time", folder, reason)


# There is no setting for this.
for _class, _name, _mended in (
    (caching.IndexDataCacheFile, "_load_index", functools.partial(_read_or_none, nothing=dict)),
    (caching.Cache, "load_overload", functools.partial(_read_or_none, nothing=lambda: None)),
    (caching.Cache, "save_overload", _kept_or_not),
):
    setattr(_class, _name, _mended(getattr(_class, _name)))
