"""Posterior: one private release beside the non-private one, draw by draw."""

from ui import cards, controls, export, router, watch, words

router.guard()


def main() -> None:
    cards.title(
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
    show[str(controls.current("posterior.view"))]()


def one_release() -> None:
    result = watch.result("posterior", *controls.ask("posterior"))
    figures = watch.figures(result)
    cards.figure("posterior", figures["posterior"], result, ("errors", "main"))
    cards.heading(
        "Every decision",
        "Each mark is a draw of the pool that the private run looked at, at its distance to the "
        "data. Close to ε_abc noise decides; far from it the distance does. *New noise* in the "
        "sidebar draws the noise again.",
    )
    cards.figure("decisions", figures["decisions"], result, ("decisions",), words.flips(result))
    cards.privacy_label(result)
    cards.theory("posterior")
    export.block("posterior", result)


def many_releases() -> None:
    result = watch.result("many-releases", *controls.ask("many-releases"))
    figures = watch.figures(result)
    cards.heading(
        "The same data, released again and again",
        "Every line is one release with noise of its own. Where the lines spread, one release says "
        "little. In practice only one of them may be made.",
    )
    cards.figure("many-releases", figures["many-releases"], result, ("errors", "main"))
    cards.privacy_label(result)
    cards.theory("many-releases")
    export.block("many-releases", result)


def change_one_person() -> None:
    result = watch.result("change-one-person", *controls.ask("change-one-person"))
    figures = watch.figures(result)
    cards.heading(
        "One person's point is replaced by the worst one found",
        "This is the definition of differential privacy, seen: no outcome becomes more than "
        "e^ε_total times as likely or as unlikely. All probabilities are exact, over all noises.",
    )
    cards.figure("outcomes", figures["outcomes"], result, ("main",), words.outcomes(result))
    cards.figure("person", figures["person"], result, ("person", "data"), words.person(result))
    cards.heading("How far one person moves the distances, and the ratios of the outcomes")
    cards.figure(
        "movement", figures["movement"], result, ("movement", "decisions"), words.moved(result)
    )
    cards.figure("ratio", figures["ratio"], result, ("ratio", "largest"), words.ratio(result))
    cards.privacy_label(result)
    cards.theory("change-one-person")
    export.block("change-one-person", result)


def synthetic_data() -> None:
    controls.own("synthetic-data.data_sets")
    result = watch.result("synthetic-data", *controls.ask("synthetic-data"))
    cards.heading(
        "Data simulated from what was accepted",
        "What a private run accepts is released, and simulating from it costs no further privacy: "
        "such data sets may be published in place of the real ones. The observed data stand beside "
        "them because they are synthetic or published themselves.",
    )
    figure = watch.figures(result)["synthetic-data"]
    cards.figure("synthetic-data", figure, result, ("compared", "main"))
    cards.rows_as_csv("Private synthetic data as CSV", result, "main", source="private")
    cards.privacy_label(result)
    cards.theory("synthetic-data")
    export.block("synthetic-data", result)


main()
