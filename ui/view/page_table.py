"""The page table: what each page shows, and which knobs it may use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from abcdp_core.base.places import ROOT
from ui.server import settings
from ui.view import controls_spec
from ui.view.page import Page


def _own(names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys of a page's own knobs, with the one that every page with figures has."""
    keys = [f"{owner}.{name}" for owner, each in names.items() for name in each.split()]
    return (*keys, "figures.format")


TABLE = (
    Page(
        "overview",
        "The story",
        "plays a private run: whom it could betray, and what hiding them costs.",
        "Learn",
        own=("overview.scene",),
        uses=(*controls_spec.FOUR, "noise_draw", "resample"),
        fills=True,
    ),
    Page(
        "lessons",
        "Lessons",
        "Nine short lessons. You guess a number, then see the answer on the pages.",
        "Learn",
    ),
    Page(
        "flip_probability",
        "When noise flips a decision",
        "Noise flips a decision when it keeps a draw that is too far from the data, or "
        "rejects one that is close enough.",
        "Explore",
        ("flip-probability", "flip-guideline"),
        own=_own(
            {"flip-probability": "distances draws script", "flip-guideline": "false_level level"}
        ),
        pins=True,
    ),
    Page(
        "posterior",
        "Posterior",
        "One private release beside the result without noise, draw by draw.",
        "Explore",
        own=(
            "scenario",
            *_own(
                {
                    "posterior": "view",
                    "change-one-person": "moved_to",
                    "synthetic-data": "data_sets",
                }
            ),
        ),
        chooser="scenario",
        view="posterior.view",
        views={
            "one release": ("posterior",),
            "many releases": ("many-releases",),
            "change one person": ("change-one-person",),
            "synthetic data": ("synthetic-data",),
        },
        pins=True,
    ),
    Page(
        "privacy_and_accuracy",
        "Privacy and accuracy",
        "How the error grows as the privacy budget shrinks.",
        "Explore",
        ("mse-curves", "expected-error", "posterior", "error-bound"),
        own=_own({"mse-curves": "lines metric runs"}),
        pins=True,
    ),
    Page(
        "adaptive_truncation",
        "Adaptive truncation",
        "People answer one at a time, each in the interval that should be most informative so far.",
        "Ask people one by one",
        (
            *("adaptive-truncation", "truncation-streams", "truncation-interval"),
            *("ways-of-asking", "estimation-accuracy", "vector-truncation", "online-gradient"),
        ),
        own=_own(
            {
                "adaptive-truncation": "epsilon_total n view sampler particles score weight "
                "symmetric fixed_width noise",
                "truncation-interval": "family score symmetric",
                "ways-of-asking": "family score weight",
                "estimation-accuracy": "runs",
                "vector-truncation": "channel",
                "online-gradient": "channel",
            }
        ),
        replaces={
            "epsilon_total": "adaptive-truncation.epsilon_total",
            "n": "adaptive-truncation.n",
        },
        view="adaptive-truncation.view",
        views={
            "live": ("adaptive-truncation", "estimation-accuracy"),
            "ways of asking": ("ways-of-asking",),
            "budgets": ("truncation-streams",),
            "best interval": ("truncation-interval",),
            "repeats": ("estimation-accuracy",),
            "vectors": ("vector-truncation",),
            "gradient": ("online-gradient",),
        },
        pins=True,
    ),
    Page(
        "live_poll",
        "Live poll",
        "Ask a class. Each telephone randomizes its own answers.",
        "Ask people one by one",
        ("poll",),
        own=_own({"poll": "epsilon_total n mean spread at_once"}),
        replaces={"epsilon_total": "poll.epsilon_total", "n": "poll.n"},
        pins=True,
    ),
    Page(
        "mechanisms",
        "Mechanisms",
        "What each mechanism achieves with the same privacy budget.",
        "Compare",
        own=_own(
            {
                "compare-mechanisms": "scenario runs",
                "mechanisms": "view",
                "mse-curves": "metric",
                "mechanism-posterior": "mechanism",
                "coverage": "runs truths",
            }
        ),
        chooser="compare-mechanisms.scenario",
        view="mechanisms.view",
        views={
            "error": ("compare-mechanisms", "mechanism-posterior"),
            "what a budget buys": ("accounting",),
            "coverage": ("coverage",),
        },
        pins=True,
    ),
    Page(
        "case_studies",
        "Case studies",
        "COVID-19 in the Netherlands and outbreaks of tuberculosis, fitted privately.",
        "Compare",
        ("covid-fit", "tuberculosis-posterior", "unit-of-privacy"),
        own=_own(
            {
                "case-studies": "view",
                "covid-fit": "distance runs",
                "tuberculosis-posterior": "order burden runs",
            }
        ),
        without=("n",),
        view="case-studies.view",
        views={
            "COVID-19": ("covid-fit", "unit-of-privacy"),
            "tuberculosis": ("tuberculosis-posterior", "unit-of-privacy", "posterior"),
        },
        chooser="case-studies.view",
        scenarios={"COVID-19": "covid"},
        pins=True,
    ),
    Page(
        "plan",
        "Choose a mechanism",
        "Which mechanism to use for your number of people and your budget.",
        "Apply",
        ("plan",),
        own=_own({"plan": "scenario goal wanted metric probability runs"}),
        chooser="plan.scenario",
        pins=True,
    ),
    Page(
        "your_own_data",
        "Your own data",
        "One private release from your data: one file goes in, one file comes out, and "
        "the budget is spent.",
        "Apply",
        ("error-by-size",),
        own=_own({"your-data": "scenario"}),
        uses=("pool_size",),
        without=("n", "noise_draw", "sensitivity"),
        chooser="your-data.scenario",
        own_data=True,
    ),
    Page(
        "published_queries",
        "Learn from noisy releases",
        "Others have released numbers with noise. What can you learn from them, at no privacy "
        "cost?",
        "Apply",
        ("published-query",),
        own=_own({"published-query": "problem simulations"}),
        pins=True,
    ),
    Page(
        "papers",
        "Do the papers hold up?",
        "What four papers claim, and what our own runs find.",
        "Verify",
        own=_own({"papers": "paper verdict standing claim"}),
        without=("seed",),
    ),
    Page(
        "refereed_posteriors",
        "Published posteriors, refereed",
        "Posteriors that others published from noisy numbers, beside exact ones.",
        "Verify",
        ("refereed-posteriors",),
        own=_own({"refereed-posteriors": "family"}),
    ),
    Page(
        "gaussian_noise",
        "Gaussian noise",
        "The older versions of ABCDP: soft weights, and a decision about every draw.",
        "For researchers",
        own=_own(
            {
                "gaussian-noise": "view",
                "mse-curves": "metric",
                "soft-abc": "accountant runs",
                "gaussian-rejection": "accountant runs",
                "tuberculosis-soft": "accountant runs",
            }
        ),
        view="gaussian-noise.view",
        views={
            "soft weights": ("soft-abc",),
            "rejection": ("gaussian-rejection",),
            "what it costs": ("gaussian-loss",),
            "San Francisco": ("tuberculosis-soft",),
        },
        chooser="gaussian-noise.view",
        scenarios={
            **dict.fromkeys(
                ("soft weights", "rejection", "what it costs"), controls_spec.FIRST_SCENARIO
            ),
            "San Francisco": "tuberculosis",
        },
        pins=True,
    ),
    Page(
        "distances",
        "Distances",
        "Several ways to compute a distance: their error, their time, and how much one "
        "person can change them.",
        "For researchers",
        ("distance-forms",),
        own=_own({"distance-forms": "bandwidth pairs"}),
        pins=True,
    ),
)


def shown() -> tuple[Page, ...]:
    """Return the pages of this server."""
    if settings.here().own_data:
        return TABLE
    return tuple(page for page in TABLE if not page.own_data)


def by_file(name: str) -> Page:
    """Return the page with a file name, without its ending."""
    return next(page for page in TABLE if page.file == name)


def path_of(name: str) -> Path:
    """Return where a page's file is."""
    return ROOT / "pages" / f"{name}.py"


@functools.cache
def known_keys() -> tuple[str, ...]:
    """Return the keys that a link may hold, whichever page it opens."""
    own = [key for page in TABLE for key in page.own]
    return (*controls_spec.SHARED, *controls_spec.EVERYWHERE, "preset", *dict.fromkeys(own))
