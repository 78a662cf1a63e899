"""What a figure is seen in: a page, a wall, paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Medium:
    """What a figure is seen in.

    Attributes:
        name: tells it from the others.
        title_width: characters of a title in a line.
        title, text, ticks: sizes of letters in pixels; notes and the legend have that of ticks.
        ink: color of all text; the page's own if empty.
        ground: color behind the figure; the page's own if empty.
        grid: color of grid lines; the page's own if empty.
        font: names of fonts; the page's own if empty.
        grows: whether title and legend make the figure higher instead of the plot lower.
        colors: what each color becomes; itself if it is not among them.
        words: what the color of words becomes then.
        least: pixels of the smallest letters, whatever a builder says.
        taller: times the height that the builder says.
        thicker: times the width of lines.
        larger: times the size of marks.
    """

    name: str
    title_width: int
    title: int
    text: int
    ticks: int
    ink: str = ""
    ground: str = ""
    grid: str = ""
    font: str = ""
    grows: bool = False
    colors: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    least: int = 0
    taller: float = 1.0
    thicker: float = 1.0
    larger: float = 1.0
