"""Every mechanism that serves a model with one number or two makes a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core import mechanisms, pool, registry
from abcdp_core.mechanisms import Budget

FILE = """
from tests.own_model.models import LARGE, MODEL, changed

MODEL = changed(
    name="small-NUMBERS-DISTANCE",
    statistics=(*MODEL.statistics, LARGE)[:NUMBERS],
    sizes=(50,),
    distance="DISTANCE",
)
"""


@pytest.mark.usefixtures("own_registry", "empty_cache")
@pytest.mark.parametrize(
    ("numbers", "distance"), [(0, "records"), (1, "numbers"), (2, "numbers"), (1, "records")]
)
def test_every_mechanism_that_serves_it_makes_a_release(
    numbers: int, distance: str, tmp_path: Path
) -> None:
    file = tmp_path / "small.py"
    text = FILE.replace("NUMBERS", str(numbers)).replace("DISTANCE", distance)
    file.write_text(text, encoding="utf-8")
    source: Any = registry.add_file(file)
    public = pool.public_side(f"small-{numbers}-{distance}", 50, 150, 1)
    served = mechanisms.for_scenario(source)
    assert ("private-summary" in served) == (numbers > 0)
    assert "noisy-counts" not in served
    assert {"sparse-vector", "private-embedding", "nearest-selection"} <= set(served)
    for name, mechanism in served.items():
        prepared = mechanism.prepare(public, mechanism.chosen(c=5), Budget(1e6, 1e-6))
        release = prepared.release(public.simulated(0), np.random.default_rng(3))
        mean = release.mean(public.theta, np.asarray(source.PRIOR_MEAN))
        assert mean.shape == (2,), name
        assert abs(mean[0]) <= 2.5, name
