"""What releases of the same data add up to, and the file that holds it."""

from __future__ import annotations

import contextlib
import errno
import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from abcdp_core.own_data import budget_ledger
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


def altered(file: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET content = replace(content, '0.1', '0.01') WHERE number = 2",
        "DELETE FROM entries WHERE number = 2",
        "UPDATE entries SET content = CAST(content AS BLOB) WHERE number = 2",
        "UPDATE entries SET budget = 'other' WHERE number = 3",
        "INSERT INTO entries SELECT 9, kind, budget, content, digest FROM entries WHERE number = 3",
    ],
)
def test_an_edited_entry_is_found_and_nothing_is_spent_on_it(file: Path, statement: str) -> None:
    for _ in range(3):
        reserve(file)
    altered(file, statement)
    with pytest.raises(ParameterError, match=r"entry \d was changed"):
        reserve(file)


KEEPS_NOTHING = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON entries WHEN NEW.kind = 'reserve' "
    "BEGIN DELETE FROM entries WHERE number = NEW.number; END",
    "conflict": "CREATE TABLE other (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, budget TEXT "
    "NOT NULL UNIQUE ON CONFLICT IGNORE, content TEXT NOT NULL, digest TEXT NOT NULL);"
    "INSERT INTO other SELECT * FROM entries; DROP TABLE entries;"
    "ALTER TABLE other RENAME TO entries",
    "view": "ALTER TABLE entries RENAME TO other; CREATE VIEW entries AS SELECT * FROM other;"
    "CREATE TRIGGER t INSTEAD OF INSERT ON entries BEGIN SELECT 1; END",
    "of the place": "CREATE TRIGGER t AFTER UPDATE ON place BEGIN DELETE FROM entries; END",
}
"""What SQLite does instead of what it is told, as somebody who hands over a ledger can have it."""


@pytest.mark.parametrize("statements", KEEPS_NOTHING.values(), ids=KEEPS_NOTHING)
def test_a_ledger_that_would_not_keep_a_reservation_is_refused(file: Path, statements: str) -> None:
    reserve(file)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(statements)
    for use in (lambda: reserve(file), lambda: budget_ledger.accounts(file)):
        with pytest.raises(ParameterError, match="has parts that no ledger has"):
            use()


@pytest.mark.parametrize("kind", ["trigger", "conflict", "view"])
def test_a_reservation_that_is_not_kept_is_seen_by_itself(
    file: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_ledger, "_check_kind", lambda *_: None)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(KEEPS_NOTHING[kind])
    with pytest.raises(ParameterError, match="does not keep what is written to it"):
        reserve(file)


def test_a_ledger_that_cannot_say_where_it_is_learns_it(file: Path) -> None:
    altered(file, "DROP TABLE place")
    assert spent(file) == 0
    reserve(file)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert budget_ledger._written_as(connection) is not None


def test_a_damaged_file_is_refused_whatever_its_bytes_are(file: Path) -> None:
    whole = file.read_bytes()
    place = whole.index(b"CREATE TABLE entries")
    for damaged in range(place, place + 40):
        file.write_bytes(whole[:damaged] + b"\xcc" + whole[damaged + 1 :])
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
        ("reserve", {"epsilon": "1", "delta": "0", "rho": None, "what": "\x1b[2J", "day": ""}),
        ("return", []),
        ("return", {"entry": []}),
        ("gift", {}),
    ],
)
def test_an_entry_that_makes_no_sense_is_one_line(file: Path, kind: str, content: object) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        entries = budget_ledger._entries(connection, file)
        budget_ledger._insert(connection, entries, kind, "income", content)  # type: ignore[arg-type]
        connection.commit()
    with pytest.raises(ParameterError, match=r"^ledger = .*: entry 2 makes no sense\.$"):
        budget_ledger.accounts(file)


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
    text.write_text("not a database, but of some length " * 40)
    other = tmp_path / "other.db"
    altered(other, "CREATE TABLE mine (a)")
    newer = tmp_path / "newer.db"
    newer.write_bytes(file.read_bytes())
    altered(newer, "PRAGMA user_version = 2")
    (tmp_path / "empty.db").touch()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(file.read_bytes()[:5000])
    for place, words in (
        (tmp_path / "none.db", "there is none"),
        (tmp_path / "empty.db", "there is none; `budget create` makes one"),
        (tmp_path, "cannot be opened"),
        (tmp_path / ("a" * 300), "cannot be opened"),
        (text, "is no ledger"),
        (other, "is no ledger"),
        (newer, "newer version"),
        (damaged, "damaged|entry|read"),
    ):
        with pytest.raises(ParameterError, match=words) as failed:
            reserve(place)
        assert str(failed.value).startswith(f"ledger = {place}: ")
        assert "\n" not in str(failed.value)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="files are limited in size as a disk is")
@pytest.mark.parametrize("room", [0, 4096, 10_000])
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
    assert "cannot be made" in said.get()
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(not hasattr(os, "link"), reason="files have one name each")
def test_a_ledger_of_two_names_is_refused_as_a_crash_by_one_undoes_the_other(
    file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    os.link(file, other)
    for name in (file, other):
        with pytest.raises(ParameterError, match="has 2 names"):
            reserve(name)
    other.unlink()
    reserve(file)


def journal_of_a_killed_release(file: Path) -> None:
    """What stands beside a ledger whose writer was killed before it changed the file itself."""
    journal = file.with_name(f"{file.name}-journal")
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as writer:
        # So that the journal says from its beginning on that it counts, and is on the disk.
        writer.execute("PRAGMA synchronous = OFF")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE entries SET kind = 'other'")
        writer.execute("CREATE TABLE much AS SELECT zeroblob(1000000) AS filling")
        content = journal.read_bytes()
        writer.execute("ROLLBACK")
    journal.write_bytes(content)


def test_a_journal_goes_with_the_folder(file: Path) -> None:
    reserve(file)
    journal_of_a_killed_release(file)
    moved = file.parent.rename(file.parent.with_name("moved")) / file.name
    assert spent(moved) == Decimal("0.1")
    assert [each.name for each in moved.parent.iterdir()] == [file.name]
    reserve(moved)


@pytest.mark.skipif(os.name != "posix", reason="a file that moves while it is known")
@pytest.mark.parametrize("moved", [True, False])
def test_a_log_that_another_program_left_is_in_the_way(
    moved: bool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would take pages from it, whatever was written since where it was not seen."""
    monkeypatch.setattr(budget_ledger, "MOMENT", 0.0)
    log, other = file.with_name(f"{file.name}-wal"), tmp_path / "other"
    viewer = sqlite3.connect(file)
    viewer.execute("PRAGMA journal_mode = WAL")
    viewer.execute("PRAGMA user_version = 1")
    viewer.commit()
    content = log.read_bytes()
    viewer.close()
    if moved:
        other.mkdir()
        file.rename(other / file.name)
        reserve(other / file.name)
        (other / file.name).rename(file)
    log.write_bytes(content)
    said = "may undo what was written" if moved else "has left budgets.db-wal"
    for use in (reserve, spent):
        with pytest.raises(ParameterError, match=said):
            use(file)
    log.unlink()
    assert spent(file) == Decimal("0.1") * moved


needs_locks = pytest.mark.skipif(sys.platform != "linux", reason="locks of a file's own")


@contextlib.contextmanager
def used_by_another(file: Path) -> Iterator[None]:
    """As by another process, by whatever name."""
    handle = os.open(file, os.O_RDWR)
    assert budget_ledger._lock(handle, "F_WRLCK")
    try:
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def a_release_that_waits(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Until the end; then it goes on, and ends."""
    lock, waits = budget_ledger._lock, threading.Event()

    def tell(handle: int, kind: str) -> bool:
        try:
            return lock(handle, kind)
        except BlockingIOError:
            waits.set()
            raise

    with contextlib.ExitStack() as others:
        others.enter_context(used_by_another(file))
        monkeypatch.setattr(budget_ledger, "_lock", tell)
        thread = threading.Thread(target=reserve, args=(file,))
        thread.start()
        assert waits.wait(10)
        yield
    thread.join()


@needs_locks
def test_who_has_it_by_another_name_waits(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looked for journals before another was killed by another name undid a reservation."""
    monkeypatch.setattr(budget_ledger, "WAIT", 0.05)
    other = tmp_path / "other.db"
    with used_by_another(file):
        file.rename(other)
        with pytest.raises(ParameterError, match="in use by others"):
            reserve(other)
    reserve(other)
    assert spent(other) == Decimal("0.1")


@needs_locks
def test_who_may_only_read_it_keeps_others_from_writing_meanwhile(file: Path) -> None:
    handles = [os.open(file, os.O_RDONLY) for _ in range(2)]
    assert all(budget_ledger._lock(handle, "F_RDLCK") for handle in handles)
    writer = os.open(file, os.O_RDWR)
    with pytest.raises(BlockingIOError):
        budget_ledger._lock(writer, "F_WRLCK")
    for handle in (*handles, writer):
        os.close(handle)


@needs_locks
def test_who_has_waited_for_a_file_that_was_replaced_takes_the_other_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(file, copy)
    with a_release_that_waits(file, monkeypatch):
        copy.replace(file)
    assert spent(file) == Decimal("0.1")


@needs_locks
@pytest.mark.parametrize("link", ["folder", "file"])
def test_a_link_that_is_switched_while_a_release_waits_has_it_written_where_it_leads(
    link: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written where it led before, a reservation counted nowhere."""
    second = tmp_path / "second"
    shutil.copytree(file.parent, second)
    current = tmp_path / "current"
    ends = (file.parent, second) if link == "folder" else (file, second / file.name)
    current.symlink_to(ends[0])
    ledger = current / file.name if link == "folder" else current
    with a_release_that_waits(ledger, monkeypatch):
        current.unlink()
        current.symlink_to(ends[1])
    assert (spent(file), spent(ledger)) == (0, Decimal("0.1"))


@pytest.mark.skipif(os.name != "posix", reason="a link")
def test_a_link_that_is_switched_while_a_release_is_written_is_seen(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(file.parent, tmp_path / "second")
    current = tmp_path / "current"
    current.symlink_to(file.parent)

    def switch() -> None:
        current.unlink()
        current.symlink_to(tmp_path / "second")

    at_commit(monkeypatch, before=switch)
    with pytest.raises(ParameterError, match="was replaced while it was in use; try again"):
        reserve(current / file.name)


@pytest.mark.parametrize("row", ["7, 8", "NULL, NULL", "'1', x''", "'1', '/'", "'1', x'002f'"])
def test_a_place_that_makes_no_sense_is_none(file: Path, row: str) -> None:
    altered(file, "DROP TABLE place")
    altered(file, "CREATE TABLE place (folder, path)")
    altered(file, f"INSERT INTO place VALUES ({row})")
    assert budget_ledger._last_place(file) is None
    altered(file, "DROP TABLE place")
    reserve(file)


@pytest.mark.skipif(os.name != "posix", reason="a file that moves while it is known")
@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("checked", [True, False])
def test_what_was_reserved_elsewhere_is_not_undone_where_a_release_was_killed(
    seen: bool, checked: bool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the ledger is moved, or known by another name in a container, which sees no journal."""
    monkeypatch.setattr(budget_ledger, "MOMENT", 0.1)
    if not checked:
        monkeypatch.setattr(budget_ledger, "_check_journals", lambda *_: None)
    reserve(file)
    journal_of_a_killed_release(file)
    journal, other = file.with_name(f"{file.name}-journal"), tmp_path / "other"
    other.mkdir()
    if not seen:
        journal.rename(tmp_path / "aside")
    file.rename(other / "b.db")
    if seen and checked:
        with pytest.raises(ParameterError, match=r"was interrupted when it was .* open it by that"):
            reserve(other / "b.db")
        (other / "b.db").rename(file)
        assert spent(file) == Decimal("0.1")
        assert not journal.exists()
        file.rename(other / "b.db")
    reserve(other / "b.db")
    assert spent(other / "b.db") == Decimal("0.2")
    (other / "b.db").rename(file)
    if not seen:
        (tmp_path / "aside").rename(journal)
    if not checked:
        assert spent(file) == Decimal("0.1"), "SQLite undoes it"
        return
    if not seen:
        with pytest.raises(ParameterError, match="beside it may undo what was written"):
            spent(file)
        journal.unlink()
    assert spent(file) == Decimal("0.2")
    reserve(file)


def test_a_ledger_that_stays_locked_is_one_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_ledger, "WAIT", 0.05)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ParameterError, match="is in use by others"):
            reserve(file)


def at_commit(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Have something happen just before or after a change of the ledger is made."""

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *args: object) -> sqlite3.Cursor:  # type: ignore[override]
            if sql == "COMMIT":
                before()
            done = super().execute(sql, *args)  # type: ignore[arg-type]
            if sql == "COMMIT":
                after()
            return done

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **settings: connect(*args, factory=Watched, **settings)
    )


def test_what_a_disk_failed_at_after_it_was_done_is_not_called_undone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR_DIR_FSYNC"
        raise error

    at_commit(monkeypatch, after=fail)
    with pytest.raises(ParameterError, match="may have been: `budget show` tells"):
        reserve(file)
    monkeypatch.undo()
    assert spent(file) == Decimal("0.1")


def test_what_was_written_into_a_file_that_was_replaced_meanwhile_does_not_count(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program does that keeps folders in step, or puts a folder away and copies it back."""

    def put_a_copy_there() -> None:
        shutil.copy(file, file.with_name("copy"))
        file.with_name("copy").replace(file)

    at_commit(monkeypatch, before=put_a_copy_there)
    with pytest.raises(ParameterError, match="was replaced while it was in use; try again"):
        reserve(file)
    monkeypatch.undo()
    assert spent(file) == 0


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError(errno.EIO, "Input/output error"), "cannot be opened"), (MemoryError(), "memory")],
)
def test_a_cost_that_cannot_be_given_back_is_said_to_count(
    error: Exception, words: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_settings: object) -> None:
        raise error

    taken = budget_ledger.taken(file, "income", *claims("0.1"), "person", "replace")
    with pytest.raises(ParameterError, match=rf"{words}.* its cost may count as spent\."), taken:
        monkeypatch.setattr(Path, "stat", fail)
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
