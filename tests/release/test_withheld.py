"""Where the model is refused and few draws carry an estimate, none is shown or stored."""

from __future__ import annotations

import dataclasses
import html
import json
from typing import Any, cast

import pytest

from abcdp_core.posterior.outcome import WITHHELD
from abcdp_core.release import document, report, verification
from abcdp_core.release.summary_document import PrivateSummaryRecord
from tests.release.small import made


def record(p_value: float, way: str, effective: float) -> PrivateSummaryRecord:
    """Return a release of days whose fit and whose draws are such."""
    shown = cast(PrivateSummaryRecord, made("days"))
    fit = dataclasses.replace(shown.found.fit, p_value=p_value)
    changes: Any = {"way": way, "effective": effective, "fit": fit}
    summary = dataclasses.replace(shown.found.summary, **changes)
    return dataclasses.replace(shown, inferred=dataclasses.replace(shown.found, summary=summary))


@pytest.mark.parametrize(
    ("p_value", "way", "effective", "withheld"),
    [
        (0.0009, "regression", 1.0, True),
        (0.0009, "nearest", 900.0, True),
        (0.0009, "weights", 49.0, True),
        (0.0009, "weights", 50.0, False),
        (0.0011, "regression", 1.0, False),
    ],
)
def test_an_estimate_is_withheld_where_nothing_supports_it(
    p_value: float, way: str, effective: float, withheld: bool
) -> None:
    found = record(p_value, way, effective)
    assert found.is_withheld == withheld
    posterior = found.content()["posterior"]
    assert ("intervals" in posterior, len(posterior["draws"]) > 0) == (not withheld, not withheld)
    assert (found.remarks == WITHHELD) == withheld


def test_what_is_left_are_the_released_numbers_the_check_and_what_to_do() -> None:
    found, shown = record(0.0001, "regression", 1.0), made("days")
    assert [*found.table()["released"]] == [*found.names]
    assert "The results hold" not in found.misfit[0]
    rows = document.picture_rows(found)
    assert {row.said for row in rows} == {"not shown"}
    text = found.to_json()
    page = report.page(found, text.encode(), "days.json")
    ends = json.loads(shown.to_json())["posterior"]["intervals"]
    assert WITHHELD in html.unescape(page)
    for low, high in ends:
        assert str(low) not in text
        assert str(high) not in text
    assert len(found.values) == 0
    # What this version writes is verified as such, and a record of 0.3.0 by what it states.
    assert all(each.agrees for each in verification.compared(json.loads(text), found))
    earlier = dataclasses.replace(found, is_of_0_3_0=True)
    content = json.loads(earlier.to_json())
    assert "intervals" in content["posterior"]
    again = verification.document_in(content)
    assert cast(PrivateSummaryRecord, again).is_of_0_3_0
