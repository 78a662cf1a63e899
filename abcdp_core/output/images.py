"""Figures as SVG, PNG and PDF, drawn by a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.output.formats import STATIC, ExportError
from abcdp_core.results import Result

Figures = Mapping[str, Drawn]
"""Name -> figure with its sentence."""


@dataclass(frozen=True)
class Image:
    """A static figure to be drawn, and where to."""

    figure: go.Figure
    path: Path


def images_of(
    result: Result, figures: Figures, directory: Path, formats: Sequence[str], stem: str
) -> list[Image]:
    """A result's figures in each static format, in files that begin with ``stem``."""
    static = [suffix for suffix in STATIC if suffix in formats]
    images = []
    for name, each in figures.items() if static else ():
        paper = fig.dressed(each.figure, fig.PAPER, title_of(result, each.figure))
        images += [Image(paper, directory / f"{stem}.{name}.{suffix}") for suffix in static]
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
    browser = Chromium.find_browser(skip_local=False)
    if browser is None or not Path(browser).is_file():
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
    import kaleido

    try:
        kaleido.write_fig_from_object_sync(
            [_order(image) for image in images], kopts={"mathjax": False}, cancel_on_error=True
        )
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not draw the figures ({reason}): choose html, or set BROWSER_PATH "
            "to another Chrome or Chromium."
        ) from error


def _order(image: Image) -> dict[str, Any]:
    suffix = image.path.suffix.removeprefix(".")
    options = {
        "format": suffix,
        "width": fig.WIDTH,
        "height": image.figure.layout.height,
        "scale": 2 if suffix == "png" else 1,
    }
    return {"fig": image.figure, "path": image.path, "opts": options}
