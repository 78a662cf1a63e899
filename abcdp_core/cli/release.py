"""``abcdp release``: one private release from a file of somebody's own numbers.

The mechanism is the recommended one of the scenario, or the one that is named; which, and why, is
said before a file is opened.

It says what will be spent and asks before it does; what comes out is one file that is never written
over another. It is written as soon as the budget is spent. What follows from it may take long and
is added to it; where that was interrupted, the same command goes on from the file, reads no data
and spends nothing. With ``--budget`` the cost is taken from a budget before the data are read, and
what does not fit is refused (see ``budget``). However it ends, by Ctrl-C, another signal, a full
disk or a closed pipe, it says whether the budget is spent.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import tabular
from abcdp_core.cli import arguments, budget, progress, rehearsal
from abcdp_core.cli.ending import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.interruption import held
from abcdp_core.output.atomic import replace
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.release import columns, output_file, procedure, releasable, verification
from abcdp_core.release.budget_file import Taken, taken
from abcdp_core.release.columns import Reading
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import (
    ReleaseRequest,
    SeriesRequest,
    claim,
    columns_of,
    question,
    scenarios,
)

OPTIONS = {
    "epsilon_total": ("E", "privacy budget to spend"),
    "epsilon_abc": ("A", "sparse-vector: similarity threshold (the scenario's)"),
    "c": ("C", "sparse-vector: accepted samples asked for (the scenario's)"),
    "distance": ("NAME", "sparse-vector: distance between data sets (the scenario's first)"),
    "bandwidth": ("B", "sparse-vector: of the distance's kernel (the scenario's)"),
    "pool_size": ("T", "sparse-vector: public prior draws (the scenario's)"),
    "pool_seed": (
        "S",
        "sparse-vector, private-summary: seed of the public draws, not of the noise (1)",
    ),
    "draws": ("M", "noisy-counts, private-summary: draws from the posterior (1000)"),
    "simulations": ("S", "private-summary: at most so many data sets are simulated (100,000)"),
    "effective_sample_size": ("M", "private-summary: that is enough of importance weights (1000)"),
    "draws_seed": ("S", "noisy-counts: public seed of these draws, not of the noise (1)"),
}
"""Option that is a field of some request by the same name -> its value, and what it is."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("scenario", metavar="SCENARIO",
                        help=f"of {', '.join(scenarios())}, a model of your own by --plugin, or "
                        "the file of a pool, FILE.toml")  # fmt: skip
    parser.add_argument("--data", type=arguments.path, metavar="FILE",
                        help="CSV: any table with the column that is read, or a table of records "
                        "for a model or a pool of your own")  # fmt: skip
    parser.add_argument("--rehearse", action="store_true",
                        help="the same with data that are simulated at a draw of the prior: "
                        "nothing is read, spent or released")  # fmt: skip
    parser.add_argument("--rows", metavar="N",
                        help="with --rehearse: rows of the simulated data (the most)")  # fmt: skip
    _add_reading(parser)
    parser.add_argument("--domain", metavar="LOW,HIGH",
                        help="of a series of values: between which they are known to lie, as in "
                        "--domain=-5,40; others are moved to these bounds")  # fmt: skip
    parser.add_argument("--mechanism", metavar="NAME",
                        help="noisy-counts, private-summary or sparse-vector (the recommended one "
                        "that serves the scenario)")  # fmt: skip
    for name, (value, words) in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", required=name == "epsilon_total",
                            metavar=value, help=words)  # fmt: skip
    parser.add_argument("--resample", action="store_true",
                        help="sparse-vector: redraw the threshold's noise after each "
                        "acceptance")  # fmt: skip
    parser.add_argument("--budget", metavar="NAME", help="take the cost from this budget")
    parser.add_argument("--unit", metavar="UNIT",
                        help="what is protected, as the budget names it (value, patient or person, "
                        "as the scenario has it)")  # fmt: skip
    budget.add_ledger(parser)
    parser.add_argument("--accept-declared-sensitivity", action="store_true",
                        help="take from a budget what a sensitivity is needed for that somebody "
                        "declared and nothing derives")  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="spend it without being asked")
    arguments.add_workers(parser)
    parser.add_argument("--out", type=arguments.path, required=True, metavar="FILE.json",
                        help="a new file for what is released; with --rehearse, FILE.html for the "
                        "picture")  # fmt: skip
    arguments.add_plugins(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the file is read."""
    parser.add_argument("--column", metavar="NAME",
                        help="header of the column that is read (the only one)")  # fmt: skip
    parser.add_argument("--kind", metavar="NAME",
                        help="what it holds, where a scenario takes several: labels or sizes for "
                        "tuberculosis-patients")  # fmt: skip
    parser.add_argument("--date", metavar="NAME",
                        help="header of the column of dates, by which rows are put in "
                        "order")  # fmt: skip
    parser.add_argument("--date-format", metavar="FORMAT",
                        help="how dates are written, as %%d/%%m/%%Y (2020-03-31 and 31.3.2020 "
                        "are known)")  # fmt: skip
    parser.add_argument("--missing", choices=("zero", "drop"),
                        help="zero: a day without a row had none; drop: patients without a label "
                        "are left out (both are refused)")  # fmt: skip
    parser.add_argument("--cumulative", nargs="?", const="yes", choices=("yes", "no"),
                        help="whether numbers are totals so far, whose differences are taken; "
                        "asked where they look it")  # fmt: skip
    parser.add_argument("--count", metavar="NAME",
                        help="header of the column that says how many clusters have a "
                        "size")  # fmt: skip
    parser.add_argument("--thousands", metavar="MARK", default="",
                        help="thousands separator, as in 1,234 (none)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Check everything, ask, release, write.

    Raises:
        ParameterError: something is not possible, or the answer was no.
        KeyboardInterrupt, UnheardError, MemoryError, BrokenExecutor: before the end; a note says
            what is spent.
    """
    stand = _Stand()
    try:
        arguments.plug_in(options.plugin)
        if options.scenario.endswith(".toml"):
            options.scenario = arguments.plug_in_pool(Path(options.scenario))
        request = _request(options)
        arguments.workers(options.workers, 1)
        if options.rehearse:
            rehearsal.run(request, options)
            return 0
        if options.data is None:
            raise ParameterError("--data FILE is needed, or --rehearse.")
        stand.document = _unfinished(request, options.out)
        if stand.document is None:
            _release(request, options, stand)
        else:
            stand.shown = f"in {options.out}"
            say(f"{options.out} was released before; nothing is read, and nothing more is spent.")
        _finish(stand, options)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(
            f"out = {options.out}: cannot be written ({reason}); {stand.words()}"
        ) from error
    except BaseException as error:
        if stand.document is not None or not isinstance(error, ParameterError):
            error.add_note(stand.words())
        raise
    return 0


@dataclasses.dataclass
class _Stand:
    """How far a release has come.

    Attributes:
        document: once there is one, the budget is spent.
        shown: where somebody has it.
    """

    document: ReleaseRecord | None = None
    shown: str = ""

    def words(self) -> str:
        """Say what is spent, where something ended the command."""
        if self.document is None:
            return "nothing was released."
        spent = f"{self.document.request.spends} is spent"
        more = ""
        if self.shown and not self.document.is_complete:
            more = "; the same command adds what follows from it, at no further cost"
        return f"{spent}; what was released is {self.shown or 'lost'}{more}."


def _release(request: ReleaseRequest, options: argparse.Namespace, stand: _Stand) -> None:
    kind = columns.chosen(request.scenario, options.kind or _former_kind(request, options))
    try:
        with output_file.reserved(options.out) as keep, _paid(request, options) as paid:
            say(_recommendation(request))
            values = _values(request, kind, options)
            _confirm(_asked(request, len(values), options.workers), sure=options.yes)
            with progress.of_fraction("Public pool") as bar:
                prepared = procedure.prepare(request, values, bar)
            # From here on a signal waits: what is paid for is written first.
            with held():
                stand.document = procedure.spend(prepared, paid=paid)
                _keep(stand.document, keep, options.out, stand)
    except FileExistsError as error:
        if stand.document is not None:
            raise
        raise ParameterError(f"out = {options.out}: {error.strerror}; choose a new file.") from None


def _unfinished(request: ReleaseRequest, out: Path) -> ReleaseRecord | None:
    """Return what the same request released to this file before, if what follows is missing."""
    try:
        _, content = verification.read_file(out)
        if not verification.is_bare(content) or verification.is_before(content):
            return None
        found = verification.document_in(content)
        # Another model of the same name may have been meant.
        verification.check(verification.compared(content, found))
    except ParameterError:
        return None
    return found if found.request == request else None


def _finish(stand: _Stand, options: argparse.Namespace) -> None:
    """Add what follows from what was released, and say it; misfit comes first."""
    made = cast(ReleaseRecord, stand.document)
    if not made.is_complete:
        say(made.summary, f"Written to {options.out}; the posterior is computed now.")
        began = time.monotonic()
        with done_by(options.workers, options.plugin) as each:
            complete = procedure.complete(made, each)
        replace(options.out, complete.to_json())
        stand.document = made = complete
        say(f"Computed in {time.monotonic() - began:.0f} s.")
    else:
        say(made.summary)
    say(made.in_own_words, made.marks_in_words, made.statement, f"Written to {options.out}")


def _recommendation(request: ReleaseRequest) -> str:
    """Say by what is released, and why or why not; known before a file is opened."""
    known = releasable.serving(request.scenario)
    found, first = known[request.mechanism], next(iter(known.values()))
    line = f"By {found.name}: {found.reason}"
    return line if found is first else f"{line} Recommended is {first.name}: {first.reason}"


def _paid(
    request: ReleaseRequest, options: argparse.Namespace
) -> contextlib.AbstractContextManager[Taken | None]:
    """Return the cost, taken from a budget if one is named.

    Raises:
        ParameterError: it rests on what somebody declared, and nobody has accepted that.
    """
    if options.budget is None:
        return contextlib.nullcontext()
    if request.declared and not options.accept_declared_sensitivity:
        raise ParameterError(
            f"budget = {options.budget}: the sensitivity of {' and '.join(request.declared)} is "
            "declared, not derived; say --accept-declared-sensitivity if you answer for it. "
            "Nothing was spent."
        )
    unit, claimed = options.unit or request.unit, claim(request)
    if unit != request.unit:
        # The document protects a unit of the scenario; that it is this one is said by nobody else.
        what = f"{claimed.what}, one {unit} declared to have one {request.unit}"
        claimed = dataclasses.replace(claimed, what=what)
    return taken(options.ledger, options.budget, claimed, unit, request.neighbours)


def _keep(document: ReleaseRecord, keep: output_file.Keep, out: Path, stand: _Stand) -> None:
    """Write what was released; where that fails, what was paid for is at least shown."""
    text = document.to_json()
    try:
        keep(text)
        stand.shown = f"in {out}"
    except OSError:
        say(text)
        stand.shown = "on standard output"
        raise


def _request(options: argparse.Namespace) -> ReleaseRequest:
    kind = releasable.chosen(options.scenario, options.mechanism).request
    texts = {"scenario": options.scenario} | _domain(kind, options)
    texts |= {name: text for name in OPTIONS if (text := getattr(options, name)) is not None}
    if options.resample:
        texts["resample"] = "true"
    _check_options(kind, texts)
    return kind.from_text(texts)


def _domain(kind: type[ReleaseRequest], options: argparse.Namespace) -> dict[str, str]:
    """Return the bounds of a series of values, which nothing else has."""
    if not issubclass(kind, SeriesRequest):
        if options.domain is not None:
            raise ParameterError(
                f"domain = {shown(options.domain)}: is for a series of values; "
                f"{options.scenario} takes none."
            )
        return {}
    if options.domain is None:
        raise ParameterError(f"--domain LOW,HIGH is needed for {options.scenario}, as in 0,100.")
    low, comma, high = options.domain.partition(",")
    if not comma or "," in high:
        raise ParameterError(f"domain = {options.domain}: must be LOW,HIGH, as in 0,100.")
    return {"low": low, "high": high}


def _check_options(kind: type[ReleaseRequest], texts: Mapping[str, str]) -> None:
    """Refuse an option of another mechanism, which would do nothing."""
    taken = {field.name for field in dataclasses.fields(kind)}
    if wrong := [name for name in texts if name not in taken]:
        owner = next(
            each.name
            for each in releasable.every().values()
            if wrong[0] in {field.name for field in dataclasses.fields(each.request)}
        )
        raise ParameterError(
            f"{wrong[0]} = {shown(texts[wrong[0]])}: is an option of {owner}, and this release is "
            f"by {kind.mechanism}; name another one by --mechanism."
        )


def _former_kind(request: ReleaseRequest, options: argparse.Namespace) -> str | None:
    """Return the kind that ``--column`` names, as it did before there was ``--kind``."""
    return options.column if options.column in columns_of(request.scenario) else None


def _values(request: ReleaseRequest, kind: str, options: argparse.Namespace) -> NDArray[np.float64]:
    """Return the values; what is wrong with them is said without one."""
    try:
        content = tabular.content_of(options.data, columns.largest_file(kind))
        table = tabular.parse(content, sys.maxsize, largest=columns.largest_file(kind))
        if table.note:
            say(table.note)
        # A word for the kind is a header only where there is one of that name.
        is_header = options.column in table.names or _former_kind(request, options) is None
        totals = None if options.cumulative is None else options.cumulative == "yes"
        how = Reading(
            options.column if is_header else None,
            options.date,
            options.date_format,
            options.missing,
            totals,
            options.count,
            options.thousands,
        )
        try:
            values = columns.read(content, request.scenario, kind, how)
        except columns.CumulativeError:
            if options.yes or not sys.stdin or not sys.stdin.isatty():
                raise
            say("The numbers never fall, so they look cumulative.")
            answer = input("Take each day's difference? [yes/no] ").strip().lower()
            how = dataclasses.replace(how, cumulative=answer in ("y", "yes"))
            values = columns.read(content, request.scenario, kind, how)
        request.check_size(len(values))
    except ParameterError as error:
        raise ParameterError(f"data = {options.data}: {error}") from error
    return values


def _asked(request: ReleaseRequest, n: int, workers: str | None) -> str:
    """Say what it costs and what it is good for, from what is public."""
    expected = releasable.of(request).expected(request, n)
    hint = (
        expected.in_words(n)
        if expected
        else "What error to expect is simulated by `abcdp run error-by-size "
        f"--set scenario={request.scenario}`."
    )
    time = rehearsal.estimate(request, n, workers)
    parts = (question(request, n), hint, request.reach(n), request.drowned(n), time)
    return " ".join(part for part in parts if part)


def _confirm(asked: str, *, sure: bool) -> None:
    if not sure and not sys.stdin.isatty():
        raise ParameterError("nobody is there to confirm: say --yes to spend the budget.")
    say(asked)
    answer = "yes" if sure else ""
    with contextlib.suppress(EOFError):
        answer = answer or input("Spend it? [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        raise ParameterError("not confirmed; nothing was released.")
