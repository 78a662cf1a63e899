from __future__ import annotations

import ast

import pytest

from abcdp_core import syntax


def test_source_is_parsed_and_an_error_names_it() -> None:
    assert ast.unparse(syntax.parse("ε = 1".encode())) == "ε = 1"
    with pytest.raises(SyntaxError, match="mine"):
        syntax.parse(b"1 +", "mine")


def test_a_parser_race_is_retried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy parses the head of an array without our lock."""
    parse, times = ast.parse, 0

    def disturbed(*text: object) -> ast.Module:
        nonlocal times
        times += 1
        if times < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=72)")
        return parse(*text)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(syntax.parse(b"a = 1")) == "a = 1"
    times = -99
    with pytest.raises(SystemError):
        syntax.parse(b"a = 1")
    assert times == -99 + syntax.ATTEMPTS
