"""Plan: with so many people and such a budget, what is to be run?"""

from ui import asking, blocks, controls, export, labels, pin, router, state

router.guard()

STUDY = "plan"
GOAL = "plan.goal"


def main() -> None:
    blocks.titled("Plan", "plan.scenario", GOAL)
    if state.current(GOAL) != "smallest-error":
        controls.own("plan.wanted", "plan.probability")
    job = pin.growing(STUDY, lambda: asking.ask(STUDY), draw)
    controls.more("plan.metric", "plan.runs")
    blocks.theory(STUDY)
    export.block("plan", job)


def draw(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure("plan", found, pinned, ("main", "goal", "intervals"))
    for name in blocks.names(found, without=["plan"]):
        blocks.figure(name, found, ("enough", "curve"))
    blocks.note(
        "What every mechanism is expected to err with your number of people and your budget, "
        "before any private data are looked at. Only simulated data are, so planning costs no "
        "privacy, and the settings it names may be used for a release."
    )
    labels.show(found)


main()
