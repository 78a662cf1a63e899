"""Verification: records of all mechanisms agree with what is computed; changed ones differ."""

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
from abcdp_core.parameters import ParameterError
from abcdp_core.release import procedure, verification
from abcdp_core.release.noisy_counts import NoisyCountsRequest
from abcdp_core.release.request import ReleaseRequest
from abcdp_core.release.sparse_vector import SparseVectorRequest
from abcdp_core.release.summary_request import PrivateSummaryRequest
from abcdp_core.release.verification import verify
from abcdp_core.simulators import tuberculosis_patients

pytestmark = pytest.mark.usefixtures("few_simulations")

Change = Callable[[Any], Any]

OLD = sorted(Path(__file__).with_name("released_by_0_2_0").glob("*.json"))
"""Made by version 0.2.0 from the examples."""

VALUES = np.random.default_rng(1).uniform(0.0, 100.0, 60)
PEOPLE = {
    "tuberculosis-patients": np.append(tuberculosis_patients.OBSERVED[:, 0], np.zeros(19_000)),
    "covid-people": np.arange(14.0),
}
BOUNDS = {"low": 0.0, "high": 100.0, "epsilon_total": 1.0}


@functools.cache
def made(name: str) -> Any:
    """The record of a release; copy it before a change."""
    values, request = PEOPLE.get(name, VALUES), _request(name)
    return json.loads(procedure.make(request, values, random.Random(1).randrange).to_json())


def _request(name: str) -> ReleaseRequest:
    if name in PEOPLE:
        return PrivateSummaryRequest(name, epsilon_total=1.0, draws=100, simulations=2000)
    if name == "noisy-counts":
        return NoisyCountsRequest("uniform-mixture", **BOUNDS, draws=100)
    return SparseVectorRequest.for_scenario(name, **BOUNDS, pool_size=100, c=4, epsilon_abc=1.2)


def wrong(content: Any) -> list[str]:
    return [each.key for each in verify(content) if not each.agrees]


def changed(content: Any, change: Change) -> Any:
    content = copy.deepcopy(content)
    change(content)
    return content


@pytest.mark.parametrize(
    "name",
    [
        *("noisy-counts", "uniform-mixture", "covid", "covid-people"),
        pytest.param("tuberculosis-patients", marks=pytest.mark.slow),
    ],
)
def test_a_record_agrees_in_any_order_of_its_keys(name: str) -> None:
    findings = verify(dict(reversed(made(name).items())))
    assert [each.key for each in findings if not each.agrees] == []
    assert {each.key for each in findings} == made(name).keys() - {"versions"}


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_a_record_of_0_2_0_is_verified_except_for_its_older_posterior(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(OLD) == 5
    old = json.loads(file.read_text(encoding="utf-8"))
    assert "format" not in old
    assert main(["verify", str(file)]) == 0
    printed = capsys.readouterr().out
    is_summary = old["mechanism"] == "private-summary"
    assert is_summary == ("posterior, which was computed in another way" in printed)
    content = changed(old, at("remains", 0, to=""))
    at("cost", "epsilon", to=0.5)(content)
    assert {"cost", "remains"} == set(wrong(content))


def test_an_old_record_without_a_mechanism_is_of_the_sparse_vector() -> None:
    old = {key: value for key, value in made("covid").items() if key != "mechanism"}
    assert wrong(old) == []
    renamed = {key: value for key, value in made("noisy-counts").items() if key != "mechanism"}
    with pytest.raises(ParameterError):
        verify(renamed)


def at(*path: Any, to: Any) -> Change:
    """A change at one place."""

    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = to(content[path[-1]]) if callable(to) else to

    return change


def up(value: Any) -> Any:
    return value + 1


def slightly(value: Any) -> Any:
    return value + 1e-6


CHANGES = {
    "noisy-counts": [
        (at("statement", to=lambda text: text.replace("= 1 ", "= 0.1 ")), "statement"),
        (at("remains", to={}), "remains"),
        (at("protected", to="a person"), "protected"),
        (at("cost", "delta", to=False), "cost"),
        (at("cost", "delta", to=1e-10), "cost"),
        (at("public", "epsilon_total", to=0.5), "event"),
        (at("public", "scenario_domain", 1, to=6.0), "public"),
        (at("mode", to="demonstration"), "mode"),
        (at("more", to="words"), "more"),
        (at("release", "counts", 0, to=up), "posterior"),
        (at("release", "counts", 0, to=up), "series"),
        (at("n", to=61), "posterior"),
        (at("public", "draws_seed", to=2), "posterior"),
        (at("public", "high", to=90.0), "posterior"),
        (at("posterior", "means", 1, to=slightly), "posterior"),
        (at("posterior", "draws", 7, 2, to=lambda draw: draw * 1.001), "posterior"),
        (at("posterior", "level", to=0.95), "posterior"),
        (at("series", "means", 4, to=99.0), "series"),
        (at("event", "scale", to=1.0), "event"),
    ],
    "uniform-mixture": [
        (at("release", "values", 0, 0, to=up), "release"),
        (at("own_units", "values", 0, 0, to=up), "own_units"),
        (at("n", to=59), "event"),
        (at("public", "pool_seed", to=2), "release"),
        (at("event", "query_scale", to=0.1), "event"),
    ],
    "covid-people": [
        (at("release", "whole_numbers", 0, to=up), "posterior"),
        (at("release", "names", 0, to="people"), "release"),
        (at("public", "pool_seed", to=2), "posterior"),
        (at("posterior", "rounds", to=[1000]), "posterior"),
        (at("posterior", "fit", "statement", to="It fits."), "posterior"),
        (at("format", to=3), "format"),
        (at("posterior", "prior_means", 1, to=slightly), "posterior"),
        (at("event", "neighbours", to="replace"), "event"),
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_record_is_found(name: str) -> None:
    for place, (change, found) in enumerate(CHANGES[name]):
        assert found in wrong(changed(made(name), change)), place


@pytest.mark.parametrize("bounds", [{"low": 0.0, "high": 1e-6}, {"low": 1e9, "high": 1e9 + 2.0}])
def test_numbers_are_compared_in_the_unit_of_their_own_axis(bounds: dict[str, float]) -> None:
    request = SparseVectorRequest.for_scenario(
        "covid", **bounds, epsilon_total=100.0, pool_size=100, epsilon_abc=1.2
    )
    values = bounds["low"] + VALUES / 100.0 * (bounds["high"] - bounds["low"])
    document = procedure.make(request, values, random.Random(1).randrange)
    content = json.loads(document.to_json())
    assert wrong(content) == []
    for column, (low, high) in enumerate(document.axes()):
        place, value = ("own_units", "values", 0, column), content["own_units"]["values"][0][column]
        moved = changed(content, at(*place, to=value + 0.01 * (high - low)))
        assert wrong(moved) == ["own_units"], column
        # Another processor may round so.
        assert wrong(changed(content, at(*place, to=value * (1.0 + 1e-15)))) == []
    assert verification.same([1.0, 1e-20], [1.0, 2e-20])
    assert not verification.same([1, 2**32], [2, 2**32]), "whole numbers are exact"


NO_RUN = "no run keeps these draws and stops there"

REFUSED = [
    ("covid", at("release", "indices", to=[3, 1]), NO_RUN),
    ("covid", at("release", "indices", to=[-1]), NO_RUN),
    ("covid", at("release", "indices", to=[*range(5)]), NO_RUN),
    ("covid", at("release", "indices", to=[100]), NO_RUN),
    ("covid", at("release", "stopped_at", to=0), NO_RUN),
    ("covid", at("public", "c", to=1), NO_RUN),
    ("noisy-counts", at("public", to=3), "does not have the form"),
    ("noisy-counts", at("public", "scenario", to="moon"), "scenario = moon: is unknown"),
    ("noisy-counts", at("public", "scenario", to="covid"), "for covid it must be sparse-vector"),
    ("noisy-counts", at("public", "draws", to=10**9), "draws = "),
    ("noisy-counts", at("public", "low", to=None), "low = "),
    ("noisy-counts", at("mechanism", to="moon"), "mechanism = moon"),
    ("noisy-counts", at("n", to=10**9), "number of values = "),
    ("noisy-counts", at("n", to="60"), "number of values = 60: must be a whole number"),
    ("noisy-counts", at("release", to=None), "does not have the form of a release"),
    ("noisy-counts", at("release", "counts", 0, to=1.5), "not counts of the scenario's cells"),
    ("noisy-counts", at("ledger", to={"budget": 1}), "does not have the form of a release"),
    ("covid-people", at("release", "whole_numbers", to=[1]), "not numbers of the scenario's data"),
    ("covid-people", at("release", "whole_numbers", 0, to=2**53), "not numbers of the scenario's"),
]


def test_an_impossible_record_is_refused_in_a_sentence() -> None:
    for name, change, words in REFUSED:
        with pytest.raises(ParameterError) as caught:
            verify(changed(made(name), change))
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_command_prints_a_line_for_each_key_and_for_what_it_cannot_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "release.json"
    content = made("noisy-counts") | {"ledger": {"budget": "b", "entry": 2, "digest": "d"}}
    file.write_text(json.dumps(content), encoding="utf-8")
    assert main(["verify", str(file)]) == 0
    printed, said = capsys.readouterr()
    assert not said
    assert printed.count("\nagrees ") == len(content) - 3
    assert "the data, the noise" in printed
    assert "`budget show`" in printed
    for text, words in (
        (json.dumps(content | {"protected": "all"}), "protected does not follow from the rest"),
        ("{}", "is not a release."),
        ("{", "is not JSON"),
    ):
        file.write_text(text, encoding="utf-8")
        assert main(["verify", str(file)]) == 2
        assert words in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "missing.json")]) == 2
    assert "cannot be read (No such file or directory)" in capsys.readouterr().err
