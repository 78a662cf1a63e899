"""Figures, data and settings to files, and back.

``EXPERIMENT.csv`` is the table ``main`` and ``EXPERIMENT.TABLE.csv`` another one, with every number
in full precision; ``EXPERIMENT.json`` says how they were made and how to make them again;
``EXPERIMENT.FIGURE.html``, ``.svg``, ``.png``, ``.pdf`` are the figures. Nothing that is written
needs a network to be read. Saved tables and settings redraw the figures: :func:`read_tables`.
"""

from __future__ import annotations

import dataclasses
import html
import io
import json
import shlex
import tempfile
import typing
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
import plotly.offline

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.privacy import Event
from abcdp_core.results import Result, versions

FORMATS = ("csv", "json", "html", "svg", "png", "pdf")
STATIC = ("svg", "png", "pdf")
"""Formats that a browser has to draw."""

Figures = Mapping[str, Drawn]
"""Name -> figure with its sentence."""


class ExportError(RuntimeError):
    """A figure cannot be drawn to a file; one sentence says what to do about it."""


def chosen_formats(text: str) -> tuple[str, ...]:
    """The formats of a list like ``csv,svg``, in the order of :data:`FORMATS`.

    Raises:
        ParameterError: one of them is none, or there is none.
    """
    asked = [item.strip() for item in text.split(",") if item.strip()]
    for item in asked or ["nothing"]:
        if item not in FORMATS:
            raise ParameterError(
                f"formats = {item}: must be one or several of {', '.join(FORMATS)}."
            )
    return tuple(item for item in FORMATS if item in asked)


# ------------------------------------------------------------------ settings


def command(result: Result) -> str:
    """The line that computes the result again."""
    return command_of(result.experiment, result.params, result.seed)


def command_of(experiment: str, params: Params, seed: int) -> str:
    """The line that runs an experiment with these parameters."""
    settings = (f"--set {shlex.quote(f'{k}={v}')}" for k, v in params.to_text().items())
    return (
        f"python -m abcdp_core run {shlex.quote(experiment)} {' '.join(settings)} "
        f"--seed {seed} --out {shlex.quote(f'results/{experiment}')}"
    )


def settings(result: Result, run_time: float | None = None) -> dict[str, Any]:
    """All that is known about a result beside its tables, ready for JSON.

    Args:
        result: complete or partial.
        run_time: seconds that it took.
    """
    return {
        "experiment": result.experiment,
        "parameters": result.params.to_text(),
        "seed": result.seed,
        "command": command(result),
        "summary": result.summary,
        "privacy": result.privacy,
        "event": event_as_text(result.event),
        "done": result.done,
        "total": result.total,
        "partial": result.is_partial,
        "run_time_seconds": None if run_time is None else round(run_time, 3),
        "versions": versions(),
        "columns": {name: column_kinds(table) for name, table in result.tables.items()},
    }


def event_as_text(event: Event | None) -> dict[str, str] | None:
    """Text, because JSON has no infinity; ``repr`` of a float loses nothing."""
    if event is None:
        return None
    types = typing.get_type_hints(type(event))
    fields = {name: repr(kind(getattr(event, name))) for name, kind in types.items()}
    return {"kind": type(event).__name__} | fields


def _event_from_text(saved: Mapping[str, str] | None) -> Event | None:
    if saved is None:
        return None
    kinds: dict[str, Any] = {kind.__name__: kind for kind in typing.get_args(Event)}
    types = typing.get_type_hints(kinds[saved["kind"]])
    parse: dict[type, Callable[[str], Any]] = {bool: "True".__eq__, int: int, float: float}
    values = {name: parse[types[name]](text) for name, text in saved.items() if name != "kind"}
    event: Event = kinds[saved["kind"]](**values)
    return event


def column_kinds(table: pd.DataFrame) -> dict[str, str]:
    """Column -> ``integer``, ``real``, ``switch`` or ``text``.

    Raises:
        TypeError: a column mixes kinds, or holds none of these.
    """
    return {str(name): _kind(str(name), column) for name, column in table.items()}


def _kind(name: str, column: pd.Series[Any]) -> str:
    kinds = {"i": "integer", "u": "integer", "f": "real", "b": "switch"}
    code = getattr(column.dtype, "kind", "O")
    if code in kinds:
        return kinds[code]
    if (
        pd.api.types.is_string_dtype(column)
        and column.map(lambda item: isinstance(item, str)).all()
    ):
        return "text"
    raise TypeError(f"column {name}: holds more than one kind of value.")


# --------------------------------------------------------------------- files


def write(
    result: Result,
    figures: Figures,
    directory: Path,
    formats: Sequence[str],
    run_time: float | None = None,
) -> list[Path]:
    """Write a result; what needs no browser first, so that a missing one costs nothing else.

    Args:
        result: complete or partial.
        figures: name -> figure.
        directory: made if it is not there.
        formats: some of :data:`FORMATS`.
        run_time: seconds that it took, for the settings.

    Returns:
        The files written.

    Raises:
        ExportError: there is no way to draw static figures here.
        OSError: the directory cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = _write_text(result, figures, directory, formats, result.experiment, run_time)
    images = _images(result, figures, directory, formats, result.experiment)
    _draw(images)
    return written + [image.path for image in images]


def _write_text(
    result: Result,
    figures: Figures,
    directory: Path,
    formats: Sequence[str],
    stem: str,
    run_time: float | None = None,
) -> list[Path]:
    """Everything but static figures, in files that begin with ``stem``."""
    texts: dict[str, str] = {}
    if "csv" in formats:
        texts |= {table_file(stem, name): _csv(table) for name, table in result.tables.items()}
    if "json" in formats:
        texts[f"{stem}.json"] = _json(settings(result, run_time))
    if "html" in formats:
        texts |= {f"{stem}.{name}.html": _page(result, f"{stem}.{name}", each)
                  for name, each in figures.items()}  # fmt: skip
        texts["plotly.min.js"] = plotly.offline.get_plotlyjs()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
    return [directory / name for name in texts]


def table_file(stem: str, table: str) -> str:
    """Name of the file that holds a table."""
    return f"{stem}.csv" if table == "main" else f"{stem}.{table}.csv"


def _csv(table: pd.DataFrame) -> str:
    """Shortest text of every number that reads back as the same number."""
    column_kinds(table)
    return table.to_csv(index=False, lineterminator="\n", na_rep="nan")


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def zip_bytes(results: Sequence[tuple[Result, Figures]], formats: Sequence[str]) -> bytes:
    """A page's results in one archive, with the commands that compute them again.

    The order of the members, their names and their dates depend on nothing but the results. Where
    static figures cannot be drawn the archive holds the rest and a ``note.txt`` that says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        images: list[_Image] = []
        for stem, (result, figures) in zip(_stems(results), results, strict=True):
            _write_text(result, figures, directory, formats, stem)
            images += _images(result, figures, directory, formats, stem)
        commands = "".join(f"{command(result)}\n" for result, _ in results)
        (directory / "command.txt").write_text(commands, encoding="utf-8")
        try:
            _draw(images)
        except ExportError as error:
            (directory / "note.txt").write_text(f"{error}\n", encoding="utf-8")
        return _zipped(directory)


def _stems(results: Sequence[tuple[Result, Figures]]) -> list[str]:
    """Names of experiments; the second result of the same experiment gets a number."""
    seen: Counter[str] = Counter()
    stems = []
    for result, _ in results:
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


def read_tables(directory: Path, experiment: str) -> Result:
    """The result that :func:`write` saved as CSV and JSON.

    Args:
        directory: where the files are.
        experiment: what their names begin with.

    Raises:
        FileNotFoundError: a file is not there.
        ParameterError: the experiment is unknown, or has no such parameters any more.
    """
    saved = json.loads((directory / f"{experiment}.json").read_text(encoding="utf-8"))
    params = experiments.load(saved["experiment"]).Params.from_text(saved["parameters"])
    return Result(
        experiment=saved["experiment"],
        params=params,
        tables={
            name: _read_table(directory / table_file(experiment, name), kinds)
            for name, kinds in saved["columns"].items()
        },
        summary=saved["summary"],
        privacy=saved["privacy"],
        event=_event_from_text(saved["event"]),
        seed=saved["seed"],
        done=saved["done"],
        total=saved["total"],
    )


PARSE: dict[str, Callable[[pd.Series[str]], Any]] = {
    # Python's own parser gives back the very number that was written.
    "integer": lambda column: np.array([int(text) for text in column], np.int64),
    "real": lambda column: np.array([float(text) for text in column], np.float64),
    "switch": lambda column: column.to_numpy() == "True",
    "text": lambda column: column,
}


def _read_table(file: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    texts = pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8")
    return pd.DataFrame({name: PARSE[kind](texts[name]) for name, kind in kinds.items()})


# ------------------------------------------------------------------- figures

CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "toImageButtonOptions": {"format": "svg"},
}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font-family: {font}; color: {ink}; background: #FFFFFF; margin: 1rem auto;
       max-width: 70rem; padding: 0 1rem; line-height: 1.4; }}
h1 {{ font-size: 1.25rem; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{figure}
<p>{sentence}</p>
<p>{privacy}</p>
</main>
</body>
</html>
"""


def _page(result: Result, name: str, drawn: Drawn) -> str:
    """A page that holds one figure, its sentence and the privacy statement."""
    title = _title(result, drawn.figure) or name
    return PAGE.format(
        title=html.escape(title),
        figure=part_of_page(drawn.figure, name, "directory"),
        sentence=html.escape(drawn.sentence),
        privacy=html.escape(result.privacy),
        font=fig.FONT,
        ink=fig.INK,
    )


def part_of_page(
    figure: go.Figure, name: str, plotlyjs: bool | Literal["directory"], title: str = ""
) -> str:
    """A figure as a part of a page in HTML.

    Args:
        figure: left as it is.
        name: of the part, unique on its page.
        plotlyjs: whether it brings the script that draws it; once on a page is enough.
        title: above it; empty for none.
    """
    return plotly.io.to_html(
        fig.dressed(figure, fig.PAPER, title),
        full_html=False,
        include_plotlyjs=plotlyjs,
        div_id=name,
        config=CONFIG,
    )


def _title(result: Result, figure: go.Figure) -> str:
    """The title as one line; a result that is not complete says so."""
    partial = f"partial result: {result.done} of {result.total} tasks"
    parts = (fig.one_line(figure), partial if result.is_partial else "")
    return " · ".join(part for part in parts if part)


@dataclasses.dataclass(frozen=True)
class _Image:
    """A static figure to be drawn."""

    figure: go.Figure
    path: Path


def _images(
    result: Result, figures: Figures, directory: Path, formats: Sequence[str], stem: str
) -> list[_Image]:
    static = [suffix for suffix in STATIC if suffix in formats]
    images = []
    for name, each in figures.items() if static else ():
        paper = fig.dressed(each.figure, fig.PAPER, _title(result, each.figure))
        images += [_Image(paper, directory / f"{stem}.{name}.{suffix}") for suffix in static]
    return images


def static_obstacle() -> str | None:
    """Why static figures cannot be drawn here and what to do about it; ``None`` if they can."""
    try:
        import kaleido  # noqa: F401 - asks whether it is there
        from choreographer.browsers.chromium import Chromium
    except ImportError:
        return "SVG, PNG and PDF files need the package kaleido: run `pip install kaleido`."
    browser = Chromium.find_browser(skip_local=False)
    if browser is None or not Path(browser).is_file():
        return (
            "SVG, PNG and PDF files need Chrome or Chromium: install one, or set BROWSER_PATH to "
            "it, or run `plotly_get_chrome`."
        )
    return None


def _draw(images: Sequence[_Image]) -> None:
    """Draw all in one browser, which takes longer to start than to draw.

    Kaleido is called directly because plotly's function would let it load a script from the
    network, and would drop errors of single figures.
    """
    if not images:
        return
    obstacle = static_obstacle()
    if obstacle is not None:
        raise ExportError(obstacle)
    import kaleido

    try:
        kaleido.write_fig_from_object_sync(
            [_order(image) for image in images], kopts={"mathjax": False}, cancel_on_error=True
        )
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(
            f"The browser could not draw the figures ({reason}): choose html, or set BROWSER_PATH "
            "to another Chrome or Chromium."
        ) from error


def _order(image: _Image) -> dict[str, Any]:
    suffix = image.path.suffix.removeprefix(".")
    options = {
        "format": suffix,
        "width": fig.WIDTH,
        "height": image.figure.layout.height,
        "scale": 2 if suffix == "png" else 1,
    }
    return {"fig": image.figure, "path": image.path, "opts": options}
