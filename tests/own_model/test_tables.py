"""Tables made elsewhere, by somebody who means no good."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from abcdp_core.own_model import tables
from abcdp_core.own_model.blame import OwnError
from abcdp_core.parameters import ParameterError
from abcdp_core.published import pools

HEAD = "theta.a,summary.s"
ROWS = [f"{row / 7:.3f},{row}" for row in range(150)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}\n" + "".join(f"9,{row}\n" for row in ROWS), "rows have more fields than"),
        ("," * 10_000, "has more than 10,000 columns"),
        ("\n\n" + ",".join(map(str, range(10_001))), "has more than 10,000 columns"),
        ("\ufeff\n" + "," * 9_999 + "\n1" * 10_001, "has more than 100,000,000 numbers"),
        ("a" + "\r\n" * 9 + "," * 9_999 + "\r1" * 10_001, "has more than 100,000,000 numbers"),
        ("\n" * 2**18 + "," * 9_999 + "\n1" * 10_001, "has more than 100,000,000 numbers"),
        ("a\n" + "\n" * 2**18 + "," * 9_999 + "\n1" * 10_001, "has more than 100,000,000 numbers"),
        ("x" * 2**23 + ",b\n1,2", "has first rows longer than 4,194,304 characters"),
        ("a\r" + "1" * 2**23 + ",2\r3,4", "has first rows longer than 4,194,304 characters"),
        ("a,b\n" + ("," * 10**6 + '"\n"') * 5, "has first rows longer than 4,194,304 characters"),
        ('"a\n\rb\n"' + "," * 9_999 + "\n1" * 10_001, "has more than 100,000,000 numbers"),
        ('x"y,"\n"' + "," * 9_998 + "\n1" * 10_001, "has more than 100,000,000 numbers"),
        ('"a' + "\n" * 2**20, "has a field longer than 131,072 characters in its first rows"),
    ],
)
def test_columns_never_move_and_names_are_no_million(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "pool.csv"
    file.write_text(text, encoding="utf-8")
    for read in (tables.read, pools.read):
        with pytest.raises(ParameterError, match=words):
            read(file)


def test_as_many_columns_as_are_allowed_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_COLUMNS", 3)
    file = tmp_path / "pool.csv"
    file.write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    assert tables.read(file).shape == (1, 3)
    file.write_text("a,b,c,d\n1,2,3,4\n", encoding="utf-8")
    with pytest.raises(OwnError, match="has more than 3 columns"):
        tables.read(file)


@pytest.mark.parametrize("name", ["pool.csv", "pool.parquet"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OwnError, match=f"{name}: is no file"):
        tables.read(tmp_path / name)
    if name.endswith(".csv"):
        with pytest.raises(ParameterError, match="is no file"):
            pools.read(tmp_path / name)


@pytest.mark.parametrize(
    ("value", "words"),
    [("9" * 400, "is no finite number"), ("1e400", "is no finite number"), ("-1e61", "is beyond")],
)
def test_a_number_without_end_is_told_by_its_row(value: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "pool.csv"
    rows = [*ROWS[:4], f"0.1,{value}", *ROWS[4:]]
    file.write_text("\n".join([HEAD, *rows]), encoding="utf-8")
    with pytest.raises(OwnError, match=f"column summary.s, row 5: {words}"):
        tables.finite("pool.csv", tables.read(file), "summary.s")
    with pytest.raises(ParameterError, match=r"column summary\.s, row 5: "):
        pools.read(file)


@pytest.mark.parametrize(
    "note", ['{"index_columns": ["a"], "columns": [], "column_indexes": []}', "[]"]
)
def test_what_pandas_noted_in_a_parquet_file_is_not_believed(note: str, tmp_path: Path) -> None:
    made = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    pq.write_table(made.replace_schema_metadata({"pandas": note}), tmp_path / "pool.parquet")
    found = tables.read(tmp_path / "pool.parquet")
    assert found.to_dict("list") == {"a": [1.0, 2.0], "b": [3.0, 4.0]}


def test_texts_are_no_numbers_where_there_are_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"a": ["1", "2.5"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(OwnError, match=r"column a: holds no number"):
        tables.finite("t", tables.read(tmp_path / "t.parquet"), "a")


def test_a_small_file_of_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"a": np.ones(1000), "b": np.ones(1000)}), tmp_path / "t.parquet")
    assert len(tables.read(tmp_path / "t.parquet")) == 1000
    monkeypatch.setattr(tables, "MOST_NUMBERS", 1999)
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    with pytest.raises(OwnError, match=r"t\.parquet: has more than 1,999 numbers"):
        tables.read(tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.duration("ms")])
def test_times_are_no_numbers(kind: pa.DataType, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1, 2], kind)}), tmp_path / "t.parquet")
    with pytest.raises(OwnError, match=r"column a: holds no number"):
        tables.finite("t", tables.read(tmp_path / "t.parquet"), "a")


def test_a_parquet_file_of_a_kind_that_nothing_reads_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise pa.ArrowNotImplementedError("Integers with more than 64 bits not implemented")

    (tmp_path / "t.parquet").touch()
    monkeypatch.setattr(pd, "read_parquet", unknown)
    with pytest.raises(OwnError, match=r"t\.parquet: is no table"):
        tables.read(tmp_path / "t.parquet")


def test_texts_are_not_read_whatever_a_file_says_of_their_size(tmp_path: Path) -> None:
    """A file of a hundred kilobytes took ten gigabytes."""
    rows, text = 30, "1" * 900_000
    pq.write_table(
        pa.table({"a": np.ones(rows), "b": [text] * rows}),
        tmp_path / "t.parquet",
        compression="zstd",
        use_dictionary=False,
    )
    before = pa.default_memory_pool().max_memory()
    assert tables.read(tmp_path / "t.parquet")["b"].isna().all()
    assert pa.default_memory_pool().max_memory() < before + len(text)


def test_a_file_that_unpacks_to_far_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": np.ones(20), "b": ["1" * 2_000_000] * 20})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "t.parquet").stat().st_size < 100_000
    assert tables.read(tmp_path / "t.parquet").shape == (20, 2)
    monkeypatch.setattr(tables, "LARGEST_FILE", 30 * 2**20)
    with pytest.raises(OwnError, match=r"t\.parquet: is larger than 30 MB once unpacked"):
        tables.read(tmp_path / "t.parquet")


def test_what_holds_no_number_has_none(tmp_path: Path) -> None:
    made = {
        "theta.a": [1.0, 2.0],
        "lists": [[1.0], [2.0, 3.0]],
        "fixed": pa.array([b"1", b"2"], pa.binary(1)),
        "bytes": [b"1", b"2"],
        "texts": pa.array(["1", "2"]).dictionary_encode(),
        "named": pa.array([1, 2]).dictionary_encode(),
        "whole": [1, 2],
        "decimal": pa.array([Decimal("1"), Decimal("2.000")]),
        "decimals": pa.array([Decimal("1"), Decimal("2.0")]).dictionary_encode(),
        "times": pa.array([1, 2], pa.duration("us")),
    }
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    found = tables.read(tmp_path / "t.parquet")
    assert list(found) == list(made)
    for name in ("theta.a", "named", "whole", "decimal", "decimals"):
        assert np.array_equal(tables.numbers_of(found[name]), [1.0, 2.0])
    for name in ("lists", "fixed", "bytes", "texts", "times"):
        assert np.isnan(tables.numbers_of(found[name])).all()


@pytest.mark.parametrize("of_a_part", [60, -60])
def test_a_file_that_says_less_of_its_rows_than_its_parts_do_is_refused(
    of_a_part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or whose parts say that they have less than none."""
    pq.write_table(pa.table({"a": np.ones(120)}), tmp_path / "t.parquet", row_group_size=60)
    content = (tmp_path / "t.parquet").read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer, rows, part = content[-8 - size :], bytes([0x16, 240, 1]), bytes([0x16, 120])
    # Thrift's compact form of 120 as the third field of all, and of 60 as one of each part.
    assert footer.count(rows) == 1
    assert footer.count(part) >= 2
    said = bytes([0x16, 2 * of_a_part if of_a_part > 0 else -2 * of_a_part - 1])
    footer = footer.replace(part, said).replace(rows, bytes([0x16, 0x82, 0]))
    file = tmp_path / "t.parquet"
    file.write_bytes(content[: -8 - size] + footer)
    assert pq.ParquetFile(file).metadata.num_rows == 1
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).num_values == of_a_part
    monkeypatch.setattr(tables, "MOST_NUMBERS", 119)
    with pytest.raises(OwnError, match="has more than 119 numbers"):
        tables.read(file)


def test_decimals_are_read_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "DECIMALS", 3)
    values = [(Decimal(number) / 7).quantize(Decimal("1e-20")) for number in range(10)]
    column = pa.array([None, *values], pa.decimal128(38, 20))
    pq.write_table(pa.table({"a": column, "b": np.ones(11)}), tmp_path / "t.parquet")
    found = tables.numbers_of(tables.read(tmp_path / "t.parquet")["a"])
    assert np.isnan(found[0])
    assert found[1:].tolist() == [float(value) for value in values]


def test_texts_within_a_column_that_has_the_name_of_another_are_not_read(tmp_path: Path) -> None:
    made = {"a.b": [1.0], "a": [{"b": "text"}]}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    with pytest.raises(OwnError, match=r"t\.parquet: has two columns a\.b\."):
        tables.read(tmp_path / "t.parquet")


def test_what_is_not_read_is_in_nobody_s_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of lists beside the numbers only those are counted that are read, and none has their name."""
    lists = pa.array([[1, 2, 3, 4]] * 5)
    made = {"theta": lists, "theta.a": np.arange(5.0), "theta.a-b": lists, "theta.a.b": np.ones(5)}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    monkeypatch.setattr(tables, "MOST_NUMBERS", 20)
    found = tables.read(tmp_path / "t.parquet")
    assert tables.numbers_of(found["theta.a"]).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert tables.numbers_of(found["theta.a.b"]).tolist() == [1.0] * 5
    assert np.isnan(tables.numbers_of(found["theta"])).all()
    # Each has its place in the table, read or not.
    monkeypatch.setattr(tables, "MOST_NUMBERS", 19)
    with pytest.raises(OwnError, match="has more than 19 numbers"):
        tables.read(tmp_path / "t.parquet")


def test_blank_lines_without_end_are_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("\n" * 50 + "a\n1\n", encoding="utf-8")
    assert len(tables.read(tmp_path / "t.csv")) == 1
    monkeypatch.setattr(tables, "MOST_NUMBERS", 51)
    monkeypatch.setattr(tables, "_first_rows", None)
    with pytest.raises(OwnError, match=r"t\.csv: has more than 51 lines"):
        tables.read(tmp_path / "t.csv")


def test_two_columns_of_one_name_are_one_line(tmp_path: Path) -> None:
    made = pa.table([[1.0, 2.0], [3.0, 4.0]], names=["summary.s", "summary.s"])
    pq.write_table(made, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text('summary.s,"summary.s"\n1,3\n2,4\n', encoding="utf-8")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(OwnError, match=rf"{name}: has two columns summary\.s\."):
            tables.read(tmp_path / name)
