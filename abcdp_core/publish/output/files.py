"""Write a result to files in a folder, and read it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from abcdp_core import studies
from abcdp_core.base.atomic import together
from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish.output.formats import ExportError, table_file
from abcdp_core.publish.output.images import Figures, draw, images_of
from abcdp_core.publish.output.page import LIBRARY, page
from abcdp_core.publish.output.settings import event_from_json, params_from_json, settings_of
from abcdp_core.publish.output.tables import as_csv, read_csv
from abcdp_core.run.results import Result


def write(
    result: Result,
    figures: Figures,
    directory: Path,
    formats: Sequence[str],
) -> list[Path]:
    """Write all files of a result or none, except that static figures may be missing.

    Raises:
        ExportError: static figures could not be drawn; everything else is written.
        OSError: the directory cannot be written.
    """
    not_drawn = None
    with together(directory) as folder:
        written = write_text(result, figures, folder, formats, result.experiment)
        images = images_of(result, figures, folder, formats, result.experiment)
        try:
            draw(images)
        except ExportError as error:
            not_drawn = error
            for image in images:
                image.path.unlink(missing_ok=True)
    if not_drawn is not None:
        raise not_drawn
    return [directory / path.name for path in (*written, *(image.path for image in images))]


def write_text(
    result: Result,
    figures: Figures,
    directory: Path,
    formats: Sequence[str],
    stem: str,
) -> list[Path]:
    """Write everything but static figures, in files whose names begin with ``stem``."""
    texts: dict[str, str] = {}
    if "csv" in formats:
        texts |= {table_file(stem, name): as_csv(table) for name, table in result.tables.items()}
    if "json" in formats:
        digests = {name: _digest(text.encode()) for name, text in texts.items()}
        texts[f"{stem}.json"] = as_json(settings_of(result, stem) | {"sha256": digests})
    if "html" in formats:
        texts |= {f"{stem}.{name}.html": page(result, f"{stem}.{name}", figure, LIBRARY)
                  for name, figure in figures.items()}  # fmt: skip
        texts[LIBRARY] = get_plotlyjs()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
    return [directory / name for name in texts]


def as_json(content: Mapping[str, Any]) -> str:
    """Format JSON for a file."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read(directory: Path, experiment: str) -> Result:
    """Read a result that :func:`write` saved as CSV and JSON.

    Raises:
        FileNotFoundError: a file is missing.
        ParameterError: the experiment or a parameter does not exist any more, or a table belongs to
            another result.
    """
    saved = json.loads((directory / f"{experiment}.json").read_text(encoding="utf-8"))
    params = params_from_json(studies.load(saved["experiment"]).Params, saved["parameters"])
    tables = {}
    for name, kinds in saved["columns"].items():
        file = table_file(experiment, name)
        content = (directory / file).read_bytes()
        # Versions before 0.4 saved no digests.
        if saved.get("sha256", {}).get(file, digest := _digest(content)) != digest:
            raise ParameterError(
                f"{file}: is not the table that {experiment}.json describes; run the command again."
            )
        tables[name] = read_csv(io.BytesIO(content), kinds)
    return Result(
        experiment=saved["experiment"],
        params=params,
        tables=tables,
        summary=saved["summary"],
        privacy=saved["privacy"],
        event=event_from_json(saved["event"]),
        seed=saved["seed"],
        done=saved["done"],
        total=saved["total"],
        run_time=saved["run_time_seconds"],
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
