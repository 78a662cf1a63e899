"""Text from outside is shown as text: no image, no link, no formula, and it does not end early."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.base import syntax
from tests.sources import ROOT, files_of
from ui.verbatim import LONGEST, UNSHOWABLE, verbatim
from ui.view import controls_spec, link

IMAGE = "![](http://192.0.2.1/seen.png)"
HOSTILE = [
    IMAGE,
    f"` {IMAGE}",
    f"``` {IMAGE} ``",
    f"x\n\n{IMAGE}",
    f"x\r\u2028\u2029{IMAGE}",
    "<img src=http://192.0.2.1/seen.png>",
    "[here](http://192.0.2.1/) https://192.0.2.1/ me@192.0.2.1",
    "$\\includegraphics{http://192.0.2.1}$",
    ":red[x] :smile: :material/face: -> # * _",
    "\u202etxet",
    "",
    " ",
    "`",
]


def inside(markdown: str) -> str:
    """What a code span that is all of a text holds, by the rules of CommonMark.

    Raises:
        AssertionError: the text is not one code span.
    """
    fence = re.match("`+", markdown)
    assert fence is not None
    assert "\n" not in markdown
    runs = [run.start() for run in re.finditer("`+", markdown) if len(run[0]) == len(fence[0])]
    assert runs == [0, len(markdown) - len(fence[0])]
    held = markdown[len(fence[0]) : -len(fence[0])]
    strips = held[:1] == held[-1:] == " " and held.strip(" ") != ""
    return held[1:-1] if strips else held


@given(st.text() | st.text("`\n ![]()") | st.sampled_from(HOSTILE))
def test_any_text_is_one_code_span_that_holds_it(text: str) -> None:
    shown = inside(verbatim(text))
    whole = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if whole.strip(" "):
        assert len(shown) == len(whole)
        pairs = zip(shown, whole, strict=True)
        assert all(a == b or (a == UNSHOWABLE and not b.isprintable()) for a, b in pairs)
    verbatim(text).encode()


def test_a_code_span_that_ends_early_would_be_seen_and_a_long_text_is_cut() -> None:
    for broken in (f"`a` {IMAGE} `", f"` a\n\n{IMAGE} `", IMAGE):
        with pytest.raises(AssertionError):
            inside(broken)
    assert inside(verbatim("x" * 10**6)) == "x" * (LONGEST - 1) + "…"
    assert inside(verbatim(ValueError("12345"), 4)) == "123…"


def without_code(markdown: str) -> str:
    """A sentence without its code spans."""
    return re.sub(r"(`+) .*? \1(?!`)", "", markdown)


@pytest.mark.parametrize("key", ["c", "preset", "scenario", "version", "no_such_knob"])
def test_no_notice_about_a_link_has_markdown_of_the_link(key: str) -> None:
    known = {name: controls_spec.find(name) for name in ("c", "preset")}
    for query in [each for text in HOSTILE for each in ({key: text}, {text: key})]:
        reading = link.read(query, known)
        for notice in (*reading.notices, reading.note):
            rest = without_code(notice)
            assert re.fullmatch(r"[A-Za-z0-9 .:;,]*", rest), rest


def caught(handler: ast.ExceptHandler) -> list[str]:
    """Uses of a caught error that put its message into a text, as source code."""
    harmless: list[ast.AST | None] = []
    for each in ast.walk(handler):
        if isinstance(each, ast.Raise):
            harmless.append(each.cause)
        elif isinstance(each, ast.Call) and ast.unparse(each.func) in ("verbatim", "type"):
            harmless += each.args
    return [
        f"line {node.lineno}"
        for node in ast.walk(handler)
        if isinstance(node, ast.Name) and node.id == handler.name and node not in harmless
    ]


def messages_shown_as_markdown(source: str) -> list[str]:
    return [
        use
        for node in ast.walk(syntax.parse(source.encode()))
        if isinstance(node, ast.ExceptHandler) and node.name
        for use in caught(node)
    ]


KEPT_AS_TEXT = {
    "ui/poll/hall.py": "a poll's error, which is shown verbatim or on a telephone as text",
    "ui/poll/phone.py": "goes to the telephone, which shows it as text",
    "ui/figures/downloads.py": "the job keeps it, and what shows a job's error shows it verbatim",
    "ui/jobs/queue.py": "becomes a job's error, which is shown verbatim",
    "ui/release/budget.py": "becomes a job's error, without the ledger's place",
    "ui/release/published_problem.py": "kept as text in the session, shown verbatim",
    "ui/start.py": "ends the program, in a terminal",
    "ui/router.py": "handed to what shows it verbatim or raises it again",
}
"""File -> why it may put the message of an error into a text."""


def test_no_message_of_an_error_is_put_into_markdown() -> None:
    source = 'try:\n    f()\nexcept E as error:\n    st.error(f"No: {error}")\n'
    assert messages_shown_as_markdown(source) == ["line 4"]
    assert messages_shown_as_markdown(source.replace("{error}", "{verbatim(error)}")) == []
    found = {
        file.relative_to(ROOT).as_posix()
        for file in [*files_of("ui"), *files_of("pages")]
        if messages_shown_as_markdown(file.read_text(encoding="utf-8"))
    }
    assert found == KEPT_AS_TEXT.keys(), "show the message by verbatim(), or say where it goes"
