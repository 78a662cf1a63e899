from __future__ import annotations

import ast
from unittest import mock

import pytest

from abcdp_core.base import syntax


def test_source_is_parsed_and_an_error_names_it() -> None:
    assert ast.unparse(syntax.parse("ε = 1".encode())) == "ε = 1"
    with pytest.raises(SyntaxError, match="mine"):
        syntax.parse(b"1 +", "mine")


@pytest.mark.parametrize("failures", [2, 99])
def test_a_parser_race_is_retried_a_few_times(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy parses the head of an array without our lock."""
    error = SystemError("AST constructor recursion depth mismatch (before=54, after=72)")
    disturbed = mock.Mock(side_effect=[*[error] * failures, ast.Module([], [])])
    monkeypatch.setattr(ast, "parse", disturbed)
    if failures < syntax.ATTEMPTS:
        assert syntax.parse(b"a = 1").body == []
    else:
        with pytest.raises(SystemError):
            syntax.parse(b"a = 1")
        assert disturbed.call_count == syntax.ATTEMPTS
