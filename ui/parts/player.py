"""A player: people answer one after the other, each way of asking beside the others.

The browser (``assets/player.js``) draws what :mod:`abcdp_core.publish.output.player` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import streamlit as st

from abcdp_core.publish.output.player import Runs, frames
from abcdp_core.run.results import Result
from abcdp_core.studies import adaptive_truncation as study
from ui.figures import blocks
from ui.view.view import View
from ui.widgets import component

STUDY: Any = study
"""The study that is played, for what the page asks of it."""


def headline(found: Mapping[str, Result]) -> None:
    """Show the number that says most, and the sentence that it begins."""
    number, words, rest = study.headline(found)
    typical = study.typical_in_words(cast(study.Params, next(iter(found.values())).params))
    blocks.headline(number, [words, typical], rest)


def show(view: View, runs: Runs, running: bool, summary: str) -> None:
    """Show the player, which keeps its place while the runs grow."""
    if message := frames(runs):
        more = {"projector": view.projector, "running": running, "summary": summary}
        player = component("player", "player.js", "player.html", "player.css")
        player(key="people", data=message | more)
    else:
        st.skeleton(height=600)
