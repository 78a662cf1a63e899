"""Where visitors come from, as far as it is one person's: what is shared out goes by address.

A person opens as many pages as they like, so what each page gets of the server is no share.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import Scope
from streamlit import runtime

from ui import served

PROXIED = "x-real-ip"
"""Header in which a proxy says where a request comes from."""


def of_request(scope: Scope, settings: served.Served) -> str:
    """Address that a request or a connection comes from; empty if that is not known."""
    host = str((scope.get("client") or ("",))[0])
    return _of(host, Headers(scope=scope), settings)


def of_session(session: str) -> str:
    """Address of the page of a session; empty if it has none, and without a server."""
    client = runtime.get_instance().get_client(session) if runtime.exists() else None
    context = client.client_context if client else None
    if context is None:
        return ""
    return _of(context.remote_ip or "", Headers(dict(context.headers)), served.settings())


def _of(host: str, headers: Mapping[str, str], settings: served.Served) -> str:
    """The host that a request comes from; of IP version 6 the network."""
    if settings.behind_proxy:
        host = headers.get(PROXIED, host)
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, 64), strict=False))
