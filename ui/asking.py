"""What the knobs stand for: the parameters of the studies that a page asks for."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, TypeAlias

import streamlit as st

from abcdp_core import experiments, figures
from abcdp_core.parameters import ParameterError, Params, Scalar
from ui import knobs, locks, state
from ui.knobs import SHARED
from ui.state import current, preset
from ui.verbatim import verbatim

Asked: TypeAlias = tuple[Params, int]
"""What a study is asked for: parameters and seed."""


def script_sensitivity() -> dict[str, Any]:
    """The published script's Δ where the page's switch asks for it."""
    return {"sensitivity": "script"} if current("flip-probability.script") else {}


LINES: dict[str, tuple[float, ...]] = {
    "c": (10, 100, 1000),
    "epsilon_abc": (0.05, 0.1, 0.2, 0.5),
}
"""Values of the lines of the error figure, besides the sidebar's; those of the paper's Figure 3."""


def error_lines() -> dict[str, Any]:
    """Lists for the study of errors: the lines' values and budgets, each with the sidebar's."""
    chosen = "c" if current("mse-curves.lines") == "c" else "epsilon_abc"
    pool_size = int(current("pool_size"))
    fitting = [value for value in LINES[chosen] if chosen != "c" or value <= pool_size]
    return {
        chosen: tuple(sorted({*fitting, current(chosen)})),
        "epsilon_total": budgets("mse-curves"),
    }


def budgets(experiment: str) -> tuple[float, ...]:
    """A study's own privacy budgets and the sidebar's."""
    own = experiments.load(experiment).Params().epsilon_total  # type: ignore[attr-defined]
    return tuple(sorted({*own, float(current("epsilon_total"))}))


def thresholds(experiment: str) -> tuple[float, ...]:
    """A study's own thresholds and the sidebar's."""
    own = experiments.load(experiment).Params().epsilon_abc  # type: ignore[attr-defined]
    return tuple(sorted({*own, float(current("epsilon_abc"))}))


def ask_lists(experiment: str) -> Asked:
    """What :func:`ask` gives, with the study's own budgets and thresholds and the sidebar's."""
    if preset(experiment) is not None:
        return ask(experiment)
    params = experiments.load(experiment).Params
    usual = params()
    fixed: dict[str, Any] = {
        name: tuple(sorted({*getattr(usual, name), float(current(name))}))
        for name in ("epsilon_total", "epsilon_abc")
        if params.takes_many(name)
    }
    return ask(experiment, **fixed)


def ask_budget_first(experiment: str) -> Asked:
    """What :func:`ask` gives, with the sidebar's budget before the study's own."""
    here = float(current("epsilon_total"))
    return ask(experiment, epsilon_total=(here, *budgets(experiment)))


def ask_as_published(experiment: str, scenario: str) -> Asked:
    """What :func:`ask` gives for the data of a scenario that no knob of the page sets."""
    params: Any = experiments.load(experiment).Params
    return ask(experiment, scenario=scenario, **params.defaults(scenario))


def sizes() -> tuple[int, ...]:
    """Sizes of the data at which the error's bound is shown: the study's own and the sidebar's."""
    own = experiments.load("error-bound").Params().n  # type: ignore[attr-defined]
    return tuple(sorted({*own, int(current("n"))}))


def releases() -> dict[str, int]:
    """Numbers of the releases shown: the study's own, and one more for each new noise."""
    params = experiments.load("many-releases").Params
    own, last = int(vars(params())["releases"]), int(current("noise_draw"))
    count = min(own + last, int(params.specification()["releases"].high))
    return {"releases": count, "noise_draw": own + last - count}


def error_metric() -> str:
    """The column of the study of errors that its page shows."""
    return "mae" if current("mse-curves.metric") == "absolute" else "mse"


def ask(experiment: str, **fixed: Any) -> Asked:
    """The parameters that the knobs stand for, and the seed.

    A combination that is not allowed is said on the page, which ends there; the knobs stay.

    Args:
        experiment: whose parameters.
        fixed: parameters that the page decides.

    Raises:
        NotGrantedError: the page may not show the experiment, or not use one of its knobs.
        ParameterError: the knobs are only taken to stand where they do not go together.
    """
    state.check_experiment(experiment)
    params, chosen = experiments.load(experiment).Params, preset(experiment)
    names = {field.name for field in dataclasses.fields(params)} - fixed.keys()
    if chosen is not None:
        names &= {"noise_draw"}
    values = {name: _value_for(experiment, name) for name in names}
    try:
        asked = dataclasses.replace(chosen or params(), **(values | fixed))
    except ParameterError as error:
        if state.is_elsewhere():
            raise
        st.warning(f"These settings do not go together: {verbatim(error)}", icon="⚠️")
        st.stop()
    return asked, int(current("seed"))


def _value_for(experiment: str, name: str) -> Scalar | tuple[Scalar, ...]:
    """A parameter's value: the page's own knob, else the shared one, else the default."""
    key = f"{experiment}.{name}"
    if state.is_own(key):
        return current(key)
    if name == "scenario":
        return state.scenario_in_force()
    if name in SHARED:
        return current(name)
    params = experiments.load(experiment).Params
    known = "scenario" in params.specification()
    starts = params.defaults(state.scenario_in_force()) if known else {}
    value: Scalar | tuple[Scalar, ...] = starts.get(name, getattr(params(), name))
    return value


CHOSEN = "_chosen_by_click"


def choose_mechanism(called: str, _: float) -> None:
    """The mechanism of a clicked mark becomes the one whose release is shown."""
    choose_release(called, float(current("epsilon_total")))


def choose_release(called: str, epsilon_total: float) -> None:
    """A clicked point of the comparison becomes the release that is shown."""
    mechanism = figures.code_name(called)
    if mechanism in knobs.find("mechanism-posterior.mechanism").parameter.options:
        asked = {"mechanism-posterior.mechanism": mechanism, "epsilon_total": epsilon_total}
        for key in itertools.filterfalse(locks.is_fixed, asked):
            st.session_state[key] = asked[key]
        st.session_state[CHOSEN] = True


def follow_click() -> None:
    """Run the whole page again if a click in one of its parts changed a knob."""
    if st.session_state.pop(CHOSEN, False):
        st.rerun()
