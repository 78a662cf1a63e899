"""Links: what they say is brought into range, and what cannot be used is said."""

from __future__ import annotations

import pytest

from abcdp_core import __version__, experiments
from abcdp_core.parameters import text_of
from ui import knobs, link, router, state


def test_link_reads_back_what_address_wrote():
    values = {key: knobs.find(key).default for key in knobs.SHARED}
    query = dict(
        pair.split("=") for pair in link.address("http://x/y", values).split("?")[1].split("&")
    )
    reading = link.read(query, {key: knobs.find(key) for key in knobs.SHARED})
    assert not reading.notices
    assert reading.query == {key: text_of(value) for key, value in values.items()} | {
        "version": __version__
    }


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


@pytest.mark.parametrize(("old", "new"), experiments.RETIRED.items())
def test_a_retired_preset_is_its_successor_from_the_first(old, new, monkeypatch):
    """The successor brings its view with it, before the address says its name."""
    monkeypatch.setattr(state.st, "session_state", {"preset": old})
    (owner,) = (name for name in experiments.names() if new in experiments.load(name).PRESETS)
    assert state.preset(owner) == experiments.load(owner).PRESETS[new]


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


@pytest.mark.parametrize("version", ["0.0.0", "9.0.0", "![x](http://y)"])
def test_link_of_a_version_with_other_numbers_is_told_and_no_error(version):
    reading = link.read({"version": version}, {})
    assert not reading.notices
    assert "Numbers may differ" in reading.note
    assert f"` version = {version} `" in reading.note


@pytest.mark.parametrize("version", link.SAME_NUMBERS)
def test_a_version_with_the_same_numbers_is_not_worth_a_word(version):
    assert link.read({"version": version}, {}) == link.Reading({"version": __version__}, ())


def test_this_version_gives_its_own_numbers_and_every_change_is_a_version_before_the_next():
    assert __version__ in link.SAME_NUMBERS
    versions = [link._number(change.version) for change in link.CHANGES]
    assert versions == sorted(set(versions))
    assert versions[-1] <= link._number(__version__)


KNOWN = ("epsilon_total", "c", "adaptive-truncation.epsilon_total")


@pytest.mark.parametrize(
    ("query", "budget"),
    [
        ({}, None),
        ({"utm": "1"}, None),
        ({"c": "37"}, "1"),
        ({"version": "0.1.0"}, "1"),
        ({"version": "nonsense"}, "1"),
        ({"version": "0.2.0", "c": "37"}, None),
        ({"version": "0.10.0"}, None),
        ({"version": "9.9"}, None),
        ({"c": "37", "epsilon_total": "0.5"}, "0.5"),
    ],
)
def test_what_a_link_leaves_out_is_what_it_was_when_the_link_was_made(query, budget):
    today = link.of_today(query, KNOWN, ())
    assert today.get("epsilon_total") == budget
    assert query.items() <= today.items()


def test_a_key_that_has_parted_is_read_from_the_one_that_spoke_for_it():
    own = ("adaptive-truncation.epsilon_total",)
    old = {"epsilon_total": "5"}
    assert link.of_today(old, KNOWN, own) == old | {own[0]: "5"}
    assert link.of_today(old, KNOWN, ()) == old
    assert link.of_today(old | {own[0]: "2"}, KNOWN, own)[own[0]] == "2"
    new = old | {"version": __version__}
    assert link.of_today(new, KNOWN, own) == new
    # It began at 1, as the page's own still does.
    assert own[0] not in link.of_today({"c": "5"}, KNOWN, own)
    assert knobs.find(own[0]).default == 1.0


@pytest.mark.parametrize(("query", "people"), [({"c": "5"}, "5000"), ({"n": "300"}, "300")])
def test_a_key_that_has_parted_and_begins_elsewhere_keeps_its_former_start(query, people):
    own = ("adaptive-truncation.n",)
    assert link.of_today(query, ("c", "n", *own), own)[own[0]] == people
    assert own[0] not in link.of_today(query, ("c", "n", *own), ())
    assert knobs.find(own[0]).default == 1000


def test_the_table_of_changes_names_knobs_that_have_changed():
    for change in link.CHANGES:
        for key, text in change.former.items():
            knob = knobs.find(key)
            assert knob.parameter.parse(key, text) != knob.default
        for key, before in change.parted.items():
            assert knobs.find(key).parameter.kind == knobs.find(before).parameter.kind


@pytest.mark.parametrize(
    ("preset", "file"),
    [
        ("y23-intervals", "adaptive_truncation"),
        (next(iter(experiments.RETIRED)), "adaptive_truncation"),
        ("p21-figure-3", "privacy_and_accuracy"),
        ("no such", None),
    ],
)
def test_a_preset_has_a_page_that_it_leads_to(preset, file):
    found = link.owner(preset, router.TABLE)
    assert (found.file if found else None) == file


def test_a_key_that_stands_there_twice_is_said():
    knob = {"c": knobs.find("c")}
    reading = link.read({"c": "37"}, knob, {"c": 2})
    assert reading.query == {"c": "37"}
    (notice,) = reading.notices
    assert "c = 37" in notice
    assert "2 times; the last one counts" in notice
    assert not link.read({"c": "37"}, knob, {"c": 1}).notices


def test_a_typed_address_for_a_projector_starts_where_pages_start():
    known = router.known_keys()
    assert link.of_today({"projector": "true"}, known, ()) == {"projector": "true"}
    assert link.of_today({"projector": "true", "c": "5"}, known, ())["epsilon_total"] == "1"
