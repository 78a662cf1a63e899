"""A guess and the answer, drawn on the scale of a lesson's question."""

from __future__ import annotations

from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.lessons import numbers
from abcdp_core.lessons.reading import Step

HEIGHT = 130
"""Pixels."""


def guessed(step: Step, guess: float, answer: float) -> CaptionedFigure:
    """Return a figure of the guess and the answer to a step's question, on its scale."""
    question = step.question
    assert question is not None, "is called for questions only"
    mine, right = fig.styles(["your guess", "the answer"])
    mine_in_words = f"{guess:g} {question.unit}".rstrip()
    right_in_words = numbers.answer_in_words(step, {question.answer: answer})
    sentence = f"Your guess was {mine_in_words}; the answer is {right_in_words}."
    figure = fig.figure(sentence, question.unit, "", height=HEIGHT)
    for value, style, y in ((guess, mine, 1.0), (answer, right, 0.0)):
        figure.add_scatter(
            x=[question.low, value],
            y=[y, y],
            mode="lines",
            name=style.name,
            line={"color": style.color, "width": 12},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_xaxes(range=[question.low, question.high])
    figure.update_yaxes(
        range=[-0.6, 1.6], tickvals=[1, 0], ticktext=["your guess", "the answer"], showgrid=False
    )
    return CaptionedFigure(figure, sentence)
