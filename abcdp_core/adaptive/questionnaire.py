"""Several questions to one class, under one budget of each person.

    Item (text, unit, poll) * n -> Questionnaire (budget, one each?) -> items as they are known

Everybody answers every question, and the budget covers the sum of them; or each telephone draws one
question, independently of all answers, and spends that one's ε (MATH A16). Then the class are all
who answered any of them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll
from abcdp_core.base.parameters import ParameterError

MOST = 10
"""Questions that may be prepared for one class."""


@dataclass(frozen=True)
class Item:
    """One question to a class, with the answers so far.

    Attributes:
        text: the question.
        unit: of its values, if they are numbers.
        poll: the answers, and what follows from them.
    """

    text: str
    unit: str
    poll: Poll | ChoicePoll

    @classmethod
    def new(cls, text: str, unit: str, design: Design | Choice) -> Item:
        """Return a question that nobody has answered."""
        return cls(text, unit, ChoicePoll(design) if isinstance(design, Choice) else Poll(design))

    def again(self, epsilon: float) -> Item:
        """Return the same question without answers, at another ε.

        Raises:
            ParameterError: ε is out of its range.
        """
        design = dataclasses.replace(self.poll.design, epsilon=epsilon)
        return Item.new(self.text, self.unit, design)


@dataclass(frozen=True)
class Questionnaire:
    """Questions to one class.

    Attributes:
        items: the questions in their order; a question that was run again is there once more.
        budget: ε that a person may spend on all of them.
        one_each: whether each telephone draws one of them.

    Raises:
        ParameterError: there are no questions or too many, or the budget does not cover them.
    """

    items: tuple[Item, ...]
    budget: float
    one_each: bool = False

    def __post_init__(self) -> None:
        """Check the number of questions."""
        if not self.items:
            raise ParameterError("There is no question.")

    def known(self) -> tuple[Item, ...]:
        """Return the items, each of which knows how many of the class drew another one."""
        if not self.one_each:
            return self.items
        people = sum(len(item.poll.answers) for item in self.items)
        return tuple(_of_class(item, people) for item in self.items)


# What follows from answers is computed once for each poll, and asked for every second.
@functools.lru_cache(maxsize=64)
def _of_class(item: Item, people: int) -> Item:
    """Return a question that knows of how many people its class is."""
    absent = people - len(item.poll.answers)
    return dataclasses.replace(item, poll=dataclasses.replace(item.poll, absent=absent))


def needed(items: Sequence[Item], *, one_each: bool) -> float:
    """Return the ε of a person who answers all questions, or the dearest one."""
    each = [item.poll.design.epsilon for item in items]
    return float(max(each) if one_each else sum(each))
