"""``python -m benchmarks.slow_line``: a class opens the page over one slow line.

Each browser asks for the page's largest scripts over six connections that it keeps. The line gives
all of them their share, so that each is read slowly, and all the time. It prints a row for
``benchmarks/README.md``; a proxy that is there already is measured by ``--address``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import streamlit

from benchmarks import server

CONNECTIONS = 6
"""Of a browser to one host."""

PIECE = 4096
"""Bytes that are taken at a time."""

LARGEST = ("PlotlyChart", "protobuf", "index")
"""How the scripts' names begin that a page with a figure has."""

HEADER = "| browsers | line, MB/s | MB each | files | cut short | asked again | s |\n|" + "---|" * 7


@dataclass
class Class:
    """Browsers that share a line.

    Attributes:
        address: host and port of the server.
        rate: of the line, bytes a second.
        whole: files that came as a whole.
        cut: those that ended early.
        again: times that a kept connection was closed before it answered; browsers ask again.
    """

    address: tuple[str, int]
    rate: float
    whole: int = 0
    cut: int = 0
    again: int = 0
    _free: float = field(default=0.0, repr=False)

    async def _taken(self, count: int) -> None:
        """Wait until the line has brought so many bytes."""
        now = asyncio.get_running_loop().time()
        self._free = max(self._free, now) + count / self.rate
        await asyncio.sleep(self._free - now)

    async def load(self, files: list[str]) -> None:
        """One browser's files."""
        wanted = list(files)
        await asyncio.gather(*(self._over_one_connection(wanted) for _ in range(CONNECTIONS)))

    async def _over_one_connection(self, wanted: list[str]) -> None:
        line = None
        while wanted:
            path = wanted.pop()
            is_kept, line = line is not None, line or await self._connected()
            length = await self._asked(path, *line)
            if length is not None and await self._came(length, line[0]):
                self.whole += 1
                continue
            line[1].close()
            line = None
            if length is None and is_kept:
                self.again += 1
                wanted.append(path)
            else:
                self.cut += 1
        if line is not None:
            line[1].close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        line = socket.socket()
        # Else the system would read ahead what the line has not brought.
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        line.connect(self.address)
        return await asyncio.open_connection(sock=line, limit=PIECE)

    async def _asked(
        self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> int | None:
        """Bytes that are to come of a file; ``None`` if the connection was closed instead."""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.address[0]}\r\n\r\n".encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError):
            return None
        fields = dict(row.split(b": ", 1) for row in head.lower().splitlines()[1:-1])
        return int(fields[b"content-length"])

    async def _came(self, length: int, reader: asyncio.StreamReader) -> bool:
        """Whether so many bytes came."""
        while length:
            try:
                piece = await reader.readexactly(min(length, PIECE))
            except (asyncio.IncompleteReadError, OSError):
                return False
            length -= len(piece)
            await self._taken(len(piece))
        return True


def scripts() -> dict[str, int]:
    """Paths of the page's largest scripts, and their bytes."""
    folder = Path(streamlit.__file__).parent / "static" / "static" / "js"
    found = (file for file in folder.iterdir() if file.name.startswith(LARGEST))
    return {f"/static/js/{file.name}": file.stat().st_size for file in sorted(found)}


async def measured(address: tuple[str, int], browsers: int, rate: float) -> str:
    """A row of the table."""
    files, many = scripts(), Class(address, rate)
    begun = asyncio.get_running_loop().time()
    await asyncio.gather(*(many.load(list(files)) for _ in range(browsers)))
    took = asyncio.get_running_loop().time() - begun
    each = sum(files.values()) / 1e6
    counts = f"{many.whole} of {browsers * len(files)} | {many.cut} | {many.again}"
    return f"| {browsers} | {rate / 1e6:g} | {each:.1f} | {counts} | {took:.0f} |"


@contextlib.contextmanager
def _served(address: str | None) -> Iterator[str]:
    if address:
        yield address
        return
    with tempfile.TemporaryDirectory() as cache, server.started(cache) as here:
        yield here.address


def main() -> None:
    """Measure and print a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_line", description=__doc__)
    parser.add_argument("--browsers", type=int, default=30, help="how many (30)")
    parser.add_argument("--rate", type=float, default=0.75, help="MB a second of the line (0.75)")
    parser.add_argument("--address", help="host and port of a server that is there")
    options = parser.parse_args()
    with _served(options.address) as address:
        host, port = address.rsplit(":", 1)
        coming = measured((host, int(port)), options.browsers, 1e6 * options.rate)
        print(HEADER, asyncio.run(coming), sep="\n")


if __name__ == "__main__":
    main()
