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

from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation, estimation_accuracy
from abcdp_core.experiments.adaptive_truncation import PLACED, SYMBOLS, WAYS
from abcdp_core.results import Result
from ui import player


def result(people: int, of: int = 1000) -> Result:
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
    return Result(
        "toy",
        adaptive_truncation.Params(n=of, sigma=3.0),
        {"main": main},
        "",
        "",
    )


def with_tables(found: Result, **tables: pd.DataFrame) -> Result:
    return dataclasses.replace(found, tables={**found.tables, **tables})


def numbers(text: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text), "<f4")


@pytest.mark.parametrize("people", [100_000, 1000, 1])
def test_the_message_is_small_at_any_size(people: int) -> None:
    found = result(people, of=people)
    message = player.frames(dict.fromkeys(WAYS, found))
    assert len(json.dumps(message)) < 500_000
    for run in message["runs"].values():
        (points,) = {len(numbers(text)) for text in run.values()}
        assert min(people, player.POINTS // 2) <= points <= player.POINTS


def test_thinning_keeps_the_people_who_are_stopped_at() -> None:
    message = player.frames({"adaptive": result(20_001, of=20_001), "fixed": None})
    t = numbers(message["runs"]["adaptive"]["t"])
    assert (t[0], t[-1]) == (1, 20_001)
    assert set(message["times"]) <= set(t)
    assert (np.diff(t) > 0).all()


def test_the_first_people_are_shown_one_by_one_and_then_larger_steps() -> None:
    assert player.shown(1) == [1]
    people = player.shown(1000)
    assert people[: player.SINGLE] == list(range(1, player.SINGLE + 1))
    steps = np.diff(people)
    assert (steps[player.SINGLE : -1] > 1).all()
    assert (np.diff(steps[:-1]) >= 0).all()
    assert people[-1] == 1000
    assert len(player.shown(100_000)) < 250


def test_every_person_is_sent_where_there_are_few() -> None:
    message = player.frames({"adaptive": result(1000)})
    np.testing.assert_array_equal(numbers(message["runs"]["adaptive"]["t"]), np.arange(1, 1001))


def test_values_are_those_of_the_people_and_misses_are_counted() -> None:
    found = result(60)
    main = found.tables["main"].copy()
    main["mean_mu"], main["sd_mu"] = 50.0, 1.0
    main.loc[[3, 7, 8], "mean_mu"] = 52.0
    main.loc[9, "mean_mu"] = 51.9
    run = player.frames({"adaptive": with_tables(found, main=main)})["runs"]["adaptive"]
    assert numbers(run["missed"])[[2, 3, 7, 9, 59]].tolist() == [0, 1, 2, 3, 3]
    params: Any = found.params
    np.testing.assert_allclose(numbers(run["value"]), params.people(0, 0)[0][:60], rtol=1e-6)


def test_nothing_sent_is_not_a_number() -> None:
    found = result(100)
    main = found.tables["main"].copy()
    main.loc[[0, 50, 99], ["mean_mu", "sd_mu", "response"]] = np.nan
    main.loc[:10, "left"], main.loc[:10, "right"] = -np.inf, np.inf
    message = player.frames({"adaptive": with_tables(found, main=main)})
    json.dumps(message, allow_nan=False)
    run = message["runs"]["adaptive"]
    for text in run.values():
        assert np.isfinite(numbers(text)).all()


def test_a_growing_run_may_be_alone_and_the_other_may_lag() -> None:
    assert player.frames({"adaptive": None, "fixed": None}) == {}
    nobody = with_tables(result(5), main=result(5).tables["main"].iloc[:0])
    assert player.frames({"adaptive": nobody, "fixed": None}) == {}
    alone = player.frames({"adaptive": result(100), "fixed": None})
    assert list(alone["runs"]) == list(alone["ids"]) == ["adaptive"]
    both = player.frames({"adaptive": result(205), "fixed": result(105)})
    assert both["times"][-1] == 205
    assert numbers(both["runs"]["fixed"]["t"])[-1] == 105
    assert both["ids"]["adaptive"] == alone["ids"]["adaptive"]


def test_how_much_narrower_sigma_is_than_its_prior_is_sent() -> None:
    found = result(100)
    message = player.frames({"adaptive": found})
    gained = numbers(message["runs"]["adaptive"]["narrower"])
    np.testing.assert_allclose(gained, 1 - 1 / np.sqrt(np.arange(1, 101)), atol=1e-6)
    assert (message["learnt"], message["known"]) == (0.5, False)
    known = dataclasses.replace(found.params, known_sigma=True)  # type: ignore[type-var]
    message = player.frames({"adaptive": dataclasses.replace(found, params=known)})
    assert message["known"]
    assert set(numbers(message["runs"]["adaptive"]["narrower"])) == {1.0}


def test_all_intervals_lie_within_the_axes_and_the_zoom_follows_the_truth() -> None:
    found = result(1000)
    main = found.tables["main"].copy()
    usual = player.frames({"adaptive": found})["axes"]
    assert usual["whole"] == [-300.0, 300.0]
    main.loc[:20, "left"], main.loc[:20, "right"] = -1e3, 2e3
    axes = player.frames({"adaptive": with_tables(found, main=main)})["axes"]
    assert axes["whole"][0] <= -1e3
    assert axes["whole"][1] >= 2e3
    assert axes["zoom"] == usual["zoom"] == [41.0, 59.0]
    assert usual["mu"][0] < 1.96 * 3 / 1000**0.5 < 1.96 * 100 < usual["mu"][1]


def test_every_colour_has_a_value_for_both_themes_and_ways_keep_theirs() -> None:
    message = player.frames(dict.fromkeys(WAYS, result(5)))
    assert {*WAYS, "answer", "plain", "unlearnt"} == message["colors"].keys()
    assert [message["colors"][way]["light"] for way in WAYS] == [
        fig.WORDS.get(color, color) for color in (*fig.CATEGORIES[:3], fig.CATEGORIES[4])
    ]
    assert list(message["looks"]) == list(message["runs"]) == list(WAYS)


def by_symbols(epsilon_total: float, symbol: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is sent of a run whose symbols were placed at μ = 50, σ = 3, and how it is drawn."""
    params = adaptive_truncation.Params(
        n=5, sigma=3.0, epsilon_total=epsilon_total, channel="optimal"
    )
    table = params.table_of("optimal", epsilon_total)
    left, right = table.reach(50.0, 3.0)
    main = result(5).tables["main"].assign(left=left, right=right, response=float(symbol))
    found = dataclasses.replace(with_tables(result(5), main=main), params=params)
    message = player.frames({"adaptive": result(5), SYMBOLS: found, PLACED: result(5)})
    assert message["lanes"] == ["adaptive", SYMBOLS]
    assert "sets" not in message["looks"]["adaptive"]
    return message, message["looks"][SYMBOLS]


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 3.0, 5.0, 10.0, 1000.0])
def test_the_sets_of_symbols_can_be_found_again_from_the_ends(epsilon_total: float) -> None:
    message, look = by_symbols(epsilon_total, 1)
    table = adaptive_truncation.Params(n=5).table_of("optimal", epsilon_total)
    run = {name: numbers(text) for name, text in message["runs"][SYMBOLS].items()}
    assert run["response"].tolist() == [1.0] * 5
    for ends, sent in zip(table.ends, look["sets"], strict=True):
        for end, part in zip(ends, sent, strict=True):
            if part is None:
                assert np.isinf(end)
            else:
                place = run["left"][0] + part * (run["right"][0] - run["left"][0])
                assert place == pytest.approx(50.0 + 3.0 * end, abs=1e-4)
    json.dumps(message, allow_nan=False)


def test_two_symbols_say_how_often_they_are_wrong_and_more_how_many_they_are() -> None:
    assert by_symbols(1.0, 0)[1]["answers"] == "2 symbols, 27 % wrong"
    assert by_symbols(0.001, 0)[1]["answers"] == "2 symbols, 50 % wrong"
    assert by_symbols(5.0, 0)[1]["answers"] == "7 symbols"


def test_how_far_symbols_reach_does_not_widen_the_axis() -> None:
    message, _ = by_symbols(10.0, 0)
    found = result(5)
    assert message["axes"]["whole"] == player.frames({"adaptive": found})["axes"]["whole"]
    main = found.tables["main"].assign(left=-1e3, right=1.1e3)
    params = dataclasses.replace(found.params, channel="optimal", epsilon_total=5.0)  # type: ignore[type-var]
    wide = dataclasses.replace(with_tables(found, main=main), params=params)
    assert player.frames({SYMBOLS: wide})["axes"]["whole"] == message["axes"]["whole"]


def test_what_many_runs_take_is_what_is_played_and_the_run_is_among_them() -> None:
    params = adaptive_truncation.Params(
        n=30, particles=77, fixed_width=5.0, noise="gaussian", epsilon_total=3.0, sampler="grid"
    )
    asked = estimation_accuracy.Params(**player.others(params))
    assert (asked.epsilon_total, asked.sampler, asked.runs) == (
        (3.0,),
        ("grid",),
        adaptive_truncation.OTHERS,
    )
    assert set(asked.interval) == {"adaptive", "fixed"}
    for name in ("n", "particles", "fixed_width", "noise", "mu", "sigma", "noise_draw"):
        assert getattr(asked, name) == getattr(params, name)
