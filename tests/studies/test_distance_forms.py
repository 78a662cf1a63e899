"""Forms of the distance: exact or by features, their sensitivities, and bandwidths."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from abcdp_core.studies import distance_forms as study
from tests import results

result_of = functools.partial(results.changed, study, study.Params(n=100, pairs=12))


@pytest.mark.parametrize("bandwidth", [0.05, 5.0])
def test_the_exact_form_is_the_definition(bandwidth: float) -> None:
    main = result_of(bandwidth=bandwidth).tables["main"]
    assert main.error[main.form == "exact"].max() < 1e-7
    assert (main.error[main.form == "definition"] == 0).all()


def test_features_get_better_with_their_number() -> None:
    errors = result_of(pairs=30).tables["main"].groupby("form").error.mean()
    # The error falls as the root of their number.
    ratio = np.sqrt(study.FEATURES[-1] / study.FEATURES[0])
    for kind in ("paired", "shifted"):
        few, many = (errors[f"{kind} features, {study.FEATURES[end]}"] for end in (0, -1))
        assert 0.5 * ratio < few / many < 2.0 * ratio


def test_sensitivities_fall_as_one_over_n_and_in_their_order() -> None:
    rows = result_of().tables["sensitivity"]
    table = rows.pivot_table(index="n", columns="form", values="sensitivity")
    scaled = table.mul(table.index, axis=0)
    assert (scaled / scaled.iloc[0]).to_numpy() == pytest.approx(1.0, rel=1e-3)
    row = table.loc[1000]
    assert row["exact, as published"] / row["exact, sharp"] == pytest.approx(np.sqrt(2), rel=1e-6)
    assert row["exact, sharp"] < row["exact, as published"] < row["shifted features"]


def test_the_median_heuristic_is_public_and_bad_bandwidths_show() -> None:
    table = result_of().tables["bandwidth"]
    assert table.chosen.sum() == 1
    expected = 5.0 * (1.0 - np.sqrt(0.5))
    assert table.bandwidth[table.chosen].iloc[0] == pytest.approx(expected, abs=0.3)
    table = table.set_index("bandwidth")
    assert table.spread[0.6] > 1.5 * max(table.spread[0.05], table.spread[5.0])
