"""Plans: exact moments of long runs, and the first answer about all mechanisms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from abcdp_core import error_curve, planning
from abcdp_core.experiments import plan
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.simulators import uniform_mixture
from benchmarks.measure import Measurement, column, fresh, here

FIRST = """
import json, time
from abcdp_core import runner
from abcdp_core.experiments import plan
params = plan.Params(n=2000, epsilon_total=0.5)
start = time.perf_counter()
result = next(runner.run(plan, params, 1))
seconds = time.perf_counter() - start
print(json.dumps(dict(seconds=seconds, mechanisms=len(result.tables["main"]))))
"""


def measure(repeats: int) -> Iterator[Measurement]:
    """Exact mean squared errors at c = 1000, and plans at the default pool size."""
    case = planning.case(uniform_mixture.SCENARIO, 5000, 10_000, 1, 0)
    sensitivity = case.public.distance.sensitivity(5000)
    for resample in (False, True):
        event = sparse_vector.calibrate(1.0, sensitivity, 1000, resample=resample)

        def exact(event: sparse_vector.SparseVector = event) -> float:
            mean = uniform_mixture.PRIOR_MEAN
            return error_curve.averaged(
                event, 0.1, case.comparison.rho, case.public.theta, case.truth, mean
            )

        exact()
        name = f"exact error, c = 1000, threshold {'redrawn' if resample else 'kept'}"
        yield Measurement(name, here(exact, repeats), goal="2")
    first = fresh(FIRST, repeats, compiled=True)
    yield Measurement("plan: first answer, all mechanisms", column(first, "seconds"), goal="1")
    tasks = plan.tasks(plan.Params(n=2000, epsilon_total=0.5), 1)
    indices = itertools.count(planning.TRIED)
    asked = plan.asked(tasks[0].params)
    planning.predicted(asked, 1, next(indices))
    more = here(lambda: planning.predicted(asked, 1, next(indices)), 5 * repeats)
    yield Measurement("plan: one more data set", more)
