"""The table of ``make mutants`` is whole, and its mutants are single changes that are Python."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from benchmarks import mutants
from benchmarks.mutants import ROOT, Mutant, drawn, mutants_of

TABLE = tomllib.loads(mutants.TABLE.read_text(encoding="utf-8"))
FOLDERS = ("mechanisms", "privacy", "distances", "own_data", "own_model")


def test_every_file_is_listed_with_tests_that_there_are() -> None:
    core = ROOT / "abcdp_core"
    files = {file for folder in FOLDERS for file in (core / folder).glob("*.py")}
    files |= {core / f"{name}.py" for name in ("runner", "workers", "store", "cache")}
    files |= {core / "online" / f"{name}.py" for name in ("information", "response")}
    names = {
        file.relative_to(ROOT).as_posix() for file in files if "def " in file.read_text("utf-8")
    }
    assert names <= set(TABLE["tests"])
    assert all((ROOT / file).exists() for file in TABLE["tests"])
    for tests in TABLE["tests"].values():
        assert all((ROOT / test).exists() for test in tests)


def test_what_changes_nothing_is_still_in_its_file() -> None:
    for each in TABLE.get("equivalent", []):
        lines = (ROOT / each["file"]).read_text(encoding="utf-8").splitlines()
        assert each["was"] in [line.strip() for line in lines]
        assert each["why"].endswith(".")
        assert each["is"] != each["was"]


def test_a_choice_is_of_the_seed_and_spread_over_the_folders() -> None:
    files, chosen = list(TABLE["tests"]), TABLE["chosen"]
    few = files[::8]
    assert drawn(few, chosen, 20, 1) == drawn(few[::-1], chosen, 20, 1)
    assert drawn(few, chosen, 20, 1) != drawn(few, chosen, 20, 2)
    found = drawn(files, chosen, 180, 1)
    groups = [mutants.group_of(mutant.file) for mutant in found]
    assert len(found) == len({(mutant.file, mutant.line) for mutant in found}) == 180
    assert min(groups.count(group) for group in groups) >= 180 // len(set(groups)) - 1
    assert len({mutant.kind for mutant in found}) >= 7
    for mutant in found[::3]:
        was, now = mutant.texts()
        assert was != now
        before = (ROOT / mutant.file).read_bytes()
        after = mutant.applied(before)
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))
        assert len(after.splitlines()) == len(before.splitlines())


SOURCE = '''"""Doc 1."""
LEFT = 5
def f(x: "1", y=2.0) -> int:
    if not x < 1 and min(x, y) == 0:
        raise ValueError(f"{x + 1} is 3")
    if x > LEFT:
        return y
    if x <= 2.0 * LEFT:
        return x
    y = x.reshape(-1, 3)
    z = generator(4, "role", 8)
    return np.nextafter(-math.sqrt(x) * (1.0 + ROUNDING), 0)
'''


def test_what_is_changed_and_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ε.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    found = {mutant.texts()[1] for mutant in mutants_of("ε.py", ["LEFT"])}
    assert found >= {
        "if not (x <= 1) and min(x, y) == 0:",
        "if not (x >= 1) and min(x, y) == 0:",
        "if (x < 1) and min(x, y) == 0:",
        "if not x < 2 and min(x, y) == 0:",
        "if not x < 1 and max(x, y) == 0:",
        "if not x < 1 and (min(x, y) != 0):",
        "if (not x < 1 or min(x, y) == 0):",
        'def f(x: "1", y=4.0) -> int:',
        "if (x <= LEFT):",
        "return (-math.sqrt(x) * (1.0 + ROUNDING))",
        "return np.nextafter(-x * (1.0 + ROUNDING), 0)",
        "return np.nextafter(math.sqrt(x) * (1.0 + ROUNDING), 0)",
        "return np.nextafter((-math.sqrt(x) / (1.0 + ROUNDING)), 0)",
        "return np.nextafter(-math.sqrt(x) * (1.0 + 0.0), 0)",
        "return np.nextafter(-math.sqrt(x) * ((1.0 - ROUNDING)), 0)",
    }
    assert not any(text.startswith(("LEFT", "raise", '"""')) for text in found)
    assert {text for text in found if "reshape" in text} == {
        "y = x.reshape(-1, 2)",
        "y = x.reshape(-1, 4)",
    }
    assert {text for text in found if "role" in text} == {
        'z = generator(4, "role", 7)',
        'z = generator(4, "role", 9)',
    }
    assert "if (x >= LEFT):" not in found
    assert "if (x < 2.0 * LEFT):" not in found
    assert "if (x > 2.0 * LEFT):" in found


def test_one_expression_of_a_line_is_replaced() -> None:
    mutant = Mutant("x.py", 2, 5, 6, "(b)", "kind")
    before, after = "ε = 1\nε = a + 1\r\n", "ε = 1\nε = (b) + 1\r\n"
    assert mutant.applied(before.encode()) == after.encode()
