"""Problems that visitors upload: read fast, from memory alone, or refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from abcdp_core.parameters import ParameterError
from abcdp_core.places import EXAMPLES
from abcdp_core.published import pools, uploaded_problem
from abcdp_core.published.pools import Pool
from abcdp_core.tabular import pools as tables
from tests.published.files import LAPLACE, NINE, POOL, REGRESSION
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


def test_a_simulator_is_an_installed_one_and_a_pool_the_uploaded_table() -> None:
    found = uploaded_problem.read(b"\xef\xbb\xbf" + problem(REGRESSION, NINE, LAPLACE))
    assert (found.name, found.simulator) == ("your release", "linear-regression")
    assert found.draws == 200_000
    assert uploaded_problem.read(problem(REGRESSION, NINE, "draws = 5000", LAPLACE)).draws == 5000
    for name in exact_answers.PLANS:
        assert uploaded_problem.read((EXAMPLES / f"{name}.toml").read_bytes()).spent is not None
    found = uploaded_problem.read(POOLED, POOL.encode())
    assert isinstance(found.source, Pool)
    assert found.source.theta.shape == (150, 1)
    assert found.draws == 150


@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        (POOLED, None, "pool = /etc/passwd: this server does not open files"),
        (problem(REGRESSION, NINE, LAPLACE), POOL.encode(), "simulator: needs no table"),
        (b"#" * (uploaded_problem.LARGEST_TEXT + 1), None, "problem: is larger than 64 kB."),
        # As a key it would take half a minute.
        (b"a." * 30_000 + b"a = 1", None, "problem: a line has more than 300 dots; break it."),
        (b"a = " + b"[" * 30_000, None, "is not TOML"),
        (b'"a\\nb" = 1', None, r"'a\nb': unknown"),
        (POOLED, b"1" * (uploaded_problem.LARGEST_TABLE + 1), "table: is larger than 2 MB."),
        (POOLED, b"a," * 500_000, "table: must have at most 220 columns"),
        (POOLED, b"a,b,c\n" + b"1\n" * 10**6, "and a number in each field"),
        (POOLED, b"PAR1" + b"\x00" * 50, "table"),
        (POOLED, POOL.replace("theta.a", "theta.<b>a</b>").encode(), "theta.<b>a</b>"),
    ],
    ids=range(11),
)
def test_an_invalid_upload_is_refused_in_one_line_and_in_moments(
    text: bytes, table: bytes | None, words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        uploaded_problem.read(text, table)
    said = str(caught.value)
    assert words in said
    assert said.isprintable()
