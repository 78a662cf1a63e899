"""Use a browser to draw and print, with a time limit.

The library would wait forever for a browser that does not answer, even to close it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST = 120.0
"""Seconds that a browser may take."""

MOMENT = 1.0
"""Seconds to wait for its work after it has ended."""


def use(make: Callable[[], Any], work: Callable[[Any], Awaitable[T]]) -> T:
    """Return what a browser makes, and end the browser.

    Args:
        make: returns a browser that is not open yet.
        work: what to do with the open browser.

    Raises:
        TimeoutError: the browser did not answer.
        RuntimeError: the browser ended too early.
        Exception: an error of the work.
    """
    return asyncio.run(_used(make, work))


async def _used(make: Callable[[], Any], work: Callable[[Any], Awaitable[T]]) -> T:
    browser = make()

    async def working() -> T:
        try:
            await browser.open()
            return await work(browser)
        except Exception as error:
            # The library reports cancelled work as a failure of the browser.
            if (this := asyncio.current_task()) and this.cancelling():
                raise asyncio.CancelledError from error
            raise

    task = asyncio.create_task(working())
    try:
        await asyncio.wait((task,), timeout=LONGEST)
        late, gone = not task.done(), _is_gone(browser)
    finally:
        await _end(browser, task)
    if late:
        raise TimeoutError(f"it did not answer within {LONGEST:g} s")
    if task.cancelled() or (gone and task.exception()):
        raise RuntimeError("it ended before it was done")
    return task.result()


def _is_gone(browser: Any) -> bool:
    return hasattr(browser, "subprocess") and browser.subprocess.poll() is not None


async def _end(browser: Any, task: asyncio.Task[Any]) -> None:
    """Kill a browser, which may not answer: the library would wait for it to close forever."""
    if hasattr(browser, "subprocess"):
        _kill(browser.subprocess)
    await browser.close()
    _, going_on = await asyncio.wait((task,), timeout=MOMENT)
    if not going_on and not task.cancelled():
        # Retrieved, or it would be logged.
        task.exception()
    task.cancel()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, where the system has them, its process group."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
