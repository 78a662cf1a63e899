"""Reports on releases: complete, self-contained, and free of foreign markup."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from scipy import stats

from abcdp_core import to_inference_data
from abcdp_core.privacy.promise import odds
from abcdp_core.release import disclosure, picture, procedure, report
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.document import ReleaseRecord, picture_rows
from abcdp_core.release.noisy_counts import NoisyCountsRecord
from tests.release import small
from tests.release.small import CASES, VALUES

SCHEMA = yaml.safe_load(Path(__file__).with_name("deployments_schema.yaml").read_text("utf-8"))

ODD = {
    "hardly any": (small.counts(epsilon_total=0.001, low=-5.0), 10),
    "hardly private": (small.counts(epsilon_total=1000.0), 60),
    "no draw": (small.kept("uniform-mixture", epsilon_abc=0.01, epsilon_total=1000.0), 60),
}
"""Further requests, and how many values they are about."""


@functools.cache
def record(name: str) -> ReleaseRecord:
    if name in CASES:
        return small.made(name)
    request, n = ODD[name]
    return procedure.make(request, VALUES[:n], small.seeded(1))


def page_of(document: ReleaseRecord, **more: Any) -> str:
    return report.page(document, document.to_json().encode(), **more)


def words(page: str) -> str:
    """The text of a page, with normal spaces."""
    body = page[page.index("<main>") :]
    plain = html.unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u00a0", " ")
    return " ".join(plain.split())


@pytest.mark.parametrize("name", [*small.QUICK, *ODD])
def test_a_report_has_everything_in_the_record_and_needs_nothing_else(name: str) -> None:
    document = record(name)
    page = page_of(document, about="a < b & c")
    said, table, request = words(page), document.table(), document.request
    assert not re.search(r"https?:|//|<script|<link|<img|url\(|@import|src=", page)
    for text in (*table.columns, *table.to_numpy().ravel(), "a < b & c"):
        assert " ".join(text.split()) in said
    for sentence in (
        *(document.finding, document.summary, document.statement, document.marks_in_words),
        *(document.remarks, document.exactness(), *document.content()["remains"]),
        *(disclosure.group_rows(document)[1], *disclosure.facts(document).values()),
    ):
        assert " ".join(sentence.replace("`", "").split()) in said
    assert said.count(document.exactness()) == 1
    # Every setting appears once.
    asked = said.split("The request")[1].split("What was released, and how")[0]
    known = request.specification(request.scenario)
    for setting in request.public().keys() - {"scenario", "low", "high"}:
        assert asked.count(known[setting].label) == 1
    if hasattr(request, "low"):
        low = f"{request.low:g}".replace("-", "\u2212")
        assert f"known beforehand {low} to 100 Number of values {document.n}" in asked
    assert ("Number of" in asked) == request.tells_size
    assert "prior mean" in said
    assert ("How to use the draws" in page) == (name != "no draw")


def test_the_label_explains_a_budget_a_delta_and_a_person_who_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, explained in (
        ("counts", "26 % to 74 %"),
        ("hardly any", "49.975 % to 50.025 %"),
        ("hardly private", "almost 0 % to almost 100 %"),
        ("days", "(whether a person is in the data)"),
    ):
        assert explained in words(page_of(record(name)))
    document = record("counts")
    content = document.content()
    monkeypatch.setattr(NoisyCountsRecord, "content", lambda _: content)
    content["cost"] = {"epsilon": 999.5958, "delta": 0.0}
    assert "ε_total 999.6" in words(page_of(document)), "bounds are rounded up"
    content["cost"] = {"epsilon": 1.0, "delta": 1e-6}
    said = words(page_of(document))
    assert "approximate, δ = 1e-06" in said
    assert f"changes by at most {odds(1.0)}, plus at most δ" in said
    assert "odds change by at most" not in said


def test_a_report_names_its_file_budget_and_version_and_nothing_becomes_markup() -> None:
    document, bad = record("counts"), "<b>&" + "x" * 50
    file = document.to_json().encode()
    said = words(report.page(document, file, "a file.json"))
    assert hashlib.sha256(file).hexdigest() in said
    assert "abcdp verify 'a file.json'" in said
    taken = document.taken_from(Reservation(bad, 2, "ab" * 32))
    old = json.loads(file) | {"versions": {"abcdp-explorer": "0.1.0", bad: bad}}
    page = report.page(taken, json.dumps(old).encode(), bad, about="<i>&amp;")
    assert "<b>&" not in page
    assert "&lt;i&gt;&amp;amp;" in page
    assert f"entry 2 of the budget {bad} ; the entry's digest is {'ab' * 32}" in words(page)
    assert "Released with abcdp-explorer 0.1.0, <b>&x" in words(page)


def test_strips_show_every_mark_at_its_position() -> None:
    document: Any = record("counts")
    rows = picture_rows(document)
    strip = picture.strips(rows)[2]
    mean, low, high = (100.0 * float(each[2]) for each in document.inferred.population)
    line, diamond, prior = strip["marks"]
    assert (line["kind"], line["x"], line["end"]) == ("line", round(low, 2), round(high, 2))
    assert (diamond["kind"], diamond["x"]) == ("diamond", round(mean, 2))
    assert (prior["kind"], prior["x"]) == ("tick", 20.0)
    assert [each["has_labels"] for each in picture.strips(rows)] == [False] * 4 + [True]
    curve = picture.strips(picture_rows(record("curve")))
    assert all(each["has_labels"] for each in curve), "each row has its own axis"
    beyond = dataclasses.replace(rows[0], marks=[(picture.MEAN, np.array([120.0]))])
    assert picture.strips([beyond, *rows[1:]])[0]["marks"][0]["x"] == 100.0


@pytest.mark.parametrize("name", [*small.QUICK, *ODD])
def test_a_registry_entry_passes_the_schema_and_marks_what_a_record_cannot_know(name: str) -> None:
    document = record(name)
    file = document.to_json().encode()
    text = disclosure.registry_entry(document, file)
    entry = yaml.safe_load(text)
    known = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in known.iter_errors(entry)] == []
    found = entry["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {
        "epsilon": document.content()["cost"]["epsilon"]
    }
    assert hashlib.sha256(file).hexdigest() in found["administrative"]["sources"]
    assert found["basic"]["name"] == "TODO"
    assert "TODO: Static or Dynamic" in text
    entry["deployment"]["surprise"] = 1
    assert not known.is_valid(entry)


def test_the_error_of_a_group_is_that_of_its_count_with_this_noise() -> None:
    """By the probabilities of counts and noise, added up."""
    for name, scale in (("counts", 2.0), ("days", 1.0)):
        rows, caption = disclosure.group_rows(record(name))
        assert [row.name.split()[0] for row in rows] == (
            ["10", "30"] if name == "counts" else ["10", "30", "100", "300", "1,000"]
        )
        noise = np.arange(-80, 81)
        chance = np.exp(-np.abs(noise) / scale) / np.exp(-np.abs(noise) / scale).sum()
        count = np.arange(31)
        off = ((count[:, None] + noise) / 30 - 0.5) ** 2
        expected = np.sqrt(stats.binom.pmf(count, 30, 0.5) @ off @ chance)
        (_, without), (_, found) = rows[1].marks
        assert float(found[0]) == pytest.approx(100.0 * expected, rel=1e-3)
        assert float(without[0]) == pytest.approx(50.0 / 30**0.5)
        (_, without), (_, found) = rows[0].marks
        assert f"smallest group it is {found[0] / without[0]:.3g} times" in caption
    # The sparse vector counts nothing; its distances change by Δ, which is as 1 to n.
    assert disclosure.group_rows(record("curve")) == ([], "")
    few = procedure.make(small.kept("uniform-mixture"), np.resize(VALUES, 200), small.seeded(1))
    assert "would be 10 times as large" in disclosure.facts(few)["Small groups"]


def test_ticks_are_round_and_few() -> None:
    for low, high, expected in (
        (-0.0019, 0.0019, "\u22120.001; 0; 0.001"),
        (-3e-6, 3e-6, "\u22122 × 10\u207b\u2076; 0; 2 × 10\u207b\u2076"),
        (0.0, 25_000.0, "0; 5,000; 10,000; 15,000; 20,000; 25,000"),
        (1e9, 1e9 + 1.5, "1000000000; 1000000000.5; 1000000001; 1000000001.5"),
    ):
        assert "; ".join(text for _, text in picture.ticks(low, high)) == expected


# On import, ArviZ 0.23 announces version 1.
@pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing:FutureWarning")
@pytest.mark.parametrize(("name", "released"), [("counts", "counts"), ("curve", "indices")])
def test_the_programs_of_a_report_read_the_draws(
    name: str, released: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = record(name)
    Path("release.json").write_text(document.to_json(), encoding="utf-8")
    programs = re.findall(r"<pre>(import .*?)</pre>", page_of(document), re.DOTALL)
    found: dict[str, Any] = {}
    for program in programs:
        exec(html.unescape(program), found)
    names = [each.name for each in document.parameters]
    assert [*found["draws"]] == names
    np.testing.assert_array_equal(found["draws"], document.values)
    for each in (found["data"], to_inference_data(document)):
        draws = np.array([each.posterior[column].to_numpy()[0] for column in names]).T
        assert sorted(draws.tolist()) == sorted(document.values.tolist())
        assert dict(each.attrs)["statement"] == document.statement
        assert dict(each.attrs)["epsilon_total"] == document.content()["cost"]["epsilon"]
    seen = each.observed_data[released].to_numpy().tolist()
    assert seen == document.content()["release"][released]
    with pytest.raises(ValueError, match="kept no draws"):
        to_inference_data(record("no draw"))
