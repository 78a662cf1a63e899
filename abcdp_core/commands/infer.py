"""``abcdp infer``: the posterior from what somebody else released, noise and all.

PROBLEM.toml holds the query, its noise law, and which simulator or pool is to explain it; three are
in the folder ``examples``. It costs no privacy budget: nothing private is read. Written are
``infer.csv`` (weighted draws), ``infer.summary.csv``, ``infer.json`` and ``infer.html``, all or
none.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from plotly.offline import get_plotlyjs

from abcdp_core.commands import arguments, inferred
from abcdp_core.commands.ending import say
from abcdp_core.commands.simulations import done_by
from abcdp_core.output.page import LIBRARY
from abcdp_core.output.together import together
from abcdp_core.published import inference, problems, report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("problem", type=arguments.path, metavar="PROBLEM.toml")
    arguments.add_workers(parser)
    parser.add_argument(
        "--out", type=arguments.path, required=True, metavar="DIR", help="where files go"
    )


def run(options: argparse.Namespace) -> int:
    """Read, check, compute, write.

    Raises:
        ParameterError: something asked for is not possible.
        KeyboardInterrupt, LostWorkersError, MemoryError: before the end; nothing is written.
    """
    problem = problems.read(options.problem)
    arguments.workers(options.workers, 1)
    arguments.check_writable("out", options.out)
    arguments.make_ready(options.out, "infer", "csv", "json", "html")
    started = time.monotonic()
    with done_by(options.workers) as each:
        posterior = inference.infer(problem, each)
    taken = time.monotonic() - started
    try:
        written = _write(inferred.texts(problem, posterior, taken), options.out)
    except OSError as error:
        raise arguments.not_writable("out", options.out, error, arguments.UNCHANGED) from error
    say(report.sentence(problem, posterior.summary))
    say(f"Computed in {taken:.1f} s. Files:", *(f"  {file}" for file in written))
    return 0


def _write(texts: dict[str, str], directory: Path) -> list[Path]:
    """Write files, all of them or none."""
    texts = texts | {LIBRARY: get_plotlyjs()}
    with together(directory) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [directory / name for name in texts]
