"""Read how the app is served from the environment: to whom, with which limits, and by whom.

This table is all there is, besides the plug-ins in ``ABCDP_PLUGINS``, which
:mod:`abcdp_core.base.registry` reads, and the folder of polls in ``ABCDP_POLLS``
(:mod:`ui.poll.journal`).

========================  =============================================================
``ABCDP_SERVED``          ``1`` if others use it; the defaults in brackets then apply
``ABCDP_HOSTS``           its names and addresses besides localhost, separated by commas
``ABCDP_WORK_LIMIT``      seconds of work for one job, or ``none``: none (60)
``ABCDP_OWN_DATA``        whether visitors may release from their own data: 1 (0)
``ABCDP_POLL``            whether it holds live polls: 1 (0)
``ABCDP_BUDGET``          the budget that every such release is taken from: none
``ABCDP_RUN_BY``          who runs the server, as visitors read it
``ABCDP_FRAMES``          sites that may show it in a frame, as https://moodle.example.org
========================  =============================================================
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import streamlit as st

SERVED, HOSTS, WORK_LIMIT = "ABCDP_SERVED", "ABCDP_HOSTS", "ABCDP_WORK_LIMIT"
OWN_DATA, BUDGET, RUN_BY = "ABCDP_OWN_DATA", "ABCDP_BUDGET", "ABCDP_RUN_BY"
POLL, FRAMES = "ABCDP_POLL", "ABCDP_FRAMES"

USUAL_LIMIT, LEAST, MOST = 60.0, 1.0, 86_400.0
"""Seconds of work for one job where others use the app, and what they may be set to."""

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""Names by which this machine reaches itself."""

OWN_NAMES = tuple(name.strip("[]") for name in LOCAL_NAMES)
"""The same, as addresses are read."""

HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
ORIGIN = re.compile(rf"https?://{HOST.pattern}(:\d+)?")


class SettingsError(ValueError):
    """A setting is not allowed; one line says which, and what would be."""


@dataclass(frozen=True)
class ServerSettings:
    """How the app is served: the table above, with hosts in lower case and IPv6 in brackets."""

    hosts: tuple[str, ...] = ()
    work_limit: float | None = None
    own_data: bool = True
    poll: bool = True
    budget: str = ""
    run_by: str = ""
    to_others: bool = False
    frames: tuple[str, ...] = ()


@functools.cache
def current() -> ServerSettings:
    """Return the settings of this process.

    Raises:
        SettingsError: a variable has a value that is not allowed.
    """
    return read(os.environ)


def is_framed() -> bool:
    """Return whether the visitor's page may be in a frame of another site, by its address.

    :mod:`ui.server.http_filter` lets other sites frame only addresses with ``embed=true``.
    """
    return bool(st.context.is_embedded)


def is_local() -> bool:
    """Return whether the server is the visitor's computer: by its own name, and not for others."""
    name = urlsplit(st.context.url or "").hostname
    return not current().to_others and name in OWN_NAMES


def here() -> ServerSettings:
    """Return the settings for this visitor's page: in a frame, no release and no poll.

    What surrounds a frame could lead a visitor to press a button that it covers.
    """
    return replace(current(), own_data=False, poll=False) if is_framed() else current()


def read(environment: Mapping[str, str]) -> ServerSettings:
    """Read settings from an environment, where an empty variable counts as missing.

    Raises:
        SettingsError: a variable has a value that is not allowed.
    """
    names = SERVED, HOSTS, WORK_LIMIT, OWN_DATA, POLL, BUDGET, RUN_BY, FRAMES
    given = {name: environment.get(name, "").strip() for name in names}
    to_others = _switch(given, SERVED, usual=False)
    hosts = [_host(text) for each in given[HOSTS].split(",") if (text := each.strip().lower())]
    if to_others and not hosts:
        raise SettingsError(
            f"{SERVED} = 1: {HOSTS} has to say by which names or addresses others reach this "
            f"server, as in {HOSTS}=abc.example.org,192.168.1.5."
        )
    return ServerSettings(
        hosts=tuple(dict.fromkeys(hosts)),
        work_limit=_limit(given[WORK_LIMIT].lower(), USUAL_LIMIT if to_others else None),
        own_data=_switch(given, OWN_DATA, usual=not to_others),
        poll=_switch(given, POLL, usual=not to_others),
        budget=given[BUDGET],
        run_by=given[RUN_BY],
        to_others=to_others,
        frames=tuple(_origin(text) for each in given[FRAMES].split(",") if (text := each.strip())),
    )


def _switch(given: Mapping[str, str], name: str, *, usual: bool) -> bool:
    if given[name] not in ("", "0", "1"):
        raise SettingsError(f"{name} = {given[name]!r}: must be 0 or 1.")
    return given[name] == "1" if given[name] else usual


def _host(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        # All digits would be a number that browsers rewrite as an address.
        if HOST.fullmatch(text) and not text.rpartition(".")[2].isdigit():
            return text
        wanted = "names or addresses without scheme, port or path, as in abc.example.org"
        raise SettingsError(f"{HOSTS} = {text!r}: must be {wanted}.") from None
    return f"[{address}]" if address.version == 6 else str(address)


def _origin(text: str) -> str:
    if not ORIGIN.fullmatch(text.lower()):
        wanted = "sites without path, as in https://moodle.example.org"
        raise SettingsError(f"{FRAMES} = {text!r}: must be {wanted}.")
    return text.lower()


def _limit(text: str, usual: float | None) -> float | None:
    if text in ("", "none"):
        return None if text else usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not LEAST <= seconds <= MOST:
        wanted = f"none or seconds from {LEAST:g} to {MOST:g}"
        raise SettingsError(f"{WORK_LIMIT} = {text!r}: must be {wanted}.")
    return seconds
