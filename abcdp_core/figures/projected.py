"""Enlarge what a figure is drawn with, so that the last row of a lecture hall can see it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from abcdp_core.figures.medium import Medium

LETTERS = re.compile(r"font-size: ?(\d+)px")


def enlarge(plain: dict[str, Any], medium: Medium) -> None:
    """Give a figure, as a dictionary, the letters, lines and marks of a medium."""
    _enlarge_letters(plain, medium.least)
    for trace in plain["data"]:
        _thicken(trace, medium)
    for shape in plain["layout"].get("shapes", ()):
        shape["line"] = _wider(shape.get("line", {}), medium)
    plain["layout"]["hoverlabel"] = {"font": {"size": medium.text}}


def _enlarge_letters(thing: Any, least: int) -> None:
    """No letters smaller than that, neither by a font nor within a text."""
    for key, value in thing.items() if isinstance(thing, dict) else enumerate(thing):
        if isinstance(value, dict) and str(key).endswith("font") and "size" in value:
            value["size"] = max(value["size"], least)
        elif isinstance(value, dict | list):
            _enlarge_letters(value, least)
        elif isinstance(value, str) and "font-size" in value:
            thing[key] = LETTERS.sub(lambda size: f"font-size:{max(int(size[1]), least)}px", value)


def _thicken(trace: dict[str, Any], medium: Medium) -> None:
    """A trace with thicker lines and larger marks, where it has any."""
    if trace.get("type", "scatter") in ("scatter", "scattergl"):
        trace["line"] = _wider(trace.get("line", {}), medium)
        marker = trace["marker"] = {**trace.get("marker", {})}
        marker["size"] = _times(marker.get("size", 6), medium.larger)
    if "line" in trace.get("marker", {}):
        trace["marker"]["line"] = _wider(trace["marker"]["line"], medium)
    for name in {"error_x", "error_y"} & trace.keys():
        bars = trace[name]
        trace[name] = {**bars, "thickness": _times(bars.get("thickness", 2), medium.thicker)}


def _wider(line: Mapping[str, Any], medium: Medium) -> dict[str, Any]:
    return {**line, "width": _times(line.get("width", 2), medium.thicker)}


def _times(size: Any, factor: float) -> Any:
    """Plotly's size of one mark, or of each, in larger."""
    if isinstance(size, dict):
        values = np.frombuffer(base64.b64decode(size["bdata"]), size["dtype"])
        return values * factor
    return np.asarray(size) * factor if isinstance(size, list | tuple) else size * factor
