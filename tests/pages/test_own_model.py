"""Release mode by a model added to the server: a table goes in, and all is as elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.base import registry
from abcdp_core.models.own_model import Model, contract
from abcdp_core.posterior.rounds import Draws
from abcdp_core.release import simulated, summary_request
from tests.pages.app import button, documents, give, linked, opened, pressed, settled, texts
from ui.jobs import queue
from ui.jobs.job import RefusedError
from ui.view import controls_spec

pytestmark = pytest.mark.usefixtures("quick_releases")

MODEL = """
from abcdp_core.models.own_model import Column, Model, Parameter, declared, mean

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
    controls_spec.names_of.cache_clear()
    yield
    monkeypatch.undo()
    controls_spec.names_of.cache_clear()
    del sys.modules["abcdp_plugin_waiting"]
    registry.forget()


def test_a_model_of_the_server_is_released_by_as_the_cases_are() -> None:
    app = give(opened("your_own_data", epsilon_total="5", **{KEY: "waiting"}), FILE.encode())
    assert not app.exception
    (chosen,) = [each for each in app.selectbox if each.key == f"named-{KEY}"]
    assert chosen.options[-1] == "Waiting times"
    said = texts(app)
    assert "columns minutes: the model Waiting times in the file waiting.py" in said
    assert "Replacing one patient" in said
    assert "a table of 20 records" in said
    _, answers, sure = app.checkbox
    assert answers.label.startswith("I take responsibility for the declared sensitivity of longest")
    sure.check().run()
    assert button(app, "Release").disabled
    app.checkbox[1].check().run()
    app = settled(button(app, "Release").click().run())
    assert not app.exception
    (document,) = documents(app)
    assert "61.80339" not in document.to_json()
    said = texts(app)
    assert "if the sensitivity declared for longest holds" in said
    assert "abcdp verify FILE --plugin waiting.py" in said
    # The next one is confirmed, and answered for, anew.
    assert not any(box.value for box in app.checkbox)
    app = give(pressed(app, "own-forget"), FILE.replace("minutes", "hours").encode())
    assert "Column minutes is missing" in app.error[0].value


@pytest.mark.parametrize("end", ["shown", "left", "refused"])
def test_a_slow_model_and_its_pool_are_simulated_once_while_the_page_waits(
    end: str, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_begun, model_goes_on, pool_begun, pool_goes_on = (threading.Event() for _ in range(4))
    simulate, draw = contract._simulated, simulated._simulated
    pools = 0

    def slow_model(model: Model, told: Callable[[float], None]) -> NDArray[np.float64]:
        told(0.4)
        model_begun.set()
        assert model_goes_on.wait(SOON)
        told(0.8)
        return simulate(model, told)

    def slow_pool(model: Any, seed: int, size: int, told: Any) -> Draws:
        nonlocal pools
        pools += 1
        told(0.1)
        pool_begun.set()
        assert pool_goes_on.wait(SOON)
        if end == "refused":
            raise RefusedError("This server works at most 1 s on one request.")
        return draw(model, seed, size, told)

    # No simulations are kept, and no job is known.
    jobs = queue.Queue()
    monkeypatch.setattr(queue, "current", lambda: jobs)
    monkeypatch.setattr(contract, "_simulated", slow_model)
    monkeypatch.setattr(simulated, "_simulated", slow_pool)
    simulated._pools.clear()
    summary_request._with_noise.cache_clear()
    app = linked("your_own_data", epsilon_total="5", **{KEY: "waiting"})
    (asked,) = jobs._jobs.values()
    assert model_begun.wait(SOON)
    (line,) = app.run().get("progress")
    assert "Simulating the model 200 times to choose its thresholds: 40%" in line.proto.text
    assert not app.sidebar.select_slider
    assert [*jobs._jobs.values()] == [asked], "drawn again: the simulations go on"
    if end == "left":
        app = settled(button(app, "Continue without this model").click().run())
        assert app.session_state[KEY] == controls_spec.FIRST_SCENARIO
        assert KEY not in app.query_params
    model_goes_on.set()
    assert asked.ended.wait(SOON)
    assert asked.state == ("stopped" if end == "left" else "done")
    if end == "left":
        return
    app.run()
    assert pool_begun.wait(SOON)
    app.run()
    (line,) = app.get("progress")
    assert line.proto.text.startswith("Simulating the public pool: 10%. This is done once")
    pool_goes_on.set()
    app = settled(app)
    assert not app.exception
    assert pools == 1, "it was stopped and begun anew"
    assert bool(app.table) == (end == "shown"), "errors to expect are of the pool"
    # What was released is drawn below, and is the only copy.
    assert "No budget is spent before you press *Release*" in texts(app)
    refused = [each for each in app.error if "works at most 1 s on one request" in each.value]
    assert bool(refused) == (end == "refused")
