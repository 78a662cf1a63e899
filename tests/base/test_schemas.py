"""Files that people write: an error is one line with place, value and allowed range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import BeforeValidator, Field, model_validator

from abcdp_core.base import schemas
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.schemas import Schema, Several


class Unknown(Schema):
    low: float = Field(ge=1)
    names: Several[str] = ()

    @model_validator(mode="after")
    def _seven(self) -> Self:
        if self.low == 7:
            raise ValueError("must not be seven")
        return self


class Wide(Schema):
    law: Literal["wide"]
    scale: Annotated[Several[float], BeforeValidator(lambda given: [given])]


class Narrow(Schema):
    law: Literal["narrow"]


class Whole(Schema):
    theta: dict[str, Unknown] = Field(min_length=1)
    laws: Several[Annotated[Wide | Narrow, Field(discriminator="law")]] = ()
    n: int = Field(1, ge=1, le=10)
    kind: Literal["a", "b"] = "a"


REST = "\ntheta.a.low = 1"

LINES = {
    "": "theta: is missing.",
    "[theta]": "theta: must have at least 1.",
    "theta = 3": "theta = 3: must be a table.",
    f"n = 0{REST}": "n = 0: must be at least 1.",
    f"n = 11{REST}": "n = 11: must be at most 10.",
    f"n = true{REST}": "n = true: must be a whole number.",
    f'kind = "c"{REST}': "kind = c: must be 'a' or 'b'.",
    'theta.a.low = "1"': "theta.a.low = 1: must be a number.",
    "theta.a.low = nan": "theta.a.low = nan: must be at least 1.",
    "theta.a.low = 7": "theta.a: must not be seven.",
    'theta.a = { low = 1, names = ["b", 3] }': "theta.a.names 2 = 3: must be a text.",
    "theta.a = { low = 1, high = 2 }": "theta.a.high: unknown; known are low, names.",
    f"laws = [{{}}]{REST}": "laws 1.law: is missing.",
    f'laws = [{{ law = "flat" }}]{REST}': "laws 1.law = flat: must be one of 'wide', 'narrow'.",
    f'laws = [{{ law = "wide", scale = "s" }}]{REST}': "laws 1.scale = s: must be a number.",
    "n = ": "is not TOML (Invalid value (at end of document)).",
}
"""Content of a file -> what is wrong with it."""


@pytest.mark.parametrize("text", LINES)
def test_an_error_is_one_line_with_its_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        schemas.read(file, Whole)
    assert str(caught.value) == f"mine.toml: {LINES[text]}"


def test_values_are_read_as_their_types_and_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    text = '\ufefftheta.a = { low = 2, names = ["b"] }\nlaws = [{ law = "wide", scale = 3 }]'
    found: Any = schemas.parse(text.encode(), Whole, "it")
    assert found.theta["a"] == Unknown(low=2.0, names=("b",))
    assert found.laws == (Wide(law="wide", scale=3.0),)  # type: ignore[arg-type]
    for content in (b"\xff", b"a = " + b"[" * 9000, b"a = " + b"9" * 5000):
        with pytest.raises(ParameterError, match=r"^it: is not TOML \("):
            schemas.parse(content, Whole, "it")
    for other in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ParameterError, match="there is no such file"):
            schemas.read(other, Whole)
