"""What a reviewer asks of a release, and its entry for a registry of deployments.

The questions are those of NIST SP 800-226 (2025): unit and bound of contributions, source of noise,
trust, and bias. The entry has the form of the Deployments Registry (OpenDP; Ghazi, Nanayakkara and
Vadhan). Everything follows from the record; what it cannot know is marked ``TODO``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from abcdp_core.base.sentences import amount
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy.discrete import deviation
from abcdp_core.release import releasable
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.picture import RELEASED, WITHOUT_NOISE, Row
from abcdp_core.release.request import SeriesRequest, ends

GROUPS = (1, 3, 10, 30, 100)
"""Sizes of groups in the picture, in units of the smallest."""

TRUST = (
    "Central: those who ran the program had the records, and have to be trusted. Readers need not "
    "be: they have only the release. That the program ran unchanged cannot be known from it."
)

NOISE = (
    "Discrete Laplace noise, drawn exactly in whole numbers, so that floating point reveals "
    "nothing, with random numbers of the operating system and no seed."
)


def facts(document: ReleaseRecord) -> dict[str, str]:
    """Return what a reviewer asks -> the answer, in sentences."""
    return {
        "Unit of privacy": document.statement,
        "Bound of contributions": _contribution(document),
        "Source of noise": NOISE,
        "Trust": TRUST,
        "Bias by clipping": _clipping(document),
        **_small_groups(document),
    }


def _contribution(document: ReleaseRecord) -> str:
    at_most = getattr(document.request, "at_most", 0)
    if at_most:
        return (
            f"At most {at_most} records of each person, drawn at random. Persons with more count "
            "less than in the data; how many records were left out is private."
        )
    return f"One unit is {document.request.protected}; several of one person's add up."


def _clipping(document: ReleaseRecord) -> str:
    request, moved = document.request, "how many is private, and so is how far this moves a result."
    if isinstance(request, SeriesRequest):
        low, high = ends(request.low, request.high)
        return f"Values below {low} count as {low}, and values above {high} as {high}; {moved}"
    if request.source.own_table is not None:
        return f"Values outside the model's public bounds count as the nearest bound; {moved}"
    return "No value is clipped; a file with impossible values is refused."


def _small_groups(document: ReleaseRecord) -> dict[str, str]:
    event, fewer = document.event, document.n // 10
    if not isinstance(event, SparseVector) or fewer < document.request.source.own_sizes[0]:
        return {}
    small = document.request.event(fewer)
    assert isinstance(small, SparseVector)
    times = small.query_scale / event.query_scale
    sentence = (
        f"From a tenth of the values, noise on a distance would be {times:.3g} times as large."
    )
    return {"Small groups": sentence}


def group_rows(document: ReleaseRecord) -> tuple[list[Row], str]:
    """Return the expected error by size of group as rows, and a caption; none without counts.

    A share p of m records, whose count gets noise of standard deviation σ, has a root mean squared
    error of √(p(1 − p)/m + (σ/m)²), here at p = 1/2, in percent.
    """
    event, request = document.event, document.request
    if isinstance(event, SummaryNoise):
        spread = max(
            deviation(step) / whole
            for step, whole in zip(event.steps().tolist(), event.whole or (1,), strict=True)
        )
    else:
        return [], ""
    first = 10 ** max(1, round(math.log10(2.0 * spread)))
    n = document.n if request.neighbours == "replace" else math.inf
    sizes = [first * each for each in GROUPS if first * each <= n] or [document.n]
    plain = [50.0 / math.sqrt(size) for size in sizes]
    private = [math.hypot(e, 100.0 * spread / size) for e, size in zip(plain, sizes, strict=True)]
    rows = [
        Row(
            f"{size:,} {request.source.own_rows}",
            f"{amount(error)} (without noise {amount(without)})",
            0.0,
            max(private),
            [(WITHOUT_NOISE, np.array([without])), (RELEASED, np.array([error]))],
        )
        for size, error, without in zip(sizes, private, plain, strict=True)
    ]
    times = [f"{e / without:.3g}" for e, without in zip(private, plain, strict=True)]
    return rows, (
        "Error to expect of a share near 50 % in groups of several sizes, if each count gets this "
        "release's noise, in percentage points: dots with noise, upright lines without. In "
        f"the smallest group it is {times[0]} times the error without noise, in the largest "
        f"{times[-1]} times."
    )


def registry_entry(document: ReleaseRecord, file: bytes) -> str:
    """Return a draft of a release's entry in the Deployments Registry (YAML, tier 3).

    Args:
        document: the release.
        file: the bytes of its file.
    """
    content, asked = document.content(), facts(document)
    made_by = json.loads(file).get("versions") or {}
    digest = hashlib.sha256(file).hexdigest()
    request, spent = document.request, content["cost"]
    mechanism = releasable.of(request)
    slug = f"{request.scenario}-{digest[:8]}"
    entry: dict[str, Any] = {"url_slug": slug, "status": "Draft", "tier": 3}
    entry["deployment"] = {
        "basic": {
            "name": "TODO",
            "data_curators": ["TODO: those who publish it"],
            "intended_use": "TODO",
            "data_product_type": "Summary statistics",
            "data_product_region": "TODO",
            "description": f"{document.finding}. {document.summary}",
            "# publication_date": "TODO: the day, in place of the next line",
            "publication_date": "0001-01-01",
            "# data_product_sector": "TODO: Technology, Healthcare, Education, Government, ...",
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if spent["delta"] else "Pure DP",
            "data_domain": f"{request.data_in_words(document.n)}. {request.source.own_model}",
            "unprotected_quantities": " ".join(
                each for each in content["remains"] if each != document.exactness()
            ),
        },
        "privacy_loss": {
            "privacy_unit": content["protected"],
            "privacy_unit_details": f"{document.statement} {asked['Bound of contributions']}",
            "privacy_parameters": {name: each for name, each in spent.items() if each},
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": f"{TRUST} TODO: who they are",
            "release_type": "One release",
            "release_type_details": "TODO: whether more releases from these data are planned",
            "# data_source_type": "TODO: Static or Dynamic",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": f"Estimates are computed from the released numbers alone. "
            f"{document.exactness()}",
            "composition": "One mechanism, accounted as a whole: "
            f"{json.dumps(content['event'], ensure_ascii=False)}",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"{asked['Bias by clipping']} TODO: how "
            "ε_total and the other settings were chosen, and whether anyone had seen the data",
            "mechanisms": f"{mechanism.title}. {NOISE} Time is not protected. Software: "
            + ", ".join(f"{name} {version}" for name, version in made_by.items()),
            "justification": f"{mechanism.reason} TODO: why this budget and these settings",
        },
        "administrative": {
            "sources": f"TODO: where the release is. SHA-256 of its file: {digest}",
            "registry_authors": ["TODO"],
        },
    }
    return "\n".join([*_lines(entry), ""])


def _lines(content: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Write a mapping in YAML, whose scalars and lists may be those of JSON."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}"
