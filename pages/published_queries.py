"""Published queries: what noisy numbers that somebody else released say of their model."""

from ui import asking, blocks, captions, controls, export, labels, own_query, pin, router, state

router.guard()

STUDY = "published-query"


def main() -> None:
    blocks.titled("Published queries", "published-query.problem")
    controls.own("published-query.simulations")
    job = pin.growing(STUDY, lambda: asking.ask(STUDY), draw)
    with blocks.folded("Infer from a release of your own", "own-query") as unfolded:
        if unfolded:
            own_query.show(captions.problem_of(str(state.current("published-query.problem"))))
    blocks.theory(STUDY)
    export.block("published-queries", job)


def draw(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure(STUDY, found, pinned, ("main", "way", "reference", "sample"))
    blocks.note(
        "Nothing private is read here: all there is are the released numbers below, the law of "
        "their noise, and a public simulator. What follows from a release cannot weaken its "
        "privacy, however often it is computed with."
    )
    labels.show(found, stamp="")
    blocks.heading("What was released", captions.released(found))
    blocks.table(found, "released")
    blocks.note(
        "A release of your own, with one of these simulators or with simulations of yours: below, "
        "or, larger and longer, by `python -m abcdp_core infer problem.toml --out DIR`. The three "
        "files of the folder `examples` that end in `.toml` are the queries of this page."
    )


main()
