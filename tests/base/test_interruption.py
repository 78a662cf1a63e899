from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from abcdp_core.base import interruption
from abcdp_core.base.interruption import Stopped, defer_signals, like_ctrl_c

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

NUMBERS = [signal.Signals(number) for number in interruption.NUMBERS]


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """Handlers as in a program that has just started, also where tests run without a terminal."""
    before = {each: signal.getsignal(each) for each in NUMBERS}
    for each in NUMBERS:
        usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, usual)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_of_several_signals_raises_like_ctrl_c(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, again = signal.getsignal(number), False
    with like_ctrl_c():
        with pytest.raises(Stopped) as caught:
            signal.raise_signal(number)
        # Closing a terminal sends one signal to the group, and the shell sends another.
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


def test_plain_ctrl_c_has_words_and_a_code_and_the_end_of_a_program_is_not_interrupted() -> None:
    assert interruption.words_for(KeyboardInterrupt()) == "Interrupted"
    assert interruption.exit_code(KeyboardInterrupt()) == 130
    interruption.pass_over()
    for each in NUMBERS:
        signal.raise_signal(each)


def test_signals_that_are_ignored_or_handled_already_are_left_alone() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    with like_ctrl_c():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.parametrize("number", NUMBERS)
def test_held_signals_come_after_the_block_and_the_first_counts(number: signal.Signals) -> None:
    steps = []

    def hold() -> None:
        with defer_signals():
            with defer_signals():
                signal.raise_signal(number)
                steps.append("inner")
            signal.raise_signal(signal.SIGINT)
            steps.append("outer")

    with pytest.raises(KeyboardInterrupt) as caught, like_ctrl_c():
        hold()
    assert steps == ["inner", "outer"]
    assert interruption.exit_code(caught.value) == 128 + number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
