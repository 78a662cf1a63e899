"""Files on their way to a page: what others send to this server lies here until a page reads it.

Streamlit keeps as many as anybody sends, as long as there is the session that they were sent to,
and for good if they arrive after its end.
"""

from __future__ import annotations

import sys

from starlette.formparsers import MultiPartParser
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager


def stay_in_memory() -> None:
    """Keep a file off the disk on its way: of a megabyte or more it would be written there.

    It would be gone from the folder for temporary files at once, and its numbers would not be gone
    from the disk. How large a file may be is a setting of Streamlit's.
    """
    MultiPartParser.spool_max_size = sys.maxsize


def is_unread(session: str, file: str) -> bool:
    """Whether a session's file lies there."""
    manager = _manager()
    return manager is not None and file in manager.file_storage.get(session, ())


def remove(session: str, file: str) -> None:
    """Leave nothing of a file that no page has read."""
    manager = _manager()
    if manager is not None:
        manager.remove_file(session, file)
        with manager._lock:
            if not manager.file_storage.get(session, True):
                del manager.file_storage[session]


def _manager() -> MemoryUploadedFileManager | None:
    manager = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    return manager if isinstance(manager, MemoryUploadedFileManager) else None
