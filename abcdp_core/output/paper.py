"""A page in HTML as a PDF, printed by the browser that draws static figures."""

from __future__ import annotations

import base64
from typing import Any

from abcdp_core.output import browser
from abcdp_core.output.formats import ExportError
from abcdp_core.output.images import obstacle

INCH = 25.4
"""Millimetres."""

A4 = (210.0 / INCH, 297.0 / INCH)
"""Width and height."""


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
    from choreographer import Browser

    async def printed(printer: Any) -> bytes:
        return await _printed_by(printer, page)

    try:
        return browser.use(Browser, printed)
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not print the page ({reason}): choose html, or set BROWSER_PATH "
            "to another Chrome or Chromium."
        ) from error


async def _printed_by(printer: Any, page: str) -> bytes:
    tab = await printer.create_tab()
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
