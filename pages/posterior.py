"""Posterior: one private release beside the non-private one, draw by draw."""

from ui import asking, blocks, captions, controls, export, labels, locks, pin, router, state, watch

router.guard()


def main() -> None:
    blocks.titled("Posterior", "scenario", "posterior.view")
    show = {
        "one release": one_release,
        "many releases": many_releases,
        "change one person": change_one_person,
        "synthetic data": synthetic_data,
    }
    show[str(state.current("posterior.view"))]()


def one_release() -> None:
    result, pinned = pin.result("posterior", lambda: asking.ask("posterior"))
    blocks.main_figure("posterior", result, pinned, ("errors", "main"))
    blocks.heading(
        "Every decision",
        "Each mark is a simulated data set that the private run looked at. Noise moves it up or "
        "down: near ε_abc that decides whether it is kept."
        + locks.if_free("noise_draw", " *New noise* draws the noise again."),
    )
    blocks.figure("decisions", result, ("decisions",))
    labels.show(result)
    blocks.theory("posterior")
    export.block("posterior", result)


def many_releases() -> None:
    result, pinned = pin.result(
        "many-releases", lambda: asking.ask("many-releases", **asking.releases())
    )
    blocks.main_figure("many-releases", result, pinned, ("errors", "references", "main"))
    blocks.note(
        "Each dot is one release of the same data with noise of its own; the large one is the "
        f"newest{locks.if_free('noise_draw', ', and *New noise* adds another')}. In practice only "
        "one of them may be made."
    )
    labels.show(result)
    blocks.theory("many-releases")
    export.block("many-releases", result)


def change_one_person() -> None:
    result = watch.result("change-one-person", *asking.ask("change-one-person"))
    blocks.finding(*captions.largest(result))
    # One above the other on a telephone: knob, point and curves are on its screen together.
    cause, effect = blocks.cause_and_effect()
    with cause:
        controls.own("change-one-person.moved_to")
        blocks.picture("person", result)
    with effect:
        blocks.picture("outcomes", result)
    blocks.below("outcomes", result, ("main", "ratio", "largest"))
    left, right = blocks.pair()
    with left:
        blocks.figure("movement", result, ("movement", "decisions"))
    with right:
        blocks.below("person", result, ("person", "data"))
        blocks.note(
            "This is the definition of differential privacy: for two data sets that differ in one "
            "person, the probabilities of any outcome differ at most by the factor e^ε_total. All "
            "probabilities are exact: averaged over all possible noise. " + result.summary
        )
    labels.show(result)
    blocks.theory("change-one-person")
    export.block("change-one-person", result)


def synthetic_data() -> None:
    result, pinned = pin.result("synthetic-data", lambda: asking.ask("synthetic-data"))
    blocks.main_figure("synthetic-data", result, pinned, ("compared", "main"))
    controls.own("synthetic-data.data_sets")
    blocks.note(
        "What a private run accepts is released, and simulating from it costs no further privacy: "
        "such data sets may be published in place of the real ones. The observed data stand beside "
        "them because they are synthetic or published themselves."
    )
    blocks.rows_as_csv("Private synthetic data as CSV", result, "main", source="private")
    labels.show(result)
    blocks.theory("synthetic-data")
    export.block("synthetic-data", result)


main()
