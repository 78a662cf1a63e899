"""Show the error to expect of a release before any budget is spent."""

from __future__ import annotations

import functools

import streamlit as st

from abcdp_core.privacy.promise import odds
from abcdp_core.release import expectation, simulated, summary_request
from abcdp_core.release.releasable import Expected, ReleaseMechanism, Simulated, points
from abcdp_core.release.request import ReleaseRequest, SeriesRequest
from abcdp_core.release.sparse_vector import SparseVectorRequest
from abcdp_core.release.summary_request import PrivateSummaryRequest
from abcdp_core.run.results import Result
from abcdp_core.studies import error_by_size
from ui.figures import blocks, charts
from ui.jobs import progress
from ui.jobs.job import Preparation
from ui.view import params
from ui.view.view import View


def studies(view: View, by: ReleaseMechanism) -> tuple[str, ...]:
    """Return the study that predicts the error with the chosen model, if there is one."""
    known = by.request is SparseVectorRequest and view.scenario in error_by_size.MODELS
    return (error_by_size.EXPERIMENT,) if known else ()


def cost(view: View, by: ReleaseMechanism, request: ReleaseRequest | None) -> str:
    """Return how much budget a release will spend, and what that means."""
    request = request or _usual(view, by)
    what = f"Replacing one {request.unit}"
    if request.neighbours == "add-remove":
        what = f"Adding or removing one {request.unit}"
    return (
        f"**Budget:** this release spends {request.spends} of the privacy budget of these data, "
        f"permanently. {what} changes the probability of any result by at most "
        f"{odds(request.epsilon_total)}."
    )


def _usual(view: View, by: ReleaseMechanism) -> ReleaseRequest:
    """A request with the budget of the page; its own domain moves no error in percentage points."""
    domain = {"low": 0.0, "high": 1.0} if issubclass(by.request, SeriesRequest) else {}
    epsilon = float(view["epsilon_total"])
    return by.request.for_scenario(view.scenario, epsilon_total=epsilon, **domain)


def show(view: View, by: ReleaseMechanism, planned: int, chosen: ReleaseRequest | None) -> str:
    """Show what to expect; return the sentence for the confirmation."""
    request, width = _usual(view, by), None
    if isinstance(chosen, PrivateSummaryRequest):
        request = chosen
    elif isinstance(chosen, SeriesRequest):
        width = chosen.high - chosen.low
    if not ready(request, planned):
        return "The expected error could not be computed."
    known = by.expected(request, planned)
    if isinstance(known, Simulated):
        return _of_pool(request, planned, known)
    if known is not None:
        return _of_formula(view, request, planned, known)
    if not (names := studies(view, by)):
        unknown = "The expected error with this model has not been measured."
        st.info(unknown)
        return unknown
    scenario, pool_size = view.scenario, int(view["pool_size"])
    far = error_by_size.far_enough(scenario, planned, pool_size)
    asked = params.ask(view, names[0], n=far)

    def draw(found: Result) -> None:
        number, words, rest = error_by_size.headline(found, planned, width)
        blocks.headline(number, [words], rest)
        mark = functools.partial(error_by_size.marked, found, planned)
        charts.show(view, found.experiment, charts.memoized(found, ("planned", planned), mark))

    job = progress.growing(asked, draw)
    if job.result is None:
        return "The expected error is still being computed."
    return error_by_size.said(job.result, planned)


def ready(request: ReleaseRequest, n: int) -> bool:
    """Return whether the pool is there, if one is needed, for `n` values; if not, make it."""
    if isinstance(request, PrivateSummaryRequest) and not summary_request.is_ready(request, n):
        key = request.source, n, request.pool_seed, request.first
        made = functools.partial(simulated.public_pool, *key)
        return progress.is_prepared(Preparation(key, made))
    return True


def _of_formula(view: View, request: ReleaseRequest, planned: int, formula: Expected) -> str:
    """Do as :func:`show` where no series has to be simulated."""
    own, error, plain, prior = (
        points(each) for each in (formula.own, formula.error, formula.plain, formula.prior)
    )
    words = (
        f"percentage points is the largest typical error to expect for each share, with "
        f"{planned:,} values. **Without noise {plain}, without any data {prior}.**"
    )
    rest = (
        f"That is for the shares of the population; for the shares of your own values it is at "
        f"most {own}. Root mean square, averaged over the model, by a formula."
    )
    blocks.headline(error, [words], rest)
    found = expectation.drawn(request, planned)
    assert found is not None
    charts.show(view, "expected", found, is_kept=False)
    return f"**{expectation.answer(formula, planned)}.** {formula.in_words(planned)}"


def _of_pool(request: ReleaseRequest, planned: int, known: Simulated) -> str:
    """Do as :func:`show` where the public pool gives the error."""
    rows = known.rows()
    most = known.names.index(request.source.own_headline)
    name, error, plain, prior = rows[most]
    words = f": the typical error to expect. **Without noise {plain}, without any data {prior}.**"
    rest = (
        f"Root mean squared error of the means over the public simulations. {known.remark}".rstrip()
    )
    blocks.headline(error, [f"{name}{words}"], rest)
    heads = ("expected error", "with noise", "without noise", "without data")
    st.table([dict(zip(heads, row, strict=True)) for row in rows])
    if reach := request.reach(planned):
        st.caption(reach)
    return known.in_words(planned)
