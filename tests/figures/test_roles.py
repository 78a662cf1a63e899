"""A color that has a meaning is used for nothing else, and every color can be seen.

Read from the source, so that no figure is forgotten and none has to be computed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core import mechanisms
from abcdp_core.figures import looks

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "reference" / "kept" / "figures"
DRAWING = ("abcdp_core", "ui", "pages")
DEFINING = ("abcdp_core/figures/", "abcdp_core/publish/output/documents.py")
"""Where colors are defined, and where they are those of printed words."""

BARE = {"BLUE", "VERMILLION", "GREEN", "GREY", "BLACK", "PURPLE", "OLIVE", "PALE"}
"""Names of colors that mean nothing: code that draws names what it draws."""


def bare_colors(source: str) -> list[str]:
    """Return colors and styles that a source takes by name or number, not by what they mean."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="fig"), attr=name) if name in BARE:
                found.append(f"line {node.lineno}: fig.{name}")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="fig"), attr="Style")):
                found.append(f"line {node.lineno}: a style of its own")
            case ast.Constant(value=str(text)) if re.search(r"#[0-9A-Fa-f]{6}\b|rgba?\(\d", text):
                found.append(f"line {node.lineno}: {text}")
    return found


def test_figures_take_colors_by_what_they_mean() -> None:
    files = [file for folder in DRAWING for file in (ROOT / folder).rglob("*.py")]
    sources = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}
    for place in ("abcdp_core/studies/", "abcdp_core/release/", "ui/figures/"):
        drawing = [name for name in sources if name.startswith(place) and "fig." in sources[name]]
        assert drawing, f"nothing in {place} draws: has it moved?"
    found = {
        name: bare
        for name, source in sources.items()
        if not name.startswith(DEFINING) and (bare := bare_colors(source))
    }
    assert found == {}, "name the role: fig.PRIVATE, or fig.PRIVATE.called('kept draw')"


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("fig.Style('exact', fig.BLUE)", 2),
        ("color = '#0072B2'", 1),
        ("color = 'rgba(0,114,178,0.5)'", 1),
        ("fig.line(x, y, fig.PRIVATE)", 0),
        ("number = '#12'", 0),
    ],
)
def test_a_bare_color_would_be_seen(source: str, seen: int) -> None:
    assert len(bare_colors(source)) == seen


ROLES = (
    *(fig.PRIVATE, fig.NON_PRIVATE, fig.THEORY, fig.PRIOR, fig.TRUTH),
    *(fig.REJECTED, fig.BOTH, fig.GUIDE, fig.RIVAL),
)


def test_no_category_has_the_color_of_a_role_and_no_two_mechanisms_look_alike() -> None:
    roles, names = {role.color for role in ROLES}, mechanisms.names()
    styles = [fig.mechanism(name) for name in names]
    several = [*styles, fig.mechanism("one-nobody-knows"), *fig.styles([*"abcdefghijkl"])]
    assert {style.color for style in several} <= set(fig.CATEGORIES)
    for shown in (lambda color: color, fig.ON_DARK.__getitem__):
        assert not {*map(shown, roles)} & {*map(shown, fig.CATEGORIES)}
    assert len({role.color for role in ROLES[:5]}) == 5
    assert len({(style.color, style.dash, style.marker) for style in styles}) == len(names)
    assert [fig.code_name(fig.called(name)) for name in names] == names


# --------------------------------------------------------------------------- roles in all figures

NAMED = {
    looks.VERMILLION: r"private|noise|noisy threshold|posterior|kept|their mean|simulated|answer|"
    r"interval|draws|wrongly|released|points asked about",
    looks.BLUE: r"non-private|no noise|without noise|noise decides|threshold|close enough|"
    r"too few close draws|kept|their mean|the value itself|draws",
    looks.GREEN: r"theory|formula|bound|ceiling|any pure ε|allows|median \(band|all information|"
    r"\d+ %|belief|at least|possible|most|least|attained|exact median",
    looks.GREY: r"prior|σ not clearly learned|log σ|σ not|without any data|nothing",
    looks.BLACK: r"truth|true|observed|reference|the data|original|before|your|exact ratio|private|"
    r"draws|fresh threshold|in a run|50 % before",
    looks.OLIVE: r"counts with noise",
}
"""Color of a role -> what series with it are called in the figures that are kept."""

DATA = re.compile(r"(.+\.data\.\d+)\.(.*color.*|name)")


def misused(kept: Mapping[str, object]) -> set[tuple[str, str]]:
    """Return name and color of series whose color has another role than their name says."""
    found = [(match[1], match[2], kept[path]) for path in kept if (match := DATA.fullmatch(path))]
    names = {series: str(value) for series, what, value in found if what == "name"}
    used = [(names.get(series, ""), value) for series, what, value in found if what != "name"]
    return {
        (name, color)
        for name, value in used
        for color in map(hexadecimal, value if isinstance(value, list) else [value])
        if color in NAMED and name and not re.search(NAMED[color], name)
    }


def hexadecimal(color: object) -> str:
    found = re.match(r"rgba\((\d+),(\d+),(\d+)", str(color))
    return "#" + "".join(f"{int(part):02X}" for part in found.groups()) if found else str(color)


def test_each_color_is_used_for_its_role_only() -> None:
    kept = {file.stem: json.loads(file.read_text("utf-8")) for file in KEPT.glob("*.json")}
    assert len(kept) > 90
    wrong = {name: misused(figures) for name, figures in kept.items() if misused(figures)}
    assert wrong == {}, "take the color of the role, or add the name to NAMED"
    figure = {"f.data.0.name": "one patient", "f.data.0.line.color": looks.VERMILLION}
    assert misused(figure) == {("one patient", looks.VERMILLION)}


# ------------------------------------------------------------------------------------ contrast


def luminance(color: str) -> float:
    """Return the relative luminance of WCAG 2."""
    parts = np.array([int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Return how well one color is seen on another, by WCAG 2."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


COLORS = {*fig.ON_DARK, *fig.CATEGORIES, *(role.color for role in ROLES)} - {fig.GROUND}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_color_is_seen_and_every_word_is_read(theme: str) -> None:
    def shown(color: str) -> str:
        return fig.ON_DARK[color] if theme == "dark" else color

    ground = shown(fig.GROUND)
    pale = [color for color in COLORS if contrast(shown(color), ground) < 3.0]
    assert pale == [], "marks need a contrast of 3"
    words = {looks.WORDS.get(c, c) if theme == "light" else shown(c) for c in COLORS}
    words |= {fig.SCREENS[theme].ink}
    assert [color for color in words if contrast(color, ground) < 4.5] == [], "words need 4.5"
