"""Files of numbers that come with the program: no other file passes for one of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from abcdp_core import fingerprint, pool
from abcdp_core.experiments import tuberculosis_posterior
from abcdp_core.parameters import ParameterError
from abcdp_core.simulators import shipped, tuberculosis, tuberculosis_patients

CSV = "tuberculosis/variance-30/tuberculosis-distances.theta.csv"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the files, read instead of them and from the beginning."""

    def forget() -> None:
        tuberculosis._shipped.cache_clear()
        tuberculosis_patients._precomputed.cache_clear()

    for name in shipped.DIGESTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shipped.ASSETS / name, tmp_path / name)
    monkeypatch.setattr(shipped, "ASSETS", tmp_path)
    forget()
    yield tmp_path
    forget()


def test_every_file_is_known_and_read() -> None:
    folders = ("tuberculosis", "tuberculosis-patients")
    found = {
        file.relative_to(shipped.ASSETS).as_posix()
        for folder in folders
        for file in (shipped.ASSETS / folder).rglob("*")
        if file.suffix in (".csv", ".npz")
    }
    assert found == set(shipped.DIGESTS)
    for name in found:
        assert len(shipped.read(name)) > 100


def test_line_ends_do_not_matter(copy: Path) -> None:
    content = (copy / CSV).read_bytes()
    (copy / CSV).write_bytes(content.replace(b"\n", b"\r\n"))
    assert shipped.read(CSV) == content


@pytest.mark.parametrize("table", ["", ".theta", ".outbreaks", ".counts"])
def test_the_file_of_another_prior_is_refused(copy: Path, table: str) -> None:
    folder, other = copy / "tuberculosis/variance-30", copy / "tuberculosis/standard-deviation-30"
    name = f"tuberculosis-distances{table}.csv"
    shutil.copy(other / name, folder / name)
    used = tuberculosis.shipped_counts if table == ".counts" else tuberculosis._shipped
    with pytest.raises(ParameterError, match=rf"variance-30/{name}: is not the file that this"):
        used("variance 30")
    tuberculosis.precomputed(100, 100, 0, "standard deviation 30")


def test_another_pool_of_patients_is_refused(copy: Path) -> None:
    file = copy / tuberculosis_patients.POOL
    content = file.read_bytes()
    for other in (content[:-1], content + b"\0", b""):
        file.write_bytes(other)
        with pytest.raises(
            ParameterError, match=r"pool\.npz: is not the file .*digest is [0-9a-f]"
        ):
            tuberculosis_patients.precomputed_pool(100)
    file.unlink()
    with pytest.raises(ParameterError, match=r"pool\.npz: cannot be read \(No such file"):
        tuberculosis_patients.precomputed_pool(100)


def test_what_is_kept_of_these_files_follows_their_digests(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = pool.key_for("tuberculosis-patients", 1000, 50, 1)
    study = tuberculosis_posterior.__name__
    before = pool._entry("comparison", key), fingerprint.of(study)
    text = fingerprint._TEXTS[shipped.__name__]
    monkeypatch.setitem(fingerprint._TEXTS, shipped.__name__, text.replace(b'": "', b'": "0'))
    assert pool._entry("comparison", key).label != before[0].label
    assert pool._entry("comparison", key).path == before[0].path
    assert fingerprint.of(study) != before[1]
