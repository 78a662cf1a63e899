"""Pack several results in one archive."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from abcdp_core.publish.output import citation
from abcdp_core.publish.output.files import write_text
from abcdp_core.publish.output.formats import ExportError
from abcdp_core.publish.output.images import Figures, Image, caption, draw, images_of, title_of
from abcdp_core.publish.output.settings import command
from abcdp_core.run.results import Result


def zip_bytes(results: Sequence[tuple[Result, Figures]], formats: Sequence[str]) -> bytes:
    """Return an archive of results, with captions, citation and the commands that reproduce them.

    Order, names and dates of the members depend only on the results. If static figures cannot be
    drawn, ``note.txt`` says why.
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
    """Return the commands that reproduce the results, each in its own folder."""
    return [command(result, stem) for result, stem in zip(results, _stems(results), strict=True)]


def _stems(results: Sequence[Result]) -> list[str]:
    """Return the experiments' names; a second result of the same experiment gets a number."""
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
            # A ZipInfo has a fixed date.
            member = zipfile.ZipInfo(file.name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, file.read_bytes())
    return buffer.getvalue()
