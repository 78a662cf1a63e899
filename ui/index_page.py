"""What Streamlit's page lacks and has no setting for is put into it as it is sent.

Back and Forward in the browser lead from page to page, each as it was left, by a script that runs
before any of Streamlit's. And no browser translates the page: a translator puts texts of its own
where Streamlit looks for its own, so that figures of former settings stay and drawing fails.
"""

from __future__ import annotations

import functools
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

SCRIPT = Path(__file__).parents[1] / "assets" / "history.js"

PAGE = "text/html"
HEAD = b"<head>"

# For Google's translator, and for others.
AS_IT_IS = b"""
<meta name="google" content="notranslate">
<script>document.documentElement.translate = false;</script>"""

FORMER, FORMERLY = ("etag", "last-modified"), (b"if-none-match", b"if-modified-since")
"""By these a browser would keep a page with other additions, or with none."""


def with_additions(send: Send) -> Send:
    """The same, with the additions in a page that is sent."""
    begun: Message | None = None

    async def sending(message: Message) -> None:
        nonlocal begun
        if message["type"] == "http.response.start":
            if MutableHeaders(scope=message).get("content-type", "").startswith(PAGE):
                # Until it is known how long the page is.
                begun = message
                return
        elif begun is not None:
            start, begun = begun, None
            headers, body = MutableHeaders(scope=start), message.get("body", b"")
            for name in FORMER:
                del headers[name]
            if HEAD in body and "content-length" in headers:
                headers["content-length"] = str(int(headers["content-length"]) + len(_additions()))
            message = {**message, "body": body.replace(HEAD, HEAD + _additions(), 1)}
            await send(start)
        await send(message)

    return sending


@functools.cache
def _additions() -> bytes:
    return AS_IT_IS + b"\n<script>\n" + SCRIPT.read_bytes() + b"</script>\n"
