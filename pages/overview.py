"""Overview: what the four knobs do, in one headline and four pictures."""

from ui import asking, blocks, cards, export, labels, noises, router, watch

router.guard()

POSTERIOR = "The kept draws of each parameter: with noise above its line, without below."


def main() -> None:
    params, seed = asking.ask("posterior")
    found = watch.result("posterior", params, seed)
    runs = noises.gather(found)
    with cards.screen():
        top = cards.place()
        decisions, posterior = cards.pair()
        error, promise = cards.pair()
        with decisions:
            cards.decisions(found, runs)
        with posterior:
            cards.of_result("posterior", found, POSTERIOR, "posterior")
        with promise:
            cards.promise(params)
        with error:
            job = watch.growing(
                "expected-error",
                *asking.ask("expected-error"),
                lambda grown: cards.error(grown, found, runs),
            )
        with top:
            cards.headline(found, job.result)
    labels.show(found)
    blocks.heading("What this is")
    blocks.note(
        "Approximate Bayesian computation (ABC) learns parameters by simulation: draw parameters, "
        "simulate data, keep the draws whose data look like yours. ABCDP keeps them *with noise*, "
        "which limits how much any one person's record can change what is kept."
    )
    blocks.heading("What ε_total promises")
    blocks.promise(params)
    blocks.heading("The four knobs")
    blocks.knob_table()
    blocks.theory("posterior", "expected-error")
    export.block("overview", found, job)


main()
