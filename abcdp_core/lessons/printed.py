"""A lesson on paper: the questions to write on, and after a page break the answers.

The page is HTML that needs no script, no network and no other file; a browser prints it on A4 or
Letter. What stands on it is the lesson's text with its computed numbers. A step without a question
is read where it stands as long as nothing was asked before; later ones build on answers, so their
texts stand among these, and the sheet asks what is to be seen instead.
"""

from __future__ import annotations

import base64
import html
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from abcdp_core import __version__
from abcdp_core.figures import Drawn
from abcdp_core.lessons import Lesson, Question, Step, numbers
from abcdp_core.output import citation, images
from abcdp_core.output.formats import ExportError
from abcdp_core.output.frame import framed
from abcdp_core.results import Result


@dataclass(frozen=True)
class Picture:
    """A figure on the sheet of answers.

    Attributes:
        svg: the file.
        sentence: what it shows; stands below it and is its alternative text.
    """

    svg: bytes
    sentence: str


def pictures(drawn: Mapping[int, tuple[Result, Drawn]]) -> dict[int, Picture]:
    """Return figures by their places, as SVG drawn by one browser; none where that fails."""
    if not drawn or images.obstacle() is not None:
        return {}
    with TemporaryDirectory() as folder:
        orders = {
            place: images.images_of(result, {"": each}, Path(folder), ["svg"], str(place))[0]
            for place, (result, each) in drawn.items()
        }
        try:
            images.draw([*orders.values()])
        except ExportError:
            return {}
        return {
            place: Picture(order.path.read_bytes(), drawn[place][1].sentence)
            for place, order in orders.items()
        }


@dataclass(frozen=True)
class Sheet:
    """What a step needs on paper.

    Attributes:
        step: which.
        numbers: all of its numbers.
        page: name of the page that it opens.
        settings: what its knobs stand at, in words.
        address: that opens it; empty if there is none.
        code: QR code of the address as SVG; empty if there is none.
        picture: for the answers, if there is one.
    """

    step: Step
    numbers: Mapping[str, float]
    page: str
    settings: tuple[str, ...] = ()
    address: str = ""
    code: str = ""
    picture: Picture | None = None


def page(lesson: Lesson, number: int, sheets: Sequence[Sheet], seed: int) -> str:
    """The lesson as a page in HTML.

    Args:
        lesson: which.
        number: its place among the lessons, from 1.
        sheets: of its steps, in their order.
        seed: of the runs that its numbers are from.

    Raises:
        LessonError: a number is not there.
    """
    asked = list(itertools.accumulate(bool(sheet.step.question) for sheet in sheets))
    places = [*enumerate(zip(sheets, asked, strict=True), 1)]
    body = BODY.format(
        number=number,
        name=html.escape(lesson.title),
        lead=marked_up(lesson.lead),
        steps="\n".join(_to_do(place, sheet, is_late=late > 0) for place, (sheet, late) in places),
        answers="\n".join(_answer(place, sheet) for place, (sheet, late) in places if late),
        made=html.escape(_made(sheets, seed)),
    )
    return framed(f"Lesson {number}: {lesson.title}", STYLE, body, number=str(number))


def _made(sheets: Sequence[Sheet], seed: int) -> str:
    studies = {run.experiment: None for sheet in sheets for run in sheet.step.runs.values()}
    return (
        f"All data are simulated or published. The numbers were computed with seed {seed} by the "
        f"{'experiment' if len(studies) == 1 else 'experiments'} {', '.join(studies)} of version "
        f"{__version__}. {citation.TEXT}"
    )


# ------------------------------------------------------------------------------------- the parts


def _to_do(place: int, sheet: Sheet, *, is_late: bool) -> str:
    """A step on the sheet of questions.

    Args:
        place: of the step, from 1.
        sheet: of the step.
        is_late: whether it or one before it asks something.
    """
    step, question = sheet.step, sheet.step.question
    if question is not None:
        words = marked_up(numbers.fill(step.text, sheet.numbers))
        ask = _inline(numbers.fill(question.ask, sheet.numbers))
        unit = html.escape(question.unit)
        told = (
            f'{words}\n<p class="ask">{ask}</p>\n{scale(question)}\n'
            f'<p class="guess">My guess: <span class="blank"></span> {unit}</p>\n'
            f'<p class="because">Because</p>{LINES}'
        )
    elif is_late:
        told = (
            "<p>Open the step. What do you see, and why? What there is to say stands with the "
            f"answers.</p>{LINES}"
        )
    else:
        told = marked_up(numbers.fill(step.text, sheet.numbers))
    return (
        f'<section class="step">\n<div class="beside">\n<div class="told">\n'
        f"<h2>{place}. {html.escape(step.title)}</h2>\n{_by_hand(sheet)}\n{told}\n</div>\n"
        f"{_link(sheet)}\n</div>\n</section>"
    )


LINES = '<div class="line"></div><div class="line"></div>'


def _by_hand(sheet: Sheet) -> str:
    """The page that a step opens, and what is to be set there."""
    settings = ", ".join(sheet.settings).replace(" ", "\u00a0").replace(",\u00a0", ", ")
    page_of = f"Page <em>{html.escape(sheet.page)}</em>"
    return f'<p class="set">{page_of}{": " if settings else ""}{html.escape(settings)}</p>'


def _link(sheet: Sheet) -> str:
    """The address that opens a step, as a code and as it is typed."""
    if not sheet.address:
        return ""
    shown = re.sub(r"(&amp;|\?|\b/)(?=\w)", r"\1<wbr>", html.escape(sheet.address))
    return f'<aside><div class="code">{sheet.code}</div><p class="address">{shown}</p></aside>'


def _answer(place: int, sheet: Sheet) -> str:
    """A step on the sheet of answers."""
    step, parts = sheet.step, []
    if step.question is None:
        parts.append(marked_up(numbers.fill(step.text, sheet.numbers)))
    else:
        answer = sheet.numbers[step.question.answer]
        parts += [
            scale(step.question, answer, numbers.answer_in_words(step, sheet.numbers)),
            marked_up(numbers.fill(step.reveal, sheet.numbers)),
        ]
    if sheet.picture is not None:
        parts.append(_figure(sheet.picture))
    told = "\n".join(parts)
    title = html.escape(step.title)
    return f'<section class="step">\n<h3>{place}. {title}</h3>\n{told}\n</section>'


def _figure(picture: Picture) -> str:
    words = html.escape(picture.sentence)
    # An image of its own: names inside one drawing must not meet those of another.
    source = base64.b64encode(picture.svg).decode()
    return (
        f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{source}">'
        f"<figcaption>{words}</figcaption></figure>"
    )


# ------------------------------------------------------------------------------------- the scale

LENGTH, MARGIN = 600, 22
"""Width of a scale's line, and what is left beside it for the numbers at its ends."""


def scale(question: Question, answer: float | None = None, words: str = "") -> str:
    """The scale of a question as SVG, to be marked by hand, or with the answer on it.

    Args:
        question: whose.
        answer: on the scale.
        words: that name it.
    """

    def at(value: float) -> float:
        return MARGIN + LENGTH * (value - question.low) / (question.high - question.low)

    drawn = [f'<path d="M{MARGIN} 34H{MARGIN + LENGTH}" class="axis"/>']
    for value in ticks(question.low, question.high):
        x = f"{at(value):.1f}"
        drawn.append(f'<path d="M{x} 28V40" class="axis"/>')
        drawn.append(f'<text x="{x}" y="56" text-anchor="middle">{value:g}</text>')
    said = f"Scale from {question.low:g} to {question.high:g} {question.unit}".rstrip()
    if answer is not None:
        mark = at(answer)
        # Near an end the words would leave the drawing.
        side = "start" if mark < LENGTH / 4 else "end" if mark > LENGTH * 3 / 4 else "middle"
        drawn.append(f'<path d="M{mark:.1f} 24l9 10l-9 10l-9 -10z" class="answer"/>')
        drawn.append(
            f'<text x="{mark:.1f}" y="15" text-anchor="{side}" class="value">'
            f"{html.escape(words)}</text>"
        )
        said += f"; the answer is {words}"
    return (
        f'<svg class="scale" viewBox="0 0 {LENGTH + 2 * MARGIN} 62" role="img" '
        f'aria-label="{html.escape(said)}">{"".join(drawn)}</svg>'
    )


def ticks(low: float, high: float) -> list[float]:
    """Round values from end to end, both among them, ten steps at most.

    Steps that divide the range are preferred; else values too near an end are left out.
    """
    power = 10.0 ** math.floor(math.log10((high - low) / MOST_STEPS))
    steps = [round_ * power for round_ in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)]
    fitting = [step for step in steps if (high - low) / step <= MOST_STEPS + 1e-9]
    even = [step for step in fitting if math.isclose(*_whole((high - low) / step))]
    step = (even or fitting)[0]
    if even:
        count = round((high - low) / step)
        return [round(low + index * step, 10) for index in range(count + 1)]
    between = [
        round(index * step, 10)
        for index in range(math.floor(low / step), math.ceil(high / step) + 1)
        if low + ROOM * step < index * step < high - ROOM * step
    ]
    return [low, *between, high]


def _whole(value: float) -> tuple[float, float]:
    return value, float(round(value))


MOST_STEPS = 10
ROOM = 0.4
"""Part of a step that a value is away from an end."""


# ---------------------------------------------------------------------------------- the markup


def marked_up(text: str) -> str:
    """Markdown of the lessons as HTML: paragraphs, lists, emphasis, code, links as their words."""
    return "\n".join(_block(block) for block in re.split(r"\n\s*\n", text.strip()) if block.strip())


def _block(text: str) -> str:
    lines = text.strip().splitlines()
    if all(line.startswith("- ") for line in lines):
        return "<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>"
    return f"<p>{_inline(' '.join(lines))}</p>"


def _inline(text: str) -> str:
    found = html.escape(text, quote=False)
    for pattern, replacement in MARKS:
        found = re.sub(pattern, replacement, found)
    return found


MARKS = (
    (r"`([^`]+)`", r"<code>\1</code>"),
    (r"\[([^\]]+)\]\([^)]*\)", r"\1"),
    (r"\*\*(.+?)\*\*", r"<strong>\1</strong>"),
    (r"\*(.+?)\*", r"<em>\1</em>"),
)

STYLE = """
@page {{ margin: 16mm 15mm 18mm;
  @bottom-left {{ content: "ABCDP Explorer · Lesson {number}"; font: 9pt {font}; color: {grey}; }}
  @bottom-right {{ content: counter(page) " of " counter(pages); font: 9pt {font};
    color: {grey}; }} }}
* {{ box-sizing: border-box; }}
body {{ font: 10.5pt/1.42 {font}; color: {ink}; background: #FFFFFF; margin: 0 auto;
  max-width: 46rem; padding: 1rem; }}
h1 {{ font-size: 18pt; line-height: 1.2; margin: 0 0 0.3rem; }}
h2, h3 {{ font-size: 12.5pt; line-height: 1.25; margin: 0 0 0.2rem; break-after: avoid; }}
p {{ margin: 0 0 0.5rem; orphans: 3; widows: 3; }}
ul {{ margin: 0 0 0.5rem; padding-left: 1.1rem; }}
header {{ border-bottom: 2px solid {ink}; margin-bottom: 0.7rem; padding-bottom: 0.3rem; }}
.kind {{ display: flex; justify-content: space-between; color: {grey}; font-size: 9.5pt; }}
.blank {{ display: inline-block; border-bottom: 1px solid {ink}; width: 9rem; }}
.how {{ font-size: 10pt; }}
.step {{ break-inside: avoid; border-top: 1px solid #B9BFC6; padding: 0.6rem 0 0.7rem; }}
.beside {{ display: flex; gap: 1.4rem; }}
.told {{ flex: 1; min-width: 0; }}
.set {{ font-size: 9pt; color: {grey}; }}
aside {{ flex: 0 0 8rem; }}
.code svg {{ display: block; width: 8rem; height: 8rem; }}
.address {{ font-size: 7pt; line-height: 1.3; overflow-wrap: break-word; color: {grey};
  margin: 0 0 0 0.6rem; }}
.ask {{ font-weight: bold; }}
.because {{ margin: 0; }}
.line {{ border-bottom: 1px solid #9AA1A9; height: 8mm; }}
.because + .line {{ height: 4mm; }}
.scale {{ display: block; width: 100%; max-width: 34rem; margin: 0.4rem 0 0.5rem; }}
.scale text {{ font: 13px {font}; fill: {ink}; }}
.scale .value {{ font-weight: bold; font-size: 15px; }}
.scale .axis {{ stroke: {ink}; stroke-width: 1.2; fill: none; }}
.scale .answer {{ fill: {ink}; }}
.answers {{ break-before: page; }}
.answers h2 {{ font-size: 17pt; }}
figure {{ margin: 0.4rem 0 0; break-inside: avoid; }}
img {{ display: block; max-width: 100%; max-height: 95mm; margin: 0 auto; }}
figcaption {{ font-size: 9pt; color: {grey}; }}
footer {{ border-top: 1px solid #B9BFC6; padding-top: 0.5rem; font-size: 8.5pt; color: {grey};
  break-inside: avoid; }}
@media print {{ body {{ max-width: none; padding: 0; }} }}
@media screen {{ .answers {{ margin-top: 60vh; }} }}
"""

BODY = """
<header>
<p class="kind"><span>ABCDP Explorer · Lesson {number}</span>
<span>Name <span class="blank"></span> Date <span class="blank"></span></span></p>
<h1>{name}</h1>
{lead}
</header>
<p class="how">Open each step by its code or its address, or go to its page and set what stands
below its title. Guess before you look. The answers begin on a page of their own.</p>
{steps}
<section class="answers">
<h2>Answers</h2>
{answers}
</section>
<footer><p>{made}</p></footer>
"""
