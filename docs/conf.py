"""Build the documentation: ``make docs`` writes it to ``build/docs``; it needs no network to read.

The pages in this folder are Markdown, readable where they are. What the program already says is
written anew for each build into ``docs/made``, which is not kept: the theory in its docstrings, a
page for each module; the help of each command; and a notebook with its output.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT, MADE = HERE.parent, HERE / "made"
sys.path.insert(0, str(ROOT))

from abcdp_core import __version__  # noqa: E402 - found only now
from abcdp_core.__main__ import COMMANDS, parser_of  # noqa: E402
from abcdp_core.publish.output import story  # noqa: E402
from ui.figures.blocks import with_formulas  # noqa: E402

project = "ABCDP Explorer"
copyright = "The ABCDP Explorer authors"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_extra_path = ["made/story"]
html_title = f"ABCDP Explorer {version}"
autodoc_member_order = "bysource"

OUTSIDE = {
    "SECURITY.md": "security",
    "assets/formulas.md": "formulas",
    "examples/README.md": "published_problems",
}
"""Page of the project outside this folder -> its name among those that are made."""

SOURCE = re.compile(r" \(([^()]*(?:MATH|\[)[^()]*)\)\.?$")
"""The source at the end of a docstring's first line."""

LEAST = 5
"""Lines of a docstring that states some theory."""


def docstring_in_markdown(text: str) -> str:
    """Return a docstring as the app shows it, without the markup of cross-references."""
    return with_formulas(re.sub(r":\w+:`[~.]*([^`]+)`", r"`\1`", text).replace("``", "`"))


def make_theory() -> None:
    """Write the docstring of each module that states theory as a page."""
    rooms = "mechanisms evaluation/theory adaptive privacy models models/distances posterior"
    for folder in rooms.split():
        for file in sorted((ROOT / "abcdp_core" / folder).glob("*.py")):
            found = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            first, _, rest = found.partition("\n")
            title, _, more = first.partition(". ")
            if len(found.splitlines()) >= LEAST:
                where = f"Stated and computed in `{file.relative_to(ROOT).as_posix()}`"
                if source := SOURCE.search(title):
                    title, where = title[: source.start()], f"Source: {source[1]}. {where}"
                page = f"# {title.rstrip('.')}\n\n{more}\n{rest}\n\n{where}.\n"
                write(f"{file.parent.name}/{file.stem.strip('_')}", docstring_in_markdown(page))


def make_commands() -> None:
    """Write the help of every command."""
    os.environ["COLUMNS"] = "88"
    parts = ["# Commands\n"]
    for name in COMMANDS:
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
            parser_of(name).parse_args([name, "--help"])
        parts.append(f"## {name}\n\n```text\n{said.getvalue()}```\n")
    write("commands", "\n".join(parts))


def make_notebook(file: Path) -> None:
    """Write a notebook with the output that is kept in it."""
    parts = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = "".join("".join(each["text"]) for each in cell.get("outputs", ()))
        parts += [f"```text\n{printed}```"] if printed else []
    write(file.stem, "\n\n".join(parts) + "\n")


def write(name: str, text: str) -> None:
    """Write a page that is not kept."""
    file = MADE / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


STORY = "could-it-betray-you.html"
FRAME = f'''```{{raw}} html
<iframe src="{STORY}" title="The story" style="width: 100%; height: 45rem; border: 0"></iframe>
```'''
"""The story in place of its picture, which is for those who read the page as a file."""


def follow_links(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Let links to pages outside this folder lead to their copies, and play the story."""
    source[0] = re.sub(r"!\[[^]]*\]\(\.\./assets/story\.png\)", FRAME, source[0])
    for file, name in OUTSIDE.items():
        source[0] = source[0].replace(f"](../{file})", f"](made/{name}.md)")


def setup(app: Sphinx) -> None:
    """Join this build."""
    app.connect("source-read", follow_links)


shutil.rmtree(MADE, ignore_errors=True)
make_theory()
make_commands()
make_notebook(HERE / "sbi.ipynb")
Path(MADE, "story").mkdir()
Path(MADE, "story", STORY).write_text(story.page(), encoding="utf-8")
for outside, made in OUTSIDE.items():
    write(made, (ROOT / outside).read_text(encoding="utf-8"))
