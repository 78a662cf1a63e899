"""Release mode on a page: a file, a domain, a confirmation, and one document that comes out.

A release waits its turn like any other work, but its job is the session's alone: nobody else finds
it and nothing of it is kept on disk. What comes out is held by the session, whose page may be
redrawn while it is made. No widget here is bound to the link.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.delta_generator import DeltaGenerator

from abcdp_core.figures import Drawn
from abcdp_core.own_data import releasable, release
from abcdp_core.own_data.document import Document, figure, remains, synthetic, verifying
from abcdp_core.own_data.expectation import answer
from abcdp_core.own_data.releasable import Expected, Releasable
from abcdp_core.own_data.request import (
    ReleaseRequest,
    SeriesRequest,
    model,
    own_sizes,
    question,
    rows_of,
)
from abcdp_core.own_data.sparse_vector import SparseVectorRequest
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import in_digits
from ui import budget, charts, expectation, jobs, reports, served, state, steps, uploads, watch
from ui.job import Job, UnwantedError
from ui.uploads import MINUTES, Held, Upload
from ui.verbatim import verbatim

DESK = "_releases"
LEAVING = Path(__file__).parents[1] / "assets" / "leaving.js"

SETS = 5
"""Synthetic series offered."""

LARGEST_KEPT = 4_000_000
"""Characters of a document that a browser keeps; one has some 100,000."""

MOST = 100
"""Releases of a session: its page has a button for each."""

PLANNED = 1000
"""Values that a series is taken to have until somebody says."""

STAMP = (
    "**Release mode.** The noise comes from the operating system and no seed is kept. There is no "
    "non-private result to compare with. Your file is read and not kept. Its numbers stay in the "
    "memory of the server, in no cache, no log and no link, until you press *Forget the numbers* "
    f"or have not used this page for {MINUTES} minutes, be it open or closed."
)


OWN_MODEL = (
    "Whoever runs a server adds models of their own to the choice above by a file: "
    "`docs/own_model.md` says how to write one, and how to release by it, or by a pool that was "
    "simulated anywhere, from the command line."
)


def screen() -> DeltaGenerator:
    """What is asked, what it costs and what to expect, on one screen."""
    return st.container(key="own-data")


def columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Beside each other where there is room: what is asked, and what to expect."""
    asked, expected = st.columns((6, 7), gap="medium")
    return asked, expected


@dataclass
class Desk:
    """A session's releases, changed in place for the same reason as a :class:`~ui.uploads.Tray`.

    Attributes:
        made: what was released, in its order, each with the digest of the file that it is from.
        job: the release under way.
        cancelled: set once nobody wants it to be made.
        digest: of the file that it is from.
        failed: why the last one came to nothing.
        handed: how many of these the browser was given.
        name: by which a browser tells sessions apart.
    """

    made: list[tuple[str, Document]] = field(default_factory=list)
    job: Job | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    digest: str = ""
    failed: str = ""
    handed: int = 0
    name: str = field(default_factory=secrets.token_hex)

    def begin(self, request: ReleaseRequest, held: Held, digest: str) -> None:
        """Have a release made when its turn comes."""
        self.cancelled = threading.Event()
        who = jobs.session_id()
        work = steps.own(functools.partial(_make, request, held, self.cancelled, who))
        self.digest, self.failed = digest, ""
        self.job = jobs.service().submit_own(who, work)

    def cancel(self) -> None:
        """Have it not made; the page that goes on looking at it does not change that."""
        self.cancelled.set()
        if self.job is not None:
            self.job.leave(jobs.session_id())

    def collect(self) -> None:
        """Keep what has come out."""
        job = self.job
        if job is None or job.active:
            return
        self.job = None
        if job.state == "done":
            self.made.append((self.digest, job.outcome))
        else:
            why = {"stopped": "It was stopped.", "refused": "Too many are waiting just now."}
            reason = why.get(job.state) or verbatim(job.error)
            spent = "" if served.settings().budget else " or spent"
            self.failed = f"{reason} Nothing was released{spent}."


def _make(
    request: ReleaseRequest,
    held: Held,
    cancelled: threading.Event,
    who: str,
    progress: Callable[[float], None],
) -> Document:
    """Release, unless it is cancelled, the numbers are forgotten, or nobody is there any more."""
    series_of = held.use()

    def check() -> None:
        if held.is_dropped or cancelled.is_set():
            raise UnwantedError

    def go_on(done: float) -> None:
        check()
        progress(done)

    def check_that_it_is_seen() -> None:
        check()
        # A page that was closed, or loaded again: nobody would see what is paid for.
        if not jobs.is_there(who):
            raise UnwantedError

    if series_of is None:
        raise UnwantedError
    prepared = release.prepare(request, series_of.values, go_on)
    # Not before: who begins and cancels again and again would fill the ledger.
    check_that_it_is_seen()
    with budget.paid(request) as paid:
        # The last moment: others may have kept it waiting for their budget.
        check_that_it_is_seen()
        return release.spend(prepared, paid=paid)


def desk() -> Desk:
    """This session's, with what has come out by now."""
    found: Desk = st.session_state.setdefault(DESK, Desk())
    found.collect()
    return found


def mechanism(scenario: str) -> Releasable:
    """The mechanism that is chosen, the recommended one to begin with."""
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


def settings(scenario: str, by: Releasable) -> tuple[ReleaseRequest | None, int]:
    """What is public and chosen before looking, and how many values are planned.

    The request is ``None`` as long as something is missing.
    """
    st.markdown(model(scenario))
    of_series = issubclass(by.request, SeriesRequest)
    with st.container(horizontal=True, gap="small"):
        domain = _domain() if of_series else {}
        planned = _planned(scenario, rows_of(scenario))
    if of_series:
        st.caption(
            "The lowest and the highest value have to be known without looking at the data, as 0 "
            "and 100 for a percentage. Values beyond are moved to them; how many is not said."
        )
    chosen = _options(scenario, by)
    if None in domain.values():
        st.info("Type the lowest and the highest possible value.")
        return None, planned
    epsilon_total = float(state.current("epsilon_total"))
    try:
        request = by.request(scenario=scenario, epsilon_total=epsilon_total, **domain, **chosen)
    except ParameterError as error:
        st.warning(f"These settings do not go together: {verbatim(error)}", icon="⚠️")
        return None, planned
    st.markdown(f"**What you will learn:** {request.learnt(planned)}.")
    return request, planned


def _domain() -> dict[str, float | None]:
    """The bounds of a series; ``None`` for one that was not typed yet."""
    labels = {"low": "Lowest possible value", "high": "Highest possible value"}
    return {
        name: st.number_input(label, value=None, format="%g", key=f"own-{label[:3]}", width=148)
        for name, label in labels.items()
    }


def _planned(scenario: str, what: str) -> int:
    """How many values or days are planned, asked for where that is public."""
    smallest, largest = own_sizes(scenario)
    if smallest == largest:
        return largest
    return st.number_input(
        f"How many {what}",
        min_value=smallest,
        max_value=largest,
        value=min(PLANNED, largest),
        key=f"own-planned-{scenario}",
        width=124,
        help="As far as you know beforehand. What to expect is told for this number; your file "
        "is not looked at for it.",
    )


def width(request: ReleaseRequest | None) -> float | None:
    """Of the domain of a series, once it was typed."""
    return request.high - request.low if isinstance(request, SeriesRequest) else None


def _options(scenario: str, by: Releasable) -> dict[str, Any]:
    """What a mechanism alone takes: from the sidebar, and what few need."""
    if by.request is not SparseVectorRequest:
        st.caption(
            "Nothing more is to be chosen: of the knobs beside the page only ε_total counts."
        )
        return {}
    knobs = ("epsilon_abc", "c", "resample", "pool_size")
    values: dict[str, Any] = {name: state.current(name) for name in knobs}
    return values | {"pool_seed": int(state.current("seed"))} | _more(scenario)


def _more(scenario: str) -> dict[str, Any]:
    """Distance and bandwidth, which few need."""
    known = SparseVectorRequest.specification(scenario)
    starts = SparseVectorRequest.defaults(scenario)
    distances, bandwidth = known["distance"], known["bandwidth"]
    chosen = {name: starts[name] for name in ("distance", "bandwidth")}
    with st.expander("More settings"):
        if len(distances.options) > 1:
            chosen["distance"] = st.segmented_control(
                distances.label,
                list(distances.options),
                default=chosen["distance"],
                required=True,
                key=f"own-distance-{scenario}",
                help="values: the set of values. pairs: each value with its place in the series.",
            )
        chosen["bandwidth"] = st.number_input(
            f"{bandwidth.label} (after your domain is brought to the scenario's)",
            min_value=bandwidth.low,
            max_value=bandwidth.high,
            value=chosen["bandwidth"],
            key=f"own-bandwidth-{scenario}",
        )
    return chosen


def confirm(request: ReleaseRequest, series_of: Upload, planned: int, expected: str) -> None:
    """Say what will be spent and what to expect, ask, and release.

    Args:
        request: the settings.
        series_of: the person's.
        planned: how many values were expected.
        expected: whether so many are enough, from public simulations.
    """
    here, held = desk(), uploads.tray().held
    if here.job is not None:
        _wait_for(here, here.job)
        return
    if here.failed:
        st.error(here.failed)
    n = len(series_of.values)
    try:
        request.check_size(n)
    except ParameterError as error:
        st.error(f"This file cannot be used. {verbatim(error)}")
        return
    if not expectation.ready(request, n):
        return
    st.markdown(question(request, n))
    st.markdown(f"Is this enough? {_enough(request, n, planned, expected)}")
    if little := request.drowned(n):
        st.warning(little, icon="⚠️")
    if len(here.made) >= MOST:
        st.info(
            f"A page keeps {MOST} releases at most. Save their files and reload it for more. "
            "Costs add up all the same; the new page does not know of these."
        )
        return
    made = [document for digest, document in here.made if digest == series_of.name]
    others = [document for digest, document in here.made if digest != series_of.name]
    if made:
        more = in_digits(_spent(made) + request.epsilon_total)
        st.markdown(f"These numbers were {_released(made)}. One more release makes it {more}.")
    if others:
        # Other columns of the same people, or all but one of them.
        st.markdown(
            f"Other numbers were {_released(others)}. Where these are of the same people, that "
            "counts on top."
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
        if held is not None:
            here.begin(request, held, series_of.name)
        st.rerun()


def _spent(made: list[Document]) -> float:
    return sum(document.request.epsilon_total for document in made)


def _released(made: list[Document]) -> str:
    times, sum_of = ("once", "") if len(made) == 1 else (f"{len(made)} times", " together")
    return f"released {times} in this session, for ε_total = {in_digits(_spent(made))}{sum_of}"


def _accepts(request: ReleaseRequest, made: int) -> bool:
    """Whether a sensitivity that somebody declared is answered for; it is where there is none."""
    if not request.declared:
        return True
    names = " and ".join(request.declared)
    return st.checkbox(
        f"I answer for the sensitivity of {names}, which is declared and not derived",
        key=f"own-declared-{made}-{_known_by(request)}",
    )


def _known_by(request: ReleaseRequest) -> str:
    """Tells requests apart; their hashes do not, as those of -1 and -2 are equal."""
    return hashlib.sha256(repr(request).encode()).hexdigest()


def _enough(request: ReleaseRequest, n: int, planned: int, expected: str) -> str:
    """What to expect of so many values where a formula tells, or of so many as were planned."""
    if (known := releasable.of(request).expected(request, n)) is not None:
        headline = f"**{answer(known, n)}.** " if isinstance(known, Expected) else ""
        return f"{headline}{known.in_words(n)}"
    other = "" if n == planned else f" This is for {planned:,} values; your file has {n:,}."
    if isinstance(request, SparseVectorRequest):
        other += _unusual(request)
    return f"{expected}{other}"


def _unusual(request: SparseVectorRequest) -> str:
    """What was measured for other settings than these."""
    usual, other = SparseVectorRequest.defaults(request.scenario), ""
    if request.bandwidth != usual["bandwidth"]:
        other += " It is for the usual bandwidth, not for yours."
    if request.distance != usual["distance"]:
        other += f" It is for the distance *values*, not for *{request.distance}*."
    return other


def _wait_for(here: Desk, job: Job) -> None:
    @st.fragment(run_every=watch.POLL)
    def waiting() -> None:
        job.watch(jobs.session_id())
        if not job.active:
            st.rerun()
        if (held := uploads.tray().held) is not None:
            held.use()
        with st.container(horizontal=True, vertical_alignment="center"):
            fraction = job.made()
            words = watch.waits(job) or "Making the release"
            if fraction is not None:
                words = f"Simulating the public pool: {fraction:.0%}"
            if here.cancelled.is_set():
                words = "Cancelling"
            st.progress(fraction or 0.0, words)
            st.button("Cancel", key="own-cancel", on_click=here.cancel)

    waiting()


def released() -> list[Document]:
    """What was released in this session, from whatever file: each is the only copy."""
    return [document for _, document in desk().made]


def show(documents: list[Document]) -> None:
    """What came out last, and the files of all."""
    last = documents[-1]
    text = f"{last.summary} {last.in_own_words}"
    charts.show("released", Drawn(figure(last), text), kept=False)
    st.caption(last.marks_in_words)
    st.markdown(last.summary)
    st.dataframe(last.table(), hide_index=True, width="content")
    with st.container(border=True, key="privacy-label"):
        st.markdown(f"**Privacy label.** {last.statement}")
        st.markdown("\n".join(f"- {text}" for text in remains(last)))
    with st.container(horizontal=True):
        for number, document in enumerate(documents, start=1):
            st.download_button(
                f"Release {number} as JSON",
                # Made at the click: of many documents it takes seconds.
                data=document.to_json,
                file_name=f"release-{number}.json",
                mime="application/json",
                key=f"own-json-{number}",
                type="primary" if document is last else "secondary",
                on_click="ignore",
            )
        reports.downloads(last, len(documents))
        if offers_series(last):
            st.download_button(
                f"{SETS} synthetic series as CSV",
                data=lambda: _synthetic(last),
                file_name="synthetic.csv",
                mime="text/csv",
                key="own-synthetic",
                on_click="ignore",
            )
    simulated = (
        " The synthetic series are simulated from what was released, which costs no further "
        "privacy."
    )
    st.caption(
        f"Keep the JSON: it is the only copy. `{verifying('FILE', last)}` computes again what "
        "follows from it. The report is for people to read."
        f"{simulated if offers_series(last) else ''}"
    )


def keep_in_browser() -> None:
    """Have the browser keep what was released, and ask before it is left behind unsaved."""
    here = desk()
    if not here.digest:
        # Nothing was begun, so there is nothing to be told of its end either.
        return
    made = len(here.made)
    new = {
        number: document.to_json()
        for number, (_, document) in enumerate(here.made[here.handed :], start=here.handed + 1)
    }
    here.handed = made
    said = {
        "session": here.name,
        "releases": made,
        "making": here.job is not None,
        "copies": {str(number): text for number, text in new.items() if len(text) <= LARGEST_KEPT},
    }
    _leaving()(key="leaving", data=said, height=0)


@functools.cache
def _leaving() -> ComponentRenderer:
    html, js = "<span hidden></span>", LEAVING.read_text(encoding="utf-8")
    return st.components.v2.component("leaving", html=html, js=js)


def offers_series(document: Document) -> bool:
    """Whether series can be simulated at what was released."""
    return isinstance(document.request, SeriesRequest) and len(document.sample) > 0


def _synthetic(document: Document) -> bytes:
    rng = np.random.default_rng(secrets.randbits(128))
    return synthetic(document, SETS, rng).to_csv(index=False).encode()
