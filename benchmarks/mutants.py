"""``python -m benchmarks.mutants``: is a changed line noticed by the tests that concern its file?

A mutant is a copy of the project in which one expression on one line is another: a boundary moved,
plus for minus, a factor doubled or halved, a rounding taken away, ``min`` for ``max``, a ``not`` or
a square root dropped. It is killed if one of its file's tests in ``mutants.toml`` fails or does not
end in time. Which mutants are drawn depends on the seed and on the source text alone; folders get
equal shares. Those that cannot be noticed are in ``mutants.toml`` too, with the reason, and do not
count. Nothing is changed but in copies, which are removed at the end.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import datetime
import itertools
import os
import platform
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
LEFT_OUT = shutil.ignore_patterns(".*", "*.egg-info", "build", "benchmarks", "tmp")

WANTED = 0.97
"""Share of the mutants that can be noticed which the tests have to kill."""

PATIENCE = (4.0, 60.0)
"""A run may take so many times as long as without a change, and so many seconds more."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NEGATIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
SWAPPED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "upper": "lower",
    "lower": "upper",
}
"""Function -> the one that takes its place."""

DROPPED = {"sqrt", "nextafter", "round_up", "abs", "clip", "sorted", "sort", "expm1", "log1p"}
"""Functions of which their first argument is left."""

MARGINS = ("ROUNDING", "MARGIN", "PRECISION", "TOLERANCE")
"""Names of which nothing is left."""

WORDS = {"Parameter", "Mechanism", "Part", "field"}
"""Calls that hold words and suggestions: not changed inside."""


FREE = {"strict", "start", "row_height", "cache", "nogil", "chunk", "most"}
"""Arguments that guard against mistakes which are not made, may be any guess, or are about looks
or speed."""


@dataclass(frozen=True, order=True)
class Mutant:
    """Bytes ``start`` to ``end`` of a line of a file become ``new``."""

    file: str
    line: int
    start: int
    end: int
    new: str
    kind: str

    def applied(self, text: bytes) -> bytes:
        """The file with the change."""
        lines = text.splitlines(keepends=True)
        old = lines[self.line - 1]
        lines[self.line - 1] = old[: self.start] + self.new.encode() + old[self.end :]
        return b"".join(lines)

    def texts(self) -> tuple[str, str]:
        """The line as it was and as it is, without the blanks around."""
        before = (ROOT / self.file).read_bytes()
        return tuple(  # type: ignore[return-value]
            text.splitlines()[self.line - 1].decode().strip()
            for text in (before, self.applied(before))
        )


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, and in how many seconds."""

    mutant: Mutant
    killed: bool
    seconds: float


# -------------------------------------------------------------------------- making mutants


def mutants_of(file: str, chosen: Collection[str]) -> list[Mutant]:
    """All mutants of a file, in the order of its lines."""
    text = (ROOT / file).read_bytes()
    found = set()
    for node in _changeable(ast.parse(text), chosen):
        if node.lineno != node.end_lineno or node.end_col_offset is None:
            continue
        for kind, new in _changes(node, chosen):
            source = ast.unparse(ast.fix_missing_locations(new))
            plain = isinstance(new, ast.Constant | ast.Name | ast.Call | ast.Attribute)
            mutant = Mutant(
                file,
                node.lineno,
                node.col_offset,
                node.end_col_offset,
                source if plain else f"({source})",
                kind,
            )
            if ast.dump(new) != ast.dump(node):
                found.add(mutant)
    return sorted(found)


def _changeable(tree: ast.AST, chosen: Collection[str]) -> Iterator[ast.expr]:
    """Expressions, but for types, errors, words and constants that were chosen."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(child, ast.keyword) and child.arg in FREE:
                continue
            if isinstance(child, ast.Assign) and _name_of(child.targets[0]) in chosen:
                continue
            if isinstance(child, ast.Call) and _name_of(child.func) in WORDS:
                continue
            if _is_length_to_be_found(tree, child) or _is_seed(tree, child):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _changeable(child, chosen)


def _is_length_to_be_found(tree: ast.AST, child: ast.AST) -> bool:
    """The -1 of a ``reshape``: for numpy any negative number means the same."""
    return (
        isinstance(tree, ast.Call)
        and _name_of(tree.func) == "reshape"
        and isinstance(child, ast.UnaryOp)
        and isinstance(child.op, ast.USub)
    )


def _is_seed(tree: ast.AST, child: ast.AST) -> bool:
    """A seed that stands in the program, of public draws: any other one will do."""
    return (
        isinstance(tree, ast.Call)
        and _name_of(tree.func) == "generator"
        and tree.args[:1] == [child]
        and isinstance(child, ast.Constant)
    )


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _changes(node: ast.expr, chosen: Collection[str]) -> Iterator[tuple[str, ast.expr]]:
    """Kind of change, and what the expression becomes.

    Beside a constant that was chosen, or a multiple of it, the boundary was chosen too.
    """
    match node:
        case ast.Compare(left=left, ops=ops, comparators=right):
            sides = [_is_chosen(side, chosen) for side in (left, *right)]
            for place, op in enumerate(ops):
                for kind, others in (("compare", COMPARISONS), ("negate", NEGATIONS)):
                    if kind == "compare" and type(op) in NEGATIONS and any(sides[place:][:2]):
                        continue
                    if type(op) in others:
                        yield kind, _with(node, ops=_at(place, ops, others[type(op)]()))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
                yield "operator", _with(node, op=OPERATORS[type(op)]())
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            if not isinstance(operand, ast.Constant):
                yield "dropped", operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", ast.Constant(value + 1)
            if value > 0:
                yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=float() as value):
            for other in (2.0 * value, 0.5 * value) if value else (1.0,):
                yield "constant", ast.Constant(other)
        case ast.Name(id=name, ctx=ast.Load()) if name.endswith(MARGINS):
            yield "margin", ast.Constant(0.0)
        case ast.Call(func=function, args=args):
            name = _name_of(function)
            if name in SWAPPED:
                yield "swapped", _with(node, func=_renamed(function, SWAPPED[name]))
            if name in DROPPED and args and not isinstance(args[0], ast.Starred):
                yield "dropped", args[0]


def _is_chosen(side: ast.expr, chosen: Collection[str]) -> bool:
    if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult):
        return _is_chosen(side.left, chosen) or _is_chosen(side.right, chosen)
    return _name_of(side) in chosen


def _at(place: int, ops: Sequence[ast.cmpop], op: ast.cmpop) -> list[ast.cmpop]:
    return [*ops[:place], op, *ops[place + 1 :]]


def _with(node: ast.expr, **changed: Any) -> ast.expr:
    other = copy.copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other


def _renamed(function: ast.expr, name: str) -> ast.expr:
    return _with(function, **{"attr" if isinstance(function, ast.Attribute) else "id": name})


def group_of(file: str) -> str:
    """What gets an equal share: a folder of the core, or what stands beside them."""
    part = Path(file).parts[1]
    return "runner, workers, store, cache" if part.endswith(".py") else part


def drawn(files: Sequence[str], chosen: Collection[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants, no two of a line: folders in turn, in each its files, in each its kinds."""
    rng = random.Random(seed)
    waiting: dict[str, list[Iterator[Mutant]]] = defaultdict(list)
    for file in sorted(files):
        kinds: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in mutants_of(file, chosen):
            kinds[mutant.kind].append(mutant)
        for each in kinds.values():
            rng.shuffle(each)
        mixed = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
        waiting[group_of(file)].append(_one_a_line(filter(None, mixed)))
    for each_file in waiting.values():
        rng.shuffle(each_file)
    turns = [_in_turn(of_files) for of_files in waiting.values()]
    return sorted(itertools.islice(_in_turn(turns), count))


def _one_a_line(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """The first of each line; here, so that its folder loses no turn by the others."""
    lines: set[int] = set()
    for mutant in mutants:
        if mutant.line not in lines:
            lines.add(mutant.line)
            yield mutant


def _in_turn(iterators: Sequence[Iterator[Mutant]]) -> Iterator[Mutant]:
    left = list(iterators)
    while left:
        for iterator in list(left):
            mutant = next(iterator, None)
            if mutant is None:
                left.remove(iterator)
            else:
                yield mutant


# ------------------------------------------------------------------------- running tests


class Copy:
    """A copy of the project in which tests are run."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        self.compiled = place / "compiled"
        shutil.copytree(ROOT, self.root, ignore=LEFT_OUT)
        (self.root / "benchmarks").mkdir()

    def passes(self, tests: Sequence[str], limit: float | None, *, compiled: Path) -> bool:
        """Whether tests pass, within so many seconds.

        Raises:
            RuntimeError: they could not be run.
        """
        command = [
            *(sys.executable, "-m", "pytest", "-n0", "-q", "-x", "--no-header"),
            *("-p", "no:cacheprovider", f"--basetemp={self.root.parent / 'temporary'}", *tests),
        ]
        environment = os.environ | {
            "NUMBA_CACHE_DIR": str(compiled),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(process)
        if code in (4, 5):
            raise RuntimeError(f"no tests were run: {' '.join(tests)}")
        return code == 0

    def survives(self, mutant: Mutant, tests: Sequence[str], limit: float) -> bool:
        """Whether tests pass although a line was changed."""
        file = self.root / mutant.file
        before = file.read_bytes()
        # Compiled functions of other files may hold those of this one.
        fresh = self.root.parent / "fresh"
        own = fresh if b"numba" in before else self.compiled
        try:
            file.write_bytes(mutant.applied(before))
            return self.passes(tests, limit, compiled=own)
        finally:
            file.write_bytes(before)
            shutil.rmtree(fresh, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the tests with whatever they started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def run(mutants: Sequence[Mutant], tests: dict[str, list[str]], workers: int) -> Iterator[Outcome]:
    """Each mutant's outcome as it comes; before, once, the tests without a change.

    Raises:
        RuntimeError: tests fail although nothing was changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(workers):
            (Path(folder) / str(number)).mkdir()
            copies.put(Copy(Path(folder) / str(number)))

        def unchanged(file: str) -> tuple[str, float]:
            place = copies.get()
            try:
                started = time.monotonic()
                if not place.passes(tests[file], None, compiled=place.compiled):
                    raise RuntimeError(f"{file}: its tests fail without a change.")
                return file, time.monotonic() - started
            finally:
                copies.put(place)

        def changed(mutant: Mutant, usual: float) -> Outcome:
            place = copies.get()
            try:
                started = time.monotonic()
                limit = PATIENCE[0] * usual + PATIENCE[1]
                survives = place.survives(mutant, tests[mutant.file], limit)
                return Outcome(mutant, not survives, time.monotonic() - started)
            finally:
                copies.put(place)

        with ThreadPoolExecutor(workers) as threads:
            try:
                files = sorted({mutant.file for mutant in mutants})
                usual = dict(threads.map(unchanged, files))
                total = sum(usual.values())
                print(f"{len(files)} files' tests pass unchanged, {total:.0f} s.", flush=True)
                yield from threads.map(changed, mutants, [usual[m.file] for m in mutants])
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise


# ------------------------------------------------------------------------------- report


def main() -> int:
    """Draw, run and report; 1 if too many survive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=180, help="how many mutants (180)")
    parser.add_argument("--only", default="", metavar="FOLDER", help="as abcdp_core/privacy")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants (1)")
    parser.add_argument("--workers", type=int, default=1, help="tests at a time (1)")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    files = [file for file in table["tests"] if file.startswith(options.only)]
    known = {(each["file"], each["was"], each["is"]) for each in table.get("equivalent", [])}
    every = drawn(files, table["chosen"], options.sample, options.seed)
    mutants = [mutant for mutant in every if (mutant.file, *mutant.texts()) not in known]
    print(f"{len(mutants)} mutants, {len(every) - len(mutants)} more that change nothing.")
    if options.list:
        for mutant in mutants:
            print(_shown(mutant))
        return 0
    started = time.monotonic()
    outcomes = []
    for outcome in run(mutants, table["tests"], max(1, options.workers)):
        word = "killed  " if outcome.killed else "SURVIVES"
        print(f"{word} {outcome.seconds:6.1f} s  {_shown(outcome.mutant)}", flush=True)
        outcomes.append(outcome)
    return _report(outcomes, time.monotonic() - started)


def _shown(mutant: Mutant) -> str:
    was, now = mutant.texts()
    return f"{mutant.file}:{mutant.line}\n      was: {was}\n      is:  {now}"


def _report(outcomes: Sequence[Outcome], seconds: float) -> int:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[group_of(outcome.mutant.file)].append(outcome)
    print("\n| part | mutants | killed | seconds each |\n|---|---:|---:|---:|")
    for name, some in [*sorted(groups.items()), ("all", list(outcomes))]:
        killed = sum(outcome.killed for outcome in some)
        each = sum(outcome.seconds for outcome in some) / max(len(some), 1)
        print(f"| {name} | {len(some)} | {killed} | {each:.1f} |")
    survivors = [outcome.mutant for outcome in outcomes if not outcome.killed]
    share = 1.0 - len(survivors) / max(len(outcomes), 1)
    print(f"\n{share:.1%} killed; {WANTED:.0%} are wanted. {seconds:.0f} s in all.")
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} processors.")
    for mutant in survivors:
        print(f"survives: {_shown(mutant)}")
    return int(share < WANTED)


if __name__ == "__main__":
    sys.exit(main())
