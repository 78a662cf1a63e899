"""Models of one's own of odd shapes, and what is wrong with the pages that show them.

A server knows its models from the start, so this is run as a program that is started with them; it
prints what is wrong by model, page and view: of each view, or of every n-th, as it is told.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.own_model import Column, Model, Parameter, count, histogram, mean, total
from abcdp_core.models.own_model.statistics import Records
from abcdp_core.posterior import fit, pool
from abcdp_core.release import summary_request

RECORDS = 30


def nth(column: int) -> Records:
    """The numbers of a column."""
    return lambda records: records[..., column]


def around(rng: np.random.Generator, theta: Array, n: int) -> Array:
    """A column for each parameter, its numbers within a tenth or so of it."""
    return theta[:, None] * (1.0 + 0.1 * rng.standard_normal((len(theta), n, theta.shape[1])))


def some_missing(rng: np.random.Generator, theta: Array, n: int) -> Array:
    """As many records as there happen to be, filled up."""
    found = around(rng, theta, n)
    found[rng.random((len(theta), n)) < 0.2] = np.nan
    return found


def beside_a_constant(rng: np.random.Generator, theta: Array, n: int) -> Array:
    """The numbers, and a group that everybody is in."""
    return np.concatenate([around(rng, theta, n), np.ones((len(theta), n, 1))], axis=-1)


def shaped(low: float, high: float, *names: str, **more: Any) -> Model:
    """A model with a column and a mean for each parameter, all between two bounds."""
    given: dict[str, Any] = {
        "name": "",
        "title": "Of an odd shape",
        "parameters": tuple(Parameter(name, low, high) for name in names),
        "columns": tuple(Column(f"of {name}", low, high) for name in names),
        "unit": "one person",
        "simulate": around,
        "statistics": tuple(mean(name, nth(at), low, high) for at, name in enumerate(names)),
        "sizes": (RECORDS,),
        "pool_size": 200,
    }
    return Model(**(given | more))


MODELS = (
    shaped(0.0, 1.0, "rate", "other rate", name="single-record", sizes=(1,)),
    shaped(-1e6, -1e5, "loss", "größter Verlust", name="huge"),
    shaped(0.0, 10.0, *(f"incidence_of_region_{at}" for at in range(40)), name="many-parameters"),
    shaped(
        *(0.0, 1.0, "rate"),
        name="private-size",
        simulate=some_missing,
        statistics=(
            total("all of rate", nth(0), 0.0, 1.0),
            count("high", lambda records: records[..., 0] > 0.5),
        ),
        neighbours="add-remove",
    ),
    shaped(0.0, 1.0, "rate", "other", name="only-records", statistics=(), distance="records"),
    shaped(
        *(0.0, 2.0, "level"),
        name="constant-column",
        simulate=beside_a_constant,
        columns=(Column("number", 0.0, 2.0), Column("group", 0.0, 1.0, whole=True)),
        statistics=(histogram("bins", nth(0), edges=[0.0, 0.5, 1.0, 2.0]),),
        truth=(2.0,),
    ),
)
SHAPES = {model.name: model for model in MODELS}

SHOWN = ("one release", "many releases", "change one person", "synthetic data")
VIEWS = (
    *(("posterior", "posterior.view", view) for view in SHOWN),
    *(("mechanisms", "mechanisms.view", view) for view in ("error", "coverage")),
    ("mechanisms", "mechanisms.view", "what a budget buys"),
    ("plan", "", ""),
    ("your_own_data", "", ""),
)

SAID = {
    ("private-size", "change one person"): "must be one of one release, many releases, synthetic",
    ("only-records", "your_own_data"): "your-data.scenario = only-records: must be one of",
}
"""What a page has to say of a model that it has no answer for."""


def wrong_at(model: Model, page: str, key: str, view: str) -> list[str]:
    """What is wrong with a page that shows a model; nothing, if all is well."""
    # Inside the function: a server that loads the models has no use for these.
    from tests.pages.app import opened, pictures, said_twice, texts
    from ui.view import page_table

    link = {page_table.by_file(page).chooser: model.name, "n": str(model.sizes[0])}
    app = opened(page, epsilon_total="0.2", **link, **({key: view} if view else {}))
    said, expected = texts(app), SAID.get((model.name, view or page))
    told = [str(each.value) for each in (*app.exception, *app.error, *app.warning)]
    # The pool of a test is small, and the page is right to say so.
    notices = [text for text in told if "Regression adjustment needs" not in text]
    wrong = [text for text in notices if not expected or expected not in text]
    wrong += ["nothing is said"] if expected and not notices else []
    wrong += said_twice(app)
    wrong += re.findall(r".{20}(?:\bnan\b|\binf\b|None|[0-9]e[+][0-9])", said)
    wrong += [] if page == "your_own_data" or pictures(app) else ["no figure"]
    wrong += [] if "Privacy label" in said else ["no label"]
    return wrong


if __name__ == "__main__":
    # How exact a posterior is, is for other tests.
    fit.fit.__defaults__ = (fit.one_by_one, 100)
    summary_request.FIRST = 1000
    pool.LOOKED_FOR = 10
    every = int(sys.argv[1])
    found = {
        f"{model.name}, {page}, {view}": wrong_at(model, page, key, view)
        for at, model in enumerate(MODELS)
        for page, key, view in VIEWS[4 * at % every :: every]
    }
    print(json.dumps(found))
