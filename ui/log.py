"""How often the same is written to the log: whoever opens a page can have things written there.

A message that asks for a part of a page which is not there leaves a line, and a widget of another
kind a traceback; both may be sent twenty times a second over each of many connections. The disk
would be full in days, and what else was logged is gone from a log that is kept short.
"""

from __future__ import annotations

import logging
import time
import traceback

MOST, WITHIN = 10, 60.0
"""Lines from one place in a program, in so many seconds."""

Place = tuple[str, int]
"""A file and a line in it."""


class Seldom(logging.Filter):
    """Lets each place in a program write so often; the next line then says what was left out.

    One place writes the errors of all pages, so they are told apart by where they were raised.
    """

    def __init__(self) -> None:
        super().__init__()
        # Places -> when their time began, and how many lines wanted to be written since then.
        self._places: dict[tuple[Place, Place | None], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        place, now = ((record.pathname, record.lineno), _raised(record)), time.monotonic()
        began, count = self._places.get(place, (now, 0))
        if now - began >= WITHIN:
            if count > MOST:
                record.msg = f"{record.msg} ({count - MOST:,} more of this kind were left out.)"
            began, count = now, 0
        self._places[place] = began, count + 1
        return count < MOST


def _raised(record: logging.LogRecord) -> Place | None:
    """Where the error was raised that a line tells of, if it does."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None or error.__traceback__ is None:
        return None
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return frame.f_code.co_filename, line


_seldom = Seldom()


def write_seldom() -> None:
    """Have it hold for all loggers there are."""
    for logger in [*logging.root.manager.loggerDict.values()]:
        if isinstance(logger, logging.Logger):
            logger.addFilter(_seldom)
