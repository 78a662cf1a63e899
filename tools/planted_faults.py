"""Plant faults in the running program, and see that the tests notice each of them.

    python -m tools.planted_faults            # all forty: some minutes
    python -m tools.planted_faults budget     # those that have "budget" in their name

A fault takes the place of one named function, method or constant while tests run; no source is
changed. Pytest loads this module as a plug-in, which plants the fault named by ``ABCDP_FAULT``.
A fault is caught if a test fails; a run that finds no tests or cannot import them does not count.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

VARIABLE = "ABCDP_FAULT"

NOISE = ("laplace", "standard_normal", "gumbel", "standard_exponential", "gamma")
"""Methods of a generator that mechanisms draw their noise with."""

Function = Callable[..., Any]
Change = Callable[[Any], Any]


class Quiet:
    """A random generator whose noise is half as large."""

    def __init__(self, rng: Any) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._rng, name)
        return (lambda *a, **k: 0.5 * method(*a, **k)) if name in NOISE else method


def given(change: Function) -> Change:
    """Return what changes the arguments of a function."""
    return lambda real: lambda *args, **named: real(*change(*args), **named)


def found(change: Function) -> Change:
    """Return what changes the result of a function."""
    return lambda real: lambda *args, **named: change(real(*args, **named))


def instead(what: Any) -> Change:
    """Return what takes the place of anything."""
    return lambda _real: what


half = found(lambda result: 0.5 * result)
quiet = given(lambda *args: [Quiet(a) if hasattr(a, "laplace") else a for a in args])


class Unlocked(contextlib.nullcontext[None]):
    """A lock that locks nothing."""

    def __init__(self, *_args: Any, **_named: Any) -> None:
        super().__init__()

    def acquire(self, *_args: Any, **_named: Any) -> None:
        """Go on at once."""

    release = acquire


def keeps_late(real: Function) -> Function:
    """Draw the noise of a release, and only then keep its reservation."""

    def spend(prepared: Any, randbelow: Any = secrets.randbelow, paid: Any = None) -> Any:
        document = real(prepared, randbelow)
        if paid is None:
            return document
        paid.keep()
        return document.taken_from(paid.reservation)

    return spend


def takes_twice(real: Function) -> Function:
    """Take each word of a telephone, and not only its first."""

    def take(hall: Any, live: Any, at: int, ticket: str, *said: int) -> None:
        for now in live.rounds[at : at + 1]:
            now.words.pop(now.numbers.get(ticket), None)
        real(hall, live, at, ticket, *said)

    return take


def keeps_first(_real: Function) -> Function:
    """Show the first figure of a name forever."""
    shown: dict[Any, Any] = {}
    return lambda _owner, name, make: shown.get(name) or shown.setdefault(name, make())


def coarser(distances: Any, threshold: int, noise: Any, *rest: Any) -> tuple[Any, ...]:
    """Halve the noise on distances."""
    return (
        distances,
        threshold,
        dataclasses.replace(noise, query_scale=noise.query_scale // 2),
        *rest,
    )


def observed(public: Any, _index: int) -> Any:
    """Return the comparison of the private data."""
    from abcdp_core.models import pool

    return pool.observed_comparison(public.key, public.n)


FAULTS: dict[str, dict[str, Change]] = {
    "tests/mechanisms": {
        "half on queries of mechanisms.sparse_vector:draw_noise": found(lambda z: (z[0] / 2, z[1])),
        "half on threshold of mechanisms.sparse_vector:draw_noise": found(
            lambda z: (z[0], z[1] / 2)
        ),
        "half of mechanisms.gaussian_sparse_vector:run": quiet,
        "half of mechanisms.gaussian_rejection:run": quiet,
        "half of mechanisms.soft_weights:run": quiet,
        "half of mechanisms.nearest_selection:run": quiet,
        "half of mechanisms.private_summary:noisy": quiet,
        "half of mechanisms.noisy_counts:noisy": quiet,
        "half of mechanisms.private_embedding:draw": half,
        "kept draws counted once by mechanisms.sparse_vector:pure_epsilon": given(
            lambda event: (dataclasses.replace(event, c=1),)
        ),
        "redrawing ignored by mechanisms.sparse_vector:scan": given(
            lambda *args: (*args[:3], False)
        ),
        "private data read by models.pool.comparing:PublicSide.simulated": instead(observed),
    },
    "tests/privacy": {
        "half of privacy.discrete:laplace": given(lambda t, *rest: (max(1, t // 2), *rest)),
        "half of the cost of privacy.calibration:ratio": half,
        "half of the cost of privacy.gaussian_series:gaussian_epsilon": half,
        "half of the cost of privacy.composition:from_renyi": half,
        "rounded down by privacy.calibration:scale_for": found(lambda scale: scale * (1 - 1e-15)),
        "half of the attack of privacy.tradeoff:gaussian": given(lambda mu, at: (mu / 2, at)),
    },
    "tests/adaptive": {
        "half of adaptive.channels:answer": given(lambda x, drawn, *rest: (x, drawn / 2, *rest)),
        "half of adaptive.channels:level": given(lambda epsilon: (2 * epsilon,)),
        "half of adaptive.poll:chances": given(lambda epsilon, *words: (2 * epsilon, *words)),
    },
    "tests/release": {
        "half of release.exact_noise:with_noise": given(
            lambda numbers, scales, *rest: (numbers, [t / 2 for t in scales], *rest)
        ),
        "half on queries of release.exact_noise:decide": given(coarser),
        "only the last counts in release.budget:fits": given(
            lambda budget, claims: (budget, claims[-1:])
        ),
        "budget kept after release.procedure:spend": keeps_late,
        "no lock of release.budget_file:FileLock": instead(Unlocked),
        "wrong unit of release.document:in_scale": instead(lambda _parameters, theta: theta),
        "changed numbers pass release.verification:same": instead(lambda *_args: True),
    },
    "tests/pages tests/poll": {
        "no turn of ui.server.render_lock:turn": instead(contextlib.nullcontext),
        "stale caption kept by ui.figures.charts:memoized": keeps_first,
        "second word taken by ui.poll.hall:Hall.take": takes_twice,
    },
    "tests/base/test_summaries.py tests/base/test_statistic.py tests/base/test_cache.py": {
        "ends exchanged by base.summaries:binomial_interval": found(lambda ends: ends[::-1]),
        "weights ignored by base.summaries:weighted_quantile": given(
            lambda values, weights, at: (values, 0 * weights + 1 / len(weights), at)
        ),
        "one row of two by base.statistic:largest_sum": half,
        "no lock of base.cache:filelock": instead(SimpleNamespace(FileLock=Unlocked)),
    },
    "tests/models tests/base/tabular tests/posterior tests/studies": {
        "one cell of two by models.own_model.lattice:moved": given(
            lambda of, _: (of, "add-remove")
        ),
        "half of models.distances.fourier:FourierMMD.sensitivity": half,
        "separator ignored by base.tabular.columns:numbers": given(
            lambda column, *_rest: (column,)
        ),
        "proposal ignored by posterior.rounds:State.log_base": instead(
            property(lambda state: state.draws.log_prior)
        ),
        "same noise in each run by base.streams:generator": given(
            lambda seed, role, *_address: (seed, role)
        ),
    },
}
"""Tests of which one has to fail -> faults, each named after what it replaces."""


def plant(name: str, change: Change) -> None:
    """Replace the target of a fault, wherever it is bound under its name."""
    place, _, path = name.rpartition(" ")[2].partition(":")
    place = place if place.startswith("ui.") else f"abcdp_core.{place}"
    owner: Any = importlib.import_module(place)
    *outer, last = path.split(".")
    for each in outer:
        owner = getattr(owner, each)
    real = getattr(owner, last)
    setattr(owner, last, change(real))
    if getattr(real, "__module__", None) == place:
        for module in [*sys.modules.values()]:
            if vars(module).get(last) is real:
                setattr(module, last, getattr(owner, last))


def pytest_configure() -> None:
    """Plant the chosen fault before any test is imported."""
    if name := os.environ.get(VARIABLE):
        plant(name, next(faults[name] for faults in FAULTS.values() if name in faults))


def caught_by(name: str, tests: str) -> str:
    """Return the first test that fails with a fault; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-p", "tools.planted_faults", "-n0", "-x", "-q"]
    environment = os.environ | {VARIABLE: name}
    done = subprocess.run(
        [*command, *tests.split()], env=environment, capture_output=True, text=True, check=False
    )
    failed = re.search(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if done.returncode == 1 and failed else ""


def main(parts: Sequence[str]) -> int:
    """Print each fault with the test that catches it; return 1 if one is missed."""
    every = [(name, tests) for tests, faults in FAULTS.items() for name in faults]
    chosen = [each for each in every if not parts or any(part in each[0] for part in parts)]
    caught = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        tests = threads.map(lambda each: caught_by(*each), chosen)
        for (name, _), test in zip(chosen, tests, strict=True):
            print(f"{name}: {test or 'NOT CAUGHT'}", flush=True)
            caught += bool(test)
    print(f"{caught} of {len(chosen)} faults are caught.")
    return int(caught < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
