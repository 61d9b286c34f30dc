"""What kernels ask of their arguments (``cost-model.md`` 2.5 and 2.6, ``lowering.md`` 5.2, ``package.md`` 4.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.errors import InputError
from ipuopt.target.memory import INTERLEAVED_BASE, element_range

_OUTPUT, _FIRST, _WEIGHTS = 0, 1, 2
_REGISTER = 2
"""Of the output; the others follow (package.md 4.1)."""
_INTERLEAVED = "_interleaved"


class OperandError(InputError):
    """An operand where its kernel may not have it."""


@dataclass(frozen=True, slots=True)
class Asks:
    """What kernels of one shape ask.

    Attributes
    ----------
    multiples
        Arguments, counted from the output, and what divides them.
    apart
        Whether output and first operand lie in memory elements of their own.
    """

    multiples: tuple[tuple[int, int], ...]
    apart: bool = False

    def refuse(self, name: str, match: re.Match[str], arguments: Sequence[int]) -> None:
        """Raise :class:`OperandError` for an argument that is no multiple of what it has to be.

        Weights that are loaded 16 bytes at a time have to lie in interleaved memory.
        """
        for place, multiple in self.multiples:
            if arguments[place] % multiple:
                found = f"found $m{_REGISTER + place} = {arguments[place]:#x}"
                raise OperandError(f"{name}: {found}, expected a multiple of {multiple}")
        if _INTERLEAVED in match.groups() and arguments[_WEIGHTS] < INTERLEAVED_BASE:
            found = f"found weights at {arguments[_WEIGHTS]:#x}"
            raise OperandError(f"{name}: {found}, expected them from {INTERLEAVED_BASE:#x} on")

    def refuse_shared(self, name: str, arguments: Sequence[int], spans: Mapping[int, int]) -> None:
        """Raise :class:`OperandError` if output and first operand meet in a memory element.

        Parameters
        ----------
        spans
            Bytes that the call used, by address.
        """
        if not self.apart:
            return
        address = np.array([arguments[_OUTPUT], arguments[_FIRST]])
        size = np.array([spans[at] for at in address.tolist()])
        if not size.all():
            return
        first, last = element_range(address, size)
        if first[0] <= last[1] and first[1] <= last[0]:
            found = f"found the result at {address[0]:#x} in an element of {address[1]:#x}"
            raise OperandError(f"{name}: {found}, expected elements of their own")


_MATRIX, _ITEM, _TRANSFORM, _WORD = 32, 8, 2, 4
GEMM = Asks(((_OUTPUT, _MATRIX), (_FIRST, _MATRIX), (_WEIGHTS, _MATRIX)), apart=True)
SUM = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM), (2, _ITEM), (4, 8)), apart=True)
GELU = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM), (2, 2)))
ADD = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM), (2, _ITEM)))
CAST = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM)))
TRANSFORM = Asks(((_OUTPUT, _TRANSFORM), (_FIRST, _TRANSFORM)), apart=True)
CLEAR = Asks(((_OUTPUT, _ITEM),))
COPY = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM)))
STRIDED = Asks(((_OUTPUT, _ITEM), (_FIRST, _ITEM), (4, _ITEM), (5, _ITEM)))
WORDS = Asks(((_OUTPUT, _WORD), (_FIRST, _WORD)))
