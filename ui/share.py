"""Share: one button that copies the full link, and a QR code of it for who sits in the room.

The same link without the button is part of the dialog of :mod:`ui.class_link`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from abcdp_core.parameters import Scalar
from ui import link, served
from ui.served import Served

ASSETS = Path(__file__).parents[1] / "assets"

OWN_NAMES = ("localhost", "127.0.0.1", "::1")
"""Names by which a machine reaches nobody but itself."""

ONLY_HERE = "Only this computer can open this link: nobody else reaches the server by this name."

QUIET = 4
"""Modules that have to be empty around a QR code."""

HTML = """
<div class="share">
  <button type="button" class="open">Share</button>
  <dialog aria-label="Share this view">
    <div class="head"><p class="said" role="status"></p><button type="button"
      class="close">Close</button></div>
    <div class="code" role="img" aria-label="QR code of the link below"></div>
    <input class="link" readonly aria-label="Link to this view, with every value and the seed">
    <p class="note"></p>
  </dialog>
</div>
"""


INLINE = """
<div class="share inline">
  <div class="head"><p class="said" role="status"></p><button type="button"
    class="copy">Copy</button></div>
  <input class="link" readonly aria-label="Link for the class">
  <div class="code" role="img" aria-label="QR code of the link above"></div>
  <p class="note"></p>
</div>
"""


def show(values: Mapping[str, Scalar]) -> None:
    """The button; what it opens needs no answer from the server.

    Args:
        values: key -> value of every knob that the link is to hold.
    """
    page = for_visitors(st.context.url or "", served.settings())
    address = link.address(page, values)
    note = ONLY_HERE if urlsplit(page).hostname in OWN_NAMES else ""
    _component("share", HTML)(
        key="share", data={"link": address, "code": code(address), "note": note}
    )


def inline(data: Mapping[str, str]) -> None:
    """A link, copied whenever it changes, and its QR code, without a dialog of their own.

    Args:
        data: the ``link``, its ``code``, and a ``note`` about them.
    """
    _component("class-link", INLINE)(key="class-link-made", data=dict(data))


def for_visitors(url: str, how: Served) -> str:
    """The address by which others reach a page.

    Args:
        url: as the browser that asks has it, which may call this machine by a name of its own.
        how: with the names that others know.
    """
    parts = urlsplit(url)
    if not how.hosts or parts.hostname not in OWN_NAMES:
        return url
    place = how.hosts[0] if parts.port is None else f"{how.hosts[0]}:{parts.port}"
    return urlunsplit(parts._replace(netloc=place))


@functools.lru_cache(maxsize=256)
def code(address: str) -> str:
    """The QR code of an address as SVG, dark on white; empty if the address is too long for one.

    The mask is fixed: to look for the best of the eight takes five times as long, and all are read.
    """
    try:
        made = segno.make_qr(address, mask=0)
    except segno.DataOverflowError:
        return ""
    return made.svg_inline(border=QUIET, dark="#000", light="#fff", omitsize=True)


@functools.cache
def _component(name: str, html: str) -> ComponentRenderer:
    css, js = ((ASSETS / f"share.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component(name, html=html, css=css, js=js)
