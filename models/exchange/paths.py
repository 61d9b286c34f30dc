"""Shortest orders of jobs with set-up times: Held and Karp (1962, doi:10.1137/0110015)."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.claims import Int32Array
from ipuopt.models.exchange.problem import IntArray

MOST_STATES = 1 << 20
"""States of the dynamic programme, each with 4 bytes and a step to each other kind of job."""

MOST_NODES = 15
"""Jobs that are looked at where all of them have more than :data:`MOST_STATES`."""

FAR = 1 << 28
"""No such order; twice this fits 32 bits."""


def shortest_order(setup: IntArray, head: IntArray, tail: IntArray) -> tuple[int, IntArray]:
    """Least head of the first + set-up times + tail of the last, and jobs in such an order.

    Parameters
    ----------
    setup
        Time lost between a job and the next, 0 on the diagonal, shape ``(jobs, jobs)``.
    head, tail
        Before the first and after the last job, shape ``(jobs,)``.

    Returns
    -------
    tuple
        The value, and all jobs. If there are too many kinds of jobs the value is a lower bound, and
        the order is made of one that meets it, with the other jobs where they cost least.

    Notes
    -----
    Jobs that are alike in all set-up times are one kind, and states count how many of each went
    before. Where that is too much, only some jobs count, one of all those between which nothing is
    lost; as other jobs may come between, the way from one to the next is the shortest by any.
    """
    kind = np.full(len(head), -1, np.int64)
    _kinds(setup, head, tail, kind)
    sizes = np.bincount(kind)
    if len(sizes) * float(np.prod(sizes + 1.0)) <= MOST_STATES:
        jobs = np.argsort(kind, kind="stable")
        first = jobs[np.cumsum(sizes) - sizes]
        step = setup[np.ix_(first, first)]
        step[np.diag_indices(len(first))] = [
            setup[jobs[place], jobs[place + 1]] if size > 1 else 0
            for place, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True)
        ]
        value, path = _best_path(step, head[first], tail[first], sizes)
        order = np.empty_like(jobs)
        order[np.argsort(path, kind="stable")] = jobs
        return value, order
    near, through = _nearest(setup)
    first, last = (near + head[:, None]).min(axis=0), (near + tail).min(axis=1)
    nodes = _nodes(near)
    value, path = _best_path(
        near[np.ix_(nodes, nodes)], first[nodes], last[nodes], np.ones_like(nodes)
    )
    return value, _completed(setup, head, tail, through, nodes[path])


def nearest_order(setup: IntArray, head: IntArray) -> IntArray:
    """Least head first, then always the job with the least set-up time."""
    left = np.ones(len(head), np.bool_)
    order = [int(np.argmin(head))]
    while len(order) < len(head):
        left[order[-1]] = False
        order.append(int(np.argmin(np.where(left, setup[order[-1]], FAR))))
    return np.array(order)


@kernel
def _kinds(setup: IntArray, head: IntArray, tail: IntArray, kind: IntArray) -> None:
    """Number of each job's kind, -1 before: those that may be exchanged without any difference."""
    count = len(head)
    kinds = 0
    for one in range(count):
        if kind[one] >= 0:
            continue
        kind[one] = kinds
        for other in range(one + 1, count):
            alike = kind[other] < 0 and head[one] == head[other] and tail[one] == tail[other]
            alike = alike and setup[one, other] == setup[other, one]
            for third in range(count):
                if not alike:
                    break
                if third != one and third != other:
                    alike = (
                        setup[one, third] == setup[other, third]
                        and setup[third, one] == setup[third, other]
                    )
            if alike:
                kind[other] = kinds
        kinds += 1


def _best_path(
    step: IntArray, first: IntArray, last: IntArray, sizes: IntArray
) -> tuple[int, IntArray]:
    """Least value, and kinds of jobs in such an order; ``sizes`` jobs of each kind."""
    radix = np.concatenate(([1], np.cumprod(sizes + 1)))
    best = np.full((radix[-1], len(sizes)), FAR, np.int32)
    path = np.empty(sizes.sum(), np.int64)
    return int(_held_karp(step, first, last, sizes, radix, best, path)), path


@kernel
def _held_karp(
    step: IntArray,
    first: IntArray,
    last: IntArray,
    sizes: IntArray,
    radix: IntArray,
    best: Int32Array,
    path: IntArray,
) -> int:
    """Least value; ``path`` gets the kinds of jobs in such an order.

    ``best`` has a row a state: the sum of ``radix`` over the jobs that went before.
    """
    kinds = len(sizes)
    states = radix[kinds]
    for kind in range(kinds):
        best[radix[kind], kind] = min(first[kind], FAR)
    for state in range(1, states):
        for other in range(kinds):
            if state // radix[other] % (sizes[other] + 1) == sizes[other]:
                continue
            least = best[state + radix[other], other]
            for kind in range(kinds):
                least = min(least, best[state, kind] + min(step[kind, other], FAR))
            best[state + radix[other], other] = least
    state = states - 1
    value, kind = np.int64(2 * FAR), 0
    for end in range(kinds):
        if best[state, end] + last[end] < value:
            value, kind = best[state, end] + last[end], end
    for place in range(len(path) - 1, -1, -1):
        path[place] = kind
        before = state - radix[kind]
        for earlier in range(kinds):
            if best[before, earlier] + min(step[earlier, kind], FAR) == best[state, kind]:
                kind = earlier
                break
        state = before
    return int(value)


@kernel
def _nearest(setup: IntArray) -> tuple[IntArray, IntArray]:
    """Least set-up times from job to job by way of others, and one of those, -1 without."""
    count = len(setup)
    near = setup.copy()
    through = np.full((count, count), -1, np.int64)
    for middle in range(count):
        for one in range(count):
            for other in range(count):
                length = near[one, middle] + near[middle, other]
                if length < near[one, other]:
                    near[one, other] = length
                    through[one, other] = middle
    return near, through


def _nodes(near: IntArray) -> IntArray:
    """One job of those between which nothing is lost; the most remote ones if too many."""
    same = (near == 0) & (near.T == 0)
    nodes = np.flatnonzero(~np.tril(same, -1).any(axis=1))
    while len(nodes) > MOST_NODES:
        apart = near[np.ix_(nodes, nodes)] + FAR * np.eye(len(nodes), dtype=np.int64)
        nodes = np.delete(nodes, np.argmin(apart.min(axis=0) + apart.min(axis=1)))
    return nodes


def _completed(
    setup: IntArray, head: IntArray, tail: IntArray, through: IntArray, path: IntArray
) -> IntArray:
    """All jobs: the path with the jobs that it leads through, the others where they cost least."""
    order: list[int] = []
    stops = path.tolist()
    stack = [*zip(stops[-2::-1], stops[:0:-1], strict=True), (stops[0], stops[0])]
    while stack:
        one, other = stack.pop()
        middle = int(through[one, other])
        if middle >= 0:
            stack += [(middle, other), (one, middle)]
        elif other not in order:
            order.append(other)
    for job in sorted(set(range(len(head))) - set(order)):
        jobs = np.array(order)
        before = np.append(head[job], setup[jobs, job])
        after = np.append(setup[job, jobs], tail[job])
        saved = np.concatenate((head[jobs[:1]], setup[jobs[:-1], jobs[1:]], tail[jobs[-1:]]))
        order.insert(int(np.argmin(before + after - saved)), job)
    return np.array(order)
