"""The synthetic data: drawn with the weights of the papers' figure."""

import pytest

from abcdp_core import runner
from abcdp_core.experiments import observed_data
from abcdp_core.simulators import uniform_mixture
from tests.statistics import assert_frequencies


def test_points_are_drawn_with_the_weights_and_not_with_others() -> None:
    main = runner.run_to_end(observed_data, observed_data.Params(n=20_000), 1).tables["main"]
    assert main["count"].sum() == 20_000
    assert main.weight.tolist() == uniform_mixture.TRUTH.tolist()
    assert_frequencies(main["count"].to_numpy(), uniform_mixture.TRUTH)
    with pytest.raises(AssertionError):
        assert_frequencies(main["count"].to_numpy(), uniform_mixture.TRUTH[::-1])
