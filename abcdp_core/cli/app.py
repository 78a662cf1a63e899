"""Open the app in your browser, or serve it to a class.

``abcdp app`` is for this computer alone. With ``--class`` others in the room reach it at this
computer's address, and with ``--host`` at the names or addresses that are given. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import NoReturn

from abcdp_core.parameters import Parameter
from abcdp_core.places import ROOT

PORT = Parameter(kind="integer", label="Port", low=1, high=65_535)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--port", default="8501", metavar="P", help="where it listens (8501)")
    parser.add_argument(
        "--host", default="", metavar="H",
        help="names or addresses by which others reach it, separated by commas",
    )  # fmt: skip
    parser.add_argument(
        "--class", dest="to_class", action="store_true",
        help="let others in the room use it, at this computer's address",
    )  # fmt: skip


def run(options: argparse.Namespace) -> NoReturn:
    """Replace this process by Streamlit's server.

    Raises:
        ParameterError: there is no such port.
    """
    port = str(PORT.parse("port", options.port))
    hosts = options.host or (own_address() if options.to_class else "")
    more = []
    if hosts:
        os.environ |= {"ABCDP_SERVED": "1", "ABCDP_HOSTS": hosts}
        more = ["--server.address", "0.0.0.0"]
        print(f"Others open http://{hosts.partition(',')[0]}:{port}", flush=True)
    # -P: a file in the current folder must not stand in for one of the app's.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(ROOT / "app.py")]
    os.execv(sys.executable, [*command, "--server.port", port, *more])


def own_address() -> str:
    """Return the address by which others reach this computer; no message is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # An address that documentation is reserved for.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostname()
        address: str = probe.getsockname()[0]
        return address
