"""Composition of releases from the same data, the file of budgets, and places of releases."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import multiprocessing
import os
import secrets
import signal
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from abcdp_core.base.parameters import ParameterError
from abcdp_core.privacy import composition
from abcdp_core.release import budget_file, output_file
from abcdp_core.release.budget import Budget, PrivacyCharge, fits, largest_rho, left, pure
from abcdp_core.release.budget_file import Reservation

OF_0_2_0 = Path(__file__).with_name("released_by_0_2_0") / "budgets.db"
PURE = Budget("b", Decimal("0.3"), Decimal(0), "person", "replace")
WITH_DELTA = Budget("b", Decimal(3), Decimal("1e-6"), "person", "replace")
GAUSSIAN = PrivacyCharge(Decimal("0.01"), Decimal("1e-12"), 1e-9, "")
HALF_DELTA = PrivacyCharge(Decimal("0.1"), Decimal("2.5e-7"), None, "")


def claims(*amounts: str) -> list[PrivacyCharge]:
    return [pure(Decimal(amount), "test") for amount in amounts]


@pytest.mark.parametrize(
    ("budget", "spent", "expected"),
    [
        (PURE, claims("0.1", "0.1", "0.1"), True),
        (PURE, [pure(0.1, "")] * 3, True),
        (PURE, claims("0.1", "0.1", "0.1000000000000000000001"), False),
        (PURE, [GAUSSIAN], False),
        (WITH_DELTA, [GAUSSIAN], True),
        (WITH_DELTA, claims("3"), True),
        (WITH_DELTA, claims("3.0001"), False),
        # Without a ρ the sums count, with half of δ.
        (WITH_DELTA, [HALF_DELTA] * 2, True),
        (WITH_DELTA, [HALF_DELTA] * 3, False),
    ],
)
def test_releases_fit_a_budget(budget: Budget, spent: list[PrivacyCharge], expected: bool) -> None:
    assert fits(budget, spent) == expected


def test_with_a_delta_many_small_releases_cost_less_than_their_sum() -> None:
    assert fits(WITH_DELTA, claims("0.05") * 120)
    most = next(count for count in range(120, 1000) if not fits(WITH_DELTA, claims("0.05") * count))
    # No rule that knows only ε and the number of releases beats the optimal one.
    assert composition.epsilon(0.05, most - 1, 1e-6, "optimal") <= 3.0


def test_the_largest_rho_converts_to_the_budget_and_a_larger_one_does_not() -> None:
    rho = largest_rho(WITH_DELTA)

    def converted(rho: float) -> float:
        return composition.from_renyi(lambda alpha: rho * alpha, 0.5e-6)

    assert converted(rho) <= 3.0
    assert converted(rho * 1.0001) > 3.0
    # The usual closed form is a little worse than the best order.
    assert rho + 2.0 * math.sqrt(rho * math.log(2e6)) == pytest.approx(3.0, rel=0.15)


AMOUNTS = some.lists(some.decimals("0.001", "2", places=3), max_size=8)


@settings(max_examples=40, deadline=None)
@given(amounts=AMOUNTS, delta=some.sampled_from(["0", "1e-6", "1e-3"]))
def test_what_is_left_fits_and_hardly_more(amounts: list[Decimal], delta: str) -> None:
    budget = Budget("b", Decimal(3), Decimal(delta), "person", "replace")
    spent: list[PrivacyCharge] = []
    for amount in amounts:
        if fits(budget, [*spent, pure(amount, "")]):
            spent.append(pure(amount, ""))
    rest = left(budget, spent)
    assert rest == 0 or fits(budget, [*spent, pure(rest, "")])
    more = rest * Decimal("1.003") + Decimal("1e-6")
    assert not fits(budget, [*spent, pure(more, "")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "some" / "budgets.db"
    budget_file.create(place, Budget("income", Decimal(2), Decimal(0), "person", "replace"))
    return place


def reserve(file: Path, amount: str = "0.1") -> Reservation:
    return budget_file.reserve(file, "income", *claims(amount), "person", "replace")


def spent(file: Path) -> Decimal:
    reserved = budget_file.account(file, "income").reserved.values()
    return sum((claim.epsilon for claim in reserved), Decimal(0))


def test_a_reservation_is_spent_until_it_is_given_back_once(file: Path) -> None:
    reserve(file, "0.5")
    given = reserve(file, "1.5")
    assert budget_file.account(file, "income").left() == 0
    with pytest.raises(ParameterError, match=r"0\.1 does not fit; 0(\.0)? is left of 2\. Nothing"):
        reserve(file)
    budget_file.give_back(file, given)
    assert spent(file) == Decimal("0.5")
    entries = budget_file.account(file, "income").entries
    assert [entry.kind for entry in entries] == ["create", "reserve", "reserve", "return"]
    assert set(entries[1].content) == {"epsilon", "delta", "rho", "what", "day", "random"}
    content = file.read_bytes()
    with pytest.raises(ParameterError, match="has no such reservation, or it was given back"):
        budget_file.give_back(file, given)
    assert file.read_bytes() == content


def test_a_reservation_that_cannot_be_given_back_is_reported_as_spent(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    taken = budget_file.taken(file, "income", *claims("0.1"), "person", "replace")
    with pytest.raises(ParameterError, match=r"output error.* its cost may count as spent"), taken:
        monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.undo()
    assert spent(file) == Decimal("0.1")


def test_an_invalid_budget_is_refused(file: Path) -> None:
    for changed in (
        {"name": ""}, {"name": "![x](http://a.example)"}, {"name": "income"},
        {"epsilon": Decimal("NaN")}, {"epsilon": Decimal(0)}, {"epsilon": Decimal("1e999999")},
        {"delta": Decimal("1e-400")}, {"delta": Decimal(1)}, {"delta": Decimal("-0.1")},
        {"unit": "per\nson"}, {"neighbours": "change"},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            budget_file.create(file, dataclasses.replace(PURE, **changed))
    assert list(budget_file.accounts(file)) == ["income"]


def test_a_changed_entry_is_found_and_nothing_is_spent_on_it(file: Path) -> None:
    reserve(file)
    whole = file.read_bytes()
    for damaged, byte in zip(range(0, len(whole) - 1, 2), itertools.cycle(b"\xcc\n7")):
        if whole[damaged] != byte:
            content = whole[:damaged] + bytes([byte]) + whole[damaged + 1 :]
            file.write_bytes(content)
            for use in (budget_file.accounts, reserve):
                with pytest.raises(ParameterError, match=r"^ledger = "):
                    use(file)
            assert file.read_bytes() == content
    header, first, last = whole.splitlines(keepends=True)
    for content in (header + last, header + last + first):
        file.write_bytes(content)
        with pytest.raises(ParameterError, match="entry 1 was changed"):
            budget_file.accounts(file)


def test_an_older_copy_is_found_by_a_later_document(file: Path) -> None:
    first = reserve(file)
    older = file.read_bytes()
    second = reserve(file)
    documents = {"first": first, "second": second}
    assert budget_file.missing(file, documents) == []
    file.write_bytes(older)
    assert budget_file.missing(file, documents) == ["second"]
    # The same release made again has the same number and another digest.
    again = reserve(file)
    assert again.entry == second.entry
    assert budget_file.missing(file, documents | {"again": again}) == ["second"]
    budget_file.give_back(file, again)
    assert budget_file.missing(file, {"again": again}) == ["again"]


def test_a_budget_file_of_0_2_0_is_read_and_added_to(tmp_path: Path) -> None:
    """It has two budgets, two releases, and a failed one that was given back."""
    file = tmp_path / "budgets.db"
    file.write_bytes(OF_0_2_0.read_bytes())
    found = budget_file.accounts(file)
    assert {name: float(each.left()) for name, each in found.items()} == {
        "incomes": 2.0,
        "register": 2.0,
    }
    budget_file.reserve(file, "register", *claims("2"), "patient", "add-remove")
    assert budget_file.account(file, "register").left() == 0
    assert file.read_bytes().startswith(OF_0_2_0.read_bytes())


def test_a_file_that_cannot_be_used_is_refused_in_one_line(file: Path, tmp_path: Path) -> None:
    newer, empty = tmp_path / "newer.db", tmp_path / "empty.db"
    newer.write_bytes(file.read_bytes().replace(b'"version": 2', b'"version": 3', 1))
    empty.touch()
    for place, words in (
        (tmp_path / "none.db", "does not exist; `budget create` makes it"),
        (empty, "does not exist; `budget create` makes it"),
        (tmp_path, "cannot be"),
        (newer, "is not a file of budgets that this version reads"),
    ):
        for use in (reserve, budget_file.accounts):
            with pytest.raises(ParameterError, match=words) as failed:
                use(place)
            assert str(failed.value).startswith(f"ledger = {place}: ")
    assert not (tmp_path / "none.db").exists()
    budget_file.create(empty, PURE)
    with pytest.raises(ParameterError, match="has income\\."):
        budget_file.account(file, "other")


# ----------------------------------------------------------------- kills, and many processes


FORK = pytest.mark.skipif(os.name != "posix", reason="processes are made by fork")
FORKED = multiprocessing.get_context("fork" if os.name == "posix" else None)


def refused(out: Path, words: str) -> None:
    """Check that no release can be written to a place."""
    with pytest.raises(FileExistsError, match=words), output_file.reserved(out):
        raise AssertionError("must not be reached")


@FORK
def test_a_kill_loses_no_reservation_and_leaves_no_half_document(
    file: Path, tmp_path: Path
) -> None:
    """Processes are killed at several moments of a reservation, and while a file is written."""
    for number in range(4):
        said, tell = FORKED.Pipe(duplex=False)

        def spend(tell=tell) -> None:  # type: ignore[no-untyped-def]
            while True:
                tell.send(reserve(file, "0.001").entry)

        process = FORKED.Process(target=spend)
        process.start()
        last = said.recv()
        time.sleep(0.002 * number)
        process.kill()
        process.join()
        tell.close()
        with contextlib.suppress(EOFError):
            while True:
                last = said.recv()
        there = budget_file.account(file, "income").entries[-1].number
        assert there in (last, last + 1)
    # A line without an end does not count and is overwritten.
    content = file.read_bytes()
    for tail in (b"[", b'[9, "reserve", "income", "', b"\0" * 600):
        file.write_bytes(content + tail)
        assert budget_file.account(file, "income").entries[-1].number == there
    assert reserve(file).entry == there + 1

    def write() -> None:
        with output_file.reserved(tmp_path / "out.json"):
            os.kill(os.getpid(), signal.SIGKILL)

    process = FORKED.Process(target=write)
    process.start()
    process.join()
    assert not (tmp_path / "out.json").exists()
    # The partial file may hold a record that was paid for; it is not overwritten.
    refused(tmp_path / "out.json", "a killed one left .out.json.part")


@FORK
def test_processes_at_the_same_time_never_overspend(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, together, drawn = FORKED.SimpleQueue(), FORKED.Barrier(8), secrets.token_hex

    def slowly(size: int) -> str:
        """Between reading and writing the file, give others time to do the same."""
        time.sleep(0.01)
        return drawn(size)

    def spend() -> None:
        together.wait()
        made = 0
        for _ in range(4):
            with contextlib.suppress(ParameterError):
                reserve(file)
                made += 1
        counts.put(made)

    monkeypatch.setattr(secrets, "token_hex", slowly)
    processes = [FORKED.Process(target=spend) for _ in range(8)]
    for process in processes:
        process.start()
    assert sum(counts.get() for _ in processes) == 20
    for process in processes:
        process.join()
    assert budget_file.account(file, "income").left() == 0


def test_a_document_takes_the_place_of_no_file(tmp_path: Path) -> None:
    out, other = tmp_path / "out.json", tmp_path / "other.json"
    with output_file.reserved(out) as keep:
        assert not out.exists()
        refused(out, "another process")
        keep(b"paid for")
    assert out.read_bytes() == b"paid for"
    refused(out, "already exists")
    with output_file.reserved(other) as keep:
        other.write_text("mine")
        with pytest.raises(FileExistsError):
            keep(b"paid for")
    assert other.read_text() == "mine"
    assert not list(tmp_path.glob(".*.part"))
