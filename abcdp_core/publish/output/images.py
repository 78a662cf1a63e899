"""Draw figures as SVG, PNG and PDF with a browser."""

from __future__ import annotations

import html
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.output import browser, citation
from abcdp_core.publish.output.formats import STATIC, ExportError
from abcdp_core.run.results import Result

T = TypeVar("T")

Figures = Mapping[str, CaptionedFigure]
"""Name -> figure with its sentence."""


@dataclass(frozen=True)
class Image:
    """A static figure to draw, and its file."""

    figure: go.Figure
    path: Path
    title: str
    caption: str


def images_of(
    result: Result, figures: Figures, directory: Path, formats: Sequence[str], stem: str
) -> list[Image]:
    """Return a result's figures in each static format, for files that begin with ``stem``."""
    static = [suffix for suffix in STATIC if suffix in formats]
    images = []
    for name, each in figures.items() if static else ():
        paper = fig.dressed(each.figure, fig.PAPER, title_of(result, each.figure))
        words = title_of(result, each.figure), caption(result, each)
        images += [Image(paper, directory / f"{stem}.{name}.{suffix}", *words) for suffix in static]
    return images


def title_of(result: Result, figure: go.Figure) -> str:
    """Return the title as one line, marked if the result is partial."""
    partial = f"partial result: {result.done} of {result.total} tasks"
    parts = (fig.one_line(figure), partial if result.is_partial else "")
    return " · ".join(part for part in parts if part)


def obstacle() -> str | None:
    """Return why static figures cannot be drawn here, or ``None`` if they can."""
    try:
        import kaleido  # noqa: F401 - asks whether it is there
        from choreographer.browsers.chromium import Chromium
    except ImportError:
        return "SVG, PNG and PDF files need the package kaleido; run `pip install kaleido`."
    browser = Chromium.find_browser(skip_local=False)
    if browser is None or not Path(browser).is_file():
        return (
            "SVG, PNG and PDF files need Chrome or Chromium: install one, set BROWSER_PATH, or run "
            "`plotly_get_chrome`."
        )
    return None


def draw(images: Sequence[Image]) -> None:
    """Draw images with one browser, because starting it is slow.

    Kaleido is called directly: plotly's function would load a script from the network and drop the
    errors of single figures.

    Raises:
        ExportError: there is no browser, or it did not draw the figures.
    """
    if not images:
        return

    def painter() -> Any:
        from kaleido import Kaleido

        return Kaleido(mathjax=False)

    async def drawn(painter: Any) -> None:
        for image in images:
            suffix = image.path.suffix.removeprefix(".")
            size = {"width": fig.WIDTH, "height": image.figure.layout.height}
            options = {"format": suffix, "scale": 2 if suffix == "png" else 1} | size
            order = {"fig": image.figure, "path": image.path, "opts": options}
            await painter.write_fig_from_object(order, cancel_on_error=True)

    use_browser(painter, drawn, "draw the figures")
    for image in images:
        _sign(image)


def use_browser(make: Callable[[], Any], work: Callable[[Any], Awaitable[T]], purpose: str) -> T:
    """Return what a browser makes (:func:`.browser.use`).

    Raises:
        ExportError: there is no browser, or it failed.
    """
    if (why_not := obstacle()) is not None:
        raise ExportError(why_not)
    try:
        return browser.use(make, work)
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not {purpose} ({reason}). Choose html, or set BROWSER_PATH to "
            "another Chrome or Chromium."
        ) from error


def _sign(image: Image) -> None:
    """Add title, caption and citation to an SVG or PNG file."""
    content, words = image.path.read_bytes(), f"{image.caption} {citation.TEXT}"
    if image.path.suffix == ".svg":
        title, text = html.escape(image.title), html.escape(words)
        start = content.index(b">", content.index(b"<svg")) + 1
        signature = f"<title>{title}</title><desc>{text}</desc>".encode()
        content = content[:start] + signature + content[start:]
    elif image.path.suffix == ".png":
        signature = _png_text("Title", image.title) + _png_text("Description", words)
        content = content[:PNG_START] + signature + content[PNG_START:]
    image.path.write_bytes(content)


PNG_START = 33
"""Length of a PNG's signature and header, in bytes; texts may follow."""


def _png_text(keyword: str, text: str) -> bytes:
    """Return an iTXt chunk (PNG specification)."""
    body = b"iTXt" + keyword.encode() + b"\0\0\0\0\0" + text.encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def caption(result: Result, drawn: CaptionedFigure) -> str:
    """Return the caption in print: settings, sentence and privacy statement."""
    parts = (fig.settings_line(drawn.figure), drawn.sentence, result.privacy)
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )
