"""Transfers of a snapshot straight from its text, without an object for any of them.

Only the form that compilers write is understood here: the five keys in any order, whole numbers,
white space anywhere. The rest is left to ``snapshot_object.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.exchange.problem import IntArray

ByteArray = npt.NDArray[np.uint8]

KEYS = ("source", "source_addresses", "destinations", "words", "width")
WIDTHS = ("Word32", "Paired64")
SOURCE, ADDRESSES, RECEIVERS, WORDS, PAIRED = range(5)
"""Columns of a transfer, as the keys: source, how many source addresses, how many receivers, words,
whether the width is Paired64."""

_KEYS = np.frombuffer("".join(f'{key}"' for key in KEYS).encode(), np.uint8)
_KEY_BOUNDS = np.cumsum([0, *(len(key) + 1 for key in KEYS)])
_WIDTHS = np.frombuffer("".join(f'{width}"' for width in WIDTHS).encode(), np.uint8)
_WIDTH_BOUNDS = np.cumsum([0, *(len(width) + 1 for width in WIDTHS)])

_QUOTE, _COMMA, _COLON, _BACKSLASH = 34, 44, 58, 92
_LIST, _LIST_END, _OBJECT, _OBJECT_END = 91, 93, 123, 125
_ZERO, _NINE = 48, 57
NUMBER_STOP = 2**31
"""No number in a transfer reaches it; such ones are left to the other reader, which names them."""


@kernel
def objects(text: ByteArray) -> tuple[IntArray, IntArray]:
    """Where the objects of depth 3 begin and end: those of the transfers in a snapshot.

    The text may be anything; only strings and braces are looked at.
    """
    size = len(text)
    most = _occurrences(text, _OBJECT, 0, size)
    begins = np.empty(most, np.int64)
    ends = np.empty(most, np.int64)
    count = 0
    depth = 0
    at = 0
    while at < size:
        byte = text[at]
        at += 1
        if byte == _QUOTE:
            while at < size and text[at] != _QUOTE:
                at += 1 + (text[at] == _BACKSLASH)
            at += 1
        elif byte == _OBJECT:
            depth += 1
            if depth == 3:
                begins[count] = at - 1
        elif byte == _OBJECT_END:
            if depth == 3:
                ends[count] = at
                count += 1
            depth -= 1
    return begins[:count], ends[:count]


@kernel
def frame(text: ByteArray, begins: IntArray, ends: IntArray) -> ByteArray:
    """The text with its number in place of every object."""
    digits = np.empty(20, np.uint8)
    result = np.empty(len(text) + 20 * len(begins) - (ends - begins).sum(), np.uint8)
    size = 0
    last = 0
    for number in range(len(begins)):
        for at in range(last, begins[number]):
            result[size] = text[at]
            size += 1
        last = ends[number]
        rest = number
        count = 0
        while rest or not count:
            digits[count] = _ZERO + rest % 10
            rest //= 10
            count += 1
        for digit in range(count):
            result[size] = digits[count - 1 - digit]
            size += 1
    for at in range(last, len(text)):
        result[size] = text[at]
        size += 1
    return result[:size]


@kernel
def _occurrences(text: ByteArray, byte: int, begin: int, end: int) -> int:
    """How often a byte stands in a part of the text."""
    count = 0
    for at in range(begin, end):
        count += text[at] == byte
    return count


@kernel
def scan(text: ByteArray, begins: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Columns of the objects up to the first that is not understood.

    Returns
    -------
    tuple
        Shape ``(understood, 5)``, the columns :data:`SOURCE` to :data:`PAIRED`; all source
        addresses; tile and address of all receivers, alternating.
    """
    columns = np.empty((len(begins), 5), np.int64)
    most = 0
    if len(begins):  # every number but one a list follows a comma
        most = 2 * len(begins) + _occurrences(text, _COMMA, begins[0], ends[-1])
    addresses = np.empty(most, np.int64)
    receivers = np.empty(most, np.int64)
    count = 0
    size = 0
    for number in range(len(begins)):
        begin_count, begin_size = count, size
        seen = 0
        at = begins[number]  # an opening brace, later a comma
        while at >= 0 and seen != 31:
            key, at = _word(text, _skip(text, at + 1), ends[number], _KEYS, _KEY_BOUNDS)
            if at >= 0 and not seen >> key & 1:
                seen |= 1 << key
                at = _skip(text, at)
                at = _skip(text, at + 1) if text[at] == _COLON else -1
            else:
                at = -1
            value = 0
            if at < 0:
                break
            if key == ADDRESSES:
                value, at = _list(text, at, addresses, count, False)
                count += value
            elif key == RECEIVERS:
                value, at = _list(text, at, receivers, size, True)
                size += 2 * value
            elif key == PAIRED:
                value, at = _word(text, at, ends[number], _WIDTHS, _WIDTH_BOUNDS)
            else:
                value, at = _integer(text, at)
            columns[number, key] = value
            if at >= 0:
                at = _skip(text, at)
                if text[at] != (_OBJECT_END if seen == 31 else _COMMA):
                    at = -1
        if at != ends[number] - 1:
            return columns[:number], addresses[:begin_count], receivers[:begin_size]
    return columns, addresses[:count], receivers[:size]


@kernel
def _skip(text: ByteArray, at: int) -> int:
    """The next byte that is no white space; the brace that ends an object stops it."""
    while text[at] == 32 or text[at] == 9 or text[at] == 10 or text[at] == 13:
        at += 1
    return at


@kernel
def _word(
    text: ByteArray, at: int, end: int, words: ByteArray, bounds: IntArray
) -> tuple[int, int]:
    """Which of some words the string at ``at`` is, and the byte after it; -1 if it is none."""
    if text[at] == _QUOTE:
        for word in range(len(bounds) - 1):
            length = bounds[word + 1] - bounds[word]
            if at + 1 + length < end:
                same = 0
                while same < length and text[at + 1 + same] == words[bounds[word] + same]:
                    same += 1
                if same == length:
                    return word, at + 1 + length
    return 0, -1


@kernel
def _integer(text: ByteArray, at: int) -> tuple[int, int]:
    """A number without sign, point or exponent, and the byte after it; -1 if there is none."""
    begin = at
    value = 0
    while _ZERO <= text[at] <= _NINE and value < NUMBER_STOP:
        value = 10 * value + text[at] - _ZERO
        at += 1
    if at == begin or (text[begin] == _ZERO and at > begin + 1) or value >= NUMBER_STOP:
        return 0, -1
    return value, at


@kernel
def _list(text: ByteArray, at: int, out: IntArray, size: int, pairs: bool) -> tuple[int, int]:
    """Write a list of numbers, or of pairs of them, to ``out`` from ``size`` on.

    Returns how many there were, and the byte after the list, -1 if it is none.
    """
    count = 0
    if text[at] != _LIST:
        return 0, -1
    at = _skip(text, at + 1)
    while text[at] != _LIST_END:
        if pairs:
            if text[at] != _LIST:
                return count, -1
            out[size], at = _integer(text, _skip(text, at + 1))
            at = _skip(text, at) if at >= 0 else at
            if at < 0 or text[at] != _COMMA:
                return count, -1
            out[size + 1], at = _integer(text, _skip(text, at + 1))
            at = _skip(text, at) if at >= 0 else at
            if at < 0 or text[at] != _LIST_END:
                return count, -1
            at += 1
            size += 2
        else:
            out[size], at = _integer(text, at)
            size += 1
            if at < 0:
                return count, -1
        count += 1
        at = _skip(text, at)
        if text[at] == _COMMA and text[_skip(text, at + 1)] != _LIST_END:
            at = _skip(text, at + 1)
        elif text[at] != _LIST_END:
            return count, -1
    return count, at + 1
