"""What is said of the draws of noise that a session has seen."""

from __future__ import annotations

import pytest

from tests.pages.app import opened, settled, texts
from ui.parts import overview
from ui.parts.overview import Run


def runs(*counts: tuple[int, int]) -> list[Run]:
    return [Run(kept, false, 0.1) for false, kept in counts]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (runs((5, 10)), ""),
        (
            runs((5, 10), (6, 10), (4, 10), (7, 10)),
            "Over 4 draws of noise, kept only because of noise: 5, 6, 4, 7 of 10; mean 5.5.",
        ),
        (
            runs((1, 1), (0, 1)),
            "Over 2 draws of noise, kept only because of noise: 1, 0 of 1; mean 0.5.",
        ),
        (
            runs((5, 10), (3, 7), (0, 0)),
            "Over 3 draws of noise, kept only because of noise: 5 of 10, 3 of 7, none; in all "
            "8 of 17.",
        ),
        (runs((0, 0), (0, 0)), "Over 2 draws of noise nothing was kept."),
        (
            runs(*[(2000, 10_000)] * 9),
            "Over 9 draws of noise, kept only because of noise: the last 8: 2,000, 2,000, 2,000, "
            "2,000, 2,000, 2,000, 2,000, 2,000 of 10,000; mean of all 2,000.0.",
        ),
    ],
)
def test_every_noise_is_counted(seen: list[Run], said: str) -> None:
    assert overview.in_words(seen) == said


def test_what_is_no_longer_remembered_is_not_counted() -> None:
    assert overview.in_words(runs(*[(0, 3)] * overview.MOST)).startswith("Over the last 100 draws")


def test_new_noise_is_counted_until_something_public_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overview, "MOST", 3)
    app = opened("overview", noise_draw="7")
    assert "Try *New noise*" in texts(app)
    for count in (2, 3, 3):
        app = settled(app.button(key="new-noise").click().run())
        kept = app.session_state[overview.SEEN][1]
        assert len(kept) == count
        assert overview.in_words(list(kept.values())) in texts(app)
    assert [*kept] == [8, 9, 10]
    # The same noise again is no further draw, and seen last.
    app.session_state["noise_draw"] = 8
    app = settled(app.run())
    assert [*app.session_state[overview.SEEN][1]] == [9, 10, 8]
    app = settled(app.select_slider(key="c").set_value(20).run())
    assert [*app.session_state[overview.SEEN][1]] == [8]
    assert "draws of noise, kept" not in texts(app)
