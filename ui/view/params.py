"""The parameters of the studies that a page asks for, as the knobs have them."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from abcdp_core import figures, studies
from abcdp_core.base.parameters import ParameterError, Scalar
from ui.jobs.job import Request
from ui.verbatim import verbatim
from ui.view import controls_spec
from ui.view.controls_spec import SHARED
from ui.view.view import View


def ask(view: View, experiment: str, **fixed: Any) -> Request:
    """Return what the knobs ask of an experiment.

    A combination that is not allowed is said on the page, which ends there.

    Raises:
        NotGrantedError: the page may not show the experiment, or not use one of its knobs.
        ParameterError: the knobs of a pinned figure do not go together.
    """
    view.check(experiment)
    params, chosen = studies.load(experiment).Params, view.preset(experiment)
    names = {field.name for field in dataclasses.fields(params)} - fixed.keys()
    if chosen is not None:
        names &= {"noise_draw"}
    values = {name: _value_for(view, experiment, name) for name in names}
    try:
        asked = dataclasses.replace(chosen or params(), **(values | fixed))
    except ParameterError as error:
        if view.is_pinned:
            raise
        st.warning(f"These settings do not go together: {verbatim(error)}", icon="⚠️")
        st.stop()
    return Request(experiment, asked, int(view["seed"]))


def _value_for(view: View, experiment: str, name: str) -> Scalar | tuple[Scalar, ...]:
    """Return a parameter's value: the page's own knob, else the shared one, else the default."""
    key = f"{experiment}.{name}"
    if key in view.page.own:
        return view[key]
    if name == "scenario":
        return view.scenario
    if name in SHARED:
        return view[name]
    params = studies.load(experiment).Params
    known = "scenario" in params.specification()
    starts = params.defaults(view.scenario) if known else {}
    return starts.get(name, getattr(params(), name))


def with_sidebar(view: View, experiment: str, name: str) -> tuple[Any, ...]:
    """Return an experiment's own values of a list, and the sidebar's, in order."""
    own = getattr(studies.load(experiment).Params(), name)
    return tuple(sorted({*own, view[name]}))


def ask_lists(view: View, experiment: str) -> Request:
    """Return what :func:`ask` does, with lists of budgets and thresholds."""
    if view.preset(experiment) is not None:
        return ask(view, experiment)
    params = studies.load(experiment).Params
    lists = [name for name in ("epsilon_total", "epsilon_abc") if params.takes_many(name)]
    return ask(view, experiment, **{name: with_sidebar(view, experiment, name) for name in lists})


def ask_budget_first(view: View, experiment: str) -> Request:
    """Return what :func:`ask` does, with the sidebar's budget before the study's own."""
    if view.preset(experiment) is not None:
        return ask(view, experiment)
    budgets = with_sidebar(view, experiment, "epsilon_total")
    return ask(view, experiment, epsilon_total=(float(view["epsilon_total"]), *budgets))


def ask_as_published(view: View, experiment: str, scenario: str) -> Request:
    """Return what :func:`ask` does, for the data of a scenario that no knob sets."""
    params: Any = studies.load(experiment).Params
    return ask(view, experiment, scenario=scenario, **params.defaults(scenario))


LINES: dict[str, tuple[float, ...]] = {"c": (10, 100, 1000), "epsilon_abc": (0.05, 0.1, 0.2, 0.5)}
"""Values of the lines of the error figure, besides the sidebar's; those of the paper's Figure 3."""


def ask_error_lines(view: View) -> Request:
    """Return the study of errors with the lines' values and budgets, each with the sidebar's."""
    chosen = "c" if view["mse-curves.lines"] == "c" else "epsilon_abc"
    pool_size = int(view["pool_size"])
    fitting = [value for value in LINES[chosen] if chosen != "c" or value <= pool_size]
    lines = {chosen: tuple(sorted({*fitting, view[chosen]}))}
    budgets = with_sidebar(view, "mse-curves", "epsilon_total")
    return ask(view, "mse-curves", epsilon_total=budgets, **lines)


def ask_releases(view: View) -> Request:
    """Return the study of many releases, with one more for each new noise."""
    params = studies.load("many-releases").Params
    own, last = int(vars(params())["releases"]), int(view["noise_draw"])
    count = min(own + last, int(params.specification()["releases"].high))
    return ask(view, "many-releases", releases=count, noise_draw=own + last - count)


def ask_flips(view: View) -> Request:
    """Return the study of flips, with the published script's Δ where the switch asks for it."""
    script = {"sensitivity": "script"} if view["flip-probability.script"] else {}
    return ask(view, "flip-probability", **script)


def error_metric(view: View) -> str:
    """Return the column of the study of errors that the page shows."""
    return "mae" if view["mse-curves.metric"] == "absolute" else "mse"


def choose_mechanism(view: View, called: str, epsilon_total: float | None = None) -> None:
    """Show the release of a mechanism whose mark was clicked."""
    mechanism = figures.code_name(called)
    if mechanism in controls_spec.find("mechanism-posterior.mechanism").parameter.options:
        asked: dict[str, Any] = {"mechanism-posterior.mechanism": mechanism}
        if epsilon_total is not None:
            asked["epsilon_total"] = epsilon_total
        st.session_state.update({key: asked[key] for key in asked.keys() - view.fixed})
