"""Ask for the settings of a release before the data are seen, and for the confirmation.

No widget here is bound to the link.
"""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from abcdp_core.base.parameters import ParameterError
from abcdp_core.models import simulators
from abcdp_core.models.own_model.lattice import RECORDS
from abcdp_core.privacy import in_digits
from abcdp_core.release import expectation, releasable
from abcdp_core.release.columns import AS_IT_IS, Reading
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.releasable import ReleaseMechanism
from abcdp_core.release.request import ReleaseRequest, SeriesRequest, question
from abcdp_core.release.sparse_vector import SparseVectorRequest
from abcdp_core.release.summary_request import AT_MOST, ROWS_ARE_PEOPLE, PrivateSummaryRequest
from ui.jobs import progress
from ui.release import budget, expected_error, release_state
from ui.release.uploads import MINUTES, UploadedNumbers
from ui.server import settings
from ui.verbatim import verbatim
from ui.view.view import View

PLANNED = 1000
"""Number of values assumed until a visitor says otherwise."""

STAMP = (
    "**Release mode.** The noise comes from the operating system and no seed is kept. No result "
    "without noise is computed. Your file is read and not kept. Its numbers stay in the server's "
    "memory, never in a cache, log or link, until you press *Forget the numbers* or leave this "
    f"page unused for {MINUTES} minutes, open or closed."
)


OWN_MODEL = (
    "Server operators can add models from a file. `docs/own_model.md` explains how to write a "
    "model, and how to make a release from the command line with it or with a pool simulated "
    "elsewhere."
)


def mechanism(scenario: str) -> ReleaseMechanism:
    """Ask for the mechanism; the recommended one is preselected."""
    known = releasable.serving(scenario)
    first = next(iter(known))
    if len(known) == 1:
        return known[first]
    name = st.segmented_control(
        "Mechanism",
        list(known),
        default=first,
        required=True,
        format_func=lambda each: f"{known[each].title}{' (recommended)' * (each == first)}",
        key=f"own-mechanism-{scenario}",
    )
    # A browser that is not ours may choose none.
    found = known[name or first]
    st.caption(found.reason)
    return found


def chosen(view: View, by: ReleaseMechanism) -> tuple[ReleaseRequest | None, int]:
    """Ask for what is public and chosen in advance; return it with the planned number of values.

    The request is ``None`` while something is missing.
    """
    source = simulators.load(scenario := view.scenario)
    st.markdown(source.own_model)
    of_series = issubclass(by.request, SeriesRequest)
    with st.container(horizontal=True, gap="small"):
        domain = _domain() if of_series else {}
        planned = _planned(source)
    if of_series:
        st.caption(
            "Choose the lowest and highest possible value without looking at the data, such as 0 "
            "and 100 for a percentage. Values outside are clipped to the nearest bound; how many "
            "is not published."
        )
    options = _options(view, by)
    if None in domain.values():
        st.info("Type the lowest and the highest possible value.")
        return None, planned
    epsilon_total = float(view["epsilon_total"])
    try:
        request = by.request(scenario=scenario, epsilon_total=epsilon_total, **domain, **options)
    except ParameterError as error:
        st.warning(f"These settings do not go together: {verbatim(error)}", icon="⚠️")
        return None, planned
    st.markdown(f"**What you will learn:** {request.fitted(planned)}.")
    return request, planned


def _domain() -> dict[str, float | None]:
    """Ask for the bounds of a series; ``None`` for one that was not typed yet."""
    labels = {"low": "Lowest possible value", "high": "Highest possible value"}
    return {
        name: st.number_input(label, value=None, format="%g", key=f"own-{label[:3]}", width=148)
        for name, label in labels.items()
    }


def _planned(source: simulators.Scenario) -> int:
    """Ask how many values or days are planned, where that number is public."""
    smallest, largest = source.own_sizes
    if smallest == largest:
        return largest
    return st.number_input(
        f"How many {source.own_rows}",
        min_value=smallest,
        max_value=largest,
        value=min(PLANNED, largest),
        key=f"own-planned-{source.name}",
        width=124,
        help="Your best guess. The expected error is computed for this number, without looking at "
        "your file.",
    )


def _options(view: View, by: ReleaseMechanism) -> dict[str, Any]:
    """Return a mechanism's own options: from the sidebar, and rarely needed ones."""
    source = simulators.load(view.scenario)
    if by.request is PrivateSummaryRequest and source.own_columns == (RECORDS,):
        return _people(view.scenario)
    if by.request is not SparseVectorRequest:
        st.caption("There is nothing else to choose. In the sidebar, only ε_total matters.")
        return {}
    knobs = ("epsilon_abc", "c", "resample", "pool_size")
    values: dict[str, Any] = {name: view[name] for name in knobs}
    return values | {"pool_seed": int(view["seed"])} | _more(view.scenario)


PERSON = "own-person-{}"
"""Key of the name of the column that says whose record a row is."""


def _people(scenario: str) -> dict[str, Any]:
    """Ask whose record a row is: a person with several rows is protected with all of them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.text_input(
            "Which column says whose record it is?", key=PERSON.format(scenario), width=300,
            help="Leave it empty if each row is another person.",
        )  # fmt: skip
        if not column.strip():
            stated = st.checkbox(ROWS_ARE_PEOPLE.label, key=f"own-rows-are-people-{scenario}")
            return {"rows_are_people": stated}
        most = int(AT_MOST.high)
        at_most = st.number_input(
            "At most K records of each person", 1, most, 3, key=f"own-at-most-{scenario}",
            help=AT_MOST.help, width=250,
        )  # fmt: skip
    return {"at_most": at_most}


def reading(request: ReleaseRequest | None) -> Reading:
    """Return whose records the rows of a file are, as was said before the file is given."""
    if not isinstance(request, PrivateSummaryRequest):
        return AS_IT_IS
    column = str(st.session_state.get(PERSON.format(request.scenario), "")).strip()
    return Reading(
        person=column if request.at_most else None,
        at_most=request.at_most,
        rows_are_people=request.rows_are_people,
    )


def _more(scenario: str) -> dict[str, Any]:
    """Ask for distance and bandwidth, which few need."""
    known = SparseVectorRequest.specification(scenario)
    starts = SparseVectorRequest.defaults(scenario)
    distances, bandwidth = known["distance"], known["bandwidth"]
    chosen = {name: starts[name] for name in ("distance", "bandwidth")}
    with st.expander("Advanced"):
        if len(distances.options) > 1:
            chosen["distance"] = st.segmented_control(
                distances.label,
                list(distances.options),
                default=chosen["distance"],
                required=True,
                key=f"own-distance-{scenario}",
                help="values: only the values. pairs: values with their place in the series.",
            )
        chosen["bandwidth"] = st.number_input(
            f"{bandwidth.label} (after rescaling your domain to the scenario's)",
            min_value=bandwidth.low,
            max_value=bandwidth.high,
            value=chosen["bandwidth"],
            key=f"own-bandwidth-{scenario}",
        )
    return chosen


def confirm(request: ReleaseRequest, held: UploadedNumbers, planned: int, expected: str) -> None:
    """Show what will be spent and what to expect, ask for confirmation, and release."""
    here = release_state.current()
    if here.release.job is not None:
        job = here.release.job
        progress.wait_for(job, "Making the release", cancel="own-cancel", before=held.use)
        return
    if here.release.failed:
        spent = "" if settings.current().budget else " or spent"
        st.error(f"{here.release.failed} Nothing was released{spent}.")
    n = held.n
    try:
        request.check_size(n)
    except ParameterError as error:
        st.error(f"This file cannot be used. {verbatim(error)}")
        return
    if not expected_error.ready(request, n):
        return
    st.markdown(question(request, n))
    st.markdown(f"**Is this precise enough?** {expectation.enough(request, n, planned, expected)}")
    if little := request.noise_warning(n):
        st.warning(little, icon="⚠️")
    made = [each.document for each in here.made if each.digest == held.digest]
    others = [each.document for each in here.made if each.digest != held.digest]
    if made:
        more = in_digits(_spent(made) + request.epsilon_total)
        st.markdown(f"These numbers were {_released(made)}. One more release makes it {more}.")
    if others:
        # Other columns of the same people, or all but one of them.
        st.markdown(
            f"Other numbers were {_released(others)}. If they come from the same people, the "
            "budgets add up."
        )
    if not budget.allows(request):
        return
    # Another request, or one more of the same, needs a confirmation of its own.
    accepted = _accepts(request, len(made))
    sure = st.checkbox(
        f"I want to spend {request.spends} of these data's privacy",
        key=f"own-confirmed-{len(made)}-{_known_by(request)}",
    )
    if st.button(
        "Release", type="primary", disabled=not (sure and accepted), key=f"own-release-{len(made)}"
    ):
        here.begin(request, held)
        st.rerun()


def _spent(made: list[ReleaseRecord]) -> float:
    return sum(document.request.epsilon_total for document in made)


def _released(made: list[ReleaseRecord]) -> str:
    times, sum_of = ("once", "") if len(made) == 1 else (f"{len(made)} times", " together")
    return f"released {times} in this session, for ε_total = {in_digits(_spent(made))}{sum_of}"


def _accepts(request: ReleaseRequest, made: int) -> bool:
    """Ask to take responsibility for declared sensitivities; true if there are none."""
    if not request.declared:
        return True
    names = " and ".join(request.declared)
    return st.checkbox(
        f"I take responsibility for the declared sensitivity of {names}",
        key=f"own-declared-{made}-{_known_by(request)}",
    )


def _known_by(request: ReleaseRequest) -> str:
    """Tells requests apart; their hashes do not, as those of -1 and -2 are equal."""
    return hashlib.sha256(repr(request).encode()).hexdigest()
