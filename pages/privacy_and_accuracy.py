"""Privacy and accuracy: what a privacy budget costs in error, exactly and by simulation."""

from functools import partial

from abcdp_core.results import Result
from ui.figures import blocks, downloads, errors, labels
from ui.jobs import progress
from ui.jobs.job import Job
from ui.view import params, router
from ui.view.view import View
from ui.widgets import compare, controls

STUDY, EXACT, BOUND = "mse-curves", "expected-error", "error-bound"

NOISES = 25
"""Simulated releases, for each data set and budget, that check the lines."""


def main(view: View) -> None:
    blocks.title(
        "Privacy and accuracy",
        "How far the answer is from the truth, against the privacy budget.",
    )
    blocks.presets(view)
    if view.has_preset:
        preset(view)
    else:
        own_setting(view)


def preset(view: View) -> None:
    controls.own(view, "mse-curves.metric")
    job = compare.growing(view, lambda view: params.ask(view, STUDY), partial(draw, view))
    blocks.verdicts(view, STUDY, job.result)
    blocks.theory(STUDY)
    downloads.block(view, "privacy-and-accuracy", job)


def own_setting(view: View) -> None:
    this, pinned_run = compare.result(view, lambda view: params.ask(view, "posterior"))
    exact = compare.growing(
        view,
        lambda view: params.ask(view, EXACT, noises=NOISES),
        lambda grown, pinned: errors.exact(view, grown, this, pinned, pinned_run),
    )
    labels.show(this)
    simulated = simulation(view)
    bound = theorem_2(view)
    blocks.theory(EXACT, STUDY, BOUND)
    downloads.block(view, "privacy-and-accuracy", exact, *simulated, *bound)


def simulation(view: View) -> list[Job]:
    """The study of errors, which runs once it is unfolded."""
    blocks.heading(
        "The same by simulation",
        "Every run has its own data, pool and noise; bands are 95 % intervals of the mean over "
        "runs. A mark is open where some runs accepted nothing: their estimate is the prior mean.",
    )
    controls.own(view, "mse-curves.lines", "mse-curves.metric", "mse-curves.runs")
    asked = params.ask_error_lines(view)
    with blocks.folded("Run the simulation: seconds to minutes", "simulation") as unfolded:
        return [progress.growing(asked, partial(draw, view))] if unfolded else []


def theorem_2(view: View) -> list[Result]:
    blocks.heading(
        "How far from the non-private posterior mean?",
        "Theorem 2 bounds the distance between the private and the non-private posterior mean of "
        "a run that goes through the whole pool and never stops, so the runs here do not stop "
        "either.",
    )
    found = progress.result(params.ask(view, BOUND, n=params.with_sidebar(view, BOUND, "n")))
    blocks.figure(view, BOUND, found)
    return [found]


def draw(view: View, found: Result, pinned: compare.Pinned | None = None) -> None:
    errors.simulated(view, found, pinned)
    labels.show(found)


router.run(main)
