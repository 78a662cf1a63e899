from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from abcdp_core import interruption
from abcdp_core.interruption import Stopped, held, like_ctrl_c

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

NUMBERS = [signal.Signals(number) for number in interruption.NUMBERS]


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """As in a program that somebody has just started, also where tests run without a terminal."""
    before = {each: signal.getsignal(each) for each in NUMBERS}
    for each in NUMBERS:
        usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, usual)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_any_signal_raises_what_ctrl_c_raises_and_only_the_first_of_several(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, again = signal.getsignal(number), False
    with like_ctrl_c():
        with pytest.raises(Stopped) as caught:
            signal.raise_signal(number)
        # A terminal that is closed sends one to the group, and the shell another one.
        for each in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.raise_signal(each)
        monkeypatch.setattr(interruption, "IMPATIENCE", 0.0)
        with pytest.raises(Stopped):
            signal.raise_signal(number)
        again = True
    assert again
    assert interruption.exit_code(caught.value) == 128 + number
    assert interruption.words_for(caught.value) == interruption.WORDS[number.name]
    assert signal.getsignal(number) == usual


def test_ctrl_c_itself_has_words_and_a_code() -> None:
    assert interruption.words_for(KeyboardInterrupt()) == "Interrupted"
    assert interruption.exit_code(KeyboardInterrupt()) == 130


def test_at_the_end_nothing_is_stopped_any_more() -> None:
    interruption.pass_over()
    for each in NUMBERS:
        signal.raise_signal(each)


def test_a_signal_that_somebody_ignores_or_handles_is_left_alone() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    with like_ctrl_c():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_held_comes_after_the_block_and_the_first_counts(number: signal.Signals) -> None:
    steps = []

    def hold() -> None:
        with held():
            with held():
                signal.raise_signal(number)
                steps.append("inner")
            signal.raise_signal(signal.SIGINT)
            steps.append("outer")

    with pytest.raises(KeyboardInterrupt) as caught, like_ctrl_c():
        hold()
    assert steps == ["inner", "outer"]
    assert interruption.exit_code(caught.value) == 128 + number
    # Afterwards all is as before.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_hold_nothing() -> None:
    handlers = []

    def look() -> None:
        with like_ctrl_c(), held():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
