"""Play the story: what a run does, whom it could betray, and what hiding them costs."""

from ui import router
from ui.figures import labels
from ui.parts import story
from ui.view.view import View


def main(view: View) -> None:
    story.show(view)
    labels.plain(f"{labels.STAMP} Its people are simulated.")


router.run(main)
