"""Back and Forward in the browser lead from page to page, each as it was left.

Streamlit has no setting for it. Its page, as it is sent, gets a script that the browser runs before
any of Streamlit's.
"""

from __future__ import annotations

import functools
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

SCRIPT = Path(__file__).parents[1] / "assets" / "history.js"

PAGE = "text/html"
HEAD = b"<head>"

FORMER, FORMERLY = ("etag", "last-modified"), (b"if-none-match", b"if-modified-since")
"""By these a browser would keep a page with another script, or with none."""


def by_page(send: Send) -> Send:
    """The same; in a page that is sent, the browser remembers each page opened and nothing else."""
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
                headers["content-length"] = str(int(headers["content-length"]) + len(_script()))
            message = {**message, "body": body.replace(HEAD, HEAD + _script(), 1)}
            await send(start)
        await send(message)

    return sending


@functools.cache
def _script() -> bytes:
    return b"\n<script>\n" + SCRIPT.read_bytes() + b"</script>\n"
