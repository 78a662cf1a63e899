"""Sessions whose connection was lost: which of them find their work when they come back.

Streamlit keeps as many as there is room for, the last ones. So who opened and closed a hundred
pages, or a class that did, dropped all that others had: also a release, of which a session has the
only copy. Here the address that has most of them gives one up, and of its sessions the one that did
least, be it the one that comes.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar

from streamlit import config, runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from ui import open_files

MOST = 128
"""Sessions that are kept; each takes memory, and open files."""

caller: ContextVar[str] = ContextVar("caller", default="")
"""Address of the page whose connection is being served."""


class Lost(MemorySessionStorage):
    """Sessions without a connection, for some minutes."""

    def __init__(self, seconds: int) -> None:
        self._most = open_files.room_for(MOST)
        # One more than are kept, so that it drops none by itself.
        super().__init__(self._most + 1, seconds)
        # Session -> the address that it comes from.
        self._from: dict[str, str] = {}

    def save(self, session_info: SessionInfo) -> None:
        """Keep a session, if need be in place of another one."""
        runs = {each.session.id: each.script_run_count for each in self.list()}
        runs[session_info.session.id] = session_info.script_run_count
        self._from[session_info.session.id] = caller.get()
        self._from = {who: self._from.get(who, "") for who in runs}
        super().save(session_info)
        if len(runs) > self._most:
            gone = self._least(runs)
            self.delete(gone)
            del self._from[gone]

    def _least(self, runs: dict[str, int]) -> str:
        """The first one of those that did least, from the address that has most."""
        count = Counter(self._from.values())
        most = max(count.values())
        return min((who for who in runs if count[self._from[who]] == most), key=runs.__getitem__)


def keep() -> None:
    """Have the server that has begun keep sessions so."""
    # There is no public way to a server's storage; what stands for a server in tests has none.
    sessions = getattr(runtime.get_instance(), "_session_mgr", None)
    if sessions is not None:
        sessions._session_storage = Lost(config.get_option("server.disconnectedSessionTTL"))
