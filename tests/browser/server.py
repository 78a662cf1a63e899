"""A server of the app on a free port, from its first answer until it is no longer needed."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

PATIENCE = 60.0
"""Seconds: machines that run tests can be busy."""


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


def command(port: int, *more: str) -> list[str]:
    """The command that starts the app from the checkout."""
    return [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *more]


@contextlib.contextmanager
def running(
    command: Sequence[str],
    port: int,
    folder: Path,
    cwd: Path = ROOT,
    end: Callable[[subprocess.Popen[bytes]], None] = subprocess.Popen.terminate,
    **environment: str,
) -> Iterator[str]:
    """A server with a cache in a folder; gives its address."""
    places = {"ABCDP_CACHE_DIR": str(folder / "cache"), "ABCDP_POLLS": str(folder / "polls")}
    own = os.environ | places | environment
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, cwd=cwd, env=own, stdout=log, stderr=log)
        try:
            _wait_until_up(f"http://localhost:{port}", process)
            yield f"http://localhost:{port}"
        finally:
            end(process)
            process.wait(timeout=PATIENCE)


def _wait_until_up(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if _health(address) == b"ok":
            return
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def _health(address: str) -> bytes:
    """The body, because every path answers 200."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            return answer.read()
    except OSError:
        return b""
