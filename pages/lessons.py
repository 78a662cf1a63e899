"""Lessons: eight short ones, on the other pages."""

from ui import blocks, labels, lesson_list, router

router.guard()


def main() -> None:
    blocks.title(
        "Lessons",
        "Each takes about five minutes and leads through the other pages: you guess, then you see. "
        "Every number is computed while you read. *Print view* is the lesson on paper, with its "
        "answers on pages of their own.",
    )
    lesson_list.show()
    labels.plain("Nothing private is read in the lessons: all data are simulated, or published.")


main()
