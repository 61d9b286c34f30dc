"""Independent jobs over processes of this machine or of a Dask cluster, in order of submission."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, wait
from typing import TypeVar

from ipuopt.errors import MissingPartError
from ipuopt.limits import Limits

T = TypeVar("T")
R = TypeVar("R")

_POLL_S = 0.1


@contextlib.contextmanager
def executor(threads: int, kind: str = "process") -> Iterator[Executor]:
    """Open an executor with ``threads`` workers.

    Parameters
    ----------
    threads
        Worker processes, at least 1.
    kind
        ``"process"`` for processes of this machine; else the address of a Dask scheduler, or
        ``"cluster"`` for a Dask cluster on this machine.

    Raises
    ------
    MissingPartError
        If Dask is wanted and the extra ``cluster`` is not installed.

    Notes
    -----
    Processes are spawned, not forked, since threads of solvers do not survive a fork. Jobs that
    have not begun are dropped when the context ends.
    """
    if kind == "process":
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(max_workers=threads, mp_context=context)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingPartError(
            "clusters need Dask, which is not installed: pip install 'ipuopt[cluster]'"
        ) from None
    target = {"n_workers": threads, "threads_per_worker": 1} if kind == "cluster" else {}
    with Client(**target) if kind == "cluster" else Client(kind) as client:
        yield client.get_executor()


def ordered(
    pool: Executor, function: Callable[[T], R], jobs: Iterable[T], limits: Limits
) -> Iterator[R | None]:
    """Results of ``function`` in the order of ``jobs``; None for jobs cut off or lost.

    Parameters
    ----------
    pool
        From :func:`executor`.
    function, jobs
        Picklable; ``function`` gets one job and must not raise.
    limits
        Deadline and interrupt; jobs that have begun are not waited for past it.
    """
    futures = [pool.submit(function, job) for job in jobs]
    for future in futures:
        while not future.done() and not limits.expired():
            wait([future], timeout=min(_POLL_S, limits.remaining_s()))
        if not future.done():
            future.cancel()
            yield None
            continue
        try:
            yield future.result()
        except BrokenExecutor:  # a worker died: its jobs and those behind them are lost
            yield None
