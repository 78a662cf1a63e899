"""Posterior: one private release beside the non-private one, draw by draw."""

from ui import asking, blocks, captions, controls, export, labels, router, state, watch

router.guard()


def main() -> None:
    blocks.title(
        "Posterior",
        "What is learnt from the same data and the same simulations, with noise and without.",
    )
    controls.own("scenario", "posterior.view")
    show = {
        "one release": one_release,
        "many releases": many_releases,
        "change one person": change_one_person,
        "synthetic data": synthetic_data,
    }
    show[str(state.current("posterior.view"))]()


def one_release() -> None:
    result = watch.result("posterior", *asking.ask("posterior"))
    blocks.figure("posterior", result, ("errors", "main"))
    blocks.heading(
        "Every decision",
        "Each mark is a simulated data set that the private run looked at. Noise moves it up or "
        "down: near ε_abc that decides whether it is kept. *New noise* draws the noise again.",
    )
    blocks.figure("decisions", result, ("decisions",))
    labels.show(result)
    blocks.theory("posterior")
    export.block("posterior", result)


def many_releases() -> None:
    result = watch.result("many-releases", *asking.ask("many-releases", **asking.releases()))
    blocks.figure("many-releases", result, ("errors", "references", "main"))
    blocks.note(
        "Each dot is one release of the same data with noise of its own; the large one is the "
        "newest, and *New noise* adds another. In practice only one of them may be made."
    )
    labels.show(result)
    blocks.theory("many-releases")
    export.block("many-releases", result)


def change_one_person() -> None:
    controls.own("change-one-person.moved_to")
    result = watch.result("change-one-person", *asking.ask("change-one-person"))
    blocks.heading(*captions.largest(result))
    left, right = blocks.pair()
    with left:
        blocks.figure("outcomes", result, ("main", "largest"))
    with right:
        blocks.figure("movement", result, ("movement", "decisions"))
    left, right = blocks.pair()
    with left:
        blocks.figure("person", result, ("person", "data"))
    with right:
        blocks.figure("ratio", result, ("ratio", "largest"))
    blocks.note(
        "This is the definition of differential privacy: for two data sets that differ in one "
        "person, the probabilities of any outcome differ at most by the factor e^ε_total. All "
        "probabilities are exact: averaged over all possible noise. " + result.summary
    )
    labels.show(result)
    blocks.theory("change-one-person")
    export.block("change-one-person", result)


def synthetic_data() -> None:
    controls.own("synthetic-data.data_sets")
    result = watch.result("synthetic-data", *asking.ask("synthetic-data"))
    blocks.figure("synthetic-data", result, ("compared", "main"))
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
