"""Write a release as a page for people, which can be attached to a publication.

Everything on the page follows from the record. The page needs no script, no network and no other
file, reads on a phone and prints on A4 and Letter (``assets/templates/release.html``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from decimal import ROUND_UP, Decimal
from typing import Any

from markupsafe import Markup, escape

from abcdp_core.base.parameters import shown
from abcdp_core.base.sentences import amount, exact
from abcdp_core.privacy.promise import odds, presence_in_short, promise_in_short
from abcdp_core.publish.output import citation, documents
from abcdp_core.release import disclosure, picture, releasable
from abcdp_core.release.document import (
    ReleaseRecord,
    axis_of,
    picture_rows,
    place_of_draws,
    unit_of,
    verifying,
)
from abcdp_core.release.picture import PRIOR
from abcdp_core.release.request import ends
from abcdp_core.release.verification import cannot_be_known


def page(document: ReleaseRecord, file: bytes, name: str = "release.json", about: str = "") -> str:
    """Return the report in HTML.

    Args:
        document: the release.
        file: the bytes of its file, for their digest.
        name: of that file.
        about: the author's description of the data; may be empty.
    """
    content = document.content()
    header, rows = _table(document)
    facts, promise = _label(content)
    fitted, caption = document.fit_rows()
    groups, by_group = disclosure.group_rows(document)
    made_by = json.loads(file).get("versions") or {}
    return documents.render(
        "release.html",
        said=_said,
        title=document.finding,
        document=document,
        content=content,
        mechanism=releasable.of(document.request),
        about=about,
        spent=_spent(content),
        strips=picture.strips(picture_rows(document)),
        axis=axis_of(document),
        header=header,
        rows=rows,
        fit_strips=picture.strips(fitted) if fitted else [],
        fit_caption=caption,
        facts=facts,
        promise=promise,
        # Exactness has its own section.
        unprotected=[each for each in content["remains"] if each != document.exactness()],
        reviewed=disclosure.facts(document),
        group_strips=picture.strips(groups) if groups else [],
        group_caption=by_group,
        model=document.request.source.own_model,
        asked=_asked(document, content),
        noise=_noise(content["event"]),
        draws=_draws(content, name),
        digest=hashlib.sha256(file).hexdigest(),
        command=verifying(shlex.quote(shown(name)), document),
        not_known=cannot_be_known(content),
        made_by=", ".join(f"{key} {value}" for key, value in made_by.items()),
        citation=citation.TEXT,
    )


def _draws(content: Mapping[str, Any], name: str) -> dict[str, str]:
    """Language -> program that reads the draws; empty if there are none."""
    part, key = place_of_draws(content)
    if not content[part][key]:
        return {}
    file = json.dumps(name, ensure_ascii=False)
    return {
        "R": f"found <- jsonlite::fromJSON({file})${part}\n"
        f"draws <- setNames(as.data.frame(found${key}), found$parameters)",
        "Python": f"import json, pathlib, pandas\n"
        f'found = json.loads(pathlib.Path({file}).read_text("utf-8"))["{part}"]\n'
        f'draws = pandas.DataFrame(found["{key}"], columns=found["parameters"])',
        "ArviZ": f"import abcdp_core\ndata = abcdp_core.to_inference_data({file})",
    }


def _spent(content: Mapping[str, Any]) -> str:
    """ε_total as it was asked for, and δ unless it is 0."""
    delta = f", δ = {spent:.3g}" if (spent := content["cost"]["delta"]) else ""
    return f"ε_total = {exact(content['public']['epsilon_total'])}{delta}"


def _table(document: ReleaseRecord) -> tuple[list[str], list[list[str]]]:
    """Estimates of all parameters, with their prior means if the table has none."""
    table = document.table()
    header = [str(name) for name in table.columns]
    rows = [[str(item) for item in row] for row in table.itertuples(index=False)]
    parameters = document.parameters
    if len(rows) == len(parameters) and not any("prior" in name for name in header):
        header.append("prior mean")
        for place, (row, parameter) in enumerate(zip(rows, parameters, strict=True)):
            before = [x for style, x in document.marks(place) if style is PRIOR]
            row.append(f"{amount(float(before[0][0]))}{unit_of(parameter)}" if before else "")
    return header, rows


def _label(content: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Facts of the privacy label, and what they mean for a person."""
    spent, protected = content["cost"], content["protected"]
    # Rounded up, because the label states bounds.
    epsilon = float(_up(spent["epsilon"], 4))
    facts = {
        "protected": protected[:1].upper() + protected[1:],
        "ε_total": f"{epsilon:g}",
        "kind": "pure, δ = 0",
        "odds change by at most": odds(epsilon),
    }
    if spent["delta"]:
        facts["kind"] = f"approximate, δ = {spent['delta']:.3g}"
        del facts["odds change by at most"]
        return facts, (
            f"If two data sets differ only in {protected}, the probability of any set of results "
            f"changes by at most {odds(epsilon)}, plus at most δ."
        )
    if "replaced by" not in content["statement"]:
        facts["odds change by at most"] += " (whether a person is in the data)"
        return facts, presence_in_short(epsilon)
    return facts, promise_in_short(epsilon)


def _up(value: float, digits: int) -> Decimal:
    """A positive number, rounded up to so many digits."""
    exact = Decimal(repr(value))
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), ROUND_UP)


def _asked(document: ReleaseRecord, content: Mapping[str, Any]) -> dict[str, str]:
    """The label and the value of each setting."""
    request, public = document.request, dict(content["public"])
    known = request.specification(request.scenario)
    rows = {
        "Mechanism": releasable.of(request).title,
        "Scenario": f"{request.source.title} ({public.pop('scenario')})",
    }
    public.pop("scenario_domain", None)
    if public.keys() >= {"low", "high"}:
        domain = " to ".join(ends(float(public.pop("low")), float(public.pop("high"))))
        rows["Range of the values, known beforehand"] = domain.replace("-", "\u2212")
    if "n" in content:
        rows[f"Number of {request.source.own_rows}"] = _value(content["n"])
    return rows | {known[name].label: _value(value) for name, value in public.items()}


def _noise(event: Mapping[str, Any]) -> str:
    """The fields of an event."""
    fields = (f"{k.replace('_', ' ')} {_value(v)}" for k, v in event.items() if k != "kind")
    return f"{event['kind']}: {', '.join(fields)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else shown(value)
    return text if isinstance(value, str) else text.replace("-", "\u2212")


def _said(text: str) -> Markup:
    """A text in HTML, with ``*words*`` emphasized and `code` as code."""
    marked = re.sub(r"(?<!\w)\*(\w[\w ?]*)\*", r"<em>\1</em>", str(escape(text)))
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", marked)
    # Numbers stay on one line with their symbols.
    return Markup(re.sub(r"(?<=\d) (?=%)|(?<=ε_total) (?==)|(?<=ε_total =) ", "\u00a0", marked))
