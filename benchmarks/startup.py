"""How long a person waits: for the list of experiments, and for the first page of a cold server."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from benchmarks import server
from benchmarks.measure import Measurement
from benchmarks.server import ROOT


def measure(repeats: int) -> Iterator[Measurement]:
    """Commands that compute nothing, then the first page, without and with a pool in the cache."""
    for words, goal in (("list", "0.7"), ("--help", ""), ("run --help", "")):
        wall, processor = zip(*(_command(words.split()) for _ in range(repeats)), strict=True)
        yield Measurement(f"command line: {words}", wall, goal=goal)
        yield Measurement(f"command line: {words}, processor time", processor)
    empty, filled = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            empty.append(_first_page(folder))
            filled.append(_first_page(folder))
    for name, visits, goal in (("empty cache", empty, ""), ("pool in the cache", filled, "2")):
        wall, processor = zip(*visits, strict=True)
        yield Measurement(f"app: first page of a cold server, {name}", wall, goal=goal)
        yield Measurement("app: processor time, the server's start included", processor)


def _command(words: Sequence[str]) -> tuple[float, float]:
    """Seconds of one command, and seconds of processor time."""
    before = _processor_time()
    start = time.perf_counter()
    command = [sys.executable, "-m", "abcdp_core", *words]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, _processor_time() - before


def _processor_time() -> float:
    """Seconds that the processes took which this one started and which ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _first_page(cache: str) -> tuple[float, float]:
    """Seconds from the first request to a new server until all of the page is there.

    And seconds of processor time of that server, its start included.
    """
    before = _processor_time()
    with server.started(cache) as here:
        start = time.perf_counter()
        # The server takes visitors from its own pages only.
        with connect(
            f"ws://{here.address}/_stcore/stream", origin=f"http://{here.address}", max_size=None
        ) as browser:
            _visit(browser)
        wall = time.perf_counter() - start
    return wall, _processor_time() - before


def _visit(browser: ClientConnection) -> None:
    """Do what a browser does until a script has ended that drew a figure: then all is there."""
    browser.send(_rerun())
    waiting: dict[str, float] = {}
    drawn = False
    while True:
        try:
            content = browser.recv(min(waiting.values(), default=None))
        except TimeoutError:
            for fragment in waiting:
                browser.send(_rerun(fragment))
            continue
        message = ForwardMsg.FromString(content)
        kind = message.WhichOneof("type")
        if kind == "auto_rerun":
            waiting[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "delta":
            drawn |= message.delta.new_element.WhichOneof("type") == "plotly_chart"
        elif kind == "script_finished" and drawn:
            return


def _rerun(fragment: str = "") -> bytes:
    """A browser's request to run the page, or a part of it that runs again by itself."""
    request = BackMsg()
    request.rerun_script.fragment_id = fragment
    return request.SerializeToString()
