r"""Data sets that contain nobody's data.

The parameters that a private run keeps are released. Simulating data from them uses no more budget,
however often it is done (post-processing). The papers call such *synthetic data* a natural
by-product of ABCDP that may be published and shared. They show only what the model can show, and
intervals computed as if they were real ignore the noise. Each data set here is simulated from one
kept draw and shown beside the observed data, which are synthetic or already public. With your own
data, showing them would be a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.base.sentences import against_no_noise, amount, listed
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import one_release
from abcdp_core.models import pool, simulators
from abcdp_core.privacy import UNPROTECTED
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import SingleTask, single_task
from abcdp_core.studies.engine import Array, columns, scale

EXPERIMENT = "synthetic-data"
TITLE = "Synthetic data from a private posterior"
COLUMNS = columns(
    main="source data_set sample point coordinate value",
    compared="source coordinate mean standard_deviation data_sets",
)

SOURCES = ("private", "non-private")
OBSERVED = fig.TRUTH.called("observed", marker="circle")
WORDS = "in the observed data", "in synthetic data with noise", "in synthetic data without noise"
CALLED = dict(zip(("observed", *SOURCES), WORDS, strict=True))

SETS = scale("Data sets", "How many are simulated, each from one kept draw.", (1, 2, 3, 5, 10, 20))


@dataclass(frozen=True)
class Params(one_release.ReleaseParams):
    """A release's parameters, and how many data sets are simulated from it."""

    data_sets: int = SETS.field(3)


missing_pools, tasks = one_release.missing_pools, single_task


def work(task: SingleTask[Params]) -> Tables:
    """Release with and without noise, and simulate data from the kept draws."""
    params, source = task.params, task.params.source
    pair = one_release.both(params, task.seed)
    observed = pool.observed_data(one_release.pool_key(params, task.seed), params.n)
    tables = [_table("observed", np.array([-1]), source.coordinates, observed[None])]
    for number, release in enumerate((pair.private, pair.plain)):
        rng = generator(task.seed, "synthetic", params.noise_draw, number)
        chosen, data = simulators.simulate_round_robin(
            source, pair.comparison.theta[release.indices], params.n, params.data_sets, rng
        )
        draws = release.indices[chosen]
        tables.append(_table(SOURCES[number], draws, source.coordinates, data))
    main = pd.concat(tables, ignore_index=True)
    compared = main.groupby(["source", "coordinate"], sort=False).agg(
        mean=("value", "mean"),
        standard_deviation=("value", lambda values: values.std(ddof=0)),
        data_sets=("data_set", "nunique"),
    )
    return {"main": main, "compared": compared.reset_index()}


def _table(
    source: str, draws: NDArray[np.int64], names: tuple[str, ...], data: Array
) -> pd.DataFrame:
    """Return data sets ``(s, n, p)`` from draws ``(s,)`` as a table, with a row for each number."""
    data_set, point, coordinate = (each.ravel() for each in np.indices(data.shape))
    table = pd.DataFrame({"source": source, "data_set": data_set, "sample": draws[data_set]})
    return table.assign(point=point, coordinate=np.array(names)[coordinate], value=data.ravel())


MEANS = {
    "value": "mean value",
    "new cases": "mean number of new cases",
    "patients in the cluster": "mean number of patients in a cluster",
    "months with cases of the largest": "mean number of months with cases in the largest cluster",
}
"""Coordinate -> name of its mean."""

NO_COST = "Simulating data from the release costs no further privacy."


def collect(params: Params, rows: Tables) -> Result:
    """Compare the means of the last coordinate."""
    name, compared = params.source.coordinates[-1], rows["compared"]
    means = compared[compared.coordinate == name].set_index("source")["mean"]
    means_in_words = listed(
        [f"{amount(mean)} {CALLED[str(source)]}" for source, mean in means.items()]
    )
    summary = f"The {MEANS.get(name, f'mean of {name}')} is {means_in_words}."
    privacy = f"{one_release.privacy_of(params)} {NO_COST} {UNPROTECTED}"
    event = one_release.event_of(params)
    return Result(EXPERIMENT, params, rows, summary, privacy, event)


BINS = 25  # Bars of a histogram, of which only the outline is drawn
SHOWN = 0.99  # Share of all values that an axis shows if the domain has no end

Panel = tuple[Array, dict[str, Array]]
"""Places along the axis of a coordinate ``(k,)``, and source -> heights ``(s, k)``."""


def is_series(source: simulators.Scenario) -> bool:
    """Return whether the data are a series, drawn by day."""
    # Records of a user's model may have a day each, and more than one number.
    return source.coordinates[0] == "day" and source.model is None


def panels(source: simulators.Scenario, main: pd.DataFrame) -> dict[str, Panel]:
    """Return the distribution of each coordinate, or the series."""
    n, names = int(main.point.max()) + 1, source.coordinates
    values: dict[str, dict[str, Array]] = {name: {} for name in names}
    for (name, of), part in main.groupby(["coordinate", "source"], sort=False):
        values[str(name)][str(of)] = part.value.to_numpy(float).reshape(-1, n)
    if is_series(source):
        return {names[-1]: (values[names[0]][OBSERVED.name][0], values[names[-1]])}
    return {name: _histograms(source.domain, sets) for name, sets in values.items()}


def _histograms(domain: tuple[float, float], sets: dict[str, Array]) -> Panel:
    """Return histograms on the same edges; values beyond count in the outermost bar."""
    every = np.concatenate([each.ravel() for each in sets.values()])
    low, high = domain
    if not math.isfinite(high):
        low, high = float(every.min()), float(np.quantile(every, SHOWN))
    step = (high - low) / BINS or 1.0
    if (every == np.round(every)).all():
        # Whole numbers are in the middle of a bar.
        low, step = low - 0.5, float(math.ceil(step))
    count = max(1, math.ceil((high - low) / step - 1e-9))
    edges = low + step * np.arange(count + 1)

    def outline(values: Array) -> Array:
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        return np.repeat(counts / len(values), 2)

    heights = {source: np.stack([outline(one) for one in each]) for source, each in sets.items()}
    return np.repeat(edges, 2)[1:-1], heights


def finding(shown: dict[str, Panel]) -> str:
    """Compare the distances of synthetic data from the observed data, as they are drawn."""
    far: dict[str, list[float]] = {source: [] for source in SOURCES}
    for _, sets in shown.values():
        for source in set(SOURCES) & set(sets):
            far[source].append(np.abs(sets[source] - sets[OBSERVED.name]).sum(axis=1).mean())
    if not all(far.values()):
        return "At least one run kept no draw, so there is nothing to compare"
    private, plain = (float(np.mean(each)) for each in far.values())
    verdict = against_no_noise(private, plain, "distance")
    return f"The distance of synthetic data from the observed data is {verdict}"


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the distribution of every coordinate, or the series."""
    params, main = cast(Params, result.params), result.tables["main"]
    source = params.source
    shown, series = panels(source, main), is_series(source)
    x_title, height = source.coordinates[0], 150 if len(shown) > 1 else 300
    figure = fig.rows(
        list(shown), finding(shown), x_title, height, one_release.settings(params), shared=series
    )
    for index, (x, sets) in enumerate(shown.values()):
        traces = []
        for style in (fig.NON_PRIVATE, fig.PRIVATE):
            if style.name in sets:
                every, of_mean = sets[style.name], style.called(f"{style.name}, mean")
                mean = fig.line(x, every.mean(axis=0), of_mean).update(line={"width": 3})
                traces += [fig.together(x, every, style), mean]
        draw = fig.points if series else fig.line
        traces.append(draw(x, sets[OBSERVED.name][0], OBSERVED))
        figure.add_traces([trace.update(fig.panel(index)) for trace in traces])
    names = {"synthetic, no noise": fig.NON_PRIVATE, "synthetic, with noise": fig.PRIVATE}
    names["observed"] = OBSERVED
    fig.key(figure, [(name, style.color) for name, style in names.items()])
    figure.update_yaxes(rangemode="tozero").update_layout(showlegend=False)
    return {EXPERIMENT: fig.CaptionedFigure(figure, result.summary)}
