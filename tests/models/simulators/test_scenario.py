"""A scenario is a value: pickled as its name, found by name once, made from former modules."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import pytest

from abcdp_core.__main__ import main
from abcdp_core.base import registry
from abcdp_core.models import simulators
from abcdp_core.models.simulators import Later, tuberculosis, uniform_mixture
from tests.sources import ROOT

CASES = ROOT / "examples" / "netherlands_daily_cases.csv"
SPENT = "--epsilon-total 1 --out out.json --yes --workers 1"


def test_it_travels_as_its_name() -> None:
    for name in simulators.names():
        scenario = simulators.load(name)
        assert pickle.loads(pickle.dumps(scenario)) is copy.copy(scenario) is scenario
        assert name.encode() in pickle.dumps(scenario)
        assert len(pickle.dumps(scenario)) < 100


def test_what_is_computed_later_is_computed_once_and_only_if_it_is_read() -> None:
    told: list[str] = []
    late = {
        name: Later(lambda name=name: told.append(name) or name) for name in ("truth", "prior_law")
    }
    scenario = dataclasses.replace(tuberculosis.SCENARIO, **late)
    assert told == []
    assert [scenario.truth, scenario.truth, scenario.prior_law] == ["truth", "truth", "prior_law"]
    assert told == ["truth", "prior_law"]
    with pytest.raises(AttributeError, match="has no truths"):
        _ = scenario.truths


def test_plug_ins_may_use_the_former_names() -> None:
    scenario = uniform_mixture.SCENARIO
    assert ("uniform-mixture", scenario.title) == (scenario.SCENARIO, scenario.TITLE)
    assert uniform_mixture.EPSILON_ABC is scenario.epsilon_abc
    assert tuberculosis.SCENARIO.PRIOR is None


@pytest.mark.usefixtures("no_plug_ins_left")
def test_a_module_of_the_former_contract_says_what_it_lacks(tmp_path: Path) -> None:
    text = (ROOT / "tests" / "plugins" / "gaussian_mean.py").read_text(encoding="utf-8")
    file = tmp_path / "mine.py"
    file.write_text(text, encoding="utf-8")
    registry.add_file(file)
    made = simulators.load("gaussian-mean")
    assert made is simulators.load("gaussian-mean")
    assert (made.module, made.n_default, made.neighbours) == ("abcdp_plugin_mine", 200, "replace")
    file.write_text(text.replace("PRIOR_MEAN", "MEAN").replace("def prior", "def draw"))
    registry.add_file(file)
    with pytest.raises(ValueError, match="mine lacks PRIOR_MEAN, prior"):
        simulators.load("gaussian-mean")


@pytest.mark.usefixtures("few_simulations")
@pytest.mark.parametrize(
    ("given", "most"),
    [
        (f"release covid-people --data {CASES} {SPENT}", 10),
        (f"release uniform-mixture --data data.csv --domain 0,9 {SPENT}", 10),
        ("run posterior --set n=100 --set pool_size=100 --out results", 10),
    ],
)
def test_names_are_looked_up_where_text_comes_in(
    given: str, most: int, empty_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: list[str] = []
    load = simulators.load
    monkeypatch.setattr(simulators, "load", lambda name: found.append(name) or load(name))
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("1\n2\n3\n4\n" * 5)
    assert main(given.split()) == 0
    assert 0 < len(found) <= most
