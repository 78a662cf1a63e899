"""A line in which addresses take turns, and the sessions of each, however much they have waiting.

Every session has a row of its own. The first session in line is served the first of its row and
then goes to the end, so who asks for ten things waits as long for the second as everybody else
for the first; and so it is among the addresses that sessions come from, so who opens a hundred
pages waits as long for the second of them. The line is bounded, and so is each row: what is new
takes the place of the oldest in its row, for that is a move of a knob which was followed by others.
In a line that is full it takes the place of the last of the address that has most in it.

Nothing here knows what waits, locks or sleeps; :mod:`ui.jobs` and :mod:`ui.turns` do.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FullError(Exception):
    """There is no more room in the line."""


class Line(Generic[T]):
    """What waits, by address and session.

    Args:
        room: how many may wait in all.
        each: how many of them for one session.
    """

    def __init__(self, room: float = math.inf, each: float = math.inf) -> None:
        self._room, self._each = room, each
        self._rows: OrderedDict[str, OrderedDict[str, deque[T]]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(_count, self._rows.values()))

    def __iter__(self) -> Iterator[T]:
        for rows in self._rows.values():
            for row in rows.values():
                yield from row

    def join(self, who: str, item: T, address: str = "") -> list[tuple[str, T]]:
        """Wait in a session's row.

        Args:
            who: the session.
            item: what waits.
            address: where the session comes from.

        Returns:
            What had to leave for it, and its session: the oldest of the same row, if that was
            full, or the last of the address that has most, if the line was.

        Raises:
            FullError: the line is full, the row is not, and no address has more in it.
        """
        row = self._rows_of(address).get(who, deque())
        gone = []
        if len(row) >= self._each:
            gone = [(who, row[0])]
        elif len(self) >= self._room:
            gone = [self._last_of_most(address)]
        # First the new one, so that a row which was full keeps its turn.
        self._rows.setdefault(address, OrderedDict()).setdefault(who, row).append(item)
        for _, former in gone:
            self.leave(former)
        return gone

    def _rows_of(self, address: str) -> OrderedDict[str, deque[T]]:
        return self._rows.get(address, OrderedDict())

    def _last_of_most(self, address: str) -> tuple[str, T]:
        most = max(self._rows.values(), key=_count)
        if _count(most) <= _count(self._rows_of(address)) + 1:
            raise FullError
        who = max(reversed(most), key=lambda who: len(most[who]))
        return who, most[who][-1]

    def leave(self, item: T) -> bool:
        """Wait no more; says whether it did."""
        for address, rows in self._rows.items():
            for who, row in rows.items():
                if item in row:
                    row.remove(item)
                    if not row:
                        del rows[who]
                    if not rows:
                        del self._rows[address]
                    return True
        return False

    def take(self, may: Callable[[str, T], bool] = lambda *_: True) -> tuple[str, T] | None:
        """The next whose turn it is, and its session; ``None`` if there is none.

        Args:
            may: whether it may be served now; who may not keeps its turn.
        """
        for address, rows in self._rows.items():
            for who, row in rows.items():
                item = next((item for item in row if may(who, item)), None)
                if item is not None:
                    # Before it may be forgotten with its row.
                    rows.move_to_end(who)
                    self._rows.move_to_end(address)
                    self.leave(item)
                    return who, item
        return None

    def ahead(self, item: T) -> int | None:
        """How many are served before it if nobody else comes; ``None`` if it does not wait."""
        if item not in iter(self):
            return None
        rest = Line[T]()
        rest._rows = OrderedDict(
            (address, OrderedDict((who, deque(row)) for who, row in rows.items()))
            for address, rows in self._rows.items()
        )
        count = 0
        while (turn := rest.take()) is not None and turn[1] is not item:
            count += 1
        return count


def _count(rows: OrderedDict[str, deque[T]]) -> int:
    return sum(map(len, rows.values()))
