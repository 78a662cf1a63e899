"""Privacy labels: the unit of the scenario, and a stamp only where there is a seed to show."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import simulators
from tests.pages.app import opened
from ui.figures import labels


def said_on(app: AppTest) -> list[str]:
    assert not app.exception
    return [str(element.value) for element in app.markdown]


@pytest.mark.parametrize(
    ("page", "scenario", "query"),
    [
        ("posterior", "tuberculosis", {"scenario": "tuberculosis", "n": "100"}),
        ("posterior", "covid", {"scenario": "covid", "n": "18"}),
        ("case_studies", "tuberculosis", {"case-studies.view": "tuberculosis"}),
        ("gaussian_noise", "tuberculosis", {"gaussian-noise.view": "San Francisco"}),
    ],
    ids=["outbreaks", "days", "case study", "San Francisco"],
)
def test_a_label_has_the_unit_of_its_scenario(page: str, scenario: str, query: dict[str, str]):
    small = {"tuberculosis-posterior.runs": "2"}
    threshold = {"tuberculosis": "150", "covid": "0.1"}[scenario]
    said = said_on(opened(page, epsilon_abc=threshold, **query, **small))
    label = next(text for text in said if text.startswith("**Privacy label.**"))
    assert f"Protects {simulators.load(scenario).PROTECTED}" in label
    assert not [text for text in said if re.search(r"\bone point\b", text)]


@pytest.mark.parametrize(
    ("page", "query", "stamped"),
    [
        ("adaptive_truncation", {"adaptive-truncation.view": "best interval"}, False),
        ("mechanisms", {"mechanisms.view": "what a budget buys"}, False),
        ("distances", {}, False),
        ("your_own_data", {}, False),
        ("overview", {}, True),
        ("posterior", {}, True),
    ],
)
def test_a_demonstration_alone_is_stamped_with_its_seed(
    page: str, query: dict[str, str], stamped: bool
):
    said = said_on(opened(page, **query))
    assert any(text.startswith("**Privacy label.**") for text in said)
    assert (labels.STAMP in said) == stamped
    assert any("A record here is one of the N points." in text for text in said) == (
        page == "overview"
    )


@pytest.mark.parametrize(
    ("scenario", "alike", "public"),
    [
        ("uniform-mixture", "replaced by any other", "ε_abc, c and N"),
        ("covid-people", "left out or added", "ε_abc and c"),
    ],
)
def test_a_label_says_how_neighbouring_data_differ(scenario: str, alike: str, public: str):
    said = said_on(opened("posterior", scenario=scenario, **{"posterior.view": "many releases"}))
    assert any("Protects one" in text and alike in text for text in said)
    assert any(f"the distance, {public}." in text for text in said)
