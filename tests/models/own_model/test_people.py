"""Tables in which a person may have several records: asked about, bounded, and at its price."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.base import registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.statistic import Statistic
from abcdp_core.base.tabular import TableError
from abcdp_core.models import simulators
from abcdp_core.release import columns, people
from abcdp_core.release.columns import RECORDS, Reading
from abcdp_core.release.summary_request import PrivateSummaryRequest
from tests.models.own_model.conftest import Command
from tests.models.own_model.models import written
from tests.models.own_model.test_own_release import asked, released, verify

pytestmark = pytest.mark.usefixtures("own_registry", "few_simulations")

Visits = list[tuple[str, float, int]]


@pytest.fixture
def model(own_registry: None, tmp_path: Path) -> Path:
    """A model of records of which one is added or removed: a sum in ± 2, and three cells."""
    file = written("add-remove", tmp_path)
    registry.add_file(file)
    return file


def text(visits: Visits, head: str = "patient_id") -> str:
    return "\n".join([f"{head},x,code", *(f"{who},{x!r},{code}" for who, x, code in visits)])


def whole(visits: Visits, at_most: int) -> list[int]:
    """The whole numbers that a release of visits adds noise to."""
    how = Reading(person="patient_id", at_most=at_most)
    values = columns.read(text(visits).encode(), simulators.load("own"), RECORDS, how)
    return request(at_most).statistic.whole_of(values)


def request(at_most: int, **more: Any) -> PrivateSummaryRequest:
    return PrivateSummaryRequest(scenario="own", epsilon_total=1.0, at_most=at_most, **more)


def loss(first: Visits, second: Visits, at_most: int, stated: int) -> float:
    """The largest log ratio of probabilities of a release, in ε_total, with the noise for K."""
    event = request(stated).event(30)
    pairs = zip(whole(first, at_most), whole(second, at_most), event.steps(), strict=True)
    return sum(abs(a - b) / scale for a, b, scale in pairs)


@pytest.mark.usefixtures("model")
def test_a_person_with_other_rows_or_none_costs_what_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each person's draw is of its own, whatever others have.
    draws = lambda rows, k: random.Random(len(rows)).sample(rows, k)  # noqa: E731
    monkeypatch.setattr(people.used_rows, "__defaults__", (draws,))
    rng, worst = random.Random(5), dict.fromkeys((1, 3), 0.0)
    for _ in range(60):
        others = [(f"p{rng.randrange(4)}", rng.uniform(-3, 3), rng.randrange(3)) for _ in range(9)]
        mine = [
            ("me", rng.choice((-2.0, 2.0)), rng.randrange(3)) for _ in range(rng.randrange(1, 7))
        ]
        rng.shuffle(both := [*others, *mine])
        others = [visit for visit in both if visit[0] != "me"]
        for at_most in worst:
            worst[at_most] = max(worst[at_most], loss(both, others, at_most, at_most))
    assert all(0.9 < found <= 1.0 for found in worst.values())
    six, ten = [("me", 2.0, 1)] * 6, [(f"p{each // 6}", 1.0, 0) for each in range(24)]
    assert loss([*ten, *six], ten, 6, 6) == pytest.approx(1.0)
    assert loss([*ten, *six], ten, 6, 1) == pytest.approx(6.0)


@pytest.mark.usefixtures("model")
def test_each_persons_rows_are_drawn_by_themselves_and_evenly() -> None:
    table = columns.tabular.parse(text([("a", 0.0, 0)] * 5 + [("b", 0.0, 0)] * 2).encode(), 99)
    column = table.column("patient_id")
    counts = np.zeros(7)
    for seed in range(400):
        rows = people.used_rows(column, 2, None, random.Random(seed).sample)
        assert rows.tolist() == sorted(rows)
        counts[rows] += 1
    assert counts[5:].tolist() == [400, 400]
    # Each of five rows is one of two: 160 times, with a standard deviation of 9.8.
    assert (np.abs(counts[:5] - 160) < 5 * 9.8).all()
    assert people.used_rows(column, 9, None).tolist() == [*range(7)]


def test_whose_rows_these_are_is_asked_before_a_value_is_read(
    model: Path,
    command: Command,
) -> None:
    bad = text([("a", 1.0, 0), ("a", 2.0, 7)])
    code, said = command(asked(model, bad))
    assert code == 2
    assert "Column patient_id may say whose record a row is:" in said
    assert "say how many rows of a person count (--person, --at-most)" in said
    good = text([("a", 1.0, 0), ("a", 2.0, 1)])
    assert command(asked(model, good, "--rows-are-people"))[0] == 0
    found = released(model)
    assert found["public"]["rows_are_people"] is True
    assert found["event"]["sensitivity"] == pytest.approx(2.0)
    assert any("It was stated that each row is another person" in each for each in found["remains"])
    code, said = command(verify(model))
    assert (code, "DIFFERS" in said) == (0, False)


def test_ten_people_with_six_visits_each_cost_what_is_said(
    model: Path,
    command: Command,
    tmp_path: Path,
) -> None:
    # More visits than there is room for, of which two each are used.
    visits = [(f"p{row % 10}", 0.1 * row - 3.0, row % 3) for row in range(60)]
    person = ["--person", "patient_id", "--at-most", "2"]
    code, said = command(asked(model, text(visits), *person))
    assert code == 0
    assert "It protects one person with at most 2 records, added or removed." in said
    found = released(model)
    assert found["protected"] == "one person with at most 2 records"
    assert found["public"]["at_most"] == 2
    assert found["event"]["sensitivity"] == pytest.approx(4.0, rel=1e-8)
    assert found["cost"]["epsilon"] <= 1.0
    assert "(neighbors: that person's records added or removed)" in found["statement"]
    code, said = command(verify(model))
    assert (code, "DIFFERS" in said) == (0, False)
    page = tmp_path / "report.html"
    assert command(["report", *verify(model)[1:], "--out", str(page)])[0] == 0
    assert "one person with at most 2 records" in page.read_text(encoding="utf-8")
    # A record that claims less than it cost is found.
    out = model.with_name("out.json")
    out.write_text(json.dumps(found | {"public": found["public"] | {"at_most": 1}}))
    assert "DIFFERS" in command(verify(model))[1]


@pytest.mark.parametrize(
    ("options", "head", "reason"),
    [
        (["--person", "patient_id"], "patient_id", "needs --at-most K"),
        (["--person", "patient_id", "--at-most", "0"], "patient_id", "needs --at-most K"),
        (["--person", "patient_id", "--at-most", "-1"], "patient_id", "must be a whole number"),
        (["--at-most", "2"], "patient_id", "needs --person"),
        (["--missing-person", "drop"], "patient_id", "needs --person"),
        (["--person", "x", "--at-most", "2"], "patient_id", "is one of the model's"),
        (["--person", "who", "--at-most", "2"], "patient_id", "not in the first row"),
        (["--person", "n", "--at-most", "2", "--count", "n"], "n", "does not go with --person"),
        (
            ["--person", "n", "--at-most", "2", "--rows-are-people"],
            "n",
            "does not go with --person",
        ),
    ],
)
def test_what_cannot_be_honored_is_refused_before_anything_is_spent(
    options: list[str],
    head: str,
    reason: str,
    model: Path,
    command: Command,
) -> None:
    code, said = command(asked(model, text([("a", 1.0, 0)], head), *options))
    assert code == 2
    assert reason in said
    assert not model.with_name("out.json").exists()


@pytest.mark.usefixtures("model")
def test_a_missing_person_is_refused_left_out_or_a_person_of_its_own() -> None:
    visits = [("a", 1.0, 0), ("", 2.0, 0), ("NA", 2.0, 0), ("a", 1.0, 0)]

    def read(missing: str | None) -> int:
        how = Reading(person="patient_id", at_most=1, missing_person=missing)
        values = columns.read(text(visits).encode(), simulators.load("own"), RECORDS, how)
        return int(np.isfinite(values[:, 0]).sum())

    with pytest.raises(TableError, match="row 3 says no person: --missing-person"):
        read(None)
    assert (read("drop"), read("each")) == (1, 3)
    with pytest.raises(TableError, match="differ only in case"):
        columns.read(
            text([("Ann", 1.0, 0), ("ann", 1.0, 0)]).encode(), simulators.load("own"), RECORDS,
            Reading(person="patient_id", at_most=1),
        )  # fmt: skip


def test_a_public_number_of_records_cannot_serve(tmp_path: Path) -> None:
    registry.add_file(written("replace", tmp_path))
    with pytest.raises(ParameterError, match="neighbours = add-remove"):
        request(2)
    with pytest.raises(ParameterError, match="takes no table of records"):
        PrivateSummaryRequest("tuberculosis-patients", 1.0, at_most=2)
    visits = text([("a", 1.0, 0)] * 12).encode()
    with pytest.raises(TableError, match="leave one row of each person"):
        columns.read(visits, simulators.load("own"), RECORDS)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("patient_id", True), ("PatientID", True), ("Household number", True), ("uid", True),
        ("valid", False), ("idle_time", False), ("visits", False), ("personal_best", False),
    ],
)  # fmt: skip
def test_names_that_may_say_whose_record_it_is(name: str, is_one: bool) -> None:
    assert (people.identifier([name], ()) == name) is is_one
    assert people.identifier([name], (name,)) is None


def test_a_persons_sensitivity_is_rounded_up() -> None:
    third = Statistic.by_cases(
        [[Fraction(1, 3)]], name="a", unit="one visit, if declared", neighbours="add-remove",
        names=("a",), reduce=np.asarray, low=(0.0,), high=(1.0,),
    )  # fmt: skip
    for at_most in (3, 7, 11):
        found = people.of_person(third, "one visit", at_most)
        assert Fraction(found.l1(10)) >= at_most * Fraction(third.l1(10))
        assert found.unit == f"one person with at most {at_most} records, if declared"
