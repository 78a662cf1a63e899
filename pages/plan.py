"""Plan: with so many people and such a budget, what is to be run?"""

from ui import asking, blocks, controls, export, labels, router, state, watch

router.guard()

STUDY = "plan"
GOAL, WANTED = "plan.goal", "plan.wanted"


def main() -> None:
    blocks.title(
        "Plan",
        "What every mechanism is expected to err with your number of people and your budget, "
        "before any private data are looked at.",
    )
    controls.own("plan.scenario", GOAL)
    if state.current(GOAL) != "smallest-error":
        controls.own(WANTED, "plan.probability")
    job = watch.growing(STUDY, *asking.ask(STUDY), draw)
    controls.more("plan.metric", "plan.runs")
    blocks.theory(STUDY)
    export.block("plan", job)


def draw(found: blocks.Found) -> None:
    blocks.figure("plan", found, ("main", "goal", "intervals"))
    for name in ("enough-budget", "enough-people"):
        if name in blocks.names(found):
            blocks.figure(name, found, ("enough", "curve"))
    labels.show(found)


main()
