"""Read and check the files of claims."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from abcdp_core.base import schemas
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.places import ASSETS
from abcdp_core.base.schemas import Schema, Several
from abcdp_core.publish.claims import Claim, Ledger, Retired, Run, Untested

FOLDER = ASSETS / "claims"

T = TypeVar("T")


class Paper(Schema):
    """The file of a paper; a claim names its run, which may be in another file."""

    items: Several[str] = ()
    run: Several[Run] = ()
    claim: Several[dict[str, Any]] = ()
    untested: Several[Untested] = ()
    retired: Several[Retired] = ()


@functools.cache
def load() -> Ledger:
    """Return the ledger that comes with the program."""
    return read(sorted(FOLDER.glob("*.toml")))


def read(files: list[Path]) -> Ledger:
    """Read and check files of claims.

    Raises:
        ParameterError: a file or an entry does not fit its schema, two have the same name, a run or
            an item is missing, or an item has no entry.
    """
    papers = [schemas.read(file, Paper) for file in files]
    runs = _named("run", ((run.name, run) for paper in papers for run in paper.run))
    claims = [_claim(entry, runs) for paper in papers for entry in paper.claim]
    _named("claim", ((claim.id, claim) for claim in claims))
    ledger = Ledger(
        items=tuple(item for paper in papers for item in paper.items),
        runs=runs,
        claims=tuple(claims),
        untested=tuple(entry for paper in papers for entry in paper.untested),
        retired=tuple(entry for paper in papers for entry in paper.retired),
    )
    answered = {claim.item for claim in ledger.claims} | {one.item for one in ledger.untested}
    for item in answered:
        if not any(known.startswith(item) for known in ledger.items):
            raise ParameterError(f"item {item}: is not in the list of items.")
    for item in ledger.items:
        if item not in answered:
            raise ParameterError(f"item {item}: has neither a claim nor a reason for none.")
    return ledger


def _claim(entry: Mapping[str, Any], runs: Mapping[str, Run]) -> Claim:
    name, run = f"claim {entry.get('id', '')}", str(entry.get("run"))
    if run not in runs:
        raise ParameterError(f"{name}: run {run} does not exist.")
    return schemas.check({**entry, "run": runs[run]}, Claim, name)


def _named(kind: str, entries: Iterable[tuple[str, T]]) -> dict[str, T]:
    by_name: dict[str, T] = {}
    for name, entry in entries:
        if name in by_name:
            raise ParameterError(f"{kind} {name}: the name is used twice.")
        by_name[name] = entry
    return by_name
