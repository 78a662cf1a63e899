"""The app without a browser, with a page open; small settings make it quick."""

from __future__ import annotations

import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
SMALL = {
    "n": "100",
    "pool_size": "200",
    "mse-curves.runs": "1",
    "flip-probability.draws": "20",
    "adaptive-truncation.particles": "100",
    "estimation-accuracy.runs": "1",
    "compare-mechanisms.runs": "1",
    "distance-forms.pairs": "6",
    "soft-abc.runs": "1",
    "gaussian-rejection.runs": "1",
    "tuberculosis-soft.runs": "2",
}


def opened(page: str, **query: str) -> AppTest:
    """The app with a page open and its work done."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, text in (SMALL | query).items():
        app.query_params[key] = text
    return settled(app.switch_page(f"pages/{page}.py").run())


def settled(app: AppTest) -> AppTest:
    """The app once no progress bar is left."""
    deadline = time.monotonic() + 120
    while app.get("progress") and not app.exception and time.monotonic() < deadline:
        app.run()
    return app


def pictures(app: AppTest) -> list[object]:
    """Figures, and the player of the adaptive half."""
    return [*app.get("plotly_chart"), *app.get("bidi_component")]


def texts(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in [*app.markdown, *app.caption])
