"""What is sent to the player in the browser: small, complete, true to the weights."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from abcdp_core.experiments import adaptive_truncation
from abcdp_core.results import Result
from ui import player


def result(people: int, of: int = 1000, particles: int = 50, every: int = 10) -> Result:
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
    frames = np.arange(1, people + 1, every)
    at = np.repeat(frames, particles)
    number = np.tile(np.arange(particles), len(frames))
    cloud = pd.DataFrame(
        {
            **{"t": at, "particle": number, "mu": 50.0 + number / at, "sigma": 3.0 + number / at},
            "weight": 1.0 / particles,
        }
    )
    return Result(
        "toy",
        adaptive_truncation.Params(n=of, sigma=3.0),
        {"main": main, "particles": cloud},
        "",
        "",
    )


def with_tables(found: Result, **tables: pd.DataFrame) -> Result:
    return dataclasses.replace(found, tables={**found.tables, **tables})


def numbers(text: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text), "<f4")


def cloud(message: dict[str, Any], axis: str = "mu", name: str = "adaptive") -> Any:
    return numbers(message["runs"][name]["clouds"][axis]).reshape(-1, player.PARTICLES)


@pytest.mark.parametrize(("people", "particles"), [(1000, 1000), (100_000, 20), (1, 1)])
def test_the_message_is_small_at_any_size(people: int, particles: int) -> None:
    found = result(people, of=people, particles=particles)
    message = player.frames({"adaptive": found, "fixed": found})
    assert len(json.dumps(message)) < 500_000
    assert len(message["times"]) <= player.FRAMES
    for run in message["runs"].values():
        (points,) = {len(numbers(text)) for text in run["series"].values()}
        assert min(people, player.POINTS - player.FRAMES) <= points <= player.POINTS
        assert len(run["times"]) <= player.FRAMES
        for text in run["clouds"].values():
            assert len(numbers(text)) == player.PARTICLES * len(run["times"])


def test_thinning_keeps_the_first_the_last_and_those_of_the_frames() -> None:
    message = player.frames({"adaptive": result(20_001, every=1_000), "fixed": None})
    run = message["runs"]["adaptive"]
    t = numbers(run["series"]["t"])
    assert (t[0], t[-1]) == (1, 20_001)
    assert (message["times"][0], message["times"][-1]) == (1, 20_001)
    assert run["times"] == list(range(1, 20_002, 1_000))
    assert set(run["times"]) <= set(t)
    assert (np.diff(t) > 0).all()


def test_every_person_is_sent_where_there_are_few() -> None:
    message = player.frames({"adaptive": result(1000)})
    np.testing.assert_array_equal(
        numbers(message["runs"]["adaptive"]["series"]["t"]), np.arange(1, 1001)
    )


def test_particles_are_shown_in_proportion_to_their_weights() -> None:
    found = result(21, particles=4)
    particles = found.tables["particles"].copy()
    particles["mu"] = particles["particle"].astype(float)
    particles["weight"] = particles["particle"].map({0: 5.0, 1: 2.5, 2: 2.5, 3: 0.0})
    shown = cloud(player.frames({"adaptive": with_tables(found, particles=particles)}))
    assert len(shown) == 3
    for frame in shown:
        shares = [np.mean(frame == number) for number in range(4)]
        assert shares == pytest.approx([0.5, 0.25, 0.25, 0.0], abs=1 / player.PARTICLES)


def test_a_frame_shows_its_own_particles_whatever_their_number_and_order() -> None:
    t = np.repeat([1, 5, 9], [300, 2, 40])
    weight = np.linspace(1, 2, len(t))
    particles = pd.DataFrame({"t": t, "particle": 0, "mu": t, "sigma": t, "weight": weight})
    mixed = particles.iloc[np.random.default_rng(0).permutation(len(t))]
    for table in (particles, mixed):
        message = player.frames({"adaptive": with_tables(result(9), particles=table)})
        assert message["runs"]["adaptive"]["times"] == [1, 5, 9]
        np.testing.assert_array_equal(np.unique(cloud(message), axis=1), [[1], [5], [9]])


def test_a_frame_without_weight_is_left_out() -> None:
    found = result(31)
    particles = found.tables["particles"].copy()
    particles.loc[particles["t"] == 11, "weight"] = 0.0
    message = player.frames({"adaptive": with_tables(found, particles=particles)})
    assert message["runs"]["adaptive"]["times"] == [1, 21, 31]
    assert cloud(message)[1].max() == pytest.approx(50 + 49 / 21, abs=0.1)


def test_nothing_sent_is_not_a_number() -> None:
    found = result(100)
    main, particles = found.tables["main"].copy(), found.tables["particles"].copy()
    main.loc[[0, 50, 99], ["mean_mu", "sd_mu", "response"]] = np.nan
    main.loc[:10, "left"], main.loc[:10, "right"] = -np.inf, np.inf
    particles.loc[::7, "mu"] = np.nan
    particles.loc[::11, "weight"] = np.nan
    message = player.frames({"adaptive": with_tables(found, main=main, particles=particles)})
    json.dumps(message, allow_nan=False)
    run = message["runs"]["adaptive"]
    for text in (*run["series"].values(), *run["clouds"].values()):
        assert np.isfinite(numbers(text)).all()


def test_a_growing_run_may_be_alone_and_the_other_may_lag() -> None:
    assert player.frames({"adaptive": None, "fixed": None}) == {}
    nobody = with_tables(result(5), main=result(5).tables["main"].iloc[:0])
    assert player.frames({"adaptive": nobody, "fixed": None}) == {}
    alone = player.frames({"adaptive": result(100), "fixed": None})
    assert list(alone["runs"]) == list(alone["ids"]) == ["adaptive"]
    both = player.frames({"adaptive": result(205), "fixed": result(105)})
    assert both["times"][-1] == 205
    assert both["runs"]["fixed"]["times"][-1] == 101
    assert both["ids"]["adaptive"] == alone["ids"]["adaptive"]


def test_a_run_without_particles_yet_is_shown() -> None:
    none = result(5).tables["particles"].iloc[:0]
    message = player.frames({"adaptive": with_tables(result(5), particles=none)})
    assert message["times"] == [1, 5]
    assert message["runs"]["adaptive"]["times"] == []


def test_how_much_narrower_sigma_is_than_its_prior_is_sent() -> None:
    found = result(100)
    message = player.frames({"adaptive": found})
    gained = numbers(message["runs"]["adaptive"]["series"]["narrower"])
    np.testing.assert_allclose(gained, 1 - 1 / np.sqrt(np.arange(1, 101)), atol=1e-6)
    assert (message["learnt"], message["known"]) == (0.5, False)
    known = dataclasses.replace(found.params, known_sigma=True)  # type: ignore[type-var]
    message = player.frames({"adaptive": dataclasses.replace(found, params=known)})
    assert message["known"]
    assert set(numbers(message["runs"]["adaptive"]["series"]["narrower"])) == {1.0}


def test_axes_show_the_truth_and_are_not_stretched_by_the_start() -> None:
    found = result(1000)
    main = found.tables["main"].copy()
    main.loc[:200, "left"], main.loc[:200, "right"] = -1e6, 1e6
    axes = player.frames({"adaptive": with_tables(found, main=main)})["axes"]
    for name, truth in (("answer", 50.0), ("mu", 50.0), ("spread", 3.0), ("sigma", 3.0)):
        low, high = axes[name]
        assert low < truth < high
        assert high - low < 100
