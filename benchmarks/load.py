"""``python -m benchmarks.load``: measure the app with many visitors at once.

Visitors open the page *Posterior* and move ε_total at random. Telephones open a live poll within
one second, fetch a question and send a word. Eighty browsers do not fit on one machine, so both
speak the undocumented protocol of Streamlit's pages:

- ``/_stcore/stream``: the address of a page's websocket.
- ``BackMsg``: a browser's request to run a page or a fragment, with the value of a knob.
- ``ForwardMsg``: ``delta`` (errors, knobs, titles, figures), and fragments that run again.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import tempfile
import time
from collections.abc import AsyncIterator
from statistics import median
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.util import calc_hash
from websockets.asyncio.client import connect
from websockets.typing import Origin

from benchmarks.measure import head, machine, megabytes, row
from benchmarks.server import started

PAGE, KNOB, LARGEST = "posterior", "epsilon_total", "n=20000&pool_size=10000&seed="
TITLE = re.compile(r"finding.*_total&nbsp;=&nbsp;([0-9.,]*[0-9])", re.DOTALL)
ROWS = {"lecture": (80, 8.0), "32": (32, 1.0), "80": (80, 1.0), "8": (8, 1.0), "beside": (8, 1.0)}
POLL, PHONES = "poll", 80
EVENTS = "$$STREAMLIT_INTERNAL_KEY_{}__events"  # what a component sends, by the component's name


@contextlib.asynccontextmanager
async def opened(address: str) -> AsyncIterator[Any]:
    """Yield the websocket of a page."""
    url, origin = f"ws://{address}/_stcore/stream", Origin(f"http://{address}")
    async with connect(url, origin=origin, max_size=None, open_timeout=60) as browser:
        yield browser


class Visitor:
    """A tab with the page open. `waits`: from a picture's first unanswered move to it, in s."""

    def __init__(self, address: str, query: str = "", seed: int = 0) -> None:
        self._address, self._query, self._random = address, query, random.Random(seed)
        self._knob: Any = None
        self._title = self._shown = self.last = 0.0
        self._asked: dict[float, float] = {}  # value -> when it was asked for
        self._fragments: dict[str, float] = {}  # name -> seconds between its runs
        self.waits: list[float] = []

    async def visit(self, moves: int, every: float) -> None:
        """Open the page, move the knob every so many seconds, and wait for the last picture."""
        await asyncio.sleep(self._random.uniform(0.0, every))
        async with opened(self._address) as self._browser, asyncio.TaskGroup() as group:
            tasks = [group.create_task(run()) for run in (self._listen, self._run_fragments)]
            await self._send()
            await self._wait_for_pictures()
            for _ in range(moves):
                await self._move()
                await asyncio.sleep(every)
            await self._wait_for_pictures()
            for task in tasks:
                task.cancel()

    async def _wait_for_pictures(self) -> None:
        async with asyncio.timeout(120.0):
            while self._asked or not self._shown:
                await asyncio.sleep(0.05)

    async def _move(self) -> None:
        values = {float(text): text for text in self._knob.options}
        value = self._random.choice(sorted(values.keys() - self._asked.keys() - {self._shown}))
        self._asked[value] = time.monotonic()
        await self._send(text=values[value])

    async def _send(self, fragment: str = "", text: str = "") -> None:
        message = BackMsg()
        rerun = message.rerun_script
        rerun.page_name, rerun.query_string = PAGE, self._query
        rerun.fragment_id, rerun.is_auto_rerun = fragment, bool(fragment)
        # Where a fragment asks for the page again, it is this one.
        rerun.page_script_hash = calc_hash(PAGE) if fragment else ""
        if text:
            rerun.widget_states.widgets.add(id=self._knob.id).string_array_value.data.append(text)
        await self._browser.send(message.SerializeToString())

    async def _run_fragments(self) -> None:
        while True:
            await asyncio.sleep(min(self._fragments.values(), default=0.1))
            for fragment in list(self._fragments):
                await self._send(fragment)

    async def _listen(self) -> None:
        async for content in self._browser:
            message = ForwardMsg.FromString(content)
            kind = message.WhichOneof("type")
            if kind == "auto_rerun":
                self._fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            elif kind == "new_session" and not message.metadata.run.fragment_ids:
                self._fragments.clear()
            else:
                self._take(message.delta.new_element)

    def _take(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(element.exception.type)
        if kind == "slider" and KNOB in element.slider.id.split("-"):
            self._knob = element.slider
        elif kind == "html" and (found := TITLE.search(element.html.body)):
            self._title = float(found[1].replace(",", ""))
        elif kind == "plotly_chart":
            self._shown, now = self._title, time.monotonic()
            if asked := self._asked.get(self._shown):
                self.waits.append(now - min(self._asked.values()))
                self.last = now - asked
                self._asked = {value: at for value, at in self._asked.items() if at > asked}


async def begin_poll(address: str) -> str:
    """Begin a poll as its lecturer does; return its code."""
    request = BackMsg()
    request.rerun_script.page_name = "live_poll"
    async with asyncio.timeout(60.0), opened(address) as browser:
        await browser.send(request.SerializeToString())
        async for content in browser:
            message = ForwardMsg.FromString(content)
            button = message.delta.new_element.button
            if button.label == "Start the poll":
                widget = request.rerun_script.widget_states.widgets.add(id=button.id)
                widget.trigger_value = True
                await browser.send(request.SerializeToString())
            found = re.search(r"poll=(\w{5})", message.page_info_changed.query_string)
            if found:
                return found[1]
    raise RuntimeError("the poll did not begin.")


async def answer(address: str, code: str, at: float) -> list[float]:
    """Return seconds of one telephone until its page, its question and its word are there."""
    await asyncio.sleep(at)
    ticket, request = f"{random.getrandbits(128):032x}", BackMsg()
    request.rerun_script.query_string = f"poll={code}"
    times, began = list[float](), time.monotonic()
    async with asyncio.timeout(60.0), opened(address) as browser:
        await browser.send(request.SerializeToString())
        async for content in browser:
            element = ForwardMsg.FromString(content).delta.new_element
            if element.WhichOneof("type") != "bidi_component":
                continue
            known = json.loads(element.bidi_component.json)
            if [True, "asked" in known, known["taken"] == ticket][len(times)]:
                times.append(time.monotonic() - began)
                if len(times) == 3:
                    return times
                name, more = [("ask", {}), ("answer", {"word": 1})][len(times) - 1]
                value = {"ticket": ticket, "round": 0} | more
                said = json.dumps([{"event": name, "value": value}])
                states, component = request.rerun_script.widget_states, element.bidi_component.id
                del states.widgets[:]
                states.widgets.add(id=component, json_value="{}")
                states.widgets.add(id=EVENTS.format(component), json_trigger_value=said)
                began = time.monotonic()
                await browser.send(request.SerializeToString())
    raise RuntimeError("the telephone's page closed.")


async def measure_poll(address: str) -> str:
    """Measure telephones that open a poll within one second, in a table of its own."""
    code, chance = await begin_poll(address), random.Random(1)
    await answer(address, code, 0.0)
    phones = (answer(address, code, chance.random()) for _ in range(PHONES))
    waits = zip(*await asyncio.gather(*phones), strict=True)
    names = ("page", "question", "word taken")
    rows = (row(name, median(each), max(each)) for name, each in zip(names, waits, strict=True))
    return "\n".join(["", head(f"{PHONES} telephones", "median s", "most s"), *rows])


async def make_pools(address: str, made: list[int]) -> None:
    """Make the largest pool for one seed after the other."""
    for seed in range(1000, 2000):
        await Visitor(address, f"{LARGEST}{seed}").visit(0, 0.0)
        made.append(seed)


async def measure(address: str, process: int, name: str, seconds: float) -> str:
    """Measure a row: how many visitors, and seconds between two moves of each."""
    (count, every), made = ROWS[name], list[int]()
    await Visitor(address).visit(3, 1.0)
    pools = asyncio.create_task(make_pools(address, made)) if name == "beside" else None
    visitors, moves = [Visitor(address, seed=seed) for seed in range(count)], seconds // every
    visits = (each.visit(int(moves), every) for each in visitors)
    errors = [repr(end) for end in await asyncio.gather(*visits, return_exceptions=True) if end]
    waits = sorted(wait for each in visitors for wait in each.waits) or [float("inf")]
    times = waits[len(waits) // 2], waits[len(waits) * 95 // 100], max(v.last for v in visitors)
    shown = f"{count}, a move every {every:g} s"
    shown += f", beside {len(made)} largest pools" if pools else ""
    memory, kinds = megabytes("VmRSS", process), " ".join(sorted({*errors}))
    return row(shown, int(count * moves), len(waits), *times, memory, f"{len(errors)} {kinds}")


def main() -> None:
    """Print the table, row by row, each from a fresh server."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each row (60)")
    known = [*ROWS, POLL]
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="some of the rows")
    options = parser.parse_args()
    times = ("median s", "p95 s", "last move s")
    columns = head("visitors", "moves", "pictures", *times, "server MB", "errors")
    print(f"{machine()}, {options.seconds:g} s each\n\n{columns}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        for name in options.only:
            with started(cache) as (address, process):
                poll, seconds = name == POLL, options.seconds
                rows = measure_poll(address) if poll else measure(address, process, name, seconds)
                print(asyncio.run(rows), flush=True)


if __name__ == "__main__":
    main()
