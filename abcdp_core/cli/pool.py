"""Write a public pool as a table and a TOML file that describes it.

The table has one row per draw from the prior: its parameters and the summaries of its simulated
data. The TOML file, of the same name, says what they are, how far one record moves them, and whose
privacy that protects. `check pool.toml` reads both; so can any other program. Pools are cached, so
none is simulated twice; if you interrupt a slow model of your own, the same command continues.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
import tomllib
from pathlib import Path
from typing import Any

from abcdp_core.base.atomic import together
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.base.tabular.pools import ENDINGS
from abcdp_core.cli import arguments, progress, public_pool
from abcdp_core.cli.console import say
from abcdp_core.models import pool as pools
from abcdp_core.models import simulators
from abcdp_core.models.own_model import export


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("scenario", metavar="SCENARIO")
    parser.add_argument("--n", metavar="N", help="records in a data set (the scenario's)")
    parser.add_argument("--pool-size", metavar="T", help="number of draws (the scenario's)")
    arguments.add_seed(parser)
    arguments.add_place(parser, "a thread per core")
    parser.add_argument("--out", type=arguments.path, required=True, metavar="FILE",
                        help="table (.csv or .parquet); the TOML file goes beside it")  # fmt: skip
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate the pool unless it is cached, and write it.

    Raises:
        ParameterError: the request is not possible.
        KeyboardInterrupt: the pool was not finished.
    """
    arguments.plug_in(options.plugin)
    known = Parameter("choice", "Scenario", options=tuple(simulators.names()))
    arguments.check_scenario(options.scenario, known.options, options.plugin)
    source = simulators.load(str(known.check("scenario", options.scenario)))
    n = source.n_default if options.n is None else int(source.n.parse("n", options.n))
    size = source.pool_size_default
    if options.pool_size is not None:
        size = int(source.pool_size.parse("pool_size", options.pool_size))
    seed = arguments.seed(options.seed)
    out: Path = options.out
    if out.suffix not in ENDINGS:
        raise ParameterError(f"out = {out}: must end with {' or '.join(ENDINGS)}.")
    arguments.check_writable("out", out.parent)
    beside = out.with_suffix(".toml")
    _check_place(out, beside, source.name)
    statistic = export.statistic_of(source)
    public = pools.public_side(source, n, size, seed)
    asked = 1 if options.workers is None else arguments.workers(options.workers, size)
    with (
        public_pool.made_by(asked, options.scheduler, options.plugin),
        progress.of_fraction("public pool") as bar,
    ):
        pools.make([] if pools.is_kept(public.key) else [public.key], bar)
    made, values = export.pool_of(source, public.theta, public.summaries(statistic.name), n, beside)
    with (
        arguments.writing("out", out.parent, arguments.UNCHANGED),
        together(out.parent) as folder,
    ):
        # Again, now that no other process writes there: minutes may have passed.
        _check_place(out, beside, source.name)
        there = dataclasses.replace(made, file=folder / beside.name)
        export.write(there, values, folder / out.name)
    same = source.precomputed_pool is not None
    say(
        f"{size:,} draws of {source.name} with N = {n:,}: {out} and {beside.name}.",
        *["This pool comes with the program; the seed does not change it."] * same,
        f"Next: abcdp check {shlex.quote(str(beside))}",
    )
    return 0


def _check_place(out: Path, beside: Path, scenario: str) -> None:
    """Refuse to overwrite anything but an earlier pool of the scenario in the same table.

    Raises:
        ParameterError: another file is there.
    """
    there = [file for file in (out, beside) if file.exists()]
    earlier: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        earlier = tomllib.loads(beside.read_text(encoding="utf-8-sig"))
    if there and (earlier.get("pool"), earlier.get("name")) != (out.name, scenario):
        raise ParameterError(
            f"out = {out}: {there[0].name} already exists and is not an earlier pool of "
            f"{scenario}; choose a new file."
        )
