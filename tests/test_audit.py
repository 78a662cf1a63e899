"""What `make audit` says: a licence for each package, what is known, and that nothing was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import audit


def test_every_package_the_app_needs_states_its_licence() -> None:
    names = audit.locked(audit.ROOT / "requirements.lock")
    lines = audit.licences(names)
    assert len(lines) == len(names) > 50
    assert not [line for line in lines if line.endswith("states no licence")]
    copyleft = ("GPL", "GNU")
    assert not [line for line in lines if any(word in line for word in copyleft)]
    assert any(line.startswith("numpy ") and "BSD" in line for line in lines)


def fake(folder: Path, says: str, code: int) -> Path:
    """A program that says one thing, whatever it is asked."""
    program = folder / "pip-audit"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("says", "code", "ends", "checked"),
    [
        ("No known vulnerabilities found", 0, 0, True),
        ("Found 2 known vulnerabilities in 1 package", 1, 1, True),
        ("Found 1 known vulnerability in 1 package", 1, 1, True),
        ("ERROR:pip_audit._cli:Could not connect to the vulnerability feed", 1, 0, False),
        ("", 2, 0, False),
    ],
)
def test_what_is_known_fails_and_what_was_not_asked_is_said(
    says: str,
    code: int,
    ends: int,
    checked: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert audit.check(fake(tmp_path, says, code)) == ends
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(audit.LOCKS)
    assert all(("NOT checked" not in line) == checked for line in lines)


def test_without_the_program_nothing_is_checked_and_one_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.check(tmp_path / "none") == 0
    for line, lock in zip(capsys.readouterr().out.splitlines(), audit.LOCKS, strict=True):
        assert line == f"{lock}: NOT checked for known vulnerabilities (pip-audit is not there)."
