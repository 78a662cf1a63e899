"""A page is printed in bounded time, and no browser is left behind."""

import threading
from pathlib import Path

import pytest

from abcdp_core.output import paper
from abcdp_core.output.formats import ExportError


def test_a_browser_that_does_not_answer_is_ended_with_all_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "browser"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(silent))
    monkeypatch.setattr(paper, "LONGEST", 1.0)
    before = set(threading.enumerate())
    with pytest.raises(ExportError, match="it did not answer within 1 s"):
        paper.pdf("<p>words</p>")
    left = [each for each in threading.enumerate() if each not in before and not each.daemon]
    for thread in left:
        thread.join(5.0)
    # Python would wait for such a thread when it ends; it reads until the browser has ended.
    assert not any(thread.is_alive() for thread in left)
