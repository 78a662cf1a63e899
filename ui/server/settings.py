"""Read how the app is served from the environment: to whom, with which limits, and by whom.

This table is all there is, besides the plug-ins in ``ABCDP_PLUGINS``, which
:mod:`abcdp_core.registry` reads.

========================  =============================================================
``ABCDP_SERVED``          ``1`` if others use it; the defaults in brackets then apply
``ABCDP_HOSTS``           its names and addresses besides localhost, separated by commas
``ABCDP_WORK_LIMIT``      seconds of work for one job, or ``none``: none (60)
``ABCDP_OWN_DATA``        whether visitors may release from their own data: 1 (0)
``ABCDP_BUDGET``          the budget that every such release is taken from: none
``ABCDP_RUN_BY``          who runs the server, as visitors read it
========================  =============================================================
"""

from __future__ import annotations

import functools
import ipaddress
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

SERVED, HOSTS, WORK_LIMIT = "ABCDP_SERVED", "ABCDP_HOSTS", "ABCDP_WORK_LIMIT"
OWN_DATA, BUDGET, RUN_BY = "ABCDP_OWN_DATA", "ABCDP_BUDGET", "ABCDP_RUN_BY"

USUAL_LIMIT, LEAST, MOST = 60.0, 1.0, 86_400.0
"""Seconds of work for one job where others use the app, and what they may be set to."""

LONGEST_NAME = 120
"""Characters of a name."""

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""Names by which this machine reaches itself."""

HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")


class SettingsError(ValueError):
    """A setting is not allowed; one line says which, and what would be."""


@dataclass(frozen=True)
class ServerSettings:
    """How the app is served.

    Attributes:
        hosts: names and addresses besides `LOCAL_NAMES`, in lower case, IPv6 in brackets.
        work_limit: seconds of work for one job; ``None`` for no limit.
        own_data: whether visitors may release from their own data.
        budget: name of the budget that these releases are taken from; empty for none.
        run_by: who runs the server; empty if it is not said.
        to_others: whether people other than its owner use it.
    """

    hosts: tuple[str, ...] = ()
    work_limit: float | None = None
    own_data: bool = True
    budget: str = ""
    run_by: str = ""
    to_others: bool = False


@functools.cache
def current() -> ServerSettings:
    """Return the settings of this process.

    Raises:
        SettingsError: a variable has a value that is not allowed.
    """
    return read(os.environ)


def read(environment: Mapping[str, str]) -> ServerSettings:
    """Read settings from an environment, where an empty variable counts as missing.

    Raises:
        SettingsError: a variable has a value that is not allowed.
    """
    given = {name: environment.get(name, "").strip() for name in NAMES}
    to_others = _switch(given, SERVED, usual=False)
    hosts = [_host(text) for each in given[HOSTS].split(",") if (text := each.strip().lower())]
    if to_others and not hosts:
        raise SettingsError(
            f"{SERVED} = 1: {HOSTS} has to say by which names or addresses others reach this "
            f"server, as in {HOSTS}=abc.example.org,192.168.1.5."
        )
    for name in (BUDGET, RUN_BY):
        if len(given[name]) > LONGEST_NAME or not given[name].isprintable():
            raise _refusal(name, given[name], f"one line of at most {LONGEST_NAME} characters")
    return ServerSettings(
        hosts=tuple(dict.fromkeys(hosts)),
        work_limit=_limit(given[WORK_LIMIT].lower(), USUAL_LIMIT if to_others else None),
        own_data=_switch(given, OWN_DATA, usual=not to_others),
        budget=given[BUDGET],
        run_by=given[RUN_BY],
        to_others=to_others,
    )


NAMES = SERVED, HOSTS, WORK_LIMIT, OWN_DATA, BUDGET, RUN_BY


def _switch(given: Mapping[str, str], name: str, *, usual: bool) -> bool:
    if given[name] not in ("", "0", "1"):
        raise _refusal(name, given[name], "0 or 1")
    return given[name] == "1" if given[name] else usual


def _host(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        # All digits would be a number that browsers rewrite as an address.
        is_name = HOST.fullmatch(text) and len(text) <= 253
        if not is_name or text.rpartition(".")[2].isdigit():
            wanted = "names or addresses without scheme, port or path, as in abc.example.org"
            raise _refusal(HOSTS, text, wanted) from None
        return text
    return f"[{address}]" if address.version == 6 else str(address)


def _limit(text: str, usual: float | None) -> float | None:
    if text in ("", "none"):
        return None if text else usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not LEAST <= seconds <= MOST:
        raise _refusal(WORK_LIMIT, text, f"none or seconds from {LEAST:g} to {MOST:g}")
    return seconds


def _refusal(name: str, text: str, allowed: str) -> SettingsError:
    shown = text if text.isprintable() else repr(text)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return SettingsError(f"{name} = {shown}: must be {allowed}.")
