"""Share: one button that copies the full link, and a QR code of it for people in the room.

The same link without the button is part of the dialog of :mod:`ui.widgets.class_link`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from abcdp_core.base.parameters import Scalar
from ui.server import settings
from ui.server.settings import OWN_NAMES, ServerSettings
from ui.view import link, page_table
from ui.view.page import Page
from ui.widgets import component

ALL = "It holds all knobs. The address above holds those that this page shows."

ONLY_HERE = "This link works only on this computer."

QUIET = 4
"""Modules that have to be empty around a QR code."""


def show(values: Mapping[str, Scalar]) -> None:
    """Show the button for a link that holds the values of all knobs."""
    page = for_visitors(st.context.url or "", settings.current())
    address = link.address(page, values)
    note = f"{ONLY_HERE} {ALL}" if urlsplit(page).hostname in OWN_NAMES else ALL
    share = component("share", "share.js", "share.html", "share.css")
    share(key="share", data={"link": address, "code": code(address), "note": note})


def inline(address: str, code: str, note: str) -> None:
    """Show a link, copied whenever it changes, with its QR code and a note about it."""
    share = component("class-link", "share.js", "share_inline.html", "share.css")
    share(key="class-link-made", data={"link": address, "code": code, "note": note})


def for_visitors(url: str, how: ServerSettings) -> str:
    """Return the address by which others reach a page that the browser here calls `url`."""
    parts = urlsplit(url)
    if not how.hosts or parts.hostname not in OWN_NAMES:
        return url
    place = how.hosts[0] if parts.port is None else f"{how.hosts[0]}:{parts.port}"
    return urlunsplit(parts._replace(netloc=place))


def elsewhere(url: str, here: Page, there: Page) -> str:
    """Return the address of a page of this server, given that of the one that is open."""
    parts = urlsplit(url)
    base = parts.path.rstrip("/").removesuffix(f"/{here.file}")
    # The first page has no name in an address.
    name = "" if there == page_table.TABLE[0] else there.file
    return urlunsplit(parts._replace(path=f"{base}/{name}"))


@functools.lru_cache(maxsize=256)
def code(address: str) -> str:
    """Return the QR code of an address as SVG; empty if the address is too long for one.

    The mask is fixed: finding the best of the eight takes five times as long, and all can be read.
    """
    try:
        made = segno.make_qr(address, mask=0)
    except segno.DataOverflowError:
        return ""
    return made.svg_inline(border=QUIET, dark="#000", light="#fff", omitsize=True)
