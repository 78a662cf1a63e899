"""A visitor's own problem on the page of published queries."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from abcdp_core.parameters import ParameterError
from abcdp_core.published import given, inference
from tests.pages.app import opened, settled, texts
from ui import captions, job, own_query, served

MARKED = "one ![x](http://a.b) person"
ROWS = np.random.default_rng(1).normal(size=(400, 2)).cumsum(axis=1)
TABLE = "theta.a_b,summary.s\n" + "".join(f"{a:.4f},{s:.4f}\n" for a, s in ROWS)
POOLED = f"""
pool = "../../etc/passwd"
query = [0.5]
effective_sample_size = 100
epsilon_total = 2.0
unit = "{MARKED}"
neighbours = "add-remove"
[noise]
law = "gaussian"
scale = 1.0
"""


@pytest.fixture(scope="module")
def small() -> AppTest:
    """The page with the part for one's own unfolded."""
    app = opened("published_queries", **{"published-query.simulations": "2000"})
    app.session_state["own-query"] = True
    return app.run()


def gave(app: AppTest, name: str, content: str) -> AppTest:
    app.file_uploader[0].set_value((name, content.encode(), "text/plain"))
    return app.run()


def button(app: AppTest, label: str) -> Button:
    (found,) = [button for button in app.button if button.label == label]
    return found


def errors(app: AppTest) -> list[str]:
    return [str(each.value) for each in app.error]


def test_a_problem_and_its_table_become_a_posterior(small: AppTest) -> None:
    app = gave(small, "mine.toml", POOLED)
    assert errors(app) == [
        "This cannot be used. ` pool = ../../etc/passwd: no file of this server is read; give the "
        "table, as CSV, beside the problem. `"
    ]
    app = gave(app, "pool.CSV", TABLE)
    assert not errors(app)
    assert "Read: 1 noisy number; Gaussian noise of scale 1; a pool of 400 draws." in texts(app)
    app = settled(button(app, "Infer").click().run())
    assert not app.exception
    here = app.session_state[own_query.DESK]
    assert here.found is not None
    assert here.found.way == "weights"
    # The posterior of the pool given z = 0.5, by weights computed anew.
    weights = np.exp(-0.5 * (0.5 - ROWS[:, 1]) ** 2)
    mean = weights @ ROWS[:, 0] / weights.sum()
    assert here.found.found.mean[0] == pytest.approx(mean, abs=1e-3)
    said = texts(app)
    assert f"Posterior mean ± standard deviation: ` a_b ` {mean:.2f} ±" in said
    assert f"ε_total = 2 for ` {MARKED} ` added or removed, as stated with it." in said
    assert MARKED not in said.replace(f"` {MARKED} `", "")
    assert "passwd" not in said
    assert not any("passwd" in value or "0.5" in value for value in app.query_params.values())
    # Another file: what was inferred is gone with the one that it was from.
    app = gave(app, "mine.toml", "query = [1]")
    assert errors(app) == ["This cannot be used. ` noise: is missing. `"]
    assert here.found is None
    app = button(app, "Forget").click().run()
    assert (here.text, here.table, here.problem, here.refused) == (None, None, None, "")
    assert not errors(app)


def test_what_is_wrong_is_shown_as_text(small: AppTest) -> None:
    app = gave(small, "mine.toml", f'"{MARKED}" = 1')
    (said,) = errors(app)
    assert said.startswith(f"This cannot be used. ` {MARKED}: unknown key; known are ")
    assert not app.exception


def test_it_goes_through_the_queue_and_stops_at_the_limit(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(*_: object) -> None:
        raise job.LimitError("This server works for at most 60 s on one request.")

    small.session_state[own_query.DESK].forget()
    app = gave(small, "mine.toml", example())
    monkeypatch.setattr(job.Job, "check_limit", over)
    app = settled(button(app, "Infer").click().run())
    assert errors(app) == [
        "Nothing could be inferred. ` This server works for at most 60 s on one request. `"
    ]


def test_what_a_simulator_may_not_give_is_said(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ParameterError("noise: number 1 is 0.5.")

    small.session_state[own_query.DESK].forget()
    app = gave(small, "mine.toml", example())
    monkeypatch.setattr(inference, "infer", refuse)
    app = settled(button(app, "Infer").click().run())
    assert errors(app) == ["Nothing could be inferred. ` noise: number 1 is 0.5. `"]


def example() -> str:

    return captions.problem_of("log-linear")


def test_a_server_that_takes_no_files_takes_a_text(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "settings", lambda: served.Served(own_data=False))
    small.session_state[own_query.DESK].forget()
    app = small.run()
    assert not app.file_uploader
    assert "This server takes no files, so a pool" in texts(app)
    app = app.text_area(key="own-query-text").set_value("seed = 3").run()
    assert errors(app) == ["This cannot be used. ` query: is missing. `"]
    app = app.text_area(key="own-query-text").set_value(example()).run()
    assert "Read: 8 noisy numbers" in texts(app)
    # Who empties the box, and pastes more than goes into it, has given nothing.
    app = app.text_area(key="own-query-text").set_value("").run()
    assert "Read:" not in texts(app)
    assert not app.exception


def test_a_text_that_a_session_begins_with_is_taken(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server forgot the session in which it was written, so nothing changed in this one."""
    monkeypatch.setattr(served, "settings", lambda: served.Served(own_data=False))
    small.session_state[own_query.DESK].forget()
    small.session_state[own_query.TEXT] = example()
    assert "Read: 8 noisy numbers" in texts(small.run())


def test_simulations_are_those_of_the_command() -> None:
    problem = dataclasses.replace(given.read(example().encode()), draws=21_000)
    done: list[float] = []
    found = own_query._infer(problem, done.append)
    assert isinstance(found, own_query.Posterior)
    np.testing.assert_array_equal(found.theta, inference.infer(problem).theta)
    assert done == pytest.approx([0.0, 20.0 / 21.0, 1.0])
