"""Workers of a Dask scheduler, which must run the same code."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abcdp_core.base import fingerprint, registry
from abcdp_core.base.interruption import LostWorkersError, defer_signals
from abcdp_core.base.parameters import ParameterError


class Cluster(Executor):
    """Workers of a Dask scheduler; shutting down closes the connection, not the cluster."""

    def __init__(self, address: str) -> None:
        from distributed import Client

        # It logs a lost scheduler as tracebacks; our own error says what matters.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self.client = Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        self.inner = self.client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; on a worker with other code it fails with a :class:`ParameterError`."""
        # As one pickle: arrays that Dask extracts come back at other memory alignments, where sums
        # have other last digits.
        call = _Call(_code(), pickle.dumps((fn, args, kwargs)))
        with defer_signals(), self._answering():
            # The task unpickles the call: a message that a worker without the program cannot load
            # would end the worker, and the task would wait forever.
            return self.inner.submit(pickle.loads, pickle.dumps(call))

    def width(self) -> int:
        """Return the number of tasks that the present workers run at a time."""
        with self._answering():
            return sum(self.client.nthreads().values())

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self.client.status == "running":
                raise
            raise LostWorkersError(NO_SCHEDULER) from error

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Close the connection."""
        self.client.close()


NO_SCHEDULER = "the Dask cluster lost its scheduler, or every worker that began a certain task."


@dataclass(frozen=True)
class _Call:
    """Arguments of :func:`_with_code`; unpickling it runs the call and gives its result."""

    code: str
    packed: bytes

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _with_code, (self.code, self.packed)


def _code() -> str:
    """Return a fingerprint of this program and of the files named in the environment."""
    files = registry.from_environment()
    texts = sorted((Path(path).name, text) for path, text in files.items())
    return f"{fingerprint.whole()} {hashlib.sha256(repr(texts).encode()).hexdigest()}"


def _with_code(code: str, packed: bytes) -> Any:
    """Run a pickled call in a worker after checking that client and worker run the same code.

    Args:
        code: result of :func:`_code` in the client.
        packed: function, arguments and keyword arguments.

    Raises:
        ParameterError: the worker has other code.
    """
    if _code() != code:
        raise ParameterError(
            "scheduler: one of its workers runs another version of this program, of numpy, or of "
            f"the files that {registry.PLUGINS} names; all must run the same."
        )
    fn, args, kwargs = pickle.loads(packed)
    return fn(*args, **kwargs)


CONNECT_SECONDS = 10
"""Seconds to wait for a scheduler to answer."""


def scheduler(address: str) -> Executor:
    """Return the workers of a Dask scheduler as an executor, to be shut down after use.

    Workers may join and leave; tasks wait while there is none.

    Args:
        address: such as ``tcp://host:8786``; ``tcp`` may be left out.

    Raises:
        ParameterError: ``address`` is not an address, or nothing answers there.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ParameterError(
            f"scheduler = {address}: needs Dask, as in `pip install 'abcdp-explorer[cluster]'`."
        )
    full = address if "://" in address else f"tcp://{address}"
    wanted = "must be the address of a Dask scheduler like tcp://host:8786"
    try:
        # In another thread, because that of a notebook has an event loop already.
        with ThreadPoolExecutor() as thread:
            thread.submit(asyncio.run, _ask_identity(full)).result()
        return Cluster(full)
    except (ValueError, TypeError, ImportError):
        # Dask raises some of them for protocols that need more than an address.
        raise ParameterError(f"scheduler = {address}: {wanted}.") from None
    except OSError:
        raise ParameterError(
            f"scheduler = {address}: {wanted}; no answer within {CONNECT_SECONDS} s."
        ) from None


async def _ask_identity(address: str) -> None:
    """Ask for a scheduler's identity; unlike a Dask client, fail in time and without a log."""
    from distributed import rpc

    async with rpc(address, timeout=CONNECT_SECONDS) as remote:
        await asyncio.wait_for(remote.identity(), CONNECT_SECONDS)
