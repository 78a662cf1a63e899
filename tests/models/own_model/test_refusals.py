"""What is wrong with a model or a pool of one's own is said in one line that names the place."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.models.own_model import (
    Column,
    Parameter,
    contract,
    count,
    declared,
    examination,
    histogram,
    mean,
    one_at_a_time,
    reading,
    shares,
)
from abcdp_core.models.own_model.model_table import of_model
from abcdp_core.models.own_model.statistics import OwnStatistic
from tests.models.own_model import pools
from tests.models.own_model.models import ADDED, EXAMPLES, changed, first, from_example

CHANCE = np.random.default_rng(0)


def used(**values: object) -> None:
    """Use a model as a release does: check it, draw and simulate."""
    model = changed(**({"file": Path(__file__).name, "sizes": (10,)} | values))
    table = of_model(model)
    table.check(10, 1)
    assert table.simulate is not None
    table.simulate(np.random.default_rng(1), model.draw(np.random.default_rng(2), 100), 10)


def density(log_prior: Callable[[np.ndarray], np.ndarray]) -> None:
    _ = changed(prior=lambda rng, size: rng.random((size, 2)), log_prior=log_prior).prior_law


def one_value(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.column_stack([rng.random(size), np.ones(size)])


def overwriting(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    theta[theta < 4.0] = 0.0
    return np.zeros((len(theta), n, 1))


def by_chance(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    """Do not use the generator that is given."""
    return CHANCE.random((len(theta), n, 1))


def own_seed(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    """Draw from a generator with a constant seed instead."""
    return theta[:, :1, None] + np.random.default_rng(1).normal(size=(len(theta), n, 1))


def no_draws(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(theta[:, :1, None], (len(theta), n, 1))


def from_others(of: Callable[[np.ndarray], np.ndarray]) -> None:
    used(statistics=(mean("m", of, -1.0, 1.0),))


def in_two_cells(records: np.ndarray) -> np.ndarray:
    return np.ones((*records.shape[:-1], 2))


AB = shares(("a", "b"))
WHOLE = (Parameter("μ", 0, 1, whole=True),)
TWICE = [histogram("h", first, ends) for ends in ((0.0, 1.0), (2.0, 3.0))]
BY_MEAN = count("m", lambda r: first(r) > first(r).mean(-1, keepdims=True))
DRIFTING = declared("d", lambda r: CHANCE.random((*r.shape[:-2], 1)), ("d",), 1.0)
MISSING = mean("x", lambda r: np.where(first(r) > 0.1, np.nan, 0.0), 0.0, 1.0)
ALL_FAIL = {"simulate": lambda _, theta, n: np.full((len(theta), n, 1), np.nan)}

REFUSED: list[tuple[Callable[[], object], str]] = [
    # Parameters, columns and statistics.
    (lambda: Parameter("μ", 0.0, 1e-200), "parameter μ: low = 0, high = 1e-200: must be low < h"),
    (lambda: Parameter("μ", 0.0, math.inf), "parameter μ: high = inf: must be a finite"),
    (lambda: Parameter("μ", 0.0, 1.0, prior="beta"), "prior = beta: must be uniform"),  # type: ignore[arg-type]
    (lambda: Parameter("μ", 0.0, 1.0, prior="log-uniform"), "low = 0, high = 1: must be above"),
    (lambda: Parameter("μ", 0.5, 2.0, whole=True), "must be whole numbers, as the parameter"),
    (lambda: Parameter("μ", 0, 2, prior="normal", whole=True), "normal: is not available for a"),
    (lambda: Parameter("μ", 0, 2, log_prior=len), "log_prior: needs a function for prior"),  # type: ignore[arg-type]
    (lambda: shares(("a",)), "shares a: concentration = None: must be a number above 0 for"),
    (lambda: shares(("a", "b"), (1.0, 0.0)), "shares a, b: concentration = "),
    (lambda: Column("x", 1.0, 1.0), "column x: low = 1, high = 1"),
    (lambda: Column("x", 1.2, 1.8, whole=True), "there is no whole number between them"),
    (lambda: Column("x", levels=("no", "no", "yes")), "levels must be different names"),
    (lambda: Column("x", 0.0, 1.0, missing=True), "needs levels, of which an empty cell is one"),
    (lambda: mean("x", first, 2.0, 2.0), "lower = 2 must be below upper = 2"),
    (lambda: mean("x", first, 0.0, math.inf), "statistic x: upper = inf: must be a finite"),
    (lambda: mean("<b>x</b>", first, 0.0, 1.0), "statistic = <b>x</b>: must not contain HTML"),
    (lambda: declared("x", first, ["a"], 1.0, 2.0), "l1 = 1, l2 = 2: must be 1e-60 <= l2"),
    (lambda: declared("x", first, ["a"], 0.0), "1e-60 <= l2 <= l1"),
    (lambda: histogram("x", first, (1.0, 1.0)), "edges must be two or more rising"),
    # Models that contradict themselves.
    (lambda: changed(name="My Mean"), "name must be in lower case"),
    (lambda: changed(title="a <a href=x>b</a>"), "must not contain HTML"),
    (lambda: changed(parameters=()), "parameters must not be empty"),
    (lambda: changed(parameters=WHOLE * 2), "two parameters have the same name"),
    (lambda: changed(parameters=(("μ", 0, 1),)), "parameters: ('μ', 0, 1) is not a Parameter."),
    (lambda: changed(parameters=AB, prior=len), "shares of a whole already have a joint"),
    (lambda: changed(parameters=AB[::-1]), "shares of a whole must be together and in or"),
    (lambda: changed(statistics=TWICE), "two statistics have the same name"),
    (lambda: changed(sizes=(100, 10)), "must be rising whole numbers above 0"),
    (lambda: changed(**ADDED | {"sizes": (10, 100)}), "a single size, since records depend on eac"),
    (lambda: changed(neighbours="other", sizes=(10,)), "must be replace or add-remove"),
    (lambda: changed(neighbours="add-remove", sizes=(9,)), "a mean needs a public number"),
    (lambda: changed(**ADDED | {"statistics": ()}), "statistics must not be empty where"),
    (lambda: changed(**ADDED, distance="records"), "needs a public number of records"),
    (lambda: changed(distance="numbers", statistics=()), "needs statistics"),
    (lambda: changed(log_prior=len), "model mean-of-one: log_prior: needs a function for prior"),
    (lambda: changed(truth=(1.0,)), "must be one number for each parameter"),
    (lambda: changed(pool_size=9), "pool_size = 9: must be a whole number of at least 10"),
    # Functions that do not do what they should.
    (
        lambda: density(lambda theta: theta),
        "log_prior returns an array of shape (20000, 2)",
    ),
    (lambda: density(lambda theta: first(theta) * math.nan), "log_prior returns NaN or infinity"),
    (lambda: density(lambda theta: theta[:, 9]), "log_prior cannot be computed"),
    (lambda: used(prior=lambda _, size: np.zeros(size)), "shape (20,); it must be (20, 2)"),
    (lambda: used(prior=lambda _, size: np.full((size, 2), 9.0)), "μ draws a value outside -2 to"),
    (
        lambda: used(prior=lambda _, size: np.full((size, 1), 0.5), parameters=WHOLE),
        "prior of μ draws a value that is not a whole number",
    ),
    (lambda: used(prior=one_value), "draws only 1; make it a constant"),
    (lambda: used(prior=lambda _, size: CHANCE.random((size, 2))), "prior is not reproducible"),
    (lambda: used(simulate=lambda _, theta, __: theta), "(2, 2); it must be (2, 10, 1)"),
    (lambda: used(simulate=lambda *_: np.full((2, 10, 1), "a")), "<U1 instead of numbers"),
    (lambda: used(simulate=overwriting), "simulate changes the parameters it receives"),
    (lambda: used(simulate=one_at_a_time(lambda *_: [][7])), "IndexError: list index out of rang"),
    (lambda: used(simulate=by_chance), "simulate is not reproducible: the same generator"),
    (lambda: used(simulate=own_seed), "the same data with two generators at all of 20 draws"),
    (lambda: used(simulate=no_draws), "declare deterministic=True if it needs none"),
    (lambda: contract.pilot(changed(simulate=own_seed)), "the same data with two generators"),
    (lambda: contract.pilot(changed(simulate=by_chance)), "simulate is not reproducible"),
    (lambda: examination.simulated(changed(**ALL_FAIL), 10, 1), "(only NaN). All 20 draws fail."),
    (
        lambda: used(statistics=(count("few", lambda r: r.mean()),)),
        "few: returns an array of",
    ),
    (lambda: from_others(lambda r: r[..., 7]), "statistic m cannot be computed"),
    (lambda: used(statistics=(MISSING,)), "statistic x returns NaN or infinity"),
    (lambda: used(statistics=(DRIFTING,)), "the statistics are not reproducible"),
    # One record hardly changes a mean, so a search between neighbors would pass it.
    (lambda: from_others(lambda r: first(r) - first(r).mean()), "depends on other records"),
    (lambda: from_others(lambda r: np.cumsum(first(r), axis=-1) / 99.0), "depends on other rec"),
    (lambda: used(statistics=(BY_MEAN,)), "statistic m (line "),
    (
        lambda: used(statistics=(OwnStatistic("h", ("a", "b"), "histogram", in_two_cells),)),
        "statistic h counts a record in several cells",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_an_invalid_model_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words say which
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_few_equal_draws_are_chance() -> None:
    assert changed(prior=one_value).draw(CHANCE, 5).shape == (5, 2)


MU = '[theta.mu]\nlow = -2.0\nhigh = 2.0\nunit = "mm"\n'


def toml(old: str, new: str) -> tuple[str, pd.DataFrame]:
    assert old in pools.TOML
    return pools.TOML.replace(old, new, 1), pools.table()


def cell(column: str, row: int, value: object) -> tuple[str, pd.DataFrame]:
    found = pools.table().astype(object)
    found.loc[row, column] = value
    return pools.TOML, found


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (toml('neighbours = "r', 'neigbours = "r'), "neigbours: unknown; known are name"),
        (toml('unit = "one person"\n', ""), "unit: is missing."),
        (toml('"replace"', '"swap"'), "neighbours = swap: must be 'replace' or 'add-remove'."),
        (toml('"mine"', '"My study"'), "name = My study: must be in lower case with hyphens."),
        (toml("n = 50", f"n = {10**12 + 1}"), "n = 1000000000001: must be at most 1e+12."),
        (toml("theta.mu", 'theta."<a href=x>"'), "<a href=x>: must not contain HTML"),
        (toml("high = 2.0", "high = -2.0"), "parameter mu: low = -2, high = -2: must be low < h"),
        (toml("high = 2.0", "high = inf"), "theta.mu.high = inf: must be at most 1e+60."),
        (toml(MU, "[theta]\n"), "theta: must have at least 1."),
        (toml("upper = 4.0", "upper = -4.0"), "a mean needs lower and upper, and lower < upper."),
        (toml('"mean"', '"mean"\ngroup = "a"'), "average: only a count can be in a group."),
        (toml('"mean"', '"mean"\nsensitivity = 1.0'), "sensitivity: cannot be given with kind"),
        (toml('group = "age"\n', "lower = 0.0\n"), "summary.young: a count has no bounds."),
        (toml('kind = "count"\ngroup = "age"', ""), "young.kind: is missing; or declare a sensi"),
        (toml(MU, f"declared = {{ l1 = 1, l2 = 2 }}\n{MU}"), "l2 = 2: must be at most l1 = 1."),
        (toml(MU, f"declared = {{ l1 = 2, l2 = 1 }}\n{MU}"), "cannot be given with [declared]"),
        (toml('"replace"', '"add-remove"'), "a mean needs a public number of records; use sum"),
        (toml('"pool.csv"', '"pool.txt"'), "pool.txt: must end with .csv or .parquet"),
        (toml('"pool.csv"', '"none.csv"'), "none.csv: No such file"),
        ((pools.TOML, pools.table().iloc[:, :-1]), "column summary.spent is missing."),
        ((pools.TOML, pools.table()[:99]), "has 99 rows; a pool needs at least 100."),
        ((pools.TOML, pools.table().assign(**{"summary.new": 1.0})), "new is not in the TOML"),
        ((pools.TOML, pools.table().assign(**{"theta.mu": 0.5})), "theta.mu is 0.5 in all rows"),
        (cell("theta.mu", 6, "a"), "column theta.mu, row 7: is not a finite number."),
        (cell("theta.mu", 6, 2.5), "theta.mu, row 7 is 2.5; it must be from -2 to 2."),
        (cell("summary.old", 3, 51.5), "row 4 is 51.5; it must be a whole number from 0 to 50."),
        (cell("summary.spent", 3, -1.0), "row 4 is -1; it must be from 0 to 500."),
    ],
    ids=range(27),
)
def test_an_invalid_pool_is_refused(
    pool: tuple[str, pd.DataFrame], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words say which
        reading.read(pools.made(tmp_path, *pool))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a valid pool and invalid models."""
    place = tmp_path_factory.mktemp("refused")
    pools.made(place)
    (place / "others.py").write_text("MECHANISMS = ()\n", encoding="utf-8")
    from_example(place, ("sizes=(100", "sizes=(0")).rename(place / "wrong.py")
    from_example(place, ("MODEL = ", "OTHER = ")).rename(place / "no_model.py")
    from_example(place, ("    y = cor", "    boom\n    y = cor")).rename(place / "fails.py")
    from_example(place, ("MODEL = Model(", "MODEL = Model((")).rename(place / "syntax.py")
    return place


GAUSSIAN = EXAMPLES / "gaussian.py"
BY_PLUGIN = f"scenario=gaussian-2d --plugin {GAUSSIAN} --out {{}}"
SAYS = "`plan gaussian-2d` says what to expect from releases with your model."


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("check {}/wrong.py", "wrong.py: cannot be loaded (line 18: ValueError: model gaussian-2d"),
        ("check {}/fails.py --n 100", "line 14: NameError: name 'boom' is not defined"),
        ("check {}/syntax.py", "cannot be loaded (line 18: SyntaxError: '(' was never closed)"),
        (
            "check {}/no_model.py",
            "has none of SCENARIO, MECHANISMS, EXPERIMENT, PUBLISHED_MODEL, MODEL",
        ),
        ("check {}/others.py", "has no MODEL, so there is nothing to check"),
        (f"check {GAUSSIAN} --n 7", "n = 7: must be one of 100, 300"),
        (f"check {GAUSSIAN} --runs 1", "runs = 1: must be a whole number from 2 to 1000 or 0."),
        ("check {}/pool.toml --n 3", "n = 3: cannot be set; pool.toml fixes it."),
        ("check {}/none.toml", "none.toml: there is no such file."),
        ("list --plugin {}/pool.toml", "not a Python file"),
        ("run posterior --set scenario=mine --out {}", "a model of your own needs --plugin FILE"),
        ("plan mine", "a model of your own needs --plugin FILE.py."),
        ("run soft-abc --set scenario=covid --out {}", "scenario = covid: unknown parameter"),
        (f"run error-by-size --set {BY_PLUGIN}", f"covers only uniform-mixture, covid; {SAYS}\n"),
        (f"run soft-abc --set {BY_PLUGIN}", f"covers only its own scenario; {SAYS}\n"),
        ("pool covid --out {}/a.csv", "scenario = covid: has no statistics to write"),
        ("pool uniform-mixture --out {}/a.txt", "a.txt: must end with .csv or .parquet"),
        ("pool uniform-mixture --out {}/a.csv --n 7", "n = 7: must be one of"),
    ],
)
def test_a_command_refuses_what_it_cannot_use(
    command: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.format(folder).split()) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1


def test_a_simulator_without_randomness_is_used_if_it_says_so() -> None:
    used(simulate=no_draws, deterministic=True)
