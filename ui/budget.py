"""The budget that every release on the page is taken from, where this server has one.

Whoever runs the server names it, with the unit that it protects: they know whose values it is for.
"""

from __future__ import annotations

import contextlib
from decimal import Decimal

import streamlit as st

from abcdp_core.own_data import budget_ledger
from abcdp_core.own_data.budget import fits
from abcdp_core.own_data.budget_ledger import Account, Taken
from abcdp_core.own_data.request import NEIGHBOURS, ReleaseRequest, claim
from abcdp_core.parameters import ParameterError
from ui import served, turns
from ui.verbatim import verbatim


def allows(request: ReleaseRequest) -> bool:
    """Say what is left, and whether a release fits; it does where there is no budget."""
    name = served.settings().budget
    if not name:
        return True
    place = budget_ledger.usual_place()
    try:
        # Others may draw meanwhile: whoever has the file may keep it for half a minute.
        with turns.away():
            account = budget_ledger.account(place, name)
    except ParameterError as error:
        st.error(f"Nothing can be released: {verbatim(error, hidden=str(place))}")
        return False
    if account.budget.neighbours != NEIGHBOURS:
        st.error(
            f"Nothing can be released: the budget {verbatim(name)} hides whether one "
            f"{verbatim(account.budget.unit)} is there ({account.budget.neighbours}), and a "
            f"release only what its value is ({NEIGHBOURS})."
        )
        return False
    asked, left = claim(request), account.left()
    st.markdown(
        f"It is taken from the budget {verbatim(name)}, of which ε = {left:f} is left for one "
        f"more release{_of(account)}."
    )
    _history(account)
    if fits(account.budget, [*account.reserved.values(), asked]):
        return True
    st.error(f"ε_total = {request.epsilon_total:g} does not fit. Nothing can be released with it.")
    return False


def _of(account: Account) -> str:
    budget = account.budget
    delta = f", δ = {budget.delta}" if budget.delta else ""
    return f" (ε = {budget.epsilon}{delta} in all, for each {verbatim(budget.unit)})"


def _history(account: Account) -> None:
    reserved = account.reserved
    if not reserved:
        return
    days = {each.number: each.content["day"] for each in account.entries if each.number in reserved}
    with st.expander(f"{len(reserved)} taken so far"):
        st.table(
            [
                {"day": days[number], "ε": _plain(each.epsilon), "what": each.what}
                for number, each in reserved.items()
            ]
        )


def _plain(amount: Decimal) -> str:
    return f"{amount:f}"


def paid(request: ReleaseRequest) -> contextlib.AbstractContextManager[Taken | None]:
    """The cost, taken from this server's budget if it has one, until noise is drawn."""
    name = served.settings().budget
    if not name:
        return contextlib.nullcontext()
    place = budget_ledger.usual_place()
    unit = budget_ledger.account(place, name).budget.unit
    return budget_ledger.taken(place, name, claim(request), unit, NEIGHBOURS)
