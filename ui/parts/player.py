"""A player: people answer one after the other, each way of asking beside the others.

The browser draws (``assets/player.js``) what :mod:`abcdp_core.output.player` makes of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import streamlit as st

from abcdp_core.experiments import adaptive_truncation as study
from abcdp_core.output.player import Runs, frames
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from ui.figures import blocks
from ui.view.components import component
from ui.view.view import View


def ways(params: Params) -> dict[str, Params]:
    """Return the settings of each way of asking that is played."""
    return dict(study.ways(cast(study.Params, params)))


def no_symbols(params: Params) -> str:
    """Return why nobody answers by symbols; empty if people do."""
    return study.no_symbols(cast(study.Params, params))


def others(params: Params) -> dict[str, Any]:
    """Return what the study of many runs takes from the settings of the one that is played."""
    return study.others(cast(study.Params, params))


def typical(found: Result) -> str:
    """Return what is typical of many runs, as far as they are done."""
    return study.typical_of(found)


def headline(found: Mapping[str, Result]) -> None:
    """Show the number that says most, and the sentence that it begins."""
    number, words, rest = study.headline(found)
    typical = study.typical_in_words(cast(study.Params, next(iter(found.values())).params))
    blocks.headline(number, [words, typical], rest)


def show(view: View, runs: Runs, running: bool, summary: str) -> None:
    """Show the player, which keeps its place while the runs grow.

    Args:
        runs: name -> what there is of it so far; names are those of :data:`study.WAYS`.
        running: whether more is to come.
        summary: what is seen, for those who cannot see it.
    """
    if message := frames(runs):
        more = {"projector": view.projector, "running": running, "summary": summary}
        player = component("player", "player.js", "player.html", "player.css")
        player(key="people", data=message | more)
    else:
        st.skeleton(height=600)
