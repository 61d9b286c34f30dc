"""The instructions that rows are made of, on whole arrays of words (``ipu21.md`` 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ipuopt.codegen.isa.encoding import Instruction, WordArray
from ipuopt.codegen.isa.table import INSTRUCTIONS
from ipuopt.models.exchange.problem import BoolArray, IntArray

NAMES = ("delay", "delaypic", "delayxpic", "send", "sendoff", "sendpic", "sendpicp", "br")
TABLE: Mapping[str, Instruction] = {name: INSTRUCTIONS[name] for name in NAMES}
"""Row instructions by name."""
END_OF_ROW = 0x43A00000
"""``br $m10``: ends every row, and is the row of a tile that takes no part."""
SENDPIC_FORMS = 2
"""Selectors 0 and 1 of ``sendpic`` are those of XPIC, 2 and 3 those of PIC."""


def matches(words: WordArray, name: str) -> BoolArray:
    """Which words are the first of instruction ``name``, if they are the first of any."""
    result: BoolArray = words & np.uint32(TABLE[name].mask) == TABLE[name].code
    return result


def operand(words: WordArray, second: WordArray, name: str, field: str) -> IntArray:
    """A field of many instructions of one kind.

    Parameters
    ----------
    words, second
        The instructions' first words and, for those of two, their second ones.
    name, field
        Instruction and operand of :data:`TABLE`.
    """
    of = next(f for f in TABLE[name].fields if f.name == field)
    return of.take((words.astype(np.int64), second.astype(np.int64)))
