"""The story as one file that needs no server, and in the app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from abcdp_core.__main__ import main
from abcdp_core.base import summaries
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.one_release import ReleaseParams
from abcdp_core.models.simulators import uniform_mixture
from tests.browser.visit import SIZE, Visit

LARGEST_FILE = 450_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as the command writes it."""
    path = tmp_path_factory.mktemp("story") / "story.html"
    assert main(["story", "--out", str(path), "--app", "https://abc.example.org/"]) == 0
    assert path.stat().st_size <= LARGEST_FILE
    return path


@pytest.fixture
def page(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The file, opened without a network by one who wants no motion."""
    scheme = getattr(request, "param", "light")
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce", color_scheme=scheme)
    context.set_offline(True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda each: errors.append(each.url) if "http" in each.url[:4] else None)
    page.goto(file.as_uri())
    yield page
    context.close()
    assert not errors


def is_clean(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def live(page: Page) -> str:
    """The line that says what just happened."""
    return page.locator(".live").inner_text()


def scene(page: Page, number: int) -> None:
    page.get_by_role("button", name=f"Scene {number} of 8").click()
    expect(page.locator(".count")).to_have_text(f"{number} of 8")


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_each_scene_says_what_the_program_finds_and_nothing_is_for_axe(page: Page) -> None:
    scene(page, 2)
    assert live(page).startswith("10 kept: the run stops after 1,219 guesses.")
    scene(page, 3)
    page.get_by_role("button", name="instead").click()
    expect(page.locator(".live")).to_contain_text("887 is published in place of 1,219")
    is_clean(page)
    scene(page, 4)
    assert "5 of 10 are wrong, kept only because of noise" in live(page)
    assert "0.047 instead of 0.023" in live(page)
    page.get_by_label("Drag through the run").fill("174")
    pair = one_release.both(ReleaseParams(), 1)
    rho, noisy = pair.comparison.rho[173], pair.trace.noisy_distance[173]
    said = f"Guess 174: {rho:.3f} is kicked to {noisy:.3f}, kept. 2 of 10 kept."
    expect(page.locator(".live")).to_have_text(said)
    scene(page, 5)
    assert "between 45 and 55 of 100" in page.locator(".headline").inner_text()
    assert "10 of 10 are published whatever you say" in live(page)
    # Where noise hardly kicks, the spy's threshold betrays; the promise says so.
    page.get_by_label("Privacy budget").fill("24")
    expect(page.locator(".headline")).to_contain_text("a spy may become certain")
    expect(page.locator(".live")).to_contain_text("now gives 86.")
    for number, typical in ((6, "7 of 10"), (7, "88 of 100")):
        scene(page, number)
        page.get_by_role("slider", name="Your guess").fill("2")
        page.get_by_role("button", name="Show 200 runs").click()
        expect(page.locator(".live")).to_contain_text(f"You said 2. A typical run has {typical}")
    page.get_by_role("button", name="Now ask a thousand people").click()
    page.get_by_role("button", name="Show 200 runs").click()
    expect(page.locator(".live")).to_contain_text("A typical run has 7 of 10 wrong")
    is_clean(page)
    scene(page, 8)
    href = page.get_by_role("link", name="Ask a class").get_attribute("href")
    assert href == "https://abc.example.org/live_poll"
    is_clean(page)


def test_what_is_dragged_says_the_numbers_of_the_program(page: Page) -> None:
    scene(page, 8)
    for words, value in (("Budget", "1"), ("Keep", "100"), ("People", "3,000")):
        knob = page.get_by_label(words)
        knob.focus()
        for _ in range(40):
            if value == (knob.get_attribute("aria-valuetext") or ""):
                break
            before = float((knob.get_attribute("aria-valuetext") or "").replace(",", ""))
            page.keyboard.press(
                "ArrowRight" if before < float(value.replace(",", "")) else "ArrowLeft"
            )
    page.get_by_role("button", name="New noise").click()
    params = ReleaseParams(epsilon_total=1.0, c=100, n=3000, noise_draw=1)
    pair = one_release.both(params, 1)
    rho, theta = pair.comparison.rho, pair.comparison.theta
    wrong = int((rho[pair.private.indices] > params.epsilon_abc).sum())
    private, plain = (
        summaries.errors(
            each.mean(theta, uniform_mixture.SCENARIO.prior_mean), uniform_mixture.SCENARIO.truth
        )[0]
        for each in (pair.private, pair.plain)
    )
    said = f"{wrong} of {len(pair.private.indices)} kept are wrong · error {private**0.5:.3f}, "
    ratio = round(private**0.5, 3) / round(plain**0.5, 3)
    said += f"{ratio:.1f} times {plain**0.5:.3f} · a spy stays between 26 and 74 of 100"
    expect(page.locator(".live")).to_have_text(said)
    assert "epsilon_total=1&c=100&n=3000&noise_draw=1" in page.url
    page.get_by_label("Error curve").check()
    expect(page.locator("canvas")).to_be_visible()


def test_an_address_out_of_range_is_brought_inside_and_said(page: Page, file: Path) -> None:
    page.goto(f"{file.as_uri()}#scene=99&epsilon_total=-3&n=1234&c=x")
    page.reload()
    expect(page.locator(".count")).to_have_text("8 of 8")
    expect(page.locator(".notice")).to_contain_text("epsilonTotal = 0.001")
    expect(page.locator(".notice")).to_contain_text("n = 1000")


def test_keys_lead_through_the_scenes_and_a_run_plays(browser: Browser, file: Path) -> None:
    page = browser.new_page(reduced_motion="no-preference")
    page.goto(file.as_uri())
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".live")).to_contain_text("Guess 2: ")
    # Nothing holds the page up for long while it plays.
    times = page.evaluate("""() => new Promise((done) => {
        const times = []; let before = performance.now();
        const look = (now) => { times.push(now - before); before = now;
            times.length < 100 ? requestAnimationFrame(look) : done(times); };
        requestAnimationFrame(look); })""")
    assert np.median(times) < 200
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".count")).to_have_text("1 of 8")
    page.close()


def test_in_the_app_what_is_let_go_is_on_the_next_page(visit: Visit) -> None:
    visit.page.emulate_media(reduced_motion="no-preference")
    visit.open("")
    scene(visit.page, 8)
    visit.rest()
    budget = visit.page.get_by_label("Budget ε_total")
    budget.focus()
    for _ in range(3):
        visit.page.keyboard.press("ArrowRight")
    visit.rest()
    assert "epsilon_total=0.7" in visit.page.url
    visit.page.get_by_role("link", name="When noise flips a decision").last.click()
    visit.rest()
    expect(visit.page.locator(".finding").first).to_contain_text("ε_total = 0.7")
