"""Buffers of one address space, and their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ipuopt.models.placement.problem import IntArray

MAX_NUMBER = 1 << 53
"""Largest size, address or step: a double and JSON hold it, and sums of 512 stay in 64 bits."""

MAX_TOTAL = 1 << 60
"""All sizes and guards together stay below this."""


def _none() -> IntArray:
    return np.zeros((0, 2), dtype=np.int64)


def _bytes() -> IntArray:
    return np.array([[0, 1]], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Buffers of one address space.

    Attributes
    ----------
    name
        For people.
    size_bytes, guard_bytes, alignment
        Shape ``(buffers,)``; at least 0, 0 and 1. The guard lies behind the buffer.
    span_owner, span
        Buffer of every span of life, shape ``(spans,)``, and its half-open range of steps, shape
        ``(spans, 2)``. A buffer may have any number of spans, in any order; empty ones count
        nothing.
    part
        Bytes of the buffer that live in each span, half-open, shape ``(spans, 2)``; left out where
        whole buffers live in all spans. With it, spans of a buffer may not overlap.
    low, high
        Window of every buffer in bytes, half-open, shape ``(buffers,)``.
    alias
        Buffers with the same number of 0 or more are aliases; -1 for none. Shape ``(buffers,)``.
    apart
        Pairs that may not touch a common element, shape ``(pairs, 2)``.
    elements
        Memory elements: from ``elements[k, 0]`` on each has ``elements[k, 1]`` bytes, up to the
        start of the next row. The first row starts at 0, each row is whole elements long.
    holes
        Half-open ranges of addresses that nobody may use, shape ``(holes, 2)``.
    capacity
        Most bytes of height; None for no limit.
    """

    name: str
    size_bytes: IntArray
    guard_bytes: IntArray
    alignment: IntArray
    span_owner: IntArray
    span: IntArray
    low: IntArray
    high: IntArray
    alias: IntArray
    part: IntArray = field(default_factory=_none)
    apart: IntArray = field(default_factory=_none)
    elements: IntArray = field(default_factory=_bytes)
    holes: IntArray = field(default_factory=_none)
    capacity: int | None = None

    _PAIRS = ("span", "part", "apart", "holes", "elements")
    _COLUMNS = ("size_bytes", "guard_bytes", "alignment", "low", "high", "alias")

    def __post_init__(self) -> None:
        count = len(self.size_bytes)
        for name in (*self._COLUMNS, "span_owner", *self._PAIRS):
            value = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            object.__setattr__(self, name, value)
        if any(len(getattr(self, name)) != count for name in self._COLUMNS):
            raise ValueError(f"{self.name}: columns differ in length")
        for name in self._PAIRS:
            value = getattr(self, name)
            if value.ndim != 2 or value.shape[1] != 2:
                raise ValueError(f"{self.name}: {name} must have shape (n, 2)")
        if len(self.span) != len(self.span_owner):
            raise ValueError(f"{self.name}: spans and their owners differ in length")
        for named in (self.span_owner, self.apart):
            if named.size and not 0 <= named.min() <= named.max() < count:
                raise ValueError(f"{self.name}: found a buffer that does not exist")
        self._check_values()
        if len(self.part):
            self._check_parts()

    def _check_parts(self) -> None:
        if len(self.part) != len(self.span):
            raise ValueError(f"{self.name}: spans and their parts differ in length")
        begin, end = self.part.T
        size = self.size_bytes[self.span_owner]
        if np.any((begin < 0) | (end < begin) | (end > size)):
            raise ValueError(f"{self.name}: found a part that is not within its buffer")
        order = np.lexsort((self.span[:, 0], self.span_owner))
        owner, span = self.span_owner[order], self.span[order]
        if np.any((owner[1:] == owner[:-1]) & (span[1:, 0] < span[:-1, 1])):
            raise ValueError(f"{self.name}: found spans that overlap although they have parts")
        if np.any(self.alias[self.span_owner[end - begin < size]] >= 0):
            raise ValueError(f"{self.name}: found an alias that lives in part")

    def _check_values(self) -> None:
        for what, value, least in (
            ("size", self.size_bytes, 0),
            ("guard", self.guard_bytes, 0),
            ("alignment", self.alignment, 1),
            ("window", self.low, 0),
            ("hole", self.holes, 0),
            ("element", self.elements[:, 1], 1),
            ("capacity", np.array([self.capacity or 0]), 0),
        ):
            if value.size and (value.min() < least or value.max() > MAX_NUMBER):
                found = int(value.min()) if value.min() < least else int(value.max())
                raise ValueError(
                    f"{self.name}: found {what} {found}, expected {least} to {MAX_NUMBER}"
                )
        if float(self.size_bytes.sum(dtype=float) + self.guard_bytes.sum(dtype=float)) > MAX_TOTAL:
            raise ValueError(f"{self.name}: sizes add up to more than {MAX_TOTAL} bytes")
        begin, length = self.elements[:, 0], self.elements[:-1, 1]
        if begin[:1].tolist() != [0] or np.any(np.diff(begin) < 1) or begin.max() > MAX_NUMBER:
            raise ValueError(f"{self.name}: rows of elements must start at 0 and ascend")
        if np.any(np.diff(begin) % length):
            raise ValueError(f"{self.name}: a row of elements must be whole elements long")

    @classmethod
    def of(
        cls,
        name: str,
        size_bytes: Sequence[int] | IntArray,
        start: Sequence[int] | IntArray,
        stop: Sequence[int] | IntArray,
        capacity: int | None = None,
    ) -> Problem:
        """Buffers with one span each and nothing else to obey; steps ``[start, stop)``."""
        count = len(size_bytes)
        zeros = np.zeros(count, dtype=np.int64)
        return cls(
            name=name,
            size_bytes=np.asarray(size_bytes, dtype=np.int64),
            guard_bytes=zeros,
            alignment=zeros + 1,
            span_owner=np.arange(count),
            span=np.stack((start, stop), axis=1).astype(np.int64).reshape(-1, 2),
            low=zeros,
            high=zeros + MAX_NUMBER,
            alias=zeros - 1,
            capacity=capacity,
        )

    def __len__(self) -> int:
        return len(self.size_bytes)


@dataclass(frozen=True, slots=True)
class Solution:
    """Byte address of every buffer, shape ``(buffers,)``."""

    address: IntArray
