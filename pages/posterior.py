"""Posterior: one private release beside the non-private one, draw by draw."""

from ui import asking, blocks, controls, export, labels, router, state, watch

router.guard()


def main() -> None:
    blocks.title(
        "Posterior",
        "Two runs go through the same public pool in the same order: one compares without noise, "
        "one with the noise that ε_total, c and N ask for. Below is what each of them accepts.",
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
        "Each mark is a draw of the pool that the private run looked at, at its distance to the "
        "data. Close to ε_abc noise decides; far from it the distance does. *New noise* in the "
        "sidebar draws the noise again.",
    )
    blocks.figure("decisions", result, ("decisions",))
    labels.show(result)
    blocks.theory("posterior")
    export.block("posterior", result)


def many_releases() -> None:
    result = watch.result("many-releases", *asking.ask("many-releases"))
    blocks.heading(
        "The same data, released again and again",
        "Every line is one release with noise of its own. Where the lines spread, one release says "
        "little. In practice only one of them may be made.",
    )
    blocks.figure("many-releases", result, ("errors", "main"))
    labels.show(result)
    blocks.theory("many-releases")
    export.block("many-releases", result)


def change_one_person() -> None:
    result = watch.result("change-one-person", *asking.ask("change-one-person"))
    blocks.heading(
        "One person's point is replaced by the worst one found",
        "This is the definition of differential privacy, seen: no outcome becomes more than "
        "e^ε_total times as likely or as unlikely. All probabilities are exact, over all noises.",
    )
    blocks.figure("outcomes", result, ("main",))
    blocks.figure("person", result, ("person", "data"))
    blocks.heading("How far one person moves the distances, and the ratios of the outcomes")
    blocks.figure("movement", result, ("movement", "decisions"))
    blocks.figure("ratio", result, ("ratio", "largest"))
    labels.show(result)
    blocks.theory("change-one-person")
    export.block("change-one-person", result)


def synthetic_data() -> None:
    controls.own("synthetic-data.data_sets")
    result = watch.result("synthetic-data", *asking.ask("synthetic-data"))
    blocks.heading(
        "Data simulated from what was accepted",
        "What a private run accepts is released, and simulating from it costs no further privacy: "
        "such data sets may be published in place of the real ones. The observed data stand beside "
        "them because they are synthetic or published themselves.",
    )
    blocks.figure("synthetic-data", result, ("compared", "main"))
    blocks.rows_as_csv("Private synthetic data as CSV", result, "main", source="private")
    labels.show(result)
    blocks.theory("synthetic-data")
    export.block("synthetic-data", result)


main()
