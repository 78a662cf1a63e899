"""Links: what they say is brought into range, and what cannot be used is said."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from abcdp_core import __version__, experiments
from abcdp_core.parameters import text_of
from ui.view import knobs, link, page_table
from ui.view.view import View

KNOWN = {*page_table.known_keys()} - {*knobs.EVERYWHERE}


def test_a_link_reads_back_what_address_wrote() -> None:
    values = {key: knobs.find(key).default for key in knobs.SHARED}
    query = dict(parse_qsl(urlsplit(link.address("http://x/y", values)).query))
    reading = link.read(query, {key: knobs.find(key) for key in knobs.SHARED})
    texts = {key: text_of(value) for key, value in values.items()}
    assert reading == link.Reading(texts | {"version": __version__}, ())


@pytest.mark.parametrize(
    ("key", "text", "used", "said"),
    [
        ("epsilon_total", "1e9", "1000", "must be a number from 0.001 to 1000"),
        ("epsilon_total", "0", "0.001", "must be"),
        ("epsilon_total", "-inf", "0.001", "must be"),
        ("epsilon_total", "0.30", "0.3", ""),
        ("c", "2000", "1000", "c = 2000: must be a whole number from 1 to 1000"),
        ("preset", "y23-figure-1", "", "must be one of my settings"),
    ],
)
def test_a_value_is_brought_into_its_range_and_that_is_said(
    key: str, text: str, used: str, said: str
) -> None:
    reading = link.read({key: text}, {key: knobs.find(key)})
    assert reading.query == ({key: used} if used else {})
    assert said in "".join(reading.notices)
    assert bool(reading.notices) == bool(said)


def test_a_key_that_stands_there_twice_is_said() -> None:
    knob = {"c": knobs.find("c")}
    reading = link.read({"c": "37"}, knob, {"c": 2})
    assert reading.query == {"c": "37"}
    assert "2 times; the last one counts" in reading.notices[0]
    assert not link.read({"c": "37"}, knob, {"c": 1}).notices


# ---------------------------------------------------------------------------------------- versions


@pytest.mark.parametrize("version", [*link.SAME_NUMBERS, "0.0.0", "9.0.0", "![x](http://y)"])
def test_a_version_with_other_numbers_is_told_and_no_error(version: str) -> None:
    reading = link.read({"version": version}, {})
    assert (reading.query, reading.notices) == ({"version": __version__}, ())
    same = version in link.SAME_NUMBERS
    assert (f"` version = {version} `; this is" in reading.note) != same
    assert ("Numbers may differ" in reading.note) != same


OWN = ("adaptive-truncation.epsilon_total", "adaptive-truncation.n")


@pytest.mark.parametrize(
    ("query", "own", "today"),
    [
        # What asks for nothing begins where pages begin today.
        ({}, (), {}),
        ({"utm": "1"}, (), {}),
        ({"projector": "true"}, (), {}),
        ({"version": "0.2.0", "c": "37"}, OWN, {}),
        ({"version": "0.10.0"}, (), {}),
        ({"version": "9.9"}, (), {}),
        # A link that says no version is of the first.
        ({"c": "37"}, (), {"epsilon_total": "1"}),
        ({"c": "37", "projector": "true"}, (), {"epsilon_total": "1"}),
        ({"version": "0.1.0"}, (), {"epsilon_total": "1"}),
        ({"version": "nonsense"}, (), {"epsilon_total": "1"}),
        ({"c": "37", "epsilon_total": "0.5"}, (), {}),
        # A key that has parted is read from the one that spoke for it.
        ({"epsilon_total": "5"}, OWN, {OWN[0]: "5", OWN[1]: "5000"}),
        ({"epsilon_total": "5", OWN[0]: "2", "n": "300"}, OWN, {OWN[1]: "300"}),
        ({"epsilon_total": "5"}, (), {}),
        ({"c": "5"}, OWN, {"epsilon_total": "1", OWN[1]: "5000"}),
    ],
)
def test_what_a_link_leaves_out_is_what_it_was_when_the_link_was_made(
    query: dict[str, str], own: tuple[str, ...], today: dict[str, str]
) -> None:
    assert link.of_today(query, KNOWN | {*own}, own) == query | today


def test_the_table_of_changes_names_knobs_that_have_changed() -> None:
    assert __version__ in link.SAME_NUMBERS
    for change in link.CHANGES:
        for key, text in change.former.items():
            knob = knobs.find(key)
            assert knob.parameter.parse(key, text) != knob.default
        for key, before in change.parted.items():
            assert knobs.find(key).parameter.kind == knobs.find(before).parameter.kind


# ----------------------------------------------------------------------------------------- presets


@pytest.mark.parametrize(("old", "new"), experiments.RETIRED.items())
def test_a_retired_preset_is_its_successor_from_the_first(old: str, new: str) -> None:
    """The successor brings its view with it, before the address says its name."""
    every = {name: experiments.load(name).PRESETS for name in experiments.names()}
    assert not [name for name, presets in every.items() if old in presets]
    (study,) = (name for name, presets in every.items() if new in presets)
    page = link.owner(new, page_table.TABLE)
    assert page is not None
    assert View(page, {"preset": old}, {}).preset(study) == every[study][new]


@pytest.mark.parametrize(
    ("preset", "file"),
    [
        ("y23-intervals", "adaptive_truncation"),
        (next(iter(experiments.RETIRED)), "adaptive_truncation"),
        ("p21-figure-3", "privacy_and_accuracy"),
        ("no such", None),
    ],
)
def test_a_preset_has_a_page_that_it_leads_to(preset: str, file: str | None) -> None:
    found = link.owner(preset, page_table.TABLE)
    assert (found.file if found else None) == file
