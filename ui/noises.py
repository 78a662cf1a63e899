"""The draws of noise that a session has seen, as long as everything public stays as it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from abcdp_core.experiments import posterior
from abcdp_core.releases import ReleaseParams
from abcdp_core.results import Result

SEEN = "_noises_seen"

MOST = 100
"""Draws of noise that are remembered."""


@dataclass(frozen=True)
class Run:
    """What one draw of the noise did: draws kept, those kept only because of it, and the error."""

    kept: int
    false: int
    error: float


def gather(found: Result) -> tuple[Run, ...]:
    """All runs of this session that differ from one in nothing but the noise.

    Args:
        found: the run that is shown, of the study of the posterior.

    Returns:
        Each draw of the noise once, at most :data:`MOST`, that of ``found`` last.
    """
    params = cast(ReleaseParams, found.params)
    public = dataclasses.replace(params, noise_draw=0), found.seed
    before: tuple[Any, dict[int, Run]] = st.session_state.get(SEEN, (public, {}))
    runs = dict(before[1]) if before[0] == public else {}
    runs.pop(params.noise_draw, None)
    runs[params.noise_draw] = Run(*posterior.counts(found), posterior.error(found))
    runs = dict(list(runs.items())[-MOST:])
    st.session_state[SEEN] = public, runs
    return tuple(runs.values())


LISTED = 8
"""Draws of noise that are told one by one."""


def in_words(runs: Sequence[Run]) -> str:
    """How many draws were kept only because of noise, noise by noise; of a single one nothing."""
    if len(runs) < 2:
        return ""
    over = f"Over {'the last ' if len(runs) == MOST else ''}{len(runs)} draws of noise"
    kept, false = (sum(getattr(run, name) for run in runs) for name in ("kept", "false"))
    if kept == 0:
        return f"{over} nothing was kept."
    shown = runs[-LISTED:]
    lately = f"the last {LISTED}: " if len(runs) > LISTED else ""
    sizes = {run.kept for run in runs}
    if len(sizes) == 1:
        each = f"{', '.join(f'{run.false:,}' for run in shown)} of {max(sizes):,}"
        total = f"mean {'of all ' if lately else ''}{false / len(runs):,.1f}"
    else:
        each = ", ".join(f"{run.false:,} of {run.kept:,}" if run.kept else "none" for run in shown)
        total = f"in all {false:,} of {kept:,}"
    return f"{over}, kept only because of noise: {lately}{each}; {total}."
