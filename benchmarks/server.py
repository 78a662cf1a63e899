"""Start the app's server for a measurement."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def started(cache: str, root: Path = ROOT) -> Iterator[tuple[str, int]]:
    """Start the app in a folder; yield the address and the process that answers there."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = ["--server.headless=true", f"--server.port={port}", "--server.address=localhost"]
    options += ["--browser.gatherUsageStats=false", "--browser.serverAddress=localhost"]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", *options],
        cwd=root,
        env=os.environ | {"ABCDP_CACHE_DIR": cache},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not _answers(f"http://localhost:{port}/_stcore/health"):
            if process.poll() is not None:
                raise RuntimeError("the server did not start.")
            time.sleep(0.05)
        yield f"localhost:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=1.0):
            return True
    except OSError:
        return False
