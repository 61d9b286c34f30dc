"""Instructions as words and as text: one table, an assembler and a disassembler.

:mod:`~ipuopt.codegen.isa.encoding` is what an encoding consists of, :mod:`~ipuopt.codegen.isa.table`
lists the instructions of rows, supervisor and workers that are emitted or simulated.
:func:`assemble` and :func:`disassemble` are inverse to each other on every sequence of words: what the
table does not hold is a ``.word``.
"""

from __future__ import annotations

from ipuopt.codegen.isa.assembler import Assembled, assemble
from ipuopt.codegen.isa.disassembler import Line, disassemble
from ipuopt.codegen.isa.encoding import Field, Instruction, WordArray
from ipuopt.codegen.isa.table import INSTRUCTIONS, encode

__all__ = [
    "INSTRUCTIONS",
    "Assembled",
    "Field",
    "Instruction",
    "Line",
    "WordArray",
    "assemble",
    "disassemble",
    "encode",
]
