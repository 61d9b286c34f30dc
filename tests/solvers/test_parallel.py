"""Jobs side by side: every ending has its answer, in processes and on a Dask cluster."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ipuopt.errors import CheckError, InputError, MissingPartError
from ipuopt.limits import Limits
from ipuopt.solvers import parallel
from ipuopt.solvers.parallel import GRACE_S, Workers

HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def jobs() -> Iterator[Any]:
    """Module of the jobs, which workers find on the path of this process or of its variables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        known = os.environ.get("PYTHONPATH", "")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(HERE), known))))
        yield importlib.import_module("parallel_jobs")


@pytest.fixture(scope="module")
def here(jobs: Any) -> Iterator[Workers]:
    with Workers(2) as workers:
        yield workers


@pytest.fixture(scope="module")
def cluster(jobs: Any) -> Iterator[str]:
    """Address of a scheduler with two workers."""
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    with (
        importlib.import_module("dask").config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as found,
    ):
        yield found.scheduler_address


@pytest.fixture(scope="module", params=["processes", "cluster"])
def both(request: pytest.FixtureRequest) -> Iterator[Workers]:
    if request.param == "processes":
        yield request.getfixturevalue("here")
        return
    with Workers(1, request.getfixturevalue("cluster")) as workers:
        yield workers


def limits(seconds: float = 50.0, **more: Any) -> Limits:
    return Limits(deadline=time.monotonic() + seconds, threads=2, **more)


def running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not running(pid)


def test_answers_come_in_the_order_of_the_jobs(both: Workers, jobs: Any) -> None:
    assert both.run(jobs.square, list(range(7)), limits()) == [0, 1, 4, 9, 16, 25, 36]
    assert both.run(jobs.square, [], limits()) == []
    assert both.width(limits()) == 2


def test_limits_travel_with_a_job(both: Workers, jobs: Any) -> None:
    """Two jobs share two threads; a worker of this machine leaves Ctrl-C to its parent."""
    asked = limits(seed=7, deterministic=True, budget_s=90.0)
    (one, _) = both.run(jobs.terms, [None, None], asked)
    assert one is not None
    assert one[:4] == (True, 1, 7, True)
    assert one[4] or both.remote
    assert one[5] == 90.0
    (alone,) = both.run(jobs.terms, [None], limits())
    assert alone is not None
    assert alone[1] == (1 if both.remote else 2)


def test_a_process_that_is_killed_costs_its_job(here: Workers, jobs: Any) -> None:
    """The others in its pool are run again, and the next jobs find a pool."""
    assert here.run(jobs.die, [0, 1, 2, 4], limits()) == [0, None, 2, 4]
    assert here.run(jobs.square, [3], limits()) == [9]


def test_a_worker_that_is_killed_costs_its_job(cluster: str, jobs: Any) -> None:
    with Workers(1, cluster) as workers:
        assert workers.run(jobs.die, [1], limits()) == [None]
        assert workers.run(jobs.square, [3], limits()) == [9]


def test_what_a_job_raises_is_raised_here(both: Workers, jobs: Any) -> None:
    with pytest.raises(CheckError, match="a job: E2: sends overlap") as caught:
        both.run(jobs.refuse, [1], limits())
    assert caught.value.violations == (("E2", "sends overlap"),)


def test_the_limit_holds(both: Workers, jobs: Any) -> None:
    """A job that hears nothing is left behind; one that does still answers."""
    before = time.monotonic()
    found = both.run(jobs.sleep, [10.0], limits(0.5))
    assert found == [None]
    assert time.monotonic() - before < 0.5 + GRACE_S + 1.0
    (answer,) = both.run(jobs.wait, [20.0], limits(5.0))  # other processes, which have to start
    assert both.remote or answer is not None


@pytest.mark.parametrize("deaf", [False, True])
def test_a_stop_is_heard_by_processes(deaf: bool, jobs: Any) -> None:
    """A job answers with what it has; one that hears nothing ends with its process."""
    with Workers(2) as workers:
        found = workers.run(jobs.wait, [0.2, 0.2], limits())
        stop_at = time.monotonic() + 0.5
        asked = limits(should_stop=lambda: time.monotonic() > stop_at)
        job = jobs.sleep if deaf else jobs.wait
        answers = workers.run(job, [30.0, 30.0], asked)
        assert time.monotonic() < stop_at + GRACE_S + 1.0
        assert [answer is None for answer in answers] == [deaf, deaf]
    assert all(pid is not None and gone(pid, 5.0) for pid in found)


def test_processes_end_with_their_parent(tmp_path: Path, jobs: Any) -> None:
    (tmp_path / "script.py").write_text(
        "import os, time\n"
        "from ipuopt.limits import Limits\n"
        "from ipuopt.solvers.parallel import Workers\n"
        "import parallel_jobs\n"
        "if __name__ == '__main__':\n"
        "    with Workers(1) as workers:\n"
        "        limits = Limits(deadline=time.monotonic() + 50)\n"
        "        print(*workers.run(parallel_jobs.wait, [0.0], limits), flush=True)\n"
        "        workers.run(parallel_jobs.sleep, [50.0], limits)\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert gone(worker, 10.0)


def test_a_cluster_that_is_not_there(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CONNECT_S", 1)
    with pytest.raises(InputError, match="--cluster: found 'none:1', expected the address of a"):
        Workers(1, "none:1").__enter__()


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPartError, match=r"pip install 'ipuopt\[cluster\]'") as caught:
        Workers(1, "tcp://127.0.0.1:1").__enter__()
    assert caught.value.exit_code == 7
