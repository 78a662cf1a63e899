"""Files for each scenario: what is read, and that what is wrong shows no value and no size."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, cast

import numpy as np
import pytest

from abcdp_core.own_model.lattice import Table
from abcdp_core.parameters import ParameterError
from abcdp_core.release import columns
from abcdp_core.release.columns import CumulativeError, Reading, digest_of
from abcdp_core.release.request import columns_of, scenarios, to_domain
from abcdp_core.tabular import LARGEST_FILE, TableError

PATIENTS, PEOPLE, SHARES = "tuberculosis-patients", "covid-people", "uniform-mixture"
CANARY = "Beijing-SIT1-48151623"


def read(text: str, kind: str, **how: Any) -> list[float]:
    """What a file holds, without the empty rows of a report."""
    scenario = {"daily-counts": PEOPLE, "values": SHARES}.get(kind, PATIENTS)
    values = columns.read(text.encode(), scenario, kind, Reading(**how))
    if scenario == PATIENTS:
        assert len(values) == 20_000, "how many clusters there are is not in its shape"
        return values[values > 0].tolist()
    return values.tolist()


def test_labels_and_sizes_of_the_same_report_are_the_same() -> None:
    labels = ["a", "b", "a", "c", "a", "b", "7", '"x, y"', " a "]
    assert read("strain\n" + "\n".join(labels), "labels") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("size\r\n4\r\n2\r\n1\r\n1\r\n1\r\n", "sizes") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("4\n2\n1e0", "sizes") == [4.0, 2.0, 1.0], "a header may be missing"
    table = "count,size,remark\n3,1,x\n1,4,y\n1,2,z\n0,9,\n"
    assert sorted(read(table, "sizes", column="size", count="count")) == [1.0, 1.0, 1.0, 2.0, 4.0]
    random.Random(1).shuffle(labels)
    assert read("strain\n" + "\n".join(labels), "labels") == [4.0, 2.0, 1.0, 1.0, 1.0]
    assert read("strain\n", "labels") == [], "nobody is a number of patients too"


def test_patients_without_a_genotype_are_left_out_and_are_no_cluster() -> None:
    table = "id,spoligotype\n1,a\n2,NA\n3,not done\n4,a\n5,\n6,b\n7,-\n"
    how: dict[str, Any] = {"column": "spoligotype"}
    assert read(table, "labels", missing="drop", **how) == [2.0, 1.0]
    with pytest.raises(TableError, match=r"rows 3, 4, 6, 8 have no label.*--missing drop"):
        read(table, "labels", **how)


def test_the_first_row_of_labels_is_the_header_whatever_it_is() -> None:
    # A patient who is left out must not make a header of the next row.
    assert read("Beijing\nHaarlem\nHaarlem", "labels") == [2.0]
    assert read("strain 12\nHaarlem\nBeijing", "labels") == [1.0, 1.0]


def test_days_are_in_the_order_of_their_dates() -> None:
    counts = [*range(13, -1, -1)]
    assert read("cases\n" + "\n".join(map(str, counts)), "daily-counts") == counts
    table = "d,n\n" + "".join(f"{day}.3.2020,{day % 5}\n" for day in (16, 2, *range(3, 16)))
    expected = [day % 5 for day in range(2, 17)]
    assert read(table, "daily-counts", column="n", date="d") == expected


def test_totals_are_asked_about_before_anything_is_spent() -> None:
    totals = np.cumsum([0, 2, 3, 1, 0, 4, 6, 2, 1, 0, 3, 2, 1, 4, 5])
    text = "total\n" + "\n".join(map(str, totals))
    with pytest.raises(CumulativeError, match="--cumulative yes"):
        read(text, "daily-counts")
    assert read(text, "daily-counts", cumulative=True) == np.diff(totals).tolist()
    assert read(text, "daily-counts", cumulative=False) == totals.tolist()


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        ("labels", "30\n23\n15", "Row 1 is a number: the first row of labels must name the"),
        ("labels", f"{CANARY}\n{CANARY}", "Row 1 is a label of patients: the first row must name"),
        ("labels", "strain\n" + CANARY * 12, "Row 2 has more than 200 characters."),
        ("labels", "a\n" + "".join(f"b{n}\n" for n in range(20_001)), "The file has more than 20,"),
        ("labels", f"strain,{CANARY}\na,b", "The file has 2 columns: name the one to read"),
        ("labels", "", "The file is empty."),
        ("sizes", f"size\n{CANARY}\n3", "Row 2 is not a number: write it like 12.5 or 1.25e1."),
        ("sizes", "3\n2.5", "Row 2 is not a number of patients: whole numbers from 1 up."),
        ("sizes", "size\n3\n0", "Row 3 is not a number of patients: whole numbers from 1 up."),
        ("sizes", "3\n4815162342", "Row 2 is above 1,000,000 patients"),
        ("sizes", "1\n" * 20_001, "The file has more than 20,000 clusters, the most that are"),
        ("daily-counts", "3\n2.5", "Row 2 is not a number of cases: whole numbers from 0 up."),
        ("daily-counts", "3\n-4815", "Row 2 is negative, as a correction is: take it off"),
        ("daily-counts", "3\n4815162342", "Row 2 is above 1,000,000,000 cases"),
        ("values", "4815", "The file has 1 value: at least 2 are needed."),
        ("values", "4815\n" * 20_001, "The file has 20,001 values: at most 20,000 are allowed."),
    ],
)
def test_what_is_wrong_is_one_line_without_a_value_or_a_private_size(
    kind: str, text: str, sentence: str
) -> None:
    with pytest.raises(TableError) as caught:
        read(text, kind)
    said = str(caught.value)
    assert said.startswith(sentence)
    assert "\n" not in said
    assert "4815" not in said
    assert kind == "values" or "20,001" not in said


def test_the_kind_is_asked_for_where_only_the_data_could_tell() -> None:
    assert columns.chosen(PEOPLE, None) == "daily-counts"
    assert columns.chosen(PATIENTS, "sizes") == "sizes"
    assert columns.chosen("covid", None) == "values"
    for scenario, name, sentence in (
        (PATIENTS, None, f"kind = none was named: for {PATIENTS} it must be labels (strain lab"),
        (PATIENTS, "values", f"kind = values: for {PATIENTS} it must be labels (strain labels"),
        ("covid", "sizes", "kind = sizes: for covid it must be values (numbers, one a row)."),
    ):
        with pytest.raises(ParameterError) as caught:
            columns.chosen(scenario, name)
        assert str(caught.value).startswith(sentence)


def test_every_kind_of_every_scenario_has_a_reader_and_words() -> None:
    for scenario in scenarios():
        for kind in columns_of(scenario):
            assert kind in columns.READERS
            assert kind in columns.WORDS
    # A table of records is read by its scenario.
    assert {*columns.READERS, columns.RECORDS} == columns.WORDS.keys()


REGISTER = Table(
    columns=("minutes", "smoker"),
    whole=frozenset(["minutes"]),
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
    levels={"smoker": ("no", "yes")},
)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads a register whose table may be changed."""

    def reader(content: bytes, **changed: Any) -> Any:
        class Source:
            OWN_TABLE = dataclasses.replace(REGISTER, **changed)

        monkeypatch.setattr("abcdp_core.release.columns.simulators.load", lambda _: Source)
        return columns.read(content, "register", columns.RECORDS)

    return reader


def test_a_register_has_numbers_and_levels_in_any_order_beside_other_columns(register: Any) -> None:
    # A column that is not looked at makes few rows a larger file than a series may be.
    rows = [f"{'yes' if row % 2 else 'no'};{'x' * 100_000};{row}\n" for row in range(30)]
    content = ("smoker;remark;minutes\n" + "".join(rows)).encode()
    assert len(content) > LARGEST_FILE
    expected = [[row, row % 2] for row in range(30)]
    assert register(content).tolist() == expected
    private = register(content, neighbours="add-remove")
    assert len(private) == 1000
    assert private[:30].tolist() == expected
    assert np.isnan(private[30:]).all()


@pytest.mark.parametrize(
    ("content", "changed", "said"),
    [
        (b"minutes\n1\n", {}, "Column smoker is missing: the first row must have minutes,smoker."),
        (b"minutes,smoker\n1.5,no\n", {}, "Column minutes, row 2 is not a whole number."),
        (b"minutes,smoker\n1,4815\n", {}, "Column smoker, row 2 is none of the levels no, yes."),
        (b"minutes,smoker\n" + b"1,no\n" * 1001, {}, "number of records = 1001: must be a whole"),
        (
            b"minutes,smoker\n" + b"1,no\n" * 1001,
            {"neighbours": "add-remove"},
            "The file has more than 1,000 records, the most that are read.",
        ),
    ],
)
def test_what_is_wrong_in_a_register_is_said_by_column_and_row(
    content: bytes, changed: dict[str, Any], said: str, register: Any
) -> None:
    with pytest.raises(TableError) as caught:
        register(content, **changed)
    assert str(caught.value).startswith(said)
    assert "4815" not in str(caught.value)


LAYOUTS = "1\n2.5\n-3\n", "x_1\n-3\n1e0\n2.5", '"-3"\n2.50\n1'


def test_the_same_numbers_are_known_again_in_any_layout_and_order() -> None:
    found = {digest_of(columns.read(text.encode(), SHARES, "values")) for text in LAYOUTS}
    assert len(found) == 1
    assert digest_of(np.array([1.0, 2.5])) not in found


def test_a_value_is_carried_to_the_cell_that_its_text_says() -> None:
    values = np.array([-1.0, 0.0, 0.1, 0.3, 0.6, 1.0, 2.0])
    assert to_domain(values, (0.0, 1.0), (0.0, 5.0)).tolist() == [0.0, 0.0, 0.5, 1.5, 3.0, 5.0, 5.0]
    assert to_domain(np.array([0.3, 0.7]), (0.1, 1.1), (0.0, 10.0)).tolist() == [2.0, 6.0]
