"""Make a command's public pools with threads, processes or a Dask cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from abcdp_core.models import pool
from abcdp_core.run.workers import executor_for, with_plug_ins


@contextmanager
def made_by(workers: int, scheduler: str | None, plugins: Sequence[Path]) -> Iterator[None]:
    """Make pools in the block by the given workers.

    Args:
        workers: processes on this machine; 1 means a thread per processor.
        scheduler: address of a Dask scheduler whose workers do it instead.
        plugins: plug-ins that workers must load first.

    Raises:
        ParameterError: there is no scheduler at the address.
        KeyboardInterrupt: it came in the block; a note says what is kept.
    """
    with executor_for(workers, scheduler) as executor:
        try:
            if executor is None:
                yield
            else:
                plugged = _WithPlugIns(executor, plugins)
                with pool.used(lambda: plugged):
                    yield
        except KeyboardInterrupt as stop:
            stop.add_note("finished parts of a slow pool are kept for the next time.")
            raise


class _WithPlugIns(Executor):
    """Wrap an executor so that its workers load plug-ins first; its owner shuts it down."""

    def __init__(self, inner: Executor, files: Sequence[Path]) -> None:
        self.inner = inner
        self.files = files

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        work, packed = with_plug_ins(functools.partial(_apply, fn), self.files)
        return self.inner.submit(work, packed((args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the executor is shared."""


def _apply(fn: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    args, kwargs = given
    return fn(*args, **kwargs)
