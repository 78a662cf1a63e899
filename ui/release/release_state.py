"""What a session has released and is releasing.

A release waits its turn like other work, but its job is the session's alone: nobody else finds it,
and nothing of it is kept on disk.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import streamlit as st

from abcdp_core.posterior.fit import REPLICATES
from abcdp_core.release import procedure
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import ReleaseRequest
from ui.jobs import work
from ui.jobs.job import Job, UnwantedError
from ui.jobs.progress import PrivateJob
from ui.release import budget
from ui.release.uploads import UploadedNumbers
from ui.server import settings

STATE = "_releases"


@dataclass(frozen=True)
class Released:
    """One release: the digest of the file that it is from, what came out, and that as JSON."""

    digest: str
    document: ReleaseRecord
    text: str


@dataclass
class ReleaseState:
    """A session's releases, changed in place for the same reason as an upload's state.

    Attributes:
        made: what was released, in order.
        digest: of the file that the release under way is from.
        release, inference: make a release; compute the posterior of the last one.
    """

    made: list[Released] = field(default_factory=list)
    digest: str = ""
    release: PrivateJob = field(default_factory=PrivateJob)
    inference: PrivateJob = field(default_factory=PrivateJob)

    def begin(self, request: ReleaseRequest, held: UploadedNumbers) -> None:
        """Make a release when its turn comes."""
        self.digest = held.digest
        self.release.begin(functools.partial(_make, request, held))

    def infer(self) -> None:
        """Compute the posterior of the last release; this costs nothing and may be tried again."""
        self.inference.begin(functools.partial(_infer, self.made[-1].document))

    def collect(self) -> None:
        """Keep what has come out."""
        if (whole := self.inference.take()) is not None:
            self.made[-1] = Released(self.digest, whole, whole.to_json())
        if (document := self.release.take()) is not None:
            self.made.append(Released(self.digest, document, document.to_json()))
            if not document.is_complete:
                self.infer()


def current() -> ReleaseState:
    """Return this session's, with what has come out by now."""
    found: ReleaseState = st.session_state.setdefault(STATE, ReleaseState())
    found.collect()
    return found


def _make(request: ReleaseRequest, held: UploadedNumbers, job: Job) -> None:
    """Release, unless it is cancelled, the numbers are forgotten, or nobody looks any more."""
    values = held.use()

    def check(done: float) -> None:
        if held.is_dropped:
            raise UnwantedError
        job.progress(done)

    if values is None:
        raise UnwantedError
    prepared = procedure.prepare(request, values, check)
    # Not before: many releases that are begun and cancelled would fill the ledger.
    check(1.0)
    with budget.paid(request) as paid:
        # The last moment: others may have kept it waiting for their budget.
        check(1.0)
        job.outcome = procedure.spend(prepared, paid=paid)


def say_limit() -> None:
    """Say that simulations have ended at a server's limit, if they may have."""
    if (limit := settings.current().work_limit) is not None:
        st.caption(
            f"This server simulates for {limit / 2.0:.0f} seconds at most; the command has no "
            "limit."
        )


def _infer(document: ReleaseRecord, job: Job) -> None:
    """Compute the posterior of a release."""
    most = getattr(document.request, "simulations", 0) + REPLICATES
    each, seconds = work.simulations(job, most), work.seconds_to_simulate(job)
    job.outcome = procedure.complete(document, each, seconds)
