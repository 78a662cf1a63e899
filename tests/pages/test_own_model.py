"""Release mode by a model of whoever runs the server: a table goes in, and all is as elsewhere."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from abcdp_core import registry, simulators
from abcdp_core.own_data import private_summary
from abcdp_core.own_model import Model, contract, lattice
from abcdp_core.own_model.blame import OwnError
from tests.pages.app import opened, settled, texts
from tests.pages.test_your_own_data import button, documents
from ui import jobs, knobs, router, state, turns, watch
from ui.job import Job, LimitError, Preparation
from ui.jobs import Work

MODEL = """
from abcdp_core.own_model import Column, Model, Parameter, declared, mean

MODEL = Model(
    name="waiting",
    title="Waiting times",
    parameters=(Parameter("typical", 0.0, 60.0, unit="min"),),
    columns=(Column("minutes", 0.0, 100.0),),
    unit="one patient",
    simulate=lambda rng, theta, n: rng.normal(theta[:, :1, None], 5.0, (len(theta), n, 1)),
    statistics=(
        mean("minutes", lambda records: records[..., 0], 0.0, 100.0),
        declared("longest", lambda records: records[..., 0].max(-1)[..., None], ("longest",), 100),
    ),
    sizes=(20,),
    pool_size=120,
)
"""
KEY = "your-data.scenario"
FILE = "room,minutes\n" + "\n".join(f"a,{61.80339887 - each!r}" for each in range(20))


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The page as it is where the server was started with this model."""
    monkeypatch.setattr(registry, "_added", [])
    file = tmp_path / "waiting.py"
    file.write_text(MODEL, encoding="utf-8")
    registry.add_file(file)
    knob = knobs.SCREEN[KEY]
    options = (*knob.parameter.options, "waiting")
    parameter = dataclasses.replace(knob.parameter, options=options)
    monkeypatch.setitem(knobs.SCREEN, KEY, dataclasses.replace(knob, parameter=parameter))
    monkeypatch.setitem(knobs.NAMES, KEY, knobs.NAMES[KEY] | {"waiting": "Waiting times"})
    yield
    monkeypatch.undo()
    del sys.modules["abcdp_plugin_waiting"]
    registry.forget()


def page(content: str) -> AppTest:
    app = opened("your_own_data", epsilon_total="5", **{KEY: "waiting"})
    app.file_uploader[0].set_value(("mine.csv", content.encode(), "text/csv"))
    return settled(app.run())


def test_a_model_of_the_server_is_released_by_as_the_cases_are() -> None:
    app = page(FILE)
    assert not app.exception
    (chosen,) = [each for each in app.selectbox if each.key == f"named-{KEY}"]
    assert chosen.options[-1] == "Waiting times"
    said = texts(app)
    assert "columns minutes: the model Waiting times of the file waiting.py" in said
    assert "The 120 public simulations reach, with this noise, minutes: " in said
    assert "Another patient in place of one" in said
    assert "a table of 20 records" in said
    assert "The sensitivity of longest was declared by who wrote the model" in said
    answers, sure = app.checkbox
    assert answers.label.startswith("I answer for the sensitivity of longest, which is declared")
    sure.check().run()
    assert button(app, "Release").disabled
    app.checkbox[0].check().run()
    app = settled(button(app, "Release").click().run())
    assert not app.exception
    (document,) = documents(app)
    assert "61.80339" not in document.to_json()
    said = texts(app)
    assert "if the sensitivity declared for longest holds" in said
    assert "python -m abcdp_core verify FILE --plugin waiting.py" in said
    # The next one is confirmed, and answered for, anew.
    assert [box.value for box in app.checkbox] == [False, False]
    app.button(key="own-forget").click().run()
    assert "of at most 2 MB" in app.file_uploader[0].label
    assert "A larger table, of up to 64 MB, is read by the command" in texts(app)


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs of a server's own: what has failed is known to all who come after."""
    service = jobs.Service()
    monkeypatch.setattr(jobs, "service", lambda: service)
    yield
    service.close()


def waits_by(monkeypatch: pytest.MonkeyPatch, progress: Callable[[float, str], None]) -> list[str]:
    """Have progress told so; returns the buttons that are drawn beside it."""
    buttons: list[str] = []
    drawn = SimpleNamespace(
        session_state={},
        empty=lambda: SimpleNamespace(progress=progress),
        button=lambda label, **_: buttons.append(label),
    )
    monkeypatch.setattr(watch, "st", drawn)
    for name in ("MOMENTS", "POLL"):
        monkeypatch.setattr(watch, name, 0.05)
    return buttons


def wait_for(scenario: str) -> None:
    """What a page does before it asks for the knobs of a scenario."""
    place = SimpleNamespace(container=contextlib.nullcontext, empty=lambda: None)
    watch.scales(cast(DeltaGenerator, place), state.leave_scenario, scenario)


@pytest.mark.usefixtures("empty_cache", "lanes")
def test_a_slow_model_says_how_far_it_is_before_its_knobs_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[tuple[float, str]] = []
    goes_on = threading.Event()
    simulated = contract._simulated

    def slowly(model: Model, progress: Callable[[float], None]) -> NDArray[np.float64]:
        progress(0.4)
        assert goes_on.wait(30.0)
        return simulated(model, progress)

    def progress(done: float, words: str) -> None:
        said.append((done, words))
        if done:
            goes_on.set()

    monkeypatch.setattr(contract, "_simulated", slowly)
    buttons = waits_by(monkeypatch, progress)
    wait_for("waiting")
    words = "The model is simulated 200 times to place its thresholds: 40%. It is done once and"
    assert any(done == 0.4 and text.startswith(words) for done, text in said)
    assert buttons == ["Cancel"]
    assert contract.has_pilot(simulators.load("waiting").MODEL)  # type: ignore[attr-defined]
    said.clear()
    for scenario in ("waiting", "uniform-mixture"):
        wait_for(scenario)
    assert said == []


def refused(monkeypatch: pytest.MonkeyPatch, error: Exception) -> tuple[list[str], list[str], int]:
    """What two sessions are told of a model that ends so, their buttons, how often it was asked."""
    begun: list[Model] = []

    def wrong(model: Model, progress: Callable[[float], None]) -> None:
        begun.append(model)
        raise error

    monkeypatch.setattr(contract, "_simulated", wrong)
    buttons = waits_by(monkeypatch, unseen)
    said: list[str] = []
    monkeypatch.setattr(watch.st, "error", said.append, raising=False)
    monkeypatch.setattr(watch.st, "stop", ended, raising=False)
    for who in ("first", "second"):
        monkeypatch.setattr(jobs, "session_id", lambda who=who: who)
        with pytest.raises(InterruptedError):
            wait_for("waiting")
    return said, buttons, len(begun)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LimitError("At most 1 s on one request."), "At most 1 s on one request."),
        (OwnError("waiting.py: line 3"), "waiting.py: line 3"),
    ],
)
@pytest.mark.usefixtures("empty_cache", "lanes")
def test_what_ends_badly_is_said_to_all_and_made_by_no_page(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    said, buttons, count = refused(monkeypatch, error)
    assert len(said) == 2
    assert all(words in each for each in said)
    assert buttons[-1:] == ["Go on without this model"]
    assert count == 1


@pytest.mark.usefixtures("empty_cache", "lanes")
def test_what_others_left_just_before_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, begun = jobs.Service.submit, list[Job]()

    def left_at_first(service: jobs.Service, asked: Preparation, who: str, work: Work) -> Job:
        begun.append(submit(service, asked, who, work))
        if len(begun) == 1:
            assert begun[0].ended.wait(30.0)
            begun[0].state = "stopped"
        return begun[-1]

    monkeypatch.setattr(jobs.Service, "submit", left_at_first)
    waits_by(monkeypatch, unseen)
    wait_for("waiting")
    assert [job.state for job in begun] == ["stopped", "done"]


def slow_pool(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> list[bool]:
    """Have public pools take their time; returns whether anybody had a turn at each meanwhile."""
    simulated, drawing = lattice._simulated, list[bool]()

    def slowly(
        model: Model, n: int, seed: int, told: Callable[[float], None] | None
    ) -> dict[str, NDArray[np.float64]]:
        time.sleep(2.0 * watch.MOMENTS)
        drawing.append(turns.are_taken())
        then()
        return simulated(model, n, seed, told)

    monkeypatch.setattr(lattice, "_simulated", slowly)
    private_summary._pools.clear()
    private_summary._fitted.cache_clear()
    return drawing


@pytest.mark.usefixtures("empty_cache", "lanes")
def test_others_may_draw_while_a_page_waits_for_the_pool_of_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked for what to expect."""
    drawing = slow_pool(monkeypatch, lambda: None)
    app = page(FILE)
    assert not app.exception
    assert "Another patient in place of one" in texts(app)
    assert drawing
    assert not any(drawing)


@pytest.mark.usefixtures("empty_cache", "lanes")
def test_a_page_goes_on_without_the_pool_of_a_model_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise LimitError("This server works for at most 1 s on one request.")

    slow_pool(monkeypatch, refuse)
    app = opened("your_own_data", epsilon_total="5", **{KEY: "waiting"})
    assert not app.exception
    (error,) = app.error
    assert "This server works for at most 1 s on one request." in error.value
    # What was released is drawn below, and is the only copy.
    assert "Nothing is spent before you press *Release*" in texts(app)


def ended() -> None:
    raise InterruptedError


def unseen(done: float, words: str) -> None:
    """Progress that nobody looks at."""


def test_who_does_not_wait_for_a_model_gets_the_scenario_that_the_page_begins_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = next(page for page in router.TABLE if page.chooser == KEY)
    session, query = {state.PAGE: page, KEY: "waiting"}, {KEY: "waiting", "seed": "2"}
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state=session, query_params=query))
    assert state.scenario_in_force() == "waiting"
    state.leave_scenario()
    assert query == {"seed": "2"}
    assert state.scenario_in_force() == knobs.find(KEY).default != "waiting"


@pytest.mark.usefixtures("empty_cache", "lanes")
def test_who_leaves_a_slow_model_ends_what_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Job] = []
    submit = jobs.Service.submit

    def seen(service: jobs.Service, asked: Preparation, who: str, work: Work) -> Job:
        begun.append(submit(service, asked, who, work))
        return begun[-1]

    def endless(model: Model, progress: Callable[[float], None]) -> None:
        for _ in range(3000):
            progress(0.1)
            time.sleep(0.01)

    def left(done: float, words: str) -> None:
        raise InterruptedError

    monkeypatch.setattr(jobs.Service, "submit", seen)
    monkeypatch.setattr(contract, "_simulated", endless)
    waits_by(monkeypatch, left)
    with pytest.raises(InterruptedError):
        wait_for("waiting")
    # A knob was moved on which the simulations do not depend; they go on.
    with pytest.raises(InterruptedError):
        wait_for("waiting")
    assert begun[0] is begun[1]
    assert begun[0].active
    watch.let_go()
    assert begun[0].ended.wait(20.0)
    assert begun[0].state == "stopped"


def test_a_table_that_lacks_a_column_is_refused_in_a_sentence() -> None:
    app = page(FILE.replace("minutes", "hours"))
    assert not app.exception
    (error,) = app.error
    assert "Column minutes is missing: the first row must name the columns" in error.value
    assert not documents(app)
