"""Contract of all releases: measured, paid for, drawn, recorded, reported and verified.

Neighboring data are compared in test_neighbouring_files.py, through the command; noise has its
exact probabilities in test_exact_noise.py.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import math
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.posterior import fit, outcome
from abcdp_core.privacy import cost
from abcdp_core.publish.output.settings import event_in_json
from abcdp_core.release import procedure, releasable, verification
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.request import claim, question, scenarios
from abcdp_core.release.sparse_vector import SparseVectorRequest
from abcdp_core.release.verification import compared, verify
from tests.release import small
from tests.release.small import CASES, VALUES, content_of, made, seeded

EACH = pytest.mark.parametrize("name", CASES)
EACH_BUT_ONE = pytest.mark.parametrize(
    "name", [*small.QUICK, pytest.param("patients", marks=pytest.mark.slow)]
)
EACH_SERIES = pytest.mark.parametrize("name", small.SERIES)
EACH_QUICK = pytest.mark.parametrize("name", small.QUICK)

ALWAYS = {
    *("mode", "format", "mechanism", "statement", "remains", "protected", "public", "release"),
    *("event", "cost", "versions"),
}
OWN = {
    "noisy-counts": {"n", "series", "posterior"},
    "sparse-vector": {"n", "own_units"},
    "private-summary": {"posterior"},
}
"""Mechanism -> what its records hold beside :data:`ALWAYS`; the number of days is public, too."""


def test_every_mechanism_and_every_kind_of_data_has_a_case() -> None:
    assert {case.request.mechanism for case in CASES.values()} == releasable.every().keys()
    assert {case.request.scenario for case in CASES.values()} == set(scenarios())


# --------------------------------------------------------------------- what is done, in order


@EACH
def test_a_budget_is_kept_before_noise_which_alone_decides_what_is_released(name: str) -> None:
    request, values = vars(CASES[name]).values()
    happened: list[str] = []

    class Paid:
        reservation = Reservation("b", 2, "d")
        keep = staticmethod(lambda: happened.append("kept"))

    def drawn(below: int) -> int:
        happened.append("drawn")
        return again(below)

    prepared, again = procedure.prepare(request, values), seeded(1)
    assert "measured" not in repr(prepared)
    paid: Any = Paid()
    document = procedure.spend(prepared, drawn, paid)
    assert happened == ["kept", *["drawn"] * (len(happened) - 1)]
    assert len(happened) > 1
    content = document.content()
    assert content["ledger"] == {"budget": "b", "entry": 2, "digest": "d"}
    assert content["release"] == procedure.spend(prepared, seeded(1)).content()["release"]
    assert len({str(procedure.spend(prepared).content()["release"]) for _ in range(20)}) > 1
    for function in (procedure.make, procedure.spend):
        assert function.__defaults__ == (secrets.randbelow, None), "the operating system draws"


@EACH_BUT_ONE
def test_a_record_has_what_may_be_published_and_follows_from_its_release(name: str) -> None:
    content, request, n = content_of(name), CASES[name].request, len(CASES[name].values)
    assert set(content) == ALWAYS | OWN[request.mechanism] | ({"n"} if name == "days" else set())
    domain = {"scenario_domain": [*request.source.domain]} if name in small.SERIES else {}
    assert content["public"] == request.public() | domain
    assert type(request).from_text(request.to_text()) == request
    event = request.event(n)
    stated = json.loads(json.dumps(event_in_json(event)))
    if request.mechanism == "noisy-counts":
        # As records name it since 0.2.0.
        stated = {"kind": "CountNoise", "sensitivity": 2, "scale": stated["scale"], "cells": 5}
    assert content["event"] == stated
    assert content["cost"] == {"epsilon": cost(event).epsilon, "delta": 0.0}
    assert content["cost"]["epsilon"] <= request.epsilon_total == float(claim(request).epsilon)
    for words in (f"Protects {request.protected}: pure", f"with {request.spends} (neighbors: "):
        assert words in content["statement"]
    assert len(made(name).values) == len(made(name).sample) > 0
    findings = verify(dict(reversed(content.items())))
    assert [each.key for each in findings if not each.agrees] == []
    assert {each.key for each in findings} == content.keys() - {"versions"}


@EACH
def test_a_person_confirms_what_is_spent_and_learns_no_private_size(name: str) -> None:
    request, n = CASES[name].request, len(CASES[name].values)
    asked = question(request, n)
    assert f"spends {request.spends} (pure" in asked
    assert f"protects {request.protected}" in asked
    assert (", added or removed" in asked) == (name in ("days", "patients"))
    assert (f"{n:,}" in asked) == request.tells_size == (name != "patients")


@EACH_SERIES
@pytest.mark.parametrize("epsilon", [0.001, 1000.0])
def test_a_warning_says_that_noise_hides_nearly_everything(name: str, epsilon: float) -> None:
    request = dataclasses.replace(CASES[name].request, epsilon_total=epsilon)
    assert ("little more than the prior" in request.noise_warning(60)) == (epsilon == 0.001)


# ----------------------------------------------------------------------------- nothing else


CANARIES = (61.80339887498949, 48.15162342108, 27.18281828459)


def traces_of(values: list[float]) -> list[str]:
    """Ways to write values, in full and shortened."""
    whole = [f"{value:.{digits}f}" for value in values for digits in (5, 9)]
    found = [*whole, *map(repr, values), *(value.hex() for value in values)]
    # A few digits may agree with a parameter by chance; as many do not.
    return [text for text in found if len(text) >= 8]


@EACH_SERIES
def test_nothing_of_a_series_is_in_record_log_output_or_cache(
    name: str,
    empty_folder: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG):
        prepared = procedure.prepare(CASES[name].request, np.append(VALUES, CANARIES))
        document = procedure.spend(prepared)
    # Distances are private, too.
    private = [*CANARIES, *getattr(prepared.measured, "rho", np.zeros(0)).tolist()]
    shown = [document.to_json(), repr(document), document.summary, document.table().to_string()]
    shown += [repr(prepared), caplog.text, *capfd.readouterr()]
    assert not [text for text in traces_of(private) if any(text in output for output in shown)]
    assert list(empty_folder.rglob("*")) == []
    text = json.dumps({"statistic": [CANARIES[0]], "mean": round(CANARIES[1], 9)})
    assert sum(trace in text for trace in traces_of(private)) >= 2, "a leak would be seen"


@EACH_SERIES
def test_values_beyond_the_domain_count_as_its_ends_and_nobody_learns_of_it(name: str) -> None:
    beyond, at = VALUES.copy(), VALUES.copy()
    beyond[:3], at[:3] = (-1e9, 1e9, math.nextafter(100.0, math.inf)), (0.0, 100.0, 100.0)
    first, second = (
        procedure.make(CASES[name].request, values, seeded(3)).to_json() for values in (beyond, at)
    )
    assert first == second
    assert "clip" not in first


# -------------------------------------------------------------------------- changed afterwards


def leaves(content: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Places of values in a record, of long lists the first and the last."""
    if isinstance(content, dict):
        for key in content:
            yield from leaves(content[key], *path, key)
    elif isinstance(content, list):
        for place in sorted({0, len(content) - 1} if content else ()):
            yield from leaves(content[place], *path, place)
    else:
        yield path


def other(value: Any) -> Any:
    """A value of the same kind that is hardly different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value + 1e-3 * (1.0 + abs(value))
    return value + 1 if isinstance(value, int) else f"{value or ''}x"


def changed(content: Any, path: tuple[Any, ...], change: Callable[[Any], Any] = other) -> Any:
    """A copy with another value at one place."""
    content = copy.deepcopy(content)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = change(inner[path[-1]])
    return content


def wrong(content: Any, document: Any = None) -> set[str]:
    """Keys that do not follow from the rest; `refused` if nothing can follow."""
    try:
        findings = verify(content) if document is None else compared(content, document)
    except ParameterError:
        return {"refused"}
    return {each.key for each in findings if not each.agrees}


SOURCES = {"public", "release", "n"}
"""Keys from which all others follow."""

FREE = {"epsilon_abc", "bandwidth", "pool_size", "simulations", "effective_sample_size"}
"""Settings that nothing else in a record need depend on."""


@EACH_QUICK
def test_whatever_is_changed_in_what_follows_is_found_at_its_place(name: str) -> None:
    content, document = content_of(name), made(name)
    places = [path for path in leaves(content) if path[0] not in SOURCES | {"versions"}]
    assert {path[0] for path in places} == content.keys() - SOURCES - {"versions"}
    assert wrong(content, document) == set()
    for path in places:
        assert path[0] in wrong(changed(content, path), document), path
    assert wrong(content | {"more": "words"}, document) == {"more"}
    del content["cost"]["delta"]
    assert wrong(content, document) == {"cost"}


@EACH_QUICK
def test_whatever_is_changed_in_settings_or_release_no_longer_fits(name: str) -> None:
    content = content_of(name)
    places = [path for path in leaves(content) if path[0] in SOURCES]
    for path in places:
        assert path[-1] in FREE or wrong(changed(content, path)), path


@pytest.mark.parametrize("bounds", [{"low": 0.0, "high": 1e-6}, {"low": 1e9, "high": 1e9 + 2.0}])
def test_numbers_are_compared_in_the_unit_of_their_own_axis(bounds: dict[str, float]) -> None:
    values = bounds["low"] + VALUES / 100.0 * (bounds["high"] - bounds["low"])
    request = small.kept(**bounds, epsilon_total=100.0, epsilon_abc=1.2)
    document = procedure.make(request, values, seeded(1))
    content = json.loads(document.to_json())
    for column, (low, high) in enumerate(document.axes()):
        place, step = ("own_units", "values", 0, column), 0.01 * (high - low)
        assert wrong(changed(content, place, lambda value, step=step: value + step)) == {
            "own_units"
        }
        # Another processor may round so.
        assert wrong(changed(content, place, lambda value: value * (1.0 + 1e-15))) == set()
    assert verification.same([1.0, 1e-20], [1.0, 2e-20])
    assert not verification.same([1, 2**32], [2, 2**32]), "whole numbers are exact"


# ----------------------------------------------------------------------- records of 0.2.0


OLD = sorted(Path(__file__).with_name("released_by_0_2_0").glob("*.json"))
"""Made by version 0.2.0 from the examples."""


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_a_record_of_0_2_0_is_verified_except_for_its_older_posterior(file: Path) -> None:
    assert len(OLD) == 5
    old = json.loads(file.read_text(encoding="utf-8"))
    assert "format" not in old
    assert wrong(old) == set()
    unknown = " ".join(verification.cannot_be_known(old))
    assert (old["mechanism"] == "private-summary") == ("computed in another way" in unknown)
    content = changed(changed(old, ("remains", 0)), ("cost", "epsilon"))
    assert wrong(content) == {"cost", "remains"}


def test_a_record_of_0_3_0_is_verified_with_its_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome.of_found, "__defaults__", (None, fit.REPLICATES))
    file = Path(__file__).with_name("released_by_0_3_0") / "covid-people.json"
    old = json.loads(file.read_text(encoding="utf-8"))
    assert "checked" not in old["posterior"]["fit"]
    assert wrong(old) == set()
    assert wrong(changed(old, ("posterior", "intervals", 0, 1))) == {"posterior"}


def test_an_old_record_without_a_mechanism_is_of_the_sparse_vector() -> None:
    old, counts = content_of("curve"), content_of("counts")
    del old["mechanism"], counts["mechanism"]
    assert (wrong(old), wrong(counts)) == (set(), {"refused"})


# -------------------------------------------------------------------------------- refusals


def record(name: str, *path: Any, to: Any) -> Callable[[], Any]:
    """Verify a record with another value at one place."""
    return lambda: verify(changed(content_of(name), path, lambda _: to))


def of_values(values: Any, **given: Any) -> Callable[[], Any]:
    """Prepare a release of shares from values."""
    return lambda: procedure.prepare(small.kept("uniform-mixture", **given), np.array(values))


NO_RUN = "release: no run keeps these draws and stops there"
NO_FORM = "does not have the form of a release"

REFUSED: list[tuple[Callable[[], Any], str]] = [
    # Records.
    (record("curve", "release", "indices", to=[3, 1]), NO_RUN),
    (record("curve", "release", "indices", to=[-1]), NO_RUN),
    (record("curve", "release", "indices", to=[*range(5)]), NO_RUN),
    (record("curve", "release", "indices", to=[100]), NO_RUN),
    (record("curve", "release", "stopped_at", to=0), NO_RUN),
    (record("counts", "public", to=3), NO_FORM),
    (record("counts", "release", to=None), NO_FORM),
    (lambda: verify(content_of("counts") | {"ledger": {"budget": 1}}), NO_FORM),
    (record("counts", "public", "scenario", to="covid"), "mechanism = noisy-counts: for covid it"),
    (record("counts", "public", "low", to=None), "low = "),
    (record("counts", "mechanism", to="moon"), "mechanism = moon"),
    (record("counts", "n", to=10**9), "number of values = "),
    (record("counts", "n", to="60"), "number of values = 60: must be a whole number"),
    (record("counts", "release", "counts", 0, to=1.5), "release: these are not counts of the"),
    (record("days", "release", "whole_numbers", to=[1]), "release: these are not numbers of the"),
    (record("days", "release", "whole_numbers", 0, to=2**53), "release: these are not numbers"),
    # Requests.
    (lambda: small.kept(high=0.0), "high = 0: must be above low = 0."),
    (
        lambda: small.kept(low=-1e15, high=1.0 - 1e15),
        "high = -999999999999999: must be above low = -1e+15 by 1000000 or more.",
    ),
    (lambda: small.kept(high=5e-324), "high = 4.94066e-324: must be above low = 0 by 1e-290 or"),
    (lambda: small.kept(low=math.nan), "low = nan: must be a number from -1e+300 to 1e+300."),
    (lambda: small.kept(epsilon_abc=2.0), "epsilon_abc = 2: must be a number from 0.001 to 1.4"),
    (lambda: small.counts(scenario="covid"), "mechanism = noisy-counts: does not serve covid."),
    (
        lambda: SparseVectorRequest(
            **dataclasses.asdict(small.kept()) | {"scenario": "covid-people"}
        ),
        "mechanism = sparse-vector: does not serve covid-people.",
    ),
    (lambda: small.numbers("tuberculosis"), "scenario = tuberculosis: takes no data of your own"),
    (lambda: releasable.chosen("covid", "moon"), "mechanism = moon: for covid it must be spar"),
    (lambda: releasable.chosen("moon"), "scenario = moon: must be one of covid, covid-people,"),
    # Data.
    (of_values(VALUES[:9]), "number of values = 9: must be a whole number from 10 to 20000."),
    (of_values([1.0] * 20_000, pool_size=20_000), "n * pool_size = 400,000,000: must be at most"),
    (of_values([*VALUES, math.nan]), "values: each must be a finite number."),
    (of_values([*VALUES, -math.inf]), "values: each must be a finite number."),
]


def test_what_is_impossible_is_refused_in_a_sentence_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("curve", "counts", "days"):
        made(name)
    monkeypatch.delattr("abcdp_core.models.pool.compare")
    for refused, sentence in REFUSED:
        with pytest.raises(ValueError, match=r".") as caught:
            refused()
        said = str(caught.value)
        assert said.startswith(sentence), sentence
        assert "\n" not in said


def test_counts_are_recommended_if_they_serve_a_scenario() -> None:
    recommended = {name: releasable.chosen(name).name for name in scenarios()}
    assert recommended == {
        "covid": "sparse-vector",
        "covid-people": "private-summary",
        "tuberculosis-patients": "private-summary",
        "uniform-mixture": "noisy-counts",
    }
    assert releasable.chosen("uniform-mixture", "sparse-vector").request is SparseVectorRequest
