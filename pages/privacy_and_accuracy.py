"""Show how the error depends on the privacy budget, exactly and by simulation."""

from functools import partial

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, errors, labels
from ui.jobs import progress
from ui.jobs.job import Job
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

STUDY, EXACT, BOUND = "mse-curves", "expected-error", "error-bound"

NOISES = 25
"""Simulated releases, for each data set and budget, that check the lines."""


def main(view: View) -> None:
    blocks.choosers(view)
    if view.has_preset:
        preset(view)
    else:
        own_setting(view)


def preset(view: View) -> None:
    controls.page_controls(view, "mse-curves.metric")
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
    """Show the study of errors, which runs once it is unfolded."""
    blocks.heading(
        "The same by simulation",
        "Every run has its own data, pool and noise. Bands are 95 % intervals of the mean over "
        "runs. An open mark means that some runs kept nothing, so their estimate is the prior "
        "mean.",
    )
    controls.page_controls(view, "mse-curves.lines", "mse-curves.metric", "mse-curves.runs")
    asked = params.ask_error_lines(view)
    with blocks.folded("Run the simulation (seconds to minutes)", "simulation") as unfolded:
        return [progress.growing(asked, partial(draw, view))] if unfolded else []


def theorem_2(view: View) -> list[Result]:
    blocks.heading(
        "Distance from the posterior mean without noise",
        "Theorem 2 bounds the distance between the posterior means with and without noise for a "
        "run that never stops early. So the runs here go through the whole pool.",
    )
    found = progress.result(params.ask(view, BOUND, n=params.with_sidebar(view, BOUND, "n")))
    blocks.figure(view, BOUND, found)
    return [found]


def draw(view: View, found: Result, pinned: compare.Pinned | None = None) -> None:
    metric = params.error_metric(view)
    blocks.figure(view, metric, found, pinned=pinned, draw=errors.by_setting)
    labels.show(found)


router.run(main)
