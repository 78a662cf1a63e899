"""Find models of published queries: prior, simulator, summary; each is one module.

A module defines its name, ``PUBLISHED_MODEL``, as a plain string, and ``MODEL``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from abcdp_core.base import registry
from abcdp_core.posterior import model


@dataclass(frozen=True, kw_only=True)
class Model(model.Model):
    """The model of a published query.

    Attributes:
        title: in words.
        most: draws in all, unless the problem says otherwise.
    """

    title: str
    most: int = 2_000_000

    def __post_init__(self) -> None:
        """Refuse a prior that cannot be drawn from.

        Raises:
            TypeError: a distribution has no sampler.
        """
        for law in getattr(self.prior, "laws", (self.prior,)):
            if not hasattr(law, "theta"):
                raise TypeError(
                    f"prior: {type(law).__name__} has no sampler; give a Prior((...)) of "
                    "distributions from abcdp_core.models.priors"
                )


def names() -> list[str]:
    """Return the names of all models; imports none of them."""
    return list(registry.scan(__name__, "PUBLISHED_MODEL"))


def load(name: str) -> Model:
    """Return the model called ``name``.

    Raises:
        KeyError: there is no model of that name.
    """
    return cast(Model, registry.scan(__name__, "PUBLISHED_MODEL")[name].MODEL)
