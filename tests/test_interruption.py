from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from abcdp_core import interruption
from abcdp_core.__main__ import main
from abcdp_core.interruption import Stopped, held, like_ctrl_c

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

OTHERS = [signal.Signals(number) for number in interruption.NUMBERS if number != signal.SIGINT]


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """As in a program that somebody has just started, also where tests run without a terminal."""
    before = {each: signal.getsignal(each) for each in interruption.NUMBERS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in OTHERS:
        signal.signal(each, signal.SIG_DFL)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", OTHERS)
def test_other_signals_raise_what_ctrl_c_raises(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, like_ctrl_c():
        signal.raise_signal(number)
    assert interruption.exit_code(caught.value) == 128 + number
    assert interruption.words_for(caught.value) == interruption.WORDS[number.name]
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_strikes_where_python_drops_it_is_raised_all_the_same(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = sys.unraisablehook
    # As llvmlite does when compiled functions are loaded.
    from_c = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))

    def work() -> None:
        from_c()
        threading.Event().wait(10.0)

    with pytest.raises(Stopped) as caught, like_ctrl_c():
        work()
    assert caught.value.number == number
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is hook
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_of_other_things_that_python_drops_it_complains_as_ever(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with like_ctrl_c():
        ctypes.CFUNCTYPE(None)(lambda: {}["missing"])()
    assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize(("at", "code"), [(signal.SIGHUP, 129), (signal.SIG_DFL, 0)])
def test_what_strikes_while_handlers_change_ends_the_program_in_a_line(
    at: object, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the work, HUP having its handler already; after it, TERM having none any more."""
    usual, struck = signal.signal, False

    def changed(number: signal.Signals, handler: Any) -> Any:
        nonlocal struck
        before = usual(number, handler)
        if at in (number, handler) and not struck:
            struck = True
            signal.raise_signal(signal.SIGHUP)
        return before

    monkeypatch.setattr(signal, "signal", changed)
    assert main(["list"]) == code
    assert struck
    said = capsys.readouterr().err
    assert said == ("Hung up; nothing is done yet.\n" if code else "")


def test_ctrl_c_itself_has_words_and_a_code() -> None:
    assert interruption.words_for(KeyboardInterrupt()) == "Interrupted"
    assert interruption.exit_code(KeyboardInterrupt()) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, *OTHERS])
def test_only_the_first_of_several_raises(number: signal.Signals) -> None:
    # A terminal that is closed sends one to the group, and the shell another one.
    cleaned_up = False
    with like_ctrl_c():
        try:
            signal.raise_signal(number)
        except Stopped:
            for each in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                signal.raise_signal(each)
            cleaned_up = True
            # The way out, should what is done at the first one never end.
            assert signal.getsignal(signal.SIGQUIT) == signal.SIG_DFL
    assert cleaned_up


@pytest.mark.parametrize("other", [signal.SIGTERM, signal.SIGQUIT])
def test_of_two_at_the_same_moment_the_first_counts_and_python_does_not_complain(
    other: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [signal.SIGINT, other]

    def strike() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, both)
        try:
            for each in both:
                # Not to the process: another thread may take the second one first.
                signal.pthread_kill(threading.get_ident(), each)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)

    with pytest.raises(Stopped) as caught, like_ctrl_c():
        strike()
    assert caught.value.number == signal.SIGINT
    assert capsys.readouterr().err == ""


def test_at_the_end_nothing_is_stopped_any_more() -> None:
    interruption.pass_over()
    for each in interruption.NUMBERS:
        signal.raise_signal(each)
        # Functions are taken away before the interpreter's end, and their signals would end it.
        assert signal.getsignal(each) == signal.SIG_IGN


def test_a_signal_that_somebody_ignores_or_handles_is_left_alone() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    with like_ctrl_c():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, *OTHERS])
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
    assert interruption.number_of(caught.value) == number
    # Afterwards all is as before.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_leaves_handlers_as_they_were() -> None:
    with pytest.raises(ZeroDivisionError), held():
        raise ZeroDivisionError
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
