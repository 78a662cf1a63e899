"""Make a command's public pools by threads, worker processes or a Dask cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from abcdp_core import pool
from abcdp_core.workers import executor_for, with_plug_ins


@contextmanager
def made_by(workers: int, scheduler: str | None, plugins: Sequence[Path]) -> Iterator[None]:
    """Have pools made in the block by the workers that were asked for.

    Args:
        workers: processes on this machine; for 1 there are none, but a thread per processor.
        scheduler: address of a Dask scheduler, whose workers are to do it instead.
        plugins: files that workers have to add first.

    Raises:
        ParameterError: nothing answers at the address.
        KeyboardInterrupt: that came in the block; it says what is kept.
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
            stop.add_note("parts of the pool that took long are kept for the next time.")
            raise


class _WithPlugIns(Executor):
    """Another executor, whose workers add plug-ins first; who made that one lets it go."""

    def __init__(self, inner: Executor, files: Sequence[Path]) -> None:
        self.inner = inner
        self.files = files

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        work, packed = with_plug_ins(functools.partial(_apply, fn), self.files)
        return self.inner.submit(work, packed((args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: there may be more to do."""


def _apply(fn: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    args, kwargs = given
    return fn(*args, **kwargs)
