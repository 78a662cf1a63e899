"""Open the app in your browser, or serve it to a class.

By default only this computer can use the app. `--class` lets others on your network open it at this
computer's address; `--host` names other addresses. Press Ctrl-C to stop.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import NoReturn

from abcdp_core.base.parameters import Parameter
from abcdp_core.base.places import ROOT

PORT = Parameter(kind="integer", label="Port", low=1, high=65_535)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--port", default="8501", metavar="P", help="port to listen on (8501)")
    parser.add_argument(
        "--host", default="", metavar="H",
        help="names or addresses that others use to open it, separated by commas",
    )  # fmt: skip
    parser.add_argument(
        "--class", dest="to_class", action="store_true",
        help="let others on your network open it, at this computer's address",
    )  # fmt: skip


def run(options: argparse.Namespace) -> NoReturn:
    """Replace this process by Streamlit's server.

    Raises:
        ParameterError: the port is not valid.
    """
    port = str(PORT.parse("port", options.port))
    hosts = options.host or (own_address() if options.to_class else "")
    more = []
    if hosts:
        os.environ |= {"ABCDP_SERVED": "1", "ABCDP_POLL": "1", "ABCDP_HOSTS": hosts}
        more = ["--server.address", "0.0.0.0"]
        # With a certificate, Streamlit answers https only.
        scheme = "https" if os.environ.get("STREAMLIT_SERVER_SSL_CERT_FILE") else "http"
        print(f"Others can open {scheme}://{hosts.partition(',')[0]}:{port}", flush=True)
    # -P: a file in the current folder must not shadow one of the app's.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(ROOT / "app.py")]
    os.execv(sys.executable, [*command, "--server.port", port, *more])


def own_address() -> str:
    """Return this computer's address on its network; no message is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # An address reserved for documentation.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostname()
        return probe.getsockname()[0]
