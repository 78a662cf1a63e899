from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core.output import files
from abcdp_core.output.formats import STATIC
from abcdp_core.results import Result
from tests.toy_experiment import figures

LONG = "A title with N = 5,000 and ε_abc = 0.1 that goes on for much longer than a figure is wide "


@pytest.mark.usefixtures("browser")
def test_static_figures_are_drawn_whole_on_white(result: Result, tmp_path: Path) -> None:
    from PIL import Image

    drawn = figures(result)["squares"]
    drawn.figure.update_layout(title_text=LONG * 2)
    written = files.write(result, {"squares": drawn}, tmp_path, ("svg", "png", "pdf"))
    assert [file.name for file in written] == [f"toy.squares.{kind}" for kind in STATIC]
    svg, png, pdf = (file.read_bytes() for file in written)
    words = re.sub(r"<[^>]*>", " ", svg.decode().replace("\u00a0", " "))
    assert all(word in words for word in LONG.split())
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 5000
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    assert pixels.shape[1] == 2 * fig.WIDTH
    assert pixels.min() < 50, "there is dark text"
    margins = (pixels[:8], pixels[-8:], pixels[:, :8], pixels[:, -8:])
    assert all((margin == 255).all() for margin in margins), "something touches the edge"
