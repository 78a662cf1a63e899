"""Define what a visitor can set on the pages, by its key in the link.

Shared knobs are fields of a study's ``Params``; a page's own are called ``study.name``. Bounds,
defaults and texts come from the core; only what concerns the screen is defined here.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from abcdp_core import studies
from abcdp_core.base.parameters import Parameter, ParameterError, Scalar, text_of
from abcdp_core.models import simulators
from abcdp_core.publish import lessons

FOUR = ("epsilon_total", "epsilon_abc", "c", "n")
MORE = ("noise_draw", "resample", "sensitivity", "pool_size", "seed")
SHARED = FOUR + MORE

REFERENCE = "posterior"
"""The experiment whose parameters define the shared knobs."""

STARTS: dict[str, Scalar] = {"plan.runs": 80}
"""Defaults of pages that differ from those of commands: 256 data sets take too long for a page.

A changed default needs the former value in :data:`ui.view.link.CHANGES`.
"""

BY_SCENARIO = ("epsilon_abc", "c", "n", "pool_size")
"""Shared knobs whose bounds or defaults depend on the scenario."""

LIMITED_BY_SCENARIO = ("mechanism-posterior.mechanism", "coverage.truths")
"""Choices of a page that depend on the scenario."""

FIRST_SCENARIO = "uniform-mixture"
"""The scenario of every page that does not choose one."""

OWN_SCENARIO = "your-data.scenario"
"""The model that a visitor's own data are compared with."""

LOCK, HIDE, PIN = "lock", "hide", "pin"
FOR_A_CLASS = (LOCK, HIDE, PIN)
"""Keys of a link that name knobs."""

ENDS = {
    "epsilon_total": ("more private", "more accurate"),
    "epsilon_abc": ("stricter", "looser"),
    "c": ("fewer", "more draws"),
    "n": ("fewer", "more"),
    "adaptive-truncation.epsilon_total": ("more private", "more accurate"),
    "adaptive-truncation.n": ("fewer", "more people"),
    "poll.epsilon_total": ("more private", "more accurate"),
    "poll.n": ("fewer", "more people"),
}
"""What the low and the high end of a slider mean."""

SWITCHES = ("projector", "lesson", "step")
EVERYWHERE = (*SWITCHES, *FOR_A_CLASS)
"""What concerns only the screen; the link of every page may have it."""

ALWAYS_SEEN = ("lesson", "step")
"""What cannot be hidden: the panel of a lesson leads through it."""

NO_PRESET = "my settings"

NO_LESSON = "none"


@dataclass(frozen=True)
class Knob:
    """A parameter with the value it starts from."""

    parameter: Parameter
    default: Scalar


def _choice(label: str, text: str, options: tuple[str, ...]) -> Knob:
    """One of several words, the first to begin with."""
    return Knob(Parameter(kind="choice", label=label, help=text, options=options), options[0])


def _switch(label: str, text: str) -> Knob:
    """One that is off to begin with."""
    return Knob(Parameter(kind="switch", label=label, help=text), False)


def _number(label: str, text: str, low: int, high: int) -> Knob:
    """A whole number, 1 to begin with."""
    return Knob(Parameter(kind="integer", label=label, help=text, low=low, high=high), 1)


SCREEN = {
    "seed": _number(
        "Seed",
        "Every random number follows from it: another seed gives other data, another pool and "
        "other noise.",
        0,
        2**31 - 1,
    ),
    "overview.scene": _number("Scene", "The scene of the story.", 1, 8),
    "posterior.view": _choice(
        "View",
        "One release, many releases of the same data, one person replaced, or data "
        "simulated from the draws that were kept.",
        ("one release", "many releases", "change one person", "synthetic data"),
    ),
    "adaptive-truncation.view": _choice(
        "View",
        "One stream of people, ways to ask one person, the best interval, several budgets side by "
        "side, many repeats, people with several values, or a gradient step after each answer.",
        ("live", "ways of asking", "best interval", "budgets", "repeats", "vectors", "gradient"),
    ),
    "mechanisms.view": _choice(
        "View",
        "The error of every mechanism, the noise that a budget buys, or how often private "
        "intervals contain the truth.",
        ("error", "what a budget buys", "coverage"),
    ),
    "gaussian-noise.view": _choice(
        "View",
        "A weight for every draw, a decision about every draw, what their noise costs, or the "
        "outbreak in San Francisco with weights.",
        ("soft weights", "rejection", "what it costs", "San Francisco"),
    ),
    "case-studies.view": _choice(
        "View",
        "Cases in the Netherlands in spring 2020, or outbreaks of tuberculosis.",
        ("COVID-19", "tuberculosis"),
    ),
    "mse-curves.lines": _choice(
        "One line per",
        "What each line of the figure varies; the sidebar sets everything else.",
        ("c", "ε_abc"),
    ),
    "mse-curves.metric": _choice(
        "Error",
        "Mean over the parameters of the absolute or the squared difference.",
        ("absolute", "squared"),
    ),
    "flip-probability.script": _switch(
        "Δ of the published script, 1/N (not private)",
        "The published script uses half the Δ of the paper's Lemma 1, so its noise is too small "
        "for the stated budget.",
    ),
    "projector": _switch(
        "Lecture mode",
        "Large type and thick lines for a lecture hall, and nothing around the page but the knobs.",
    ),
    "lesson": _choice("Lesson", "The lesson shown.", (NO_LESSON, *lessons.lengths())),
    "step": _number("Step", "The step of the lesson.", 1, max(lessons.lengths().values())),
    "figures.format": _choice(
        "Camera button format",
        "The file format of the camera button above each figure.",
        ("svg", "png"),
    ),
}


NAMES: dict[str, dict[str, str]] = {
    "published-query.problem": {
        "log-linear": "Counts of features",
        "linear-regression": "Regression",
        "sir-epidemic": "Epidemic",
    },
    "plan.goal": {
        "smallest-error": "The smallest error",
        "error-below": "An error below …",
        "interval-below": "Intervals below …",
    },
    "papers.standing": {"all standings": "all", "paper": "stated"},
    "plan.metric": {"rmse": "Root mean squared", "mae": "Mean absolute"},
    OWN_SCENARIO: {
        FIRST_SCENARIO: "Shares of five intervals",
        "covid": "A curve over time",
        "covid-people": "Daily cases, by person",
    },
}
"""Words on the screen for choices that have a code name in links and commands."""

OWN_HELP = (
    "The model your data are compared with: shares of five intervals, a smooth curve over time, "
    "an epidemic's daily cases, clusters of tuberculosis, or a model that the operator of this "
    "server added."
)


def find(key: str, page: tuple[str, ...] = (REFERENCE,), scenario: str = FIRST_SCENARIO) -> Knob:
    """Return the knob of a link key, with the bounds that it has in a scenario.

    Raises:
        KeyError: there is none.
    """
    if key in LIMITED_BY_SCENARIO:
        return _offered(key, scenario)
    if key in SCREEN:
        return SCREEN[key]
    if key == OWN_SCENARIO:
        return _choice("Model of your data", OWN_HELP, tuple(names_of(key)))
    if key.startswith("papers."):
        return _of_papers()[key]
    if key == "preset":
        known = [preset for name in page for preset in studies.load(name).PRESETS]
        text = "A preset uses the exact settings of a figure in a paper."
        return _choice("Preset", text, (NO_PRESET, *known))
    owner, _, name = key.rpartition(".")
    return _of_experiment(owner, name) if owner else _of_experiment(REFERENCE, name, scenario)


@functools.cache
def _offered(key: str, scenario: str) -> Knob:
    """A knob without what a scenario cannot show."""
    owner, _, name = key.rpartition(".")
    found = _of_experiment(owner, name, scenario)
    options = found.parameter.options
    return found if found.default in options else Knob(found.parameter, options[0])


@functools.cache
def _of_papers() -> dict[str, Knob]:
    """The knobs of the page about the papers."""
    # Inside the function: no other page reads the ledger as it starts.
    from abcdp_core.publish.claims import OUTCOMES, STANDINGS, document, report

    return {
        "papers.paper": _choice("Paper", "Claims of one paper.", ("all papers", *document.PAPERS)),
        "papers.verdict": _choice(
            "Verdict", "Claims with this verdict only.", ("all verdicts", *OUTCOMES)
        ),
        "papers.standing": _choice(
            "Source",
            "Whether a paper states the claim, implies it, or it is our own.",
            ("all standings", *STANDINGS),
        ),
        "papers.claim": _claims(report.read().table),
    }


def _claims(table: pd.DataFrame) -> Knob:
    """The claims of the stored result; one that does not simply agree to begin with."""
    measured = table[table["ours"].notna()]
    telling = measured[measured["verdict"] != "agrees"]
    first = claim_names(telling if len(telling) else measured)[0]
    options = tuple(dict.fromkeys(claim_names(table)))
    text = "The claim to show in full. You can also click a row of the table."
    return Knob(Parameter(kind="choice", label="Claim", help=text, options=options), first)


def claim_names(rows: pd.DataFrame) -> list[str]:
    """What claims go by in a link: their id, or the item where there is no claim."""
    return [str(row["id"] or row["item"]) for _, row in rows.iterrows()]


@functools.cache
def _of_experiment(experiment: str, name: str, scenario: str = "") -> Knob:
    """A parameter of an experiment, with the bounds and the start of a scenario if one is named."""
    try:
        params = studies.load(experiment).Params
    except ParameterError as error:
        raise KeyError(experiment) from error
    usual = params()
    parameter = params.specification(scenario or getattr(usual, "scenario", None))[name]
    starts = params.defaults(scenario) if scenario else {}
    value = starts.get(name, STARTS.get(f"{experiment}.{name}", getattr(usual, name)))
    return Knob(parameter, value[0] if isinstance(value, tuple) else value)


@functools.cache
def used_by(names: tuple[str, ...]) -> set[str]:
    """Shared knobs that any of the experiments takes; the seed always."""
    fields = {
        field.name for name in names for field in dataclasses.fields(studies.load(name).Params)
    }
    return {name for name in SHARED if name in fields} | {"seed"}


def nearest(parameter: Parameter, text: str) -> Scalar | None:
    """The allowed value closest to a number that is not allowed; ``None`` if it is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isnan(value) or parameter.kind not in ("real", "integer"):
        return None
    return parameter.nearest(min(max(value, parameter.low), parameter.high))


def short(key: str) -> str:
    """A knob's name in a line: what stands before the explanation in its label."""
    return find(key).parameter.label.partition(" · ")[0]


SCENARIO_KNOBS = ("scenario", "compare-mechanisms.scenario", "plan.scenario", OWN_SCENARIO)
"""Knobs that choose a scenario, which is shown by its title."""


@functools.cache
def names_of(key: str) -> Mapping[str, str]:
    """Return code name -> words for the choices of a knob; empty if it is shown as it is."""
    known = NAMES.get(key, {})
    if known and key != OWN_SCENARIO:
        return {str(each): known.get(str(each), str(each)) for each in find(key).parameter.options}
    if key == OWN_SCENARIO:
        # Inside the function: no other page releases anything.
        from abcdp_core.release.request import scenarios

        options: Sequence[Scalar] = (FIRST_SCENARIO, *scenarios())
    elif key in SCENARIO_KNOBS:
        options = find(key).parameter.options
    else:
        return known
    return {str(each): known.get(str(each)) or simulators.title(str(each)) for each in options}


def display_value(key: str, value: Scalar) -> str:
    """A knob's value in words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    whole = key != "seed" and isinstance(value, int | float) and float(value).is_integer()
    return names_of(key).get(str(value)) or (f"{value:,.0f}" if whole else text_of(value))


@functools.lru_cache(maxsize=1024)
def choices(parameter: Parameter, *also: Scalar) -> tuple[Scalar, ...]:
    """The values a slider offers: the suggested ones and those that are in use."""
    suggested: Mapping[Scalar, None] = dict.fromkeys(
        int(step) if parameter.kind == "integer" else step
        for step in parameter.options or parameter.steps
        if isinstance(step, int | float)
    )
    # A word stands after all numbers.
    return tuple(sorted({*suggested, *also}, key=lambda each: (isinstance(each, str), each)))
