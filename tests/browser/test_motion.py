"""New noise is seen: marks start where the former noise had them and move to where they are now."""

from __future__ import annotations

from tests.browser.conftest import Visit

CHART = ".st-key-chart-overview-decisions"

RECORD = """() => {
  window.starts = [];
  const usual = Element.prototype.animate;
  Element.prototype.animate = function (frames, options) {
    if (this.__data__?.id !== undefined && frames.transform)
      window.starts.push([this.__data__.id, ...frames.transform]);
    return usual.call(this, frames, options);
  };
}"""

PLACES = f"""() => Object.fromEntries(
  [...document.querySelectorAll("{CHART} .points path")].map((mark) => {{
    const [x, y] = mark.getAttribute("transform").match(/-?[\\d.]+/g).map(Number);
    return [mark.__data__.id, `translate(${{x}}px, ${{y}}px)`];
  }}))"""


SEEN = """() => { const found = window.starts; window.starts = []; return found; }"""


def test_marks_move_unless_less_motion_is_wanted(visit: Visit) -> None:
    visit.open("", epsilon_total="0.2")
    visit.page.wait_for_selector(f"{CHART} .points path")
    visit.page.evaluate(RECORD)
    before, after, starts = new_noise(visit, draws=2)
    assert [place for place in starts if place[1] != place[2]]
    for draw, begin, end in starts:
        assert (begin, end) == (before[draw], after[draw])
    visit.page.emulate_media(reduced_motion="reduce")
    assert new_noise(visit, draws=3)[2] == []


def new_noise(visit: Visit, draws: int) -> tuple[dict[str, str], dict[str, str], list[list[str]]]:
    """Places of the marks before and after another noise, and what moves from where to where."""
    page = visit.page
    before = page.evaluate(PLACES)
    page.get_by_role("button", name="New noise").click()
    page.get_by_text(f"Over {draws} draws of noise").wait_for()
    visit.settle()
    page.wait_for_function(
        f"before => {{ const now = ({PLACES})(); const ids = Object.keys(now);"
        "return ids.length && ids.some((id) => now[id] !== before[id]); }",
        arg=before,
    )
    return before, page.evaluate(PLACES), page.evaluate(SEEN)
