"""What one move of a knob costs: a value lives in one place, and few functions are asked for it."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from types import FrameType

import pytest

from tests.pages.app import ROOT, moved, opened, settled
from tests.sources import files_of
from ui import router

MOST = {"posterior": (1300, 37), "flip_probability": (1900, 44)}
"""Page -> calls and modules."""

MOST_KEYS, MOST_RERUNS, MOST_PLACES = 9, 5, 15
"""Private keys of a session, runs that begin again, and rules of style that lean on what
Streamlit calls its own parts; other rules go by the keys of containers."""

OURS = tuple(str(ROOT / name) for name in ("abcdp_core", "ui"))
OTHERS = "ui/poll", "ui/parts/story.py"


def calls_of_one_move(monkeypatch: pytest.MonkeyPatch, page: str) -> Counter[tuple[str, str]]:
    """Return file and function -> calls while a page is drawn after its budget was moved."""
    app = opened(page)
    for budget in (0.5, 1.0):
        # What is loaded or kept once is not counted.
        app = moved(app, "epsilon_total", budget)
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS):
            found[code.co_filename, code.co_qualname] += 1

    draw = router.main

    def counted() -> None:
        sys.setprofile(note)
        try:
            draw()
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(router, "main", counted)
    app = app.select_slider(key="epsilon_total").set_value(2.0).run()
    monkeypatch.undo()
    assert not settled(app).exception
    return found


@pytest.mark.parametrize("page", MOST)
def test_one_move_looks_once_and_asks_little(monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    found = calls_of_one_move(monkeypatch, page)
    assert [count for (_, name), count in found.items() if name == "look"] == [1]
    calls, modules = MOST[page]
    assert len({file for file, _ in found}) <= modules
    assert found.total() <= calls


def private_keys(source: str) -> list[str]:
    """Return the texts of a module that begin with a mark of what is its own."""
    texts = (each.value for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Constant))
    return [each for each in texts if isinstance(each, str) and re.fullmatch(r"_[a-z_]+", each)]


def test_a_session_holds_few_things_beside_its_knobs_and_runs_again_in_few_places() -> None:
    assert private_keys('A, B = "_one", f("_two")\nc = "three_"') == ["_one", "_two"]
    files = [each for each in files_of("ui") if not str(each.relative_to(ROOT)).startswith(OTHERS)]
    sources = [each.read_text(encoding="utf-8") for each in files]
    keys = sorted(key for source in sources for key in private_keys(source))
    reruns = sum(source.count("st.rerun()") for source in sources)
    assert len(keys) <= MOST_KEYS, keys
    assert reruns <= MOST_RERUNS
    assert (ROOT / "assets/style.css").read_text(encoding="utf-8").count(
        "data-testid"
    ) <= MOST_PLACES
