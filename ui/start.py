"""Start and stop what the app needs beside Streamlit's server."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator

import numba  # noqa: F401
import pandas as pd  # noqa: F401
import plotly.graph_objects as go  # noqa: F401
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from abcdp_core import studies
from abcdp_core.publish.output import story
from ui.jobs import work
from ui.server import settings, streamlit_internals
from ui.server.http_filter import HttpFilter
from ui.view import page_table

FIRST_NEEDED = "posterior", "expected-error"
"""Studies that most pages need. They, and what is imported above, are loaded before anyone can ask:
two pages that import pandas or plotly at once leave one of them half imported."""


def middleware() -> list[Middleware]:
    """Return the filter for this process's settings; end the program if these are not allowed."""
    # Where settings are kept as Streamlit's secrets, they become part of the environment here.
    st.secrets.load_if_toml_exists()
    try:
        current = settings.current()
    except settings.SettingsError as error:
        sys.exit(str(error))
    pages = [page.file for page in page_table.shown()]
    streamlit_internals.keep_clicks(pages)
    for name in FIRST_NEEDED:
        studies.load(name).Params()
    return [Middleware(HttpFilter, settings=current, preload=streamlit_internals.drawing_script())]


async def _draws(_: Request) -> FileResponse:
    # The page asks for them by the version that it is.
    kept = {"cache-control": "public, max-age=86400"}
    return FileResponse(story.DRAWS, media_type="application/octet-stream", headers=kept)


ROUTES = [Route("/story/draws.bin", _draws)]
"""What the server has beside Streamlit's own addresses: the draws of the story."""


@contextlib.asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """End worker processes with the server, whatever they are doing."""
    try:
        yield
    finally:
        work.stop_processes()
