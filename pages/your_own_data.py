"""Your own data: one private release, in earnest."""

from ui import blocks, controls, expectation, labels, own_data, router, state, uploads

router.guard()


def main() -> None:
    with own_data.screen():
        blocks.title(
            "Your own data",
            "A real private release: one file goes in, one document comes out, and "
            "the budget is spent.",
        )
        asked, expected = own_data.columns()
        with asked:
            blocks.heading("1 · Choose before you look")
            controls.own("your-data.scenario")
            scenario = state.scenario_in_force()
            by = own_data.mechanism(scenario)
            request, planned = own_data.settings(scenario, by)
            blocks.note(expectation.cost(by))
        blocks.heading("2 · Give your file")
        series = uploads.ask(scenario)
        # After the uploader: one that is not drawn loses its file, and this may end the page.
        with expected:
            enough = expectation.show(by, planned, own_data.width(request))
        if request is not None and series is not None:
            blocks.heading("3 · Confirm")
            own_data.confirm(request, series, planned, enough)
    if documents := own_data.released():
        blocks.heading("4 · What was released in this session")
        own_data.show(documents)
    else:
        labels.plain(
            "Nothing is spent before you press *Release*. What to expect is computed from what is "
            "public, not from your data."
        )
    blocks.note(own_data.STAMP)
    blocks.note(own_data.OWN_MODEL)
    if others := labels.who_sees():
        blocks.warning(others)
    blocks.theory(*expectation.studies(by), of=by.draw)
    own_data.keep_in_browser()


main()
