"""Figures that were drawn once are kept, so that running a page again costs next to nothing.

What is kept belongs to an object, a result or a figure, and is found by its identity and a name: a
result's figures, a figure as it looks in a theme. Objects are kept beside what was made of them, so
that an identity stays its own; what was not used for longest is let go.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.results import Result
from ui import memory

T = TypeVar("T")


class Kept(Generic[T]):
    """What was made of objects; threads share it.

    Args:
        most: things at most.
        most_bytes: that they take at most, with the objects beside them; one thing stays anyway.
    """

    def __init__(self, most: int, most_bytes: int = 256 * 2**20) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._things: OrderedDict[tuple[int, Hashable], tuple[object, T, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def of(self, owner: object, name: Hashable, make: Callable[[], T]) -> T:
        """What was made of an object under a name; made now if it is not there.

        Args:
            owner: never changed once something was made of it.
            name: tells the things of one owner apart.
            make: makes the thing.
        """
        key = id(owner), name
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key][1]
        thing = make()
        size = memory.of(owner) + memory.of(thing)
        with self._lock:
            self._bytes += size - self._things.get(key, (owner, thing, 0))[2]
            self._things[key] = owner, thing, size
            self._things.move_to_end(key)
            while len(self._things) > 1 and self._is_too_much():
                self._bytes -= self._things.popitem(last=False)[1][2]
        return thing

    def _is_too_much(self) -> bool:
        return len(self._things) > self._most or self._bytes > self._most_bytes

    def __len__(self) -> int:
        return len(self._things)


# A class of eighty that moves one knob over its forty values asks for no figure twice.
_figures: Kept[dict[str, Drawn]] = Kept(256)
_variants: Kept[Drawn] = Kept(256)
_pairs: Kept[tuple[Drawn, Drawn, Drawn]] = Kept(64)
_dressed: Kept[Dressed] = Kept(512)


def drawn(found: Result) -> dict[str, Drawn]:
    """The figures of a result with their sentences, the main one first."""
    study = experiments.load(found.experiment)
    return _figures.of(found, "", lambda: study.figures(found))


def variant(owner: object, name: Hashable, make: Callable[[], Drawn]) -> Drawn:
    """A further figure, as one of a result with the sidebar's setting marked.

    Args:
        owner: the result, or what else it is drawn from.
        name: all that the figure depends on beside it.
        make: draws it.
    """
    return _variants.of(owner, name, make)


def with_run(grown: Result, this: Result, earlier: tuple[float, ...] = ()) -> Drawn:
    """The errors that are exact over the noise, with one run on their curve.

    Args:
        grown: of the study of expected errors.
        this: the run, of the study of the posterior.
        earlier: errors of runs with other noise.
    """
    # Inside the function: few pages show them.
    from abcdp_core.experiments import expected_error, posterior

    usual, epsilon_total = drawn(grown)["error"], float(vars(this.params)["epsilon_total"])
    error = posterior.error(this)
    return variant(
        grown,
        ("this run", epsilon_total, error, earlier),
        lambda: expected_error.mark(usual, epsilon_total, error, earlier),
    )


def beside(first: Drawn, second: Drawn) -> tuple[Drawn, Drawn]:
    """Two figures to be seen beside each other: on the same axes, without their titles."""
    _, *found = _pairs.of(
        second.figure, ("beside", id(first.figure)), lambda: _joined(first, second)
    )
    return found[0], found[1]


def _joined(first: Drawn, second: Drawn) -> tuple[Drawn, Drawn, Drawn]:
    """What :func:`beside` gives, after the first figure: as long as it is there, it is no other."""
    joined = fig.joined(first.figure, second.figure)
    for figure in joined:
        figure.layout.title = None
    return first, Drawn(joined[0], first.sentence), Drawn(joined[1], second.sentence)


def dressed(figure: go.Figure, medium: fig.Medium, in_card: int = 0) -> Dressed:
    """A figure ready for the screen that it is seen on.

    Args:
        figure: never changed.
        medium: of the page.
        in_card: pixels of its height in a card; 0 elsewhere, where its builder says them.
    """
    return _dressed.of(figure, (medium.name, in_card), lambda: dress(figure, medium, in_card))


def dress(figure: go.Figure, medium: fig.Medium, in_card: int = 0) -> Dressed:
    """What :func:`dressed` gives, made now and not kept."""
    if in_card:
        return Dressed(fig.in_card(figure, medium, in_card))
    return Dressed(fig.below_title(figure, medium))


class Dressed(BaseFigure):  # type: ignore[misc]
    """A finished figure, given to Streamlit as the dictionary that it asks every figure for.

    Plotly makes that dictionary anew each time, which takes longer than the rest of a page.

    Args:
        plain: data and layout.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain

    def to_dict(self) -> dict[str, Any]:
        """Itself, to be read only."""
        return self._plain
