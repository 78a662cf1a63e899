"""What anybody can have written to the log is written now and then."""

from __future__ import annotations

import logging

import pytest
from streamlit.runtime import app_session

from ui import log


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> log.Seldom:
    """A limit of its own, on the logger of Streamlit that is told of parts that are not there."""
    found = log.Seldom()
    monkeypatch.setattr(log, "_seldom", found)
    loggers = {name: logging.getLogger(name) for name in (app_session.__name__, "one", "other")}
    monkeypatch.setattr(logging.root.manager, "loggerDict", loggers)
    for logger in loggers.values():
        monkeypatch.setattr(logger, "filters", [])
        monkeypatch.setattr(logger, "propagate", True)
    log.write_seldom()
    return found


def say(name: str, times: int) -> None:
    for each in range(times):
        logging.getLogger(name).warning("number %s", each)


@pytest.mark.usefixtures("seldom")
def test_the_same_is_written_a_few_times_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(log.time, "monotonic", lambda: now)
    say("one", 500)
    assert len(caplog.messages) == log.MOST
    # Another place in a program is not meant.
    logging.getLogger("one").warning("something else")
    assert caplog.messages[-1] == "something else"
    now += log.WITHIN
    say("one", 500)
    assert caplog.messages[log.MOST + 1] == "number 0 (490 more of this kind were left out.)"
    assert len(caplog.messages) == 2 * log.MOST + 1


@pytest.mark.usefixtures("seldom")
def test_a_part_of_a_page_that_is_not_there_is_such_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, app_session.__name__)
    for _ in range(50):
        app_session._LOGGER.info("The fragment with id %s does not exist anymore", "f" * 256)
    assert len(caplog.messages) == log.MOST


def fail(name: str, error: type[Exception], times: int) -> None:
    """As a page does: one place writes the errors of all."""
    for _ in range(times):
        try:
            if error is KeyError:
                raise KeyError
            raise error
        except Exception:
            logging.getLogger(name).exception("Uncaught app execution")


@pytest.mark.usefixtures("seldom")
def test_one_error_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    fail("one", ValueError, 50)
    fail("one", KeyError, 50)
    kinds = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert kinds == [ValueError] * log.MOST + [KeyError] * log.MOST


@pytest.mark.usefixtures("seldom")
def test_an_error_that_was_never_raised_is_written(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("one").warning("a word", exc_info=ValueError())
    assert caplog.messages == ["a word"]
