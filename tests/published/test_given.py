"""Problems that visitors give: read in moments, from memory alone, or refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from abcdp_core.own_model import tables
from abcdp_core.parameters import ParameterError
from abcdp_core.places import EXAMPLES
from abcdp_core.published import given, pools
from abcdp_core.published.pools import Pool
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
    found = given.read(problem(REGRESSION, NINE, LAPLACE))
    assert (found.name, found.simulator) == ("your release", "linear-regression")
    assert found.draws == 200_000
    assert given.read(problem(REGRESSION, NINE, "draws = 5000", LAPLACE)).draws == 5000


def test_a_pool_is_the_table_that_was_given_whatever_its_name() -> None:
    found = given.read(POOLED, POOL.encode())
    assert isinstance(found.source, Pool)
    assert found.source.theta.shape == (150, 1)
    assert found.draws == 150
    quoted = POOL.replace("theta.a,summary.s", '"theta.a","summary.s"').encode()
    assert given.read(POOLED, quoted).source.parameters == ("a",)


def test_no_file_of_the_server_is_read() -> None:
    with pytest.raises(ParameterError, match=r"^pool = /etc/passwd: no file of this server is"):
        given.read(POOLED)


def test_a_byte_order_mark_is_no_reason_to_refuse() -> None:
    assert given.read(b"\xef\xbb\xbf" + problem(REGRESSION, NINE, LAPLACE)).seed == 1


# As a key it would take half a minute.
DOTTED = "a." * 30_000 + "a = 1"
# Each key takes as long as all of the table's.
LONG = [f"[{'a.' * 2700}a]", *(f"k{n}{'.a' * 10} = 1" for n in range(1500))]
WIDE = ",".join(f"theta.t{n}" for n in range(300))

HOSTILE = {
    "large": (b"#" * (given.LARGEST_TEXT + 1), "problem: is larger than 64 kB."),
    "not too large": (b"#" * given.LARGEST_TEXT, "query: is missing."),
    "dotted": (DOTTED.encode(), "problem: is no TOML (its lines have too many dots; break them)."),
    "dotted, among others": (problem("seed = 1", DOTTED), "too many dots"),
    "dotted by halves": (problem(*["a." * 2200 + "a = 1"] * 2), "too many dots"),
    "a long table of short keys": ("\n".join(LONG).encode(), "too many dots"),
    "not too dotted": (problem(f"#{'.' * 2900}"), "query: is missing."),
    "dotted table": (f"[{DOTTED[:-4]}]".encode(), "too many dots"),
    "few enough dots": (problem("a." * 2900 + "a = 1"), "a: unknown key"),
    "nested": (b"a = " + b"[" * 30_000, "problem: is no TOML (nested too deeply)."),
    "nested value": (problem(f"query = {'[' * 200}{']' * 200}", REGRESSION, LAPLACE), "query: has"),
    "many keys": (problem(*(f"k{n}=1" for n in range(7000))), "k0: unknown key; known are sim"),
    "many digits": (problem(f"seed = {'9' * 5000}"), "problem: is no TOML (Exceeds the limit"),
    "huge": (problem(REGRESSION, NINE, f"seed = {'9' * 4000}", LAPLACE), "seed = a number beyond"),
    "huge query": (
        problem(REGRESSION, NINE.replace("[0", f"[{'9' * 4000}"), LAPLACE),
        "query, number 1 = a number beyond 1e308: must be a number from -1e+12 to 1e+12.",
    ),
    "huge in a list": (
        problem(f"seed = [0x{'f' * 60_000}]", REGRESSION, NINE, LAPLACE),
        "seed = numbers beyond 1e308: must be",
    ),
    "infinite": (problem(REGRESSION, NINE.replace("[0", "[1e999"), LAPLACE), "number 1 = inf:"),
    "markup": (b'"<b>![](http://a.b)" = 1', "<b>![](http://a.b): unknown key; known are simulator"),
    "lines": (b'"a\\nb" = 1', r"'a\nb': unknown key"),
    "bytes": (b"\xff\xfe", "problem: is not in UTF-8."),
    "a date": (problem(REGRESSION, "query = 1979-05-27", LAPLACE), "query = datetime.date"),
    "a table": (problem(REGRESSION, LAPLACE, "[query]"), "query = {}: must be a list of numbers."),
    "empty": (b"", "query: is missing."),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_given_as_a_problem_gets_one_line_in_moments(name: str) -> None:
    text, words = HOSTILE[name]
    with pytest.raises(ParameterError) as caught:
        given.read(text)
    said = str(caught.value)
    assert words in said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"1" * (given.LARGEST_TABLE + 1), "table: is larger than 2 MB."),
        (b"1" * given.LARGEST_TABLE, "table: has a field longer than 131,072 characters"),
        (b"a," * 500_000, "table: its first line must have the names of at most 20 parameters"),
        (b'"a\n' + b"a," * 500_000, "table: quotation marks must be around single fields"),
        # Blank lines before the first one that is read, and fields that go on in the next line.
        (b"\n" * 2**20 + b"," * 2**20, "table: its first line must have the names of at most"),
        (b"\xef\xbb\xbf \n" + b'"\n",' * 400_000, "table: quotation marks must be around"),
        (b'theta.a","\n' + b'",x,"\n' * 300_000, "table: quotation marks must be around"),
        (b"theta.a,summary.s\n" + b"\n" * 2**20 + b"," * 10**6, "has 1,000,001 fields; the first"),
        (WIDE[:900].encode() + b"\n" + b"1\n" * 10**6, "table: line 2 has 1 field; the first line"),
        (b"theta." + b"x" * 10**6 + b",summary.s\nx,1\n", "table: parameter xxxxx"),
        (WIDE.encode(), "table: its first line must have the names of at most 20 parameters"),
        (b"", "table: its first line must have the names of at most 20 parameters"),
        (b"PAR1" + b"\x00" * 50, "table"),
        (POOL.replace("theta.a", "theta.<b>a</b>").encode(), "table: parameter <b>a</b>: must be"),
        (POOL.replace("summary.s", "summary.$s$").encode(), "table: number $s$: must be called"),
        (POOL.replace("\n0.714,5,0\n", "\nx,5,0\n").encode(), "column theta.a, row 6: is no fin"),
    ],
    ids=range(16),
)  # fmt: skip
def test_whatever_is_given_as_a_table_gets_one_line(table: bytes, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        given.read(POOLED, table)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def columns(parameters: int, numbers: int) -> bytes:
    """A table of so many."""
    names = [f"theta.t{n}" for n in range(parameters)] + [f"summary.s{n}" for n in range(numbers)]
    rows = (",".join([str(row % 7)] * len(names)) for row in range(120))
    return "\n".join([",".join(names), *rows]).encode()


def test_a_table_has_as_many_columns_as_are_allowed_and_no_more() -> None:
    query = f'pool = "p.csv"\nquery = {[0] * 200}\n{LAPLACE}'.encode()
    assert len(given.read(query, columns(20, 200)).source.parameters) == 20
    with pytest.raises(ParameterError, match="table: its first line must have the names of at"):
        given.read(query, columns(21, 200))
    for wide, words in ((columns(21, 2), "21 parameters; at most 20"),
                        (columns(1, 201), "201 numbers; at most 200")):  # fmt: skip
        with pytest.raises(ParameterError, match=f"table: has {words} are read"):
            given.read(query, wide)


def test_a_table_that_nothing_needs_is_refused() -> None:
    with pytest.raises(ParameterError, match="simulator: needs no table"):
        given.read(problem(REGRESSION, NINE, LAPLACE), POOL.encode())


def test_the_examples_can_be_given() -> None:
    for name in exact_answers.PLANS:
        assert given.read((EXAMPLES / f"{name}.toml").read_bytes()).spent is not None
