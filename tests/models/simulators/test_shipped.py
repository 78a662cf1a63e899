"""Shipped files of numbers are read, and changed ones refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.models.simulators import shipped


def test_every_file_is_known_and_read() -> None:
    found = {
        file.relative_to(shipped.ASSETS).as_posix()
        for folder in ("tuberculosis", "tuberculosis-patients")
        for file in (shipped.ASSETS / folder).rglob("*")
        if file.suffix in (".csv", ".npz")
    }
    assert found == set(shipped.DIGESTS)
    assert min(len(shipped.read(name)) for name in found) > 100


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ASSETS", shutil.copytree(shipped.ASSETS, tmp_path / "assets"))
    for name in shipped.DIGESTS:
        with (shipped.ASSETS / name).open("ab") as file:
            file.write(b"0")
        with pytest.raises(ParameterError, match=rf"{name}: is not the file shipped"):
            shipped.read(name)
