"""The story: the app's first page, and the same as one file that needs no server.

The browser plays it (``assets/story``) on the draws that ``tools/story_draws.py`` packed.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from abcdp_core import __version__
from abcdp_core import figures as fig
from abcdp_core.base.places import ASSETS
from abcdp_core.publish.output.scripts import joined

FOLDER = ASSETS / "story"
DRAWS = FOLDER / "draws.bin"

ROLES = {
    "private": fig.PRIVATE,
    "plain": fig.NON_PRIVATE,
    "theory": fig.THEORY,
    "prior": fig.PRIOR,
    "rejected": fig.REJECTED,
}
"""Name in the browser -> what has its color."""

LINKS = {
    "flip_probability": "When noise flips a decision",
    "posterior": "Posterior, draw by draw",
    "privacy_and_accuracy": "Privacy and accuracy",
    "mechanisms": "Other mechanisms",
    "live_poll": "Ask a class",
    "your_own_data": "Your own data",
}
"""Page -> words of the link to it, in the last scene."""


def looks() -> dict[str, Any]:
    """Return the colors of marks and of words: role -> theme -> color."""
    colors = {role: style.color for role, style in ROLES.items()}
    return {
        "colors": {k: {"light": c, "dark": fig.ON_DARK[c]} for k, c in colors.items()},
        "words": {role: fig.of_words(color) for role, color in colors.items()},
    }


def page(app: str = "") -> str:
    """Return the story as one HTML page that fetches nothing.

    Args:
        app: address of an app that the last scene links to; without one it has no links.
    """
    made = f"Made by ABCDP Explorer {__version__} with the command abcdp story."
    links = [[words, f"{app.rstrip('/')}/{page}"] for page, words in LINKS.items()] if app else []
    data = json.dumps({**looks(), "links": links, "made": made}).replace("<", "\\u003c")
    parts = {
        "style": (FOLDER / "story.css").read_text(encoding="utf-8"),
        "story": (FOLDER / "story.html").read_text(encoding="utf-8"),
        "script": joined(FOLDER / "page.js"),
        "said": data,
        "draws": base64.b64encode(DRAWS.read_bytes()).decode(),
    }
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text
