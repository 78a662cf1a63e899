"""Simulate a model that was added to this server, so that its knobs have bounds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core.models.own_model import contract
from ui.jobs import progress, queue
from ui.jobs.job import Preparation


def prepare_scales(
    place: DeltaGenerator, leave: Callable[[], None], scenario: str, model: Any
) -> None:
    """Show how far these simulations are; end the page until they are done."""
    if contract.has_pilot(model):
        return
    words = (
        f"Simulating the model {contract.PILOT} times to choose its thresholds: {{:.0%}}. This is "
        "done once; the command `check` does it in advance."
    )

    asked = Preparation((scenario, model), functools.partial(contract.pilot, model))

    def cancel() -> None:
        if job := queue.current().find(asked):
            job.leave(progress.session_id())
        leave()

    with place.container():
        if not progress.is_prepared(asked, words):
            st.button("Continue without this model", key=f"leave-{scenario}", on_click=cancel)
            st.stop()
    place.empty()
