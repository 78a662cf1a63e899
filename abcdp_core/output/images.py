"""Figures as SVG, PNG and PDF, drawn by a browser."""

from __future__ import annotations

import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.output import browser, citation
from abcdp_core.output.formats import STATIC, ExportError
from abcdp_core.results import Result

Figures = Mapping[str, CaptionedFigure]
"""Name -> figure with its sentence."""


@dataclass(frozen=True)
class Image:
    """A static figure to be drawn, and where to."""

    figure: go.Figure
    path: Path
    title: str
    caption: str


def images_of(
    result: Result, figures: Figures, directory: Path, formats: Sequence[str], stem: str
) -> list[Image]:
    """A result's figures in each static format, in files that begin with ``stem``."""
    static = [suffix for suffix in STATIC if suffix in formats]
    images = []
    for name, each in figures.items() if static else ():
        paper = fig.dressed(each.figure, fig.PAPER, title_of(result, each.figure))
        words = title_of(result, each.figure), caption(result, each)
        images += [Image(paper, directory / f"{stem}.{name}.{suffix}", *words) for suffix in static]
    return images


def title_of(result: Result, figure: go.Figure) -> str:
    """The title as one line; a result that is not complete says so."""
    partial = f"partial result: {result.done} of {result.total} tasks"
    parts = (fig.one_line(figure), partial if result.is_partial else "")
    return " · ".join(part for part in parts if part)


def obstacle() -> str | None:
    """Why static figures cannot be drawn here and what to do about it; ``None`` if they can."""
    try:
        import kaleido  # noqa: F401 - asks whether it is there
        from choreographer.browsers.chromium import Chromium
    except ImportError:
        return "SVG, PNG and PDF files need the package kaleido: run `pip install kaleido`."
    found = Chromium.find_browser(skip_local=False)
    if found is None or not Path(found).is_file():
        return (
            "SVG, PNG and PDF files need Chrome or Chromium: install one, or set BROWSER_PATH to "
            "it, or run `plotly_get_chrome`."
        )
    return None


def draw(images: Sequence[Image]) -> None:
    """Draw all in one browser, which takes longer to start than to draw.

    Kaleido is called directly because plotly's function would let it load a script from the
    network, and would drop errors of single figures.
    """
    if not images:
        return
    why_not = obstacle()
    if why_not is not None:
        raise ExportError(why_not)
    from kaleido import Kaleido

    async def drawn(painter: Any) -> None:
        for image in images:
            await painter.write_fig_from_object(_order(image), cancel_on_error=True)

    try:
        browser.use(lambda: Kaleido(mathjax=False), drawn)
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not draw the figures ({reason}): choose html, or set BROWSER_PATH "
            "to another Chrome or Chromium."
        ) from error
    for image in images:
        _sign(image)


def _sign(image: Image) -> None:
    """Give a file title, caption and citation, where its format has a place for them."""
    content, words = image.path.read_bytes(), f"{image.caption} {citation.TEXT}"
    if image.path.suffix == ".svg":
        title, text = html.escape(image.title), html.escape(words)
        start = content.index(b">", content.index(b"<svg")) + 1
        content = b"".join(
            [
                content[:start],
                f"<title>{title}</title><desc>{text}</desc>".encode(),
                content[start:],
            ]
        )
    elif image.path.suffix == ".png":
        said = _png_text("Title", image.title) + _png_text("Description", words)
        content = content[:PNG_START] + said + content[PNG_START:]
    image.path.write_bytes(content)


PNG_START = 33
"""Bytes of a PNG's signature and of its header, after which texts may stand."""


def _png_text(keyword: str, text: str) -> bytes:
    """A chunk of international text, as the PNG specification has it."""
    body = b"iTXt" + keyword.encode() + b"\0\0\0\0\0" + text.encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def caption(result: Result, drawn: CaptionedFigure) -> str:
    """What stands below a figure in print: its settings, what it shows and what is private."""
    parts = (fig.settings_line(drawn.figure), drawn.sentence, result.privacy)
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )


def _order(image: Image) -> dict[str, Any]:
    suffix = image.path.suffix.removeprefix(".")
    options = {
        "format": suffix,
        "width": fig.WIDTH,
        "height": image.figure.layout.height,
        "scale": 2 if suffix == "png" else 1,
    }
    return {"fig": image.figure, "path": image.path, "opts": options}
