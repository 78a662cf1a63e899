"""What holds where the app is served to others: who may come, what they may ask for, who runs it.

All of it is read once from the environment; this table is all there is, besides the plug-ins of
``ABCDP_PLUGINS``, which :mod:`abcdp_core.registry` reads.

========================  =============================================================
``ABCDP_SERVED``          ``1``: others use it, so the defaults below are those in brackets
``ABCDP_HOSTS``           names and addresses it goes by besides localhost, with commas between
``ABCDP_WORK_LIMIT``      seconds that one job may work, or ``none``: none (60)
``ABCDP_OWN_DATA``        whether there is the page for a release from one's own data: 1 (0)
``ABCDP_PROXY``           whether all come through a proxy that says from where, in X-Real-IP: 0
``ABCDP_BUDGET``          budget that each release from own data is taken from: none
``ABCDP_RUN_BY``          who runs it, as visitors read it
``ABCDP_VISITS``          whether the server draws its pages before anybody comes: 1 (1)
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
OWN_DATA, PROXY, RUN_BY = "ABCDP_OWN_DATA", "ABCDP_PROXY", "ABCDP_RUN_BY"
VISITS, BUDGET = "ABCDP_VISITS", "ABCDP_BUDGET"

USUAL_LIMIT = 60.0
"""Seconds of a job where the app is served to others and nothing else is said."""

LEAST, MOST = 1.0, 86_400.0
"""Seconds that a limit may be."""

LONGEST_NAME = 120
"""Characters of a name."""

HERE = ("localhost", "127.0.0.1", "[::1]")
"""Names under which this machine reaches itself."""

HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")


class ServedError(ValueError):
    """A setting of a served instance is not allowed; one line says which and what would be."""


@dataclass(frozen=True)
class Served:
    """How the app is served.

    Attributes:
        hosts: names and addresses that it goes by besides `HERE`, in lower case; an address of
            IP version 6 in brackets.
        work_limit: seconds that one job may work; ``None`` for as long as it takes.
        own_data: whether there is the page for a release from one's own data.
        behind_proxy: whether all come through a proxy that says where from, whatever they say.
        budget: name of the one that releases from own data are taken from; empty without one.
        run_by: who runs it; empty if that is not said.
        to_others: whether others than who started it use it.
        visits: whether the server draws its pages before anybody comes.
    """

    hosts: tuple[str, ...] = ()
    work_limit: float | None = None
    own_data: bool = True
    behind_proxy: bool = False
    budget: str = ""
    run_by: str = ""
    to_others: bool = False
    visits: bool = True


@functools.cache
def settings() -> Served:
    """How this process serves the app.

    Raises:
        ServedError: the environment asks for what is not allowed.
    """
    return read(os.environ)


def read(environment: Mapping[str, str]) -> Served:
    """What an environment asks for; an empty variable is as good as none.

    Raises:
        ServedError: it asks for what is not allowed.
    """
    to_others = _switch(environment, SERVED, usual=False)
    return Served(
        hosts=_hosts(environment, needed=to_others),
        work_limit=_limit(environment, USUAL_LIMIT if to_others else None),
        own_data=_switch(environment, OWN_DATA, usual=not to_others),
        behind_proxy=_switch(environment, PROXY, usual=False),
        budget=_line(environment, BUDGET),
        run_by=_line(environment, RUN_BY),
        to_others=to_others,
        visits=_switch(environment, VISITS, usual=True),
    )


def _switch(environment: Mapping[str, str], name: str, *, usual: bool) -> bool:
    text = environment.get(name, "").strip()
    if text not in ("", "0", "1"):
        raise _refusal(name, text, "0 or 1")
    return text == "1" if text else usual


def _hosts(environment: Mapping[str, str], *, needed: bool) -> tuple[str, ...]:
    texts = [text.strip().lower() for text in environment.get(HOSTS, "").split(",")]
    hosts = tuple(dict.fromkeys(_host(text) for text in texts if text))
    if needed and not hosts:
        raise ServedError(
            f"{SERVED} = 1: {HOSTS} has to say by which names or addresses others reach this "
            f"server, as in {HOSTS}=abc.example.org,192.168.1.5."
        )
    return hosts


def _host(text: str) -> str:
    bare = text.removeprefix("[").removesuffix("]")
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        # All digits would be a number that browsers rewrite as an address.
        is_name = HOST.fullmatch(text) and len(text) <= 253
        if not is_name or text.rpartition(".")[2].isdigit():
            raise _refusal(
                HOSTS,
                text,
                "names or addresses without scheme, port or path, as in abc.example.org",
            ) from None
        return text
    return f"[{address}]" if address.version == 6 else str(address)


def _limit(environment: Mapping[str, str], usual: float | None) -> float | None:
    text = environment.get(WORK_LIMIT, "").strip().lower()
    if text in ("", "none"):
        return None if text else usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not LEAST <= seconds <= MOST:
        raise _refusal(WORK_LIMIT, text, f"none or seconds from {LEAST:g} to {MOST:g}")
    return seconds


def _line(environment: Mapping[str, str], name: str) -> str:
    text = environment.get(name, "").strip()
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise _refusal(name, text, f"one line of at most {LONGEST_NAME} characters")
    return text


def _refusal(name: str, text: str, allowed: str) -> ServedError:
    shown = text if text.isprintable() else repr(text)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return ServedError(f"{name} = {shown}: must be {allowed}.")
