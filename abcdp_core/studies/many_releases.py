r"""How much does one release depend on its noise?

A single private release is one draw of the noise. Here the same data go through the same pool many
times, each time with new noise, so the spread between releases is the privacy noise and nothing
else. *In practice you release only once*: every release spends its own budget, so $k$ of them
spend $k\,\epsilon_{total}$.

Each release is drawn at the mean of the draws that it kept, or at the prior mean if it kept none,
beside the estimate without noise, the prior mean and the truth.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import summaries
from abcdp_core.base.sentences import against_no_noise, budget_name, counted, ranges
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import one_release
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models.simulators import axis_words
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import SingleTask, single_task
from abcdp_core.studies.engine import Array, columns, scale

EXPERIMENT = "many-releases"
TITLE = "Many releases of the same data"
COLUMNS = columns(
    main="release_number sample parameter value weight",
    errors="release_number accepted mse mae",
    # Means without noise and of the prior, the truth if known, and 99 % of the prior's draws.
    references="parameter non_private non_private_accepted prior truth prior_low prior_high",
)
SIZES = (1, 2, 5, 10, 20, 30, 50, 100, 200)
RELEASES = scale("Releases", "How many times the data are released, each with new noise.", SIZES)


@dataclass(frozen=True)
class Params(one_release.ReleaseParams):
    """A release's parameters, and how many of them; ``noise_draw`` is the number of the first."""

    releases: int = RELEASES.field(30)


missing_pools, tasks = one_release.missing_pools, single_task


def work(task: SingleTask[Params]) -> Tables:
    """Release the same data again and again."""
    params, source = task.params, task.params.source
    event = one_release.event_of(params)
    comparison = one_release.comparison_of(params, task.seed)
    kept, errors = [], []
    for number in range(params.noise_draw, params.noise_draw + params.releases):
        rng = generator(task.seed, "noise", 0, number)
        release, _ = sparse_vector.run(comparison.rho, params.epsilon_abc, event, rng)
        kept.append(one_release.kept(source, comparison, release, release_number=number))
        mean = release.mean(comparison.theta, source.prior_mean)
        errors.append((number, len(release.indices), *summaries.errors(mean, source.truth)))
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    low, high = np.quantile(comparison.theta, (0.005, 0.995), axis=0)
    references = {
        "parameter": list(source.axes),
        "non_private": plain.mean(comparison.theta, source.prior_mean),
        "non_private_accepted": len(plain.indices),
        "prior": np.asarray(source.prior_mean, dtype=float),
        "truth": np.nan if source.truth is None else source.truth,
        "prior_low": low,
        "prior_high": high,
    }
    return {
        "main": pd.concat(kept, ignore_index=True),
        "errors": pd.DataFrame(errors, columns=list(COLUMNS["errors"])),
        "references": pd.DataFrame(references),
    }


def collect(params: Params, rows: Tables) -> Result:
    """Report the spread of errors, and what all releases spend together."""
    errors, total = rows["errors"], params.releases * params.epsilon_total
    made = f"{counted(len(errors), 'release')} of the same data"
    summary = f"Over {made}, the mean absolute error {ranges(errors.mae)}."
    if errors.mae.isna().all():
        summary = f"Shows {made}. The true parameters are unknown, so there is no error to report."
    privacy = one_release.privacy_of(params)
    if params.releases > 1:
        privacy += f" All {params.releases} together would spend {budget_name(total)}."
    summary, event = summary + summaries.empty_note(errors.accepted), one_release.event_of(params)
    return Result(EXPERIMENT, params, rows, summary, privacy, event)


def means(result: Result) -> Array:
    """Return the mean of each release ``(releases, d)``; the prior mean if no draw was kept."""
    references, numbers = result.tables["references"], result.tables["errors"].release_number
    main = result.tables["main"]
    weighted = main.assign(value=main.value * main.weight)
    sums = weighted.pivot_table("value", "release_number", "parameter", "sum")
    by_number = sums.reindex(index=numbers, columns=references.parameter)
    return np.asarray(by_number.fillna(references.set_index("parameter").prior), dtype=float)


def finding(result: Result) -> str:
    """Say in a line what noise does to the error of a typical release."""
    errors, references = result.tables["errors"], result.tables["references"]
    if errors.accepted.max() == 0:
        return "No release kept a draw, so every estimate is the prior mean"
    if errors.mae.isna().all():
        return f"{counted(len(errors), 'release')} of the same data, beside one without noise"
    plain = math.sqrt(((references.non_private - references.truth) ** 2).mean())
    what = "The typical error of a release" if len(errors) > 1 else "The error of this release"
    return f"{what} is {against_no_noise(float(np.sqrt(errors.mse).median()), plain)}"


SPREAD, GOLDEN = 1.1, (math.sqrt(5.0) - 1.0) / 2.0
"""Height that dots are spread over in a strip, and the step that spreads any number evenly."""


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the means of all releases, with a strip for each parameter."""
    params, references = cast(Params, result.params), result.tables["references"]
    axes = list(params.source.axes.values())
    names = "non_private", "prior", "truth"
    plain, prior, truth = (references[[name]].to_numpy(float) for name in names)
    ends = fig.shown_ends(axes, references[["prior_low", "prior_high"]].to_numpy(), truth[:, 0])
    figure = fig.figure(finding(result), "", "", settings=one_release.settings(params))
    words = axis_words(params.source).get("names", {})
    rows = [words.get(name, name) for name in references.parameter]
    figure.update_layout(fig.strips(rows, ends, "mean of the kept draws", 66))
    number = result.tables["errors"].release_number.to_numpy()
    height, each = SPREAD * ((number * GOLDEN) % 1.0 - 0.5), means(result).T
    newest = {"size": 13, "line": {"width": 2, "color": fig.BOTH.color}}
    marks = (
        (prior, np.zeros(1), fig.PRIOR, {"size": 11}),
        (each, height, fig.PRIVATE, {"size": 7, "opacity": 0.7}),
        (each[:, -1:], height[-1:], fig.PRIVATE, newest),
        (plain, np.zeros(1), fig.NON_PRIVATE, {"size": 12}),
        (truth, np.zeros(1), fig.TRUTH, {"size": 34}),
    )
    for index, (x, y, style, look) in itertools.product(range(len(axes)), marks):
        trace = fig.points(x[index], y, style)
        figure.add_trace(fig.in_panel(trace.update(marker=look), index))
    words = {"● releases": fig.PRIVATE, "■ without noise": fig.NON_PRIVATE, "◆ prior": fig.PRIOR}
    words |= {} if np.isnan(truth).all() else {"│ truth": fig.TRUTH}
    fig.key(figure, [(text, style.color) for text, style in words.items()])
    return {EXPERIMENT: fig.CaptionedFigure(figure, result.summary)}
