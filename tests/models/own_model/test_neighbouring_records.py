"""Exact privacy loss of the command for neighboring files of records, with broken twins."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.models.own_model import lattice
from abcdp_core.release import exact_noise, summary_request
from tests.models.own_model.models import written
from tests.oracles import neighbouring_files
from tests.oracles.neighbouring_files import loss

pytestmark = pytest.mark.usefixtures("own_registry", "few_simulations")

EXTREMES = ("-8", "8", "-2", "2", "-2.0000000001", "1.9999999999999998", "0", "-0.0", "5e-324",
            "1e300", "-1e300", "3", "-1")  # fmt: skip


def file_of(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["x,code", *(",".join(row) for row in rows)])


def pair(rng: random.Random, kind: str) -> tuple[str, str]:
    """Return neighboring files with most records at an edge."""

    def record() -> tuple[str, str]:
        return rng.choice([*EXTREMES, repr(rng.uniform(-9.0, 9.0))]), str(rng.randrange(3))

    rows = [record() for _ in range(rng.randint(5, 20))]
    other = list(rows)
    if kind == "replace":
        other[rng.randrange(len(rows))] = record()
    else:
        del other[rng.randrange(len(rows))]
    return file_of(rows), file_of(other)


WORST = {
    "replace": (file_of([("-8", "0")] * 6), file_of([("-8", "0")] * 5 + [("8", "2")])),
    "add-remove": (file_of([("8", "0")] * 6), file_of([("8", "0")] * 5)),
}
"""Neighbors with a loss of ε_total."""


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    def prepared(kind: str) -> str:
        line = ["own", "--plugin", str(written(kind, tmp_path)), "--number-of-draws", "100"]
        monkeypatch.setitem(neighbouring_files.CASES, kind, (line, lambda rng: pair(rng, kind)))
        return kind

    return prepared


@pytest.mark.parametrize("kind", WORST)
def test_no_neighbouring_files_lose_more_than_is_stated(
    kind: str, case: Callable[[str], str]
) -> None:
    name = case(kind)
    assert loss(name, WORST[kind], 1) == 1.0
    rng = random.Random(7)
    assert max(loss(name, pair(rng, kind), seed) for seed in range(2)) <= 1.0


def test_half_the_stated_noise_is_found(
    case: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, drawn = case("replace"), neighbouring_files.laplace
    with monkeypatch.context() as broken:
        half = lambda scale, randbelow, parts: drawn(scale // 2, randbelow, parts)  # noqa: E731
        broken.setattr(exact_noise, "laplace", half)
        assert loss(name, WORST[name], 1) == math.inf
    summed = summary_request.summary_noise

    def too_little(*given: Any) -> Any:
        return dataclasses.replace(summed(*given), scale=summed(*given).scale / 2.0)

    monkeypatch.setattr(summary_request, "summary_noise", too_little)
    assert loss(name, WORST[name], 1) == 2.0


def test_missing_clipping_is_found(
    case: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = case("replace")

    def unbounded(each: Any, contributions: Any, neighbours: str) -> Any:
        if each.kind == "count":
            return clipped(each, contributions, neighbours)
        share = (contributions - each.lower) / (each.upper - each.lower)
        return np.rint(share * lattice.GRID).astype(np.int64)

    clipped = lattice.on_lattice
    monkeypatch.setattr(lattice, "on_lattice", unbounded)
    assert loss(name, WORST[name], 1) > 2.0
