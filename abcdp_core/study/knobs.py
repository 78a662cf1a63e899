"""What a person can set in a study, where it is of a usual kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abcdp_core.parameters import Parameter


def choice(label: str, help: str, options: Sequence[Any]) -> Parameter:
    """Return a choice among some words."""
    return Parameter("choice", label, help, options=tuple(options))


def scale(label: str, help: str, steps: Sequence[float], **more: Any) -> Parameter:
    """Return a number between the first and the last of its suggested values.

    Args:
        label, help: in words.
        steps: the suggested values, rising; where all are whole numbers it is one.
        more: other attributes, such as ``low`` or ``high`` where it may be beyond them.
    """
    whole = all(isinstance(step, int) for step in steps)
    bounds: dict[str, Any] = {"low": steps[0], "high": steps[-1], "steps": tuple(steps)}
    return Parameter("integer" if whole else "real", label, help, **bounds | more)
