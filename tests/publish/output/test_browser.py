"""Pages are printed and figures drawn in bounded time, and no browser is left behind."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from abcdp_core.publish.output import browser, paper
from abcdp_core.publish.output.formats import ExportError


@pytest.mark.usefixtures("silent")
def test_a_browser_that_does_not_answer_is_ended_with_all_that_waits_for_it() -> None:
    before = set(threading.enumerate())
    with pytest.raises(ExportError, match="it did not answer within 1 s"):
        paper.pdf("<p>words</p>")
    left = [each for each in threading.enumerate() if each not in before and not each.daemon]
    for thread in left:
        thread.join(5.0)
    # Python would wait for such a thread when it ends; it reads until the browser has ended.
    assert not any(thread.is_alive() for thread in left)


class Browser:
    """Stands for the library's: what waits for one that has ended is cancelled."""

    async def open(self) -> None:
        waiting = [sys.executable, "-c", "import time; time.sleep(60)"]
        self.subprocess = subprocess.Popen(waiting, start_new_session=True)
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        self.answer.cancel()


def test_a_browser_that_ends_before_it_is_done_is_an_error_that_says_so() -> None:
    async def killed(used: Any) -> None:
        used.subprocess.kill()
        used.subprocess.wait()
        await used.close()
        await used.answer

    with pytest.raises(RuntimeError, match="it ended before it was done"):
        browser.use(Browser, killed)


def test_who_interrupts_the_work_is_told_of_nothing_else(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library says of work that is cancelled that the browser failed; it was all logged."""

    async def interrupted(used: Any) -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)
        try:
            await used.answer
        except asyncio.CancelledError:
            raise RuntimeError("install another browser") from None

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            browser.use(Browser, interrupted)
    finally:
        signal.signal(signal.SIGTERM, before)
    gc.collect()
    assert caplog.text + capsys.readouterr().err == ""
