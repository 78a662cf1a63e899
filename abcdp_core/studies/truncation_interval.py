r"""Where should a response be truncated?

Person $t$ answers $Y = \mathrm{clip}(X, a, b) + $ noise, and the noise is proportional to the width
$b - a$ (MATH A1). A narrow interval clips more values, but clipping loses little about $\mu$: most
of the information is on which side of $\mu$ a value lies. So a narrower interval with less noise
can carry more. A response carries the Fisher information $F$ about $(\mu, \sigma)$ at $(0, 1)$
(MATH A3), and the best interval maximizes a score of it,

$$(a^*, b^*) = \arg\max_{a < b}\ \mathrm{score}\bigl(F(a, b)\bigr), \qquad
l = \mu + \sigma a^*, \quad r = \mu + \sigma b^*. \tag{A4}$$

The best interval of the base distribution serves every $\mu$ and $\sigma$ of the family.

**A correction.** [Y23] reports the half-widths 0.06, 0.12, 0.54 and 0.96 for $\epsilon_{total}$ =
1, 2, 5 and 10, from a search in steps with Monte Carlo noise. The exact maximizers are 0.0706,
0.2234, 0.7281 and 1.2244. The curve is flat, so the paper's intervals lose 1.1 percent at most.

**What is not learned.** As the width goes to 0, the response becomes a noisy sign, with information
about $\mu$ but next to none about $\sigma$. At $\epsilon_{total} = 1$ a response in the best
interval for $\mu$ carries $5 \cdot 10^{-5}$ about $\log\sigma$, less than the $7 \cdot 10^{-5}$
of a fixed interval 20 $\sigma$ wide; at 5 it carries 0.18 against 0.007. If $\sigma$ matters,
choose a score that counts it.

For the same $\epsilon_{total}$ a person can answer by a symbol (MATH A14, *ways-of-asking*);
``bound`` is an upper bound on the information about $\mu$ for any answer on the same cells.

The noise of the published runs is too small by the factor $\sqrt{2}$, so they spend $\sqrt{2}$
times the budget they state (MATH A11).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.adaptive import best_channel, information, intervals, noise
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import (
    AXES,
    amount,
    budget_name,
    decimals,
    fixed,
    listed,
    percent,
    plain,
    settings_line,
)
from abcdp_core.figures.lines import Lines
from abcdp_core.studies.engine import (
    Array,
    BaseParams,
    CellTable,
    Result,
    Run,
    RunTable,
    Settings,
    Study,
    choice,
    scale,
)

EXPERIMENT = "truncation-interval"
TITLE = "The interval whose noisy answers carry the most information"
MAY_BE_LONG = True

INTEGRATION = choice(
    "Integration",
    "exact: quadrature. monte-carlo: the paper's nested estimate and its search in steps.",
    ("exact", "monte-carlo"),
)
DRAWS = scale(
    "Draws of the Monte Carlo integration",
    "Responses simulated per interval, and values weighted for each response.",
    (10, 20, 50, 100, 200, 500, 1000),
)

BEST_FOR = {"sign": ("mu",), "optimal": ("mu", "trace", "determinant", "sigma")}
"""Channel -> scores for which its best symbols are shown beside intervals."""

FIXED, FIXED_HALF_WIDTH = "fixed, μ ± 10σ", 10.0  # The fixed interval that the paper compares with
NARROW, WIDE = 0.01, 10.0
HALF_WIDTHS = np.unique([*np.geomspace(NARROW, WIDE, 60), 2.0, 3.0, 5.0])
"""Half-widths of symmetric intervals, in σ; with round ones, which claims use."""

CENTRES, HALVES, CELLS = 25, np.geomspace(NARROW, WIDE, 37), 40
"""Centers and half-widths of the plane; cells of the surface in each direction."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Budgets, family, what to learn, and how to integrate."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0))
    family: str = stream_params.FAMILY.field("normal")
    score: str = stream_params.SCORE.field("mu")
    weight: float = stream_params.WEIGHT.field(0.5)
    symmetric: bool = stream_params.SYMMETRIC.field(True)
    integration: str = INTEGRATION.field("exact")
    noise: str = stream_params.NOISE.field("laplace")
    delta: float = par.DELTA.field(1e-5)
    draws: int = DRAWS.field(200)
    channel: tuple[str, ...] = stream_params.CHANNEL.field(("truncation",))

    def check_together(self) -> None:
        """Refuse noise of answers that have none."""
        stream_params.check_noise(self.channel, self.noise)


PRESETS: dict[str, BaseParams] = {"y23-intervals": Params()}


def best_interval(run: Run[Params]) -> Settings:
    """Return the settings of a task, which has one budget, with its best interval and score."""
    at = Settings(**vars(run.params) | {"epsilon_total": run.params.epsilon_total[0]})
    scale, weight = unit_scale(at), at.weight
    exact = intervals.best(scale, at.noise, at.family, at.score, at.symmetric, weight)
    if at.integration == "exact":
        return Settings(**vars(at), a=exact.a, b=exact.b, found=exact.score, exact=exact.score)
    half, score = intervals.searched(
        run.seed, at.draws, scale, at.noise, at.family, at.score, weight
    )
    return Settings(**vars(at), a=-half, b=half, found=score, exact=exact.score)


def unit_scale(at: Settings) -> float:
    """Return the scale of the noise per unit of width (MATH A1, A12)."""
    return noise.unit_scale(at.noise, at.epsilon_total, at.delta)


def score(at: Settings, F: Array) -> Array:
    """Return the score ``(...)`` of an information ``(..., 2, 2)``."""
    return intervals.SCORES[at.score](F, at.weight)


def scores(at: Settings, a: Array, b: Array) -> Array:
    """Return the exact score ``(...)`` of intervals with these ends ``(...)``."""
    informed = information.NOISES[at.noise].information(FAMILIES[at.family], a, b, unit_scale(at))
    return score(at, informed)


def best_of(world: Settings, at: Settings) -> dict[str, float]:
    """Return the best question of one way of asking, its score, and the paper's interval."""
    if at.channel == "truncation":
        best = {"a": world.a, "b": world.b, "information": world.found}
        half = intervals.PAPER_HALF_WIDTHS.get(at.epsilon_total)
        if half is not None and (at.family, at.noise, at.score) == ("normal", "laplace", "mu"):
            informed = float(scores(at, np.array(-half), np.array(half)))
            best |= {"paper_a": -half, "paper_b": half, "paper_information": informed}
    else:
        table = stream_params.table(
            at.channel, at.epsilon_total, at.family, at.score, at.symmetric, at.weight
        )
        informed = float(score(at, table.information(FAMILIES[at.family])))
        bound = _bound(at.epsilon_total, at.family) if at.score == "mu" else np.nan
        best = {"symbols": len(table.weights), "information": informed, "bound": bound}
    return dict.fromkeys(FOUND.split(), np.nan) | best


FOUND = "a b symbols information bound paper_a paper_b paper_information"


@functools.lru_cache(maxsize=256)
def _bound(epsilon_total: float, family: str) -> float:
    """Return an upper bound on the information about μ on the best table's cells (MATH A14)."""
    grid = best_channel.cells(FAMILIES[family], best_channel.best(epsilon_total, family).cells)
    return best_channel.upper_bound(grid, epsilon_total, "mu")


def surface(best: Settings, _: Run[Params]) -> pd.DataFrame:
    """Return the exact score of all intervals with ends on a grid around the best one."""
    ends = np.linspace(-1.0, 1.0, CELLS + 1) * max(3.0, 1.25 * max(-best.a, best.b))
    a, b = (ends[index] for index in np.triu_indices(len(ends), 1))
    columns = {"a": a, "b": b, "information": scores(best, a, b)}
    return pd.DataFrame({"epsilon_total": best.epsilon_total, **columns})


def plane(best: Settings, _: Run[Params]) -> pd.DataFrame:
    """Return the exact score by half-width and by center, from μ to the right by symmetry."""
    centres = np.linspace(0.0, max(3.0, 1.25 * 0.5 * abs(best.a + best.b)), CENTRES)
    centre, half = (axis.ravel() for axis in np.meshgrid(centres, HALVES))
    columns = {"half_width": half, "information": scores(best, centre - half, centre + half)}
    return pd.DataFrame({"epsilon_total": best.epsilon_total, "centre": centre, **columns})


def widths(best: Settings, _: Run[Params]) -> pd.DataFrame:
    """Return the exact score of symmetric intervals, from the limit of half-width 0."""
    limit = information.NOISES[best.noise].limit(FAMILIES[best.family], 0.0, unit_scale(best))
    scored = [float(score(best, limit)), *scores(best, -HALF_WIDTHS, HALF_WIDTHS)]
    half = {"epsilon_total": best.epsilon_total, "half_width": [0.0, *HALF_WIDTHS]}
    return pd.DataFrame({**half, "information": scored, "best_information": best.exact})


def ways(at: Settings, _: Run[Params]) -> list[tuple[Any, ...]]:
    """Return the information of one answer about μ and log σ, for each way of asking."""
    scale, family, half = unit_scale(at), FAMILIES[at.family], FIXED_HALF_WIDTH
    known = {}
    for each in ("mu", "trace", "sigma"):
        best = intervals.best(scale, at.noise, at.family, each, symmetric=each == "mu")
        known[f"best for {each}"] = best.a, best.b, best.information
    ends = np.array(-half), np.array(half)
    known[FIXED] = -half, half, information.NOISES[at.noise].information(family, *ends, scale)
    for channel in at.channel:
        for each in BEST_FOR.get(channel, ()):
            table = stream_params.table(channel, at.epsilon_total, at.family, each, True, 0.5)
            way = channel if channel == "sign" else f"{channel} for {each}"
            known[way] = np.nan, np.nan, table.information(family)
    return [(at.epsilon_total, way, a, b, F[0, 0], F[1, 1]) for way, (a, b, F) in known.items()]


def truncated(main: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of truncation, one for each budget, smallest first."""
    return main[main.channel == "truncation"].sort_values("epsilon_total")


ALMOST_NONE = 0.0005
"""Share of the maximum information below which an interval yields almost none."""

MILLIONTH = 1e-6
MINUS = "\u2212"


def best_intervals(result: Result) -> tuple[str, str]:
    """Report the best intervals at the smallest and largest budget, and what the paper's lose."""
    params, main = cast(Params, result.params), result.tables["main"]
    rows = truncated(main)
    if rows.empty:
        strictest = main[main.epsilon_total == main.epsilon_total.min()]
        scores = listed(
            [*map("{} with {}".format, strictest.information.map(amount), strictest.channel)]
        )
        title = f"At {budget_name(main.epsilon_total.min())}, the information is {scores}"
        return title, f"{title}."
    ends = rows.iloc[[0, -1]] if len(rows) > 1 else rows
    ends_of = ends.epsilon_total, ends.a, ends.b
    each = [_where(*end, params.symmetric) for end in zip(*ends_of, strict=True)]
    how = "" if params.integration == "exact" else ", by a noisy search,"
    around = " around μ" if params.symmetric else ""
    runs = "is" if params.symmetric else "runs"
    title = f"The best interval{around}{how} {runs} {listed(each)}"
    known = rows.dropna(subset="paper_b")
    if known.empty or params.integration != "exact":
        return title, f"{title}."
    lost = percent((1.0 - known.paper_information / known.information).max())
    return title, f"{title}. The paper's intervals lose at most {lost} of the information."


def _where(epsilon_total: float, a: float, b: float, symmetric: bool) -> str:
    half, places = 0.5 * (b - a), decimals(b - a)
    place = f"from {_end(a, places)} to {_end(b, places)}"
    if symmetric:
        place = f"μ ± {plain(half, 2)} σ"
    end = ", the narrowest tried" if half < 1.01 * intervals.NARROWEST else ""
    return f"{place} at {budget_name(epsilon_total)}{end}"


def _end(value: float, places: int) -> str:
    return f"μ {'+' if value >= 0.0 else MINUS} {fixed(abs(value), places)} σ"


def narrowest(result: Result) -> tuple[str, str]:
    """Report what the limit of width 0 keeps at the smallest budget, and the best half-width."""
    width = result.tables["width"]
    curve = width[width.epsilon_total == width.epsilon_total.min()].sort_values("half_width")
    share = (curve.information / curve.best_information).to_numpy()
    best = plain(curve.half_width.iloc[share.argmax()], 2)
    yields = "almost none" if share[0] < ALMOST_NONE else percent(share[0])
    at = budget_name(width.epsilon_total.min())
    title = f"At {at}, a vanishingly narrow interval yields {yields} of the maximum information"
    return title, (
        f"{title}; the best half-width among the intervals shown, all centered at μ, is {best} σ."
    )


def compared_with_fixed(result: Result) -> tuple[str, str]:
    """Compare the best interval for μ with the fixed one at the smallest budget."""
    table = result.tables["ways"]
    rows = table[table.epsilon_total == table.epsilon_total.min()].set_index("way")
    ratio, at = rows.loc["best for mu"] / rows.loc[FIXED], budget_name(table.epsilon_total.min())
    mu, sigma = plain(ratio.information_mu, 2), f"{plain(ratio.information_sigma, 2)} times"
    if ratio.information_sigma < MILLIONTH:
        sigma = "less than one millionth of"
    title = (
        f"At {at}, the best interval for μ carries {mu} times the fixed interval's information "
        f"about μ and {sigma} its information about σ"
    )
    return title, f"{title}."


OURS, _, PAPERS = fig.styles(["best", "fixed", "the paper's"])
MARKS = (
    (OURS.called("best", marker="diamond"), ["a", "b"], "top right"),
    (PAPERS.called("the paper's", marker="x"), ["paper_a", "paper_b"], "bottom right"),
)
"""Style of an interval, columns of its ends, and place of its name."""

LEVELS = ((0.5, "dot"), (0.9, "dash"), (0.99, "solid"))
"""Shares of the largest information that have a contour, and its dash."""


def contours(result: Result) -> fig.CaptionedFigure:
    """Draw contours of the information by center and half-width of the interval."""
    (title, caption), params = best_intervals(result), cast(Params, result.params)
    budgets = result.tables["width"].epsilon_total.unique()[:4]
    axes = "center, in σ from μ", AXES["half_width"]
    what = stream_params.score_in_words(params.score, params.weight)
    settings = f"share of the largest {what}, {settings_line(params, ('family', 'noise'))}"
    names = [budget_name(each) for each in budgets]
    figure = fig.panels(names, title, *axes, settings=settings)
    main, plane = truncated(result.tables["main"]), result.tables["plane"]
    whole = result.tables["width"].groupby("epsilon_total").best_information.first()
    for index, budget in enumerate(budgets):
        at_budget = plane[plane.epsilon_total == budget]
        scores = at_budget.pivot_table(index="half_width", columns="centre", values="information")
        shares = scores / max(scores.to_numpy().max(), whole[budget])
        for share, dash in LEVELS:
            line = {"color": fig.THEORY.color, "dash": dash, "width": 2.0}
            level = {"start": share, "end": share, "size": 1.0, "coloring": "none"}
            contour = go.Contour(name=percent(share), contours=level, line=line, showscale=False)
            contour.update(x=shares.columns, y=shares.index, z=shares.to_numpy())
            figure.add_trace(fig.in_panel(contour, index))
        for style, ends, side in MARKS:
            for a, b in main.loc[main.epsilon_total == budget, ends].dropna().to_numpy():
                half = 0.5 * (b - a)
                mark = fig.points(
                    np.array([0.5 * (a + b)]), np.array([half]).clip(NARROW, WIDE), style
                ).update(mode="markers+text", textposition=side)
                beyond = " ↓" if half < NARROW else " ↑" if half > WIDE else ""
                text = f"{style.name} {plain(half, 2)}{beyond}"
                mark.update(text=text, textfont={"color": style.color})
                figure.add_trace(mark.update(showlegend=False, **fig.panel(index)))
    figure.update_yaxes(**fig.plain_ticks(NARROW, WIDE))
    figure.update_xaxes(range=[-0.15, plane.centre.max()], dtick=1)
    return fig.CaptionedFigure(figure, caption)


STUDY = Study(
    EXPERIMENT,
    Params,
    each=("epsilon_total",),
    world=best_interval,
    tables={
        "main": CellTable(f"epsilon_total channel family score {FOUND}", best_of),
        "surface": RunTable("epsilon_total a b information", surface),
        "plane": RunTable("epsilon_total centre half_width information", plane),
        "width": RunTable("epsilon_total half_width information best_information", widths),
        "ways": RunTable("epsilon_total way a b information_mu information_sigma", ways),
    },
    says=lambda result: best_intervals(result)[1],
    privacy="Reads no data: everything here follows from theory and is public.",
    views={
        "surface": contours,
        "width": Lines(
            "information",
            "half_width",
            table="width",
            says=narrowest,
            settings=("family", "noise"),
            x_range=(NARROW, WIDE),
            y_title="information of one answer",
            linear=True,
        ),
        "ways": Lines(
            "information_sigma",
            "epsilon_total",
            table="ways",
            says=compared_with_fixed,
            by=("way",),
            settings=("family", "noise"),
            y_title="information of one answer about log σ",
        ),
    },
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
