"""Figures of errors, with the sidebar's setting or a chosen mechanism marked on them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result
from ui.figures import blocks, charts
from ui.view import controls_spec, params
from ui.view.view import View
from ui.widgets import compare
from ui.widgets.compare import Pinned


def exact(view: View, grown: Result, this: Result, pinned: Pinned, pinned_run: Pinned) -> None:
    """Show the errors that are exact over the noise, with one run on them."""
    # Imported here: few pages show them.
    from abcdp_core.studies import expected_error, posterior

    def draw(view: View, each: Result) -> CaptionedFigure:
        run = pinned_run.result if view.is_pinned else None
        return charts.with_run(each, run or this)

    def below(apart: str, drawn: CaptionedFigure, each: Result) -> None:
        run = (pinned_run.result if apart else None) or this
        blocks.below("error", each, ("main", "releases"), drawn, apart)
        st.caption(
            "Error: how far the five estimated shares are from the true ones, the root of the mean "
            f"squared difference. {expected_error.marks_in_words(each, posterior.error(run))} "
            f"{expected_error.typical_in_words(each)}"
        )

    both = pinned if pinned_run.result is not None else pinned_run
    compare.show(view, f"{grown.experiment}-error", draw, grown, both, below)


def by_metric(view: View, each: Result) -> CaptionedFigure:
    """Return the figure of errors of the kind that is chosen."""
    return charts.drawn(each)[params.error_metric(view)]


def by_setting(view: View, each: Result) -> CaptionedFigure:
    """Return the figure of errors with the sidebar's setting marked and its number said."""
    # Imported here: the first page shows no errors.
    from abcdp_core.studies import mse_curves

    metric = params.error_metric(view)
    usual = charts.drawn(each)[metric]
    if view.preset(each.experiment) is not None:
        return usual
    here = {name: float(view[name]) for name in controls_spec.FOUR}

    def marked() -> CaptionedFigure:
        chart, said = mse_curves.mark(go.Figure(usual.figure), each, metric, **here)
        return CaptionedFigure(chart, said + usual.sentence)

    return charts.memoized(each, (metric, *here.values()), marked)


def of_mechanisms(
    view: View, found: Result, pinned: Pinned, tables: Sequence[str], clicked: charts.Clicked
) -> None:
    """Show the errors of mechanisms, with the one whose release is shown standing out."""

    def draw(view: View, each: Result) -> CaptionedFigure:
        # Imported here: the first page compares no mechanisms.
        from abcdp_core.studies import compare_mechanisms

        name, metric = str(view["mechanism-posterior.mechanism"]), params.error_metric(view)
        usual = charts.drawn(each)[metric]
        choose = functools.partial(compare_mechanisms.choose, usual, name)
        return charts.memoized(each, ("chosen", metric, name), choose)

    metric = params.error_metric(view)
    blocks.figure(view, metric, found, tables, pinned=pinned, draw=draw, clicked=clicked)
