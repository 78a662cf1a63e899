"""Models of one's own that several tests use: as objects, as scenarios and as files."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, contract, count, declared, mean
from abcdp_core.models.simulators import Scenario

EXAMPLES = Path(__file__).parents[3] / "examples"


def first(records: np.ndarray) -> np.ndarray:
    return records[..., 0]


def simulate(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return theta[:, :1, None] + rng.standard_normal((len(theta), n, 1))


MODEL = Model(
    name="mean-of-one",
    title="A mean",
    parameters=(Parameter("μ", -2.0, 2.0), Parameter("ν", 0.0, 4.0, prior="normal")),
    columns=(Column("value", -3.0, 3.0),),
    unit="one person",
    simulate=simulate,
    statistics=(mean("value", first, -3.0, 3.0),),
    sizes=(10, 100),
)


def changed(**values: Any) -> Model:
    return dataclasses.replace(MODEL, **values)


LARGEST = declared("largest", lambda records: records[..., 0].max(axis=-1), ["largest"], 6.0)
LARGE = count("large", lambda records: records[..., 0] > 0.5)
ADDED = {"neighbours": "add-remove", "sizes": (20,), "statistics": (LARGE,)}
"""What makes it a model whose number of records is private."""


def example(name: str) -> Model:
    scope: dict[str, object] = {}
    exec((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), scope)
    model = scope["MODEL"]
    assert isinstance(model, Model)
    return model


GAUSSIAN, SIR = example("gaussian"), example("sir")

MODELS = {
    "gaussian": GAUSSIAN,
    "sir": SIR,
    "by records": dataclasses.replace(GAUSSIAN, distance="records", statistics=(), sizes=(300,)),
    "one column": changed(distance="records"),
    "declared": changed(statistics=(LARGEST,), sizes=(30,)),
}


@functools.cache
def scenario(name: str) -> Scenario:
    return contract.scenario(MODELS[name], f"mine_{name}", "mine.py")


FILE = """
import numpy as np

from abcdp_core.models.own_model import (
    Column, Model, Parameter, count, declared, histogram, mean, total,
)


def simulate(rng, theta, n):
    x = rng.normal(theta[:, :1, None], 1.0, (len(theta), n, 1))
    records = np.concatenate([x, rng.integers(0, 3, x.shape)], axis=-1)
    {fill}
    return records


def centre(records):
    if (records == 0.125).any():
        raise RuntimeError(str(records))
    return records[..., 0]


def middle(records):
    return np.median(records[..., 0], axis=-1)[..., None]


MODEL = Model(
    name="own",
    title="A study of our own",
    parameters=(Parameter("mu", -1.0, 1.0, unit="mm"),),
    columns=(Column("x", -8.0, 8.0), Column("code", 0, 2, whole=True)),
    unit="one patient",
    simulate=simulate,
    statistics=({statistics}),
    {more}
)
"""

KINDS = {
    "replace": (
        'mean("m", centre, -2.0, 2.0), total("t", centre, -1.0, 3.0), '
        'count("c", lambda r: r[..., 1] > 1), histogram("h", lambda r: r[..., 0], (-8, 0, 2, 8)),',
        "sizes=(10, 30),",
    ),
    "add-remove": (
        'total("t", centre, -2.0, 2.0), histogram("h", lambda r: r[..., 1], (0, 1, 2)),',
        'sizes=(30,), neighbours="add-remove",',
    ),
    "declared": ('declared("middle", middle, ("middle",), 16.0),', "sizes=(12,),"),
}
"""Kind of model -> its statistics and further arguments."""


def written(kind: str, folder: Path) -> Path:
    """Write a file with a model of some kind."""
    fill = "records[:, 14:] = np.nan" if kind == "add-remove" else ""
    statistics, more = KINDS[kind]
    file = folder / "ours.py"
    text = FILE.replace("{fill}", fill).replace("{statistics}", statistics)
    file.write_text(text.replace("{more}", more), encoding="utf-8")
    return file


def rewritten(file: Path, *changes: tuple[str, str]) -> Path:
    """Replace parts of a text file, each of which must be there."""
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return file


def from_example(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the model of an example with some changes."""
    file = folder / "my_model.py"
    file.write_bytes((EXAMPLES / "gaussian.py").read_bytes())
    return rewritten(file, *changes)
