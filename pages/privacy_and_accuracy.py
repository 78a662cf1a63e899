"""Privacy and accuracy: what a privacy budget costs in error, exactly and by simulation."""

from ui import asking, blocks, controls, export, labels, pin, router, state, watch
from ui.job import Job

router.guard()

STUDY = "mse-curves"
EXACT = "expected-error"

NOISES = 25
"""Simulated releases, for each data set and budget, that check the lines."""


def main() -> None:
    blocks.title(
        "Privacy and accuracy",
        "How far the answer is from the truth, against the privacy budget.",
    )
    blocks.presets()
    if state.has_preset():
        preset()
    else:
        own_setting()


def preset() -> None:
    controls.own("mse-curves.metric")
    job = pin.growing(STUDY, lambda: asking.ask(STUDY), draw)
    blocks.verdicts(STUDY, job.result)
    blocks.theory(STUDY)
    export.block("privacy-and-accuracy", job)


def own_setting() -> None:
    this, pinned_run = pin.result("posterior", lambda: asking.ask("posterior"))
    exact = pin.growing(
        EXACT,
        lambda: asking.ask(EXACT, noises=NOISES),
        lambda grown, pinned: blocks.exact_errors(grown, this, pinned, pinned_run),
    )
    labels.show(this)
    simulated = simulation()
    bound = theorem_2()
    blocks.theory(EXACT, STUDY, "error-bound")
    export.block("privacy-and-accuracy", exact, *simulated, *bound)


def simulation() -> list[Job]:
    """The study of errors, which runs once it is unfolded."""
    blocks.heading(
        "The same by simulation",
        "Every run has data, pool and noise of its own; bands are 95 % intervals of the mean over "
        "runs. A mark is open where some runs accepted nothing: their estimate is the prior mean.",
    )
    controls.own("mse-curves.lines", "mse-curves.metric", "mse-curves.runs")
    params, seed = asking.ask(STUDY, **asking.error_lines())
    with blocks.folded("Run the simulation: seconds to minutes", "simulation") as unfolded:
        return [watch.growing(STUDY, params, seed, draw)] if unfolded else []


def theorem_2() -> list[blocks.Found]:
    blocks.heading(
        "How far from the non-private posterior mean?",
        "Theorem 2 bounds the distance between the private and the non-private posterior mean of "
        "a run that goes through the whole pool and never stops, so the runs here do not stop "
        "either.",
    )
    found = watch.result("error-bound", *asking.ask("error-bound", n=asking.sizes()))
    blocks.figure("error-bound", found)
    return [found]


def draw(found: blocks.Found, pinned: pin.Pinned | None = None) -> None:
    blocks.errors(found, asking.error_metric, pinned)
    labels.show(found)


main()
