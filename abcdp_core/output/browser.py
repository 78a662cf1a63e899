"""A browser of our own that draws and prints; it is ended in bounded time, whatever becomes of it.

The library waits without a limit for a browser that does not answer, even for it to close, and says
of what waits for one that has ended, as for want of memory, that it was cancelled.
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
"""Seconds that a browser may take to open and do its work."""

MOMENT = 1.0
"""Seconds that its work may go on when it has ended."""


def use(make: Callable[[], Any], work: Callable[[Any], Awaitable[T]]) -> T:
    """What a browser makes, which is ended then.

    Args:
        make: gives one that is not open yet.
        work: what it is to do, once it is open.

    Raises:
        TimeoutError: it did not answer.
        RuntimeError: it ended before it was done.
        Exception: whatever the work raises.
    """
    return asyncio.run(_used(make, work))


async def _used(make: Callable[[], Any], work: Callable[[Any], Awaitable[T]]) -> T:
    browser = make()

    async def working() -> T:
        try:
            await browser.open()
            return await work(browser)
        except Exception as error:
            # The library says of work that is cancelled, as by a signal, that the browser failed.
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
    """End a browser, which may no longer answer: asked to close, it would be waited for forever.

    What it was to do ends with it, unless it had not begun to.
    """
    if hasattr(browser, "subprocess"):
        _kill(browser.subprocess)
    await browser.close()
    _, going_on = await asyncio.wait((task,), timeout=MOMENT)
    if not going_on and not task.cancelled():
        # Asked for, or it would be logged.
        task.exception()
    task.cancel()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, and all of the group where there are such."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
