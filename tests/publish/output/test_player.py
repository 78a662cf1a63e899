"""What is sent to the player in the browser: small, complete, true to the tables."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from abcdp_core.publish.output import player
from abcdp_core.run.results import Result
from abcdp_core.studies import adaptive_truncation
from abcdp_core.studies.adaptive_truncation import PLACED, SYMBOLS, WAYS


def result(people: int, of: int = 1000, **params: Any) -> Result:
    t = np.arange(1, people + 1)
    sd = 10 / np.sqrt(t)
    main = pd.DataFrame(
        {
            **{"t": t, "left": 50 - 3 * sd, "right": 50 + 3 * sd, "response": 50 + np.sin(t)},
            **{"mean_mu": 50 + sd * np.cos(t), "sd_mu": sd, "mean_sigma": 3 + sd, "sd_sigma": sd},
            "sigma_width": 1 / np.sqrt(t),
            "effective_sample_size": 40.0,
        }
    )
    settings = adaptive_truncation.Params(n=of, sigma=3.0, **params)
    return Result("toy", settings, {"main": main}, "", "")


def changed(found: Result, **columns: Any) -> Result:
    return dataclasses.replace(found, tables={"main": found.tables["main"].assign(**columns)})


def sent(found: Result, way: str = "adaptive") -> dict[str, NDArray[np.float32]]:
    """The series of one run as the browser reads them."""
    run = player.frames({way: found})["runs"][way]
    return {name: np.frombuffer(base64.b64decode(text), "<f4") for name, text in run.items()}


@pytest.mark.parametrize("people", [100_000, 1000, 1])
def test_the_message_is_small_and_keeps_the_people_who_are_stopped_at(people: int) -> None:
    found = result(people, of=people)
    message = player.frames(dict.fromkeys(WAYS, found))
    assert len(json.dumps(message)) < 500_000
    t = sent(found)["t"]
    assert min(people, player.POINTS // 2) <= len(t) <= player.POINTS
    assert (t[0], t[-1]) == (1, people)
    assert set(message["times"]) <= set(t)
    assert (np.diff(t) > 0).all()
    if people <= player.POINTS:
        np.testing.assert_array_equal(t, np.arange(1, people + 1))


def test_values_are_those_of_the_people_and_misses_are_counted() -> None:
    means = np.full(60, 50.0)
    means[[3, 7, 8, 9]] = [52.0, 52.0, 52.0, 51.9]
    found = changed(result(60), mean_mu=means, sd_mu=1.0)
    run = sent(found)
    assert run["missed"][[2, 3, 7, 9, 59]].tolist() == [0, 1, 2, 3, 3]
    params: Any = found.params
    np.testing.assert_allclose(run["value"], params.people(0, 0)[0][:60], rtol=1e-6)
    np.testing.assert_allclose(run["narrower"], 1 - 1 / np.sqrt(np.arange(1, 61)), atol=1e-6)
    message = player.frames({"adaptive": found})
    assert (message["learnt"], message["known"]) == (0.5, False)
    known = result(100, known_sigma=True)
    assert player.frames({"adaptive": known})["known"]
    assert set(sent(known)["narrower"]) == {1.0}


def test_nothing_sent_is_not_a_number() -> None:
    found = result(100)
    main = found.tables["main"].copy()
    main.loc[[0, 50, 99], ["mean_mu", "sd_mu", "response"]] = np.nan
    main.loc[:10, "left"], main.loc[:10, "right"] = -np.inf, np.inf
    found = dataclasses.replace(found, tables={"main": main})
    json.dumps(player.frames({"adaptive": found}), allow_nan=False)
    assert all(np.isfinite(series).all() for series in sent(found).values())


def test_a_growing_run_may_be_alone_and_the_other_may_lag() -> None:
    nobody = changed(result(5))
    nobody = dataclasses.replace(nobody, tables={"main": nobody.tables["main"].iloc[:0]})
    for empty in (None, nobody):
        assert player.frames({"adaptive": empty, "fixed": None}) == {}
    alone = player.frames({"adaptive": result(100), "fixed": None})
    both = player.frames({"adaptive": result(205), "fixed": result(105)})
    assert list(alone["runs"]) == ["adaptive"]
    assert both["times"][-1] == 205
    assert both["ids"]["adaptive"] == alone["ids"]["adaptive"]


def test_all_intervals_lie_within_the_axes_and_the_zoom_follows_the_truth() -> None:
    found = result(1000)
    usual = player.frames({"adaptive": found})["axes"]
    assert usual["whole"] == [-300.0, 300.0]
    axes = player.frames({"adaptive": changed(found, left=-1e3, right=2e3)})["axes"]
    assert axes["whole"][0] <= -1e3
    assert axes["whole"][1] >= 2e3
    assert axes["zoom"] == usual["zoom"] == [41.0, 59.0]
    assert usual["mu"][0] < 1.96 * 3 / 1000**0.5 < 1.96 * 100 < usual["mu"][1]
    # How far it is from the first to the last place that symbols are asked at says little.
    wide = changed(result(1000, channel="optimal", epsilon_total=5.0), left=-1e3, right=1.1e3)
    assert player.frames({SYMBOLS: wide})["axes"]["whole"] == usual["whole"]


@pytest.mark.parametrize(
    ("epsilon_total", "answers"),
    [(0.001, "2 symbols, 50 % wrong"), (1.0, "2 symbols, 27 % wrong"), (5.0, "7 symbols"),
     (1000.0, "")],
)  # fmt: skip
def test_the_sets_of_symbols_can_be_found_again_from_the_ends(
    epsilon_total: float, answers: str
) -> None:
    params = {"epsilon_total": epsilon_total, "channel": "optimal"}
    table = adaptive_truncation.Params(n=5).table_of("optimal", epsilon_total)
    left, right = table.reach(50.0, 3.0)
    found = changed(result(5, of=5, **params), left=left, right=right, response=1.0)
    message = player.frames({"adaptive": result(5), SYMBOLS: found, PLACED: result(5)})
    json.dumps(message, allow_nan=False)
    assert message["lanes"] == ["adaptive", SYMBOLS]
    assert "sets" not in message["looks"]["adaptive"]
    look, run = message["looks"][SYMBOLS], sent(found, SYMBOLS)
    assert answers in look["answers"]
    assert run["response"].tolist() == [1.0] * 5
    for ends, parts in zip(table.ends, look["sets"], strict=True):
        for end, part in zip(ends, parts, strict=True):
            if part is None:
                assert np.isinf(end)
            else:
                place = run["left"][0] + part * (run["right"][0] - run["left"][0])
                assert place == pytest.approx(50.0 + 3.0 * end, abs=1e-4)
