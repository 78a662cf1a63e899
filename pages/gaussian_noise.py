"""Show the older versions of ABCDP, and the figures of their paper."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, errors, labels
from ui.jobs.job import Request
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

SOFT, REJECTION, SAN_FRANCISCO = "soft-abc", "gaussian-rejection", "tuberculosis-soft"
LOSS, METRIC = "gaussian-loss", "mse-curves.metric"


INTRODUCTION = (
    "Before the sparse vector technique, ABCDP added Gaussian noise to the distance of every draw "
    "in the pool, either to weight all draws softly or to decide about each. Both pay for the "
    "whole pool, so more draws mean more noise."
)


def main(view: View) -> None:
    shown = {
        "soft weights": soft,
        "rejection": rejection,
        "what it costs": loss,
        "San Francisco": san_francisco,
    }
    shown[blocks.shown(view)](view)


def soft(view: View) -> None:
    growing(view, SOFT, partial(draw_soft, view), METRIC)


def draw_soft(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, params.error_metric(view), found, pinned=pinned, draw=errors.by_metric)
    st.markdown(
        f"{INTRODUCTION} *Accountant*: how the privacy losses of all draws are added up. At "
        "ε_total = 1, δ = 0.0001 the paper's classic conversion adds 38 % more noise than needed, "
        "and today's tight conversion 10 % more. The exact account adds no more than needed."
    )
    for name in blocks.names(found, without=("mse", "mae")):
        blocks.figure(view, name, found)
    labels.show(found)


def rejection(view: View) -> None:
    growing(view, REJECTION, partial(draw_rejection, view), METRIC)


def draw_rejection(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, params.error_metric(view), found, pinned=pinned, draw=errors.by_metric)
    st.markdown(
        f"{INTRODUCTION} Every draw in the pool gets a decision, and every decision costs "
        "privacy: compare the noise below with the thresholds. An open mark means that some runs "
        "kept nothing, so their estimate is the prior mean."
    )
    blocks.figure(view, "noise", found, ("noise",))
    labels.show(found)


def ask_loss(view: View) -> Request:
    return params.ask(view, LOSS, epsilon_abc=params.with_sidebar(view, LOSS, "epsilon_abc"))


def loss(view: View) -> None:
    found, pinned = compare.result(view, ask_loss)
    blocks.figure(view, "loss", found, pinned=pinned)
    st.markdown(
        "**Is a larger ε_abc more private?** With the same σ, yes for soft weights, where σ is "
        "measured in thresholds. For decisions, only up to half the clipping bound. Beyond that, "
        "rejecting a draw at distance 0 reveals most, and a larger ε_abc makes that rarer."
    )
    blocks.figure(view, "noise", found, ("noise",))
    labels.show(found, stamp="")
    blocks.theory(LOSS)
    downloads.block(view, LOSS, found)


def san_francisco(view: View) -> None:
    growing(view, SAN_FRANCISCO, partial(draw_san_francisco, view))


def draw_san_francisco(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, "error", found, ("errors", "non_private"), pinned=pinned)
    st.markdown(
        "**This protects the only outbreak there is.** Only its distance to each draw is used, "
        "clipped at 200, and a different outbreak can change that by the full 200. So at any usual "
        "budget the weights are almost pure noise."
    )
    blocks.figure(view, "posterior", found, ("shares",))
    labels.show(found)


def growing(view: View, experiment: str, draw: compare.DrawTwo, *knobs: str) -> None:
    own_knobs(view, experiment, *knobs)
    job = compare.growing(view, lambda view: params.ask_lists(view, experiment), draw)
    blocks.verdicts(view, experiment, job.result)
    blocks.theory(experiment)
    downloads.block(view, experiment, job)


def own_knobs(view: View, experiment: str, *shared: str) -> None:
    if not view.has_preset:
        controls.page_controls(view, *shared, f"{experiment}.accountant", f"{experiment}.runs")
    elif shared:
        controls.page_controls(view, *shared)


router.run(main)
