"""Computing what claims need, each run once, and judging them.

A run that fails costs its own claims their verdict and no others; so does one that was not
finished. Finished tasks are kept, so that what was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from abcdp_core import cache, claims, runner, studies
from abcdp_core.claims import Claim, Ledger, Run, Untested, Verdict
from abcdp_core.claims.contrasts import Outcome
from abcdp_core.output.atomic import replace
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.results import Result
from abcdp_core.store import code_of
from abcdp_core.studies import Experiment

NOT_FINISHED = "its run was not finished"

Profile = Literal["quick", "full"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
"""How many repeats: few, in minutes, or as many as the ledger asks for."""

Hired = contextlib.AbstractContextManager[Executor | None]


@dataclass(frozen=True)
class Plan:
    """Which entries are judged, and with what.

    Attributes:
        ledger: all entries.
        chosen: what was asked for; all if empty.
        claims: those chosen.
        untested: chosen items that no table can judge.
        profile: how many repeats.
        seed: root seed of all runs.
    """

    ledger: Ledger = field(repr=False)
    chosen: tuple[str, ...]
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...]
    profile: Profile
    seed: int

    @property
    def runs(self) -> tuple[Run, ...]:
        """What has to be computed, in the order of the claims."""
        return tuple({claim.run.name: claim.run for claim in self.claims}.values())


CHECKS = {"truncation-theory": "abcdp_core.claims.truncation_theory"}
"""Name -> module of studies that only claims need: no page and no ``run`` command has them."""


def study_of(run: Run) -> Experiment:
    """Return the study or check that computes a run.

    Raises:
        ParameterError: there is none of that name.
    """
    if run.experiment in CHECKS:
        check: Any = importlib.import_module(CHECKS[run.experiment])
        return cast(Experiment, check)
    return studies.load(run.experiment)


def params_of(run: Run, profile: Profile) -> Params:
    """Return the parameters of a run.

    Raises:
        ParameterError: its experiment has no such ones.
    """
    experiment = study_of(run)
    base = studies.preset(experiment, run.preset) if run.preset else None
    return experiment.Params.from_text(run.settings(quick=profile == "quick"), base)


def plan(entries: Ledger, chosen: Sequence[str], profile: Profile, seed: int) -> Plan:
    """Return what is to be done.

    Args:
        entries: all of them.
        chosen: ids of claims, items or their beginnings (``P22-F3``), papers (``P21``); none: all.
        profile: how many repeats.
        seed: root seed.

    Raises:
        ParameterError: something chosen is none of these.
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
    """Whether an item is the one named or a part of it: ``P22-F3`` covers ``F3a``, not ``F30``."""
    pattern = rf"{re.escape(text)}(?![0-9])"
    return bool(text) and re.match(pattern, item, re.IGNORECASE) is not None


def _unknown(entries: Ledger, text: str) -> str:
    for entry in entries.retired:
        if entry.id == text:
            return f"is retired. {entry.reason}"
    papers = list(dict.fromkeys(item.partition("-")[0] for item in entries.items))
    known = [*papers, *entries.items, *(claim.id for claim in entries.claims)]
    alike = difflib.get_close_matches(text, known, n=5, cutoff=0.5)
    near = f"near are {', '.join(alike)}" if alike else f"papers are {', '.join(papers)}"
    return f"must be the id of a claim, an item or a paper; {near}."


# --------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class Computed:
    """What came of a run.

    Attributes:
        run: which.
        params: its parameters.
        result: complete, or ``None``.
        reason: why there is none, without full stop.
        seconds: that it took, those before it was stopped and went on included.
        tasks: how many there are.
        kept: how many of these were finished before.
    """

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
    """Compute the runs of a plan, one after the other.

    Args:
        asked: the plan.
        hire: gives the workers that all runs share; asked again where they broke down.
        store: finished tasks are taken from and kept in it.
        watch: is told how much of a run is done, and of how much, first that nothing is.

    Raises:
        ParameterError: a worker of a cluster cannot be used; the runs before that were given.
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
                # A worker of a cluster that cannot be used says nothing about a claim.
                raise
            except Exception as error:  # noqa: BLE001 - the report has it; other runs go on
                result, reason = None, _failed(error)
                if isinstance(error, BrokenExecutor):
                    executor = stack.enter_context(hire())
            if result is not None and result.is_partial:
                result, reason = None, NOT_FINISHED
            name = f"{run.name} {asked.profile} {asked.seed} {code_of(experiment)}"
            taken = _spent(store.folder / "seconds.json", name, time.monotonic() - started)
            yield Computed(run, params, result, reason, taken, tasks, kept)


def _spent(file: Path, name: str, seconds: float) -> float:
    """Return the seconds that all starts have spent on something; a file keeps them."""
    spent: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    spent[name] = spent.get(name, 0.0) + seconds
    file.parent.mkdir(parents=True, exist_ok=True)
    replace(file, json.dumps(spent))
    return spent[name]


def _failed(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"its run failed ({type(error).__name__}{': ' if text else ''}{text})"


def unfinished(asked: Plan, done: Sequence[Computed]) -> list[Computed]:
    """Return those done, and for each other run of the plan that it was not finished."""
    names = {computed.run.name for computed in done}
    rest = [run for run in asked.runs if run.name not in names]
    missing = (Computed(run, params_of(run, asked.profile), None, NOT_FINISHED) for run in rest)
    return [*done, *missing]


# --------------------------------------------------------------------------------------- judging


@dataclass(frozen=True)
class Judged:
    """A claim's verdict by itself, and at the level at which all of the ledger hold together."""

    verdict: Verdict
    family_wise: Outcome


def judge(asked: Plan, done: Sequence[Computed]) -> list[Judged]:
    """Return verdicts of all claims of a plan, in its order."""
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
        except Exception as error:  # noqa: BLE001 - the report has it; other claims are judged
            reason = f"the rule failed ({type(error).__name__}: {' '.join(str(error).split())})"
    return Verdict(claim, "not testable", f"Not testable: {reason}.", {})
