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
    """A document of a release; to change it, take a copy."""
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


@pytest.mark.parametrize(
    "name",
    [
        *("noisy-counts", "uniform-mixture", "covid", "covid-people"),
        pytest.param("tuberculosis-patients", marks=pytest.mark.slow),
    ],
)
def test_a_document_agrees_in_any_order_of_its_keys(name: str) -> None:
    findings = verify(dict(reversed(made(name).items())))
    assert [each.key for each in findings if not each.agrees] == []
    assert {each.key for each in findings} == made(name).keys() - {"versions"}


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_of_a_document_of_0_2_0_all_but_its_other_posterior_is_compared(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(OLD) == 5
    old = json.loads(file.read_text(encoding="utf-8"))
    assert "format" not in old
    assert main(["verify", str(file)]) == 0
    printed = capsys.readouterr().out
    is_summary = old["mechanism"] == "private-summary"
    assert is_summary == ("posterior, which was computed in another way" in printed)
    for change, key in (
        (at("cost", "epsilon", to=0.5), "cost"),
        (at("remains", 0, to=""), "remains"),
        (at("statement", to=""), "statement"),
    ):
        content = copy.deepcopy(old)
        change(content)
        assert wrong(content) == [key]


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


CHANGES = {
    "noisy-counts": [
        (at("statement", to=lambda text: text.replace("= 1 ", "= 0.1 ")), "statement"),
        (at("remains", to=[]), "remains"),
        (at("remains", to={}), "remains"),
        (at("protected", to="a person"), "protected"),
        (at("cost", "epsilon", to=0.5), "cost"),
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
        (at("posterior", "means", 1, to=lambda mean: mean + 1e-6), "posterior"),
        (at("posterior", "intervals", 1, 0, to=0.0), "posterior"),
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
        (at("release", "divided_by", 0, to=2), "release"),
        (at("public", "pool_seed", to=2), "posterior"),
        (at("posterior", "rounds", to=[1000]), "posterior"),
        (at("posterior", "effective_sample_size", to=up), "posterior"),
        (at("posterior", "fit", "statement", to="It fits."), "posterior"),
        (at("format", to=3), "format"),
        (at("posterior", "prior_means", 1, to=lambda mean: mean + 1e-6), "posterior"),
        (at("posterior", "probabilities", 0, "remark", to="proved"), "posterior"),
        (at("event", "neighbours", to="replace"), "event"),
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_document_is_found(name: str) -> None:
    for place, (change, found) in enumerate(CHANGES[name]):
        content = copy.deepcopy(made(name))
        change(content)
        assert found in wrong(content), place


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
        changed, rounded = copy.deepcopy(content), copy.deepcopy(content)
        changed["own_units"]["values"][0][column] += 0.01 * (high - low)
        assert wrong(changed) == ["own_units"], column
        # Another processor may round so.
        rounded["own_units"]["values"][0][column] *= 1.0 + 1e-15
        assert wrong(rounded) == []
    assert verification.same([1.0, 1e-20], [1.0, 2e-20])
    assert not verification.same([1, 2**32], [2, 2**32]), "whole numbers are exact"


def test_decisions_that_no_run_makes_are_refused() -> None:
    for change in (
        at("release", "indices", to=[3, 1]),
        at("release", "indices", to=[-1]),
        at("release", "indices", to=list(range(5))),
        at("release", "stopped_at", to=0),
        at("release", "indices", to=[100]),
        at("public", "c", to=1),
    ):
        content = copy.deepcopy(made("covid"))
        change(content)
        with pytest.raises(ParameterError, match="no run accepts these draws and stops there"):
            verify(content)


MALFORMED = [
    (at("public", to=3), "is not of the form"),
    (at("public", "scenario", to="moon"), "scenario = moon: is none that is known here"),
    (at("public", "scenario", to="covid"), "for covid it must be sparse-vector"),
    (at("public", "draws", to=10**9), "draws = "),
    (at("public", "low", to=None), "low = "),
    (at("mechanism", to="moon"), "mechanism = moon"),
    (at("n", to=10**9), "number of values = "),
    (at("n", to="60"), "number of values = 60: must be a whole number"),
    (at("release", to=None), "is not of the form that a release has"),
    (at("release", "counts", to=[1, 2]), "no counts of the scenario's cells"),
    (at("release", "counts", 0, to=1.5), "no counts of the scenario's cells"),
    (at("ledger", to={"budget": 1}), "is not of the form that a release has"),
]


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    for change, words in MALFORMED:
        content = copy.deepcopy(made("noisy-counts"))
        change(content)
        with pytest.raises(ParameterError) as caught:
            verify(content)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


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
    assert "protected differs from what follows" in said
    for text, words in (("{}", "is none of a release"), ("{", "is no JSON")):
        file.write_text(text)
        assert main(["verify", str(file)]) == 2
        assert words in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "missing.json")]) == 2
    assert "cannot be read (No such file or directory)" in capsys.readouterr().err
