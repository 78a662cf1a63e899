"""A page in HTML as a PDF, printed by the browser that draws static figures."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

from abcdp_core.output.formats import ExportError
from abcdp_core.output.images import obstacle

INCH = 25.4
"""Millimetres."""

A4 = (210.0 / INCH, 297.0 / INCH)
"""Width and height."""

LONGEST = 60.0
"""Seconds that the browser may take."""


def pdf(page: str) -> bytes:
    """A page that needs no script and no other file, printed on A4.

    Args:
        page: in HTML.

    Raises:
        ExportError: there is no browser, or it does not print.
    """
    why_not = obstacle()
    if why_not is not None:
        raise ExportError(why_not)
    try:
        return asyncio.run(_printed(page))
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not print the page ({reason}): choose html, or set BROWSER_PATH "
            "to another Chrome or Chromium."
        ) from error


async def _printed(page: str) -> bytes:
    from choreographer import Browser

    browser = Browser()
    deadline = asyncio.timeout(LONGEST)
    try:
        async with deadline:
            await browser.open()
            return await _printed_by(browser, page)
    except Exception as error:
        # The library says of a browser that did not answer that it was closed.
        if deadline.expired():
            raise TimeoutError(f"it did not answer within {LONGEST:g} s") from error
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


async def _printed_by(browser: Any, page: str) -> bytes:
    tab = await browser.create_tab()
    tree = await _asked(tab, "Page.getFrameTree")
    frame = tree["frameTree"]["frame"]["id"]
    await _asked(tab, "Page.setDocumentContent", frameId=frame, html=page)
    width, height = A4
    made = await _asked(
        tab,
        "Page.printToPDF",
        paperWidth=width,
        paperHeight=height,
        printBackground=True,
        generateTaggedPDF=True,
        generateDocumentOutline=True,
    )
    return base64.b64decode(made["data"])


async def _asked(tab: Any, command: str, **what: Any) -> Any:
    answer = await tab.send_command(command, params=what)
    if "error" in answer:
        raise RuntimeError(answer["error"].get("message", "no reason given"))
    return answer["result"]
