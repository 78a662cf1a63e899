"""Several results in one archive, as a page offers them."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from abcdp_core.output import citation
from abcdp_core.output.files import write_text
from abcdp_core.output.formats import ExportError
from abcdp_core.output.images import Figures, Image, caption, draw, images_of, title_of
from abcdp_core.output.settings import command
from abcdp_core.results import Result


def zip_bytes(results: Sequence[tuple[Result, Figures]], formats: Sequence[str]) -> bytes:
    """A page's results in one archive, with the commands that compute them again.

    The order of the members, their names and their dates depend on nothing but the results. Where
    static figures cannot be drawn the archive holds the rest and a ``note.txt`` that says why. Each
    figure's caption is in ``captions.txt``, and how to cite them in ``citation.txt``.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        images: list[Image] = []
        captions: list[str] = []
        stems = _stems([result for result, _ in results])
        for stem, (result, figures) in zip(stems, results, strict=True):
            write_text(result, figures, directory, formats, stem)
            images += images_of(result, figures, directory, formats, stem)
            captions += [
                f"{stem}.{name}\n{title_of(result, each.figure)}\n{caption(result, each)}\n"
                for name, each in figures.items()
            ]
        (directory / "captions.txt").write_text("\n".join(captions), encoding="utf-8")
        (directory / "citation.txt").write_text(citation.IN_FULL, encoding="utf-8")
        lines = "".join(f"{line}\n" for line in commands([result for result, _ in results]))
        (directory / "command.txt").write_text(lines, encoding="utf-8")
        try:
            draw(images)
        except ExportError as error:
            (directory / "note.txt").write_text(f"{error}\n", encoding="utf-8")
        return _zipped(directory)


def commands(results: Sequence[Result]) -> list[str]:
    """The lines that compute results again, each into a folder of its own."""
    return [command(result, stem) for result, stem in zip(results, _stems(results), strict=True)]


def _stems(results: Sequence[Result]) -> list[str]:
    """Names of experiments; the second result of the same experiment gets a number."""
    seen: Counter[str] = Counter()
    stems = []
    for result in results:
        seen[result.experiment] += 1
        count = seen[result.experiment]
        stems.append(result.experiment if count == 1 else f"{result.experiment}-{count}")
    return stems


def _zipped(directory: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in sorted(directory.iterdir()):
            # The date of a ZipInfo is fixed, that of a file on disk is not.
            member = zipfile.ZipInfo(file.name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, file.read_bytes())
    return buffer.getvalue()
