"""The telephone's script alone, with a server that lies: it answers for what its person saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route

from abcdp_core.adaptive.poll import CHANCES, chances
from abcdp_core.base.places import ASSETS
from tests.statistics import assert_frequencies, rejects

PAGE = """<main>%s</main><script type="module">
  import poll, { isPromised } from "/poll.js";
  globalThis.sent = [];
  globalThis.serve = (data) => poll({
    data, parentElement: document.querySelector("main"),
    setTriggerValue: (name, what) => sent.push([name, what]),
  });
  globalThis.isPromised = isPromised;
</script>"""

ITEM: dict[str, Any] = {
    **{"round": 0, "text": "How long?", "unit": "hours", "low": 0, "high": 24, "epsilon": 2.0}
}
TERMS: dict[str, Any] = {
    **{"code": "ABCDE", "budget": 5.0, "seats": False},
    **{"open": True, "taken": "", "problem": ""},
}


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A page at an address that keeps what it stores, with the script."""
    page = browser.new_page()

    def answer(route: Route) -> None:
        if route.request.url.endswith("poll.js"):
            route.fulfill(path=ASSETS / "poll.js", content_type="text/javascript")
        else:
            body = PAGE % (ASSETS / "poll.html").read_text(encoding="utf-8")
            route.fulfill(body=body, content_type="text/html; charset=utf-8")

    page.route("**/*", answer)
    page.goto("http://localhost/")
    yield page
    page.close()


@pytest.fixture
def phone(tab: Page) -> Page:
    """The page as a telephone sees it that has answered nothing."""
    again(tab)
    return tab


def again(page: Page) -> None:
    """Forget all that was answered, and open the poll."""
    page.evaluate("localStorage.clear()")
    page.reload()
    serve(page)


def serve(page: Page, **changed: Any) -> None:
    page.wait_for_function("typeof globalThis.serve === 'function'")
    item = {name: changed.get(name, ITEM.get(name)) for name in (*ITEM, "words")}
    page.evaluate("data => serve(data)", TERMS | {"items": [item]} | changed)


def press(page: Page, text: str) -> None:
    page.get_by_label("Your value").fill(text)
    page.get_by_role("button", name="Answer").click()


def asked(page: Page, **changed: Any) -> dict[str, Any]:
    """Return an honest question to this telephone, but for what is changed."""
    sent = page.evaluate("sent")
    assert [name for name, _ in sent] == ["ask"]
    honest = {"lower": 6.0, "upper": 8.0, "chances": chances(ITEM["epsilon"])}
    return honest | {"ticket": sent[0][1]["ticket"]} | changed


def said(page: Page) -> str:
    return page.locator(".said").inner_text()


def stored(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("({...localStorage})")
    return {key: json.loads(text) for key, text in found.items()}


RICH = [9, 2**32 - 18]
"""A table that nearly always says the truth."""

LIES: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({"epsilon": 20}, {"chances": RICH}, "ε, the budget that you agreed to, changed"),
    ({"epsilon": 2.001}, {"chances": chances(2.001)}, "ε, the budget that you agreed to, changed"),
    ({"high": 1e9}, {}, "The highest value changed"),
    ({"low": -5}, {}, "The lowest value changed"),
    ({"unit": "minutes"}, {}, "The unit changed"),
    ({"code": "OTHER"}, {}, "This is another poll"),
    ({"round": 1}, {}, "Another question came"),
    ({}, {"chances": RICH}, "reveals more than it promises"),
    ({}, {"chances": [chances(2.0)[0] - 1, chances(2.0)[1] + 2]}, "reveals more"),
    ({}, {"chances": [0, 2**32]}, "reveals more"),
    ({}, {"chances": [0.5, 2**32 - 1]}, "reveals more"),
    ({}, {"lower": 9.0, "upper": 8.0}, "not two numbers in order"),
    ({}, {"lower": 8.0, "upper": 8.0}, "not two numbers in order"),
    ({}, {"lower": None}, "not two numbers in order"),
)
"""What is served differently after the press -> what the telephone says."""


@pytest.mark.parametrize(("terms", "question", "reason"), LIES)
def test_what_differs_from_the_screen_is_refused(
    phone: Page, terms: dict[str, Any], question: dict[str, Any], reason: str
) -> None:
    press(phone, "7")
    serve(phone, **terms, asked=asked(phone, **question))
    assert reason in said(phone)
    assert "Nothing was sent" in said(phone)
    assert [name for name, _ in phone.evaluate("sent")] == ["ask"]
    assert "word" not in str(stored(phone))
    assert phone.get_by_label("Your value").input_value() == ""
    # The value that was typed for the former terms is gone: another look answers nothing.
    serve(phone, **terms, asked=asked(phone))
    assert len(phone.evaluate("sent")) == 1


def test_an_honest_question_is_answered_once(phone: Page) -> None:
    press(phone, "7")
    question = asked(phone)
    serve(phone, asked=question)
    serve(phone, asked=question)
    name, answer = phone.evaluate("sent")[-1]
    assert (name, len(phone.evaluate("sent"))) == ("answer", 2)
    kept = stored(phone)["poll-ABCDE"]["rounds"]["0"]
    assert (kept["word"], kept["epsilon"]) == (answer["word"], ITEM["epsilon"])


def test_another_poll_shows_its_form_and_keeps_what_it_earns(phone: Page) -> None:
    press(phone, "7")
    serve(phone, asked=asked(phone))
    serve(phone, code="OTHER", text="How far?")
    assert phone.get_by_label("Your value").is_visible()
    assert stored(phone).keys() == {"poll-ABCDE"}


def test_what_was_stated_at_the_start_is_never_exceeded(phone: Page) -> None:
    terms = phone.locator(".terms")
    assert "ε = 2 of at most 5 in all questions" in terms.inner_text()
    # The server asks more often than it said, and says later that it might.
    for at in range(2):
        serve(phone, round=at, budget=5.0 + 50 * at)
        press(phone, "7")
        ticket = phone.evaluate("sent.at(-1)")[1]["ticket"]
        question = {"lower": 6.0, "upper": 8.0, "chances": chances(2.0), "ticket": ticket}
        serve(phone, round=at, budget=55.0, asked=question)
        assert phone.evaluate("sent.at(-1)")[1]["round"] == at
    serve(phone, round=2, budget=55.0)
    assert "ε = 2 of at most 5 in all questions" in terms.inner_text()
    assert "sits this question out" in said(phone)
    assert phone.get_by_label("Your value").is_hidden()
    phone.evaluate("document.querySelector('form').requestSubmit()")
    assert len(phone.evaluate("sent")) == 4
    serve(phone, round=3, epsilon=1.0, budget=55.0)
    press(phone, "7")
    assert len(phone.evaluate("sent")) == 5


def test_one_of_several_is_drawn_once_and_all_as_often(phone: Page) -> None:
    items = [ITEM | {"round": at, "text": f"Question {at}"} for at in range(3)]
    question, found = phone.locator(".question"), []
    for _ in range(40):
        again(phone)
        serve(phone, items=items)
        first = question.inner_text()
        phone.reload()
        serve(phone, items=items)
        assert question.inner_text() == first
        found.append(int(first[-1]))
    assert_frequencies(np.bincount(found, minlength=3), np.full(3, 1 / 3))
    assert rejects(assert_frequencies, np.array([40, 0, 0]), np.full(3, 1 / 3))


def test_a_seat_code_is_asked_for_once(phone: Page) -> None:
    serve(phone, seats=True)
    phone.get_by_label("Your seat code").fill(" abcde ")
    press(phone, "7")
    assert phone.evaluate("sent")[0][1]["seat"] == "abcde"
    serve(phone, seats=True, problem="This seat code was used already.")
    assert phone.get_by_label("Your seat code").is_visible()
    serve(phone, seats=True, round=1)
    assert phone.get_by_label("Your seat code").is_hidden()


@pytest.mark.parametrize(("typed", "counted"), [("1000000", "24"), ("-0,5", "0")])
def test_clipping_is_said_before_the_press_and_nowhere_after_it(
    phone: Page, typed: str, counted: str
) -> None:
    phone.get_by_label("Your value").fill(typed)
    assert said(phone) == f"It will count as {counted}."
    press(phone, typed)
    assert "count" not in said(phone)
    serve(phone, asked=asked(phone))
    left = said(phone) + json.dumps(stored(phone)) + json.dumps(phone.evaluate("sent"))
    assert "Sending … " in left
    assert "clip" not in left
    assert "count as" not in left
    assert typed not in left
    assert "note" not in stored(phone)["poll-ABCDE"]


def test_a_plain_number_is_answered_and_nothing_else(phone: Page) -> None:
    for typed in ("seven", "0x10", "1e3", "Infinity", "", "1.2.3"):
        press(phone, typed)
        assert said(phone) == "Type a number, such as 7.5."
        assert phone.evaluate("sent") == []
    for typed in ("7", "7.5", "7,5", "+.5", "-3"):
        again(phone)
        press(phone, typed)
        assert phone.evaluate("sent.length") == 1


def test_a_category_is_answered_received_and_kept_for_its_words_only(phone: Page) -> None:
    words = ["yes", "no", "perhaps", "<b>never</b>"]
    terms = {"words": words, "low": None, "high": None}
    serve(phone, **terms)
    phone.get_by_role("button", name="Answer").click()
    assert said(phone) == "Choose one of the answers."
    phone.get_by_label("<b>never</b>").check()
    phone.get_by_role("button", name="Answer").click()
    question = {"ticket": phone.evaluate("sent")[0][1]["ticket"], "chances": chances(2.0, 4)}
    # Other words than those on the screen, and a table for three words, are refused.
    serve(phone, **terms | {"words": words[::-1]}, asked=question)
    assert "The answers to choose from changed" in said(phone)
    serve(phone, **terms)
    phone.get_by_label("no").check()
    phone.get_by_role("button", name="Answer").click()
    serve(phone, **terms, asked=question | {"chances": chances(2.0)})
    assert "reveals more than it promises" in said(phone)
    assert not phone.locator(":checked").count()
    phone.get_by_label("no").check()
    phone.get_by_role("button", name="Answer").click()
    serve(phone, **terms, asked=question)
    name, answer = phone.evaluate("sent")[-1]
    assert name == "answer"
    assert answer["word"] in range(4)
    assert said(phone).startswith(f"Sending … {words[answer['word']]}. ")
    serve(phone, **terms, taken=question["ticket"])
    assert said(phone).startswith("Received: ")
    serve(phone, **terms, code="OTHER")
    assert said(phone) == ""
    assert phone.get_by_role("button", name="Answer").is_enabled()


DRAWN = """([source, truth, wrong, many, repeats]) => import(source).then(({ draw }) =>
    Array.from({ length: repeats }, () => draw(truth, BigInt(wrong), many)))"""


@pytest.mark.parametrize(("truth", "many"), [(1, 3), (0, 2), (4, 5)])
def test_the_telephone_draws_by_the_table(phone: Page, truth: int, many: int) -> None:
    rare, right = chances(2.0, many)
    words = phone.evaluate(DRAWN, ["/poll.js", truth, rare, many, 100_000])
    found = np.bincount(words, minlength=many)
    table = np.full(many, rare / CHANCES)
    table[truth] = right / CHANCES
    assert_frequencies(found, table)
    assert rejects(assert_frequencies, found, np.roll(table, 1))


TESTED = "tables => tables.map(([epsilon, w, r]) => isPromised(epsilon, BigInt(w), BigInt(r)))"


def test_telephone_and_server_agree_on_every_budget(phone: Page) -> None:
    budgets = [0.735, *np.linspace(0.25, 4.0, 3001).tolist(), 1e-6, 20.0]
    honest = [(epsilon, *chances(epsilon)) for epsilon in budgets]
    richer = [(epsilon, wrong - 1, right + 2) for epsilon, wrong, right in honest]
    assert phone.evaluate(TESTED, honest) == [True] * len(honest)
    assert phone.evaluate(TESTED, richer) == [False] * len(richer)
