"""Start: what this is, what each knob means, where to go."""

from ui import asking, blocks, labels, router, watch

router.guard()


def main() -> None:
    blocks.title(
        "ABCDP Explorer",
        "Approximate Bayesian computation (ABC) learns parameters by simulation: draw parameters, "
        "simulate data, keep the draws whose data look like yours. ABCDP keeps them *with noise*, "
        "which limits how much any one person's record can change what is kept. Here you set that "
        "limit and see what it does to the answer.",
    )
    router.links()
    params, seed = asking.ask("posterior")
    result = watch.result("posterior", params, seed)
    blocks.heading("What your settings do")
    blocks.figure("decisions", result, ("decisions",))
    blocks.heading("What ε_total promises")
    blocks.promise(params)
    blocks.heading("The four knobs")
    blocks.knob_table()
    labels.show(result)
    blocks.theory("posterior")


main()
