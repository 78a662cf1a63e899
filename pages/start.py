"""Start: what this is, what each knob means, where to go."""

from ui import cards, controls, router, watch

router.guard()


def main() -> None:
    cards.title(
        "ABCDP Explorer",
        "Approximate Bayesian computation (ABC) learns parameters by simulation: draw parameters, "
        "simulate data, keep the draws whose data look like yours. ABCDP keeps them *with noise*, "
        "which limits how much any one person's record can change what is kept. Here you set that "
        "limit and see what it does to the answer.",
    )
    router.links()
    params, seed = controls.ask("posterior")
    result = watch.result("posterior", params, seed)
    cards.heading("What your settings do")
    cards.figure("decisions", watch.figures(result)["decisions"], result, ("decisions",))
    cards.heading("What ε_total promises")
    cards.promise(params)
    cards.heading("The four knobs")
    cards.knob_table()
    cards.privacy_label(result)
    cards.theory("posterior")


main()
