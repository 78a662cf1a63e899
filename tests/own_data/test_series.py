from __future__ import annotations

import gzip
import math
import os
import socket
import traceback
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.own_data import series
from abcdp_core.own_data.request import own_sizes, scenarios
from abcdp_core.own_data.series import SeriesError, content_of, digest_of, read
from abcdp_core.parameters import LONGEST_NUMBER

LIMIT = 100

GOOD = {
    "no header": b"1\n2.5\n-3\n",
    "no line end at the end": b"1\n2.5\n-3",
    "header": b"value\n1\n2.5\n-3\n",
    "header in quotes": b'"count, per day"\n1\n2.5\n-3\n',
    "header in another script": "температура (°C)\n1\n2.5\n-3\n".encode(),
    "header with letters in two parts": "O\u0308lpreis\n1\n2.5\n-3\n".encode(),
    "header of several words": b"Cases_per-day (all)\n1\n2.5\n-3\n",
    "byte order mark": b"\xef\xbb\xbf1\n2.5\n-3\n",
    "byte order mark and header": b"\xef\xbb\xbfvalue\n1\n2.5\n-3\n",
    "Windows line ends": b"value\r\n1\r\n2.5\r\n-3\r\n",
    "old line ends": b"1\r2.5\r-3\r",
    "line ends of all kinds": b"1\r\n2.5\r-3\n",
    "blank lines at the end": b"1\n2.5\n-3\n\n \t\r\n\n",
    "blanks around": b" 1\n2.5 \t\n\t-3\n",
    "quotes": b'"1"\n"2.5"\n" -3 "\n',
    "ways to write a number": b"+1.\n.25E+1\n-30e-1\n",
    "leading zeros": b"01\n2.500\n-003.0\n",
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_a_column_of_numbers_is_read(content: bytes) -> None:
    found = read(content, LIMIT)
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.5, -3.0]


def test_long_and_small_numbers_are_read() -> None:
    digits = "0." + "1" * 98
    assert read(f"{digits}\n1e-999\n".encode(), LIMIT).tolist() == [float(digits), 0.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_what_is_written_reads_back_as_the_same(values: list[float]) -> None:
    assert read("\n".join(map(repr, values)).encode(), LIMIT).tolist() == values


NOT_A_NUMBER = "is not a number: write it like 12.5 or 1.25e1"
SPOILT = "is not a number like 12.5 and may be a spoilt one: if it is a header, remove it"
MISSING = "is a missing or infinite value: every row needs a number"
COLUMNS = "has more than one column: give one column only, a decimal point and no comma"
NOT_TEXT = "The file is not plain text in UTF-8: save it as CSV in UTF-8."

BAD = {
    "text": (b"1\n2\nseven\n4\n", f"Row 3 {NOT_A_NUMBER}."),
    "text after a header": (b"value\n1\n2\nseven\n4\n", f"Row 4 {NOT_A_NUMBER}."),
    "two headers": (b"value\nunit\n1\n2\n", f"Row 2 {NOT_A_NUMBER}."),
    "not a number": (b"1\nNaN\n3\n", f"Row 2 {MISSING}."),
    "not available": (b"1\nNA\n3\n", f"Row 2 {MISSING}."),
    "not a number in front": (b"nan\n1\n3\n", f"Row 1 {MISSING}."),
    "infinity": (b"1\n-inf\n3\n", f"Row 2 {MISSING}."),
    "infinity in front": (b"Infinity\n1\n3\n", f"Row 1 {MISSING}."),
    "too large": (b"1\n1e999\n3\n", "Row 2 is a number too large to compute with."),
    "empty in the middle": (b"1\n\n3\n", "Row 2 is empty: every row needs a number."),
    "empty at the start": (b"\n1\n3\n", "Row 1 is empty: every row needs a number."),
    "empty in quotes": (b'1\n""\n3\n', "Row 2 is empty: every row needs a number."),
    "empty after a header": (b"value\r\n\r\n3\r\n", "Row 2 is empty: every row needs a number."),
    "two columns": (b"1,2\n3,4\n", f"Row 1 {COLUMNS}."),
    "two columns with headers": (b"day,value\n3,4\n", f"Row 1 {COLUMNS}."),
    "two columns later": (b"value\n1\n2;3\n", f"Row 3 {COLUMNS}."),
    "two columns by tabs": (b"1\n2\t3\n", f"Row 2 {COLUMNS}."),
    "decimal comma in quotes": (b'1\n"2,5"\n', f"Row 2 {COLUMNS}."),
    "two columns by blanks": (b"1 2\n3 4\n", f"Row 1 {SPOILT}."),
    "underscores": (b"1_000\n2\n", f"Row 1 {SPOILT}."),
    "hexadecimal": (b"0x1F\n2\n", f"Row 1 {SPOILT}."),
    "digits of another script": ("1\n\u0663\n".encode(), f"Row 2 {NOT_A_NUMBER}."),
    "typographic minus": ("1\n\u22125\n".encode(), f"Row 2 {NOT_A_NUMBER}."),
    "unit": (b"1\n5 kg\n", f"Row 2 {NOT_A_NUMBER}."),
    "date": (b"2020-03-01\n2\n", f"Row 1 {SPOILT}."),
    "sign alone": (b"1\n-\n", f"Row 2 {NOT_A_NUMBER}."),
    "double quote alone": (b'1\n"\n', f"Row 2 {NOT_A_NUMBER}."),
    "quotes in quotes": (b'1\n"2""3"\n', f"Row 2 {NOT_A_NUMBER}."),
    "as long as a number": (b"1\n" + b"x" * 100 + b"\n", f"Row 2 {NOT_A_NUMBER}."),
    "point alone": (b"1\n.\n", f"Row 2 {NOT_A_NUMBER}."),
    "form feed between": (b"1\n2\x0c3\n", f"Row 2 {NOT_A_NUMBER}."),
    "longer than a number": (
        b"1\n" + b"1" * 101 + b"\n",
        "Row 2 is longer than the 100 characters of a number.",
    ),
    "one value": (b"1\n", "The file has 1 value: at least 2 are needed."),
    "one value with a header": (b"value\n1\n", "The file has 1 value: at least 2 are needed."),
    "header alone": (b"value\n", "The file has 0 values: at least 2 are needed."),
    "empty": (b"", "The file is empty."),
    "blank": (b"\xef\xbb\xbf \r\n\n", "The file is empty."),
    "UTF-16": ("value\n1\n2\n".encode("utf-16"), NOT_TEXT),
    "UTF-16 without a mark": ("1\n2\n".encode("utf-16-le"), NOT_TEXT),
    "UTF-32": ("1\n2\n".encode("utf-32"), NOT_TEXT),
    "Latin-1": ("Größe\n1\n2\n".encode("latin-1"), NOT_TEXT),
    "a spreadsheet": (
        b"PK\x03\x04\x14\x00\x06\x00\x08",
        "The file is a spreadsheet or a zip archive: save the column as CSV in UTF-8.",
    ),
    "an old spreadsheet": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "The file is a spreadsheet: save the column as CSV in UTF-8.",
    ),
    "compressed": (
        gzip.compress(b"1\n2\n"),
        "The file is compressed: save the column as CSV in UTF-8.",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", NOT_TEXT),
}


@pytest.mark.parametrize(("content", "sentence"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_one_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(SeriesError) as caught:
        read(content, LIMIT)
    assert str(caught.value) == sentence


MAY_BE_SPOILT = [
    # a number that is not there, as programs write it
    *("N/A", "n/a", "#N/A", "<NA>", "n.a.", "NA", "NaN", "nan(0)", "-nan(ind)", "NULL", "nil"),
    *("1.#IND", "1.#QNAN", "#DIV/0!", "#VALUE!", "Inf.", "+inf", "INFINITY", "Infinity", "missing"),
    *("not available", "no data", "nothing given", "value missing", "unknown", "?", "-", "--", "."),
    *("TRUE", "error", "pending", "(refused)", "*", "x", "X", "\uff2e\uff41\uff2e", "\u2205", "_"),
    # letters for digits, digits with letters
    *("O.5", "o.5", "O5", "l2", "I0", "1O", "lOO", "OOO", "Il", "S0", "BOO", "1,5", "1.5.2", "x48"),
    *("1_0", "\u0661\u0662", "\uff11\uff12", "0x1p3", "0x1F", "1e", "e5", "1d5", "1.5f", "12%"),
    *(
        "kg",
        "kg 5",
        "EUR 5",
        "about 12",
        "day 1",
        "$3",
        "\u20ac3",
        "\u00bd",
        "\u2167",
        "\u4e00\u4e8c\u4e09",
    ),
    # numbers in words, formulas, things that are not to be seen
    *("seven", "Twenty-one", "one hundred", "=SUM(A:A)", "'12", "\u221212", "val\x07ue"),
    *("count" * 21, "count\u200b", "va\u2028lue", '"value', 'value"', "'value'"),
]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("first", MAY_BE_SPOILT)
def test_a_first_row_that_may_be_a_spoilt_value_is_refused_and_not_dropped(
    first: str, quote: str
) -> None:
    with pytest.raises(SeriesError, match=r"^Row 1 "):
        read(f"{quote}{first}{quote}\n1\n2\n3\n".encode(), LIMIT)


@pytest.mark.parametrize(
    "first", ["value", "Cases", "cases/day", "weight [kg]", "share in %", "Größe", "day", "x" * 100]
)
def test_a_name_is_a_header(first: str) -> None:
    assert read(f"{first}\n1\n2\n".encode(), LIMIT).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("first", MAY_BE_SPOILT)
def test_in_another_row_it_is_refused_as_well(first: str) -> None:
    with pytest.raises(SeriesError, match=r"^Row 2 "):
        read(f"1\n{first}\n2\n".encode(), LIMIT)


def test_as_many_values_as_allowed_and_no_more() -> None:
    hundred = b"7\n" * LIMIT
    assert len(read(hundred, LIMIT)) == len(read(b"value\n" + hundred, LIMIT)) == LIMIT
    for more in (hundred + b"7", b"value\n" + hundred + b"7\n\n\n"):
        with pytest.raises(SeriesError, match="has 101 values: at most 100 are allowed"):
            read(more, LIMIT)


def test_too_many_values_are_refused_before_they_are_taken_apart() -> None:
    content = b"123.456\r\n" * 200_000
    tracemalloc.start()
    with pytest.raises(SeriesError, match="has 200,000 values: at most 20,000 are allowed"):
        read(content, 20_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The text once more or twice; so many rows on their own would be 12 MB and more.
    assert most < 4 * len(content)


def test_a_file_too_large_is_not_even_decoded() -> None:
    # Labels of 200 characters would take more than 2 MB in 20,000 rows: nothing is said of that.
    said = (
        "The file is larger than 2 MB, the most that is read: give one column of at most 100 rows"
    )
    with pytest.raises(SeriesError, match=said):
        read(bytes(series.LARGEST_FILE + 1), LIMIT)


def test_no_series_that_a_model_takes_is_too_large_a_file_and_few_others_fit() -> None:
    longest = max(own_sizes(scenario)[1] for scenario in scenarios())
    row = b'"0.' + b"1" * (LONGEST_NUMBER - 2) + b'"\r\n'
    content = "\ufeff".encode() + b"\xc3\xa4" * LONGEST_NUMBER + b"\r\n" + row * longest
    assert len(read(content, longest)) == longest
    assert len(content) <= series.LARGEST_FILE < 1.02 * len(content)


CANARY = "48151623.42"


@pytest.mark.parametrize(
    "spoilt",
    [
        *(f"{CANARY}x", f"x{CANARY}", f"{CANARY},1", f"{CANARY}_0", f"{CANARY}\xa0"),
        *(CANARY * 20, f"{CANARY}e999", f'"{CANARY}', f"{CANARY}\0"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_no_error_shows_a_value_and_none_carries_one_along(spoilt: str, encoding: str) -> None:
    content = f"1\n{CANARY}\n{spoilt}\n".encode(encoding)
    with pytest.raises(SeriesError) as caught:
        read(content, LIMIT)
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    told = "".join(traceback.format_exception(error)) + repr(error.args)
    assert "48151623" not in told


@given(st.binary(max_size=60) | st.text('0123456789.,;eE+-_"\r\n\t naif\ufeff', max_size=40))
def test_any_bytes_are_a_series_or_refused_in_one_sentence(content: bytes | str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    try:
        found = read(data, 10)
    except SeriesError as error:
        said = str(error)
        assert said.endswith(".")
        assert "\n" not in said
    else:
        assert 2 <= len(found) <= 10
        assert all(map(math.isfinite, found.tolist()))


# --------------------------------------------------------------------------- files


def test_a_file_is_read_no_further_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(b"1\n2\n3\n")
    assert content_of(file) == b"1\n2\n3\n"
    assert read(content_of(file, largest=6), LIMIT).tolist() == [1.0, 2.0, 3.0]
    assert content_of(file, largest=3) == b"1\n2\n"
    monkeypatch.delattr(os, "O_NONBLOCK", raising=False)
    assert content_of(file, largest=3) == b"1\n2\n", "a system without this flag will do"


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_refused_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("place")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
    elif kind == "folder":
        place.mkdir()
    else:
        place = Path("/dev/zero")
    sentence = "is a folder" if kind == "folder" else "is a pipe, a socket or a device"
    with pytest.raises(SeriesError, match=sentence):
        content_of(place)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, place = tmp_path / "data.csv", tmp_path / "pipe"
    file.touch()
    os.mkfifo(place)
    as_it_was = file.stat()
    monkeypatch.setattr(Path, "stat", lambda _: as_it_was)
    with pytest.raises(SeriesError, match="is a pipe"):
        content_of(place)


def test_a_file_that_cannot_be_read_is_told_why(tmp_path: Path) -> None:
    for name, reason in (("missing", "No such file"), ("a" * 300, "File name too long")):
        with pytest.raises(SeriesError, match=rf"cannot be read \({reason}"):
            content_of(tmp_path / name)


# --------------------------------------------------------------- the same numbers again

LAYOUTS = [
    *(b"0\n1.5\n-3", b"value\r\n0\r\n1.5\r\n-3\r\n", b'"0"\n"15e-1"\n"-3.0"\n\n'),
    *(b"\xef\xbb\xbf+0.0\n 1.50\n-3\t\n", b"-0\n1.5\n-3\n", b"-3\n0\n1.5\n"),
]


def test_the_same_numbers_are_known_again_in_any_layout_and_order() -> None:
    assert len({digest_of(read(content, LIMIT)) for content in LAYOUTS}) == 1


@pytest.mark.parametrize(
    "other", [[0.0, 1.5], [0.0, 1.5, -3.0, -3.0], [0.0, 1.5, 3.0], [1e-300, 1.5, -3.0]]
)
def test_other_numbers_are_others(other: list[float]) -> None:
    assert digest_of(np.array(other)) != digest_of(read(LAYOUTS[0], LIMIT))


def test_a_digest_tells_nothing_without_the_key_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = read(LAYOUTS[0], LIMIT)
    here = digest_of(values)
    monkeypatch.setattr(series, "_KEY", bytes(32))
    assert digest_of(values) != here


def test_the_series_is_left_as_it_is() -> None:
    values = np.array([2.0, -0.0, 1.0])
    digest_of(values)
    assert values.tolist() == [2.0, 0.0, 1.0]
    assert math.copysign(1.0, values[1]) == -1.0
