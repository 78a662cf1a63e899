"""Large tables: numbers of a whole table in one call, and simulated without records."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.models.own_model import examination, model_table, of_table
from abcdp_core.models.own_model.user_errors import OwnError
from tests.models.own_model.conftest import Command
from tests.models.own_model.models import EXAMPLES, example

VISITS, N = example("doctor_visits"), 20_000
DRAWN: Any = VISITS.simulate_numbers
SMOKERS, THEIRS, OTHERS = NAMES = [each.name for each in VISITS.statistics]


def numbers(records: np.ndarray) -> np.ndarray:
    """The numbers of the example, also where records are absent."""
    smoker, visits = records[..., 0], records[..., 1]
    each = np.stack([smoker, smoker * visits, (1 - smoker) * visits], axis=-1)
    return np.nansum(each, axis=-2)


@pytest.mark.parametrize("added", [{}, {"neighbours": "add-remove", "sizes": (N,)}])
@pytest.mark.parametrize(
    ("most", "of", "wrong"), [(30, numbers, []), (20, numbers, [THEIRS]), (30, None, [OTHERS])]
)
def test_a_part_beyond_its_declared_bounds_is_found_also_in_large_tables_only(
    most: float, of: Any, wrong: list[str], added: dict[str, Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(examination, "STEPS", 5)
    if of is None:  # The last number counts twice in large tables.
        of = lambda records: numbers(records) * [1, 1, 1 + (records.shape[-2] > 1000)]  # noqa: E731
        added = added | {"simulate_numbers": lambda *given: DRAWN(*given) * [1, 1, 2]}
    parts = of_table(of, {SMOKERS: (0, 1), THEIRS: (0, most), OTHERS: (0, 30)})
    model = dataclasses.replace(VISITS, statistics=parts, **added)
    found = examination.search(model, examination.simulated(model, N, 1), 1)
    assert [move.name for move in found.moves[:-1] if not move.holds] == wrong


@pytest.mark.parametrize(("wrong", "said"), [
    (lambda true: true * [1, 1, 1.05], "disagree on visits of others of 20,000"),
    (lambda true: true * np.linspace(0.5, 1.5, len(true))[:, None], "disagree on smokers"),
    (lambda true: true.mean(axis=0) + 0 * true, "disagree on smokers of"),
    (lambda true: true[:, :2], r"returns \(2, 2\); it must be \(2, 3\)"),
    (lambda true: true * np.nan, "simulate_numbers fails at"),
    (lambda true: true + np.random.default_rng().random(), "numbers is not reproducible"),
    (lambda true: true * 1e4, "smokers exceeds 1,048,576 times"),
])  # fmt: skip
def test_a_wrong_simulator_of_numbers_is_refused(wrong: Any, said: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(examination, "STEPS", 3)
    model = dataclasses.replace(VISITS, simulate_numbers=lambda *given: wrong(DRAWN(*given)))
    with pytest.raises(OwnError, match=said):
        examination.search(model, examination.simulated(model, N, 1), 1)


@pytest.mark.usefixtures("own_registry", "few_simulations")
def test_noise_of_a_release_follows_the_declared_bounds(tmp_path: Path, command: Command) -> None:
    parts = of_table(numbers, {SMOKERS: (-2, 5), THEIRS: (0, 30), OTHERS: (0, 30)})
    for unit, neighbours in ((7.0, "replace"), (5.0, "add-remove")):
        given: Any = {"statistics": parts, "neighbours": neighbours, "sizes": (10**6,)}
        table = model_table.of_model(dataclasses.replace(VISITS, **given))
        assert table.per_unit(10**6).tolist() == [unit, 30.0, 30.0]
        # A sum of a million parts is rounded by less than 10^12 / 2^53 of the largest.
        assert 3.0 + (2.0 + 5.0 / unit) * 10**12 / 2**52 < table.statistic.l1(10**6) < 3.001
    data, file, out = tmp_path / "data.csv", EXAMPLES / "doctor_visits.py", tmp_path / "out.json"
    data.write_text("smoker,visits\n" + "1,4\n0,2\n" * 5000, encoding="utf-8")
    line = f"--data {data} --epsilon-total 1 --yes --workers 1 --out {out}"
    assert command(["release", VISITS.name, f"--plugin={file}", *line.split()])[0] == 0
    release = json.loads(out.read_text("utf-8"))
    assert release["event"]["scale"] == pytest.approx(3.0, rel=1e-3)
    # Noise passes 25 times its scale with probability e^-25.
    off = np.subtract(release["release"]["in_their_units"], [5000, 20_000, 10_000])
    assert (np.abs(off) < [75.0, 2250.0, 2250.0]).all()
