"""What follows from a privacy event, as the lines of a privacy label."""

from __future__ import annotations

from abcdp_core import privacy
from abcdp_core.privacy import Event, Gaussian, Laplace


def of_release(event: Event, sensitivity: str, settings: str) -> str:
    """Return guarantee, noise and what is public of a release, as a list in Markdown.

    Args:
        event: what was done.
        sensitivity: which one its noise is for, such as ``sharp``.
        settings: the settings that are public.
    """
    return (
        f"- Guarantee: ε_total = {', '.join(_guarantee(event, 0.0))}.\n"
        f"- Noise: {privacy.noise_in_words(event)} ({sensitivity}).\n"
        f"- Public: the prior, the simulator, the pool, the distance, {settings}."
    )


def of_answers(event: Laplace | Gaussian, delta: float) -> str:
    """Return the same of answers that people give one after the other."""
    epsilon, kind = _guarantee(event, delta)
    noise = "Laplace, scale" if isinstance(event, Laplace) else "Gaussian, standard deviation"
    return (
        f"- Guarantee: ε_total = {epsilon} per person and per answer, {kind}. Neighbours: "
        f"one person's value replaced by any other.\n"
        f"- Noise: {noise} {event.scale:.3g} times the width of the interval that the person is "
        f"asked in.\n"
        f"- Public: the prior, the family of the values, the rule that chooses intervals, and all "
        f"answers. An interval depends on earlier answers only. Whoever answers twice spends "
        f"ε_total twice."
    )


def _guarantee(event: Event, delta: float) -> tuple[str, str]:
    cost = privacy.cost(event, delta)
    kind = "pure, δ = 0" if cost.delta == 0 else f"approximate, δ = {cost.delta:g}"
    return privacy.in_digits(cost.epsilon), kind
