"""A line in which sessions take turns, however much each of them has waiting.

Every session has a row of its own. The first session in line is served the first of its row and
then goes to the end, so who asks for ten things waits as long for the second as everybody else
for the first. The line is bounded, and so is each row: what is new takes the place of the oldest in
its row, for that is a move of a knob which was followed by others.

Nothing here knows what waits, locks or sleeps; :mod:`ui.jobs` does.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FullError(Exception):
    """There is no more room in the line."""


class Line(Generic[T]):
    """What waits, by session.

    Args:
        room: how many may wait in all.
        each: how many of them for one session.
    """

    def __init__(self, room: int, each: int) -> None:
        self._room, self._each = room, each
        self._rows: OrderedDict[str, deque[T]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def __iter__(self) -> Iterator[T]:
        for row in self._rows.values():
            yield from row

    def join(self, who: str, item: T) -> list[T]:
        """Wait in a session's row.

        Returns:
            What had to leave for it: the oldest of the row, if that was full.

        Raises:
            FullError: the line is full, and the row is not.
        """
        row = self._rows.get(who, deque())
        gone = [row.popleft()] if len(row) >= self._each else []
        if not gone and len(self) >= self._room:
            raise FullError
        row.append(item)
        self._rows[who] = row
        return gone

    def leave(self, item: T) -> bool:
        """Wait no more; says whether it did."""
        for who, row in self._rows.items():
            if item in row:
                row.remove(item)
                if not row:
                    del self._rows[who]
                return True
        return False

    def take(self, may: Callable[[str, T], bool]) -> tuple[str, T] | None:
        """The next whose turn it is, and its session; ``None`` if there is none.

        Args:
            may: whether it may be served now; who may not keeps its turn.
        """
        for who, row in self._rows.items():
            item = next((item for item in row if may(who, item)), None)
            if item is not None:
                row.remove(item)
                if row:
                    self._rows.move_to_end(who)
                else:
                    del self._rows[who]
                return who, item
        return None

    def ahead(self, item: T) -> int | None:
        """How many are served before it if nobody else comes; ``None`` if it does not wait."""
        for place, row in enumerate(self._rows.values()):
            if item in row:
                rounds = row.index(item)
                others = enumerate(self._rows.values())
                return rounds + sum(
                    min(len(other), rounds + (turn < place))
                    for turn, other in others
                    if turn != place
                )
        return None
