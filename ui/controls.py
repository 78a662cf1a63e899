"""Widgets made from parameters: the sidebar that all pages share, and what a page asks itself.

Streamlit holds the values: a widget's key is its name in the link, and ``bind="query-params"``
keeps the two the same and carries the values from page to page. This module only reads them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from abcdp_core import experiments
from abcdp_core.parameters import ParameterError, Params, Scalar, text_of
from ui import knobs, link
from ui.knobs import FOUR, MORE, NO_PRESET, SHARED

LINK_READ = "_link_read"
NOTICES = "_notices"
PAGE = "_page"
SCENARIO = "_scenario"
KEPT = "_kept_by_scenario"


@dataclasses.dataclass(frozen=True)
class PageSetting:
    """What the page on screen takes.

    Attributes:
        experiment: its main experiment; empty if it runs none.
        experiments: all it shows; their parameters tell which shared knobs it uses.
        own: keys of the knobs it asks for itself.
        uses: shared knobs that it takes beside those of its experiments.
        reasons: shared knob -> why it is not used here, where there is more to say than that.
        view: key of the knob that chooses what is shown, if there is one.
        views: its value -> the experiment shown then.
        chooser: key of the knob that tells the scenario, if there is one.
        scenarios: its value -> the scenario; the value itself where that is not said.
    """

    experiment: str
    experiments: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    view: str = ""
    views: Mapping[str, str] = dataclasses.field(default_factory=dict)
    chooser: str = ""
    scenarios: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def every(self) -> tuple[str, ...]:
        """All its experiments, the main one first."""
        return tuple(name for name in (self.experiment, *self.experiments) if name)

    def scenario(self, chosen: Scalar) -> str:
        """The scenario that a value of the chooser stands for."""
        return self.scenarios.get(str(chosen), str(chosen))

    def unused(self) -> dict[str, str]:
        """Shared knob -> why it is disabled."""
        shown = self.views.get(str(current(self.view))) if self.view else None
        used = knobs.used_by((shown,) if shown else self.every) | {*self.uses}
        return {
            name: self.reasons.get(name, "Not used on this page.")
            for name in SHARED
            if name not in used or name in self.reasons
        }


def begin(page: PageSetting, known: Iterable[str]) -> None:
    """Remember the page and, at the first run of a session, read the link.

    Args:
        page: the one on screen.
        known: keys of the knobs of all pages.
    """
    st.session_state[PAGE] = page
    if LINK_READ in st.session_state:
        _follow_preset(page)
        _follow_scenario()
        return
    st.session_state[LINK_READ] = True
    _follow_preset(page)
    scenario = st.session_state[SCENARIO] = scenario_in_force()
    asked = st.query_params.to_dict()
    unused = page.unused()
    found = {key: knobs.find(key, page.every, scenario) for key in known}
    # What is not used here may be meant for another page, so for the scenario of the others.
    elsewhere = {key: knobs.find(key, page.every) for key in found.keys() & unused}
    found |= {
        key: knob for key, knob in elsewhere.items() if not _allows(found[key], asked.get(key))
    }
    reading = link.read(asked, found)
    st.session_state[NOTICES] = reading.notices
    for key in reading.query.keys() - {*SHARED, *page.own, "preset"}:
        # For another page: Streamlit would lose it on the way there.
        st.session_state[key] = found[key].parameter.parse(key, reading.query[key])
    if reading.query != asked:
        st.query_params.from_dict(reading.query)
        st.rerun()


def _allows(knob: knobs.Knob, text: str | None) -> bool:
    with contextlib.suppress(ParameterError):
        return text is None or knob.parameter.parse("knob", text) is not None
    return False


def scenario_in_force() -> str:
    """The scenario that the page shows."""
    page = _page()
    return page.scenario(current(page.chooser)) if page.chooser else knobs.FIRST_SCENARIO


def _follow_preset(page: PageSetting) -> None:
    """A preset brings its view with it."""
    owners = [view for view, name in page.views.items() if preset(name) is not None]
    if owners and owners[0] != current(page.view):
        st.session_state[page.view] = owners[0]


def _follow_scenario() -> None:
    """Each scenario keeps the knobs' values that were set for it."""
    before, now = st.session_state[SCENARIO], scenario_in_force()
    if before == now:
        return
    kept: dict[str, dict[str, Scalar]] = st.session_state.setdefault(KEPT, {})
    kept[before] = {key: _held(key, before) for key in knobs.BY_SCENARIO}
    st.session_state[SCENARIO] = now
    for key in knobs.BY_SCENARIO:
        start = knobs.find(key, scenario=now).default
        st.session_state[key] = kept.get(now, {}).get(key, start)
    for key in knobs.LIMITED_BY_SCENARIO:
        # A widget cannot stand at what it does not offer.
        if key in st.session_state:
            st.session_state[key] = _held(key, now)


def notices() -> None:
    """What the link asked for and could not have, until dismissed."""
    texts = st.session_state.get(NOTICES, ())
    if not texts:
        return
    lines = "\n".join(f"- {text}" for text in texts)
    with st.container(key="notices"):
        st.warning(f"Not everything in the link could be used:\n\n{lines}")
        st.button("Dismiss", on_click=st.session_state.pop, args=(NOTICES, None))


def current(key: str) -> Scalar:
    """The value in force: the widget's, else the link's, else the default."""
    return _held(key, knobs.FIRST_SCENARIO if key == _page().chooser else scenario_in_force())


def _held(key: str, scenario: str) -> Scalar:
    """What a knob stands at, if that is allowed in a scenario; else its default there."""
    knob = knobs.find(key, _page().every, scenario)
    value = st.session_state.get(key)
    with contextlib.suppress(ParameterError):
        if value is not None:
            return knob.parameter.check(key, value)
        if key in st.query_params:
            return knob.parameter.parse(key, st.query_params[key])
    return knob.default


def _page() -> PageSetting:
    return st.session_state[PAGE]


# --------------------------------------------------------------------------------------- sidebar


def sidebar(version: str) -> None:
    """The shared knobs in their fixed order, and the full link."""
    page = _page()
    disabled = page.unused() | _set_by_preset(page)
    with st.sidebar:
        for name in FOUR:
            widget(name, disabled.get(name, ""), caption=knobs.DIRECTIONS[name])
        _new_noise(disabled.get("noise_draw", ""))
        with st.expander("More"):
            for name in MORE:
                widget(name, disabled.get(name, ""))
        _full_link(page)
        st.caption(f"ABCDP Explorer {version}. Nothing leaves this machine.")


def _set_by_preset(page: PageSetting) -> dict[str, str]:
    """Shared knob -> the values that the preset gives it instead."""
    chosen = [params for name in page.every if (params := preset(name)) is not None]
    if not chosen:
        return {}
    values = chosen[0].to_text()
    values.pop("noise_draw", None)
    return {
        name: f"The preset sets {values[name].replace(',', ', ')}."
        for name in SHARED
        if name in values
    }


def _new_noise(reason: str) -> None:
    """The button that draws the next noise with everything public unchanged."""
    st.button(
        "New noise",
        key="new-noise",
        on_click=_next_noise,
        disabled=bool(reason),
        width="stretch",
        help="Draws the privacy noise anew. Data, pool and knobs stay as they are.",
    )
    st.caption(reason or f"Noise draw number {current('noise_draw')}")


def _next_noise() -> None:
    high = int(knobs.find("noise_draw").parameter.high)
    st.session_state["noise_draw"] = (int(current("noise_draw")) + 1) % (high + 1)


def _full_link(page: PageSetting) -> None:
    """The address with all values; Streamlit's own leaves out those that are the default."""
    label = "Copy full link"
    with st.popover(label, width="stretch", key="full-link", on_change="rerun") as popover:
        if not popover.open:
            return
        keys = [*SHARED, *page.own, *(["preset"] if _has_presets(page) else [])]
        values = {key: current(key) for key in keys}
        st.write("Every value, the seed and the page. The icon at the right copies it.")
        st.code(link.address(st.context.url or "", values), language=None, wrap_lines=True)


# --------------------------------------------------------------------------------------- widgets


def widget(
    key: str,
    reason: str = "",
    caption: str = "",
    on_change: Callable[[], None] | None = None,
) -> None:
    """One knob as the widget that fits its kind.

    Args:
        key: its name in the link.
        reason: why it cannot be moved here; it can if this is empty.
        caption: a few words under it.
        on_change: called when a person has changed it.
    """
    knob = knobs.find(key, _page().every, scenario_in_force())
    shared: dict[str, Any] = {
        "label": knob.parameter.label,
        "key": key,
        "help": knob.parameter.help or None,
        "disabled": bool(reason),
        "bind": "query-params",
        "on_change": on_change,
    }
    if knob.parameter.kind == "switch":
        st.toggle(value=bool(knob.default), **shared)
    elif knob.parameter.kind == "choice":
        _choice(knob, shared)
    elif len(knob.parameter.options) == 1:
        # A slider needs two places.
        st.text_input(
            knob.parameter.label, text_of(knob.default), disabled=True, help=shared["help"]
        )
        reason = reason or "The only value of this scenario."
    elif knob.parameter.options or knob.parameter.steps:
        offered = knobs.choices(knob.parameter, knob.default, current(key))
        st.select_slider(options=offered, value=knob.default, format_func=text_of, **shared)
    else:
        low, high = int(knob.parameter.low), int(knob.parameter.high)
        st.number_input(min_value=low, max_value=high, value=int(knob.default), step=1, **shared)
    if reason or caption:
        st.caption(reason or caption)


def _choice(knob: knobs.Knob, shared: dict[str, Any]) -> None:
    options = list(knob.parameter.options)
    if shared["key"] == "preset" or len(options) > MOST_SIDE_BY_SIDE:
        st.selectbox(options=options, index=options.index(knob.default), **shared)
    else:
        st.segmented_control(options=options, default=knob.default, required=True, **shared)


MOST_SIDE_BY_SIDE = 4
"""Choices that fit beside each other on a telephone, in two lines."""


def own(*keys: str) -> None:
    """The page's own knobs, side by side where there is room."""
    with st.container(horizontal=True, gap="large", vertical_alignment="top"):
        for key in keys:
            slider = knobs.find(key, _page().every).parameter.kind in ("real", "integer")
            with st.container(width=SLIDER_WIDTH if slider else "content", gap=None):
                widget(key)


def more(*keys: str) -> None:
    """The page's own knobs that few need, folded."""
    with st.expander("More settings"):
        own(*keys)


def view() -> str:
    """The chooser of what the page shows; to choose lets go of a preset."""
    key = _page().view
    with st.container(width="content"):
        widget(key, on_change=_own_settings)
    return str(current(key))


def _own_settings() -> None:
    st.session_state["preset"] = knobs.NO_PRESET


SLIDER_WIDTH = 270
"""Pixels: fits a telephone."""


# ---------------------------------------------------------------------------------------- asking


def preset(experiment: str) -> Params | None:
    """The preset in force, ``None`` for the person's own settings."""
    name = st.session_state.get("preset") or st.query_params.get("preset", NO_PRESET)
    return experiments.load(experiment).PRESETS.get(str(name))


def has_preset() -> bool:
    """Whether a preset is in force on this page."""
    return any(preset(name) is not None for name in _page().every)


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


def ask_lists(experiment: str) -> tuple[Params, int]:
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


def ask_budget_first(experiment: str) -> tuple[Params, int]:
    """What :func:`ask` gives, with the sidebar's budget before the study's own."""
    here = float(current("epsilon_total"))
    return ask(experiment, epsilon_total=(here, *budgets(experiment)))


def sizes() -> tuple[int, ...]:
    """Sizes of the data at which the error's bound is shown: the study's own and the sidebar's."""
    own = experiments.load("error-bound").Params().n  # type: ignore[attr-defined]
    return tuple(sorted({*own, int(current("n"))}))


CHOSEN = "_chosen_by_click"


def choose_release(mechanism: str, epsilon_total: float) -> None:
    """A clicked point of the comparison becomes the release that is shown."""
    if mechanism in knobs.find("mechanism-posterior.mechanism").parameter.options:
        st.session_state["mechanism-posterior.mechanism"] = mechanism
        st.session_state["epsilon_total"] = epsilon_total
        st.session_state[CHOSEN] = True


def follow_click() -> None:
    """Run the whole page again if a click in one of its parts changed a knob."""
    if st.session_state.pop(CHOSEN, False):
        st.rerun()


def error_metric() -> str:
    """The column of the study of errors that its page shows."""
    return "mae" if current("mse-curves.metric") == "absolute" else "mse"


def _has_presets(page: PageSetting) -> bool:
    return any(experiments.load(name).PRESETS for name in page.every)


def ask(experiment: str, **fixed: Any) -> tuple[Params, int]:
    """The parameters that the knobs stand for, and the seed.

    A combination that is not allowed is said on the page, which ends there; the knobs stay.

    Args:
        experiment: whose parameters.
        fixed: parameters that the page decides.
    """
    params = experiments.load(experiment).Params
    values = {
        field.name: _value_for(experiment, field.name)
        for field in dataclasses.fields(params)
        if field.name not in fixed
    }
    chosen = preset(experiment)
    if chosen is not None:
        values = {name: v for name, v in values.items() if name == "noise_draw"}
    try:
        asked = dataclasses.replace(chosen or params(), **(values | fixed))
    except ParameterError as error:
        st.warning(f"These settings do not go together: {error}", icon="⚠️")
        st.stop()
    return asked, int(current("seed"))


def _value_for(experiment: str, name: str) -> Scalar | tuple[Scalar, ...]:
    """A parameter's value: the page's own knob, else the shared one, else the default."""
    key = f"{experiment}.{name}"
    if key in _page().own:
        return current(key)
    if name == "scenario":
        return scenario_in_force()
    if name in SHARED:
        return current(name)
    params = experiments.load(experiment).Params
    starts = params.defaults(scenario_in_force()) if "scenario" in params.specification() else {}
    value: Scalar | tuple[Scalar, ...] = starts.get(name, getattr(params(), name))
    return value
