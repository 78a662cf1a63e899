"""Make one private release from your own data.

The mechanism is the one recommended for the scenario, or the one you name; `release` says which and
why before it opens a file.

It then says what will be spent and asks for confirmation. The release is a new file; none is ever
overwritten. It is written as soon as the budget is spent; its posterior, which may take long, is
added later. If that is interrupted, the same command continues from the file: it reads no data and
spends nothing. With `--budget`, the release is deducted from a budget before the data are read, and
refused if it does not fit (see `abcdp budget`). However `release` ends, it says whether the budget
is spent.
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

from abcdp_core.base import tabular
from abcdp_core.base.atomic import replace
from abcdp_core.base.interruption import defer_signals
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.cli import arguments, budget, layout, progress, rehearsal
from abcdp_core.cli.console import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.publish.output import draws
from abcdp_core.release import columns, output_file, procedure, releasable, verification
from abcdp_core.release.budget_file import Taken, taken
from abcdp_core.release.columns import Reading
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.releasable import Simulated
from abcdp_core.release.request import ReleaseRequest, SeriesRequest, claim, question, scenarios

INPUT = {
    "data": ("FILE", "CSV file with the column to read, or the records for a model of your own"),
    "rows": ("N", "with --rehearse: rows of the simulated data (the maximum)"),
    "column": ("NAME", "header of the column to read (the only one)"),
    "kind": ("NAME", "content of the column: labels or sizes, for tuberculosis-patients"),
    "date": ("NAME", "header of the column of dates, which sort the rows"),
    "date_format": ("FORMAT", "such as %%d/%%m/%%Y (2020-03-31 and 31.3.2020 need none)"),
    "count": (
        "NAME",
        "header of the column with the number of clusters of each size, or of "
        "records like each row",
    ),
    "thousands": ("MARK", "thousands separator, such as the comma in 1,234 (none)"),
    "domain": ("LOW,HIGH", "known range of a series of values; values outside are clipped"),
    "mechanism": ("NAME", "noisy-counts, private-summary or sparse-vector (the recommended one)"),
    "person": ("NAME", "header of the column that says whose record a row is"),
    "budget": ("NAME", "deduct the release from this budget"),
    "unit": ("UNIT", "what is protected, as the budget names it (the scenario's unit)"),
}
"""Option that says what is read and paid for -> its metavar and its help."""

OPTIONS = {
    "epsilon_total": ("E", "privacy budget to spend"),
    "epsilon_abc": ("A", "sparse-vector: threshold ε_abc (the scenario's)"),
    "c": ("C", "sparse-vector: draws to keep (the scenario's)"),
    "distance": ("NAME", "sparse-vector: distance between data sets (the scenario's first)"),
    "bandwidth": ("B", "sparse-vector: bandwidth of the kernel (the scenario's)"),
    "pool_size": ("T", "sparse-vector: size of the public pool (the scenario's)"),
    "pool_seed": ("S", "sparse-vector, private-summary: seed of the pool, not of the noise (1)"),
    "draws": ("M", "noisy-counts, private-summary: draws from the posterior (1000)"),
    "simulations": ("S", "private-summary: maximum number of simulated data sets (100,000)"),
    "effective_sample_size": ("M", "private-summary: effective sample size to reach (1000)"),
    "at_most": (
        "K",
        "with --person: most records of a person that are used, drawn at random",
    ),
    "draws_seed": ("S", "noisy-counts: seed of the posterior draws, not of the noise (1)"),
}
"""Field of some request -> its option's metavar and help."""

NAMES = {"draws": "number-of-draws"}
"""Field whose option has another name, as ``--draws`` writes a file."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("scenario", metavar="SCENARIO",
                        help=f"{', '.join(scenarios())}, a model of your own (with --plugin), or "
                        "a pool (FILE.toml)")  # fmt: skip
    for name, (metavar, words) in (INPUT | OPTIONS).items():
        option = NAMES.get(name, name.replace("_", "-"))
        parser.add_argument(f"--{option}", dest=name, required=name == "epsilon_total",
                            metavar=metavar, help=words)  # fmt: skip
    parser.add_argument("--missing", choices=("zero", "carry", "drop"),
                        help="zero: days without a row count as 0; carry: a running total stays as "
                        "it was on days without a number; drop: leave out patients without a label "
                        "(all are refused)")  # fmt: skip
    parser.add_argument("--sum-days", choices=("yes", "no"),
                        help="whether rows of the same day are added up (refused)")  # fmt: skip
    parser.add_argument("--corrections", choices=("drop", "add"),
                        help="negative numbers of cases: drop counts them as 0, add adds them to "
                        "the other rows of the day (refused)")  # fmt: skip
    parser.add_argument("--cumulative", nargs="?", const="yes", choices=("yes", "no"),
                        help="whether the numbers are running totals, to be differenced (asked if "
                        "they look like it)")  # fmt: skip
    parser.add_argument("--resample", action="store_true",
                        help="sparse-vector: redraw the threshold's noise after each kept "
                        "draw")  # fmt: skip
    parser.add_argument("--missing-person", choices=("drop", "each"),
                        help="rows without a person: drop leaves them out, each takes each as "
                        "another person (refused)")  # fmt: skip
    parser.add_argument("--rows-are-people", action="store_true",
                        help="each row is another person, whatever the header says")  # fmt: skip
    budget.add_ledger(parser)
    parser.add_argument("--accept-declared-sensitivity", action="store_true",
                        help="use a budget although a sensitivity was declared, not "
                        "derived")  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="spend without asking")
    parser.add_argument("--rehearse", action="store_true",
                        help="use simulated data: nothing is read, spent or released")  # fmt: skip
    arguments.add_workers(parser)
    parser.add_argument("--out", type=arguments.path, required=True, metavar="FILE.json",
                        help="a new file for the release; with --rehearse, a page "
                        "(FILE.html)")  # fmt: skip
    parser.add_argument("--draws", dest="draws_file", type=arguments.path, metavar="FILE",
                        help=draws.HELP)  # fmt: skip
    arguments.add_plugins(parser)
    arguments.add_time_limit(parser)


def run(options: argparse.Namespace) -> int:
    """Check everything, ask, release and write.

    Raises:
        ParameterError: the request is not possible, or was not confirmed.
        KeyboardInterrupt, UnheardError, MemoryError, BrokenExecutor: it did not finish; a note says
            what is spent.
    """
    stand = _Stand()
    try:
        arguments.plug_in(options.plugin)
        if options.scenario.endswith(".toml"):
            options.scenario = arguments.plug_in_pool(Path(options.scenario))
        arguments.limit_time(options, is_own=bool(options.plugin))
        request = _request(options)
        options.workers = arguments.workers(options.workers, 1024)
        draws.check_place(options.draws_file)
        if options.rehearse:
            rehearsal.run(request, options)
            return 0
        if not options.data:
            raise ParameterError("--data FILE or --rehearse is required.")
        _check_uses(request, options)
        stand.document = _unfinished(request, options.out)
        if stand.document is None:
            _release(request, options, stand)
        else:
            stand.shown = f"in {options.out}"
            say(f"{options.out} was released before: nothing is read or spent now.")
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
    """A release once it exists, when the budget is spent, and where it is shown."""

    document: ReleaseRecord | None = None
    shown: str = ""

    def words(self) -> str:
        """Say what is spent when the command ends early."""
        if self.document is None:
            return "nothing was released."
        spent = f"{self.document.request.spends} is spent"
        more = ""
        if self.shown and not self.document.is_complete:
            more = "; the same command completes it at no further cost"
        return f"{spent}; the release is {self.shown or 'lost'}{more}."


def _release(request: ReleaseRequest, options: argparse.Namespace, stand: _Stand) -> None:
    kind = columns.chosen(request.source, options.kind or _former_kind(request, options))
    try:
        with output_file.reserved(options.out) as keep, _paid(request, options) as paid:
            layout.tell(_recommendation(request))
            values = _values(request, kind, options)
            rehearsal.make_pool(request, len(values))
            _confirm(_asked(request, len(values), options.workers), sure=options.yes)
            with progress.of_fraction("Public pool") as bar:
                prepared = procedure.prepare(request, values, bar)
            # A signal must wait: the release is written first, as it is paid for.
            with defer_signals():
                stand.document = procedure.spend(prepared, paid=paid)
                _keep(stand.document, keep, options.out, stand)
    except FileExistsError as error:
        if stand.document is not None:
            raise
        raise ParameterError(f"out = {options.out}: {error.strerror}; choose a new file.") from None


def _unfinished(request: ReleaseRequest, out: Path) -> ReleaseRecord | None:
    """Return an incomplete release in this file by the same request, if there is one."""
    try:
        _, content = verification.read_file(out)
        if not verification.is_bare(content) or verification.is_before(content):
            return None
        record = verification.document_in(content)
        # It may be about another model of the same name.
        verification.check(verification.compared(content, record))
    except ParameterError:
        return None
    return record if record.request == request else None


def _finish(stand: _Stand, options: argparse.Namespace) -> None:
    """Complete a release by its posterior, and print it; a misfit comes first."""
    made = cast(ReleaseRecord, stand.document)
    if not made.is_complete:
        layout.tell(made.summary, f"Written to {options.out}. Computing the posterior.")
        began = time.monotonic()
        with done_by(options.workers, options.plugin) as each:
            complete = procedure.complete(made, each)
        replace(options.out, complete.to_json())
        stand.document = made = complete
        say(f"Computed in {time.monotonic() - began:.0f} s.")
    else:
        layout.tell(made.summary)
    say(*layout.estimates(made), f"Written to {options.out}")
    if options.draws_file is not None:
        say(draws.write([each.name for each in made.parameters], made.values, options.draws_file))


def _recommendation(request: ReleaseRequest) -> str:
    """Name the mechanism and the reason for it; no file has been opened yet."""
    known = releasable.serving(request.scenario)
    chosen, first = known[request.mechanism], next(iter(known.values()))
    line = f"Mechanism: {chosen.name}. {chosen.reason}"
    return line if chosen is first else f"{line} Recommended: {first.name}. {first.reason}"


def _paid(
    request: ReleaseRequest, options: argparse.Namespace
) -> contextlib.AbstractContextManager[Taken | None]:
    """Deduct the release from a budget, if one is named.

    Raises:
        ParameterError: a sensitivity is only declared, and this was not accepted.
    """
    if options.budget is None:
        return contextlib.nullcontext()
    if request.declared and not options.accept_declared_sensitivity:
        raise ParameterError(
            f"budget = {options.budget}: the sensitivity of {' and '.join(request.declared)} is "
            "declared, not derived; if you vouch for it, add --accept-declared-sensitivity. "
            "Nothing was spent."
        )
    unit, claimed = options.unit or request.unit, claim(request)
    if unit != request.unit:
        # The release protects the scenario's unit; only the user says that it is this one.
        what = f"{claimed.what}, one {unit} declared to have one {request.unit}"
        claimed = dataclasses.replace(claimed, what=what)
    return taken(options.ledger, options.budget, claimed, unit, request.neighbours)


def _keep(document: ReleaseRecord, keep: output_file.Keep, out: Path, stand: _Stand) -> None:
    """Write a release; if that fails, print it: it is paid for."""
    text = document.to_json()
    try:
        keep(text.encode())
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
    if options.rows_are_people and "rows_are_people" in kind.specification():
        texts["rows_are_people"] = "true"
    _check_options(kind, texts)
    return kind.from_text(texts)


def _domain(kind: type[ReleaseRequest], options: argparse.Namespace) -> dict[str, str]:
    """Return the bounds, which only a series of values has."""
    if not issubclass(kind, SeriesRequest):
        if options.domain is not None:
            raise ParameterError(
                f"domain = {shown(options.domain)}: applies only to a series of values, not to "
                f"{options.scenario}."
            )
        return {}
    if options.domain is None:
        raise ParameterError(f"--domain LOW,HIGH is required for {options.scenario}.")
    low, comma, high = options.domain.partition(",")
    if not comma or "," in high:
        raise ParameterError(f"domain = {options.domain}: must be LOW,HIGH, such as 0,100.")
    return {"low": low, "high": high}


def _check_options(kind: type[ReleaseRequest], texts: Mapping[str, str]) -> None:
    """Refuse an option of another mechanism, which would have no effect."""
    taken = {field.name for field in dataclasses.fields(kind)}
    if wrong := [name for name in texts if name not in taken]:
        owner = next(
            each.name
            for each in releasable.every().values()
            if wrong[0] in {field.name for field in dataclasses.fields(each.request)}
        )
        raise ParameterError(
            f"{wrong[0]} = {shown(texts[wrong[0]])}: is an option of {owner}; this release uses "
            f"{kind.mechanism}; choose another with --mechanism."
        )


def _former_kind(request: ReleaseRequest, options: argparse.Namespace) -> str | None:
    """Return the kind if ``--column`` names it, as before ``--kind`` existed."""
    return options.column if options.column in request.source.own_columns else None


def _check_uses(request: ReleaseRequest, options: argparse.Namespace) -> None:
    """Refuse an option that would have no effect, before anything is read or spent."""
    kind = columns.chosen(request.source, options.kind or _former_kind(request, options))
    columns.check_used(kind, _reading(request, options))
    if options.rows is not None:
        raise ParameterError(f"rows = {shown(options.rows)}: applies only with --rehearse.")
    if options.budget is None and options.unit is not None:
        raise ParameterError(f"unit = {shown(options.unit)}: applies only with --budget.")
    if options.accept_declared_sensitivity and (options.budget is None or not request.declared):
        raise ParameterError(
            "--accept-declared-sensitivity applies only to a budget and a declared sensitivity."
        )


def _reading(request: ReleaseRequest, options: argparse.Namespace) -> Reading:
    """Return how the file is read; a word that names the kind is no column."""
    column = None if _former_kind(request, options) else options.column
    yes_or_no = {"yes": True, "no": False}
    return Reading(
        column,
        options.date,
        options.date_format,
        options.missing,
        yes_or_no.get(options.cumulative),
        options.count,
        options.thousands or "",
        yes_or_no.get(options.sum_days),
        options.corrections,
        options.person,
        getattr(request, "at_most", 0),
        options.missing_person,
        options.rows_are_people,
    )


def _values(request: ReleaseRequest, kind: str, options: argparse.Namespace) -> NDArray[np.float64]:
    """Return the values; no error message contains a value."""
    try:
        content = tabular.content_of(Path(options.data), columns.largest_file(kind))
        table = tabular.parse(content, sys.maxsize, largest=columns.largest_file(kind))
        if table.note:
            say(table.note)
        # A word that may name the kind is a header only if the file has it.
        how = _reading(request, options)
        if options.column in table.names:
            how = dataclasses.replace(how, column=options.column)
        try:
            values = columns.read(content, request.source, kind, how)
        except columns.CumulativeError:
            if options.yes or not sys.stdin or not sys.stdin.isatty():
                raise
            say("The numbers never fall, so they look like running totals.")
            answer = input("Use the differences from day to day? [yes/no] ").strip().lower()
            how = dataclasses.replace(how, cumulative=answer in ("y", "yes"))
            values = columns.read(content, request.source, kind, how)
        request.check_size(len(values))
    except ParameterError as error:
        raise ParameterError(f"data = {options.data}: {error}") from error
    return values


def _asked(request: ReleaseRequest, n: int, workers: int) -> str:
    """Say what a release costs and what to expect, from public information."""
    expected, lines = releasable.of(request).expected(request, n), []
    hint = (
        "To see what error to expect, run `abcdp run error-by-size --set "
        f"scenario={request.scenario} --set epsilon_total={request.epsilon_total:g} --out results`."
    )
    if isinstance(expected, Simulated):
        heads = ["error to expect", "with noise", "without noise", "without the data"]
        lines = ["", *layout.table([heads, *map(list, expected.rows())]), ""]
        hint = f"These are root mean squared errors over the public simulations. {expected.remark}"
    elif expected is not None:
        hint = expected.in_words(n)
    time = request.time_in_words(n, workers)
    parts = (hint, request.reach(n), request.noise_warning(n), time)
    paragraphs = [layout.folded(part) for part in parts if part]
    return "\n".join(["", layout.folded(question(request, n)), *lines, *paragraphs, ""])


def _confirm(asked: str, *, sure: bool) -> None:
    if not sure and not sys.stdin.isatty():
        raise ParameterError("no terminal to confirm at: add --yes to spend the budget.")
    say(asked)
    answer = "yes" if sure else ""
    with contextlib.suppress(EOFError):
        answer = answer or input("Spend it? [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        raise ParameterError("not confirmed; nothing was released.")
