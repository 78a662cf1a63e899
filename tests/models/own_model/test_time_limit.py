"""A simulation that takes too long is stopped and named; what takes long is announced before."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.cli import rehearsal
from abcdp_core.models.own_model.time_limit import VARIABLE
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.release import summary_request
from tests.models.own_model.models import changed, simulate
from tests.release.small import numbers

THETA = np.array([[0.5, 1.0], [1.5, 1.0], [-1.0, 2.0]])


def never_ends(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    """Hang where the first parameter is above 1."""
    while (theta[:, 0] > 1.0).any():
        pass
    return simulate(rng, theta, n)


def sleeps(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    """Take a tenth of a second a draw, in all longer than the limit of one."""
    time.sleep(0.1 * len(theta))
    return simulate(rng, theta, n)


@pytest.fixture(autouse=True)
def quarter_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.25")


def test_one_that_never_ends_is_named_and_counts_as_a_failure() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(OwnError, match=r"fails at μ = 1.5, ν = 1 .*took more than 0.25 s"):
        changed(simulate=never_ends).records(rng, THETA, 10)
    made = changed(simulate=never_ends, failures="excluded").records(rng, THETA, 10)
    assert np.isnan(made).all(axis=(1, 2)).tolist() == [False, True, False]


def test_many_that_take_long_only_together_are_no_failures() -> None:
    model, both = changed(simulate=sleeps), [np.random.default_rng(1) for _ in range(2)]
    model.records(both[0], THETA, 10)
    # They are not done again one by one, which would draw other numbers.
    again = model.records(both[1], np.repeat(THETA, 2, axis=0), 10)
    assert np.isfinite(again).all()
    plain = changed().records(np.random.default_rng(1), np.repeat(THETA, 2, axis=0), 10)
    np.testing.assert_array_equal(again, plain)


def test_the_limit_is_for_a_model_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("1\n2\n", encoding="utf-8")
    asked = ["release", "uniform-mixture", "--data", str(data), "--domain", "0,5"]
    asked += ["--epsilon-total", "1", "--out", str(tmp_path / "out.json"), "--yes"]
    assert main([*asked, "--seconds-per-run", "5"]) == 2
    assert "seconds_per_run: is for your own model only" in capsys.readouterr().err
    assert main([*asked, "--seconds-per-run", "0"]) == 2
    assert "seconds_per_run = 0: must be" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(("seconds", "is_there", "says"), [
    (0.5, False, "1,000,000 rows are simulated for the public pool: about 8.3 min here."),
    (0.5, True, ""),
    (1e-5, False, ""),
])  # fmt: skip
def test_a_pool_that_takes_long_is_announced_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    seconds: float, is_there: bool, says: str,
) -> None:  # fmt: skip
    made: list[Any] = []
    monkeypatch.setattr(summary_request, "seconds_of_one", lambda *_: seconds)
    monkeypatch.setattr(summary_request, "model_of", lambda *_: changed())
    monkeypatch.setattr(summary_request, "has_pool", lambda *_: is_there)
    monkeypatch.setattr(summary_request, "public_pool", lambda *given: made.append(given))
    request = numbers()
    rehearsal.make_pool(request, 1_000_000)
    assert len(made) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert says in told
    assert bool(told) == bool(says)
