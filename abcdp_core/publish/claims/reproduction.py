"""Compute the runs that claims need, each once, and judge the claims.

If a run fails or is not finished, only its own claims have no verdict. Finished tasks are kept, so
that an interrupted reproduction continues where it stopped.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from abcdp_core import studies
from abcdp_core.base import cache
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.publish import claims
from abcdp_core.publish.claims import Claim, Ledger, Run, Untested, Verdict
from abcdp_core.publish.claims.contrasts import Outcome
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.studies import Experiment

NOT_FINISHED = "its run was not finished"

Profile = Literal["quick", "full"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
"""Number of repeats: few, in minutes, or as many as the ledger states."""

Hired = contextlib.AbstractContextManager[Executor | None]


@dataclass(frozen=True)
class Plan:
    """The entries to judge, and how."""

    ledger: Ledger = field(repr=False)
    chosen: tuple[str, ...]
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...]
    profile: Profile
    seed: int

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, in the order of the claims."""
        return tuple({claim.run.name: claim.run for claim in self.claims}.values())


CHECKS = {"truncation-theory": "abcdp_core.publish.claims.truncation_theory"}
"""Name -> module of studies that only claims use, without a page or a ``run`` command."""


def study_of(run: Run) -> Experiment:
    """Return the study or check that computes a run.

    Raises:
        ParameterError: it does not exist.
    """
    if run.experiment in CHECKS:
        check: Any = importlib.import_module(CHECKS[run.experiment])
        return cast(Experiment, check)
    return studies.load(run.experiment)


def params_of(run: Run, profile: Profile) -> Params:
    """Return the parameters of a run.

    Raises:
        ParameterError: its experiment does not allow them.
    """
    experiment = study_of(run)
    base = studies.preset(experiment, run.preset) if run.preset else None
    return experiment.Params.from_text(run.settings(quick=profile == "quick"), base)


def plan(entries: Ledger, chosen: Sequence[str], profile: Profile, seed: int) -> Plan:
    """Choose the entries to judge.

    Args:
        entries: the ledger.
        chosen: ids of claims, items or their beginnings (``P22-F3``), papers (``P21``); none: all.
        profile: number of repeats.
        seed: root seed.

    Raises:
        ParameterError: a text chooses nothing.
    """

    def is_chosen(text: str, entry: Claim | Untested) -> bool:
        return getattr(entry, "id", None) == text or _covers(text, entry.item)

    every: list[Claim | Untested] = [*entries.claims, *entries.untested]
    for text in chosen:
        if not any(is_chosen(text, entry) for entry in every):
            raise ParameterError(f"claim = {text}: {_unknown(entries, text)}")
    wanted = [e for e in every if not chosen or any(is_chosen(text, e) for text in chosen)]
    claims = tuple(entry for entry in wanted if isinstance(entry, Claim))
    untested = tuple(entry for entry in wanted if isinstance(entry, Untested))
    return Plan(entries, tuple(chosen), claims, untested, profile, seed)


def _covers(text: str, item: str) -> bool:
    """Whether a text names an item or the whole of it: ``P22-F3`` covers ``F3a``, not ``F30``."""
    pattern = rf"{re.escape(text)}(?![0-9])"
    return bool(text) and re.match(pattern, item, re.IGNORECASE) is not None


def _unknown(entries: Ledger, text: str) -> str:
    for entry in entries.retired:
        if entry.id == text:
            return f"was withdrawn. {entry.reason}"
    papers = list(dict.fromkeys(item.partition("-")[0] for item in entries.items))
    known = [*papers, *entries.items, *(claim.id for claim in entries.claims)]
    alike = difflib.get_close_matches(text, known, n=5, cutoff=0.5)
    near = f"close: {', '.join(alike)}" if alike else f"papers: {', '.join(papers)}"
    return f"must be the id of a claim, an item or a paper ({near})."


# --------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class Computed:
    """Outcome of a run: a complete result, or the reason (without full stop) why there is none."""

    run: Run
    params: Params
    result: Result | None
    reason: str = ""
    seconds: float = 0.0
    tasks: int = 0
    kept: int = 0


Watch = Callable[[Run, int, int], None]


def carry_out(
    asked: Plan, hire: Callable[[], Hired], store: runner.Store, watch: Watch
) -> Iterator[Computed]:
    """Compute the runs of a plan, one after the other, with workers from ``hire``.

    If the workers break down, others are hired. ``watch`` is called with a run, the number of tasks
    done, from 0, and their total.

    Raises:
        ParameterError: a worker of a cluster cannot be used.
    """
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(hire())
        for run in asked.runs:
            started = time.monotonic()
            experiment, params = study_of(run), params_of(run, asked.profile)
            result, reason, tasks, kept = None, "", 0, 0
            try:
                every = experiment.tasks(params, asked.seed)
                tasks, kept = len(every), sum(map(cache.holds, store.entries(experiment, every)))
                watch(run, 0, tasks)
                computing = runner.run(experiment, params, asked.seed, executor, store)
                with contextlib.closing(computing) as results:
                    for result in results:
                        watch(run, result.done, result.total)
            except ParameterError:
                # An unusable worker says nothing about a claim.
                raise
            except Exception as error:  # noqa: BLE001 - it is in the report; other runs continue
                result, reason = None, _failed(error)
                if isinstance(error, BrokenExecutor):
                    executor = stack.enter_context(hire())
            if result is not None and result.is_partial:
                result, reason = None, NOT_FINISHED
            yield Computed(run, params, result, reason, time.monotonic() - started, tasks, kept)


def _failed(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"its run failed ({type(error).__name__}{': ' if text else ''}{text})"


def unfinished(asked: Plan, done: Sequence[Computed]) -> list[Computed]:
    """Return the outcomes of all runs: those done, and the others as not finished."""
    names = {computed.run.name for computed in done}
    rest = [run for run in asked.runs if run.name not in names]
    missing = (Computed(run, params_of(run, asked.profile), None, NOT_FINISHED) for run in rest)
    return [*done, *missing]


# --------------------------------------------------------------------------------------- judging


@dataclass(frozen=True)
class Judged:
    """A claim's verdict, and its family-wise outcome, at the level for the whole ledger."""

    verdict: Verdict
    family_wise: Outcome


def judge(asked: Plan, done: Sequence[Computed]) -> list[Judged]:
    """Return the verdicts on all claims of a plan, in its order."""
    by_run = {computed.run.name: computed for computed in done}
    together = max(1, asked.ledger.by_chance())
    return [
        Judged(
            _verdict(claim, by_run[claim.run.name], 1),
            _verdict(claim, by_run[claim.run.name], together).outcome,
        )
        for claim in asked.claims
    ]


def _verdict(claim: Claim, computed: Computed, together: int) -> Verdict:
    reason = computed.reason
    if computed.result is not None:
        try:
            return claims.judge(claim, computed.result.tables, together)
        except Exception as error:  # noqa: BLE001 - it is in the report; other claims are judged
            reason = f"the rule failed ({type(error).__name__}: {' '.join(str(error).split())})"
    return Verdict(claim, "not testable", f"Not testable: {reason}.", {})
