"""Parameters: every allowed value survives text, every other one is refused in one line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import LONGEST_LIST, Parameter, ParameterError, Params, shown

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
    """Return a strategy for all allowed values of a parameter."""
    if parameter.kind == "switch":
        return st.booleans()
    if parameter.options:
        return st.sampled_from(parameter.options)
    low, high, special = parameter.low, parameter.high, list(parameter.special)
    if parameter.kind == "integer":
        return st.integers(int(low), int(high))
    return st.one_of(st.floats(low, high), *([st.sampled_from(special)] if special else []))


def examples() -> st.SearchStrategy[Example]:
    """Return a strategy for all allowed sets of parameters."""
    fields = {}
    for name, parameter in Example.specification().items():
        one = values_of(parameter)
        many = st.lists(one, min_size=1, max_size=4).map(tuple)
        fields[name] = many if Example.takes_many(name) else one
    return st.builds(Example, **fields)


ANYTHING = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    *(st.just(value) for value in (10**400, np.float64("nan"), (), 1j)),
)

NAMED = {"ids": lambda parameter: parameter.label + str(parameter.special)}


@given(examples())
def test_parameters_survive_text_and_lists_keep_their_order_without_repeats(
    params: Example,
) -> None:
    assert Example.from_text(params.to_text()) == params
    assert len(set(params.grid)) == len(params.grid)
    assert Example(grid=params.grid + params.grid).grid == params.grid
    assert Example(grid=100).grid == (100,)  # type: ignore[arg-type]


@pytest.mark.parametrize("parameter", EVERY, **NAMED)
@given(value=ANYTHING)
def test_a_value_is_accepted_unchanged_or_refused_in_one_line(
    parameter: Parameter, value: Any
) -> None:
    read = parameter.parse if isinstance(value, str) else parameter.check
    try:
        checked = read("knob", value)
    except ParameterError as error:
        message = str(error)
        assert message.startswith("knob = ")
        assert parameter.allowed() in message
        assert message.isprintable()
        assert len(message) < 200
    else:
        types = {"real": (float, str), "integer": (int,), "switch": (bool,), "choice": (str,)}
        assert type(checked) in types[parameter.kind]
        assert parameter.check("knob", checked) == checked
        assert isinstance(value, str) or checked == value


NO_NUMBER = (
    *("1_0", "\u0661\u0662", "\uff11", "0x10", "Infinity", "nan", "1e", "", "1,5", "1 0", "--1"),
    *("1e400", "-1e400", "1" * 101, "1." + "0" * 200),
)
"""Texts that Python alone, or nothing, reads as a number."""

REFUSED = {
    REAL: (0.4999999, 2.0000001, math.nan, math.inf, True, None, 10**400, *NO_NUMBER),
    REAL_OR_INF: (-math.inf, *NO_NUMBER),
    REAL_OR_WORD: ("mean", *NO_NUMBER),
    INTEGER: (0, 1001, 1.5, math.inf, True, *NO_NUMBER),
    GRID: (31, *NO_NUMBER),
    SWITCH: (1, "yes"),
    CHOICE: ("blunt", "1", 1),
}


@pytest.mark.parametrize("parameter", REFUSED, **NAMED)
def test_values_out_of_range_and_texts_that_are_none_are_refused(parameter: Parameter) -> None:
    for value in REFUSED[parameter]:
        read = parameter.parse if isinstance(value, str) else parameter.check
        with pytest.raises(ParameterError, match="knob = ") as caught:
            read("knob", value)
        assert parameter.allowed() in str(caught.value)


def test_numbers_of_other_types_and_texts_become_values_of_the_parameter() -> None:
    for parameter, raw, value in (
        *((REAL, 2, 2.0), (REAL, np.float64(1.5), 1.5), (REAL, np.int64(1), 1.0)),
        *((REAL_OR_INF, np.float64("inf"), math.inf), (REAL_OR_WORD, "median", "median")),
        *((INTEGER, 10.0, 10), (INTEGER, np.int64(10), 10), (SWITCH, np.True_, True)),
        *((REAL, " 1e0 ", 1.0), (REAL_OR_INF, "inf", math.inf), (INTEGER, "1e3", 1000)),
        *((GRID, "100", 100), (SWITCH, "True", True), (CHOICE, "published", "published")),
    ):
        read: Any = parameter.parse if isinstance(raw, str) else parameter.check
        found = read("knob", raw)
        assert found == value
        assert type(found) is type(value)


def test_zero_has_no_sign() -> None:
    """Equal parameters share one kept result, which would otherwise show the other's sign."""
    real = Parameter(kind="real", label="real", low=-1.0, high=1.0)
    for text in ("0", "-0", "-0.0"):
        assert math.copysign(1.0, float(real.parse("real", text))) == 1.0


def test_a_long_list_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    values = tuple(1.0 + k / 1000.0 for k in range(LONGEST_LIST))
    text = ",".join(map(repr, values))
    assert Example.from_text({"reals": text}) == Example(reals=values)
    monkeypatch.delattr(Parameter, "parse")
    with pytest.raises(ParameterError, match="reals = a long list: must have at most 100"):
        Example(reals=(*values, 2.0))
    with pytest.raises(ParameterError, match="reals = a long list"):
        Example.from_text({"reals": f"{text},2,3"})


def test_a_value_in_a_sentence_is_printable_and_short() -> None:
    assert shown("a" * 40 + "b" * 40) == "a" * 29 + "..." + "b" * 28
    assert shown("\x1b[31m\n") == "'\\x1b[31m\\n'"
    assert (shown(True), shown(0.1), shown(10**400)) == ("true", "0.1", "a number beyond 1e308")
    assert len(shown("\x1b" * 100)) <= 60


def test_bad_settings_name_parameter_value_and_range_and_others_replace_those_of_the_base() -> None:
    for settings, words in (
        ({"colour": "red"}, "colour = red: unknown parameter.*real.*choice"),
        ({"grid": ""}, "grid = empty list: .*10, 30, 100, 300"),
        ({"grid": "10,31"}, "grid = 31: .*10, 30, 100, 300"),
        ({"reals": "1,two"}, "reals = two: .*a number from 0.5 to 2 or inf"),
    ):
        with pytest.raises(ParameterError, match=words):
            Example.from_text(settings)
    base = Example(real=2.0, integer=9)
    assert Example.from_text({"integer": "8"}, base) == Example(real=2.0, integer=8)


def test_nearest_gives_the_closest_allowed_number() -> None:
    assert [REAL.nearest(x) for x in (-3.0, 1.25, math.inf)] == [0.5, 1.25, 2.0]
    assert INTEGER.nearest(3.7) == 4
    assert [GRID.nearest(x) for x in (-math.inf, 64, 66, 1e9, math.inf)] == [10, 30, 100, 300, 300]


def test_shared_parameters_have_label_and_help_and_suggest_only_allowed_values() -> None:
    shared = [value for value in vars(par).values() if isinstance(value, Parameter)]
    assert len(shared) > 10
    for parameter in shared:
        assert parameter.label
        assert parameter.help.endswith(".")
        for value in (*parameter.steps, *parameter.options, *parameter.special):
            assert parameter.check("knob", value) == value
        assert list(parameter.steps) == sorted(set(parameter.steps))


def test_too_much_work_is_refused_with_the_largest_allowed_size() -> None:
    par.check_work(20_000, 10_000)
    with pytest.raises(ParameterError, match=r"n \* pool_size = 200,020,000.*10,000 draws"):
        par.check_work(20_000, 10_001)
    par.check_accepted(10, 10)
    with pytest.raises(ParameterError, match=r"c = 11: .* from 1 to pool_size = 10"):
        par.check_accepted(11, 10)
