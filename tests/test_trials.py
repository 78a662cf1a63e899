"""Texts of studies that score releases are true."""

from __future__ import annotations

import pytest

from abcdp_core import parameters as par
from abcdp_core import simulators, trials


@pytest.mark.parametrize("scenario", simulators.names())
def test_the_help_of_sensitivity_is_true_for_every_distance(scenario: str) -> None:
    source = simulators.load(scenario)
    for name in source.DISTANCES:
        distance, n = source.distance(None, name), source.N_DEFAULT
        sharp, published = (n * distance.sensitivity(n, each) for each in ("sharp", "published"))
        if source.BANDWIDTH is None:
            assert sharp == published
        else:
            assert sharp == pytest.approx(2.0**0.5, rel=1e-4)
            assert published == pytest.approx(2.0)
    assert "√2/N" in par.SENSITIVITY.help
    assert "one value for both" in par.SENSITIVITY.help
    assert trials.SENSITIVITY.help.startswith(par.SENSITIVITY.help)
