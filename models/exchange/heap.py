"""A heap of numbered items in an array: least first by two keys, ties by number.

Lists of tuples with ``heapq`` take longer to compile than all that use them.
"""

from __future__ import annotations

from ipuopt.compiled import inner_kernel
from ipuopt.models.exchange.problem import IntArray


@inner_kernel
def _less(item: int, other: int, first: IntArray, second: IntArray) -> bool:
    one, two = first[item], first[other]
    if one == two:
        one, two = second[item], second[other]
    if one == two:
        return item < other
    return bool(one < two)


@inner_kernel
def push(heap: IntArray, size: int, item: int, first: IntArray, second: IntArray) -> int:
    """Add an item, whose keys are ``first[item]`` and ``second[item]``; the new size."""
    place = size
    while place > 0 and _less(item, heap[(place - 1) >> 1], first, second):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = item
    return size + 1


@inner_kernel
def pop(heap: IntArray, size: int, first: IntArray, second: IntArray) -> int:
    """Take the least item out; the size is then one less."""
    least: int = heap[0]
    item, place = heap[size - 1], 0
    while 2 * place + 1 < size - 1:
        child = 2 * place + 1
        if child + 1 < size - 1 and _less(heap[child + 1], heap[child], first, second):
            child += 1
        if not _less(heap[child], item, first, second):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item
    return least
