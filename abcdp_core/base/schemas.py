"""Read TOML and check it by a pydantic schema.

An error is one line with its place, such as ``pool.toml: theta.mu.high = 3: must be above 4``.
Importing pydantic takes 70 ms, so modules that seldom read a file import this one late.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic_core import PydanticCustomError

from abcdp_core.base.parameters import ParameterError, shown

T = TypeVar("T")
S = TypeVar("S", bound="Schema")

Several = Annotated[tuple[T, ...], pydantic.Field(strict=False)]
"""A list in a file, a tuple in a schema."""

WORDS = {
    "float_type": "must be a number",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "int_type": "must be a whole number",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "missing": "is missing",
    "string_type": "must be a text",
    "too_short": "must have at least {min_length}",
    "tuple_type": "must be a list",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is missing",
    "value_error": "{error}",
} | dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table")
"""Type of a pydantic error -> what is allowed; the messages of other types are clear enough."""


class Schema(pydantic.BaseModel):
    """A table without other keys or types. The ValueError of a validator says what is allowed."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _know_keys(cls, given: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in given if isinstance(given, Mapping) else ():
            if key not in known:
                about = {"key": key, "known": ", ".join(known)}
                raise PydanticCustomError("unknown_key", "unknown; known are {known}", about)
        return given


def read(file: Path, schema: type[S]) -> S:
    """Return the content of a TOML file, or raise a ParameterError of one line."""
    return parse(content(file), schema, file.name)


def content(file: Path) -> bytes:
    """Return the bytes of a file, or raise a ParameterError of one line."""
    # Reading a pipe would block.
    if not file.is_file():
        raise ParameterError(f"{file}: there is no such file.")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ParameterError(f"{file}: {error.strerror}.") from error


def parse(text: str | bytes, schema: type[S], name: str = "") -> S:
    """Return the content of a TOML text, or raise a ParameterError of one line."""
    try:
        given = tomllib.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    # A number of thousands of digits raises a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{name}: is not TOML ({error}).".removeprefix(": ")) from error
    return check(given, schema, name)


def check(given: Any, schema: type[S], name: str = "") -> S:
    """Return a parsed table as a schema, or raise a ParameterError of one line."""
    try:
        return schema.model_validate(given)
    except pydantic.ValidationError as error:
        raise ParameterError(f"{name}: {_first(error, given)}.".removeprefix(": ")) from error


def _first(error: pydantic.ValidationError, given: Any) -> str:
    first = error.errors(include_url=False)[0]
    kind, loc, value, context = first["type"], first["loc"], first["input"], first.get("ctx", {})
    if kind.startswith("union_tag"):
        loc, value = (*loc, context["discriminator"].strip("'")), context.get("tag")
    elif kind == "unknown_key":
        loc = (*loc, context["key"])
    place = _place(loc, given, last=kind in ("missing", "union_tag_not_found", "unknown_key"))
    message = re.sub(r"^\w+ should", "must", first["msg"])
    if kind in WORDS:
        message = WORDS[kind].format(**context)
    known = "" if value is None or isinstance(value, dict | list | tuple) else f" = {shown(value)}"
    return f"{place}{known}: {message.rstrip('.')}".removeprefix(": ")


def _place(loc: tuple[str | int, ...], given: Any, *, last: bool) -> str:
    """Return the place in a file, without names that pydantic adds."""
    place = ""
    for number, part in enumerate(loc, start=1):
        inside = range(len(given)) if isinstance(given, list) else given
        is_there = isinstance(inside, dict | range) and part in inside
        if is_there or (last and number == len(loc)):
            place += f" {part + 1}" if isinstance(part, int) else f".{shown(part)}"
            given = given[part] if is_there else None
    return place.removeprefix(".")
