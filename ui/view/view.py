"""What one run of a page works with: the page, its knobs, what the link fixes, the lesson step.

Streamlit holds the values: a widget's key is its name in the link, and ``bind="query-params"``
keeps the two the same. :func:`look` takes them once a run. What then moves knobs, before anything
is drawn (:mod:`ui.view.session`), returns another view, which is passed on and never changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from abcdp_core import studies
from abcdp_core.base.parameters import ParameterError, Params, Scalar
from abcdp_core.publish import lessons
from ui.view import controls_spec, page_table
from ui.view.controls_spec import NO_LESSON, NO_PRESET
from ui.view.page import Page

if TYPE_CHECKING:
    from abcdp_core.publish.lessons.reading import Lesson
    from abcdp_core.publish.lessons.step import Step


class NotGrantedError(Exception):
    """A page asks for what its line in the page table does not grant, which links rely on."""


@dataclasses.dataclass(frozen=True)
class View:
    """A page as its knobs stand.

    Attributes:
        page: the one on screen.
        values: key -> what the session has of it.
        texts: key -> what the address says of it, where the session has not taken that in.
        locked: keys of the knobs that the link locks.
        hidden: keys of those that it hides.
        is_pinned: whether this is the pinned one of two that are compared.
    """

    page: Page
    values: Mapping[str, Scalar]
    texts: Mapping[str, str]
    locked: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    is_pinned: bool = False

    def __getitem__(self, key: str) -> Scalar:
        """Return the value of a knob that the page may use, or of the page's own in its place.

        Raises:
            NotGrantedError: the page's line in the table does not grant it.
        """
        key = self.page.key_of(key)
        self.check(key)
        return self.value(key)

    def check(self, name: str) -> None:
        """Refuse a knob or an experiment that the page's line in the table does not grant.

        Raises:
            NotGrantedError: names it, and the page.
        """
        if name not in self._granted:
            raise NotGrantedError(
                f"The page {self.page.title} asks for {name}, which its line in "
                "ui/view/page_table.py does not grant."
            )

    @cached_property
    def _granted(self) -> set[str]:
        return self.page.granted(self.shown)

    def value(self, key: str) -> Scalar:
        """Return the value of any knob, whether or not the page uses it."""
        if key not in self._known:
            chooses = key == self.page.chooser
            scenario = controls_spec.FIRST_SCENARIO if chooses else self.scenario
            self._known[key] = self.value_in_scenario(key, scenario)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[str, Scalar]:
        return {}

    def value_in_scenario(self, key: str, scenario: str) -> Scalar:
        """Return a knob's value if a scenario allows it, else its default there."""
        knob = self.knob(key, scenario)
        with contextlib.suppress(ParameterError):
            if key in self.values:
                return knob.parameter.check(key, self.values[key])
            if key in self.texts:
                return knob.parameter.parse(key, self.texts[key])
        return knob.default

    def knob(self, key: str, scenario: str = "") -> controls_spec.Knob:
        """Return a knob with its bounds and default in a scenario, the view's own if empty."""
        at = key, scenario or self.scenario
        if at not in self._knobs:
            self._knobs[at] = self.page.knob(*at)
        return self._knobs[at]

    @cached_property
    def _knobs(self) -> dict[tuple[str, str], controls_spec.Knob]:
        return {}

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Keys of the knobs that the link keeps from being moved, shown or not."""
        return frozenset((*self.locked, *self.hidden))

    @cached_property
    def scenario(self) -> str:
        """The scenario that the page shows."""
        page = self.page
        if not page.chooser:
            return controls_spec.FIRST_SCENARIO
        # A preset brings its scenario with it. To look for one loads studies.
        names = page.every if self.preset_name != NO_PRESET else ()
        brought = [vars(found) for name in names if (found := self.preset(name))]
        for values in brought:
            if "scenario" in values:
                return str(values["scenario"])
        return page.scenario(self.value_in_scenario(page.chooser, controls_spec.FIRST_SCENARIO))

    @cached_property
    def shown(self) -> Scalar | None:
        """What the page shows, on a page with several views."""
        return self.value(self.page.view) if self.page.view else None

    @cached_property
    def projector(self) -> bool:
        """Whether letters are large, for a lecture hall."""
        return bool(self.value("projector"))

    def at(self, values: Mapping[str, Scalar]) -> View:
        """Return the pinned view, in which some knobs have other values."""
        return dataclasses.replace(self, values={**self.values, **values}, is_pinned=True)

    @cached_property
    def preset_name(self) -> str:
        """Name of the preset that is asked for."""
        name = str(self.values.get("preset") or self.texts.get("preset", NO_PRESET))
        return studies.RETIRED.get(name, name)

    def preset(self, experiment: str) -> Params | None:
        """Return the preset of an experiment, if one is chosen."""
        if self.preset_name == NO_PRESET:
            return None
        return studies.load(experiment).PRESETS.get(self.preset_name)

    @cached_property
    def has_preset(self) -> bool:
        """Whether a preset of this page is chosen."""
        return any(self.preset(name) is not None for name in self.page.every)

    @cached_property
    def offers_presets(self) -> bool:
        """Whether the page has presets to choose from."""
        return any(studies.load(name).PRESETS for name in self.page.every)

    @cached_property
    def knobs_of_page(self) -> tuple[str, ...]:
        """Keys of the knobs that the page uses while it shows what it shows."""
        return (*self.page.knobs(self.shown), *(["preset"] if self.offers_presets else []))

    @cached_property
    def lesson(self) -> tuple[Lesson, int] | None:
        """The lesson that is on and its step, counted from 1."""
        if (name := str(self.value("lesson"))) == NO_LESSON:
            return None
        lesson = lessons.load()[name]
        return lesson, min(int(self.value("step")), len(lesson.steps))

    @property
    def step(self) -> Step | None:
        """The lesson's step that is on."""
        return self.lesson[0].steps[self.lesson[1] - 1] if self.lesson else None


def look(page: Page, texts: Mapping[str, str] | None = None) -> View:
    """Take the view of a page as the session has it now, else as an address says it."""
    session = st.session_state
    values = {key: session[key] for key in page_table.known_keys() if key in session}
    return View(
        page,
        {key: value for key, value in values.items() if value is not None},
        texts or {},
        session.get(controls_spec.LOCK, ()),
        session.get(controls_spec.HIDE, ()),
    )
