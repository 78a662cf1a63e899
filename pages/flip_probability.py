"""Flip probability: how often the noise changes a decision, and how large c may be."""

from ui import cards, controls, export, router, watch

router.guard()


def main() -> None:
    cards.title(
        "Flip probability",
        "A decision is *flipped* when noise makes the private run accept a draw that the "
        "non-private run rejects, or the other way round. Theory gives its probability; simulation "
        "checks it.",
    )
    cards.presets()
    if controls.has_preset():
        preset()
    else:
        one_setting()


def preset() -> None:
    controls.own("flip-probability.script")
    params, seed = controls.ask("flip-probability", **controls.script_sensitivity())
    job = watch.growing("flip-probability", params, seed, draw)
    cards.verdicts("flip-probability", job.result)
    cards.theory("flip-probability")
    export.block("flip-probability", job)


def draw(found: cards.Found) -> None:
    cards.figure("flip-probability", watch.figures(found)["flip-probability"], found)
    cards.privacy_label(found)


def one_setting() -> None:
    controls.own("flip-probability.distances", "flip-probability.draws", "flip-probability.script")
    params, seed = controls.ask("flip-probability", **controls.script_sensitivity())
    found = watch.result("flip-probability", params, seed)
    cards.figure("flip-probability", watch.figures(found)["flip-probability"], found)
    cards.note(
        "*Fresh threshold*: its noise is drawn for this decision alone, as the formula assumes. "
        "*In a run*: given that the run got as far as this draw. Runs with a low threshold last "
        "longer, so inside a run false acceptances are rarer and false rejections more frequent "
        "than the formula says."
    )
    cards.privacy_label(found)
    cards.heading(
        "Guideline: how large may c be?",
        "Choose how often you accept that noise decides. The figure shows the largest c that keeps "
        "the median flip probability under that level, from public simulations only.",
    )
    controls.own("flip-guideline.level")
    guide = watch.result("flip-guideline", *controls.ask("flip-guideline"))
    chart = watch.figures(guide)["flip-guideline"]
    cards.figure("flip-guideline", chart, guide, ("guideline", "main"))
    cards.theory("flip-probability", "flip-guideline")
    export.block("flip-probability", found, guide)


main()
