"""A line in which addresses take turns, and the sessions of each, however much they have waiting.

Every session has a row of its own. The first session in line is served the first of its row and
then goes to the end, so who asks for ten things waits as long for the second as everybody else
for the first. Among the addresses that sessions come from the one comes first that was served
longest ago, so who opens a hundred pages waits as long for the second of them, and who comes for
the first time waits for nobody's second. The line is bounded, and so is each row: what is new takes
the place of the oldest in its row, for that is a move of a knob which was followed by others. In a
line that is full it takes the place of the last of the address that has most in it.

Nothing here knows what waits, locks or sleeps; :mod:`ui.jobs` and :mod:`ui.turns` do.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


REMEMBERED = 256
"""Addresses of which is known when they were served: as many as can be here at a time."""


class FullError(Exception):
    """There is no more room in the line."""


class Line(Generic[T]):
    """What waits, by address and session; it may wait for several sessions.

    Args:
        room: how many may wait in all.
        each: how many of them for one session.
    """

    def __init__(self, room: float = math.inf, each: float = math.inf) -> None:
        self._room, self._each = room, each
        self._rows: OrderedDict[str, OrderedDict[str, deque[T]]] = OrderedDict()
        # Addresses that were served, the last one last.
        self._served: OrderedDict[str, None] = OrderedDict()
        # How often each thing waits.
        self._times: Counter[T] = Counter()
        self._order: dict[T, int] | None = None

    def __len__(self) -> int:
        return self._times.total()

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._times))

    def join(self, who: str, item: T, address: str = "") -> list[tuple[str, T]]:
        """Wait in a session's row, be it that it waits in others already.

        Args:
            who: the session.
            item: what waits.
            address: where the session comes from.

        Returns:
            What waits no more because of it, and its session: the oldest of the same row, if that
            was full, or the last of the address that has most, if the line was.

        Raises:
            FullError: the line is full, the row is not, and no address has more in it.
        """
        row = self._rows_of(address).get(who, deque())
        if item in row:
            return []
        gone = []
        if len(row) >= self._each:
            gone = [(who, row[0])]
        elif len(self) >= self._room:
            gone = [self._last_of_most(address)]
        # First the new one, so that a row which was full keeps its turn.
        self._rows.setdefault(address, OrderedDict()).setdefault(who, row).append(item)
        self._times[item] += 1
        self._order = None
        for whose, former in gone:
            self.drop(whose, former)
        return [(whose, former) for whose, former in gone if former not in self._times]

    def _rows_of(self, address: str) -> OrderedDict[str, deque[T]]:
        return self._rows.get(address, OrderedDict())

    def _last_of_most(self, address: str) -> tuple[str, T]:
        most = max(self._rows.values(), key=_count)
        if _count(most) <= _count(self._rows_of(address)) + 1:
            raise FullError
        who = max(reversed(most), key=lambda who: len(most[who]))
        return who, most[who][-1]

    def drop(self, who: str, item: T) -> None:
        """Wait no more in a session's row."""
        for address, rows in self._rows.items():
            if item in rows.get(who, ()):
                rows[who].remove(item)
                if not rows[who]:
                    del rows[who]
                if not rows:
                    del self._rows[address]
                self._times[item] -= 1
                if not self._times[item]:
                    del self._times[item]
                self._order = None
                return

    def leave(self, item: T) -> bool:
        """Wait no more in any row; says whether it did."""
        did = item in self._times
        for who, other in self.places():
            if other is item:
                self.drop(who, item)
        return did

    def times(self, item: T) -> int:
        """For how many sessions something waits."""
        return self._times[item]

    def places(self) -> list[tuple[str, T]]:
        """What waits, and for whom."""
        return [
            (who, item) for rows in self._rows.values() for who, row in rows.items() for item in row
        ]

    def take(self, may: Callable[[str, T], bool] = lambda *_: True) -> tuple[str, T] | None:
        """The next whose turn it is, and its session; ``None`` if there is none.

        Args:
            may: whether it may be served now; who may not keeps its turn.
        """
        for address in self._by_turn():
            rows = self._rows[address]
            for who, row in rows.items():
                item = next((item for item in row if may(who, item)), None)
                if item is not None:
                    # Before it may be forgotten with its row.
                    rows.move_to_end(who)
                    self.leave(item)
                    self._note(address)
                    return who, item
        return None

    def _by_turn(self) -> list[str]:
        """Addresses that something waits for: in the order in which they came, or were served."""
        places = {address: place for place, address in enumerate(self._served, 1)}
        return sorted(self._rows, key=lambda address: places.get(address, 0))

    def _note(self, address: str) -> None:
        self._served[address] = None
        self._served.move_to_end(address)
        if len(self._served) > REMEMBERED:
            self._served.popitem(last=False)

    def ahead(self, item: T) -> int | None:
        """How many are served before it if nobody else comes; ``None`` if it does not wait."""
        if self._order is None:
            # Everybody who waits asks, again and again, and the line changes less often.
            self._order = {each: place for place, each in enumerate(self._in_order())}
        return self._order.get(item)

    def _in_order(self) -> Iterator[T]:
        rest = Line[T]()
        rest._served = self._served.copy()
        for address, rows in self._rows.items():
            for who, row in rows.items():
                for item in row:
                    rest.join(who, item, address)
        while (turn := rest.take()) is not None:
            yield turn[1]


def _count(rows: OrderedDict[str, deque[T]]) -> int:
    return sum(map(len, rows.values()))
