"""What releases of the same data add up to, and the file that holds it."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from abcdp_core.own_data import budget_ledger, ledger_file
from abcdp_core.own_data.budget import Budget, Claim, fits, largest_rho, left, pure
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import composition

PURE = Budget("b", Decimal("0.3"), Decimal(0), "person", "replace")
WITH_DELTA = Budget("b", Decimal(3), Decimal("1e-6"), "person", "replace")


def claims(*amounts: str) -> list[Claim]:
    return [pure(Decimal(amount), "test") for amount in amounts]


# ----------------------------------------------------------------------------------- what adds up


def test_amounts_are_decimal() -> None:
    assert fits(PURE, claims("0.1", "0.1", "0.1"))
    assert fits(PURE, [pure(0.1, "")] * 3)
    assert not fits(PURE, claims("0.1", "0.1", "0.1000000000000000000001"))


def test_without_a_delta_of_its_own_a_budget_takes_pure_releases_only() -> None:
    gaussian = Claim(Decimal("0.01"), Decimal("1e-12"), 1e-9, "")
    assert not fits(PURE, [gaussian])
    assert fits(WITH_DELTA, [gaussian])


def test_with_a_delta_many_small_releases_cost_less_than_their_sum() -> None:
    small = claims("0.05")[0]
    most = next(count for count in range(60, 1000) if not fits(WITH_DELTA, [small] * (count + 1)))
    assert most > 120
    # No rule that only knows ε and their number does better than the optimal one.
    assert composition.epsilon(0.05, most, 1e-6, "optimal") <= 3.0


def test_one_large_release_is_not_refused_for_the_rule_of_many() -> None:
    assert fits(WITH_DELTA, claims("3"))
    assert not fits(WITH_DELTA, claims("3.0001"))


def test_the_largest_rho_converts_to_the_budget_and_a_larger_one_does_not() -> None:
    rho = largest_rho(WITH_DELTA)

    def converted(rho: float) -> float:
        return composition.from_renyi(lambda alpha: rho * alpha, 0.5e-6)

    assert converted(rho) <= 3.0
    assert converted(rho * 1.0001) > 3.0
    # The usual closed form is a little worse than the best order.
    assert rho + 2.0 * math.sqrt(rho * math.log(2e6)) == pytest.approx(3.0, rel=0.15)


def test_what_has_no_rho_adds_up_by_sums_with_half_the_delta() -> None:
    half = Claim(Decimal("0.1"), Decimal("2.5e-7"), None, "")
    assert fits(WITH_DELTA, [half, half])
    assert not fits(WITH_DELTA, [half, half, half])


AMOUNTS = some.lists(some.decimals("0.001", "2", places=3), max_size=8)


@settings(max_examples=60, deadline=None)
@given(amounts=AMOUNTS, delta=some.sampled_from(["0", "1e-6", "1e-3"]))
def test_what_is_left_fits_and_hardly_more(amounts: list[Decimal], delta: str) -> None:
    budget = Budget("b", Decimal(3), Decimal(delta), "person", "replace")
    spent: list[Claim] = []
    for amount in amounts:
        if fits(budget, [*spent, pure(amount, "")]):
            spent.append(pure(amount, ""))
    rest = left(budget, spent)
    assert rest == 0 or fits(budget, [*spent, pure(rest, "")])
    more = rest * Decimal("1.003") + Decimal("1e-6")
    assert not fits(budget, [*spent, pure(more, "")])


# ---------------------------------------------------------------------------------------- the file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "some" / "budgets.db"
    budget_ledger.create(place, Budget("income", Decimal(2), Decimal(0), "person", "replace"))
    return place


def reserve(file: Path, amount: str = "0.1") -> Reservation:
    return budget_ledger.reserve(file, "income", *claims(amount), "person", "replace")


def spent(file: Path) -> Decimal:
    reserved = budget_ledger.account(file, "income").reserved.values()
    return sum((claim.epsilon for claim in reserved), Decimal(0))


def test_what_is_reserved_is_spent_and_what_is_given_back_is_not(file: Path) -> None:
    reserve(file, "0.5")
    given = reserve(file, "1.5")
    assert budget_ledger.account(file, "income").left() == 0
    with pytest.raises(ParameterError, match=r"0\.1 does not fit; 0(\.0)? is left of 2\. Nothing"):
        reserve(file)
    budget_ledger.give_back(file, given)
    assert spent(file) == Decimal("0.5")
    kinds = [entry.kind for entry in budget_ledger.account(file, "income").entries]
    assert kinds == ["create", "reserve", "reserve", "return"]


@pytest.mark.parametrize("keeps", [True, False])
def test_only_what_drew_noise_stays_spent_where_a_release_fails(file: Path, keeps: bool) -> None:
    with (
        contextlib.suppress(KeyboardInterrupt),
        budget_ledger.taken(file, "income", *claims("0.5"), "person", "replace") as taken,
    ):
        assert spent(file) == Decimal("0.5")
        if keeps:
            taken.keep()
        raise KeyboardInterrupt
    assert spent(file) == (Decimal("0.5") if keeps else 0)


@pytest.mark.parametrize(
    ("unit", "neighbours"), [("day", "replace"), ("person", "add-remove"), ("Person", "replace")]
)
def test_what_protects_something_else_is_refused(file: Path, unit: str, neighbours: str) -> None:
    with pytest.raises(ParameterError, match="is for a person"):
        budget_ledger.reserve(file, "income", *claims("0.1"), unit, neighbours)
    assert spent(file) == 0


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "unit", "neighbours"),
    [
        ("", "1", "0", "person", "replace"),
        ("![x](http://a.example)", "1", "0", "person", "replace"),
        ("a", "NaN", "0", "person", "replace"),
        ("a", "Infinity", "0", "person", "replace"),
        ("a", "0", "0", "person", "replace"),
        ("a", "1e999999", "0", "person", "replace"),
        ("a", "5e-324", "0.1", "person", "replace"),
        ("a", "1." + "0" * 10_000 + "1", "0", "person", "replace"),
        ("a", "1", "1e-400", "person", "replace"),
        ("a", "1", "0." + "9" * 30, "person", "replace"),
        ("a", "1", "1", "person", "replace"),
        ("a", "1", "-0.1", "person", "replace"),
        ("a", "1", "0", "per\nson", "replace"),
        ("a", "1", "0", "person", "change"),
        ("income", "9", "0", "person", "replace"),
    ],
)
def test_senseless_budgets_are_refused(file: Path, name: str, epsilon: str, delta: str,
                                       unit: str, neighbours: str) -> None:  # fmt: skip
    wrong = Budget(name, Decimal(epsilon), Decimal(delta), unit, neighbours)
    with pytest.raises(ParameterError):
        budget_ledger.create(file, wrong)
    assert list(budget_ledger.accounts(file)) == ["income"]


@pytest.mark.parametrize("epsilon", ["1e-6", "1", "1e6"])
@pytest.mark.parametrize("delta", ["0", "1e-30", "0.99999999999999999999"])
def test_the_smallest_and_largest_budgets_say_what_is_left(
    file: Path, epsilon: str, delta: str
) -> None:
    extreme = Budget("a", Decimal(epsilon), Decimal(delta), "person", "replace")
    budget_ledger.create(file, extreme)
    assert budget_ledger.account(file, "a").left() >= Decimal(epsilon)


Fields = list[list[Any]]


def altered(file: Path, change: Callable[[Fields], object]) -> None:
    """Change the fields of a ledger's lines by another hand."""
    header, *lines = file.read_bytes().splitlines()
    fields = [json.loads(line) for line in lines]
    change(fields)
    texts = [header, *(json.dumps(each).encode() for each in fields)]
    file.write_bytes(b"".join(text + b"\n" for text in texts))


def in_two(fields: Fields, place: int, value: object) -> None:
    fields[1][place] = value


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: in_two(fields, 3, fields[1][3].replace("0.1", "0.01")),
        lambda fields: fields.pop(1),
        lambda fields: in_two(fields, 0, 2.0),
        lambda fields: in_two(fields, 0, "2"),
        lambda fields: in_two(fields, 2, "other"),
        lambda fields: in_two(fields, 2, ["income"]),
        lambda fields: in_two(fields, 1, "\ud800"),
        lambda fields: in_two(fields, 4, None),
        lambda fields: fields[1].append(""),
        lambda fields: fields.append([9, *fields[2][1:]]),
        lambda fields: fields.append([]),
    ],
    ids=[
        *("amount", "removed", "float", "text", "budget", "list", "surrogate", "no digest"),
        *("longer", "again", "empty"),
    ],
)
def test_an_edited_entry_is_found_and_nothing_is_spent_on_it(
    file: Path, change: Callable[[Fields], object]
) -> None:
    for _ in range(3):
        reserve(file)
    altered(file, change)
    content = file.read_bytes()
    for use in (reserve, spent):
        with pytest.raises(ParameterError, match=r"entry \d was changed"):
            use(file)
    assert file.read_bytes() == content


def test_a_damaged_file_is_refused_whatever_its_bytes_are(file: Path) -> None:
    reserve(file)
    whole = file.read_bytes()
    for damaged in range(len(whole) - 1):
        for byte in (b"\xcc", b"\n", b"\0"):
            if whole[damaged : damaged + 1] != byte:
                file.write_bytes(whole[:damaged] + byte + whole[damaged + 1 :])
                with pytest.raises(ParameterError, match=r"^ledger = "):
                    budget_ledger.accounts(file)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("create", {}),
        ("create", {"epsilon": "1e999999", "delta": "0", "unit": "day", "neighbours": "replace"}),
        ("reserve", {"epsilon": "a lot", "delta": "0", "rho": None, "what": ""}),
        ("reserve", {"epsilon": "NaN", "delta": "0", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": "-1", "delta": "0", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": "1e999999", "delta": "0", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": "1", "delta": "0", "rho": "nan", "what": "", "day": ""}),
        ("reserve", {"epsilon": "1", "delta": "0", "rho": "0x1p1023", "what": "", "day": ""}),
        ("reserve", {"epsilon": " 1\n\n", "delta": "0", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": "1", "delta": "\uff10", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": True, "delta": "0", "rho": None, "what": "", "day": ""}),
        ("reserve", {"epsilon": "1", "delta": "0", "rho": None, "what": "\x1b[2J", "day": ""}),
        ("reserve", {"epsilon": "1", "delta": "0", "rho": None, "what": "a" * 1001, "day": ""}),
        ("create", {"epsilon": "9", "delta": "0", "unit": "person", "neighbours": "replace"}),
        ("return", {"entry": 3}),
        ("return", {"entry": True}),
        ("return", {"entry": 1}),
        ("return", []),
        ("return", {"entry": []}),
        ("gift", {}),
    ],
)
def test_an_entry_that_makes_no_sense_is_one_line(file: Path, kind: str, content: object) -> None:
    with ledger_file.opened(file, writes=True) as found:
        entries = budget_ledger._entries(found, file)
        budget_ledger._append(found, entries, kind, "income", content)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^ledger = .*: entry 2 makes no sense\.$"):
        budget_ledger.accounts(file)


def test_of_many_budgets_some_are_named_where_one_is_not_known(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("second", "third"):
        budget_ledger.create(file, Budget(name, Decimal(2), Decimal(0), "person", "replace"))
    with pytest.raises(ParameterError, match="has income, second, third\\."):
        budget_ledger.account(file, "fourth")
    monkeypatch.setattr(budget_ledger, "SAID", 2)
    with pytest.raises(ParameterError, match="has income, second and 1 more\\."):
        budget_ledger.account(file, "fourth")


@pytest.mark.parametrize(
    ("kind", "budget", "content"),
    [
        ("return", "income", {"entry": 2}),
        ("return", "income", {"entry": 2.0}),
        ("return", "other", {"entry": 3}),
        ("reserve", "third", {"epsilon": "1", "delta": "0", "rho": None, "what": "", "day": ""}),
    ],
)
def test_what_does_not_follow_from_the_lines_before_makes_no_sense(
    file: Path, kind: str, budget: str, content: object
) -> None:
    """Whoever hands over a ledger could have all that is reserved in it given back beforehand."""
    budget_ledger.create(file, Budget("other", Decimal(2), Decimal(0), "person", "replace"))
    made = reserve(file)
    budget_ledger.give_back(file, made)
    with ledger_file.opened(file, writes=True) as found:
        entries = budget_ledger._entries(found, file)
        budget_ledger._append(found, entries, kind, budget, content)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="entry 5 makes no sense"):
        reserve(file)


@pytest.mark.parametrize(
    ("what", "written"),
    [
        ("a\nb", "a?b"),
        ("\x1b[2J", "?[2J"),
        ("soft\xadhyphen", "soft?hyphen"),
        ("a" * 990, "a" * 990),
        ("a" * 991, "a" * 988 + " …"),
    ],
)
def test_what_is_said_of_a_release_is_written_as_it_can_be_printed(
    file: Path, what: str, written: str
) -> None:
    """A pool with sixty declared numbers, or a soft hyphen in a name, was refused."""
    budget_ledger.reserve(file, "income", pure(Decimal("0.1"), what), "person", "replace")
    (claim,) = budget_ledger.account(file, "income").reserved.values()
    assert claim.what == written


def test_an_amount_that_could_not_be_read_again_is_not_written(file: Path) -> None:
    claim = Claim(Decimal("0.1"), Decimal(0), math.inf, "test")
    with pytest.raises(ParameterError, match="cannot be written down"):
        budget_ledger.reserve(file, "income", claim, "person", "replace")
    assert spent(file) == 0


def test_an_older_copy_is_found_by_a_later_document(file: Path) -> None:
    first = reserve(file)
    older = file.read_bytes()
    second = reserve(file)
    documents = {"first": first, "second": second}
    assert budget_ledger.missing(file, documents) == []
    file.write_bytes(older)
    assert budget_ledger.missing(file, documents) == ["second"]
    # Whoever goes on with the copy makes another entry by the same number, be it the same release.
    again = reserve(file)
    assert again.entry == second.entry
    assert budget_ledger.missing(file, documents | {"again": again}) == ["second"]


def test_a_ledger_whose_last_end_was_taken_away_counts_its_last_line(file: Path) -> None:
    reserve(file)
    file.write_bytes(file.read_bytes().rstrip())
    assert spent(file) == Decimal("0.1")
    reserve(file)
    assert spent(file) == Decimal("0.2")


def test_a_document_whose_cost_was_given_back_is_found(file: Path) -> None:
    made = reserve(file)
    budget_ledger.give_back(file, made)
    assert budget_ledger.missing(file, {"made": made}) == ["made"]


def test_who_has_no_home_folder_is_told_so_only_where_a_ledger_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def homeless(*_: object) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv(budget_ledger.PLACE, raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", homeless)
    place = budget_ledger.usual_place()
    with pytest.raises(ParameterError, match="there is none"):
        reserve(place)
    with pytest.raises(ParameterError, match="cannot be made"):
        budget_ledger.create(place, PURE)


def test_files_that_cannot_be_used_are_one_line(file: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no ledger, but of some length " * 40)
    lines = tmp_path / "lines"
    lines.write_text("no ledger\neither\n")
    newer = tmp_path / "newer.db"
    newer.write_bytes(file.read_bytes().replace(b'"version": 2', b'"version": 3', 1))
    (tmp_path / "empty.db").touch()
    (tmp_path / "begun.db").write_bytes(ledger_file.HEADER[:20])
    large = tmp_path / "large.db"
    with large.open("wb") as handle:
        handle.truncate(ledger_file.LARGEST + 1)
    for place, words in (
        (tmp_path / "none.db", "there is none"),
        (tmp_path / "empty.db", "there is none; `budget create` makes one"),
        (tmp_path / "begun.db", "there is none; `budget create` makes one"),
        (tmp_path, "cannot be opened"),
        (tmp_path / ("a" * 300), "cannot be opened"),
        (text, "is no ledger"),
        (lines, "is no ledger"),
        (newer, "newer version"),
        (large, "a ledger has at most"),
    ):
        with pytest.raises(ParameterError, match=words) as failed:
            reserve(place)
        assert str(failed.value).startswith(f"ledger = {place}: ")
        assert "\n" not in str(failed.value)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="files are limited in size as a disk is")
@pytest.mark.parametrize("room", [0, 20, 60, 200])
def test_a_full_disk_leaves_no_empty_ledger(room: int, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    context = multiprocessing.get_context("fork")
    said = context.SimpleQueue()

    def make() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            budget_ledger.create(tmp_path / "budgets.db", PURE)
        except ParameterError as error:
            said.put(str(error))
        else:
            said.put("made")

    process = context.Process(target=make)
    process.start()
    process.join()
    assert "the disk is full" in said.get()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError(errno.EIO, "Input/output error"), "Input/output error"), (MemoryError(), "memory")],
)
def test_a_cost_that_cannot_be_given_back_is_said_to_count(
    error: Exception, words: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_settings: object) -> None:
        raise error

    taken = budget_ledger.taken(file, "income", *claims("0.1"), "person", "replace")
    with (
        pytest.raises(
            ParameterError, match=rf"{words}.* its cost may count as spent: `budget show`"
        ),
        taken,
    ):
        monkeypatch.setattr(os, "open", fail)
    monkeypatch.undo()
    assert spent(file) == Decimal("0.1")


@pytest.mark.skipif(os.name != "posix", reason="processes are made by fork")
def test_twenty_processes_at_once_spend_the_budget_and_no_more(file: Path) -> None:
    context = multiprocessing.get_context("fork")
    counts = context.SimpleQueue()

    def spend() -> None:
        made = 0
        for _ in range(3):
            with contextlib.suppress(ParameterError):
                reserve(file)
                made += 1
        counts.put(made)

    processes = [context.Process(target=spend) for _ in range(20)]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    assert total == 20
    assert spent(file) == 2


@pytest.mark.skipif(os.name != "posix", reason="processes are made by fork")
def test_what_was_said_to_be_reserved_is_there_after_a_kill(file: Path) -> None:
    """Killed at moments spread over the time of some reservations."""
    context = multiprocessing.get_context("fork")
    for number in range(8):
        said, tell = context.Pipe(duplex=False)

        def spend(tell=tell) -> None:  # type: ignore[no-untyped-def]
            while True:
                tell.send(reserve(file, "0.001").entry)

        process = context.Process(target=spend)
        process.start()
        last = said.recv()
        time.sleep(0.002 * number)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        tell.close()
        with contextlib.suppress(EOFError):
            while True:
                last = said.recv()
        there = budget_ledger.account(file, "income").entries[-1].number
        assert there in (last, last + 1)
    reserve(file)


def test_threads_of_one_process_share_it_too(file: Path) -> None:
    def spend() -> None:
        for _ in range(10):
            with contextlib.suppress(ParameterError):
                reserve(file)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent(file) == 2


def test_nothing_of_the_data_is_in_the_file(file: Path) -> None:
    reserve(file)
    entry = budget_ledger.account(file, "income").entries[-1]
    assert set(entry.content) == {"epsilon", "delta", "rho", "what", "day", "random"}
