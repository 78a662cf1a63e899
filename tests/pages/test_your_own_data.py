"""Release mode on its page: what it asks, what it refuses, and that nothing of a file stays."""

from __future__ import annotations

import dataclasses
import gc
import json
import logging
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.typing import UploadedFile

from abcdp_core.release import budget_file, procedure
from abcdp_core.release.budget import Budget
from abcdp_core.release.columns import AS_IT_IS
from abcdp_core.release.document import ReleaseRecord
from tests.pages.app import button, documents, give, opened, pressed, settled, texts
from ui.figures import downloads
from ui.jobs import progress
from ui.release import budget, own_data, release_state, released, uploads
from ui.server import settings

pytestmark = pytest.mark.usefixtures("quick_releases")

SECRET = 61.80339887
VALUES = np.append(np.random.default_rng(1).uniform(0.0, 100.0, 199), SECRET)
SERIES = "\n".join(["income", *map(repr, VALUES.tolist())]).encode()
MECHANISM = "own-mechanism-uniform-mixture"
MODEL = "your-data.scenario"


@pytest.fixture(autouse=True)
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert "61.80339" not in caplog.text


def page(
    content: bytes | None = SERIES, low: float = 0.0, high: float = 100.0, by: str = ""
) -> AppTest:
    """The page with a domain typed and a file given, and a mechanism chosen if one is named."""
    app = opened("your_own_data", epsilon_total="50", c="5", epsilon_abc="0.5")
    if by:
        app.button_group(key=MECHANISM).set_value(by).run()
    app.number_input(key="own-Low").set_value(low)
    app.number_input(key="own-Hig").set_value(high)
    return app.run() if content is None else give(app, content)


def release_it(app: AppTest) -> AppTest:
    (box,) = app.checkbox
    box.check().run()
    return settled(button(app, "Release").click().run())


def told_to_browser(app: AppTest) -> dict[str, Any]:
    """What the script has that saves releases and asks before leaving; empty if it is not there."""
    scripts = [each for each in app.get("bidi_component") if each.key == "leaving"]
    return json.loads(scripts[0].proto.json) if scripts else {}


# ------------------------------------------------------------------------------ asked and released


def test_a_release_needs_domain_file_and_confirmation() -> None:
    for app in (opened("your_own_data"), page(None, low=5.0, high=5.0)):
        assert not app.checkbox
        assert not told_to_browser(app)
    assert "must be above low" in app.warning[0].value
    app.number_input(key="own-Low").set_value(0.0)
    app.number_input(key="own-Hig").set_value(100.0)
    app = settled(app.number_input(key="own-planned-uniform-mixture").set_value(90).run())
    assert "error to expect for each share, with 90 values" in texts(app)
    assert not app.checkbox
    app = give(app, SERIES)
    words = texts(app)
    assert "spends ε_total = 50" in words
    assert "series of 200 values" in words
    assert "What you will learn:** the share of your values in 0 to 20, 20 to 40" in words
    assert button(app, "Release").disabled
    # The recommended mechanism comes first.
    chooser = app.button_group(key=MECHANISM)
    assert chooser.options == ["Noisy counts (recommended)", "Sparse vector"]
    app = settled(chooser.set_value("sparse-vector").run())
    assert "This is for 90 values; your file has 200." in texts(app)
    app.sidebar.select_slider(key="epsilon_total").set_value(0.05).run()
    (warning,) = settled(app).warning
    assert "little more than the prior" in warning.value


def made(app: AppTest, label: str) -> str:
    """The text of a file once it is prepared."""
    settled(button(app, f"Prepare {label}").click().run())
    content: bytes = app.session_state[downloads.PREPARED].job.outcome
    return content.decode()


def test_what_comes_out_is_one_document_that_the_browser_saves_and_nothing_else_stays(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in empty_cache.rglob("*") if file.is_file()}

    before = page(None, low=-1000.0, high=1000.0)
    kept = files()
    app = release_it(page(low=-1000.0, high=1000.0))
    assert not app.exception
    (document,) = documents(app)
    assert (document.request.mechanism, document.n) == ("noisy-counts", 200)
    # It is shown in the person's own terms.
    (table,) = app.dataframe
    assert table.value.iloc[0, 0] == "\N{MINUS SIGN}1000 to \N{MINUS SIGN}600"
    words = texts(app)
    assert document.summary in words
    assert document.marks_in_words in words
    assert "Privacy label" in words
    assert "Demonstration" not in words
    handed = told_to_browser(app)
    assert (handed["making"], handed["file"]) == (False, "release-1.json")
    assert handed["text"] == document.to_json()
    report = made(app, "report as HTML")
    assert document.finding in report
    assert not [text for text in (handed["text"], report) if "61.80339" in text]
    assert "non-private" not in handed["text"]
    rows = made(app, f"{released.SETS} synthetic series as CSV").splitlines()[1:]
    values = [float(row.split(",")[2]) for row in rows]
    assert len(values) == released.SETS * 200
    assert -1000.0 <= min(values) < max(values) <= 1000.0
    # A page that is drawn again makes no file.
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseRecord, "to_json", lambda _: 1 / 0)
        assert not app.run().exception
    assert files() == kept
    # The link tells neither the domain nor the file; another session knows nothing of either.
    assert not [key for key in app.query_params if key.startswith("own-")]
    assert not documents(opened("your_own_data"))
    assert not documents(before)


def test_releases_of_the_same_numbers_add_up() -> None:
    app = release_it(page(by="sparse-vector"))
    assert documents(app)[0].request.mechanism == "sparse-vector"
    # The next one needs a confirmation of its own.
    assert not app.checkbox[0].value
    assert "for ε_total = 50. One more release makes it 100." in texts(app)
    held = app.session_state[uploads.UPLOADS].held
    again = "\r\n".join(f'"{value!r}"' for value in VALUES.tolist()).encode()
    app = give(pressed(app, "own-forget"), again)
    assert held.use() is None, "they were to be forgotten at once"
    assert "These numbers were released once" in texts(app)
    # Others may be of the same people.
    app = give(pressed(app, "own-forget"), again + b"\r\n1")
    assert "These numbers were released" not in texts(app)
    assert "Other numbers were released once in this session, for ε_total = 50." in texts(app)
    # What came from other numbers is the only copy all the same.
    assert "Release 1 as JSON" in [each.proto.label for each in app.get("download_button")]


def test_another_request_takes_the_confirmation_back() -> None:
    app = page(by="sparse-vector", low=-1.0)
    for change in ("c", "low", "mechanism"):
        app.checkbox[0].check().run()
        assert app.checkbox[0].value
        if change == "mechanism":
            app.button_group(key=MECHANISM).set_value("noisy-counts").run()
        elif change == "low":
            # The hashes of -1 and -2 are equal.
            app.number_input(key="own-Low").set_value(-2.0).run()
        else:
            app.sidebar.select_slider(key=change).set_value(10).run()
        (box,) = settled(app).checkbox
        assert not box.value, change


PATIENTS = "tuberculosis-patients"
PEOPLE = {PATIENTS: "strain\n" + "a\n" * 61 + "b\nc\nc\n", "covid-people": "61\n" * 20}


def page_of_people(scenario: str) -> AppTest:
    """The page with a file for a scenario of people."""
    app = opened("your_own_data", epsilon_total="1", **{MODEL: scenario})
    if scenario == PATIENTS:
        assert not app.file_uploader, "a file whose kind nobody named could be read as another"
        app = settled(app.button_group(key=f"own-column-{scenario}").set_value("labels").run())
    return give(app, PEOPLE[scenario].encode())


@pytest.mark.parametrize("scenario", PEOPLE)
def test_people_are_added_or_removed_and_nobody_is_asked_for_a_domain(scenario: str) -> None:
    app = page_of_people(scenario)
    assert not app.exception
    assert not [each for each in app.number_input if each.key in ("own-Low", "own-Hig")]
    said = texts(app)
    assert "Adding or removing one p" in said
    # How many there are is said nowhere, nor that a table was filled up.
    assert "64" not in said
    assert "20,000 values" not in said
    app = release_it(app)
    assert not app.exception
    (document,) = documents(app)
    assert document.request.scenario == scenario
    assert document.summary in texts(app)
    assert "synthetic" not in texts(app)
    if scenario == PATIENTS:
        held = app.session_state[uploads.UPLOADS].held
        settled(app.button_group(key=f"own-column-{scenario}").set_value("sizes").run())
        assert held.use() is None, "a file of another kind is asked for"


def test_a_table_is_read_by_the_columns_that_a_person_chooses_and_totals_are_asked_about() -> None:
    days = "".join(f"{n}.3.2020;x;{4711 + 61 * n}\n" for n in range(20, 0, -1))
    app = opened("your_own_data", epsilon_total="1")
    # The control shows names, and the link, bound to another one, keeps the model's.
    app = settled(app.button_group(key=f"named-{MODEL}").set_value("covid-people").run())
    assert app.button_group(key=MODEL).proto.query_param_key == MODEL
    assert app.session_state[MODEL] == "covid-people"
    app = give(app, f"Datum;Ort;Summe\n{days}".encode())
    chosen = {each.key: each for each in app.selectbox}
    assert [*chosen["own-column-name"].options] == ["Datum", "Ort", "Summe"]
    chosen["own-column-name"].set_value("Summe").run()
    next(each for each in app.selectbox if each.key == "own-date").set_value("Datum").run()
    app = settled(button(app, "Read").click().run())
    assert "they look cumulative" in texts(app)
    app = settled(button(app, "Read").click().run())
    assert not app.exception
    assert not app.file_uploader
    held = app.session_state[uploads.UPLOADS].held
    assert held.use().tolist() == [61.0] * 19
    assert "4711" not in texts(app)


# --------------------------------------------------------------------- how long numbers are held


def arrays_held() -> int:
    """How many arrays with the numbers of the series there are in this process."""
    gc.collect()
    found = (held for held in gc.get_objects() if isinstance(held, uploads.UploadedNumbers))
    return sum(np.array_equal(held._what, VALUES) for held in found if held._what is not None)


def assert_no_file_is_left() -> None:
    """Neither in Streamlit's store nor in what it hands to pages."""
    stores = 0
    for held in gc.get_objects():
        if isinstance(held, MemoryUploadedFileManager):
            stores += 1
            assert not any(held.file_storage.values())
        if isinstance(held, UploadedFile):
            assert held.closed or not held.getvalue()
    assert stores, "no store of files was found"


def test_a_file_is_taken_from_the_server_once_read_and_refused_in_a_sentence() -> None:
    app = page(None)
    for content, words in (
        (b"age\n1\ntwo61.80339\n3\n", "Row 3 is not a number"),
        (b"1\n" * 100_001, "100,001 values"),
    ):
        app = give(app, content)
        assert not app.exception
        (error,) = app.error
        assert words in error.value
        assert "61.80339" not in error.value
        assert not app.checkbox
    assert_no_file_is_left()
    # Each makes room for another.
    app = give(app, SERIES)
    assert app.checkbox
    assert not app.error
    assert not app.file_uploader
    assert_no_file_is_left()


class Redrawn:
    """A session whose page is to be redrawn: a script ends where it touches it."""

    def __getattr__(self, name: str) -> object:
        raise StopException


def test_a_file_given_while_the_page_is_redrawn_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the taking of a file and the keeping of its numbers no script can end."""
    file = UploadedFile(UploadedFileRec("id", "mine.csv", "text/csv", SERIES), None)  # type: ignore[arg-type]
    session: dict[str, Any] = {"file": file}
    getvalue = file.getvalue

    def read() -> bytes:
        monkeypatch.setattr(st, "session_state", Redrawn())
        return getvalue()

    file.getvalue = read  # type: ignore[method-assign]
    monkeypatch.setattr(st, "session_state", session)
    uploads.take_file("file", "uniform-mixture", "values", AS_IT_IS)
    with pytest.raises(StopException):
        uploads.upload_state()
    assert not getvalue()
    held = session[uploads.UPLOADS].held
    np.testing.assert_array_equal(held.use(), VALUES)
    held.drop()


def test_numbers_are_dropped_when_the_page_is_not_used() -> None:
    app = page()
    held = app.session_state[uploads.UPLOADS].held
    former = held._timer
    app.run()
    # A use of the page begins the time anew.
    assert former.finished.is_set()
    assert held._timer.daemon
    assert held._timer.interval == 60.0 * uploads.MINUTES
    assert f"{uploads.MINUTES} minutes" in own_data.STAMP
    before = arrays_held()
    assert before >= 1
    # The timer's own call, without the wait.
    held._timer.function()
    assert arrays_held() == before - 1
    app = settled(app.run())
    assert not app.exception
    assert f"unused for {uploads.MINUTES} minutes" in app.info[0].value
    assert app.file_uploader
    assert not app.checkbox


# -------------------------------------------------------------------------- what ends a release


@pytest.mark.parametrize("by", ["cancel", "forget", "leave"])
def test_a_release_waits_its_turn_and_nothing_is_paid_if_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    begun, go = threading.Event(), threading.Event()
    prepare = procedure.prepare

    def wait_for_the_pool(request: Any, values: Any, check: Callable[[float], None]) -> object:
        begun.set()
        assert go.wait(20.0)
        check(0.5)
        return prepare(request, values, lambda _: None)

    app = page()
    monkeypatch.setattr(procedure, "prepare", wait_for_the_pool)
    # Were it called, the release would fail; it would not be stopped.
    monkeypatch.setattr(budget, "paid", None)
    app.checkbox[0].check().run()
    button(app, "Release").click().run()
    assert begun.wait(20.0)
    assert told_to_browser(app)["making"] is True
    job = app.session_state[release_state.STATE].release.job
    # The page is redrawn meanwhile; the release goes on, and no second one can be asked for.
    app.run()
    assert app.session_state[release_state.STATE].release.job is job
    assert app.get("progress")
    assert not app.checkbox
    if by == "forget":
        app.button(key="own-forget").click().run()
    elif by == "leave":
        job.leave(app.session_state[progress.JOBS].session)
    else:
        button(app, "Cancel").click().run()
    go.set()
    assert job.ended.wait(20.0)
    assert job.state == "stopped"
    app.run()
    assert not documents(app)
    assert told_to_browser(app)["making"] is False
    if by != "forget":
        assert app.error[0].value == "It was stopped. Nothing was released or spent."


# ----------------------------------------------------------------------------- the server's budget


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server's ledger is to be, which is not there yet; it demands a budget."""
    file = tmp_path / "budgets.db"
    monkeypatch.setenv(budget_file.PLACE, str(file))
    with_budget = dataclasses.replace(settings.current(), budget="income")
    monkeypatch.setattr(settings, "current", lambda: with_budget)
    return file


def make_budget(ledger: Path, neighbours: str) -> None:
    amounts = Decimal(75), Decimal(0)
    budget_file.create(ledger, Budget("income", *amounts, "person", neighbours))


def test_a_release_is_taken_once_from_the_budget_that_the_server_has(ledger: Path) -> None:
    app = page()
    (error,) = app.error
    assert "does not exist; `budget create` makes it" in error.value
    assert str(ledger.parent) not in error.value
    make_budget(ledger, "replace")
    app = app.run()
    assert "ε = 75 left for one more release" in texts(app)
    app = release_it(app)
    account = budget_file.account(ledger, "income")
    assert account.left() == 25
    (document,) = documents(app)
    assert document.reservation is not None
    assert budget_file.missing(ledger, {"it": document.reservation}) == []
    (error,) = app.error
    assert "ε_total = 50 is more than what is left" in error.value
    assert not app.checkbox


def test_a_budget_that_no_release_can_be_taken_from_is_refused_before_it_is_confirmed(
    ledger: Path,
) -> None:
    make_budget(ledger, "add-remove")
    for app, protects in (
        (page(), "one value of the series"),
        (page_of_people(PATIENTS), "one pa"),
    ):
        (error,) = app.error
        assert "is for one ` person ` (add-remove)" in error.value
        assert f"this release protects {protects}" in error.value
        assert not app.checkbox
