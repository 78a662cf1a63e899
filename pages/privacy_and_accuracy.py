"""Privacy and accuracy: what a privacy budget costs in error, simulated while you watch."""

from ui import asking, blocks, controls, export, labels, router, state, watch

router.guard()

STUDY = "mse-curves"


def main() -> None:
    blocks.title(
        "Privacy and accuracy",
        "How far the posterior mean is from the truth, against the privacy budget. Every run has "
        "data, pool and noise of its own; bands are 95 % intervals of the mean over runs. A mark "
        "is open where some runs accepted nothing: their estimate is the prior mean.",
    )
    blocks.presets()
    if state.has_preset():
        controls.own("mse-curves.metric")
        params, seed = asking.ask(STUDY)
    else:
        controls.own("mse-curves.lines", "mse-curves.metric", "mse-curves.runs")
        params, seed = asking.ask(STUDY, **asking.error_lines())
    job = watch.growing(STUDY, params, seed, draw)
    blocks.verdicts(STUDY, job.result)
    bound = [] if state.has_preset() else theorem_2()
    blocks.theory(STUDY, "error-bound")
    export.block("privacy-and-accuracy", job, *bound)


def theorem_2() -> list[blocks.Found]:
    blocks.heading(
        "How far from the non-private posterior mean?",
        "Theorem 2 bounds the distance between the private and the non-private posterior mean. "
        "It is proved for a run over the whole pool that never stops, so the simulation here does "
        "not stop either. Above the trivial bound it says nothing; it falls as N grows.",
    )
    found = watch.result("error-bound", *asking.ask("error-bound", n=asking.sizes()))
    blocks.figure("error-bound", found)
    return [found]


def draw(found: blocks.Found) -> None:
    metric = asking.error_metric()
    blocks.errors(found, metric)
    labels.show(found)


main()
