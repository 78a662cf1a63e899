"""Links: what they say is brought into range, what cannot be used is said, and others can open."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from abcdp_core import __version__, studies
from abcdp_core.base.parameters import text_of
from ui.server.settings import ServerSettings
from ui.view import controls_spec, link, page_table
from ui.view.view import View
from ui.widgets import share

KNOWN = {*page_table.known_keys()} - {*controls_spec.EVERYWHERE}


def test_a_link_reads_back_what_address_wrote() -> None:
    values = {key: controls_spec.find(key).default for key in controls_spec.SHARED}
    query = dict(parse_qsl(urlsplit(link.address("http://x/y", values)).query))
    reading = link.read(query, {key: controls_spec.find(key) for key in controls_spec.SHARED})
    texts = {key: text_of(value) for key, value in values.items()}
    assert reading == link.Reading(texts | {"version": __version__}, ())


@pytest.mark.parametrize(
    ("key", "text", "used", "said"),
    [
        ("epsilon_total", "1e9", "1000", "must be a number from 0.001 to 1000"),
        ("epsilon_total", "-inf", "0.001", "must be"),
        ("epsilon_total", "0.30", "0.3", ""),
        ("c", "2000", "1000", "c = 2000: must be a whole number from 1 to 1000"),
        ("preset", "y23-figure-1", "", "must be one of my settings"),
    ],
)
def test_a_value_is_brought_into_its_range_and_that_is_said(
    key: str, text: str, used: str, said: str
) -> None:
    reading = link.read({key: text}, {key: controls_spec.find(key)})
    assert reading.query == ({key: used} if used else {})
    assert said in "".join(reading.notices)
    assert bool(reading.notices) == bool(said)


def test_lists_and_pairs_of_knobs_keep_what_exists_and_is_in_range() -> None:
    found, notices = link.read_names("lock", " c , preset,,c,no_such,![x](http://y)", KNOWN)
    assert found == ("c", "preset")
    unknown = ("no_such", "![x](http://y)")
    assert [*notices] == [f"` lock = {name} `: unknown, so left out." for name in unknown]
    known = {key: controls_spec.find(key) for key in controls_spec.SHARED}
    values = {"c": 10, "epsilon_total": 0.2, "resample": True, "sensitivity": "published"}
    assert link.read_pairs("pin", link.pairs(values), known) == (values, ())
    pairs, notices = link.read_pairs("pin", "c:0,c:9999,no:1,<b>,n:x,epsilon_abc:0.3,,", known)
    assert pairs == {"c": 1000, "n": controls_spec.find("n").default, "epsilon_abc": 0.3}
    assert [notice[:8] for notice in notices] == ["In pin: "] * 5
    options = [
        str(option)
        for page in page_table.TABLE
        for key in page.knobs(None)
        for option in controls_spec.find(key, page.every).parameter.options
    ]
    assert options
    assert not [option for option in options if {*",:"} & {*option}]


OWN = ("adaptive-truncation.epsilon_total", "adaptive-truncation.n")


@pytest.mark.parametrize(
    ("query", "own", "today"),
    [
        # What asks for nothing begins where pages begin today.
        ({"projector": "true"}, (), {}),
        ({"version": "0.2.0", "c": "37"}, OWN, {}),
        ({"version": "0.10.0"}, (), {}),
        # A link that says no version is of the first.
        ({"c": "37"}, (), {"epsilon_total": "1"}),
        ({"version": "0.1.0"}, (), {"epsilon_total": "1"}),
        ({"version": "nonsense"}, (), {"epsilon_total": "1"}),
        ({"c": "37", "epsilon_total": "0.5"}, (), {}),
        # A key that has parted is read from the one that spoke for it.
        ({"epsilon_total": "5"}, OWN, {OWN[0]: "5", OWN[1]: "5000"}),
        ({"epsilon_total": "5", OWN[0]: "2", "n": "300"}, OWN, {OWN[1]: "300"}),
    ],
)
def test_what_a_link_leaves_out_is_what_it_was_when_the_link_was_made(
    query: dict[str, str], own: tuple[str, ...], today: dict[str, str]
) -> None:
    assert link.of_today(query, KNOWN | {*own}, own) == query | today


def test_the_table_of_changes_names_knobs_that_have_changed() -> None:
    assert __version__ in link.SAME_NUMBERS
    for version in ("0.0.0", "9.0.0", *link.SAME_NUMBERS):
        differs = "Numbers may differ" in link.read({"version": version}, {}).note
        assert differs == (version not in link.SAME_NUMBERS)
    for change in link.CHANGES:
        for key, text in change.former.items():
            knob = controls_spec.find(key)
            assert knob.parameter.parse(key, text) != knob.default


@pytest.mark.parametrize(("old", "new"), studies.RETIRED.items())
def test_a_retired_preset_is_its_successor_from_the_first(old: str, new: str) -> None:
    """The successor brings its view with it, before the address says its name."""
    every = {name: studies.load(name).PRESETS for name in studies.names()}
    assert not [name for name, presets in every.items() if old in presets]
    (study,) = (name for name, presets in every.items() if new in presets)
    page = link.owner(new, page_table.TABLE)
    assert page is not None
    assert View(page, {"preset": old}, {}).preset(study) == every[study][new]
    assert link.owner(old, page_table.TABLE) == page


# ------------------------------------------------------------------------------------------ shared


@pytest.mark.parametrize(
    ("url", "hosts", "others_have"),
    [
        ("http://localhost:8501/posterior", ("abc.org",), "http://abc.org:8501/posterior"),
        ("https://[::1]/x/overview", ("[2001:db8::1]", "b.org"), "https://[2001:db8::1]/x/overview"),
        ("http://192.168.1.5:8501/", ("abc.org",), "http://192.168.1.5:8501/"),
        ("http://localhost:8501/", (), "http://localhost:8501/"),
    ],
)  # fmt: skip
def test_the_link_has_the_name_that_others_know(
    url: str, hosts: tuple[str, ...], others_have: str
) -> None:
    how = ServerSettings(hosts=hosts, to_others=bool(hosts))
    assert share.for_visitors(url, how) == others_have
    assert share.code(url).startswith("<svg")
    assert share.code(url + "x" * 4000) == "", "no code can hold it"


def test_a_knob_says_its_number_as_it_is_read_and_a_seed_as_it_is_typed() -> None:
    said = {"n": (5000, "5,000"), "epsilon_abc": (1000.0, "1,000"), "seed": (5000, "5000")}
    assert {key: controls_spec.display_value(key, value) for key, (value, _) in said.items()} == {
        key: words for key, (_, words) in said.items()
    }
    assert controls_spec.display_value("epsilon_total", 0.05) == "0.05"
