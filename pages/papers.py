"""Papers: what they claim, what we find, and the settings that show it."""

from ui import blocks, controls, labels, locks, papers, router

router.guard()


def main() -> None:
    blocks.title("Papers", papers.lead())
    papers.at_a_glance()
    blocks.small_print(
        "✓ agrees · ◐ only the direction agrees, not the size · ✗ does not agree · ? our interval "
        "is too wide to tell · – no run of ours can judge it"
    )
    controls.own(*papers.FILTERS)
    rows = papers.chosen_rows()
    papers.table(rows)
    read_it = locks.if_free("papers.claim", "Click a row to read it below. ")
    blocks.note(f"{read_it}*Family-wise*: the verdict if all verdicts together are to be right.")
    blocks.heading("One claim")
    experiment = papers.claim()
    blocks.heading(
        "The papers' numbers beside ours",
        "Units differ, so our number is divided by the paper's: 1 is the same number, 0 no effect, "
        "below 0 the opposite effect. A claim can agree without the same number: each claim says "
        "what it needs.",
    )
    papers.numbers(rows)
    blocks.heading("How many of these verdicts are false?", papers.by_chance())
    blocks.heading("All claims counted", papers.totals())
    papers.retired()
    labels.plain(
        "Nothing private is read here: the table was computed from simulated data and from "
        "published counts, with a known seed."
    )
    blocks.theory(*filter(None, [experiment]))
    papers.downloads()


main()
