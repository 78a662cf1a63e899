"""A colour that has a meaning is used for nothing else, and every colour can be seen.

Read from the source, so that no figure is forgotten and none has to be computed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core import mechanisms
from abcdp_core.figures import looks
from tests.figures.contrast import contrast

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "reference" / "kept" / "figures"
STUDIES = ROOT / "abcdp_core" / "studies"
DRAWING = sorted([*STUDIES.rglob("*.py"), *(ROOT / "ui").glob("*.py")])
BARE = {"BLUE", "VERMILLION", "GREEN", "GREY", "BLACK", "PURPLE", "OLIVE", "PALE"}
"""Names of colours that stand for nothing: whoever draws names what it draws."""


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def bare_colors(source: str) -> list[str]:
    """Colours and styles that a source takes by name or number, and not by what they mean."""
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


@pytest.mark.parametrize("file", DRAWING, ids=name_of)
def test_figures_take_colours_by_what_they_mean(file: Path) -> None:
    assert not bare_colors(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("fig.Style('exact', fig.BLUE)", 2),
        ("fig.Style('exact', fig.PRIVATE.color)", 1),
        ("color = '#0072B2'", 1),
        ("color = 'rgba(0,114,178,0.5)'", 1),
        ("fig.line(x, y, fig.PRIVATE)", 0),
        ("number = '#12'", 0),
    ],
)
def test_a_bare_colour_would_be_seen(source: str, seen: int) -> None:
    assert len(bare_colors(source)) == seen


ROLES = (
    *(fig.PRIVATE, fig.NON_PRIVATE, fig.THEORY, fig.PRIOR, fig.TRUTH),
    *(fig.REJECTED, fig.BOTH, fig.GUIDE, fig.RIVAL),
)


def test_no_category_has_the_colour_of_a_role() -> None:
    roles = {role.color for role in ROLES}
    assert not roles & set(fig.CATEGORIES)
    every = [fig.mechanism(name) for name in (*mechanisms.names(), "one-nobody-knows")]
    assert {style.color for style in every} <= set(fig.CATEGORIES)
    assert {style.color for style in fig.styles([str(i) for i in range(12)])} <= set(fig.CATEGORIES)
    dark = {fig.ON_DARK[color] for color in roles} & {fig.ON_DARK[c] for c in fig.CATEGORIES}
    assert not dark
    main = (fig.PRIVATE, fig.NON_PRIVATE, fig.THEORY, fig.PRIOR, fig.TRUTH)
    assert len({role.color for role in main}) == len(main)


def test_every_mechanism_has_a_look_of_its_own_and_its_name_can_be_taken_back() -> None:
    names = mechanisms.names()
    styles = [fig.mechanism(name) for name in names]
    assert len({(style.color, style.dash, style.marker) for style in styles}) == len(names)
    assert [fig.code_name(fig.called(name)) for name in names] == names
    assert fig.mechanism("non-private") == fig.NON_PRIVATE


# --------------------------------------------------------------------------- roles in all figures

NAMED = {
    looks.VERMILLION: r"private|noise|noisy threshold|posterior|kept|their mean|simulated|answer|"
    r"interval|draws|wrongly|released|points asked about",
    looks.BLUE: r"non-private|no noise|without noise|noise decides|threshold|close enough|"
    r"too few close draws|kept|their mean|the value itself|draws",
    looks.GREEN: r"theory|formula|bound|ceiling|any pure ε|allows|median \(band|all information|"
    r"\d+ %|belief|at least|possible|most|least|attained",
    looks.GREY: r"prior|σ not clearly learned|log σ|σ not|without any data|nothing",
    looks.BLACK: r"truth|true|observed|reference|the data|original|before|your|exact ratio|private|"
    r"draws|fresh threshold|in a run|50 % before",
    looks.OLIVE: r"counts with noise",
}
"""Color of a role -> what series with it are called in the figures that are kept."""

DATA = re.compile(r"(.+\.data\.\d+)\.(.*color.*|name)")


def colors_of(kept: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Name and color of each series of the kept figures of a command."""
    names = {found[1]: str(value) for path, value in kept.items() if (found := named(path, "name"))}
    for path, value in kept.items():
        if (found := DATA.fullmatch(path)) and found[2] != "name":
            for color in value if isinstance(value, list) else [value]:
                yield names.get(found[1], ""), hexadecimal(str(color))


def named(path: str, what: str) -> re.Match[str] | None:
    found = DATA.fullmatch(path)
    return found if found and found[2] == what else None


def hexadecimal(color: str) -> str:
    found = re.match(r"rgba\((\d+),(\d+),(\d+)", color)
    return "#" + "".join(f"{int(part):02X}" for part in found.groups()) if found else color


def misused(series: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Series whose color has another role than their name says."""
    return {
        (name, color)
        for name, color in series
        if color in NAMED and name and not re.search(NAMED[color], name)
    }


@pytest.mark.parametrize("file", sorted(KEPT.glob("*.json")), ids=lambda file: file.stem)
def test_each_color_is_used_for_its_role_only(file: Path) -> None:
    assert misused(colors_of(json.loads(file.read_text(encoding="utf-8")))) == set()


def test_a_color_in_another_role_would_be_seen() -> None:
    figure = {"f.data.0.name": "one patient", "f.data.0.line.color": looks.VERMILLION}
    assert misused(colors_of(figure)) == {("one patient", looks.VERMILLION)}


# ------------------------------------------------------------------------------------ contrast


GROUNDS = {"light": "#FFFFFF", "dark": fig.ON_DARK[fig.GROUND]}
COLORS = sorted({*fig.ON_DARK, *fig.CATEGORIES, *(role.color for role in ROLES)} - {fig.GROUND})


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("theme", GROUNDS)
def test_every_colour_that_is_drawn_is_seen(color: str, theme: str) -> None:
    shown = fig.ON_DARK[color] if theme == "dark" else color
    assert contrast(shown, GROUNDS[theme]) >= 3.0


@pytest.mark.parametrize("theme", GROUNDS)
def test_text_is_read(theme: str) -> None:
    medium = fig.SCREENS[theme]
    assert contrast(medium.ink, GROUNDS[theme]) >= 4.5


@pytest.mark.parametrize("theme", GROUNDS)
def test_names_of_series_are_read(theme: str) -> None:
    for style in (*ROLES, *fig.styles([*looks.CATEGORIES])):
        light = looks.WORDS.get(style.color, style.color)
        shown = fig.ON_DARK[style.color] if theme == "dark" else light
        assert contrast(shown, GROUNDS[theme]) >= 4.5, style.name


def test_words_get_their_own_colour_and_marks_keep_theirs() -> None:
    chart = fig.figure("Title", "x", "y")
    one = np.ones(1)
    chart.add_trace(fig.points(one, one, fig.PRIVATE))
    fig.note(chart, 1.0, 1.0, "private", fig.PRIVATE.color, "top left")
    fig.end_labels(chart, [(1.0, "private", fig.PRIVATE.color)], (0.0, 2.0))
    dressed = fig.dressed(chart, fig.SCREENS["light"])
    assert dressed.data[0].marker.color == fig.PRIVATE.color
    assert dressed.layout.annotations[0].font.color == looks.WORDS[fig.PRIVATE.color]
    assert looks.WORDS[fig.PRIVATE.color] in dressed.layout.yaxis2.ticktext[0]
