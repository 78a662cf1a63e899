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

import contextlib
import functools
import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

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


class Checked(caching.IndexDataCacheFile):
    """Files of kept functions, each with a digest of itself at its end.

    Machine code in which a bit has changed ends the process, or computes something else. What numba
    itself reads ends before the digest.
    """

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BinaryIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + _digest(content.getvalue()))

    def _load_index(self) -> dict[Any, Any]:
        if not _is_whole(Path(self._index_path)):
            return {}
        index: dict[Any, Any] = super()._load_index()  # type: ignore[no-untyped-call]
        return index

    def _load_data(self, name: str) -> Any:
        if not _is_whole(Path(self._data_path(name))):  # type: ignore[no-untyped-call]
            # What numba takes for a file that is gone.
            raise FileNotFoundError(name)
        return super()._load_data(name)  # type: ignore[no-untyped-call]


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _is_whole(file: Path) -> bool:
    """Whether a file can be read, and ends with the digest of what is before."""
    try:
        content = file.read_bytes()
    except OSError:
        return False
    size = len(content) - hashlib.sha256().digest_size
    return size > 0 and content[size:] == _digest(content[:size])


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


# There is no setting for either.
caching.IndexDataCacheFile = Checked  # type: ignore[misc]
caching.Cache.save_overload = _kept_or_not(caching.Cache.save_overload)  # type: ignore[method-assign]
