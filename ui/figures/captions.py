"""Write the notes of pages that belong to no figure; captions are in the studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from abcdp_core import mechanisms
from abcdp_core.evaluation import flips
from abcdp_core.run.results import Result
from abcdp_core.studies import distance_forms, flip_guideline


def counts(result: Result) -> str:
    """What was refused or drawn again while the pool was made."""
    table = result.tables["counts"]
    each = "; ".join(
        f"{what} {count:,}" for what, count in zip(table.what, table["count"], strict=True)
    )
    return f"Refused or redrawn while the pool was made: {each}."


def mechanisms_of(result: Result) -> tuple[str, ...]:
    """Names of the mechanisms that a result is about: asked for, or else all in its table."""
    asked = getattr(result.params, "mechanism", None)
    return tuple(result.tables["main"].mechanism.unique() if asked is None else asked)


def mechanism(name: str) -> str:
    """What a mechanism is, what it releases and pays for, what it promises and who it is from."""
    each = mechanisms.load(name)
    promise = "pure " if each.measure == "pure" else "(ε, δ)-"
    return (
        f"**{each.title}**  \n{each.description}  \n"
        f"`{name}` · {promise}differential privacy · {each.source}"
    )


def papers_of(names: Sequence[str]) -> str:
    """The papers that mechanisms are from, in full; empty where there are none."""
    # Imported here: only an unfolded list needs the ledger.
    from abcdp_core.publish.claims.document import PAPERS

    sources = " ".join(mechanisms.load(name).source for name in names)
    return " ".join(f"[{tag}] {paper}." for tag, paper in PAPERS.items() if f"[{tag}]" in sources)


def fewer_points(result: Result) -> str:
    """What to say of the forms where N is more than are compared, if anything."""
    params = cast(distance_forms.Params, result.params)
    if params.n == params.points:
        return ""
    return (
        f"The figures use data sets with N = {params.points:,} instead of {params.n:,}, because "
        "the definition, which all forms are compared with, visits every pair of people."
    )


def sensitivities(result: Result) -> str:
    """What one point can change by each form of the distance, as a small table."""
    table = distance_forms.sensitivities(result)
    rows = [
        ["change by one person, at most", *(f"N = {n:,}" for n in table.columns)],
        ["---", *("---:" for _ in table.columns)],
        *([str(form), *(f"{value:.2g}" for value in row)] for form, row in table.iterrows()),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def largest(result: Result) -> tuple[str, str]:
    """By how much one person changes the chance of a stop at most, and which person."""
    # Inside the function: one view of one page asks.
    from abcdp_core.studies.change_one_person import views

    moved, allowed = views.move_in_words(result), views.allowed_in_words(result)
    return views.stops_in_words(result), f"{moved}. {allowed}. {views.bound_in_words(result)}"


def median_warning(result: Result) -> str:
    """Why the paper's guideline says nothing of what is false."""
    params = cast(flip_guideline.Params, result.params)
    close = result.tables["guideline"].close.iloc[0]
    near, far = flips.close_and_far(close, params.pool_size)
    what = (
        "**This does not describe the draws that are kept.** It is how often noise changes the "
        "decision on a *typical* draw."
    )
    all_ = f"On average over these data sets, of {params.pool_size:,} draws"
    if params.pool_size <= 2.0 * close:
        return f"{what} {all_}, {near} are close enough anyway."
    return (
        f"{what} {all_}, {far} are too far away and {near} close enough. Even if each far draw is "
        "rarely kept, so many of them can fill the c places."
    )
