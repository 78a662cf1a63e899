"""Jobs: shared by equal requests, stopped when nobody looks, and ended by a sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from abcdp_core import experiments, workers
from ui import jobs


def request_of(experiment: str, **values: object) -> jobs.Request:
    params = experiments.load(experiment).Params(**values)  # type: ignore[arg-type]
    return jobs.Request(experiment, params, seed=1)


@contextlib.contextmanager
def serving() -> Iterator[jobs.Service]:
    service = jobs.Service()
    try:
        yield service
    finally:
        service.close()


def test_equal_requests_share_a_job():
    with serving() as service:
        request = request_of("posterior", n=10, pool_size=50)
        first = service.submit(request, "a")
        assert service.submit(request_of("posterior", n=10, pool_size=50), "b") is first
        assert first.ended.wait(60)
        assert first.state == "done"
        assert first.result is not None


def test_job_stops_when_the_last_watcher_leaves_and_keeps_what_is_done():
    with serving() as service:
        request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=500)
        job = service.submit(request, "a", long=True)
        service.submit(request, "b")
        job.leave("a")
        assert job.wanted
        while job.result is None:
            assert not job.ended.wait(0.01)
        job.leave("b")
        assert job.ended.wait(60)
        assert job.state == "stopped"
        assert 0 < job.result.done < job.result.total
        again = service.submit(request, "a")
        assert again is not job
        assert again.result is job.result
        again.leave("a")


def test_bad_combination_is_an_error_in_a_sentence(monkeypatch):
    def fail(*_args: object) -> list[object]:
        raise ZeroDivisionError

    study = experiments.load("posterior")
    with serving() as service:
        monkeypatch.setattr(study, "work", fail)
        job = service.submit(request_of("posterior", n=10, pool_size=60), "a")
        assert job.ended.wait(60)
        assert job.state == "failed"
        assert "ZeroDivisionError" in job.error


def test_long_work_goes_to_processes_as_soon_as_they_have_loaded_a_study():
    jobs._workers("posterior")
    assert jobs._started is not None
    assert jobs._started.result(120).EXPERIMENT, "of whichever asked first"
    assert jobs._workers("posterior") is workers.processes()
