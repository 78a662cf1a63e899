"""Where visitors come from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from starlette.types import Scope

from ui import addresses
from ui.served import Served


def scope(host: str | None, **headers: str) -> Scope:
    """A request from a host."""
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"type": "http", "client": None if host is None else (host, 1), "headers": named}


def test_an_address_is_a_persons_or_the_one_that_the_proxy_says() -> None:
    here, behind = Served(), Served(behind_proxy=True)

    def address(host: str | None, settings: Served = here, **headers: str) -> str:
        return addresses.of_request(scope(host, **headers), settings)

    assert address("192.0.2.7") == address("::ffff:192.0.2.7") == "192.0.2.7"
    networks = {address(host) for host in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")}
    assert networks == {"2001:db8::/64", "2001:db8:0:1::/64"}
    assert address("x") == "x"
    assert address(None) == ""
    assert address("192.0.2.1", x_real_ip="192.0.2.7") == "192.0.2.1"
    assert address("192.0.2.1", behind, x_real_ip="192.0.2.7") == "192.0.2.7"
    assert address("192.0.2.1", behind) == "192.0.2.1"


def test_a_session_comes_from_where_its_connection_does(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(remote_ip="2001:db8::1", headers=[("X-Real-Ip", "192.0.2.7")])
    client = SimpleNamespace(client_context=context)
    server = SimpleNamespace(get_client={"open": client}.get)
    assert addresses.of_session("open") == ""
    monkeypatch.setattr(
        addresses, "runtime", SimpleNamespace(exists=lambda: True, get_instance=lambda: server)
    )
    assert addresses.of_session("open") == "2001:db8::/64"
    assert addresses.of_session("lost") == ""
    monkeypatch.setattr(addresses.served, "settings", lambda: Served(behind_proxy=True))
    assert addresses.of_session("open") == "192.0.2.7"
