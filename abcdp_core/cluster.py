"""The workers of a Dask scheduler, which run the same code or are refused."""

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

from abcdp_core import fingerprint, registry
from abcdp_core.interruption import LostWorkersError, held
from abcdp_core.parameters import ParameterError


class Cluster(Executor):
    """The workers of a Dask scheduler; shutting down closes the connection, not the cluster."""

    def __init__(self, address: str) -> None:
        from distributed import Client

        # It tells of a lost scheduler in tracebacks; what matters of it is said in an error.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self.client = Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        self.inner = self.client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give out a call; whoever runs other code fails it with a :class:`ParameterError`."""
        # As one text: arrays that Dask takes out come back at odd places in memory, where sums have
        # other last digits.
        call = _Call(_code(), pickle.dumps((fn, args, kwargs)))
        with held(), self._answering():
            # What a worker without the program cannot load is loaded by the task: were it part of
            # the message, the worker would end and the task wait for ever.
            future: Future[Any] = self.inner.submit(pickle.loads, pickle.dumps(call))
            return future

    def width(self) -> int:
        """Tasks that all workers there are now can do at a time."""
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
    """What :func:`_with_code` is given; it comes out of a pickle as what that comes to."""

    code: str
    packed: bytes

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _with_code, (self.code, self.packed)


def _code() -> str:
    """Fingerprint of the program here, and of files that the environment names."""
    files = registry.from_environment()
    texts = sorted((Path(path).name, text) for path, text in files.items())
    return f"{fingerprint.whole()} {hashlib.sha256(repr(texts).encode()).hexdigest()}"


def _with_code(code: str, packed: bytes) -> Any:
    """Run a pickled call in a worker of a cluster after checking that both run the same code.

    Args:
        code: what :func:`_code` gives there.
        packed: what is to be done: a function, its arguments, and those that have names.

    Raises:
        ParameterError: other code would do it, whose results nobody could tell apart.
    """
    if _code() != code:
        raise ParameterError(
            "scheduler: one of its workers runs another version of this program, of numpy, or of "
            f"the files that {registry.PLUGINS} names; all have to run the same."
        )
    fn, args, kwargs = pickle.loads(packed)
    return fn(*args, **kwargs)


CONNECT_SECONDS = 10
"""How long to knock at a scheduler."""


def scheduler(address: str) -> Executor:
    """The workers of a Dask scheduler, as an executor to be shut down after use.

    Workers may join and leave while it runs; as long as there is none, tasks wait.

    Args:
        address: such as ``tcp://host:8786``; without a protocol it is ``tcp``.

    Raises:
        ParameterError: ``address`` is none, or nothing answers there.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ParameterError(
            f"scheduler = {address}: needs Dask, as in `pip install 'abcdp-explorer[cluster]'`."
        )
    full = address if "://" in address else f"tcp://{address}"
    wanted = "must be the address of a Dask scheduler like tcp://host:8786"
    try:
        # In a thread of its own: a notebook's has an event loop already.
        with ThreadPoolExecutor() as thread:
            thread.submit(asyncio.run, _ask_identity(full)).result()
        return Cluster(full)
    except (ValueError, TypeError, ImportError):
        # Among them what Dask says of protocols that need more than an address.
        raise ParameterError(f"scheduler = {address}: {wanted}.") from None
    except OSError:
        raise ParameterError(
            f"scheduler = {address}: {wanted}; none answers there within {CONNECT_SECONDS} s."
        ) from None


async def _ask_identity(address: str) -> None:
    """Fails, unlike a Dask client, within its time and without a trace in the log."""
    from distributed import rpc

    async with rpc(address, timeout=CONNECT_SECONDS) as remote:
        await asyncio.wait_for(remote.identity(), CONNECT_SECONDS)
