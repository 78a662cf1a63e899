"""Shared by all tests: their order, a cache folder, and Hypothesis without clock or chance."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from abcdp_core.base import registry
from abcdp_core.evaluation import predictive
from abcdp_core.models import pool
from abcdp_core.posterior import outcome
from abcdp_core.posterior import pool as fixed_pool
from abcdp_core.run import runner, workers

# The same examples on every run and machine; the first call of a compiled function is slow.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, print_blob=False, max_examples=25
)
hypothesis.settings.load_profile("fixed")
# Hypothesis also takes numbers from the source of loaded modules, which depend on earlier tests.
pytest.MonkeyPatch().setattr(providers, "_get_local_constants", providers.Constants)


LONG = (
    *("browser", "pages", "studies/test_contract.py", "reference", "adaptive/test_samplers.py"),
    *(
        "run/test_workers.py",
        "release",
        "studies",
        "models/own_model/test_examples.py",
        "test_plugins.py",
    ),
    *("mechanisms", "cli", "models/simulators/test_tuberculosis.py", "test_notebooks.py"),
)
"""Files and folders that take longest. They start first: no worker is left alone with one."""


def pytest_xdist_auto_num_workers() -> int:
    """Return one more than there are processors: tests with a browser mostly wait for it."""
    return workers.processor_count() + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the collected tests, which stay, from garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let workers begin with the longest; a single process keeps the order of the files."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        here = Path(__file__).parent
        places = [here / name for name in LONG]

        def turn(item: pytest.Item) -> int:
            found = (n for n, place in enumerate(places) if item.path.is_relative_to(place))
            return next(found, len(places))

        items.sort(key=turn)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder for this test run, shared by its workers, instead of the user's."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABCDP_CACHE_DIR", str(folder))
        patch.setenv("ABCDP_POLLS", str(folder / "polls"))
        yield folder


@pytest.fixture(scope="module", autouse=True)
def looked_at_once() -> None:
    """Exclude objects that earlier files left, such as cached figures, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder for one test, with caches in memory cleared before and after."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(folder))
    forget()
    yield folder
    forget()


@pytest.fixture
def empty_folder(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder that also holds the cache."""
    monkeypatch.chdir(empty_cache.parent)
    return empty_cache.parent


def forget() -> None:
    """Clear the caches of pools, comparisons and bandwidths in memory."""
    pool.forget()
    predictive.paired_distances.cache_clear()
    predictive.pool_distances.cache_clear()


@pytest.fixture
def no_plug_ins_left() -> Iterator[None]:
    """Remove the plug-ins that a test adds."""
    before, given = list(registry._added), dict(registry._given)
    yield
    registry._added[:] = before
    registry._given.clear()
    registry._given.update(given)
    for name in [name for name in sys.modules if name.startswith("abcdp_plugin_")]:
        del sys.modules[name]
    registry.forget()


@pytest.fixture
def few_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use few simulations for the fit of a model and for expected errors, which take longest."""
    monkeypatch.setattr(outcome.of_found, "__defaults__", (None, 1000))
    monkeypatch.setattr(fixed_pool, "LOOKED_FOR", 10)


@pytest.fixture
def every_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yield a partial result after every task, however fast it is."""
    monkeypatch.setattr(runner, "YIELD_EVERY", 0.0)
    monkeypatch.setattr(runner, "YIELD_SHARE", float("inf"))
