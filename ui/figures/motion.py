"""Marks of a figure move from where the former noise had them to where the next one has."""

from __future__ import annotations

from ui.view.components import component


def of(chart: str) -> None:
    """Let the marks of a figure move up and down whenever it is drawn with other numbers.

    The browser does it, unless its user wants less motion.

    Args:
        chart: its key, as :func:`charts.show` has it; each mark has a number of its own (``ids``).
    """
    motion = component("motion", "motion.js", '<div class="motion" hidden></div>')
    motion(key=f"motion-{chart}", data={"chart": chart}, height=0)
