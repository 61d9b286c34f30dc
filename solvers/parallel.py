"""Independent jobs side by side on one executor: processes of this machine, or a Dask cluster.

A job is a function of its own limits and of one value; both travel as pickles, and so does the
answer. Without workers, or where one job is all there is, jobs run here.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ipuopt.errors import InputError, MissingPartError
from ipuopt.limits import Limits
from ipuopt.solvers import parallel_worker

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

GRACE_S = 1.0
"""Seconds past its limit after which an answer is no longer waited for."""

CONNECT_S = 10
"""Seconds to find the scheduler of a cluster."""

POLL_S = 0.05

T = TypeVar("T")
R = TypeVar("R")

Job = Callable[[T, Limits], R]
"""Importable from its module by the workers, which have the same installation."""


@dataclass(slots=True)
class _Pool:
    """Processes, and the end of the pipe whose closing tells them to stop."""

    executor: Executor
    stop: Connection
    heard: Connection

    def close(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.stop.close()
        self.heard.close()


class Workers:
    """Runs jobs; a context that ends its processes, or leaves its cluster.

    Parameters
    ----------
    count
        Processes of this machine; they start with the first jobs that need them.
    cluster
        Address of a Dask scheduler to use instead, which the context connects to.

    Notes
    -----
    A script that uses processes must be importable, with its statements under
    ``if __name__ == "__main__"``, as :mod:`multiprocessing` asks for.
    """

    def __init__(self, count: int, cluster: str | None = None) -> None:
        self._count, self._cluster = count, cluster
        self._client: Any = None
        self._pool: _Pool | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        if self._cluster is not None:
            self._client, self._count = _connect(self._cluster)
        return self

    def __exit__(self, *error: object) -> None:
        self._drop_pool()
        if self._client is not None:
            self._client.close(timeout=GRACE_S)
            self._client = None

    @property
    def used(self) -> bool:
        """Whether processes of this machine are there."""
        return self._pool is not None

    @property
    def remote(self) -> bool:
        """Whether jobs leave this machine's share of processors."""
        return self._cluster is not None

    def width(self, limits: Limits) -> int:
        """Jobs that run side by side under ``limits``."""
        return self._count if self.remote else min(self._count, limits.threads)

    def run(self, function: Job[T, R], jobs: Sequence[T], limits: Limits) -> list[R | None]:
        """Answers in the order of the jobs; None where there is none.

        Parameters
        ----------
        function
            Called with a job and with limits of its own: the time left, its part of
            ``limits.threads``, no callbacks.
        jobs
            In any number.
        limits
            Of all of them together. Jobs under way when they are over, or when the caller asks to
            stop, may still answer within :data:`GRACE_S`.

        Returns
        -------
        list
            A job whose process died, for want of memory for instance, has no answer; those that
            were on the way in the same pool are run again, one by one.
        """
        if not jobs:
            return []
        threads = 1 if self.remote else max(1, limits.threads // min(len(jobs), self._count))
        limits = replace(limits, threads=threads)
        if self._client is not None:
            executor = self._client.get_executor(pure=False)
            left_s = limits.remaining_s()
            return [one.answer for one in _run(executor, function, jobs, limits, left_s=left_s)]
        with self._lock:
            found = self._run_here(function, jobs, limits)
            for place in [place for place, one in enumerate(found) if one.died]:
                # Which of them ended the pool is not known; alone, each one only ends itself.
                if not limits.expired():
                    (found[place],) = self._run_here(function, [jobs[place]], limits)
        return [one.answer for one in found]

    def _run_here(self, function: Job[T, R], jobs: Sequence[T], limits: Limits) -> list[_Found[R]]:
        """In the pool, which is given up when a process died or does not end."""
        if self._pool is None:
            self._pool = _open(self._count)
        found = _run(self._pool.executor, function, jobs, limits, ask=self._pool.stop.close)
        if limits.should_stop() or any(one.died or one.late for one in found):
            self._drop_pool()
        return found

    def _drop_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def side_by_side(
    function: Job[T, R], jobs: Sequence[T], limits: Limits, *, alone: bool = False
) -> Iterable[R | None]:
    """Answers in the order of the jobs: of workers, if there are several and several jobs.

    Else each job runs here, under all of ``limits``, when its answer is asked for.

    Parameters
    ----------
    function, jobs, limits
        As for :meth:`Workers.run`.
    alone
        Whether the jobs are too short for processes of their own.
    """
    workers = limits.workers
    if alone or len(jobs) < 2 or workers is None or workers.width(limits) == 1:
        return (function(job, limits) for job in jobs)
    return workers.run(function, jobs, limits)


@dataclass(slots=True)
class _Found(Generic[R]):
    """What became of a job: its answer, or that its process died, or that it takes too long."""

    answer: R | None = None
    died: bool = False
    late: bool = False


def _run(
    executor: Executor,
    function: Job[T, R],
    jobs: Sequence[T],
    limits: Limits,
    *,
    left_s: float | None = None,
    ask: Callable[[], None] = lambda: None,
) -> list[_Found[R]]:
    """Run jobs side by side.

    The clock of another machine shows another time: there, a job has ``left_s`` seconds from its
    start. Processes of this machine share the clock, and may have to start first. ``ask`` asks all
    jobs to stop.
    """
    own = limits.alone()
    with _deaf():
        futures = [_submit(executor, function, job, own, left_s) for job in jobs]
    latest = limits.deadline + GRACE_S
    asked = False
    while wait(futures, timeout=POLL_S).not_done and time.monotonic() < latest:
        if limits.should_stop() and not asked:
            asked, latest = True, min(latest, time.monotonic() + GRACE_S)
            ask()
    return [_found(future) for future in futures]


def _submit(
    executor: Executor, function: Job[T, R], job: T, limits: Limits, left_s: float | None
) -> Future[tuple[Any, Exception | None]]:
    """Future of a job; that of an executor which takes none any more is broken."""
    try:
        return executor.submit(parallel_worker.run, function, job, limits, left_s)
    except Exception as error:  # noqa: BLE001 - a pool that broke while idle, a closed client
        broken: Future[tuple[Any, Exception | None]] = Future()
        broken.set_exception(error)
        return broken


def _found(future: Future[tuple[Any, Exception | None]]) -> _Found[Any]:
    if not future.done():
        future.cancel()
        return _Found(late=True)
    try:
        answer, raised = future.result()
    except Exception:  # noqa: BLE001 - of the executor, which differ: the worker is gone
        return _Found(died=True)
    if raised is not None:
        raise raised
    return _Found(answer)


def _open(count: int) -> _Pool:
    """Processes that end with this one, and hear the closing of a pipe."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")  # threads of solvers do not survive a fork
    heard, stop = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(
        count, context, initializer=parallel_worker.prepare, initargs=(heard,)
    )
    return _Pool(executor, stop, heard)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Processes that start here do not hear Ctrl-C, which is the caller's business."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connect(address: str) -> tuple[Any, int]:
    """Client of a Dask cluster, and how many jobs that runs at a time."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingPartError(
            "--cluster: the extra 'cluster' is missing: pip install 'ipuopt[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--cluster: found {address!r}, expected the address of a Dask scheduler ({error})"
        ) from None
    count = sum(client.nthreads().values())
    if not count:
        client.close(timeout=GRACE_S)
        raise InputError(f"--cluster: found no worker at {address}, expected at least one")
    return client, count
