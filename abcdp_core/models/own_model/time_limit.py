"""Stop a simulation of a user's model that takes too long or never ends."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from abcdp_core.base.parameters import Parameter

VARIABLE = "ABCDP_SECONDS_PER_RUN"
"""Variable of the environment with the limit, so that worker processes have it too."""

SECONDS = Parameter("real", "Seconds per simulation", low=0.01, high=1e6, special=(math.inf,))
USUAL = 60.0


PATIENCE = 10.0
"""How many times as long as before a simulation may take among others."""

_longest: dict[str, float] = {}
"""File of a model -> most seconds of one simulation so far, on average over a call."""


@contextlib.contextmanager
def limited(file: str, many: int) -> Iterator[None]:
    """Let the block raise once it has taken longer than its simulations may take.

    One has the limit. Several together, which cannot be told apart, have it once besides ten times
    what they took so far: one that hangs is found, and none that is only slow is done again, which
    would draw other random numbers.

    Only the main thread of a process can be stopped, and only where Python runs: compiled code ends
    first. Elsewhere, and on systems without such a clock, there is no limit.

    Args:
        file: of the model.
        many: simulations in the block.

    Raises:
        TimeoutError: the time is over.
    """
    seconds = float(os.environ.get(VARIABLE, USUAL))
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and hasattr(signal, "setitimer") and math.isfinite(seconds)):
        yield
        return
    limit = seconds * many
    if many > 1 and file in _longest:
        limit = min(limit, seconds + PATIENCE * many * _longest[file])

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"took more than {limit:g} s")

    before, began = signal.signal(signal.SIGALRM, stop), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
        took = (time.monotonic() - began) / many
        _longest[file] = max(took, _longest.get(file, 0.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
