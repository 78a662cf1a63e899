"""Privacy and accuracy: what a privacy budget costs in error, exactly and by simulation."""

from collections.abc import Mapping

from ui import asking, blocks, controls, export, labels, router, state, watch
from ui.job import Job, Request

router.guard()

STUDY = "mse-curves"
EXACT = "expected-error"
CURVES, CHECKED = "curves", "checked"
"""Names of the study of exact errors: its lines at once, and with simulated releases on them."""

NOISES = 25
"""Of those, for each data set and budget."""


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
    job = watch.growing(STUDY, *asking.ask(STUDY), draw)
    blocks.verdicts(STUDY, job.result)
    blocks.theory(STUDY)
    export.block("privacy-and-accuracy", job)


def own_setting() -> None:
    this = watch.result("posterior", *asking.ask("posterior"))
    asked = {CURVES: asking.ask(EXACT), CHECKED: asking.ask(EXACT, noises=NOISES)}
    jobs = watch.growing_together(
        {name: Request(EXACT, *each) for name, each in asked.items()},
        lambda found, _: blocks.exact_errors(farthest(found), this),
    )
    labels.show(this)
    simulated = simulation()
    bound = theorem_2()
    blocks.theory(EXACT, STUDY, "error-bound")
    export.block("privacy-and-accuracy", jobs[CHECKED], *simulated, *bound)


def farthest(found: Mapping[str, blocks.Found]) -> blocks.Found:
    """What is made of more data sets; if of as many, what is checked."""
    return max((found[name] for name in (CHECKED, CURVES) if name in found), key=lambda r: r.done)


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


def draw(found: blocks.Found) -> None:
    metric = asking.error_metric()
    blocks.errors(found, metric)
    labels.show(found)


main()
