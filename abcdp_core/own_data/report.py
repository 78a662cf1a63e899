"""A released document for people to read: one page that can be attached to a publication.

All on it follows from the document. It needs no script, no network and no other file, reads on a
telephone and prints on A4 and Letter.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from decimal import ROUND_UP, Decimal
from typing import Any

from abcdp_core.output import citation
from abcdp_core.output.frame import framed
from abcdp_core.own_data import releasable, strips
from abcdp_core.own_data.document import PRIOR, Document, figure, unit_of, verifying
from abcdp_core.own_data.request import ends, rows_of, source_of
from abcdp_core.own_data.verification import cannot_be_known
from abcdp_core.parameters import cut, shown
from abcdp_core.privacy.accounting import NEIGHBOURS, in_digits
from abcdp_core.privacy.promise import odds, presence_in_short, promise_in_short
from abcdp_core.sentences import amount


def page(document: Document, file: bytes, name: str = "release.json", about: str = "") -> str:
    """The report as a page in HTML.

    Args:
        document: what was released.
        file: its file, which the report is known to belong to by the digest.
        name: of that file.
        about: what the data are, said by who makes the report; empty for nothing.
    """
    content = document.content()
    parts = (
        _head(document, content, about),
        _learnt(document),
        _label(content),
        _remains(document, content),
        _asked(document, content),
        _computed(document, content),
        _taken(content),
        _checked(document, content, file, name),
    )
    return framed(document.finding, STYLE + strips.STYLE, "\n".join(parts))


LONGEST_DIGEST = 100
"""Characters of the digest of an entry."""


# -------------------------------------------------------------------------------------- the parts


def _head(document: Document, content: Mapping[str, Any], about: str) -> str:
    kind = releasable.of(document.request).title.lower()
    data = (
        f'<p class="about"><b>The data</b>, as described by who made this report: '
        f"{html.escape(about)}</p>\n"
        if about
        else ""
    )
    return (
        f'<header><p class="kind"><span>Report on a private release</span>'
        f"<span>ABCDP Explorer, {_said(kind)}</span></p>\n"
        f"<h1>{_said(document.finding)}</h1>\n{data}"
        f'<p class="lead">{_short(content)}</p></header>'
    )


def _short(content: Mapping[str, Any]) -> str:
    """The guarantee, in half a line."""
    spent = content["cost"]
    delta = f", δ = {spent['delta']:.3g}" if spent["delta"] else ""
    return _said(
        f"Protected is {content['protected']}, with ε_total = {in_digits(spent['epsilon'])}{delta}."
    )


def _learnt(document: Document) -> str:
    picture = strips.drawn(figure(document), f"{document.marks_in_words} {IN_WORDS}")
    header, rows = _table(document)
    head = "".join(f'<th scope="col">{_said(each)}</th>' for each in header)
    body = "\n".join(
        f'<tr><th scope="row">{_said(first)}</th>'
        + "".join(f"<td>{_said(each)}</td>" for each in row)
        + "</tr>"
        for first, *row in rows
    )
    before = "".join(f'<p class="lead"><b>{_said(words)}</b></p>\n' for words in document.misfit)
    return _section(
        "What was learnt",
        f"{before}<figure>{picture}<figcaption>{_said(document.marks_in_words)}</figcaption></figure>\n"
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>\n"
        f'<p class="below">{_said(document.in_own_words)}</p>{_fit(document)}',
    )


def _fit(document: Document) -> str:
    """Whether the model makes such numbers, as a picture."""
    drawn = document.fit_rows()
    if drawn is None:
        return ""
    picture = strips.drawn(drawn.figure, drawn.sentence)
    return f"\n<figure>{picture}<figcaption>{_said(drawn.sentence)}</figcaption></figure>"


IN_WORDS = "The table below has the numbers."


def _table(document: Document) -> tuple[list[str], list[list[str]]]:
    """What is known of every parameter, and what was expected before any data."""
    table = document.table()
    header = [str(name) for name in table.columns]
    rows = [[str(item) for item in row] for row in table.itertuples(index=False)]
    parameters = document.parameters
    if len(rows) == len(parameters) and not any("prior" in name for name in header):
        header.append("before any data")
        for place, (row, parameter) in enumerate(zip(rows, parameters, strict=True)):
            before = [x for style, x in document.marks(place) if style is PRIOR]
            row.append(f"{amount(float(before[0][0]))}{unit_of(parameter)}" if before else "")
    return header, rows


def _label(content: Mapping[str, Any]) -> str:
    spent = content["cost"]
    # Rounded upwards: what is said of it are bounds.
    epsilon = float(_up(spent["epsilon"], 4))
    facts = {
        "protected": _capital(content["protected"]),
        "ε_total": f"{epsilon:g}",
        "kind": "pure, δ = 0",
        "odds change by at most": odds(epsilon),
    }
    if spent["delta"]:
        facts["kind"] = f"approximate, δ = {spent['delta']:.3g}"
        del facts["odds change by at most"]
        words = (
            "Two data sets that differ in what is protected give any set of results with "
            f"probabilities that differ by at most {odds(epsilon)}, and beyond that by at most δ."
        )
    elif NEIGHBOURS["add-remove"] in content["statement"]:
        facts["odds change by at most"] += " (whether somebody is among the data)"
        words = presence_in_short(epsilon)
    else:
        words = promise_in_short(epsilon)
    listed = "".join(f"<div><dt>{_said(k)}</dt><dd>{_said(v)}</dd></div>" for k, v in facts.items())
    return (
        f'<section class="label"><h2>Privacy label</h2>\n<dl>{listed}</dl>\n'
        f"<p>{_said(content['statement'])}</p>\n<p>{_said(words)} Someone who knows less may learn "
        "more about a person, as from any study of many people: ε_total limits only how much the "
        "release depends on one record.</p></section>"
    )


def _up(value: float, digits: int) -> Decimal:
    """A positive number to so many digits, never below it."""
    exact = Decimal(repr(value))
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), ROUND_UP)


def _remains(document: Document, content: Mapping[str, Any]) -> str:
    # What is exact has a section of its own.
    left = [each for each in content["remains"] if each != document.exactness()]
    return _section("What the guarantee leaves unprotected", _list(left))


def _asked(document: Document, content: Mapping[str, Any]) -> str:
    request, public = document.request, dict(content["public"])
    known = request.specification(request.scenario)
    source = source_of(request)
    rows = {
        "Mechanism": releasable.of(request).title,
        "Scenario": f"{source.TITLE} ({public.pop('scenario')})",
    }
    public.pop("scenario_domain", None)
    if public.keys() >= {"low", "high"}:
        of_domain = " to ".join(ends(float(public.pop("low")), float(public.pop("high"))))
        rows["Range that the values were known to have"] = of_domain.replace("-", "\u2212")
    if "n" in content:
        rows[f"Number of {rows_of(request.scenario)}"] = _value(content["n"])
    for name, value in public.items():
        rows[known[name].label if name in known else name.replace("_", " ")] = _value(value)
    model = getattr(source, "OWN_MODEL", "")
    return _section("What was asked", f"<p>{_said(model)}</p>\n{_pairs(rows)}")


def _computed(document: Document, content: Mapping[str, Any]) -> str:
    event = dict(content["event"])
    kind = event.pop("kind")
    noise = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in event.items())
    return _section(
        "What came out, how it was computed and what of it is exact",
        f"<p>{_said(document.summary)} All that was learnt follows from what the mechanism "
        "gave.</p>\n"
        f"<p>{_said(releasable.of(document.request).reason)} {_said(document.exactness())}</p>\n"
        f"<p>For the accountant, the event is {_said(kind)}: {_said(noise)}. Its cost, computed "
        f"from these numbers, is ε_total = {in_digits(content['cost']['epsilon'])} and "
        f"δ = {content['cost']['delta']:.6g}.</p>",
    )


def _taken(content: Mapping[str, Any]) -> str:
    if "ledger" not in content:
        return ""
    taken = content["ledger"]
    # Of what is in a ledger nothing is known here, not even that it is text.
    digest = cut(ascii(taken["digest"]).strip("'"), LONGEST_DIGEST)
    return _section(
        "The budget it was taken from",
        f"<p>Entry {_said(shown(taken['entry']))} of the budget "
        f"<em>{_said(shown(taken['budget']))}</em>, with the digest <code>{_said(digest)}</code>. "
        "Whoever has the ledger compares them.</p>",
    )


def _checked(document: Document, content: Mapping[str, Any], file: bytes, name: str) -> str:
    command = verifying(shlex.quote(shown(name)), document)
    digest = hashlib.sha256(file).hexdigest()
    return _section(
        "How to check it",
        "<p>Everything here follows from one file, whose SHA-256 is "
        f"<code>{digest}</code>. This computes again all that is public:</p>\n"
        f"<pre>{html.escape(command)}</pre>\n{_model(content)}"
        f"<p>What is not computed again:</p>{_list(cannot_be_known(content))}\n"
        f'<p class="fine">{_said(_made_by(file))} {_said(citation.TEXT)}</p>',
    )


def _model(content: Mapping[str, Any]) -> str:
    """By what a model or a pool of one's own is known again."""
    if "model" not in content:
        return ""
    file, digest = (html.escape(content["model"][key]) for key in ("file", "sha256"))
    return (
        f"<p>It needs {file}, which states the model. The SHA-256 of all that it states is "
        f"<code>{digest}</code>.</p>\n"
    )


def _made_by(file: bytes) -> str:
    """The versions that a file says it was made by; nobody can compute them again."""
    versions = json.loads(file)["versions"]
    if not isinstance(versions, dict):
        return ""
    return f"Released with {', '.join(f'{shown(k)} {shown(v)}' for k, v in versions.items())}."


# --------------------------------------------------------------------------------------- the HTML


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_said(title)}</h2>\n{body}</section>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_said(each)}</li>" for each in items) + "</ul>"


def _pairs(rows: Mapping[str, str]) -> str:
    body = "".join(
        f'<tr><th scope="row">{_said(name)}</th><td>{_said(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table class="pairs"><tbody>{body}</tbody></table>'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}".replace("-", "\u2212")
    return shown(value).replace("-", "\u2212") if isinstance(value, float) else shown(value)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _said(text: str) -> str:
    """A text in HTML; ``*words*`` of ours are emphasised, `code` is set as such."""
    found = re.sub(r"(?<!\w)\*(\w[\w ?]*)\*", r"<em>\1</em>", html.escape(text))
    found = re.sub(r"`([^`]+)`", r"<code>\1</code>", found)
    # What belongs together stays on one line.
    return re.sub(r"(?<=\d) (?=%)|(?<=ε_total) (?==)|(?<=ε_total =) ", "\u00a0", found)


STYLE = """
@page {{ margin: 17mm 16mm 19mm;
  @bottom-left {{ content: "Report on a private release · ABCDP Explorer"; font: 8.5pt {font};
    color: {grey}; }}
  @bottom-right {{ content: counter(page) " of " counter(pages); font: 8.5pt {font};
    color: {grey}; }} }}
* {{ box-sizing: border-box; }}
html {{ font-size: 16px; }}
body {{ font: 1rem/1.5 {font}; color: {ink}; background: #FFFFFF; margin: 0 auto;
  max-width: 48rem; padding: 2rem 1.25rem 3rem; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }}
header {{ border-bottom: 2px solid {ink}; padding-bottom: 0.9rem; }}
.kind {{ display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;
  color: {grey}; font-size: 0.85rem; margin: 0 0 0.7rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 0.6rem; text-wrap: balance; }}
h2 {{ font-size: 1.15rem; line-height: 1.3; margin: 0 0 0.5rem; break-after: avoid; }}
section {{ margin-top: 2rem; }}
p {{ margin: 0 0 0.6rem; orphans: 3; widows: 3; }}
.lead {{ font-size: 1.08rem; margin: 0; }}
.about {{ margin: 0 0 0.6rem; }}
ul {{ margin: 0 0 0.6rem; padding-left: 1.15rem; }}
li {{ margin-bottom: 0.25rem; }}
figure {{ margin: 0; break-inside: avoid; }}
figcaption {{ color: {grey}; font-size: 0.88rem; margin-bottom: 1rem; }}
.wide {{ overflow-x: auto; break-inside: avoid; }}
table {{ border-collapse: collapse; width: 100%; font-size: 0.92rem;
  font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.32rem 0.9rem 0.32rem 0;
  border-bottom: 1px solid {grid}; }}
thead th {{ vertical-align: bottom; border-bottom: 1px solid {ink}; line-height: 1.25; }}
tbody th {{ font-weight: normal; min-width: 5.5rem; }}
td {{ min-width: 4.8rem; }}
.below {{ margin-top: 0.8rem; font-size: 0.92rem; }}
.pairs {{ max-width: 34rem; break-inside: avoid; }}
.pairs th {{ color: {grey}; width: 60%; }}
.pairs td {{ overflow-wrap: anywhere; }}
.label {{ border: 2px solid {ink}; padding: 0.9rem 1.1rem 0.4rem; break-inside: avoid; }}
.label dl {{ display: flex; flex-wrap: wrap; justify-content: space-between;
  gap: 0.6rem 1.5rem; margin: 0 0 0.8rem;
  padding: 0.6rem 0; border-top: 1px solid {ink}; border-bottom: 1px solid {ink}; }}
dt {{ color: {grey}; font-size: 0.82rem; }}
dd {{ margin: 0; font-weight: bold; }}
code {{ font-size: 0.85em; overflow-wrap: anywhere; }}
pre {{ background: #F4F5F6; padding: 0.6rem 0.8rem; margin: 0 0 0.6rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: 0.88rem; }}
.fine {{ color: {grey}; font-size: 0.88rem; margin-top: 1rem; }}
@media print {{ html {{ font-size: 9.5pt; }} th, td {{ padding-block: 0.2rem; }}
  body {{ max-width: none; padding: 0; }}
  header {{ break-after: avoid; }} section {{ margin-top: 1.3rem; }}
  .wide {{ overflow: visible; }} }}
"""
