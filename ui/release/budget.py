"""The budget that every release on the page is taken from, where this server has one.

The operator of the server names it, with the unit that it protects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import streamlit as st

from abcdp_core.base.parameters import ParameterError
from abcdp_core.release import budget_file
from abcdp_core.release.budget import Budget, fits
from abcdp_core.release.budget_file import Account, Taken
from abcdp_core.release.request import ReleaseRequest, SeriesRequest, claim
from ui.jobs.job import RefusedError
from ui.server import render_lock, settings
from ui.verbatim import verbatim


def allows(request: ReleaseRequest) -> bool:
    """Say what is left, and whether a release fits; it does where there is no budget."""
    name = settings.current().budget
    if not name:
        return True
    place = budget_file.usual_place()
    try:
        # Others may draw meanwhile: whoever has the file may keep it for half a minute.
        with render_lock.released():
            account = budget_file.account(place, name)
    except ParameterError as error:
        st.error(f"Nothing can be released: {verbatim(error, hidden=str(place))}")
        return False
    there = account.budget
    if (_unit(request, there), request.neighbours) != (there.unit, there.neighbours):
        st.error(
            f"Nothing can be released: the budget {verbatim(name)} is for one "
            f"{verbatim(there.unit)} ({there.neighbours}), but this release protects "
            f"{request.protected} ({request.neighbours})."
        )
        return False
    asked, left = claim(request), account.left()
    delta = f", δ = {there.delta}" if there.delta else ""
    st.markdown(
        f"This release is paid from the budget {verbatim(name)}, which has ε = {left:f} left for "
        f"one more release (ε = {there.epsilon}{delta} in all, for each {verbatim(there.unit)})."
    )
    _history(account)
    if fits(account.budget, [*account.reserved.values(), asked]):
        return True
    st.error(f"{request.spends} is more than what is left, so nothing can be released.")
    return False


def _unit(request: ReleaseRequest, there: Budget) -> str:
    """What a release protects: of a series, what the server's budget says has one value each."""
    return there.unit if isinstance(request, SeriesRequest) else request.unit


def _history(account: Account) -> None:
    reserved = account.reserved
    if not reserved:
        return
    days = {each.number: each.content["day"] for each in account.entries if each.number in reserved}
    with st.expander(f"{len(reserved)} releases so far"):
        lines = reserved.items()
        st.table(
            [{"day": days[n], "ε": f"{each.epsilon:f}", "what": each.what} for n, each in lines]
        )


@contextlib.contextmanager
def paid(request: ReleaseRequest) -> Iterator[Taken | None]:
    """The cost, taken from this server's budget if it has one, until noise is drawn.

    Raises:
        RefusedError: it does not fit any more, as others were first, or the ledger cannot be used.
    """
    with contextlib.ExitStack() as stack:
        name, taken = settings.current().budget, None
        if name:
            place = budget_file.usual_place()
            try:
                unit = _unit(request, budget_file.account(place, name).budget)
                taken = stack.enter_context(
                    budget_file.taken(place, name, claim(request), unit, request.neighbours)
                )
            except ParameterError as error:
                raise RefusedError(str(error).replace(str(place), "…")) from error
        yield taken
