"""Give a release to ArviZ, which checks and plots posteriors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abcdp_core.release.document import ReleaseRecord


def to_inference_data(record: ReleaseRecord | Path | str) -> Any:
    """Return a release as ArviZ's ``InferenceData`` (a ``DataTree`` from ArviZ 1.0 on).

    ``posterior`` has the draws of each parameter in the units of the data, as one chain;
    ``observed_data`` has the released numbers; the attributes have statement, mechanism, ε and δ.

    Args:
        record: a release, or its file.

    Raises:
        ValueError: the release has no posterior yet or no draws, or the file is not a release.
        ImportError: ArviZ is not installed (``pip install "abcdp-explorer[arviz]"``).
    """
    import arviz
    import numpy as np

    from abcdp_core.publish.output.draws import shuffled
    from abcdp_core.release.document import place_of_draws

    if isinstance(record, str | Path):
        content = json.loads(Path(record).read_text(encoding="utf-8"))
    else:
        content = record.content()
    if content.get("mode") != "release":
        raise ValueError("this is not a release.")
    part, key = place_of_draws(content)
    stated = content[part]
    if stated is None:
        raise ValueError("this release has no posterior yet; `abcdp release` completes it.")
    draws = shuffled(np.array(stated[key]))
    if not draws.size:
        raise ValueError("this release kept no draws.")
    posterior = dict(zip(stated["parameters"], draws.T[:, np.newaxis], strict=True))
    released = dict(content["release"])
    if "names" in released:
        # A private summary: whole numbers, each divided by its own.
        numbers = np.divide(released["whole_numbers"], released["divided_by"])
        released = dict(zip(released["names"], numbers, strict=True))
    released.pop("parameters", None)
    released = {name: np.array(value) for name, value in released.items()}
    spent = {"epsilon_total": content["cost"]["epsilon"], "delta": content["cost"]["delta"]}
    attributes = {"statement": content["statement"], "mechanism": content["mechanism"], **spent}
    if arviz.__version__.startswith("0."):
        return arviz.from_dict(posterior=posterior, observed_data=released, attrs=attributes)
    groups = {"posterior": posterior, "observed_data": released}
    return arviz.from_dict(groups, attrs=dict.fromkeys(groups, attributes))
