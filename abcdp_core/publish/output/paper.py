"""Print an HTML page as PDF with a browser."""

from __future__ import annotations

import base64
from typing import Any

from abcdp_core.publish.output.images import use_browser

A4 = (210.0 / 25.4, 297.0 / 25.4)
"""Width and height in inches."""


def pdf(page: str) -> bytes:
    """Print an HTML page that needs no script and no other file on A4.

    Raises:
        ExportError: there is no browser, or it did not print.
    """

    def printer() -> Any:
        from choreographer import Browser

        return Browser()

    async def printed(printer: Any) -> bytes:
        tab = await printer.create_tab()
        tree = await _asked(tab, "Page.getFrameTree")
        frame = tree["frameTree"]["frame"]["id"]
        await _asked(tab, "Page.setDocumentContent", frameId=frame, html=page)
        made = await _asked(
            tab,
            "Page.printToPDF",
            paperWidth=A4[0],
            paperHeight=A4[1],
            printBackground=True,
            generateTaggedPDF=True,
            generateDocumentOutline=True,
        )
        return base64.b64decode(made["data"])

    return use_browser(printer, printed, "print the page")


async def _asked(tab: Any, command: str, **what: Any) -> Any:
    answer = await tab.send_command(command, params=what)
    if "error" in answer:
        raise RuntimeError(answer["error"].get("message", "no reason given"))
    return answer["result"]
