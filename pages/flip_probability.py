"""Flip probability: how often the noise changes a decision, and how large c may be."""

from ui import asking, blocks, captions, controls, export, labels, pin, router, state, watch

router.guard()


def main() -> None:
    blocks.titled("Flip probability", "preset")
    blocks.preset_note()
    blocks.note(
        "A decision is *flipped* when noise lets in a draw that is too far from the data, or keeps "
        "out one that is close enough."
    )
    if state.has_preset():
        preset()
    else:
        one_setting()


def preset() -> None:
    controls.own("flip-probability.script")
    job = pin.growing("flip-probability", ask, draw)
    blocks.verdicts("flip-probability", job.result)
    blocks.theory("flip-probability")
    export.block("flip-probability", job)


def ask() -> asking.Asked:
    return asking.ask("flip-probability", **asking.script_sensitivity())


def draw(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure("flip-probability", found, pinned)
    labels.show(found)


def one_setting() -> None:
    found, pinned = pin.result("flip-probability", ask)
    blocks.main_figure("flip-probability", found, pinned, ("base_rates", "main"))
    controls.own("flip-probability.distances", "flip-probability.draws", "flip-probability.script")
    with blocks.folded("How well simulation and formula agree", "agreement") as unfolded:
        if unfolded:
            agreement(found)
    labels.show(found)
    guideline(found)


def agreement(found: blocks.Found) -> None:
    blocks.note(found.summary)
    blocks.note(
        "*Fresh threshold*: its noise is drawn for this decision alone, as the formula assumes. "
        "*In a run*: given that the run got as far as this draw. Runs with a low threshold last "
        "longer, so inside a run false acceptances are rarer and false rejections more frequent "
        "than the formula says."
    )


def guideline(found: blocks.Found) -> None:
    blocks.heading(
        "Guideline: how large may c be?",
        "A kept draw is *false* if it is farther from the data than ε_abc. Choose the share "
        "that you allow. The expected share is computed from public simulations, so it costs no "
        "privacy.",
    )
    controls.own("flip-guideline.false_level")
    guide = watch.result("flip-guideline", *asking.ask("flip-guideline"))
    blocks.figure("flip-guideline", guide, ("guideline", "main"))
    blocks.heading("The paper's guideline: the median flip probability")
    blocks.note(captions.median_warning(guide))
    controls.own("flip-guideline.level")
    blocks.figure("median", guide, ("main",))
    blocks.theory("flip-probability", "flip-guideline")
    export.block("flip-probability", found, guide)


main()
