"""Problems that visitors give: read in moments, from memory alone, or refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from abcdp_core.parameters import ParameterError
from abcdp_core.places import EXAMPLES
from abcdp_core.published import pools, uploaded_problem
from abcdp_core.published.pools import Pool
from abcdp_core.tabular import pools as tables
from tests.published.test_problems import LAPLACE, NINE, POOL, REGRESSION
from tools import exact_answers

POOLED = f'pool = "/etc/passwd"\nquery = [1, 0]\n{LAPLACE}'.encode()


def problem(*lines: str) -> bytes:
    return "\n".join(lines).encode()


@pytest.fixture(autouse=True)
def no_file_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(pools, "read", refuse)
    monkeypatch.setattr(tables, "read", refuse)


def test_a_simulator_is_one_of_those_installed_and_has_a_limit() -> None:
    found = uploaded_problem.read(b"\xef\xbb\xbf" + problem(REGRESSION, NINE, LAPLACE))
    assert (found.name, found.simulator) == ("your release", "linear-regression")
    assert found.draws == 200_000
    assert uploaded_problem.read(problem(REGRESSION, NINE, "draws = 5000", LAPLACE)).draws == 5000
    for name in exact_answers.PLANS:
        assert uploaded_problem.read((EXAMPLES / f"{name}.toml").read_bytes()).spent is not None


def test_a_pool_is_the_table_that_was_given_whatever_its_name() -> None:
    found = uploaded_problem.read(POOLED, POOL.encode())
    assert isinstance(found.source, Pool)
    assert found.source.theta.shape == (150, 1)
    assert found.draws == 150
    quoted = POOL.replace("theta.a,summary.s", '"theta.a","summary.s"').encode()
    assert uploaded_problem.read(POOLED, quoted).source.parameters == ("a",)


@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        (POOLED, None, "pool = /etc/passwd: no file of this server is read"),
        (problem(REGRESSION, NINE, LAPLACE), POOL.encode(), "simulator: needs no table"),
        (b"#" * (uploaded_problem.LARGEST_TEXT + 1), None, "problem: is larger than 64 kB."),
        # As a key it would take half a minute.
        (b"a." * 30_000 + b"a = 1", None, "problem: a line has more than 300 dots; break it."),
        (b"a = " + b"[" * 30_000, None, "is not TOML"),
        (problem(f"seed = {'9' * 5000}"), None, "is not TOML (Exceeds the limit"),
        (b'"<b>![](http://a.b)" = 1', None, "<b>![](http://a.b): unknown; known are simulator"),
        (b'"a\\nb" = 1', None, r"'a\nb': unknown"),
        (problem(REGRESSION, "query = 1979-05-27", LAPLACE), None, "must be a list"),
        (problem(REGRESSION, NINE, f"seed = {'9' * 400}", LAPLACE), None, "must be below"),
        (POOLED, b"1" * (uploaded_problem.LARGEST_TABLE + 1), "table: is larger than 2 MB."),
        (POOLED, b"a," * 500_000, "table: must have at most 220 columns"),
        (POOLED, b"a,b,c\n" + b"1\n" * 10**6, "a number in each of every row"),
        (POOLED, b"", "table: is not a table"),
        (POOLED, b"PAR1" + b"\x00" * 50, "table"),
        (POOLED, POOL.replace("theta.a", "theta.<b>a</b>").encode(), "figures would read a part"),
        (POOLED, POOL.replace("\n0.714,5,0\n", "\nx,5,0\n").encode(), "a, row 6: is not a fin"),
    ],
    ids=range(17),
)
def test_whatever_is_given_gets_one_line_in_moments(
    text: bytes, table: bytes | None, words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        uploaded_problem.read(text, table)
    said = str(caught.value)
    assert words in said
    assert said.isprintable()
