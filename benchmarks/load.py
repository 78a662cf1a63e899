"""``python -m benchmarks.load``: many visitors at once, each moving a knob every second or so.

It prints a table for ``benchmarks/README.md``. The visitors open the page on the posterior and set
ε_total to values at random; they speak the pages' own protocol and draw nothing. They use the same
processors as the server, so on a machine of its own the server has more to itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import os
import platform
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit

from abcdp_core.workers import processor_count
from benchmarks import server
from benchmarks.server import Server
from benchmarks.visitors import Visitor, visiting

LARGEST = "n=20000&pool_size=10000&seed="
"""The address of the largest pool, but for its seed."""

LOOKS = 8.0
"""Seconds that a student looks at a picture before the next move."""

BETWEEN_LOOKS = 0.25
"""Seconds between two looks at the server's health."""


@dataclass(frozen=True)
class Load:
    """What some visitors lived through together.

    Attributes:
        name: who they are.
        visitors: how many.
        waits: seconds from a move of the knob to its picture, of all of them.
        moves: of all knobs.
        longest: seconds that any visitor waited for a picture.
        health: longest answer to the question whether the server is well, in seconds.
        told_to_wait: visitors whom the page told their place in line.
        megabytes: of the server, before they came and at the end.
        errors: what went wrong.
    """

    name: str
    visitors: int
    waits: Sequence[float]
    moves: int
    longest: float
    health: float
    told_to_wait: int
    megabytes: tuple[float, float]
    errors: Sequence[str]

    def quantile(self, share: float) -> float:
        """Of the waits; infinite without any."""
        ordered = sorted(self.waits) or [float("inf")]
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    def row(self) -> str:
        """A line of the table."""
        each = (self.megabytes[1] - self.megabytes[0]) / max(self.visitors, 1)
        return (
            f"| {self.name} | {len(self.waits)} of {self.moves} | {self.quantile(0.5):.2f} | "
            f"{self.quantile(0.95):.2f} | {self.longest:.1f} | {self.health:.2f} | "
            f"{self.told_to_wait} | {self.megabytes[1]:.0f} | {each:.1f} | {len(self.errors)} |"
        )


HEADER = (
    "| visitors | pictures of moves | median s | p95 s | longest s | health s | told to wait "
    "| server MB | MB each | errors |\n|---|---|---|---|---|---|---|---|---|---|"
)


async def load(
    here: Server,
    count: int,
    seconds: float,
    name: str = "",
    first: int = 0,
    every: float = 1.0,
) -> Load:
    """So many visitors for so long.

    Args:
        here: the server.
        count: how many visitors.
        seconds: for how long each moves the knob.
        name: of the row; the number of visitors if empty.
        first: seed of the first visitor's moves.
        every: seconds between two moves of a visitor.
    """
    before = here.megabytes()
    health = asyncio.create_task(_watch_health(here.address))
    async with contextlib.AsyncExitStack() as stack:
        visitors = [
            await stack.enter_async_context(visiting(here.address, seed=first + number))
            for number in range(count)
        ]
        await asyncio.gather(*(_visit(visitor, seconds, every) for visitor in visitors))
        after = here.megabytes()
    health.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await health
    seen = [visitor.seen for visitor in visitors]
    longest = [max([*visitor.seen.waits, visitor.unanswered()]) for visitor in visitors]
    return Load(
        name=name or str(count),
        visitors=count,
        waits=[wait for each in seen for wait in each.waits],
        moves=sum(each.moves for each in seen),
        longest=max(longest),
        health=max(_answers),
        told_to_wait=sum(each.told_to_wait > 0 for each in seen),
        megabytes=(before, after),
        errors=[error for each in seen for error in each.errors],
    )


async def _visit(visitor: Visitor, seconds: float, every: float) -> None:
    # Nobody opens a page, or moves a knob, at the same instant as all others.
    await asyncio.sleep(visitor.random.uniform(0.0, every))
    await asyncio.wait_for(visitor.open(), 120)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        await visitor.move()
        await asyncio.sleep(min(every, left))
    # What is under way may still come.
    await asyncio.sleep(2.0)


_answers: list[float] = []
"""Seconds that the answers of the stage took."""


async def _watch_health(address: str) -> None:
    _answers.clear()
    while True:
        _answers.append(await asyncio.to_thread(_ask_health, address))
        await asyncio.sleep(BETWEEN_LOOKS)


def _ask_health(address: str) -> float:
    began = time.monotonic()
    with urllib.request.urlopen(f"http://{address}/_stcore/health", timeout=60) as answer:
        if answer.read() != b"ok":
            raise RuntimeError("the server is not well.")
    return time.monotonic() - began


async def _beside_the_largest(here: Server, count: int, seconds: float, tabs: int) -> Load:
    """Visitors beside tabs that have the largest pools made."""
    before = here.megabytes()
    async with contextlib.AsyncExitStack() as stack:
        for seed in range(tabs):
            query = f"{LARGEST}{1000 + seed}"
            other = await stack.enter_async_context(visiting(here.address, query))
            await other.rerun()
        name = f"{count} beside {tabs} of the largest pool{'s' if tabs > 1 else ''}"
        found = await load(here, count, seconds, name, first=100)
    return Load(**{**vars(found), "megabytes": (before, found.megabytes[1])})


async def _warm(here: Server) -> None:
    """One visitor, so that the pool is there and everything is loaded."""
    async with visiting(here.address) as visitor:
        await asyncio.wait_for(visitor.open(), 300)
        for _ in range(3):
            await visitor.move()
            await asyncio.sleep(1.0)


def main() -> None:
    """Measure and print, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each stage (120)")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of visitors, not all stages")
    options = parser.parse_args()
    print(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {platform.machine()}, ", end="")
    print(f"{processor_count()} processors, load {os.getloadavg()[0]:.2f}, ", end="")
    print(f"{options.seconds:g} s each; Streamlit {streamlit.__version__}\n\n{HEADER}")
    with tempfile.TemporaryDirectory() as cache:
        for count in options.only or (1, 8, 32, 80):
            with server.started(cache) as here:
                asyncio.run(_stage(here, count, options.seconds))
        if not options.only:
            with server.started(cache) as here:
                asyncio.run(_lecture(here, options.seconds))
            with server.started(cache) as here:
                asyncio.run(_warm(here))
                for tabs in (1, 5):
                    coming = _beside_the_largest(here, 8, min(options.seconds, 30.0), tabs)
                    print(asyncio.run(coming).row(), flush=True)


async def _lecture(here: Server, seconds: float) -> None:
    """Eighty who look at a picture before they move on."""
    await _warm(here)
    name = f"80, a move every {LOOKS:g} s"
    found = await load(here, 80, seconds, name, every=LOOKS)
    print(found.row(), *sorted(set(found.errors)), flush=True)


async def _stage(here: Server, count: int, seconds: float) -> None:
    await _warm(here)
    first = await load(here, count, seconds)
    print(first.row(), *sorted(set(first.errors)), flush=True)
    if count == 80:
        again = await load(here, count, seconds, f"{count} again", first=count)
        grown = again.megabytes[1] / first.megabytes[1] - 1.0
        print(again.row(), *sorted(set(again.errors)), f"memory {grown:+.1%}", flush=True)


if __name__ == "__main__":
    main()
