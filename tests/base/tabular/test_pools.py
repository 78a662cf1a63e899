"""Pools as R, pandas and spreadsheets write them."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from abcdp_core.base.tabular import TableError, pools

PLAIN = "theta.a,summary.s\n0.5,1\n1.5,2\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        "theta.a;summary.s\n0,5;1\n1,5;2\n",
        '"","theta.a","summary.s"\n"1",0.5,1\n"2",1.5,2\n',
        '"theta.a","summary.s"\n"1",0.5,1\n"2",1.5,2\n',
        ",theta.a,summary.s\n0,0.5,1\n1,1.5,2\n",
        "theta.a\tsummary.s\r\n0.5\t1\r\n1.5\t2\r\n",
    ],
    ids=["plain", "BOM", "decimal comma", "write.csv", "write.table", "pandas", "tabs"],
)
def test_a_pool_is_read_from_every_program(text: str) -> None:
    table = pools.parsed("pool.csv", io.BytesIO(text.encode()))
    assert list(table) == ["theta.a", "summary.s"]
    assert pools.finite("pool.csv", table, "theta.a").tolist() == [0.5, 1.5]
    assert pools.finite("pool.csv", table, "summary.s").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"","theta.a"\n"x",4711\n"y",1\n', "row.names = FALSE in R"),
        ("theta.a,summary.s\nx,4711,1\n", "row.names = FALSE in R"),
        ("theta.a,theta.a\n4711,1\n", "has two columns theta.a"),
        ('theta.a\n"4711\n', "is not a table (ParserError)"),
        ("theta.a\n1\n4711x\n", "column theta.a, row 2: is not a finite number"),
        ("theta.a\n1\n4711e200\n", "column theta.a, row 2: is beyond 1e"),
        ("theta.a\nx4711\ny\n", "column theta.a: holds no number"),
    ],
)
def test_an_invalid_pool_is_refused_without_a_value(text: str, words: str) -> None:
    with pytest.raises(TableError) as caught:
        pools.finite("p.csv", pools.parsed("p.csv", io.BytesIO(text.encode())), "theta.a")
    assert words in str(caught.value)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_parquet_file_has_the_same_numbers() -> None:
    kept, file = pd.DataFrame({"a": [0.5, 1.5], "b": [1, 2], "c": ["x", "y"]}), io.BytesIO()
    kept.to_parquet(file)
    file.seek(0)
    table = pools.parsed("t.parquet", file)
    assert pools.finite("t", table, "a").tolist() == [0.5, 1.5]
    assert np.isnan(pools.numbers_of(table["c"])).all()
