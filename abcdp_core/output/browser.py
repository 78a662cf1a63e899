"""Work in a browser that is ended in any case: one that freezes is not waited for forever."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

Found = TypeVar("Found")


def run(
    browser: Callable[[], Any], work: Callable[[Any], Awaitable[Found]], seconds: float
) -> Found:
    """What a browser makes.

    Args:
        browser: makes one of choreographer's, which is not open yet.
        work: with it, once it is open.
        seconds: that it may take in all.

    Raises:
        TimeoutError: it did not answer in time.
        Exception: what went wrong in the library or in the browser.
    """
    return asyncio.run(_run(browser, work, seconds))


async def _run(
    make: Callable[[], Any], work: Callable[[Any], Awaitable[Found]], seconds: float
) -> Found:
    browser = make()
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            await browser.open()
            return await work(browser)
    except Exception as error:
        # The library says of a browser that did not answer that it was closed.
        if deadline.expired():
            raise TimeoutError(f"it did not answer within {seconds:g} s") from error
        raise
    finally:
        await _end(browser)


async def _end(browser: Any) -> None:
    """End a browser, which may no longer answer: asked to close, it would be waited for forever."""
    if hasattr(browser, "subprocess"):
        _kill(browser.subprocess)
    await browser.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, and all of the group where there are such."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
