"""Lessons: eight short ones, on the other pages."""

from ui.figures import blocks, labels
from ui.parts import lesson_print
from ui.view import router
from ui.view.view import View


def main(view: View) -> None:
    blocks.title(
        "Lessons",
        "Each takes about five minutes and leads through the other pages: you guess, then you see. "
        "Every number is computed while you read. *Print view* is the lesson on paper, with its "
        "answers on separate pages.",
    )
    lesson_print.show(view)
    labels.plain("Nothing private is read in the lessons: all data are simulated, or published.")


router.run(main)
