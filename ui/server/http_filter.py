"""Decide which requests reach Streamlit: its own names and its own pages only (SECURITY.md, 1).

Streamlit answers to any name, so a foreign web site could point its own name at this machine and
speak for the visitor (DNS rebinding); and a foreign Origin makes Streamlit ask an outside service
for its address while everybody waits. Limits on connections, rates and sizes belong to nginx.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ui.server.settings import LOCAL_NAMES, ServerSettings

Message = dict[str, Any]
Call = Callable[..., Awaitable[Any]]

POLICY = (
    b"default-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; base-uri 'self'; "
    b"form-action 'self'; object-src 'none'; frame-ancestors 'self'"
)
"""Pages load files of their own server only; Streamlit needs inline scripts and generated code."""

EMBED = b"embed=true"
"""Part of an address by which Streamlit, and :func:`ui.server.settings.here`, know a frame."""

HEADERS = [
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
]
TEXT = (b"content-type", b"text/plain; charset=utf-8")
REFUSED = "This server does not answer to the name {}, or not to another site (see ABCDP_HOSTS)."


class HttpFilter:
    """Refuse requests under a foreign name or from a foreign page; name a script to preload.

    Other sites (``ABCDP_FRAMES``) may frame only addresses that say so, so that the page knows.
    """

    def __init__(self, app: Call, settings: ServerSettings, preload: str = "") -> None:
        link = f"<{preload}>; rel=modulepreload".encode()
        self._app, self._hosts = app, settings.hosts
        self._of_pages = [*HEADERS, (b"link", link)] if preload else HEADERS
        framed = b" ".join([POLICY, *(site.encode() for site in settings.frames)])
        self._of_frames = [(HEADERS[0][0], framed), *self._of_pages[1:]]

    async def __call__(self, scope: Message, receive: Call, send: Call) -> None:
        """Answer one ASGI connection, or refuse it with 403."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif self._is_allowed(scope["headers"]):
            # Without an Origin, Streamlit has no reason to look up an address.
            headers = [each for each in scope["headers"] if each[0] != b"origin"]
            is_framed = EMBED in scope.get("query_string", b"").split(b"&")
            of_pages = self._of_frames if is_framed else self._of_pages
            added = HEADERS if "." in scope["path"] else of_pages

            async def with_policy(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), *added]
                await send(message)

            await self._app({**scope, "headers": headers}, receive, with_policy)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            start = {"type": "http.response.start", "status": 403, "headers": [TEXT, *HEADERS]}
            await send(start)
            # Behind a platform's proxy this is how its operator learns the name.
            names = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
            body = REFUSED.format(ascii(" ".join(names))[:100]).encode()
            await send({"type": "http.response.body", "body": body})

    def _is_allowed(self, headers: list[tuple[bytes, bytes]]) -> bool:
        hosts, origins = (
            [value.decode("latin-1").lower() for key, value in headers if key == name]
            for name in (b"host", b"origin")
        )
        if len(hosts) != 1 or _name_of(hosts[0]) not in (*LOCAL_NAMES, *self._hosts):
            return False
        # A proxy may ask under its own name; the page is then at one of the public names.
        names = hosts[0], *self._hosts
        own = {f"{scheme}://{name}" for name in names for scheme in ("http", "https")}
        return len(origins) < 2 and {*origins} <= own


def _name_of(host: str) -> str:
    """Return the name in a Host header without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and not host.endswith("]") else host
