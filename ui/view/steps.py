"""What a step of a lesson asks for: knobs of the page that it opens, and runs for its numbers."""

from __future__ import annotations

import contextlib
from typing import Any

from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish.lessons.step import Step
from ui.jobs.job import Request
from ui.view import controls_spec
from ui.view.page import Page

SEED = 1


def knobs_of(step: Step, page: Page, scenario: str = "") -> dict[str, Any]:
    """Return key -> value of all knobs that a step sets, so that it is the same for everyone.

    What it does not set is at its default; so is what a scenario that a class link holds in place
    of the step's does not allow.
    """
    own = scenario_of(step, page)
    scenario = scenario or own
    usual = {
        key: controls_spec.find(key, scenario=scenario).default
        for key in controls_spec.SHARED
        if key != "seed"
    }
    found = {}
    for key, value in step.knobs.items():
        with contextlib.nullcontext() if scenario == own else contextlib.suppress(ParameterError):
            found[key] = page.knob(key, scenario).parameter.check(key, value)
    return {**usual, **found, "seed": SEED}


def scenario_of(step: Step, page: Page) -> str:
    """Return the scenario that a step's page shows."""
    if not page.chooser:
        return controls_spec.FIRST_SCENARIO
    return page.scenario(step.knobs.get(page.chooser, page.knob(page.chooser).default))


def requests(step: Step) -> dict[str, Request]:
    """Return what a step's numbers are computed from, by the names of its runs."""
    return {
        name: Request(run.experiment, step.params(name), SEED) for name, run in step.runs.items()
    }
