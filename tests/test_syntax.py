from __future__ import annotations

import ast
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from abcdp_core import syntax


def test_the_tree_of_a_text_and_an_error_that_names_it() -> None:
    assert ast.unparse(syntax.parse("ε = 1".encode())) == "ε = 1"
    with pytest.raises(SyntaxError, match="mine"):
        syntax.parse(b"1 +", "mine")


def test_two_threads_never_parse_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both_inside = threading.Barrier(2, timeout=0.1)

    def parse(*_: object) -> bool:
        """Whether another thread came in as well."""
        try:
            both_inside.wait()
        except threading.BrokenBarrierError:
            return False
        return True

    monkeypatch.setattr(ast, "parse", parse)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(ast.parse, "ab")) == [True, True], "it would be seen"
        assert list(threads.map(syntax.parse, (b"a", b"b"))) == [False, False]
