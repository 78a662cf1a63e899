"""Define how every figure looks: colors, the one template, and what a screen or paper needs.

Colors are Okabe and Ito's, which people with color blindness can tell apart; lines and marks keep
a contrast of 3:1 on white and on dark. Every series also has its own dash or marker.

A study decides what is in a figure and how high it is. Fonts, margins, title and legend are set
here, by :func:`as_seen`, for the medium.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from abcdp_core.figures.medium import Medium

VERMILLION = "#D55E00"
BLUE = "#0072B2"
GREEN = "#009E73"
GREY = "#6B737C"
BLACK = "#16181C"
PALE = "#868E97"
OLIVE = "#6B7300"
PURPLE = "#6A3D9A"

ROLES = {
    VERMILLION: "with noise: private results, and what noise decides",
    BLUE: "without noise",
    GREEN: "theory: exact, or a bound",
    GREY: "the prior: nothing learned",
    BLACK: "given: truth, data, your setting; and what is the same with and without noise",
    PALE: "rejected draws, and guide lines",
    OLIVE: "counts with noise, without ABC",
}
"""Color -> its one meaning. Controls, links and focus have none of these colors: theirs is the
accent of the theme."""

GROUND = "#FFFFFF"
"""Color behind the words in a plot."""

CATEGORIES = (PURPLE, "#A0703A", "#B5338A", "#8B1E3F", "#3F5F6B")
"""Colors of what a figure compares, in order (budgets, mechanisms, intervals, ...), each labeled in
the figure."""

ON_DARK = {
    VERMILLION: "#FF8C42",
    BLUE: "#56B4E9",
    GREEN: "#2FC79B",
    GREY: "#98A1AB",
    BLACK: "#E8EAED",
    PALE: "#76808B",
    OLIVE: "#C6CC4E",
    PURPLE: "#B79CED",
    "#A0703A": "#D9B382",
    "#B5338A": "#F08CCB",
    "#8B1E3F": "#E58CA6",
    "#3F5F6B": "#A9C3CC",
    GROUND: "#111418",
}
"""Each color on a dark ground."""

WORDS = {
    VERMILLION: "#B84F00",
    GREEN: "#007A59",
    PALE: "#6B737C",
    "#A0703A": "#8F6230",
}
"""On a light ground the color of words that name a series, where the series' own is too pale."""


def of_words(color: str) -> dict[str, str]:
    """Return theme -> color of words that name a series."""
    return {"light": WORDS.get(color, color), "dark": ON_DARK[color]}


DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x")

HEIGHT = 440  # Pixels of a figure whose builder does not say

AXIS = {"showline": True, "ticks": "outside", "automargin": True, "separatethousands": True}

TEMPLATE = go.layout.Template(
    layout=go.Layout(
        colorway=CATEGORIES,
        font={"size": 15},
        title={"x": 0.0, "xanchor": "left", "yanchor": "top", "yref": "container", "pad": {"l": 4}},
        margin={"l": 64, "r": 16, "t": 56, "b": 56},
        legend={
            **{"orientation": "h", "x": 0.0, "xanchor": "left"},
            **{"y": 0.0, "yanchor": "bottom", "yref": "container"},
        },
        xaxis=AXIS,
        yaxis=AXIS | {"exponentformat": "power"},
        hovermode="closest",
        uirevision="kept",
    )
)


@dataclass(frozen=True)
class Style:
    """How a series looks everywhere: name, color, dash and marker."""

    name: str
    color: str
    dash: str = "solid"
    marker: str = "circle"

    def called(self, name: str, **looks: str) -> Style:
        """The same for a series of another name, and with another dash or marker."""
        return replace(self, name=name, **looks)


PRIVATE = Style("private", VERMILLION, "solid", "circle")
NON_PRIVATE = Style("non-private", BLUE, "dash", "square")
THEORY = Style("theory", GREEN, "dash", "diamond")
PRIOR = Style("prior", GREY, "dot", "diamond")
TRUTH = Style("truth", BLACK, "solid", "line-ns")
REJECTED = Style("rejected", PALE, "", "circle")
BOTH = Style("both", BLACK, "", "circle")
GUIDE = Style("guide", PALE, "dot", "circle")


def styles(names: Sequence[str]) -> list[Style]:
    """A style for each of several series of the same kind."""
    looks = zip(*map(itertools.cycle, (CATEGORIES, DASHES, MARKERS)), strict=False)
    return [Style(name, *look) for name, look in zip(names, looks, strict=False)]


FONT = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK = "#1F1F1F"
GRID = "#E4E4E4"

SCREEN = Medium("screen", title_width=90, title=16, text=15, ticks=14)
"""A page whose theme is not known; a title's line is as wide as a figure beside the knobs."""

PROJECTOR = Medium(
    "projector", 60, title=24, text=22, ticks=20, least=20, taller=1.4, thicker=1.6, larger=1.3
)
"""The same on the wall of a lecture hall."""


def _themes(medium: Medium) -> dict[str, Medium]:
    """Theme of a page -> its medium, with the theme's color of text."""
    # Plotly's own greys are too pale for a projector.
    return {
        "light": replace(medium, name=f"{medium.name}, light", ink=BLACK, words=WORDS),
        "dark": replace(medium, name=f"{medium.name}, dark", ink=ON_DARK[BLACK], colors=ON_DARK),
    }


SCREENS, PROJECTORS = _themes(SCREEN), _themes(PROJECTOR)


def screen(theme: str | None, *, projector: bool = False) -> Medium:
    """The medium of a page by its theme, ``None`` if that is not known."""
    media, unknown = (PROJECTORS, PROJECTOR) if projector else (SCREENS, SCREEN)
    return media.get(str(theme), unknown)


PAPER = Medium(
    "paper",
    title_width=84,
    title=18,
    text=15,
    ticks=13,
    ink=INK,
    ground=GROUND,
    grid=GRID,
    font=FONT,
    grows=True,
    words=WORDS,
)
"""A file, which has no theme, and room for its whole title."""

WIDTH = 900  # Pixels of a figure on paper

CONFIG = {
    "responsive": True,
    "displaylogo": False,
    # A drag zooms and a double click takes it back: these would only be stops of the Tab key.
    "modeBarButtonsToRemove": ["zoom", "pan", "zoomin", "zoomout", "autoscale", "select", "lasso"],
    "toImageButtonOptions": {"format": "svg"},
}
"""What a browser lets a person do with a figure."""


def dressed(figure: go.Figure, medium: Medium, title: str | None = None) -> go.Figure:
    """A copy as it looks in a medium, with the title in short lines and the legend below.

    Args:
        figure: left as it is.
        medium: where it is seen.
        title: in place of its own; empty for none.
    """
    return go.Figure(as_seen(figure, medium, title))


def as_seen(figure: go.Figure, medium: Medium, title: str | None = None) -> dict[str, Any]:
    """What :func:`dressed` gives, as a dictionary: plotly's checks take longer than a page."""
    plain = _recolored(figure.to_dict(), medium.colors)
    if medium.least:
        from abcdp_core.figures import projected

        projected.enlarge(plain, medium)
    layout: dict[str, Any] = plain["layout"]
    if "annotations" in layout:
        layout["annotations"] = _recolored(layout["annotations"], medium.words)
    for name in {"xaxis", "yaxis"} | {key for key in layout if key[1:].startswith("axis")}:
        _dress_axis(layout.setdefault(name, {}), medium)
    for note in layout.get("annotations", ()):
        # A note that belongs to a series keeps its color.
        note["font"] = _font(medium.ticks, medium) | note.get("font", {})
    lines = wrapped(one_line(figure) if title is None else title, medium.title_width)
    settings = settings_line(figure)
    small = [] if title == "" else wrapped(settings, round(medium.title_width * SMALLER))
    lines += [f'<span style="font-size:{medium.ticks}px">{each}</span>' for each in small]
    height = round(layout.get("height", HEIGHT) * medium.taller)
    if medium.taller != 1.0:
        layout["height"] = height
    top = _room_above(lines, layout, medium)
    bottom = BOTTOM + (LEGEND_LINE * _legend_rows(plain) if medium.grows else 0)
    if medium.grows:
        height = max(height - TITLE_AND_AXIS, LOWEST) + top + bottom
        layout["height"] = height
    layout["title"] = {
        "text": "<br>".join(lines),
        "font": _font(medium.title, medium),
        # Plotly hangs a single line below its place but writes the first of several above it.
        "y": 1.0 - (TITLE_PAD + (medium.title if len(lines) > 1 else 0)) / height,
        "automargin": False,
    }
    # At the right half of an axis's last number, which is left out where there is no room.
    layout["margin"] = {"t": top, "r": round(1.9 * medium.ticks)}
    if medium.grows:
        # Nothing touches the edge of paper.
        layout["margin"] |= {"b": bottom, "l": 84, "r": 24}
        layout["title"]["pad"] = {"l": 12}
    layout["legend"] = {**layout.get("legend", {}), "font": _font(medium.ticks, medium)}
    layout["font"] = _font(medium.text, medium)
    if medium.ground:
        layout |= {"paper_bgcolor": medium.ground, "plot_bgcolor": medium.ground}
    return plain


def below_title(figure: go.Figure, medium: Medium) -> dict[str, Any]:
    """As seen below its title, which the page says: it breaks lines where its room ends."""
    plain = as_seen(figure, medium, "")
    layout: dict[str, Any] = plain["layout"]
    # The plot stays as high as below a title within the figure.
    lines = wrapped(one_line(figure), medium.title_width)
    lines += wrapped(settings_line(figure), round(medium.title_width * SMALLER))
    saved = round(1.3 * medium.title) * len(lines)
    if not layout.get("annotations") and not _above(layout):
        saved += TITLE_PAD
        layout["margin"]["t"] -= TITLE_PAD
    height = layout.get("height", round(HEIGHT * medium.taller))
    layout["height"] = max(height - saved, layout["margin"]["t"] + LOWEST // 2)
    return plain


COLOR = re.compile(r"#[0-9A-F]{6}|rgba\((\d+),(\d+),(\d+),([\d.]+)\)")
"""A color as figures here write it, alone or within a text."""


def _recolored(thing: Any, colors: Mapping[str, str]) -> Any:
    """The same with every color replaced, wherever it stands."""
    if not colors:
        return thing
    if isinstance(thing, dict):
        # Numbers are there as text, long and without any color.
        return thing if "bdata" in thing else {k: _recolored(v, colors) for k, v in thing.items()}
    if isinstance(thing, list | tuple):
        return [_recolored(each, colors) for each in thing]
    if isinstance(thing, str):
        return COLOR.sub(lambda found: _other(found, colors), thing)
    return thing


def _other(match: re.Match[str], colors: Mapping[str, str]) -> str:
    if match[0].startswith("#"):
        return colors.get(match[0], match[0])
    opaque = "#" + "".join(f"{int(part):02X}" for part in match.groups()[:3])
    return translucent(colors[opaque], float(match[4])) if opaque in colors else match[0]


def translucent(color: str, alpha: float) -> str:
    """A color through which the ground can be seen, e.g. of a band."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


SMALLER = 1.2  # times the characters of a title's line that a line of settings has
TITLE_PAD = 14  # pixels above the title
BOTTOM = 72  # pixels below the plot, for its axis
TITLE_AND_AXIS = 148  # pixels of a figure that are not for its plot, with a title of one line
LOWEST = 240  # pixels of the lowest plot
LEGEND_LINE = 26  # pixels of a line of the legend


def one_line(figure: go.Figure) -> str:
    """The title of a figure as a single line."""
    return " ".join((figure.layout.title.text or "").replace("<br>", " ").split())


def settings_line(figure: go.Figure) -> str:
    """The settings below the title of a figure; empty where they stand in the title."""
    return figure.layout.title.subtitle.text or ""


def wrapped(title: str, width: int) -> list[str]:
    """A title in lines that break between settings, as in ``ε_abc = 0.1``, never inside one."""
    return textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), width)


def _dress_axis(axis: dict[str, Any], medium: Medium) -> None:
    axis["tickfont"] = _font(medium.ticks, medium)
    if "ticktext" in axis:
        axis["ticktext"] = _recolored(axis["ticktext"], medium.words)
    axis["title"] = {**axis.get("title", {}), "font": _font(medium.text, medium)}
    if medium.grid:
        axis |= dict.fromkeys(("gridcolor", "zerolinecolor"), medium.grid)
        axis |= dict.fromkeys(("linecolor", "tickcolor"), medium.ink)


def _font(size: int, medium: Medium) -> dict[str, Any]:
    named = {"color": medium.ink, "family": medium.font}
    return {"size": size} | {name: value for name, value in named.items() if value}


def _room_above(lines: Sequence[str], layout: Mapping[str, Any], medium: Medium) -> int:
    """Pixels between the top and the plot: the title's lines, titles of panels, an axis."""
    panels = any(note.get("text") for note in layout.get("annotations", ()))
    axis = 2 * TITLE_PAD + medium.ticks + medium.text if _above(layout) else 0
    return 2 * TITLE_PAD + round(1.3 * medium.title) * (len(lines) + (panels and not axis)) + axis


def _above(layout: Mapping[str, Any]) -> list[str]:
    """Axes that stand above the plot."""
    return [key for key, axis in layout.items() if key[:5] == "xaxis" and axis.get("side") == "top"]


def _legend_rows(plain: Mapping[str, Any]) -> int:
    """Lines of the legend on paper, by the lengths of its texts."""
    names = {
        trace["name"]
        for trace in plain["data"]
        if trace.get("name") and trace.get("showlegend") is not False
    }
    if plain["layout"].get("showlegend") is False or not names:
        return 0
    widest = 48 + 8 * max(map(len, names))
    return math.ceil(len(names) / max(1, (WIDTH - 100) // widest))
