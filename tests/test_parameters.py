from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core import parameters as par
from abcdp_core.parameters import LONGEST_LIST, Parameter, ParameterError, Params, shown

REAL = Parameter(kind="real", label="real", low=0.5, high=2.0)
REAL_OR_INF = Parameter(kind="real", label="real", low=0.5, high=2.0, special=(math.inf,))
REAL_OR_WORD = Parameter(kind="real", label="real", low=0.5, high=2.0, special=("median",))
INTEGER = Parameter(kind="integer", label="integer", low=1, high=1000)
GRID = Parameter(kind="integer", label="grid", low=10, high=300, options=(10, 30, 100, 300))
SWITCH = Parameter(kind="switch", label="switch")
CHOICE = Parameter(kind="choice", label="choice", options=("sharp", "published"))
EVERY = [REAL, REAL_OR_INF, REAL_OR_WORD, INTEGER, GRID, SWITCH, CHOICE]


@dataclass(frozen=True)
class Example(Params):
    real: float = REAL.field(1.0)
    reals: tuple[float, ...] = REAL_OR_INF.field((1.0, math.inf))
    integer: int = INTEGER.field(7)
    grid: tuple[int, ...] = GRID.field((30,))
    switch: bool = SWITCH.field(False)
    switches: tuple[bool, ...] = SWITCH.field((False, True))
    choice: str = CHOICE.field("sharp")


def values_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Every allowed value of a parameter."""
    if parameter.kind == "switch":
        return st.booleans()
    if parameter.options:
        return st.sampled_from(parameter.options)
    if parameter.kind == "integer":
        inside: st.SearchStrategy[Any] = st.integers(int(parameter.low), int(parameter.high))
    else:
        inside = st.floats(parameter.low, parameter.high)
    return st.one_of(inside, st.sampled_from(parameter.special)) if parameter.special else inside


def params_of(cls: type[Params]) -> st.SearchStrategy[Params]:
    """Every allowed set of parameters."""
    return st.builds(
        cls,
        **{
            name: st.lists(values_of(parameter), min_size=1, max_size=4).map(tuple)
            if cls.takes_many(name)
            else values_of(parameter)
            for name, parameter in cls.specification().items()
        },
    )


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
    st.just(10**400),
    st.just(np.float64("nan")),
    st.just(()),
    st.just(1j),
)


@given(params_of(Example))
def test_parameters_survive_the_way_through_text(params: Params) -> None:
    assert Example.from_text(params.to_text()) == params


@pytest.mark.parametrize("parameter", EVERY, ids=lambda p: p.label + str(p.special))
@given(value=ANYTHING)
def test_a_value_is_accepted_unchanged_or_refused_in_one_line(
    parameter: Parameter, value: Any
) -> None:
    try:
        checked = parameter.check("knob", value)
    except ParameterError as error:
        message = str(error)
        assert message.startswith("knob = ")
        assert parameter.allowed() in message
        assert message.isprintable()
        assert len(message) < 200
    else:
        assert checked == value
        assert (
            type(checked)
            in {
                "real": (float, str),
                "integer": (int,),
                "switch": (bool,),
                "choice": (str,),
            }[parameter.kind]
        )


@pytest.mark.parametrize("parameter", EVERY, ids=lambda p: p.label + str(p.special))
@given(text=st.text(max_size=12))
def test_any_text_is_a_value_or_refused_in_one_line(parameter: Parameter, text: str) -> None:
    try:
        value = parameter.parse("knob", text)
    except ParameterError:
        return
    assert parameter.check("knob", value) == value


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (REAL, (0.4999999, 2.0000001, math.nan, math.inf, "1.0", True, None, 10**400)),
        (REAL_OR_INF, (-math.inf, "inf")),
        (REAL_OR_WORD, ("mean",)),
        (INTEGER, (0, 1001, 1.5, math.inf, True)),
        (GRID, (31,)),
        (SWITCH, (1, "true")),
        (CHOICE, ("blunt", 1)),
    ],
    ids=str,
)
def test_what_is_out_of_range_is_refused(parameter: Parameter, values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(ParameterError, match="knob = ") as caught:
            parameter.check("knob", value)
        assert parameter.allowed() in str(caught.value)


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        *((REAL, 2, 2.0), (REAL, np.float64(1.5), 1.5), (REAL, np.int64(1), 1.0)),
        *((REAL_OR_INF, np.float64("inf"), math.inf), (REAL_OR_WORD, "median", "median")),
        *((INTEGER, 10.0, 10), (INTEGER, np.int64(10), 10), (SWITCH, np.True_, True)),
        *((REAL, " 1e0 ", 1.0), (REAL_OR_INF, "inf", math.inf), (INTEGER, "1e3", 1000)),
        *((GRID, "100", 100), (SWITCH, "True", True), (CHOICE, "published", "published")),
    ],
    ids=repr,
)
def test_numbers_of_other_types_and_texts_become_values_of_the_parameter(
    parameter: Parameter, given: Any, value: Any
) -> None:
    read = parameter.parse if isinstance(given, str) else parameter.check
    found = read("knob", given)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("parameter", [REAL, REAL_OR_INF, REAL_OR_WORD, INTEGER, GRID])
def test_what_only_python_takes_for_a_number_is_none(parameter: Parameter) -> None:
    for text in (
        *("1_0", "\u0661\u0662", "\uff11", "0x1p3", "0x10", "infinity", "Infinity", "nan", "1e"),
        *("e1", "1,5", "1 0", "--1", "1.5.2", "1e400", "-1e400", "1" * 101, "1." + "0" * 200),
    ):
        with pytest.raises(ParameterError, match="knob = "):
            parameter.parse("knob", text)


def test_a_long_list_is_refused_before_it_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [1.0 + k / 1000.0 for k in range(LONGEST_LIST + 1)]
    longest = ",".join(map(repr, values[:-1]))
    assert Example.from_text({"reals": longest}).reals == tuple(values[:-1])
    assert Example(reals=tuple(values[:-1])).reals == tuple(values[:-1])
    for too_long in (tuple(values), (1.0,) * (LONGEST_LIST + 1), itertools.repeat(1.0)):
        with pytest.raises(ParameterError, match="reals = a long list: must have at most 100"):
            Example(reals=too_long)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="reals = a long list"):
        Example.from_text({"reals": f"{longest},1"})

    monkeypatch.delattr(Parameter, "parse")
    for text in ("1," * 1_000_000, "," * 1_000_000):
        with pytest.raises(ParameterError, match="reals = a long list"):
            Example.from_text({"reals": text})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("sharp", "sharp"),
        ("a" * 60, "a" * 60),
        ("a" * 40 + "b" * 40, "a" * 29 + "..." + "b" * 28),
        ("\x1b[31m", "'\\x1b[31m'"),
        ("a\nb", "'a\\nb'"),
        ("\x1b" * 100, "'" + "\\x1b" * 7 + "...x1b" + "\\x1b" * 6 + "'"),
        (True, "true"),
        (10, "10"),
        (0.1, "0.1"),
        (10**400, "a number beyond 1e308"),
        pytest.param([16**5000], "numbers beyond 1e308", id="beyond"),
        (None, "None"),
    ],
    ids=str,
)
def test_a_value_in_a_sentence_is_printable_and_short(value: Any, text: str) -> None:
    assert shown(value) == text


@given(params_of(Example))
def test_a_list_keeps_its_order_and_drops_repetitions(params: Params) -> None:
    assert isinstance(params, Example)
    assert len(set(params.grid)) == len(params.grid)
    doubled = Example(grid=params.grid + params.grid)
    assert doubled.grid == params.grid
    assert Example(grid=100).grid == (100,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"colour": "red"}, ("colour = red", "unknown parameter", "real", "choice")),
        ({"grid": ""}, ("grid = empty list", "10, 30, 100, 300")),
        ({"grid": "10,31"}, ("grid = 31", "10, 30, 100, 300")),
        ({"real": ""}, ("real = ", "a number from 0.5 to 2")),
        ({"real": "nan"}, ("real = nan", "a number from 0.5 to 2")),
        ({"reals": "1,two"}, ("reals = two", "a number from 0.5 to 2 or inf")),
        ({"switch": "yes"}, ("switch = yes", "true or false")),
        ({"choice": "1"}, ("choice = 1", "sharp, published")),
    ],
    ids=lambda item: "=".join(*item.items()) if isinstance(item, dict) else "",
)
def test_bad_settings_name_parameter_value_and_range(
    settings: dict[str, str], words: tuple[str, ...]
) -> None:
    with pytest.raises(ParameterError) as caught:
        Example.from_text(settings)
    assert all(word in str(caught.value) for word in words)


def test_settings_win_over_the_base_and_leave_the_rest() -> None:
    base = Example(real=2.0, integer=9)
    assert Example.from_text({"integer": "8"}, base) == Example(real=2.0, integer=8)


def test_the_nearest_allowed_number_is_allowed_and_nearest() -> None:
    assert REAL.nearest(-3.0) == 0.5
    assert REAL.nearest(1.25) == 1.25
    assert REAL.nearest(math.inf) == 2.0
    assert INTEGER.nearest(3.7) == 4
    assert [GRID.nearest(x) for x in (-math.inf, 64, 66, 1e9, math.inf)] == [10, 30, 100, 300, 300]
    assert par.C.nearest(math.inf) == 1000


def shared() -> list[Parameter]:
    """The parameters that several experiments use."""
    return [value for value in vars(par).values() if isinstance(value, Parameter)]


@pytest.mark.parametrize("parameter", shared(), ids=lambda p: p.label + str(p.special))
def test_shared_parameters_say_what_they_are_and_suggest_only_what_is_allowed(
    parameter: Parameter,
) -> None:
    assert parameter.label
    assert parameter.help.endswith(".")
    for value in (*parameter.steps, *parameter.options, *parameter.special):
        assert parameter.check("knob", value) == value
    assert list(parameter.steps) == sorted(set(parameter.steps))


def test_too_much_work_is_refused_and_the_line_says_what_would_do() -> None:
    par.check_work(20_000, 10_000)
    with pytest.raises(ParameterError, match=r"n \* pool_size = 200,020,000.*10,000 draws"):
        par.check_work(20_000, 10_001)
    par.check_accepted(10, 10)
    with pytest.raises(ParameterError, match=r"c = 11: .* from 1 to pool_size = 10"):
        par.check_accepted(11, 10)


def test_there_is_one_zero() -> None:
    """What was kept for a link that asks for -0 said so to whoever asked for 0."""
    real = Parameter(kind="real", label="real", low=-1.0, high=1.0)
    for text in ("0", "-0", "-0.0"):
        assert math.copysign(1.0, float(real.parse("real", text))) == 1.0
