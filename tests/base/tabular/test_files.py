"""Files as offices, national sites, R, pandas and spreadsheets write them, and their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from abcdp_core.base import tabular
from abcdp_core.base.tabular import TableError

SECRET = "4711"
"""A value that must be in no error."""


def cases(
    content: str | bytes,
    name: str | None = None,
    date: str | None = None,
    date_format: str | None = None,
    fill: bool = False,
    thousands: str = "",
) -> list[float]:
    """The new cases of each day."""
    raw = content.encode() if isinstance(content, str) else content
    table = tabular.parse(raw, 1000)
    found = tabular.whole_numbers(table.column(name, date), "cases", 0, 10**9, thousands)
    if date is not None:
        missing = "zero" if fill else None
        found = tabular.in_order(found, table.column(date), date_format, missing)
    return found.tolist()


def labels(content: str, *, drop_missing: bool = False) -> list[str]:
    column = tabular.parse(content.encode(), 10, header=True).column(None)
    return tabular.labels(column, drop_missing=drop_missing)


def levels(content: str) -> list[float]:
    column = tabular.parse(content.encode(), 10, header=True).column(None)
    return tabular.categories(column, ["no", "yes"]).tolist()


ECDC = """dateRep,day,month,year,cases,deaths,geoId
14/12/2020,14,12,2020,746,6,AF
13/12/2020,13,12,2020,298,9,AF
12/12/2020,12,12,2020,113,11,AF
"""
RKI = """"Meldedatum";"AnzahlFall";"Landkreis"
"2020/03/02 00:00:00";"7";"SK Köln"
"2020/03/01 00:00:00";"12";"SK Köln"
"""
NATIONAL = "data\tnuovi_positivi\ttotale_casi\n20200224\t221\t229\n20200225\t93\t322\n"
WHO = "\ufeffDate_reported,Country,New_cases\n2020-01-04,Italy,3\n2020-01-03,Italy,0\n"
SWISS = "datum;entries;timeframe\n24.02.2020;1;all\n25.02.2020;1;all\n27.02.2020;10;all\n"
ENGLISH = 'date,newCasesBySpecimenDate\n2021-01-02,"54,990"\n2021-01-01,"53,285"\n'
R_CSV = '"","day","cases"\n"1",2020-03-01,5\n"2",2020-03-02,8\n'
R_TABLE = '"cases","day"\n"1",5,2020-03-01\n"2",8,2020-03-02\n'
PANDAS = ",cases\n0,5\n1,8\n2,13\n"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: cases("3\n5\n8\n"), [3, 5, 8]),
        (lambda: cases("cases_2020\r\n3\r\n5\r\n\r\n"), [3, 5]),
        (lambda: cases(ECDC, "cases", "dateRep"), [113, 298, 746]),
        (lambda: cases(RKI, "AnzahlFall", "Meldedatum"), [12, 7]),
        (lambda: cases(RKI.encode("latin-1"), "AnzahlFall", "Meldedatum"), [12, 7]),
        (lambda: cases(NATIONAL, "nuovi_positivi", "data"), [221, 93]),
        (lambda: cases(NATIONAL.encode("utf-16"), "nuovi_positivi", "data"), [221, 93]),
        (lambda: cases(WHO, "New_cases", "Date_reported"), [0, 3]),
        (lambda: cases(SWISS, "entries", "datum", fill=True), [1, 1, 0, 10]),
        (lambda: cases(ENGLISH, "newCasesBySpecimenDate", "date", thousands=","), [53285, 54990]),
        (lambda: cases(R_CSV, None, "day"), [5, 8]),
        (lambda: cases(R_TABLE, "cases"), [5, 8]),
        (lambda: cases(PANDAS), [5, 8, 13]),
        (lambda: cases("day,cases\n1,5,\n2,8,\n", "cases"), [5, 8]),
        (lambda: cases("d,n\n1 Mar 20,5\n2 Mar 20,8\n", "n", "d", "%d %b %y"), [5, 8]),
    ],
)
def test_cases_are_read_in_the_order_of_days(
    found: Callable[[], list[float]], expected: list[float]
) -> None:
    assert found() == expected


JHU = "Province/State,Country/Region,1/22/20,1/23/20\n,Italy,4711,4712\n"


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: cases(f"cases,deaths\n{SECRET},2\n"), "name the one to read (--column NAME) as"),
        (lambda: cases(f"{SECRET},{SECRET}\n"), "The file has 2 columns: name the one to read"),
        (lambda: cases(JHU, "cases"), "Column cases is not in the first row. Transpose the table"),
        (lambda: cases(f"n,n\n{SECRET},2\n", "n"), "Column n is twice in the first row"),
        (lambda: cases(f"d,n\n1/2/2020,{SECRET}\n2/2/2020,3\n", "n", "d"), "%d/%m/%Y or %m/%d"),
        (lambda: cases(f"d,n\n2020-03-01,{SECRET}\n2020-03-01,3\n", "n", "d"), "Rows 2 and 3 have"),
        (lambda: cases(f"d,n\n2020-03-01,{SECRET}\n2020-03-03,3\n", "n", "d"), "03-02. With"),
        (lambda: cases(f"d,n\nMarch,{SECRET}\n", "n", "d"), "row 2 is not a known form of date"),
        (
            lambda: cases(f"n\n{SECRET}\n-{SECRET}\n"),
            "Row 3 is not a number of cases: whole numbers from 0",
        ),
        (lambda: cases(f"n\n{SECRET}\nNA\n"), "Row 3 is missing"),
        (lambda: cases(f"n\n{SECRET}.5\n"), "Row 2 is not a number of cases: whole numbers from 0"),
        (lambda: cases(f"n\n{SECRET}\n1,234\n"), "comma before three digits"),
        (lambda: cases(f'd,n\n1,"{SECRET}"\n2,"1,234"\n', "n"), "name the thousands separator"),
        (lambda: cases(f"n\n{SECRET}\n12,34\n", thousands=","), ", where it cannot separate thous"),
        (lambda: cases(f"l{SECRET[1:]}O\n3\n"), "may be a mistyped one"),
        (lambda: cases(f"a,b\n{SECRET},2\n3,4,5\n"), "Row 3 has 3 fields, and the first row 2"),
        (lambda: cases(f"a,b\n{SECRET},2,3\n1,2,3\n", "a"), "Row 2 has 3 fields, and the first"),
        (lambda: cases(f'a,b\n"{SECRET},2\n'), "double quote"),
        (lambda: cases(f'"n"\n"1" {SECRET}\n'), "write.csv"),
        (lambda: cases(b"PK\x03\x04" + SECRET.encode()), "is a spreadsheet or a zip archive"),
        (lambda: cases(f"n\n\0{SECRET}"), "is not plain text"),
        (lambda: cases(" \n\n"), "is empty"),
        (lambda: cases("1\n" * 1001), "more than 1,000 rows"),
        (lambda: labels(f"type\nB\nA,{SECRET}\n"), "Row 3 has more columns than the first row"),
        (lambda: labels(f"type\n{SECRET}\nNA\nB\n-\n"), "ows 3, 5 have no label"),
        (lambda: labels(f"type\nAB {SECRET}\nC\nab {SECRET}\n"), "Rows 2, 4 have labels that dif"),
        (lambda: labels(f"t\nA {SECRET}\nC\nA  {SECRET}\n"), "Rows 2, 4 have labels"),
        (lambda: levels(f"smoker\nno\n{SECRET}\n"), "Row 3 is not one of the levels no, yes"),
    ],
)
def test_an_invalid_file_is_refused_with_place_and_remedy_and_no_value(
    read: Callable[[], object], words: str
) -> None:
    with pytest.raises(TableError) as caught:
        read()
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_commas_are_decimal_if_they_do_not_separate_columns() -> None:
    table = tabular.parse(b"x;yes\n1,5;TRUE\n-2,25;false\n1e3;1\n", 10)
    assert tabular.numbers(table.column("x")).tolist() == [1.5, -2.25, 1000.0]
    assert tabular.numbers(table.column("yes")).tolist() == [1.0, 0.0, 1.0]
    assert table.choices() == ["x", "yes"]


def test_a_note_says_that_a_file_was_read_as_latin_1() -> None:
    assert tabular.parse("Fälle\n1\n".encode("latin-1"), 9).note.endswith("read as Latin-1.")
    assert tabular.parse("Fälle\n1\n".encode(), 9).note == ""


def test_labels_may_be_quoted_or_left_out_and_levels_are_numbered_as_declared() -> None:
    assert labels('type\n"A, 1"\nB\n') == ["A, 1", "B"]
    assert labels("type\nA\nnot done\nB\n-\n\nA\n", drop_missing=True) == ["A", "B", "A"]
    assert levels("smoker\nno\nyes\nno\n") == [0.0, 1.0, 0.0]
    table = tabular.parse(b"smoker,x\nno,1\n,1\nNA,1\nyes,1\n", 9)
    with pytest.raises(TableError, match="row 3 is missing: missing=True in the model"):
        tabular.categories(table.column("smoker"), ("no", "yes"))
    found = tabular.categories(table.column("smoker"), ("no", "yes", ""))
    assert found.tolist() == [0.0, 2.0, 2.0, 1.0]


def test_totals_are_recognized_and_become_daily_numbers() -> None:
    totals = np.cumsum([3.0, 0, 4, 4, 1, 0, 2, 5, 6, 7])
    assert tabular.looks_cumulative(totals)
    assert tabular.differences(totals).tolist() == [0, 4, 4, 1, 0, 2, 5, 6, 7]
    assert not tabular.looks_cumulative(totals[:9])
    assert not tabular.looks_cumulative(np.zeros(20))
    corrected = totals - [0, 0, 0, 0, 0, 3, 3, 3, 3, 3]
    assert not tabular.looks_cumulative(corrected)
    with pytest.raises(TableError, match="The total of day 6 is below"):
        tabular.differences(corrected)
