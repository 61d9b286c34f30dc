"""Runs a worker in a thread or in a child process, and ends it when a limit says so.

A worker is a module with ``search(job, send, arm)``: it calls ``send(kind, ...)`` for every piece
of news, ``send("end", ...)`` last, and hands ``arm`` a function that asks it to stop.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol

import psutil

from ipuopt.limits import Limits
from ipuopt.report import Limit

GRACE_S = 0.5
"""Seconds that a worker may run past its limit before it is ended."""

_POLL_S = 0.02
_MEMORY_POLL_S = 0.25
_CHILD = Path(__file__).with_name("child.py")

Message = tuple[Any, ...]


class _Session(Protocol):
    """A running worker."""

    messages: queue.SimpleQueue[Message]

    def ask_to_stop(self) -> None: ...

    def ended(self) -> bool: ...

    def process(self) -> psutil.Process | None: ...


class _Thread:
    """A worker in this process; it can be asked to stop, or left behind."""

    def __init__(self, worker: ModuleType, job: Mapping[str, Any]) -> None:
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._stop: Callable[[], None] | None = None
        self._asked = False
        self._thread = threading.Thread(target=self._run, args=(worker, job), daemon=True)
        self._thread.start()

    def _run(self, worker: ModuleType, job: Mapping[str, Any]) -> None:
        try:
            worker.search(job, lambda *message: self.messages.put(message), self._arm)
        except Exception as error:  # noqa: BLE001 - a back end may raise anything
            self.messages.put(("error", f"{type(error).__name__}: {error}"))

    def _arm(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        if self._asked:
            stop()

    def ask_to_stop(self) -> None:
        self._asked = True
        if self._stop is not None:
            self._stop()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def process(self) -> psutil.Process | None:
        return None


class _Child:
    """A worker in a process of its own, in a session of its own: Ctrl-C does not reach it."""

    def __init__(self, worker: ModuleType, job: Mapping[str, Any]) -> None:
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        data = pickle.dumps((worker.__file__, dict(job)), protocol=5)
        # A thread, since a child that does not read must not block the parent past its limit.
        self._writer = threading.Thread(
            target=self._write, args=(self._process.stdin, data), daemon=True
        )
        self._writer.start()

    def _read(self, stream: IO[bytes]) -> None:
        try:
            while True:
                message = pickle.load(stream)
                self.messages.put(message if isinstance(message, tuple) else (message,))
        except EOFError:
            return
        except Exception as error:  # noqa: BLE001 - a back end may raise anything
            self.messages.put(("error", f"unreadable answer, {type(error).__name__}"))

    @staticmethod
    def _write(stream: IO[bytes], data: bytes) -> None:
        with contextlib.suppress(OSError):
            stream.write(data)
            stream.flush()

    def ask_to_stop(self) -> None:
        """End the child: all that it knew has been sent already."""
        self._process.kill()

    def ended(self) -> bool:
        return self._process.poll() is not None and not self._reader.is_alive()

    def process(self) -> psutil.Process | None:
        with contextlib.suppress(psutil.Error):
            return psutil.Process(self._process.pid)
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(1.0)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()


@contextlib.contextmanager
def _open(worker: ModuleType, job: Mapping[str, Any], isolate: bool) -> Iterator[_Session]:
    if isolate:
        child = _Child(worker, job)
        try:
            yield child
        finally:
            child.close()
    else:
        thread = _Thread(worker, job)
        try:
            yield thread
        finally:
            if not thread.ended():
                thread.ask_to_stop()


def _memory_exceeded(process: psutil.Process | None, limit: int) -> bool:
    used = psutil.Process().memory_info().rss
    with contextlib.suppress(psutil.Error):
        if process is not None:
            used += process.memory_info().rss
    return bool(used > limit)


def run(
    worker: ModuleType,
    job: Mapping[str, Any],
    limits: Limits,
    *,
    isolate: bool,
    handle: Callable[[Message], None],
) -> tuple[Limit | None, str]:
    """Let ``worker`` search and pass its messages to ``handle`` until it ends or must end.

    Parameters
    ----------
    worker
        Module with ``search``; see the module's docstring. It must not import this package.
    job
        What the worker needs; picklable if ``isolate``.
    limits
        Deadline, interrupt and memory are watched here; other limits are the worker's.
    isolate
        Whether to use a child process, which can be ended at any time and may crash.
    handle
        Called in this thread with every message.

    Returns
    -------
    tuple
        ``(None, "")`` after the message ``end``; else why the worker was asked to stop, was ended
        or failed, and a note.
    """
    asked: Limit | None = None
    asked_at = 0.0
    with _open(worker, job, isolate) as session:
        memory_check = time.monotonic() + _MEMORY_POLL_S
        while True:
            had_ended = session.ended()
            try:
                message = session.messages.get(timeout=0 if had_ended else _POLL_S)
            except queue.Empty:
                message = None
            if message is not None and message[0] == "error":
                return Limit.SOLVER, str(message[1])
            if message is not None:
                handle(message)
                if message[0] == "end":
                    return asked, ""
            if message is None and had_ended:
                return asked or Limit.SOLVER, "" if asked else "the solver process died"
            now = time.monotonic()
            if asked is not None:
                if now > asked_at + GRACE_S:
                    return asked, "ended after its grace period"
                if message is None:
                    session.ask_to_stop()  # again: a request before the search starts is lost
                continue
            if limits.should_stop():
                asked = Limit.INTERRUPT
            elif now > limits.deadline + GRACE_S:
                asked = Limit.TIME
            elif limits.memory_bytes is not None and now > memory_check:
                memory_check = now + _MEMORY_POLL_S
                if _memory_exceeded(session.process(), limits.memory_bytes):
                    asked = Limit.MEMORY
            if asked is not None:
                asked_at = now
                session.ask_to_stop()
