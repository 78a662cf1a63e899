"""How many files and connections this server may have open, and for how many visitors they do."""

from __future__ import annotations

import contextlib

try:
    import resource
except ImportError:
    # Windows, which has no such limit.
    resource = None  # type: ignore[assignment]

WANTED = 4096
"""What may be open at a time: four for each visitor, three for each of those who left not long ago,
and pools, workers and browsers. Many systems allow 256 or 1024 unless asked."""

OWN, OF_EACH = 64, 8
"""What the server needs itself, and what a visitor needs and one who left."""


def allow() -> None:
    """Let this process have as many open as its visitors need."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if most == resource.RLIM_INFINITY else min(WANTED, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def quarter() -> int:
    """A quarter of what may be open, or is wanted."""
    if resource is None:
        return WANTED // 4
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (WANTED if now == resource.RLIM_INFINITY else min(WANTED, now)) // 4


def room_for(most: int) -> int:
    """For how many visitors there is room, of so many; as many may have left not long ago."""
    if resource is None:
        return most
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if now == resource.RLIM_INFINITY else max(1, min(most, (now - OWN) // OF_EACH))
