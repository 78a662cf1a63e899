"""Documents of all mechanisms agree with what is computed again, and changed ones do not."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.own_data import document, release, verification
from abcdp_core.own_data.noisy_counts import NoisyCountsRequest
from abcdp_core.own_data.sparse_vector import SparseVectorRequest
from abcdp_core.own_data.summary_request import PrivateSummaryRequest
from abcdp_core.own_data.verification import verify
from abcdp_core.parameters import ParameterError
from abcdp_core.simulators import tuberculosis_patients

pytestmark = pytest.mark.usefixtures("few_simulations")

Change = Callable[[Any], Any]

DAYS = np.arange(14.0)
REPORT = np.append(tuberculosis_patients.OBSERVED[:, 0], np.zeros(19_000))
VALUES = np.random.default_rng(1).uniform(0.0, 100.0, 60)
BOUNDS = {"low": 0.0, "high": 100.0, "epsilon_total": 1.0}


@functools.cache
def made(name: str) -> Any:
    """A document of a release; whoever changes it takes a copy."""
    if name in PEOPLE:
        return _made_of_people(name)
    request = (
        NoisyCountsRequest("uniform-mixture", **BOUNDS, draws=100)
        if name == "noisy-counts"
        else SparseVectorRequest.for_scenario(name, **BOUNDS, pool_size=100, c=4, epsilon_abc=1.2)
    )
    document = release.make(request, VALUES, random.Random(1).randrange)
    return json.loads(document.to_json())


PEOPLE = {"tuberculosis-patients": REPORT, "covid-people": DAYS}


def _made_of_people(name: str) -> Any:
    request = PrivateSummaryRequest(name, epsilon_total=1.0, draws=100, simulations=2000)
    document = release.make(request, PEOPLE[name], random.Random(1).randrange)
    return json.loads(document.to_json())


NAMES = ("noisy-counts", "uniform-mixture", "covid", *PEOPLE)


def wrong(content: Any) -> list[str]:
    return [each.key for each in verify(content) if not each.agrees]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_agrees_as_it_is_and_in_any_order_of_its_keys(name: str) -> None:
    assert wrong(made(name)) == []
    assert wrong(dict(reversed(made(name).items()))) == []
    assert {each.key for each in verify(made(name))} == made(name).keys() - {"versions"}


def test_a_document_of_a_version_that_named_no_mechanism_is_of_the_sparse_vector() -> None:
    old = {key: value for key, value in made("covid").items() if key != "mechanism"}
    assert wrong(old) == []
    renamed = {key: value for key, value in made("noisy-counts").items() if key != "mechanism"}
    with pytest.raises(ParameterError):
        verify(renamed)


def at(*path: Any, to: Any) -> Change:
    """A change of one place."""

    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = to(content[path[-1]]) if callable(to) else to

    return change


def up(value: Any) -> Any:
    return value + 1


BOTH: list[tuple[Change, str]] = [
    (at("statement", to=lambda text: text.replace("ε_total = 1 ", "ε_total = 0.1 ")), "statement"),
    (at("remains", to=[]), "remains"),
    (at("protected", to="a person"), "protected"),
    (at("cost", "epsilon", to=0.5), "cost"),
    (at("cost", "delta", to=False), "cost"),
    (at("public", "epsilon_total", to=0.5), "event"),
    (at("public", "scenario_domain", 1, to=6.0), "public"),
    (at("mode", to="demonstration"), "mode"),
    (at("more", to="words"), "more"),
    (at("cost", "delta", to=1e-10), "cost"),
    (at("cost", "epsilon", to=10**400), "cost"),
]
OF_COUNTS: list[tuple[Change, str]] = [
    (at("release", "counts", 0, to=up), "posterior"),
    (at("release", "counts", 0, to=up), "series"),
    (at("n", to=61), "posterior"),
    (at("public", "draws_seed", to=2), "posterior"),
    (at("public", "high", to=90.0), "posterior"),
    (at("posterior", "means", 1, to=lambda mean: mean + 1e-6), "posterior"),
    (at("posterior", "intervals", 1, 0, to=0.0), "posterior"),
    (at("posterior", "draws", 7, 2, to=lambda draw: draw * 1.001), "posterior"),
    (at("posterior", "level", to=0.95), "posterior"),
    (at("series", "means", 4, to=99.0), "series"),
    (at("event", "scale", to=1.0), "event"),
    (at("event", "sensitivity", to=1), "event"),
]
OF_DRAWS: list[tuple[Change, str]] = [
    (at("release", "values", 0, 0, to=up), "release"),
    (at("own_units", "values", 0, 0, to=up), "own_units"),
    (at("n", to=59), "event"),
    (at("public", "pool_seed", to=2), "release"),
    (at("event", "query_scale", to=0.1), "event"),
]
OF_PEOPLE: list[tuple[Change, str]] = [
    (at("release", "whole_numbers", 0, to=up), "posterior"),
    (at("release", "names", 0, to="people"), "release"),
    (at("release", "divided_by", 0, to=2), "release"),
    (at("public", "pool_seed", to=2), "posterior"),
    (at("public", "simulations", to=1000), "posterior"),
    (at("posterior", "rounds", to=[1000]), "posterior"),
    (at("posterior", "way", to="weights"), "posterior"),
    (at("posterior", "failed", to=1), "posterior"),
    (at("posterior", "effective_sample_size", to=up), "posterior"),
    (at("posterior", "fit", "p_value", to=0.5), "posterior"),
    (at("posterior", "fit", "statement", to="It fits."), "posterior"),
    (at("format", to=3), "format"),
    (at("posterior", "means", 1, to=lambda mean: mean + 1e-6), "posterior"),
    (at("posterior", "prior_means", 1, to=lambda mean: mean + 1e-6), "posterior"),
    (at("posterior", "probabilities", 0, "remark", to="proved"), "posterior"),
    (at("posterior", "draws", 7, 2, to=lambda draw: draw * 1.001), "posterior"),
    (at("event", "scale", to=1.5), "event"),
    (at("event", "neighbours", to="replace"), "event"),
]
CHANGES = [
    *(("covid-people", *each) for each in OF_PEOPLE),
    *((name, *each) for name in ("noisy-counts", "covid") for each in BOTH),
    *(("noisy-counts", *each) for each in OF_COUNTS),
    *(("uniform-mixture", *each) for each in OF_DRAWS),
]


@pytest.mark.parametrize(
    ("name", "change", "found"),
    CHANGES,
    ids=[f"{name}-{found}-{place}" for place, (name, _, found) in enumerate(CHANGES)],
)
def test_a_changed_document_is_found(name: str, change: Change, found: str) -> None:
    content = copy.deepcopy(made(name))
    change(content)
    assert found in wrong(content)


def test_numbers_are_compared_in_the_unit_of_their_own_column() -> None:
    bounds = BOUNDS | {"high": 1e-6}
    request = SparseVectorRequest.for_scenario(
        "covid", **bounds, pool_size=100, c=4, epsilon_abc=1.2
    )
    document = json.loads(release.make(request, VALUES, random.Random(1).randrange).to_json())
    assert wrong(document) == []
    for column in range(4):
        changed = copy.deepcopy(document)
        changed["own_units"]["values"][0][column] *= 1.001
        assert wrong(changed) == ["own_units"], column
        # Another processor may round so.
        rounded = copy.deepcopy(document)
        rounded["own_units"]["values"][0][column] *= 1.0 + 1e-15
        assert wrong(rounded) == []
    assert verification.same([1.0, 1e-20], [1.0, 2e-20])
    assert not verification.same([[1.0, 1e-20]], [[1.0, 2e-20]])


def test_where_a_domain_is_far_from_0_its_width_counts() -> None:
    far = {"low": 1e9, "high": 1e9 + 2.0, "epsilon_total": 100.0}
    request = SparseVectorRequest.for_scenario("covid", **far, pool_size=100, epsilon_abc=1.2)
    values = 1e9 + 0.02 * VALUES
    document = release.make(request, values, random.Random(1).randrange)
    content = json.loads(document.to_json())
    assert wrong(content) == []
    content["own_units"]["values"][0][3] += 1e-3
    assert wrong(content) == ["own_units"]


def test_small_factors_beside_large_ones_count() -> None:
    found = {"divided_by": [1.0, 2.0**32], "event": {"whole": [1, 2**32]}}
    for changed in ({"divided_by": [2.0, 2.0**32]}, {"event": {"whole": [-1, 2**32]}}):
        assert verification.same(found, found)
        assert not verification.same(found | changed, found)


@pytest.mark.parametrize("name", ["remains", "statement", "mode", "protected"])
def test_a_table_in_place_of_a_text_is_found(name: str) -> None:
    assert wrong(made("noisy-counts") | {name: {}}) == [name]


def test_decisions_that_no_run_makes_are_refused() -> None:
    for change in (
        at("release", "indices", to=[3, 1]),
        at("release", "indices", to=[-1]),
        at("release", "indices", to=[1, 1]),
        at("release", "indices", to=list(range(5))),
        at("release", "stopped_at", to=0),
        at("release", "indices", to=[100]),
        at("release", to=lambda of: of | {"indices": [1, -(2**63)], "stopped_at": 100}),
        at("public", "c", to=1),
    ):
        content = copy.deepcopy(made("covid"))
        change(content)
        with pytest.raises(ParameterError, match="no run accepts these draws and stops there"):
            verify(content)


BAD = [
    ("[]", "is none of a release"),
    ("{}", "is none of a release"),
    ("{", "is no JSON"),
    ("NaN", "is no JSON"),
    ("[" * 100_000, "is no JSON"),
    ('{"cost": {"epsilon": 1, "epsilon": 1}}', "has a key twice"),
    ("\x00", "is no JSON"),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_document_is_said_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    assert main(["verify", str(file)]) == 2
    printed, said = capsys.readouterr()
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert words in said
    assert not printed
    assert main(["verify", str(tmp_path / "missing.json")]) == 2
    assert "cannot be read (No such file or directory)" in capsys.readouterr().err
    assert main(["verify", str(tmp_path)]) == 2
    assert "cannot be read (Is a directory)" in capsys.readouterr().err


def _nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    return [_nested(depth - 1)] if depth else []


MALFORMED = [
    (at("public", to=3), ""),
    (at("public", to={}), ""),
    (at("public", "scenario", to="moon"), "scenario = moon: is none that is known here"),
    (at("public", "scenario", to=[]), "is none that is known here"),
    (at("public", "scenario", to="tuberculosis"), "is none that is known here"),
    (at("public", "scenario", to="covid"), "for covid it must be sparse-vector"),
    (at("public", "draws", to=10**9), "draws = "),
    (at("public", "epsilon_total", to="1e400"), "epsilon_total = "),
    (at("public", "low", to=None), "low = "),
    (at("mechanism", to="moon"), "mechanism = moon"),
    (at("mechanism", to=3), "is none that is known here"),
    (at("n", to=10**9), "number of values = "),
    (at("n", to="60"), "number of values = 60: must be a whole number"),
    (at("n", to=True), "number of values = true: must be a whole number"),
    (at("release", to=None), "is not of the form that a release has"),
    (at("release", "counts", to=[1, 2]), "no counts of the scenario's cells"),
    (at("release", "counts", 0, to=1.5), "no counts of the scenario's cells"),
    (at("release", "counts", 0, to=10**400), "no counts of the scenario's cells"),
    (
        at("ledger", to={"budget": _nested(900), "entry": 1, "digest": ""}),
        "is not of the form that a release has",
    ),
]


@pytest.mark.parametrize(("change", "words"), MALFORMED, ids=range(len(MALFORMED)))
def test_what_cannot_be_is_refused_in_a_sentence(change: Change, words: str) -> None:
    content = copy.deepcopy(made("noisy-counts"))
    change(content)
    with pytest.raises(ParameterError) as caught:
        verify(content)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_of_a_document_of_0_2_0_all_but_the_posterior_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``released_by_0_2_0.json`` was made by that version, from 14 days of 7 cases."""
    file = Path(__file__).with_name("released_by_0_2_0.json")
    old = json.loads(file.read_text(encoding="utf-8"))
    assert "format" not in old
    assert main(["verify", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "not recomputed: the posterior, which was computed in another way" in printed
    assert "posterior with means" not in printed
    for change, key in (
        (at("release", "names", 0, to="day 0"), "release"),
        (at("cost", "epsilon", to=0.5), "cost"),
        (at("remains", 0, to=""), "remains"),
        (at("event", "scale", to=0.5), "event"),
    ):
        content = copy.deepcopy(old)
        change(content)
        assert wrong(content) == [key]
    # What has a format is compared as a whole.
    assert "posterior" in wrong(copy.deepcopy(old) | {"format": 2})


def test_a_command_says_a_line_for_each_and_what_cannot_be_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "release.json"
    content = made("noisy-counts") | {"ledger": {"budget": "b", "entry": 2, "digest": "d"}}
    file.write_text(json.dumps(content), encoding="utf-8")
    assert main(["verify", str(file)]) == 0
    printed, said = capsys.readouterr()
    assert not said
    lines = printed.splitlines()
    assert sum(line.startswith("agrees ") for line in lines) == len(content) - 2
    assert any("not recomputed: the data, the noise" in line for line in lines)
    assert any("`budget show`" in line for line in lines)
    file.write_text(json.dumps(content | {"protected": "all"}), encoding="utf-8")
    assert main(["verify", str(file)]) == 2
    printed, said = capsys.readouterr()
    assert "DIFFERS  what is protected" in printed
    assert said.count("\n") == 1
    assert "protected differs from what follows" in said
    file.write_text(" " * (document.LARGEST_FILE + 1))
    assert main(["verify", str(file)]) == 2
    assert "is larger than any document" in capsys.readouterr().err
