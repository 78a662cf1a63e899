"""Files of each scenario: what is read, and errors that show no value and no size."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.tabular import LARGEST_FILE, TableError
from abcdp_core.models import simulators
from abcdp_core.release import columns
from abcdp_core.release.columns import CumulativeError, Reading, digest_of
from abcdp_core.release.request import scenarios
from tests.release.small import PATIENTS, PEOPLE

SHARES = "uniform-mixture"
CANARY = "Beijing-SIT1-48151623"


def read(text: str, kind: str, **how: Any) -> list[float]:
    """The values in a file, without the empty rows of a report."""
    scenario = {"daily-counts": PEOPLE, "values": SHARES}.get(kind, PATIENTS)
    values = columns.read(text.encode(), simulators.load(scenario), kind, Reading(**how))
    if scenario == PATIENTS:
        assert len(values) == 20_000, "the shape hides the number of clusters"
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
    assert read("strain\n", "labels") == [], "there may be no patient"


def test_patients_without_a_label_are_left_out_and_are_not_a_cluster() -> None:
    table = "id,spoligotype\n1,a\n2,NA\n3,not done\n4,a\n5,\n6,b\n7,-\n"
    stated = {"column": "spoligotype", "rows_are_people": True}
    assert read(table, "labels", missing="drop", **stated) == [2.0, 1.0]
    with pytest.raises(TableError, match="Column id may say whose record a row is"):
        read(table, "labels", missing="drop", column="spoligotype")


@pytest.mark.parametrize("header", ["Beijing", "strain 12"])
def test_the_first_row_of_labels_is_always_the_header(header: str) -> None:
    # Leaving out a patient must not turn the next label into a header.
    assert read(f"{header}\nHaarlem\nHaarlem", "labels") == [2.0]


def test_days_are_sorted_by_their_dates() -> None:
    counts = [*range(13, -1, -1)]
    assert read("cases\n" + "\n".join(map(str, counts)), "daily-counts") == counts
    table = "d,n\n" + "".join(f"{day}.3.2020,{day % 5}\n" for day in (16, 2, *range(3, 16)))
    expected = [day % 5 for day in range(2, 17)]
    assert read(table, "daily-counts", column="n", date="d") == expected


def test_a_person_has_to_say_whether_numbers_are_totals() -> None:
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
        ("sizes", f"size\n{CANARY}\n3", "Row 2 is not a number: write it like 12.5 or 1.25e1."),
        ("sizes", "size\n3\n0", "Row 3 is not a number of patients: whole numbers from 1 up."),
        ("sizes", "3\n4815162342", "Row 2 is above 1,000,000 patients"),
        ("sizes", "1\n" * 20_001, "The file has more than 20,000 clusters, the most that can be"),
        ("daily-counts", "3\n-4815", "Row 2 is negative. In files of the RKI"),
        ("daily-counts", "3\n4815162342", "Row 2 is above 1,000,000,000 cases"),
        ("values", "4815", "The file has 1 value: at least 2 are needed."),
        ("values", "4815\n" * 20_001, "The file has 20,001 values: at most 20,000 are allowed."),
    ],
)
def test_an_error_is_one_line_without_a_value_or_a_private_size(
    kind: str, text: str, sentence: str
) -> None:
    with pytest.raises(TableError) as caught:
        read(text, kind)
    said = str(caught.value)
    assert said.startswith(sentence)
    assert "\n" not in said
    assert "4815" not in said
    assert kind == "values" or "20,001" not in said


def test_the_kind_must_be_named_if_only_the_data_could_decide_it() -> None:
    assert columns.chosen(simulators.load(PEOPLE), None) == "daily-counts"
    assert columns.chosen(simulators.load(PATIENTS), "sizes") == "sizes"
    for scenario, name, sentence in (
        (PATIENTS, None, f"kind is required: for {PATIENTS} it must be labels (strain lab"),
        ("covid", "sizes", "kind = sizes: for covid it must be values (numbers, one per row)."),
    ):
        with pytest.raises(ParameterError) as caught:
            columns.chosen(simulators.load(scenario), name)
        assert str(caught.value).startswith(sentence)
    kinds = {kind for scenario in scenarios() for kind in simulators.load(scenario).own_columns}
    assert kinds <= columns.READERS.keys() <= columns.WORDS.keys()


def test_a_register_has_its_columns_in_any_order_beside_others() -> None:
    own = SimpleNamespace(
        columns=("minutes", "smoker"), whole={"minutes"}, levels={"smoker": ("no", "yes")},
        neighbours="replace", sizes=(2, 1000), wrong=lambda _: "",
    )  # fmt: skip
    register: Any = SimpleNamespace(own_table=own)
    # A column that is ignored makes a few rows larger than a series may be.
    rows = [f"{'yes' if row % 2 else 'no'};{'x' * 100_000};{row}\n" for row in range(30)]
    content = ("smoker;remark;minutes\n" + "".join(rows)).encode()
    assert len(content) > LARGEST_FILE
    expected = [[row, row % 2] for row in range(30)]
    assert columns.read(content, register, columns.RECORDS).tolist() == expected
    own.neighbours = "add-remove"
    private = columns.read(content, register, columns.RECORDS)
    assert len(private) == 1000
    assert private[:30].tolist() == expected
    assert np.isnan(private[30:]).all()


def test_the_same_numbers_have_one_digest_in_any_layout_and_order() -> None:
    layouts = "1\n2.5\n-3\n", "x_1\n-3\n1e0\n2.5", '"-3"\n2.50\n1'
    found = {
        digest_of(columns.read(text.encode(), simulators.load(SHARES), "values"))
        for text in layouts
    }
    assert len(found) == 1
    assert digest_of(np.array([1.0, 2.5])) not in found
