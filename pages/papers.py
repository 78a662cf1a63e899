"""Papers: what they claim, what we find, and the settings that show it."""

from ui import blocks, controls, labels, papers, router

router.guard()


def main() -> None:
    blocks.title("Papers", "What three papers claim, judged by our own runs. " + papers.totals())
    controls.own(*papers.FILTERS)
    rows = papers.chosen_rows()
    papers.table(rows)
    blocks.note(
        "✓ agrees · ◐ the size is missed, its sign is certain · ✗ does not agree · "
        "? the interval includes what it is compared with · – no run of ours can judge it. "
        "*Family-wise* is the verdict if all are to hold together. Click a row to read it below."
    )
    blocks.heading("One claim")
    experiment = papers.claim()
    blocks.heading(
        "The papers' numbers beside ours",
        "Each row has its own unit, so ours is drawn as a multiple of the paper's number: 1 is the "
        "same number, 0 is no effect, and below 0 it goes the other way. A claim can agree "
        "without the same number; what is asked for is said with the claim.",
    )
    papers.numbers(rows)
    blocks.heading("How many of these verdicts are false?", papers.by_chance())
    papers.retired()
    labels.plain(
        "Nothing private is read here: the table was computed from simulated data and from "
        "published counts, with a known seed."
    )
    blocks.theory(*filter(None, [experiment]))
    papers.downloads()


main()
