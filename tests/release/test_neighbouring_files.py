"""Pairs of neighboring files through the command: exact losses, and broken versions."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import numpy as np
import pytest

from abcdp_core.models.simulators import tuberculosis_patients
from abcdp_core.release import exact_noise, noisy_counts, summary_request
from tests.oracles import neighbouring_files
from tests.oracles.neighbouring_files import CASES, loss, worst

pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.mark.parametrize("pairs", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_no_pair_of_neighbouring_files_loses_more_than_is_stated(case: str, pairs: int) -> None:
    assert 0.0 < worst(case, pairs) <= 1.0


PAIR = {
    "incomes": ("\n".join(["5"] * 10), "\n".join(["5"] * 9 + ["95"])),
    "sizes": ("81\n81\n81\n81\n2", "80\n81\n81\n81\n2"),
    "days": ("\n".join(["3"] * 18), "\n".join(["3"] * 17 + ["4"])),
}
"""Neighbors with a large loss."""


def test_the_loss_of_a_pair_is_exact() -> None:
    assert loss("incomes", PAIR["incomes"], 1) == 1.0
    assert loss("days", PAIR["days"], 1) == 1.0
    # One patient and the size of the fourth cluster: g moves by a third, and nothing else.
    assert loss("sizes", PAIR["sizes"], 1) == pytest.approx((1.0 + 1.0 / 3.0) / (13.0 / 3.0))


def test_half_the_noise_that_is_stated_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = neighbouring_files.laplace
    monkeypatch.setattr(
        exact_noise, "laplace", lambda scale, randbelow, parts: drawn(scale // 2, randbelow, parts)
    )
    for case, pair in PAIR.items():
        assert loss(case, pair, 1) == math.inf, case


def test_noise_for_half_the_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_little(*given: Any) -> Any:
        right = exact_noise.summary_noise(*given)
        return dataclasses.replace(right, scale=right.scale / 2.0)

    for module in (noisy_counts, summary_request):
        monkeypatch.setattr(module, "summary_noise", too_little)
    for case in ("incomes", "days"):
        assert loss(case, PAIR[case], 1) == 2.0, case


def test_a_cutoff_that_one_patient_can_cross_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published summaries leave clusters above 80 out of the differences."""
    summarise = tuberculosis_patients.summarise

    def cut(data: Any) -> Any:
        numbers = summarise(data)
        numbers[..., 5] = summarise(np.where(data > 80, 0.0, data))[..., 5]
        return numbers

    statistics = tuberculosis_patients.SCENARIO.statistics
    name = next(iter(statistics))
    monkeypatch.setitem(statistics, name, dataclasses.replace(statistics[name], reduce=cut))
    assert loss("sizes", PAIR["sizes"], 1) > 6.0


def test_a_domain_that_is_taken_from_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = noisy_counts.measure

    def stretched(request: Any, values: Any, progress: Any) -> Any:
        return measured(request, 100.0 * values / values.max(), progress)

    broken = dataclasses.replace(noisy_counts.RELEASABLE, measure=stretched)
    monkeypatch.setattr(noisy_counts, "RELEASABLE", broken)
    rng = random.Random(3)
    values = [rng.uniform(0.0, 20.0) for _ in range(30)]
    pair = tuple("\n".join(map(repr, each)) for each in (values, [*values[:-1], 100.0]))
    assert loss("incomes", pair, 1) > 5.0  # type: ignore[arg-type]
