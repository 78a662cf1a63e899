"""The private step of the story in the browser is the program's, number for number."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route
from scipy import integrate

from abcdp_core.base import summaries
from abcdp_core.base.places import ASSETS
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.one_release import ReleaseParams
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.privacy.promise import ends

PAGE = """<script type="module">
  import { unpackedDraws } from "/story/draws.js";
  import { laplace } from "/story/noise.js";
  import { belief, errorOf, estimateOf, promise, runOf, scales, wrongOf } from "/story/run.js";
  const draws = await unpackedDraws(await (await fetch("/story/draws.bin")).blob());
  const noise = (number) => laplace(draws.seed, number, 10000 + draws.most);
  globalThis.runs = (setting, count) => Array.from({ length: count }, (_, number) => {
    const rho = draws.rho[setting.n], run = runOf(rho, setting, noise(number));
    const error = errorOf(estimateOf(draws.theta, run.kept), draws.truth);
    return [run.kept, run.stop, wrongOf(rho, setting, run), error];
  });
  globalThis.believed = (setting, number) => {
    const rho = draws.rho[setting.n], run = runOf(rho, setting, noise(number));
    return [belief(rho, draws.other, setting, run), run.kept, run.stop];
  };
  Object.assign(globalThis, { draws, noise, promise, scales });
</script>"""

TYPES = {"js": "text/javascript", "bin": "application/octet-stream"}

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"epsilon_total": 1.0, "c": 100},
    {"epsilon_total": 1.0, "n": 1000},
    {"epsilon_total": 0.05, "epsilon_abc": 0.2, "c": 30, "n": 20_000},
    {"epsilon_total": 0.5, "epsilon_abc": 0.05, "n": 3000},
    {"epsilon_total": 0.2, "c": 1, "n": 1000},
    {"resample": True},
    {"resample": True, "epsilon_total": 2.0, "c": 50, "n": 20_000},
)
RUNS = 200


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page with the modules that compute, as they are in their files."""
    page = browser.new_page()

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix("http://localhost/")
        if "." in name:
            kind = TYPES[name.rpartition(".")[2]]
            route.fulfill(path=ASSETS / name, content_type=kind)
        else:
            route.fulfill(body=PAGE, content_type="text/html; charset=utf-8")

    page.route("**/*", answer)
    page.goto("http://localhost/")
    page.wait_for_function("'scales' in globalThis")
    yield page
    page.close()


def in_browser(params: ReleaseParams) -> dict[str, Any]:
    """A setting as the browser has it."""
    return {
        **{"epsilonTotal": params.epsilon_total, "epsilonAbc": params.epsilon_abc, "c": params.c},
        **{"n": params.n, "redrawn": params.resample},
        "delta": one_release.event_of(params).sensitivity,
    }


def runs(params: ReleaseParams, event: SparseVector) -> list[tuple[list[int], int, int, float]]:
    """What the program keeps, where it stops, how many are wrong, and the error, run by run."""
    found, table = [], one_release.comparison_of(params, 1)
    for number in range(RUNS):
        rng = generator(1, "noise", 0, number)
        release, _ = sparse_vector.run(table.rho, params.epsilon_abc, event, rng)
        error, _ = summaries.errors(
            release.mean(table.theta, uniform_mixture.SCENARIO.prior_mean),
            uniform_mixture.SCENARIO.truth,
        )
        wrong = int((table.rho[release.indices] > params.epsilon_abc).sum())
        found.append((release.indices.tolist(), release.stopped_at, wrong, error**0.5))
    return found


@pytest.mark.parametrize("changed", SETTINGS, ids=str)
def test_two_hundred_runs_are_the_programs(page: Page, changed: dict[str, Any]) -> None:
    params = ReleaseParams(**changed)
    event = one_release.event_of(params)
    setting = in_browser(params)
    theirs = page.evaluate("([setting, count]) => runs(setting, count)", [setting, RUNS])
    scale = page.evaluate("scales", setting)
    assert scale["threshold"] == pytest.approx(event.threshold_scale, rel=1e-13)
    assert scale["query"] == pytest.approx(event.query_scale, rel=1e-13)
    mine = runs(params, event)
    assert [each[:3] for each in theirs] == [[*each[:3]] for each in mine]
    assert [each[3] for each in theirs] == pytest.approx([each[3] for each in mine], abs=1e-5)
    # With half the noise it would be seen.
    half = runs(params, dataclasses.replace(event, query_scale=event.query_scale / 2))
    assert [each[:3] for each in theirs] != [[*each[:3]] for each in half]


def test_noise_is_numpys(page: Page) -> None:
    for number in (0, 199, 1_000_000):
        theirs = page.evaluate("number => [...noise(number)]", number)
        mine = generator(1, "noise", 0, number).laplace(size=len(theirs))
        np.testing.assert_allclose(theirs, mine, rtol=1e-13)


@pytest.mark.parametrize("epsilon_total", [0.2, 2.0, 20.0])
def test_a_spy_believes_what_bayes_rule_says(page: Page, epsilon_total: float) -> None:
    params = ReleaseParams(epsilon_total=epsilon_total)
    event = one_release.event_of(params)
    rho = one_release.comparison_of(params, 1).rho
    other = np.array(page.evaluate("[...draws.other]"))
    believed, kept, stop = page.evaluate("setting => believed(setting, 0)", in_browser(params))
    is_kept = np.isin(np.arange(stop), kept)

    def log_likelihood(distances: np.ndarray[Any, Any], noise: float) -> float:
        gap = params.epsilon_abc + event.threshold_scale * noise - distances[:stop]
        below = np.where(gap < 0, 0.5 * np.exp(gap / event.query_scale), 0.0)
        below = np.where(gap >= 0, 1.0 - 0.5 * np.exp(-np.abs(gap) / event.query_scale), below)
        return float(np.log(np.where(is_kept, below, 1.0 - below)).sum())

    top = max(log_likelihood(rho, noise) for noise in np.linspace(-6, 6, 241))
    mine, others = (
        integrate.quad(
            lambda noise, d=distances: np.exp(log_likelihood(d, noise) - top - abs(noise)),
            *(-20, 20), points=[0.0], limit=400,
        )[0]
        for distances in (rho, other)
    )  # fmt: skip
    assert believed == pytest.approx(100 * mine / (mine + others), abs=0.2)
    low, high = ends(epsilon_total)
    assert low <= believed <= high
    assert page.evaluate("promise", epsilon_total) == [np.floor(low), np.ceil(high)]
