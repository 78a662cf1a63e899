"""The notebook quickstart of the README runs as it stands, and its commands exist."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text()


def test_the_quickstart_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line]) == 5
    namespace: dict[str, object] = {}
    exec(code[1], namespace)
    assert "Mean absolute error" in capsys.readouterr().out
    assert len(namespace["figure"].data) > 10  # type: ignore[attr-defined]


def test_make_has_the_targets_it_names() -> None:
    makefile = (TOP / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_command_lines_are_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from abcdp_core.__main__ import main

    lines = re.findall(r"^    python -m abcdp_core (run posterior .*)$", README, re.MULTILINE)
    assert lines
    for line in lines:
        arguments = line.replace("results", str(tmp_path)).split()
        assert main([*arguments, "--set", "pool_size=200"]) == 0


def test_the_release_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from abcdp_core.__main__ import main

    (line,) = re.findall(r"^    python -m abcdp_core (release .*)$", README, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("incomes.csv").write_text("income\n" + "\n".join(map(str, range(30))))
    assert main([*line.split(), "--pool-size", "200", "--yes"]) == 0
    assert '"mode": "release"' in Path("release.json").read_text()
