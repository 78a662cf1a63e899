"""Columns of a file: what is read, and that what is wrong is one line without a value or a size."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from abcdp_core.own_data import columns, series
from abcdp_core.own_data.request import columns_of, own_sizes, scenarios
from abcdp_core.own_data.series import SeriesError
from abcdp_core.own_model.lattice import Table
from abcdp_core.parameters import ParameterError
from abcdp_core.simulators import tuberculosis_patients

PATIENTS, PEOPLE = "tuberculosis-patients", "covid-people"
CANARY = "Beijing-SIT1-48151623"


def read(text: str, column: str) -> list[float]:
    """What a file holds, without the empty rows of a report."""
    scenario = PEOPLE if column == "daily-counts" else PATIENTS
    values = columns.read(text.encode(), scenario, column)
    if scenario == PATIENTS:
        assert len(values) == 20_000, "how many clusters there are is not in its shape"
        return values[values > 0].tolist()
    return values.tolist()


def test_labels_and_sizes_of_the_same_report_are_the_same() -> None:
    labels = ["a", "b", "a", "c", "a", "b", "7", '"x, y"', " a "]
    assert read("strain\n" + "\n".join(labels), "labels") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("size\r\n4\r\n2\r\n1\r\n1\r\n1\r\n", "sizes") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("4\n2\n1e0", "sizes") == [4.0, 2.0, 1.0], "a header may be missing"
    shuffled = labels.copy()
    random.Random(1).shuffle(shuffled)
    assert read("strain\n" + "\n".join(shuffled), "labels") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("strain\n", "labels") == [], "nobody is a number of patients too"


def test_the_first_row_of_labels_is_the_header_whatever_it_is() -> None:
    # A patient who is left out must not make a header of the next row.
    assert read("Beijing\nHaarlem\nHaarlem", "labels") == [2.0]
    assert read("strain 12\nHaarlem\nBeijing", "labels") == [1.0, 1.0]


def test_daily_counts_keep_their_order() -> None:
    counts = [*range(13, -1, -1)]
    assert read("cases\n" + "\n".join(map(str, counts)), "daily-counts") == counts


@pytest.mark.parametrize(
    ("column", "text", "sentence"),
    [
        (
            "labels",
            "30\n23\n15",
            "Row 1 is a number: the first row of labels must name the column.",
        ),
        ("sizes", f"size\n{CANARY}\n3", "Row 2 is not a number: write it like 12.5 or 1.25e1."),
        ("sizes", f"{CANARY}\n3", "Row 1 is not a number like 12.5 and may be a spoilt one"),
        ("sizes", "3\n2.5", "Row 2 is no number of patients: write a whole number from 1 up."),
        ("sizes", "size\n3\n0", "Row 3 is no number of patients: write a whole number from 1 up."),
        ("sizes", "3\n-4815", "Row 2 is no number of patients: write a whole number from 1 up."),
        ("sizes", "3\n4815162342", "Row 2 is above 1,000,000 patients"),
        ("sizes", "3\n\n4", "Row 2 is empty: every row needs a number."),
        ("sizes", "1\n" * 20_001, "The file has more than 20,000 clusters, the most that are"),
        ("labels", f"strain\n{CANARY}\n\nb", "Row 3 is empty: every patient needs a label."),
        ("labels", f'strain\n{CANARY}\n""', "Row 3 is empty: every patient needs a label."),
        ("labels", f"strain\n{CANARY},3", "Row 2 has more than one column: give one label a row"),
        ("labels", f'strain\n{CANARY}"3', "Row 2 has more than one column: give one label a row"),
        ("labels", f"{CANARY}\n{CANARY}", "Row 1 is a label of patients: the first row must name"),
        ("labels", "strain\n" + CANARY * 12, "Row 2 is longer than the 200 characters of a label."),
        ("labels", "a\n" + "b\n" * 20_001, "The file has more than 20,000 patients, the most that"),
        ("labels", f"strain,{CANARY}\na,b", "Row 2 has more than one column: give one label"),
        ("labels", f"strain,{CANARY}\na", "Row 1 has more than one column: give one label a row"),
        ("labels", "", "The file is empty."),
        ("daily-counts", "3\n2.5", "Row 2 is no number of cases: write a whole number from 0 up."),
        ("daily-counts", "3\n-1", "Row 2 is no number of cases: write a whole number from 0 up."),
        ("daily-counts", "3\n4815162342", "Row 2 is above 1,000,000,000 cases"),
        ("daily-counts", "3\n" * 61, "The file has more than 60 days, the most that are read."),
    ],
)
def test_what_is_wrong_is_one_line_without_a_value_or_a_size(
    column: str, text: str, sentence: str
) -> None:
    with pytest.raises(SeriesError) as caught:
        read(text, column)
    said = str(caught.value)
    assert said.startswith(sentence)
    assert "\n" not in said
    assert "4815" not in said
    assert "20,001" not in said
    assert "20,002" not in said


@pytest.mark.parametrize(
    ("names", "header"),
    [
        (["minutes"], "minutes"),
        (["age, years", 'the "x"'], '"age, years","the ""x"""'),
        ([f"c{j}" for j in range(21)], f"{','.join(f'c{j}' for j in range(20))} and 1 more"),
    ],
)
def test_a_first_row_is_named_as_a_file_must_have_it(names: list[str], header: str) -> None:
    assert columns._header(names) == header


def test_zero_cases_are_a_number_of_cases_and_zero_patients_no_cluster() -> None:
    assert read("0\n" * 14, "daily-counts") == [0.0] * 14
    with pytest.raises(SeriesError):
        read("0\n" * 14, "sizes")


def test_the_column_is_asked_for_where_only_the_data_could_tell() -> None:
    assert columns.chosen(PEOPLE, None) == "daily-counts"
    assert columns.chosen(PATIENTS, "sizes") == "sizes"
    assert columns.chosen("covid", None) == "values"
    for scenario, name, sentence in (
        (PATIENTS, None, f"column = none was named: for {PATIENTS} it must be labels (one strain"),
        (PATIENTS, "values", f"column = values: for {PATIENTS} it must be labels (one strain"),
        ("covid", "sizes", "column = sizes: for covid it must be values (one column of numbers)."),
    ):
        with pytest.raises(ParameterError) as caught:
            columns.chosen(scenario, name)
        assert str(caught.value).startswith(sentence)


def test_every_column_of_every_scenario_has_a_reader_and_words() -> None:
    for scenario in scenarios():
        for column in columns_of(scenario):
            assert column in columns.READERS
            assert column in columns.WORDS
    # A table of records is read by its scenario.
    assert {*columns.READERS, columns.RECORDS} == columns.WORDS.keys()
    assert columns.READERS["values"] is series.read


def test_the_longest_report_is_below_the_largest_file() -> None:
    longest = "x" * (series.LARGEST_FILE // own_sizes(PATIENTS)[1] - 6)
    assert len(longest) > 80
    assert tuberculosis_patients.from_series(np.zeros(20_000)).shape == (20_000, 1)


REGISTER = Table(
    columns=("minutes",),
    whole=frozenset(),
    summaries=(),
    neighbours="replace",
    sizes=(2, 1000),
    unit="a patient",
    declared=(),
    file="register.toml",
    digest="",
    statistic=cast("Any", None),
    bounds="",
    wrong=lambda _values: "",
    pool=cast("Any", None),
)


def test_a_register_is_a_larger_file_than_a_series(tmp_path: Path) -> None:
    # A column that is not looked at makes few rows a large file.
    rows = [f"{row},{'x' * 100_000}\n" for row in range(30)]
    file = tmp_path / "register.csv"
    file.write_text("minutes,remark\n" + "".join(rows))
    assert file.stat().st_size > 1.4 * series.LARGEST_FILE
    content = series.content_of(file, columns.largest_file(columns.RECORDS))
    assert columns.records(content, REGISTER)[:, 0].tolist() == list(range(30))
    with pytest.raises(SeriesError, match="is larger than 2 MB"):
        series.read(series.content_of(file, columns.largest_file("values")), 20_000)


def test_a_register_too_large_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LARGEST_TABLE", 2**20)
    said = "The file is larger than 1 MB, the most that is read: give the columns that are read"
    with pytest.raises(SeriesError, match=said):
        columns.records(bytes(2**20 + 1), REGISTER)


@pytest.mark.parametrize(
    ("neighbours", "said"),
    [
        ("replace", "number of records = 1001: must be a whole number from 2 to 1000."),
        ("add-remove", "The file has more than 1,000 records, the most that are read."),
    ],
)
def test_of_a_register_with_too_many_rows_none_is_looked_at(
    neighbours: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million rows of one digit took four seconds, in which other visitors waited."""
    register, most = dataclasses.replace(REGISTER, neighbours=neighbours), REGISTER.sizes[1]
    monkeypatch.setattr(columns, "_entry", lambda *_, **__: 1.0)
    assert len(columns.records(b"minutes\n" + b"1\n" * most, register)) == most
    monkeypatch.delattr(columns, "_entry")
    with pytest.raises(SeriesError, match=said):
        columns.records(b"minutes\n" + b"1\n" * (most + 1), register)
