"""Release mode by a model of whoever runs the server: a table goes in, and all is as elsewhere."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from abcdp_core import registry, simulators
from abcdp_core.own_data import simulated, summary_request
from abcdp_core.own_model import Model, contract
from abcdp_core.own_model.blame import OwnError
from abcdp_core.posterior.rounds import Draws
from tests.pages.app import ROOT, opened, settled, texts
from tests.pages.test_your_own_data import button, documents, give, one_round  # noqa: F401
from ui.jobs import queue
from ui.jobs.job import RefusedError
from ui.view import knobs

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
SOON = 30.0


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


@pytest.fixture
def fresh(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No simulations are kept, and no job is known: one that failed is known to all for a while."""
    jobs = queue.Queue()
    monkeypatch.setattr(queue, "current", lambda: jobs)
    simulated._pools.clear()
    summary_request._with_noise.cache_clear()


def first_look() -> AppTest:
    """The page as it is first seen, before what it waits for is there."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update({KEY: "waiting", "epsilon_total": "5"})
    return app.switch_page("pages/your_own_data.py").run()


def page(content: str) -> AppTest:
    return give(opened("your_own_data", epsilon_total="5", **{KEY: "waiting"}), content.encode())


def test_a_model_of_the_server_is_released_by_as_the_cases_are() -> None:
    app = page(FILE)
    assert not app.exception
    (chosen,) = [each for each in app.selectbox if each.key == f"named-{KEY}"]
    assert chosen.options[-1] == "Waiting times"
    said = texts(app)
    assert "columns minutes: the model Waiting times of the file waiting.py" in said
    assert "The 10,000 public simulations reach, with this noise, minutes: " in said
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
    assert "abcdp verify FILE --plugin waiting.py" in said
    # The next one is confirmed, and answered for, anew.
    assert [box.value for box in app.checkbox] == [False, False]
    app.button(key="own-forget").click().run()
    assert "of at most 2 MB" in app.file_uploader[0].label
    assert "A larger table, of up to 64 MB, is read by the command" in texts(app)
    app = give(app, FILE.replace("minutes", "hours").encode())
    (error,) = app.error
    assert "Column minutes is missing: the first row must name the columns" in error.value


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets the simulations that place the knobs of the model go on from 40 %."""
    goes_on = threading.Event()
    simulated = contract._simulated

    def slowly(model: Model, told: Callable[[float], None]) -> NDArray[np.float64]:
        told(0.4)
        assert goes_on.wait(SOON)
        told(0.8)
        return simulated(model, told)

    monkeypatch.setattr(contract, "_simulated", slowly)
    yield goes_on
    goes_on.set()


@pytest.mark.usefixtures("fresh")
def test_a_slow_model_says_how_far_it_is_before_its_knobs_are_there(
    held_back: threading.Event,
) -> None:
    app = first_look()
    (line,) = app.get("progress")
    assert "The model is simulated 200 times to place its thresholds: 40%" in line.proto.text
    assert not app.sidebar.select_slider
    held_back.set()
    app = settled(app)
    assert not app.exception
    assert contract.has_pilot(simulators.load("waiting").MODEL)  # type: ignore[attr-defined]
    assert app.sidebar.select_slider
    assert "Another patient in place of one" in texts(app)


@pytest.mark.usefixtures("fresh")
def test_who_does_not_wait_for_a_model_ends_it_and_has_the_scenario_that_the_page_begins_with(
    held_back: threading.Event,
) -> None:
    app = first_look()
    (asked,) = queue.current()._jobs.values()
    # A redraw meanwhile: the simulations go on.
    app.run()
    assert [*queue.current()._jobs.values()] == [asked]
    assert asked.active
    app = settled(button(app, "Go on without this model").click().run())
    assert not app.exception
    assert app.session_state[KEY] == knobs.FIRST_SCENARIO
    assert KEY not in app.query_params
    held_back.set()
    assert asked.ended.wait(SOON)
    assert asked.state == "stopped"


@pytest.mark.parametrize(
    "error",
    [RefusedError("This server works at most 1 s on one request."), OwnError("waiting.py: line 3")],
)
@pytest.mark.usefixtures("fresh")
def test_what_ends_badly_is_said_to_all_and_made_once(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    begun: list[Model] = []

    def wrong(model: Model, _: Callable[[float], None]) -> None:
        begun.append(model)
        raise error

    monkeypatch.setattr(contract, "_simulated", wrong)
    for _ in range(2):
        app = settled(first_look())
        assert not app.exception
        assert str(error) in app.error[0].value
        assert button(app, "Go on without this model")
    assert len(begun) == 1


def with_pools(monkeypatch: pytest.MonkeyPatch, then: Callable[[Any], None]) -> None:
    """Have something done at each public pool that is simulated; it is given what it is told by."""
    made = simulated._simulated

    def instead(model: Any, seed: int, size: int, told: Any) -> Draws:
        then(told)
        return made(model, seed, size, told)

    monkeypatch.setattr(simulated, "_simulated", instead)


@pytest.mark.usefixtures("fresh")
def test_a_pool_that_takes_long_is_made_once_while_the_page_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, goes_on, count = threading.Event(), threading.Event(), 0

    def slowly(told: Callable[[float], None]) -> None:
        nonlocal count
        count += 1
        told(0.1)
        begun.set()
        assert goes_on.wait(SOON)
        told(0.2)

    with_pools(monkeypatch, slowly)
    app = first_look()
    if not begun.is_set():
        # It waited for the knobs of the model first.
        app.run()
        assert begun.wait(SOON)
    app.run()
    (line,) = app.get("progress")
    assert line.proto.text.startswith("Simulating the public pool: 10%. It is made once")
    assert all(job.wanted for job in queue.current()._jobs.values() if job.active)
    goes_on.set()
    app = settled(app)
    assert not app.exception
    assert "Another patient in place of one" in texts(app)
    assert count == 1, "it was stopped and begun anew"


@pytest.mark.usefixtures("fresh")
def test_a_page_goes_on_without_the_pool_of_a_model_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: object) -> None:
        raise RefusedError("This server works at most 1 s on one request.")

    with_pools(monkeypatch, refuse)
    app = opened("your_own_data", epsilon_total="5", **{KEY: "waiting"})
    assert not app.exception
    (error,) = app.error
    assert "This server works at most 1 s on one request." in error.value
    # What was released is drawn below, and is the only copy.
    assert "Nothing is spent before you press *Release*" in texts(app)
