"""Links: what they say is brought into range, and what cannot be used is said."""

from __future__ import annotations

import pytest

from abcdp_core import experiments
from abcdp_core.parameters import text_of
from ui import knobs, link


def test_link_reads_back_what_address_wrote():
    values = {key: knobs.find(key).default for key in knobs.SHARED}
    query = dict(
        pair.split("=") for pair in link.address("http://x/y", values).split("?")[1].split("&")
    )
    reading = link.read(query, {key: knobs.find(key) for key in knobs.SHARED})
    assert not reading.notices
    assert reading.query == {key: text_of(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("text", "used"),
    [("1e9", "1000"), ("0", "0.001"), ("-inf", "0.001"), ("inf", "1000"), ("0.30", "0.3")],
)
def test_numbers_are_brought_into_their_range(text, used):
    reading = link.read({"epsilon_total": text}, {"epsilon_total": knobs.find("epsilon_total")})
    assert reading.query == {"epsilon_total": used}
    assert bool(reading.notices) == (text != "0.30")


@pytest.mark.parametrize(("old", "new"), experiments.RETIRED.items())
def test_retired_presets_have_successors_that_exist(old, new):
    every = [preset for name in experiments.names() for preset in experiments.load(name).PRESETS]
    assert old not in every
    assert new in every


def test_a_retired_preset_of_another_page_is_said_like_any_unknown_one():
    reading = link.read({"preset": "y23-figure-1"}, {"preset": knobs.find("preset")})
    assert not reading.query
    (notice,) = reading.notices
    assert "preset = y23-figure-1: must be one of my settings" in notice


def test_notice_names_parameter_value_and_range():
    reading = link.read({"c": "2000"}, {"c": knobs.find("c")})
    (notice,) = reading.notices
    assert "c = 2000" in notice
    assert "1 to 1000" in notice
    assert "1000." in notice


def test_link_of_another_version_is_said():
    reading = link.read({"version": "0.0.0"}, {})
    assert "0.0.0" in reading.notices[0]
