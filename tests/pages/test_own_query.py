"""A visitor's own problem on the page of published queries."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.posterior.published import inference
from abcdp_core.studies import published_query
from tests.pages.app import button, opened, settled, texts
from ui.release import published_problem

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


def gave(app: AppTest, name: str, content: str) -> AppTest:
    app.file_uploader[0].set_value((name, content.encode(), "text/plain"))
    return app.run()


def errors(app: AppTest) -> list[str]:
    return [str(each.value) for each in app.error]


def test_a_problem_and_its_table_become_a_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("published_queries")
    app.session_state["own-query"] = True
    app = gave(app.run(), "mine.toml", POOLED)
    assert len(errors(app)) == 1
    assert errors(app)[0].startswith("This cannot be used. ` pool = ../../etc/passwd: ")
    app = gave(app, "pool.CSV", TABLE)
    assert not errors(app)
    assert "Read: 1 noisy number; Gaussian noise of scale 1; a pool of 400 draws." in texts(app)
    app = settled(button(app, "Infer").click().run())
    assert not app.exception
    here = app.session_state[published_problem.STATE]
    # The posterior of the pool given z = 0.5, by weights computed anew.
    weights = np.exp(-0.5 * (0.5 - ROWS[:, 1]) ** 2)
    mean = weights @ ROWS[:, 0] / weights.sum()
    assert here.found.summary.found.mean[0] == pytest.approx(mean, abs=1e-3)
    said = texts(app)
    assert "Numbers may be suppressed" in said
    assert f"Posterior mean ± standard deviation: ` a_b ` {mean:.2f} ±" in said
    assert f"ε_total = 2 if ` {MARKED} ` is added or removed" in said
    assert MARKED not in said.replace(f"` {MARKED} `", "")
    assert "passwd" not in said
    assert not any("passwd" in value or "0.5" in value for value in app.query_params.values())
    # Another file: what was inferred is gone with the one that it was from.
    app = gave(app, "mine.toml", f'"{MARKED}" = 1')
    assert f"{MARKED}: unknown" in errors(app)[0]
    assert here.found is None
    app = button(app, "Forget").click().run()
    assert (here.text, here.table, here.problem, here.refused) == (None, None, None, "")
    assert not errors(app)
    # What cannot be inferred is said.
    app = gave(app, "mine.toml", published_query.text_of("log-linear"))
    error = ParameterError("noise: number 1 is *0.5*.")

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(inference, "infer", refuse)
    app = settled(button(app, "Infer").click().run())
    assert errors(app) == [f"Nothing could be inferred. ` {error} `"]


def test_a_suppressed_number_is_counted_or_refused() -> None:
    app = opened("published_queries")
    app.session_state["own-query"] = True
    suppressed = 'suppressed = "after noise"\nintervals = {c = [0, 1]}'
    text = POOLED.replace("[0.5]", '["c"]') + suppressed
    app = gave(gave(app.run(), "pool.csv", TABLE), "mine.toml", text)
    said = texts(app)
    assert "1 noisy number, 1 of them suppressed; Gaussian noise of scale 1, then numbers f" in said
    assert "1 of 1 number is suppressed; noisy numbers decided which, at no further cost." in said
    app = settled(button(app, "Infer").click().run())
    assert "intervals are used instead" in texts(app)
    app = gave(app, "mine.toml", text.replace("[0, 1]", "[1, 0]"))
    assert errors(app)[0].endswith("with a finite end and low at most high. `")
